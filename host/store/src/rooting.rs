//! Whether the names of database and log are durable. Syncing a file says nothing of the name by which it is found; that takes a sync
//! of its folder, once after the file was made. SQLite would do it in each process that writes, not knowing who made the log.
//!
//! Whoever finds no log says so in a file of its own before the log is made, and takes that away after the sync: so one who finds the
//! log, made by somebody who was killed between the two, finds this too. Knows nothing of what is in the files.

use crate::error::StoreError;
use crate::instance_dir::InstanceDir;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};

/// Empty: it is there, or not.
const NOTE: &str = "hutch.new";

/// What is to be done about the names of an instance's files.
#[derive(Debug)]
pub(crate) struct Rooting<'a> {
    dir: &'a InstanceDir,
    folder: &'a Dir,
    /// Whether a sync is owed.
    owed: bool,
}

impl<'a> Rooting<'a> {
    /// Looks, before a database is opened: that makes the log. A new store owes a sync in any case.
    ///
    /// # Errors
    /// There is no log, and that can't be noted.
    pub(crate) fn look(dir: &'a InstanceDir, folder: &'a Dir, is_new: bool) -> Result<Rooting<'a>, StoreError> {
        // In this order: the log is made after the note, and the note goes after the sync.
        let has_log = dir.has_log();
        let owed = is_new || !has_log || folder.symlink_metadata(NOTE).is_ok();
        if owed {
            let mut options = OpenOptions::new();
            options.write(true).create(true).nonblock(true).follow(FollowSymlinks::No);
            let noted = folder.open_with(NOTE, &options);
            noted.map_err(|error| StoreError::io(dir.path().join(NOTE), "note that the log is new", error))?;
        }
        Ok(Rooting { dir, folder, owed })
    }

    /// Makes the names durable, if that is owed. Database and log are there.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn settle(self) -> Result<(), StoreError> {
        if !self.owed {
            return Ok(());
        }
        self.dir.sync()?;
        // Somebody else who owed the same may have taken it away. If it stays, the next one syncs once more.
        let _ = self.folder.remove_file(NOTE);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::common::{place, put, sqlite};
    use crate::{IfMissing, InstanceDir, Opening, SqliteStore};
    use std::fs;

    fn reopen(dir: &InstanceDir) -> SqliteStore {
        SqliteStore::open(dir, &Opening { if_missing: IfMissing::Fail, ..Opening::default() }).unwrap()
    }

    #[test]
    fn a_sync_is_owed_until_it_is_made_and_by_whoever_comes() {
        let home = tempfile::tempdir().unwrap();
        let dir = place(&home);
        let folder = |dir: &InstanceDir| dir.open().unwrap();
        let owed = |is_new| super::Rooting::look(&dir, &folder(&dir), is_new).unwrap().owed;
        let note = dir.path().join(super::NOTE);

        put(&sqlite(&home), &[("a", "1")]);
        assert!(!note.exists(), "making a store leaves the note");
        assert!(!owed(false) && !note.exists(), "the log is there, and somebody has seen to its name");
        // Somebody else's tool took the log away; one of ours made it again and was killed.
        let log = dir.path().join("hutch.db-wal");
        rusqlite::Connection::open(dir.database())
            .unwrap()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))
            .unwrap();
        let _ = fs::remove_file(&log);
        assert!(owed(false) && note.exists());
        fs::write(&log, "").unwrap();
        assert!(owed(false), "a log whose maker was killed is taken for a durable one");
        drop(reopen(&dir));
        assert!(!note.exists() && !owed(false));
        // A new store owes one whatever is there.
        assert!(owed(true));
    }

    /// What stands in the note's place is not written to, nor waited for.
    #[test]
    fn a_note_that_cannot_be_made_is_an_error_and_no_store_is_opened() {
        let home = tempfile::tempdir().unwrap();
        let dir = place(&home);
        fs::create_dir_all(dir.path().join(super::NOTE)).unwrap();
        let error = SqliteStore::open(&dir, &Opening::default()).unwrap_err();
        assert!(error.to_string().contains("note that the log is new"), "{error}");
        assert!(!dir.database().exists());
    }
}
