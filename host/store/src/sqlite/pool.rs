//! The connections of one process to one database: each use takes an idle one or opens another, so threads wait for each
//! other only where the database itself makes them.

use super::failure::database;
use super::{Opening, ledger, own, schema};
use crate::error::StoreError;
use crate::hold::Hold;
use crate::instance_dir::{InstanceDir, LOG};
use cap_std::fs::{Dir, Metadata};
use hutch_folder::{Stamp, look};
use hutch_model::ledger::Pin;
use rusqlite::{Connection, OpenFlags};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Connections that are kept open when idle.
const IDLE_MAX: usize = 8;

/// Bytes of the write-ahead log beyond which a commit also moves it to the database and empties it. Opening reads the log through,
/// so it is kept short; moving costs a sync of the database, so it is not kept shorter.
pub(super) const LOG_BYTES_MAX: u64 = 1 << 20;

/// The same for a commit that others don't wait for alone, in a process that stays: emptying the log syncs twice, while the next in
/// turn waits. What is longer than the other one when the process closes the store is emptied then.
pub(super) const GROUP_LOG_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    log: PathBuf,
    wait: Duration,
    idle: Mutex<Vec<Connection>>,
    /// The log, once something of it was to be made durable beside SQLite. Nobody locks it, so closing it lets go of no lock.
    log_file: OnceLock<File>,
    /// Let go of when nothing here is open any more.
    hold: Arc<Hold>,
}

/// What to do if there is no database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IfMissing {
    /// Make one.
    Create,
    /// Answer with [`StoreError::Missing`].
    Fail,
}

impl Pool {
    /// Opens the database and brings its tables up to date. Nothing here waits longer than `wait` for a lock.
    pub(super) fn open(hold: Arc<Hold>, dir: &InstanceDir, opening: &Opening) -> Result<Pool, StoreError> {
        let (path, log) = (dir.database(), dir.log());
        let Opening { if_missing, wait } = *opening;
        let mut first = connect(hold.folder(), &path, if_missing, wait)?;
        schema::migrate(&mut first, &path, schema::MIGRATIONS, if_missing)?;
        Ok(Pool { path, log, wait, idle: Mutex::new(vec![first]), log_file: OnceLock::new(), hold })
    }

    /// That the instance is held open.
    pub(super) fn hold(&self) -> &Hold {
        &self.hold
    }

    /// The instance's folder.
    pub(super) fn folder(&self) -> &Dir {
        self.hold.folder()
    }

    /// The longest that a use waits for others.
    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// The database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A connection to keep for a while; [`give_back`](Pool::give_back) takes it back.
    pub(super) fn take(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => {
                // By its path another instance could be found by now.
                self.hold.check()?;
                connect(self.folder(), &self.path, IfMissing::Fail, self.wait)
            }
        }
    }

    /// Takes a connection back that is in no transaction.
    pub(super) fn give_back(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX && connection.is_autocommit() {
            idle.push(connection);
        }
    }

    /// Lends a connection.
    pub(crate) fn with<R>(&self, job: impl FnOnce(&mut Connection) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let mut connection = self.take()?;
        let result = job(&mut connection);
        self.give_back(connection);
        result
    }

    /// Lends a connection for work on the database alone, whose errors need only the path.
    pub(crate) fn sql<R>(&self, job: impl FnOnce(&mut Connection) -> rusqlite::Result<R>) -> Result<R, StoreError> {
        self.with(|connection| job(connection).map_err(|error| database(&self.path, error)))
    }

    /// Moves the log to the database and empties it, if it is long. That readers or writers are in the way is no error: one of the
    /// next commits does it.
    pub(super) fn shorten_log(&self, connection: &Connection, bytes_max: u64) {
        if self.log_bytes() > bytes_max {
            empty_log(connection);
        }
    }

    /// Opens the log that SQLite has, to make it durable beside SQLite and to know it again. Called in a transaction: then SQLite has it, and
    /// nobody else takes it away.
    pub(super) fn open_log(&self) -> io::Result<()> {
        if self.log_file.get().is_none() {
            let _ = self.log_file.set(hutch_folder::open_file(self.folder(), LOG)?);
        }
        Ok(())
    }

    /// Makes durable what is in the log. What is not in it any more was made durable before it was taken out.
    ///
    /// # Errors
    /// The system can't; or the log is not there any more, or another one is: nothing can be said of what was in it.
    pub(super) fn sync_log(&self) -> io::Result<()> {
        self.open_log()?;
        self.log_file.get().ok_or(io::ErrorKind::NotFound)?.sync_data()?;
        self.check_log()
    }

    /// Whether the log that was opened is the one that is there.
    ///
    /// # Errors
    /// It is not there any more, or another one is.
    pub(super) fn check_log(&self) -> io::Result<()> {
        let file = self.log_file.get().ok_or(io::ErrorKind::NotFound)?;
        let named = look(self.folder(), LOG)?.ok_or(io::ErrorKind::NotFound)?;
        let held = Stamp::of(&Metadata::from_file(file)?);
        match (held.device, held.inode) == (named.device, named.inode) {
            true => Ok(()),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "another log is in its place")),
        }
    }

    /// The length of the log.
    pub(super) fn log_bytes(&self) -> u64 {
        #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so they are looked at by path")]
        self.log.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let is_grouped = self.log_file.get().is_some();
        if let (true, Ok(connection)) = (is_grouped, self.take()) {
            self.shorten_log(&connection, LOG_BYTES_MAX);
        }
    }
}

/// Moves the log to the database and empties it, as far as nobody is in the way.
pub(super) fn empty_log(connection: &Connection) {
    let wait = connection.query_row("PRAGMA busy_timeout", (), |row| row.get::<_, u32>(0));
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()));
    let _ = connection.busy_timeout(Duration::from_millis(wait.map_or(0, u64::from)));
}

/// Gives a copy that SQLite has just written the form that every store has, and says with which entry it ends. SQLite writes none with a
/// log, and counts how often the tables were made anew: without that, equal stores are equal files. One that is to be another store beside
/// the first has an identity of its own, which its mark tells.
pub(super) fn settled_copy(path: &Path, is_another: bool) -> Result<Pin, StoreError> {
    let failed = |error| database(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.pragma_update(None, "schema_version", 1).map_err(failed)?;
    if is_another {
        // The key stays: the entries that both have hash secrets with it. An intent that one of them writes later names its instance, so no
        // other ends it.
        let new = "UPDATE meta SET value = randomblob(16) WHERE name = 'store'";
        connection.execute(new, ()).map_err(failed)?;
    }
    schema::set_form(&connection, path)?;
    let last = ledger::last(&connection, path)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    Ok(last)
}

fn connect(folder: &Dir, path: &Path, if_missing: IfMissing, wait: Duration) -> Result<Connection, StoreError> {
    let connection = own::open(folder, path, if_missing == IfMissing::Create, wait)?;
    let set = connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
    set.map_err(|error| database(path, error))?;
    Ok(connection)
}
