//! The connections of one process to one database: each use takes an idle one or opens another, so threads wait for each
//! other only where the database itself makes them.

use super::schema;
use crate::error::StoreError;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long a writer waits for another one, unless the opener says otherwise.
pub(super) const WAIT: Duration = Duration::from_secs(10);

/// Connections that are kept open when idle.
const IDLE_MAX: usize = 8;

/// Pages in the write-ahead log before a commit also moves them to the database. Opening reads the log through, so it is
/// kept short; moving costs a sync of the database, so it is not kept shorter.
const CHECKPOINT_PAGES: u32 = 400;

#[derive(Debug)]
pub(crate) struct Pool {
    path: PathBuf,
    wait: Duration,
    idle: Mutex<Vec<Connection>>,
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
    pub(super) fn open(path: PathBuf, if_missing: IfMissing, wait: Duration) -> Result<Pool, StoreError> {
        let mut first = connect(&path, if_missing, wait)?;
        schema::migrate(&mut first, &path, schema::MIGRATIONS, if_missing)?;
        Ok(Pool { path, wait, idle: Mutex::new(vec![first]) })
    }

    /// The database file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How long it waits for others.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Lends a connection.
    pub(crate) fn with<R>(&self, job: impl FnOnce(&mut Connection) -> Result<R, StoreError>) -> Result<R, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = idle.map_or_else(|| connect(&self.path, IfMissing::Fail, self.wait), Ok)?;
        let result = job(&mut connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        result
    }

    /// Lends a connection for work on the database alone, whose errors need only the path.
    pub(crate) fn sql<R>(&self, job: impl FnOnce(&mut Connection) -> rusqlite::Result<R>) -> Result<R, StoreError> {
        self.with(|connection| job(connection).map_err(|error| StoreError::database(&self.path, error)))
    }
}

fn connect(path: &Path, if_missing: IfMissing, wait: Duration) -> Result<Connection, StoreError> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if if_missing == IfMissing::Create {
        flags |= OpenFlags::SQLITE_OPEN_CREATE;
    }
    let configured = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(wait)?;
        // Closing must cost no sync: the log stays, and a commit moves it when it is long.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // The file may come from anywhere: its schema runs no code, and SQL can't break the file.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.execute_batch(&format!(
            "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}; PRAGMA cell_size_check = ON"
        ))?;
        Ok(connection)
    };
    configured().map_err(|error| StoreError::database(path, error))
}
