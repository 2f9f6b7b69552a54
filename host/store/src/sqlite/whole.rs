//! Whole instances: copied, renamed and taken away. What was begun and cut off lies in a folder beside them whose name is that of no
//! instance.

use super::SqliteStore;
use super::failure;
use crate::error::{StoreError, at};
use crate::instance_dir::{InstanceDir, lock};
use rusqlite::TransactionBehavior;
use std::io::{self, ErrorKind};
use std::path::Path;
use tempfile::{Builder, TempDir};

impl SqliteStore {
    /// Copies all that is kept into the folder of another instance of the package. What is written meanwhile is not in it. The plain
    /// directories are not copied: they follow from the state.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if something is there; the system's refusal.
    pub fn copy_to(&self, to: &InstanceDir) -> Result<(), StoreError> {
        vacant(to)?;
        let aside = aside(to)?;
        let database = aside.path().join("hutch.db");
        let written = database.display().to_string();
        self.pool.sql(|connection| connection.execute("VACUUM INTO ?1", [&written]).map(drop))?;
        settle(&database).and_then(|()| settle(aside.path())).map_err(|error| failed(to, error))?;
        take_place(aside.path(), to)?;
        // It has another name now.
        drop(aside.keep());
        Ok(())
    }

    /// Gives the instance another name.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if something has it; [`StoreError::Busy`] if another process is at work in it; the system's refusal.
    pub fn rename_to(self, to: &InstanceDir) -> Result<(), StoreError> {
        vacant(to)?;
        self.alone(|| take_place(self.dir.path(), to))
    }

    /// Takes the instance away, with its ledger and its plain directories.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if another process is at work in it; the system's refusal.
    pub fn purge(self) -> Result<(), StoreError> {
        let aside = aside(&self.dir)?;
        let gone = aside.path().join("instance");
        self.alone(|| {
            #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
            let moved = std::fs::rename(self.dir.path(), &gone);
            moved.and_then(|()| settle(parent(&self.dir))).map_err(|error| failed(&self.dir, error))
        })?;
        aside.close().map_err(|error| failed(&self.dir, error))
    }

    /// Does something while nobody else writes here.
    fn alone(&self, job: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        let wait = self.pool.wait();
        let _grants = self.dir.lock_grants(wait)?;
        let _plain = lock(&self.dir.open()?, self.dir.path(), "hutch.lock", wait)?;
        self.pool.with(|connection| {
            let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let _writing = writing.map_err(|error| failure::database(self.pool.path(), error))?;
            job()
        })
    }
}

fn parent(dir: &InstanceDir) -> &Path {
    dir.path().parent().unwrap_or(dir.path())
}

fn aside(dir: &InstanceDir) -> Result<TempDir, StoreError> {
    Builder::new().prefix(".aside-").tempdir_in(parent(dir)).map_err(|error| failed(dir, error))
}

#[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
fn vacant(dir: &InstanceDir) -> Result<(), StoreError> {
    match dir.path().symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(_) => Err(StoreError::Occupied { at: at(dir.path()) }),
        Err(error) => Err(failed(dir, error)),
    }
}

/// Nothing that has come there meanwhile is replaced, but an empty folder.
#[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
fn take_place(from: &Path, to: &InstanceDir) -> Result<(), StoreError> {
    std::fs::rename(from, to.path()).and_then(|()| settle(parent(to))).map_err(|error| match error.kind() {
        ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => StoreError::Occupied { at: at(to.path()) },
        _ => failed(to, error),
    })
}

#[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
fn settle(path: &Path) -> io::Result<()> {
    std::fs::File::open(path)?.sync_all()
}

fn failed(dir: &InstanceDir, error: io::Error) -> StoreError {
    StoreError::io(dir.path(), "move the instance", error)
}
