//! What is remembered of the plain directories, in a small database of its own beside them: which snapshot each shows, and what each
//! name in it looked like when it was last known to hold something, with the name of that. A stamp that is missing or does not fit
//! costs a look at the content, nothing more, so nothing here is made durable, and what is damaged is begun anew: in its place and under
//! its locks, because others may have it open, in a transaction. What is not known as ours is no file of ours that is damaged: it is moved aside.

use super::staged::keep;
use crate::error::{StoreError, at};
use crate::names::VolumeName;
use crate::sqlite::columns::{Named, signed, unsigned};
use crate::sqlite::failure::{database, is_unfit};
use crate::sqlite::own;
use crate::store::State;
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp, look};
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::Node;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The file.
const NAME: &str = "hutch.plain";

/// Marks it as ours: "hutp".
const APPLICATION_ID: i32 = 0x6875_7470;

/// What is known of a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mark {
    /// It held this content when it looked like this.
    Seen(Stamp, Digest),
    /// This file system can't show this content under this name, or must not; nothing of ours stands there.
    Withheld(Digest),
}

/// The name of what a file holds or where a link points; none for a folder.
pub(super) fn content(node: &Node) -> Option<Digest> {
    match node {
        Node::File { content, .. } => Some(*content),
        Node::Link { target } => Some(Digest::of(Kind::Link, target.as_bytes())),
        Node::Folder { .. } => None,
    }
}

/// What a plain directory shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shown {
    /// The snapshot.
    pub(super) tree: Digest,
    /// The one that an update is bringing it to, or was when it was cut off: on disk may be either, and nothing else.
    pub(super) target: Option<Digest>,
}

/// A folder, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FolderId(i64);

const TABLES: &str = "
    CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE volumes (volume TEXT PRIMARY KEY, tree BLOB NOT NULL, target BLOB) STRICT, WITHOUT ROWID;
    CREATE TABLE folders (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE (parent, name)) STRICT;
    CREATE TABLE stamps (
        folder INTEGER NOT NULL, name TEXT NOT NULL, kind INTEGER NOT NULL, content BLOB NOT NULL,
        size INTEGER NOT NULL, modified_ns INTEGER NOT NULL, changed_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL, device INTEGER NOT NULL,
        PRIMARY KEY (folder, name)
    ) STRICT, WITHOUT ROWID;
    PRAGMA user_version = 1;
";

/// The parent of the volumes' own folders.
const TOP: i64 = 0;

const WITHHELD: i64 = 4;

const fn number(form: Form) -> i64 {
    match form {
        Form::File => 1,
        Form::Folder => 2,
        Form::Link => 3,
        Form::Other => 0,
    }
}

const MARK: &str = "kind, content, size, modified_ns, changed_ns, inode, device";

fn mark(row: &Row<'_>, first: usize) -> rusqlite::Result<Mark> {
    let Named(content) = row.get(first + 1)?;
    let form = match row.get(first)? {
        WITHHELD => return Ok(Mark::Withheld(content)),
        1 => Form::File,
        2 => Form::Folder,
        3 => Form::Link,
        _ => Form::Other,
    };
    let number = |column| row.get(first + column).map(unsigned);
    let bits = |column| row.get(first + column).map(i64::cast_unsigned);
    let (size, modified_ns, changed_ns) = (number(2)?, number(3)?, number(4)?);
    Ok(Mark::Seen(Stamp { form, size, modified_ns, changed_ns, inode: bits(5)?, device: bits(6)? }, content))
}

/// The database of stamps.
#[derive(Debug)]
pub(super) struct Stamps {
    connection: Mutex<Connection>,
    path: PathBuf,
}

impl Stamps {
    /// Opens it, or begins it anew where it is missing or damaged.
    pub(super) fn open(folder: &Dir, at: &Path, wait: Duration) -> Result<Stamps, StoreError> {
        let path = at.join(NAME);
        let connection = connect(folder, &path, wait)?;
        let settled = settle(&connection).or_else(|error| mend(&connection, error));
        settled.map_err(|error| database(&path, error))?;
        Ok(Stamps { connection: Mutex::new(connection), path })
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the database; if it is damaged, it is begun anew and asked again, and knows nothing.
    fn sql<R>(&self, job: impl Fn(&Connection) -> rusqlite::Result<R>) -> Result<R, StoreError> {
        let connection = self.lock();
        let done = job(&connection).or_else(|error| {
            mend(&connection, error)?;
            job(&connection)
        });
        done.map_err(|error| database(&self.path, error))
    }

    /// What the directory of `volume` shows; `None` if it was never brought anywhere.
    pub(super) fn shown(&self, volume: &VolumeName) -> Result<Option<Shown>, StoreError> {
        self.sql(|connection| {
            connection
                .prepare_cached("SELECT tree, target FROM volumes WHERE volume = ?1")?
                .query_row([volume.as_str()], |row| shown(row, 0))
                .optional()
        })
    }

    /// Whether any directory shows something else than `state`, or may.
    pub(super) fn behind(&self, state: &State) -> Result<bool, StoreError> {
        let all: BTreeMap<String, Shown> = self.sql(|connection| {
            let mut query = connection.prepare_cached("SELECT volume, tree, target FROM volumes")?;
            query.query_map((), |row| Ok((row.get(0)?, shown(row, 1)?)))?.collect()
        })?;
        let there = |(volume, tree): (&VolumeName, &Digest)| {
            all.get(volume.as_str()) == Some(&Shown { tree: *tree, target: None })
        };
        Ok(!state.iter().all(there))
    }

    /// Remembers what a directory shows.
    pub(super) fn set_shown(&self, volume: &VolumeName, shown: Shown) -> Result<(), StoreError> {
        self.sql(|connection| {
            let row = (volume.as_str(), Named(shown.tree), shown.target.map(Named));
            connection.prepare_cached("INSERT OR REPLACE INTO volumes VALUES (?1, ?2, ?3)")?.execute(row).map(|_| ())
        })
    }

    /// Forgets a directory that is gone.
    pub(super) fn forget(&self, volume: &VolumeName) -> Result<(), StoreError> {
        if let Some(top) = self.top(volume)? {
            self.forget_folder(top)?;
        }
        self.sql(|connection| connection.execute("DELETE FROM volumes WHERE volume = ?1", [volume.as_str()]))?;
        Ok(())
    }

    /// When the machine was started that the stamps are of.
    pub(super) fn boot(&self) -> Result<Option<String>, StoreError> {
        self.sql(|connection| {
            let mut query = connection.prepare_cached("SELECT value FROM meta WHERE name = 'boot'")?;
            query.query_row((), |row| row.get(0)).optional()
        })
    }

    /// Remembers it.
    pub(super) fn set_boot(&self, boot: &str) -> Result<(), StoreError> {
        self.sql(|connection| connection.execute("INSERT OR REPLACE INTO meta VALUES ('boot', ?1)", [boot]))?;
        Ok(())
    }

    /// The folder of a volume, if anything is known of it.
    pub(super) fn top(&self, volume: &VolumeName) -> Result<Option<FolderId>, StoreError> {
        self.below(FolderId(TOP), volume.as_str())
    }

    /// A folder in another one, if anything is known of it.
    pub(super) fn below(&self, parent: FolderId, name: &str) -> Result<Option<FolderId>, StoreError> {
        self.sql(|connection| {
            let mut query = connection.prepare_cached("SELECT id FROM folders WHERE parent = ?1 AND name = ?2")?;
            query.query_row((parent.0, name), |row| row.get(0).map(FolderId)).optional()
        })
    }

    /// The folder of a volume, known from now on.
    pub(super) fn make_top(&self, volume: &VolumeName) -> Result<FolderId, StoreError> {
        self.make_below(FolderId(TOP), volume.as_str())
    }

    /// A folder in another one, known from now on.
    pub(super) fn make_below(&self, parent: FolderId, name: &str) -> Result<FolderId, StoreError> {
        if let Some(folder) = self.below(parent, name)? {
            return Ok(folder);
        }
        self.sql(|connection| {
            let mut insert = connection.prepare_cached("INSERT INTO folders (parent, name) VALUES (?1, ?2)")?;
            insert.insert((parent.0, name)).map(FolderId)
        })
    }

    /// Forgets a folder and all below it.
    pub(super) fn forget_folder(&self, folder: FolderId) -> Result<(), StoreError> {
        self.sql(|connection| {
            const BELOW: &str = "WITH RECURSIVE gone (id) AS (
                SELECT ?1 UNION ALL SELECT folders.id FROM folders JOIN gone ON folders.parent = gone.id)";
            let stamps = format!("{BELOW} DELETE FROM stamps WHERE folder IN gone");
            let folders = format!("{BELOW} DELETE FROM folders WHERE id IN gone");
            connection.prepare_cached(&stamps)?.execute([folder.0])?;
            connection.prepare_cached(&folders)?.execute([folder.0]).map(|_| ())
        })
    }

    /// What is known of one name.
    pub(super) fn one(&self, folder: FolderId, name: &str) -> Result<Option<Mark>, StoreError> {
        self.sql(|connection| {
            let sql = format!("SELECT {MARK} FROM stamps WHERE folder = ?1 AND name = ?2");
            connection.prepare_cached(&sql)?.query_row((folder.0, name), |row| mark(row, 0)).optional()
        })
    }

    /// What is known of all names in a folder.
    pub(super) fn all(&self, folder: FolderId) -> Result<HashMap<String, Mark>, StoreError> {
        self.sql(|connection| {
            let sql = format!("SELECT name, {MARK} FROM stamps WHERE folder = ?1");
            let mut query = connection.prepare_cached(&sql)?;
            query.query_map([folder.0], |row| Ok((row.get(0)?, mark(row, 1)?)))?.collect()
        })
    }

    /// Remembers what is known of a name now.
    pub(super) fn set(&self, folder: FolderId, name: &str, mark: Option<Mark>) -> Result<(), StoreError> {
        self.sql(|connection| {
            let Some(mark) = mark else {
                let mut delete = connection.prepare_cached("DELETE FROM stamps WHERE folder = ?1 AND name = ?2")?;
                return delete.execute((folder.0, name)).map(|_| ());
            };
            let (kind, stamp, content) = match mark {
                Mark::Seen(stamp, content) => (number(stamp.form), Some(stamp), content),
                Mark::Withheld(content) => (WITHHELD, None, content),
            };
            let known = |of: fn(Stamp) -> i64| stamp.map_or(0, of);
            connection
                .prepare_cached("INSERT OR REPLACE INTO stamps VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?
                .execute((
                    folder.0,
                    name,
                    kind,
                    Named(content),
                    known(|stamp| signed(stamp.size)),
                    known(|stamp| signed(stamp.modified_ns)),
                    known(|stamp| signed(stamp.changed_ns)),
                    known(|stamp| stamp.inode.cast_signed()),
                    known(|stamp| stamp.device.cast_signed()),
                ))
                .map(|_| ())
        })
    }

    /// Puts what is remembered from now on together, until the answer is dropped. One at a time; the directories' lock sees to it.
    pub(super) fn batch(&self) -> Result<Batch<'_>, StoreError> {
        self.sql(|connection| connection.execute_batch("BEGIN IMMEDIATE"))?;
        Ok(Batch(self))
    }
}

/// Many changes as one.
pub(super) struct Batch<'a>(&'a Stamps);

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // What is not remembered is found out again.
        let connection = self.0.lock();
        if connection.execute_batch("COMMIT").is_err() {
            let _ = connection.execute_batch("ROLLBACK");
        }
    }
}

fn shown(row: &Row<'_>, first: usize) -> rusqlite::Result<Shown> {
    let Named(tree) = row.get(first)?;
    Ok(Shown { tree, target: row.get::<_, Option<Named>>(first + 1)?.map(|Named(target)| target) })
}

/// Makes it usable again after an error, if what is in it is the cause; else that is the error.
fn mend(connection: &Connection, error: rusqlite::Error) -> rusqlite::Result<()> {
    let is_damaged = is_damage(&error);
    if !is_damaged && !is_unfit(&error) {
        return Err(error);
    }
    // What a batch has not put down is found out again.
    if !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    // What was prepared says nothing of the tables that are there now. Somebody else may have begun it anew meanwhile.
    connection.flush_prepared_statement_cache();
    // Or put something there that is not ours; what is, with other tables, is begun anew.
    let is_as_made = claim(connection)?;
    if !is_as_made && !own::is_marked(connection, APPLICATION_ID)? {
        return Err(error);
    }
    let begin = !is_as_made
        || match settle(connection) {
            Ok(()) => is_damaged,
            Err(found) if is_unfit(&found) || is_damage(&found) => true,
            Err(found) => return Err(found),
        };
    if begin {
        empty(connection)?;
        claim(connection)?;
        settle(connection)?;
    }
    Ok(())
}

/// Makes the file an empty one, whatever is in it.
fn empty(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
    let emptied = connection.execute_batch("VACUUM");
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
    emptied
}

/// Whether it says that the file is none of SQLite's, or none any more.
fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Opens the file if it is ours, or makes it. Nothing is written into another: it is moved to where a person finds it.
fn connect(folder: &Dir, path: &Path, wait: Duration) -> Result<Connection, StoreError> {
    let unread = |error| StoreError::io(path, "look at it", error);
    let looked = look(folder, NAME).map_err(unread)?;
    let connection = own::open(folder, path, true, wait)?;
    // One of ours with other tables is begun anew.
    let claimed = claim(&connection).and_then(|is_as_made| {
        if !is_as_made && own::is_marked(&connection, APPLICATION_ID)? {
            empty(&connection)?;
            return claim(&connection);
        }
        Ok(is_as_made)
    });
    let what = match claimed {
        Ok(true) => return Ok(connection),
        Ok(false) => "is not what is known of plain directories, but something else's database".to_owned(),
        Err(error) if is_damage(&error) => error.to_string(),
        Err(error) => return Err(database(path, error)),
    };
    drop(connection);
    // Somebody else may have moved it meanwhile.
    if looked.is_some() && look(folder, NAME).map_err(unread)? == looked {
        let at = path.parent().unwrap_or(path);
        for part in own::PARTS {
            let name = format!("{NAME}{part}");
            if look(folder, &name).map_err(unread)?.is_some() {
                keep(&Hands::default(), (folder, at), (folder, &name))?;
            }
        }
    }
    let connection = own::open(folder, path, true, wait)?;
    match claim(&connection).map_err(|error| database(path, error))? {
        true => Ok(connection),
        false => Err(StoreError::Damaged { at: at(path), what: "the database".to_owned(), reason: what }),
    }
}

fn claim(connection: &Connection) -> rusqlite::Result<bool> {
    own::claim(connection, APPLICATION_ID, TABLES)
}

/// Sees to it that the tables are there, and fit.
fn settle(connection: &Connection) -> rusqlite::Result<()> {
    // A batch stays in memory until it ends: what is written before keeps all readers out until then.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_spill = OFF")?;
    // A process that is killed leaves a journal, and the next one goes back by it: no row is half written.
    connection.query_row("PRAGMA journal_mode = TRUNCATE", (), |_| Ok(()))?;
    if version(connection)? == 0 {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        // Another process may have been first.
        let made = match version(connection)? {
            0 => connection.execute_batch(TABLES),
            _ => Ok(()),
        };
        connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        made?;
    }
    // Held against the tables now, so that what does not fit shows here.
    connection.prepare_cached("SELECT volume, tree, target FROM volumes")?;
    connection.prepare_cached(&format!("SELECT {MARK} FROM stamps WHERE folder = ?1 AND name = ?2"))?;
    Ok(())
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", (), |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::of(Kind::Chunk, text.as_bytes())
    }

    fn open(folder: &tempfile::TempDir) -> Stamps {
        let dir = Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority()).unwrap();
        Stamps::open(&dir, folder.path(), Duration::from_millis(20)).unwrap()
    }

    /// Others may be in the middle of something: what they do is neither cut off nor played back into what is begun anew.
    #[test]
    fn what_is_damaged_is_not_begun_anew_under_somebodys_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hutch.plain");
        let volume: VolumeName = "state".parse().unwrap();
        let first = open(&folder);
        first.set_shown(&volume, Shown { tree: digest("1"), target: None }).unwrap();
        let inode = |path: &Path| {
            hutch_folder::Stamp::of(&cap_std::fs::Metadata::from_just_metadata(path.metadata().unwrap())).inode
        };
        let before = inode(&path);
        let other = open(&folder);
        let batch = other.batch().unwrap();
        other.set_shown(&volume, Shown { tree: digest("2"), target: None }).unwrap();
        // Another one's tables, or none, as it finds them in the middle of the file.
        let damaged = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), None);
        let error = mend(&first.lock(), damaged).unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::DatabaseBusy), "{error}");
        drop(batch);
        assert_eq!(first.shown(&volume).unwrap().unwrap().tree, digest("2"));
        // With nobody in the way it is begun anew in its place, and all who have it open go on with it.
        let damaged = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), None);
        mend(&first.lock(), damaged).unwrap();
        assert_eq!(inode(&path), before);
        assert_eq!((first.shown(&volume).unwrap(), other.shown(&volume).unwrap()), (None, None));
        other.set_shown(&volume, Shown { tree: digest("3"), target: None }).unwrap();
        assert_eq!(first.shown(&volume).unwrap().unwrap().tree, digest("3"));
    }

    /// A statement that does not fit the moment says nothing of what is stored.
    #[test]
    fn a_statement_that_fails_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let volume: VolumeName = "state".parse().unwrap();
        let stamps = open(&folder);
        let shown = Shown { tree: digest("1"), target: None };
        stamps.set_shown(&volume, shown).unwrap();
        let failed = stamps.sql(|connection| connection.execute_batch("SELECT nothing FROM nowhere"));
        assert!(failed.is_err());
        assert_eq!(stamps.shown(&volume).unwrap(), Some(shown));
        // Tables that are another version's are begun anew, whenever it is found.
        for at_open in [false, true] {
            stamps.set_shown(&volume, shown).unwrap();
            stamps.lock().execute_batch("ALTER TABLE volumes RENAME COLUMN target TO aim").unwrap();
            let found = if at_open { open(&folder).shown(&volume) } else { stamps.shown(&volume) };
            assert_eq!(found.unwrap(), None);
            stamps.set_shown(&volume, shown).unwrap();
        }
        // Somebody else who begins it anew leaves it without tables for a moment.
        stamps
            .lock()
            .execute_batch(
                "DROP TABLE volumes; DROP TABLE stamps; DROP TABLE folders; DROP TABLE meta; PRAGMA user_version = 0",
            )
            .unwrap();
        assert_eq!(stamps.shown(&volume).unwrap(), None);
    }
}
