//! The memo of an instance: a database of its own in the instance's folder, so that who can write the one can write the other, and nobody
//! else. Nothing that is put there is waited for: what the power takes with it is missed.

use super::columns::{Named, signed, unsigned};
use super::failure::database;
use super::own;
use crate::error::{StoreError, at};
use crate::instance_dir::InstanceDir;
use crate::memo::{Found, MEMO_BYTES_MAX, Memo, MemoStats};
use hutch_model::digest::Digest;
use hutch_model::memo::KEPT_BYTES_MAX;
use rusqlite::{Connection, OptionalExtension};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The longest that another process is waited for. To run the guest may take less.
const WAIT: Duration = Duration::from_millis(250);

/// How many outcomes go at once where there is no room.
const MADE_ROOM: u32 = 64;

/// Marks the file as a memo: "hutm".
const APPLICATION_ID: i32 = 0x6875_746d;

/// The order in which they came is that of their rows.
const TABLE: &str =
    "CREATE TABLE outcomes (place INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL) STRICT;";

/// The outcomes of an instance in a home.
#[derive(Debug)]
pub(crate) struct SqliteMemo {
    path: PathBuf,
    connection: Mutex<Connection>,
    bytes_max: u64,
}

impl SqliteMemo {
    /// Opens the memo of an instance, which is made if it is missing and `make` says so.
    pub(crate) fn open(dir: &InstanceDir, make: bool) -> Result<Option<SqliteMemo>, StoreError> {
        let path = dir.memo();
        #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so they are looked for by path")]
        if !make && path.metadata().is_err() {
            return Ok(None);
        }
        let connection = own::open(&dir.open()?, &path, make, WAIT)?;
        let settle = || {
            if !own::claim(&connection, APPLICATION_ID, TABLE)? {
                return Ok(false);
            }
            connection.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(()))?;
            connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 1000")?;
            connection.execute_batch(&TABLE.replacen("TABLE", "TABLE IF NOT EXISTS", 1))?;
            Ok(true)
        };
        if !settle().map_err(|error| database(&path, error))? {
            let (what, reason) = ("the database".to_owned(), "is no memo, but something else's database".to_owned());
            return Err(StoreError::Damaged { at: at(&path), what, reason });
        }
        Ok(Some(SqliteMemo { path, connection: Mutex::new(connection), bytes_max: MEMO_BYTES_MAX }))
    }

    /// The same, holding at most so much.
    #[cfg(test)]
    fn bounded(self, bytes_max: u64) -> SqliteMemo {
        SqliteMemo { bytes_max, ..self }
    }

    fn with<R>(&self, job: impl FnOnce(&Connection) -> rusqlite::Result<R>) -> Result<R, StoreError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        job(&connection).map_err(|error| database(&self.path, error))
    }
}

/// The bytes that are in use: those of whole pages, the tables' own included.
fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |name: &str| connection.query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, u32>(0));
    let (pages, free, bytes) = (number("page_count")?, number("freelist_count")?, number("page_size")?);
    Ok(u64::from(pages.saturating_sub(free)) * u64::from(bytes))
}

impl Memo for SqliteMemo {
    fn get(&self, keys: &[Digest]) -> Result<Vec<Found>, StoreError> {
        const FIND: &str = "SELECT value FROM outcomes WHERE key = ?1 AND length(value) <= ?2";
        self.with(|connection| {
            let mut find = connection.prepare_cached(FIND)?;
            let mut found = Vec::new();
            for key in keys {
                let value =
                    find.query_row((Named(*key), signed(KEPT_BYTES_MAX as u64)), |row| row.get(0)).optional()?;
                found.extend(value.map(|value| Found { key: *key, value, role: None, instance: None }));
            }
            Ok(found)
        })
    }

    fn put(&self, key: &Digest, value: &[u8]) -> Result<(), StoreError> {
        const PUT: &str = "INSERT OR REPLACE INTO outcomes (key, value) VALUES (?1, ?2)";
        const MAKE_ROOM: &str =
            "DELETE FROM outcomes WHERE place IN (SELECT place FROM outcomes ORDER BY place LIMIT ?1)";
        self.with(|connection| {
            let full = |connection: &Connection| {
                Ok::<_, rusqlite::Error>(used_bytes(connection)?.saturating_add(value.len() as u64) > self.bytes_max)
            };
            while full(connection)? && connection.prepare_cached(MAKE_ROOM)?.execute([MADE_ROOM])? > 0 {}
            connection.prepare_cached(PUT)?.execute((Named(*key), value)).map(drop)
        })
    }

    fn remove(&self, key: &Digest) -> Result<(), StoreError> {
        self.with(|connection| connection.execute("DELETE FROM outcomes WHERE key = ?1", [Named(*key)]).map(drop))
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.with(|connection| {
            connection.execute("DELETE FROM outcomes", ())?;
            connection.execute_batch("VACUUM")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
        })
    }

    fn stats(&self) -> Result<MemoStats, StoreError> {
        self.with(|connection| {
            let outcomes = connection.query_row("SELECT count(*) FROM outcomes", (), |row| row.get(0))?;
            Ok(MemoStats { outcomes: unsigned(outcomes), bytes: used_bytes(connection)? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::digest::Kind;

    fn place(folder: &tempfile::TempDir) -> InstanceDir {
        let slug = hutch_model::names::Slug::parse("todo").unwrap();
        InstanceDir::new(folder.path(), &slug, &"default".parse().unwrap())
    }

    fn memo(folder: &tempfile::TempDir) -> SqliteMemo {
        let dir = place(folder);
        dir.create().unwrap();
        SqliteMemo::open(&dir, true).unwrap().unwrap()
    }

    fn key(number: u32) -> Digest {
        Digest::of(Kind::Memo, &number.to_le_bytes())
    }

    #[test]
    fn what_was_put_is_found_by_all_until_it_is_put_again_or_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (memo(&folder), memo(&folder));
        let value = |memo: &SqliteMemo, number| memo.get(&[key(number)]).unwrap().pop().map(|found| found.value);
        assert_eq!(value(&one, 1), None);
        one.put(&key(1), b"first").unwrap();
        other.put(&key(2), b"").unwrap();
        assert_eq!((value(&other, 1), value(&one, 2)), (Some(b"first".to_vec()), Some(Vec::new())));
        other.put(&key(1), b"second").unwrap();
        assert_eq!(value(&one, 1), Some(b"second".to_vec()));
        assert_eq!(one.stats().unwrap().outcomes, 2);
        one.remove(&key(1)).unwrap();
        assert_eq!((value(&other, 1), value(&other, 2)), (None, Some(Vec::new())));
        other.clear().unwrap();
        assert_eq!((value(&one, 2), one.stats().unwrap().outcomes), (None, 0));
    }

    #[test]
    fn it_holds_no_more_than_it_may_and_what_came_first_goes_first() {
        const BYTES_MAX: u64 = 4 << 20;
        let folder = tempfile::tempdir().unwrap();
        let memo = memo(&folder).bounded(BYTES_MAX);
        for number in 0..3000 {
            memo.put(&key(number), &[number as u8; 5000]).unwrap();
            assert!(memo.stats().unwrap().bytes <= BYTES_MAX + (64 << 10), "{number}");
        }
        assert!(memo.get(&[key(0)]).unwrap().is_empty());
        assert!(memo.get(&[key(2999)]).unwrap().len() == 1 && memo.stats().unwrap().outcomes > 400);
        let file = std::fs::metadata(&memo.path).unwrap().len();
        assert!(file <= BYTES_MAX + (256 << 10), "{file}");
    }

    #[test]
    fn a_file_that_is_none_is_an_error_and_a_missing_one_is_made_only_if_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let first = memo(&folder);
        let (path, dir) = (first.path.clone(), first.path.parent().unwrap().to_owned());
        drop(first);
        std::fs::remove_dir_all(&dir).unwrap();
        std::fs::create_dir(&dir).unwrap();
        assert!(SqliteMemo::open(&place(&folder), false).unwrap().is_none() && !path.exists());
        std::fs::write(&path, "no database, but as long as one of them: ".repeat(200)).unwrap();
        assert!(SqliteMemo::open(&place(&folder), true).is_err());
    }

    #[test]
    fn somebody_elses_database_is_no_memo_and_one_of_an_earlier_version_is() {
        let folder = tempfile::tempdir().unwrap();
        place(&folder).create().unwrap();
        let path = place(&folder).memo();
        for other in [
            "CREATE TABLE mine (x); CREATE TABLE outcomes (x)",
            "PRAGMA application_id = 7",
            "CREATE TABLE outcomes (place INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL CHECK (hex(zeroblob(100000000)) <> '')) STRICT;
             PRAGMA application_id = 1752528237",
        ] {
            Connection::open(&path).unwrap().execute_batch(other).unwrap();
            let before = std::fs::read(&path).unwrap();
            let error = SqliteMemo::open(&place(&folder), true).unwrap_err();
            assert!(matches!(error, StoreError::Damaged { .. }), "{other}: {error}");
            assert!(std::fs::read(&path).unwrap() == before, "{other}: it was written");
            std::fs::remove_file(&path).unwrap();
        }
        memo(&folder).put(&key(1), b"kept").unwrap();
        Connection::open(&path).unwrap().execute_batch("PRAGMA application_id = 0").unwrap();
        assert_eq!(memo(&folder).get(&[key(1)]).unwrap().len(), 1);
    }
}
