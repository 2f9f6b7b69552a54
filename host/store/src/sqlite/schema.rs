//! The tables, and how older ones become the present ones.
//!
//! `user_version` is the number of migrations that were applied; a database with more than this version knows is left
//! alone. Each opening brings the tables up to date in one transaction. Never change a migration that was released: add one, of statements
//! `CREATE TABLE …;`, which are what the database is held to.

use super::failure::database as failed;
use super::own::{self, Beside};
use super::pool::IfMissing;
use crate::error::{StoreError, at};
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::path::Path;
use std::time::Duration;

/// Marks the file as ours: "hutc".
pub(super) const APPLICATION_ID: i32 = 0x6875_7463;

/// The facts about the store itself: rows of `meta`, which has no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fact {
    Store,
    SecretKey,
    Head,
    RetainedFrom,
    Admitted,
    /// There until the next commit that does not fail.
    Cut,
}

impl Fact {
    pub(super) const ALL: [Fact; 6] =
        [Fact::Store, Fact::SecretKey, Fact::Head, Fact::RetainedFrom, Fact::Admitted, Fact::Cut];

    /// The name of its row.
    pub(super) fn name(self) -> &'static str {
        match self {
            Fact::Store => "store",
            Fact::SecretKey => "secret_key",
            Fact::Head => "head",
            Fact::RetainedFrom => "retained_from",
            Fact::Admitted => "admitted",
            Fact::Cut => "cut",
        }
    }
}

/// Each is applied once, in order.
pub(super) const MIGRATIONS: &[&str] = &[
    // 1: the store.
    "
    -- One row for each fact about the store itself.
    --   store           16 random bytes: which store it is, as its mark says too
    --   secret_key      32 random bytes
    --   head            sequence (8 bytes, big endian) and hash of the last entry: a cut tail shows
    --   retained_from   sequence (8 bytes, big endian)
    --   admitted        who may use the instance, as JSON, if entries were taken in that were made elsewhere; not there if none were
    --   cut             random bytes, written over what a failed commit may have left in the log
    CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;

    -- Immutable, named by content. Kinds: 1 chunk, 2 list, 3 tree, 4 stream.
    CREATE TABLE objects (digest BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, bytes BLOB NOT NULL) STRICT;

    -- Append-only. `bytes` is canonical JSON, `hash` its digest; `at_ns` repeats its instant for retention.
    CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, at_ns INTEGER NOT NULL, bytes BLOB NOT NULL
    ) STRICT;

    -- What the entries lead to. The last entry holds the digests of all of it.
    CREATE TABLE heads (volume TEXT PRIMARY KEY, tree BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE owners (origin TEXT PRIMARY KEY, package BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE intents (sequence INTEGER PRIMARY KEY) STRICT;

    -- Each entry that changed a volume, and to what: earlier states are found without reading entries.
    CREATE TABLE moves (
        volume TEXT NOT NULL, sequence INTEGER NOT NULL, tree BLOB NOT NULL, PRIMARY KEY (volume, sequence)
    ) STRICT, WITHOUT ROWID;

    INSERT INTO meta VALUES
        ('store', randomblob(16)), ('secret_key', randomblob(32)), ('retained_from', x'0000000000000001');
    ",
];

/// Brings the tables up to date, and the file to its form: a copy that others made may have no log. An empty file becomes a store only if it may: it is what a store leaves that was cut off
/// at its very beginning, but it is also all that is left of one that was lost.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    migrations: &[&str],
    if_missing: IfMissing,
) -> Result<(), StoreError> {
    let database = |error| failed(path, error);
    // In a transaction, because another process may be making the tables right now.
    let (current, applied, mode) = {
        let moment = connection.transaction().map_err(database)?;
        let mode: String = moment.query_row("PRAGMA journal_mode", (), |row| row.get(0)).map_err(database)?;
        (is_current(&moment, path, migrations)?, version(&moment).map_err(database)?, mode)
    };
    if current {
        return if mode == "wal" { Ok(()) } else { set_form(connection, path) };
    }
    if if_missing == IfMissing::Fail && applied == 0 {
        return Err(StoreError::Missing { at: at(path), what: "store".to_owned() });
    }
    set_form(connection, path)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(database)?;
    // Another process may have been first.
    if is_current(&transaction, path, migrations)? {
        return Ok(());
    }
    let applied = version(&transaction).map_err(database)?;
    for migration in migrations.iter().skip(usize::try_from(applied).unwrap_or_default()) {
        transaction.execute_batch(migration).map_err(database)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(database)?;
    transaction.pragma_update(None, "user_version", latest(migrations)).map_err(database)?;
    transaction.commit().map_err(database)
}

/// Whether there is no table yet: the file is what is left of a store that was cut off at its very beginning, or somebody is about to make it.
pub(super) fn is_blank(connection: &mut Connection, path: &Path) -> Result<bool, StoreError> {
    let database = |error| failed(path, error);
    let moment = connection.transaction().map_err(database)?;
    let is_current = is_current(&moment, path, MIGRATIONS)?;
    Ok(!is_current && version(&moment).map_err(database)? == 0)
}

/// At what distance the form of the file is tried to be set, while others do the same.
const FORM_PAUSE: Duration = Duration::from_millis(10);

/// Decides the file's form, which must come before its first table. SQLite never waits for a lock here, because two who wait
/// could wait for each other: so it is tried again, for as long as the connection waits for other locks.
pub(super) fn set_form(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let wait = connection.query_row("PRAGMA busy_timeout", (), |row| row.get::<_, u32>(0));
    let wait = wait.map_err(|error| failed(path, error))?;
    let wait = Duration::from_millis(u64::from(wait));
    let set = || {
        connection.busy_timeout(Duration::ZERO)?;
        connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
        connection.query_row("PRAGMA journal_mode = WAL", (), |row| row.get::<_, String>(0))
    };
    let mut result = set();
    let mut waited = Duration::ZERO;
    while waited < wait {
        let busy = Some(ErrorCode::DatabaseBusy);
        if !result.as_ref().is_err_and(|error| error.sqlite_error_code() == busy) {
            break;
        }
        #[expect(clippy::disallowed_methods, reason = "SQLite never waits for this lock itself")]
        std::thread::sleep(FORM_PAUSE);
        waited += FORM_PAUSE;
        result = set();
    }
    let mode = result.and_then(|mode| connection.busy_timeout(wait).map(|()| mode));
    let mode = mode.map_err(|error| failed(path, error))?;
    if mode == "wal" {
        return Ok(());
    }
    let source = std::io::Error::other(format!("the file system allows no write-ahead log (mode {mode})"));
    Err(StoreError::io(path, "open the database", source))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", (), |row| row.get(0))
}

/// How many migrations there are, as the database counts them.
fn latest(migrations: &[&str]) -> i64 {
    i64::try_from(migrations.len()).unwrap_or(i64::MAX)
}

/// Whether nothing is to be done; an error if nothing may be done.
fn is_current(connection: &Connection, path: &Path, migrations: &[&str]) -> Result<bool, StoreError> {
    let (database, latest) = (|error| failed(path, error), latest(migrations));
    let application: i32 = connection.query_row("PRAGMA application_id", (), |row| row.get(0)).map_err(database)?;
    let applied = version(connection).map_err(database)?;
    let foreign = |reason: String| Err(StoreError::Damaged { at: at(path), what: "the database".to_owned(), reason });
    if application != APPLICATION_ID {
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0)).map_err(database)?;
        if application != 0 || applied != 0 || tables != 0 {
            return foreign(format!("is no hutch store (application id {application:#x})"));
        }
    } else if applied > latest {
        return Err(StoreError::TooNew {
            at: at(path),
            what: format!("the store has schema version {applied}"),
            known: format!("versions up to {latest}"),
        });
    } else if applied < 1 {
        return foreign(format!("has schema version {applied}"));
    } else if let Beside::Foreign(name) = own::beside(connection, migrations).map_err(database)? {
        return foreign(format!("has {name:?}, which is not as hutch makes it"));
    }
    Ok(application == APPLICATION_ID && applied == latest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::error_code::ErrorCode;

    fn open(folder: &tempfile::TempDir) -> Connection {
        Connection::open(folder.path().join("hutch.db")).unwrap()
    }

    const SECOND: &str = "CREATE TABLE more (x INTEGER) STRICT; INSERT INTO more SELECT length(value) FROM meta WHERE name = 'secret_key'";

    fn migrate_to(folder: &tempfile::TempDir, more: &[&str]) -> Result<(), StoreError> {
        migrate(&mut open(folder), Path::new("hutch.db"), &[MIGRATIONS, more].concat(), IfMissing::Create)
    }

    #[test]
    fn an_older_schema_is_brought_up_to_date_and_keeps_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        migrate_to(&folder, &[]).unwrap();
        let key: Vec<u8> =
            open(&folder).query_row("SELECT value FROM meta WHERE name = 'secret_key'", (), |row| row.get(0)).unwrap();
        migrate_to(&folder, &[SECOND]).unwrap();
        migrate_to(&folder, &[SECOND]).unwrap();
        let connection = open(&folder);
        assert_eq!(version(&connection).unwrap(), MIGRATIONS.len() as i64 + 1);
        let rows: Vec<i64> = connection
            .prepare("SELECT x FROM more")
            .unwrap()
            .query_map((), |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(rows, [32]);
        let same: Vec<u8> =
            connection.query_row("SELECT value FROM meta WHERE name = 'secret_key'", (), |row| row.get(0)).unwrap();
        assert_eq!(same, key);
    }

    /// A rule can take a gigabyte for each row that is looked at, and one that fails takes back what was to be kept.
    #[test]
    fn what_no_migration_makes_is_refused_before_a_row_is_read() {
        for (change, part) in [
            ("CREATE VIRTUAL TABLE other USING fts5(x)", "other"),
            ("CREATE INDEX kinds ON objects (kind)", "kinds"),
            ("CREATE VIEW seen AS SELECT * FROM entries", "seen"),
            ("CREATE TRIGGER put AFTER INSERT ON objects BEGIN DELETE FROM objects; END", "put"),
            ("ALTER TABLE entries ADD COLUMN note TEXT", "entries"),
            (
                "DROP TABLE objects; CREATE TABLE objects (
                    digest BLOB NOT NULL UNIQUE, kind INTEGER NOT NULL, bytes BLOB NOT NULL CHECK (length(bytes) < 300)
                ) STRICT",
                "objects",
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            migrate_to(&folder, &[]).unwrap();
            open(&folder).execute_batch(change).unwrap();
            let error = migrate_to(&folder, &[]).unwrap_err();
            assert_eq!(error.code(), ErrorCode::StoreDamaged, "{change}");
            let expected = format!("the database is damaged: has {part:?}, which is not as hutch makes it");
            assert!(error.to_string().ends_with(&expected), "{error}");
        }
    }

    /// As replication and `ANALYZE` leave them.
    #[test]
    fn tables_of_others_that_nothing_here_touches_stand_beside() {
        let folder = tempfile::tempdir().unwrap();
        migrate_to(&folder, &[]).unwrap();
        let others = "ANALYZE; CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER); CREATE INDEX others ON _litestream_seq (seq)";
        open(&folder).execute_batch(others).unwrap();
        migrate_to(&folder, &[]).unwrap();
        assert_eq!(own::beside(&open(&folder), MIGRATIONS).unwrap(), Beside::Others);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_older_schema() {
        let folder = tempfile::tempdir().unwrap();
        migrate_to(&folder, &[]).unwrap();
        assert!(migrate_to(&folder, &[SECOND, "INSERT INTO nowhere VALUES (1)"]).is_err());
        let connection = open(&folder);
        assert_eq!(version(&connection).unwrap(), MIGRATIONS.len() as i64);
        assert!(connection.prepare("SELECT x FROM more").is_err());
        migrate_to(&folder, &[]).unwrap();
    }

    #[test]
    fn a_newer_schema_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        migrate_to(&folder, &[SECOND]).unwrap();
        let error = migrate_to(&folder, &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::StoreTooNew);
        assert_eq!(
            error.to_string(),
            "hutch.db: the store has schema version 2, and this version knows versions up to 1"
        );
        assert_eq!(version(&open(&folder)).unwrap(), 2);
    }

    #[test]
    fn many_may_make_the_same_store_at_once() {
        for _ in 0..10 {
            let folder = tempfile::tempdir().unwrap();
            std::thread::scope(|scope| {
                let started: Vec<_> = (0..8)
                    .map(|_| {
                        scope.spawn(|| {
                            let mut connection = open(&folder);
                            connection.busy_timeout(std::time::Duration::from_secs(600)).unwrap();
                            migrate(&mut connection, Path::new("hutch.db"), MIGRATIONS, IfMissing::Create)
                        })
                    })
                    .collect();
                for result in started {
                    result.join().unwrap().unwrap();
                }
            });
            assert_eq!(version(&open(&folder)).unwrap(), MIGRATIONS.len() as i64);
        }
    }

    #[test]
    fn somebody_elses_database_is_left_alone() {
        for sql in ["CREATE TABLE t (x)", "PRAGMA user_version = 3", "PRAGMA application_id = 7"] {
            let folder = tempfile::tempdir().unwrap();
            open(&folder).execute_batch(sql).unwrap();
            let before = std::fs::read(folder.path().join("hutch.db")).unwrap();
            assert_eq!(migrate_to(&folder, &[]).unwrap_err().code(), ErrorCode::StoreDamaged, "{sql}");
            assert_eq!(std::fs::read(folder.path().join("hutch.db")).unwrap(), before, "{sql}");
        }
    }
}
