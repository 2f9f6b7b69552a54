//! Whole instances: copied, renamed and taken away. What was begun and cut off lies in a folder beside them whose name is that of no
//! instance, until the next one removes it.

use super::SqliteStore;
use super::failure;
use super::pool;
use crate::error::{StoreError, at};
use crate::instance_dir::{InstanceDir, InstanceLock};
use crate::store::Store;
use hutch_model::ledger::Pin;
use rusqlite::TransactionBehavior;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

impl SqliteStore {
    /// Copies all that is kept, as of one moment, into the folder of another instance of the package, which is another store from then on.
    /// What is written meanwhile is not in it. The plain directories are not copied: they follow from the state.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if something is there; [`StoreError::Unsettled`] as long as a killed run is not settled;
    /// [`StoreError::Busy`] if another process is at work; the system's refusal.
    pub fn copy_to(&self, to: &InstanceDir) -> Result<(), StoreError> {
        vacant(to)?;
        let aside = Aside::make(to)?;
        self.write_copy(&aside.folder.join("hutch.db"), true)?;
        settle(&aside.folder).map_err(|error| failed(to, error))?;
        take_place(&aside.folder, to)
    }

    /// Copies all that is kept, as of one moment, into a new file, and says with which entry it ends. Others may write meanwhile: none of
    /// that is in it. Equal stores are equal files, and so is the copy of a copy. The file holds the key for secrets, so it belongs where
    /// nobody else may look.
    ///
    /// # Errors
    /// As for [`copy_to`](SqliteStore::copy_to), or the file is there.
    pub fn copy_into(&self, file: &Path) -> Result<Pin, StoreError> {
        self.write_copy(file, false)
    }

    fn write_copy(&self, file: &Path, is_another: bool) -> Result<Pin, StoreError> {
        let _grants = self.dir.lock_grants(self.pool.wait())?;
        self.expect_settled()?;
        let written = file.display().to_string();
        self.pool.sql(|connection| connection.execute("VACUUM INTO ?1", [&written]).map(drop))?;
        let last = pool::settled_copy(file, is_another)?;
        settle(file).map_err(|error| StoreError::io(file, "make the copy durable", error))?;
        Ok(last)
    }

    /// Gives the instance another name.
    ///
    /// # Errors
    /// [`StoreError::Occupied`] if something has it; [`StoreError::InUse`] if somebody else has it open; the system's refusal.
    pub fn rename_to(self, to: &InstanceDir) -> Result<(), StoreError> {
        vacant(to)?;
        self.alone(|| take_place(self.dir.path(), to))
    }

    /// Takes the instance away, with its ledger and its plain directories. What a killed run kept aside in a granted folder stays there, and
    /// nobody knows of it any more: whoever asks for this is to be told ([`Head::open`](crate::Head::open)).
    ///
    /// # Errors
    /// [`StoreError::InUse`] if somebody else has it open; the system's refusal.
    pub fn purge(self) -> Result<(), StoreError> {
        let aside = Aside::make(&self.dir)?;
        self.alone(|| aside.take(&self.dir))?;
        aside.remove().map_err(|error| failed(&self.dir, error))
    }

    /// Takes back an instance that was made and never used: its ledger is empty, and nobody else has it open. Else nothing is done. Says
    /// which it was. An empty folder may stay, which is no instance.
    ///
    /// # Errors
    /// The store can't be read, or the system refuses.
    pub fn unmake(self) -> Result<bool, StoreError> {
        match self.hold_alone(Duration::ZERO) {
            Err(StoreError::InUse { .. }) => return Ok(false),
            held => held?,
        }
        if self.head()?.last.sequence > 0 {
            return Ok(false);
        }
        self.remove_files().map_err(|error| failed(&self.dir, error))?;
        #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
        let _ = std::fs::remove_dir(self.dir.path());
        Ok(true)
    }

    /// Removes what a store has put into the folder: first what says that there is one, then the database, then the rest.
    fn remove_files(&self) -> io::Result<()> {
        let folder = self.dir.open().map_err(io::Error::other)?;
        for name in ["hutch.mark", "hutch.db"] {
            match folder.remove_file(name) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        for entry in folder.entries()? {
            let entry = entry?;
            if entry.file_name().to_str().is_some_and(|name| name.starts_with("hutch.")) {
                match entry.file_type()?.is_dir() {
                    true => entry.remove_dir()?,
                    false => entry.remove_file()?,
                }
            }
        }
        Ok(())
    }

    /// Two instances that both know of what a run left in a granted folder would both end it, and none could if none knew.
    fn expect_settled(&self) -> Result<(), StoreError> {
        let open: Vec<u64> = self.head()?.open.into_iter().collect();
        match open.is_empty() {
            true => Ok(()),
            false => Err(StoreError::Unsettled { at: at(self.dir.path()), open }),
        }
    }

    /// Does something while nobody else has the instance open, and nobody else's tool writes its database.
    fn alone(&self, job: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.hold_alone(self.pool.wait())?;
        self.pool.with(|connection| {
            let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate);
            let _writing = writing.map_err(|error| failure::database(self.pool.path(), error))?;
            job()
        })
    }

    /// Nobody else has the instance open from now on, nor can open it.
    fn hold_alone(&self, wait: Duration) -> Result<(), StoreError> {
        // Clones are the same store, and hold it with the same lock.
        if Arc::strong_count(&self.pool) > 1 {
            return Err(StoreError::InUse { at: at(self.dir.path()), by: vec![std::process::id()] });
        }
        self.pool.hold().alone(wait)
    }
}

fn parent(dir: &InstanceDir) -> &Path {
    dir.path().parent().unwrap_or(dir.path())
}

/// A folder beside the instances of a package, for what is on its way: one at a time, so that what was cut off is known for that.
pub(super) struct Aside {
    folder: PathBuf,
    /// Held as long as the folder is used.
    _turn: InstanceLock,
}

impl Aside {
    #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
    pub(super) fn make(dir: &InstanceDir) -> Result<Aside, StoreError> {
        let failed = |error| failed(dir, error);
        let folder = parent(dir).join(".aside");
        let turn = File::open(parent(dir)).map_err(failed)?;
        turn.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => StoreError::Busy { at: at(parent(dir)) },
            TryLockError::Error(error) => failed(error),
        })?;
        let aside = Aside { folder, _turn: InstanceLock::of(turn) };
        aside.remove().map_err(failed)?;
        hutch_folder::private_folders().create(&aside.folder).map_err(failed)?;
        Ok(aside)
    }

    /// Takes an instance's folder in, which nobody has open: it goes with this one.
    #[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
    pub(super) fn take(&self, dir: &InstanceDir) -> Result<(), StoreError> {
        let moved = std::fs::rename(dir.path(), self.folder.join("instance"));
        moved.and_then(|()| settle(parent(dir))).map_err(|error| failed(dir, error))
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

/// There is nothing there, or a folder with nothing in it.
#[expect(clippy::disallowed_methods, reason = "an instance's folder is known by its path")]
fn vacant(dir: &InstanceDir) -> Result<(), StoreError> {
    match dir.path().symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Ok(found) if found.is_dir() && std::fs::read_dir(dir.path()).is_ok_and(|mut names| names.next().is_none()) => {
            Ok(())
        }
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

#[cfg(test)]
mod tests {
    use crate::common::{place, put, sqlite};
    use crate::{IfMissing, Opening, SqliteStore, Store};

    #[test]
    fn only_what_nobody_has_used_or_has_open_is_taken_back() {
        let home = tempfile::tempdir().unwrap();
        let opening = Opening { if_missing: IfMissing::Fail, ..Opening::default() };
        let reopened = || SqliteStore::open(&place(&home), &opening).unwrap();
        let other = sqlite(&home);
        assert!(!reopened().unmake().unwrap(), "somebody has it open");
        assert_eq!(other.head().unwrap().last.sequence, 0);
        put(&other, &[("a", "1")]);
        drop(other);
        assert!(!reopened().unmake().unwrap(), "something was written");
        put(&reopened(), &[("a", "2")]);
        assert_eq!((reopened().head().unwrap().last.sequence, reopened().check().unwrap()), (2, Vec::new()));
        let home = tempfile::tempdir().unwrap();
        assert!(sqlite(&home).unmake().unwrap() && !place(&home).path().exists());
        put(&sqlite(&home), &[("a", "1")]);
    }
}
