//! Whole instances: copied, renamed and taken away. What was begun and cut off lies in a folder beside them whose name is that of no
//! instance, until the next one removes it.

use super::SqliteStore;
use super::failure;
use crate::error::{StoreError, at};
use crate::instance_dir::{InstanceDir, lock};
use crate::store::Store;
use rusqlite::TransactionBehavior;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

impl SqliteStore {
    /// Copies all that is kept into the folder of another instance of the package. What is written meanwhile is not in it. The plain
    /// directories are not copied: they follow from the state.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if something is there; [`StoreError::Refused`] as long as a killed run is not settled;
    /// [`StoreError::Busy`] if another process is at work; the system's refusal.
    pub fn copy_to(&self, to: &InstanceDir) -> Result<(), StoreError> {
        vacant(to)?;
        let _grants = self.dir.lock_grants(self.pool.wait())?;
        self.expect_settled()?;
        let aside = Aside::make(to)?;
        let database = aside.folder.join("hutch.db");
        let written = database.display().to_string();
        self.pool.sql(|connection| connection.execute("VACUUM INTO ?1", [&written]).map(drop))?;
        settle(&database).and_then(|()| settle(&aside.folder)).map_err(|error| failed(to, error))?;
        take_place(&aside.folder, to)
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
    /// [`StoreError::Refused`] as long as a killed run is not settled: what it kept aside in a granted folder is known here alone;
    /// [`StoreError::Busy`] if another process is at work in it; the system's refusal.
    pub fn purge(self) -> Result<(), StoreError> {
        let aside = Aside::make(&self.dir)?;
        let gone = aside.folder.join("instance");
        self.alone(|| {
            self.expect_settled()?;
            #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
            let moved = std::fs::rename(self.dir.path(), &gone);
            moved.and_then(|()| settle(parent(&self.dir))).map_err(|error| failed(&self.dir, error))
        })?;
        aside.remove().map_err(|error| failed(&self.dir, error))
    }

    /// Two instances that both know of what a run left in a granted folder would both end it, and none could if none knew.
    fn expect_settled(&self) -> Result<(), StoreError> {
        match self.head()?.open.is_empty() {
            true => Ok(()),
            false => {
                let reason = "a killed run is not settled; hutch state status names the folder".to_owned();
                Err(StoreError::Refused { at: at(self.dir.path()), reason })
            }
        }
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

/// A folder beside the instances of a package, for what is on its way: one at a time, so that what was cut off is known for that.
struct Aside {
    folder: PathBuf,
    /// Held as long as the folder is used.
    _turn: File,
}

impl Aside {
    #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
    fn make(dir: &InstanceDir) -> Result<Aside, StoreError> {
        let failed = |error| failed(dir, error);
        let folder = parent(dir).join(".aside");
        let turn = File::open(parent(dir)).map_err(failed)?;
        turn.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Busy { at: at(parent(dir)) },
            TryLockError::Error(error) => failed(error),
        })?;
        let aside = Aside { folder, _turn: turn };
        aside.remove().map_err(failed)?;
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&aside.folder).map_err(failed)?;
        Ok(aside)
    }

    #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
    fn remove(&self) -> io::Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // What can't be removed now, the next one removes.
        let _ = self.remove();
    }
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
