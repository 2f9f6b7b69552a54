//! A record that is about to be appended to the database.

use super::SqliteStore;
use super::failure::database;
use super::ledger::{self, Parts};
use super::pool::{GROUP_LOG_BYTES_MAX, LOG_BYTES_MAX};
use super::schema::Fact;
use crate::error::{StoreError, at};
use crate::store::{Store, Transaction};
use hutch_model::ledger::{Owner, Sealed};
use rusqlite::Connection;
use std::path::Path;

/// When an entry becomes durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sync {
    /// When it is committed.
    Now,
    /// When somebody waits for it.
    Later,
    /// With the next one that does: it changes nothing.
    Never,
}

pub(super) struct Pending<'s> {
    store: &'s SqliteStore,
    /// In a transaction; none once that has ended.
    connection: Option<Connection>,
    sealed: Sealed,
    sync: Sync,
}

impl<'s> Pending<'s> {
    pub(super) fn begin(store: &'s SqliteStore, sync: Sync, parts: Parts<'_>) -> Result<Pending<'s>, StoreError> {
        let mut pending = Pending::open(store, sync)?;
        pending.sealed = pending.append(parts)?;
        Ok(pending)
    }

    /// A transaction in which nothing was done yet.
    pub(super) fn open(store: &'s SqliteStore, sync: Sync) -> Result<Pending<'s>, StoreError> {
        let failed = |error| StoreError::io(store.pool.path(), "make the log durable", error);
        // After a sync that failed nobody knows what the log holds: what is appended to it, a reading too, stands on that.
        store.group.check().map_err(failed)?;
        store.pool.hold().check()?;
        let connection = store.pool.take()?;
        let synced = match sync {
            Sync::Now => "PRAGMA synchronous = FULL",
            Sync::Later | Sync::Never => "PRAGMA synchronous = NORMAL",
        };
        let begun = connection.execute_batch(synced).and_then(|()| connection.execute_batch("BEGIN IMMEDIATE"));
        let empty = Sealed { sequence: 0, hash: hutch_model::ledger::origin(), bytes: [].into() };
        let pending = Pending { store, connection: Some(connection), sealed: empty, sync };
        begun.map_err(|error| database(store.pool.path(), error))?;
        if sync != Sync::Never {
            store.pool.open_log().map_err(failed)?;
        }
        Ok(pending)
    }

    pub(super) fn connection(&self) -> Result<&Connection, StoreError> {
        self.connection.as_ref().ok_or_else(|| StoreError::Record("was ended".to_owned()))
    }

    /// Appends a record. All of it is in the log afterwards, only not yet committed: a disk that is full has said so.
    pub(super) fn append(&mut self, parts: Parts<'_>) -> Result<Sealed, StoreError> {
        self.write(|connection, path| ledger::append(connection, path, parts))
    }

    /// The same with an entry that was made elsewhere.
    pub(super) fn take(&mut self, parts: (&Sealed, &dyn Store, &Owner, u64)) -> Result<Sealed, StoreError> {
        self.write(|connection, path| ledger::take(connection, path, parts))
    }

    fn write(
        &mut self,
        append: impl FnOnce(&Connection, &Path) -> Result<Sealed, StoreError>,
    ) -> Result<Sealed, StoreError> {
        let path = self.store.pool.path();
        let connection = self.connection()?;
        let sealed = append(connection, path)?;
        if self.sync != Sync::Never {
            connection.cache_flush().map_err(|error| database(path, error))?;
        }
        Ok(sealed)
    }

    /// Ends the transaction well. A commit that fails may have left its whole record in the log, where the next one to open the
    /// database would find it: so something else is written over it, and only if that fails too nothing is sure.
    pub(super) fn end(&mut self, sequence: u64) -> Result<(), StoreError> {
        let Some(connection) = self.connection.take() else { return Ok(()) };
        let path = self.store.pool.path();
        let committed = connection.execute_batch("COMMIT");
        let Err(error) = committed else {
            // SQLite has made a file durable that may have no name any more.
            if let (Sync::Now, Err(error)) = (self.sync, self.store.pool.check_log()) {
                self.store.group.failed(&error.to_string());
                return Err(StoreError::Uncertain { at: at(path), sequence, source: error.into() });
            }
            match self.sync {
                Sync::Now => {
                    self.store.group.committed(sequence);
                    self.store.marker.set(sequence);
                }
                Sync::Later => self.store.group.appended(sequence),
                Sync::Never => {}
            }
            let most = if self.sync == Sync::Later { GROUP_LOG_BYTES_MAX } else { LOG_BYTES_MAX };
            self.store.pool.shorten_log(&connection, most);
            self.store.pool.give_back(connection);
            return Ok(());
        };
        if is_sync(&error) {
            self.store.group.failed(&error.to_string());
        }
        let _ = connection.execute_batch("ROLLBACK");
        let cut = connection.execute_batch("PRAGMA synchronous = NORMAL").and_then(|()| {
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?1, randomblob(8))", [Fact::Cut.name()])
        });
        match cut {
            Ok(_) => Err(database(path, error)),
            Err(_) => Err(StoreError::Uncertain { at: at(path), sequence, source: error.into() }),
        }
    }
}

/// Whether it was a sync that failed: the system may then say that all is well when nothing was written.
fn is_sync(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_DIR_FSYNC, SQLITE_IOERR_FSYNC};
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_IOERR_FSYNC | SQLITE_IOERR_DIR_FSYNC))
}

impl Transaction for Pending<'_> {
    fn entry(&self) -> &Sealed {
        &self.sealed
    }

    fn commit(mut self: Box<Self>) -> Result<Sealed, StoreError> {
        self.end(self.sealed.sequence)?;
        Ok(self.sealed.clone())
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // One that could not begin goes back too: if none were open, another program could take the log away.
        if let Some(connection) = self.connection.take()
            && (connection.is_autocommit() || connection.execute_batch("ROLLBACK").is_ok())
        {
            self.store.pool.give_back(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pending, Sync};
    use crate::common::{change, no_objects, put, record, sqlite, volume};
    use crate::{Store, StoreError};
    use hutch_model::error_code::ErrorCode;
    use hutch_model::ledger::EntryKind;
    use std::fs;

    /// What stands on a log of which nobody knows what it holds could be gone with it: a reading too.
    #[test]
    fn after_a_sync_that_failed_nothing_more_is_written() {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        let before = put(&store, &[("a", "1")]);
        let mut objects = no_objects();
        let after = volume(&mut objects, &[("a", "2")]);
        let appended = store.append(&change(Some(before), after), &objects, &[]).unwrap();
        let failed = store.group.settle(appended.sequence, || Err(std::io::Error::other("no")));
        assert!(failed.is_err());
        let error = store.settle(appended.sequence).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CommitUncertain, "{error}");
        for reading in [record(EntryKind::Run, 2), change(Some(after), after), change(Some(after), before)] {
            assert!(store.commit(&reading, &objects, &[]).is_err());
            assert!(store.append(&reading, &objects, &[]).is_err());
            assert!(store.begin(&reading, &objects, &[]).is_err());
        }
        assert!(
            store
                .collect(&crate::Retention { keep_last: 1, newer_than: None }, &record(EntryKind::Collect, 3))
                .is_err()
        );
        assert_eq!(store.head().unwrap().last, appended.pin());
        // One that is opened anew goes on from what there is.
        drop(store);
        assert_eq!(sqlite(&home).head().unwrap().last, appended.pin());
    }

    #[test]
    fn a_sync_that_is_the_commits_own_is_as_good() {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        put(&store, &[("a", "1")]);
        store.group.failed("disk I/O error");
        store.group.failed("another");
        let error = store.commit(&record(EntryKind::Run, 2), &no_objects(), &[]).unwrap_err();
        assert!(error.to_string().contains("disk I/O error"), "{error}");
        assert_eq!(store.head().unwrap().last.sequence, 1);
    }

    /// What is written over a commit that failed is no damage, and goes with the next one that does not.
    #[test]
    fn a_commit_that_fails_leaves_a_store_that_is_sound_and_can_be_copied() {
        // A commit that SQLite itself refuses, at its very end.
        const REFUSED: &str = "PRAGMA foreign_keys = ON; CREATE TEMP TABLE one (id INTEGER PRIMARY KEY);
            CREATE TEMP TABLE other (id INTEGER REFERENCES one DEFERRABLE INITIALLY DEFERRED)";
        const COUNT: &str = "SELECT count(*) FROM meta WHERE name = 'cut'";
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        put(&store, &[("a", "1")]);
        let cuts = || {
            let count = |row: &rusqlite::Row<'_>| row.get::<_, u32>(0);
            store.pool.sql(|connection| connection.query_row(COUNT, (), count)).unwrap()
        };
        let connection = store.pool.take().unwrap();
        connection.execute_batch(REFUSED).unwrap();
        store.pool.give_back(connection);
        let mut pending = Pending::begin(&store, Sync::Now, (&record(EntryKind::Run, 2), &no_objects(), &[])).unwrap();
        pending.connection().unwrap().execute_batch("INSERT INTO temp.other VALUES (7)").unwrap();
        let error = pending.end(2).unwrap_err();
        assert!(matches!(error, StoreError::Failed { .. }), "{error}");
        assert_eq!((cuts(), store.check().unwrap()), (1, vec![]));
        let copy = home.path().join("copy.db");
        assert_eq!(store.copy_into(&copy).unwrap(), store.head().unwrap().last);
        put(&store, &[("a", "2")]);
        assert_eq!((cuts(), store.check().unwrap()), (0, vec![]));
    }

    /// Somebody else's hand took the log away, or put another one there: what was in it is nowhere.
    #[test]
    fn what_was_in_a_log_that_is_gone_is_never_durable() {
        for another in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let store = sqlite(&home);
            let before = put(&store, &[("a", "1")]);
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("a", "2")]);
            let appended = store.append(&change(Some(before), after), &objects, &[]).unwrap();
            fs::remove_file(store.dir().log()).unwrap();
            if another {
                fs::write(store.dir().log(), "").unwrap();
            }
            let error = store.settle(appended.sequence).unwrap_err();
            assert!(matches!(error, StoreError::Uncertain { .. }), "{error}");
            assert!(store.settle(appended.sequence).is_err(), "it was believed the second time");
            assert!(store.commit(&record(EntryKind::Run, 2), &objects, &[]).is_err());
        }
    }

    #[test]
    fn what_is_committed_to_a_log_that_is_gone_is_never_durable() {
        for another in [false, true] {
            let home = tempfile::tempdir().unwrap();
            let store = sqlite(&home);
            let before = put(&store, &[("a", "1")]);
            fs::remove_file(store.dir().log()).unwrap();
            if another {
                fs::write(store.dir().log(), "").unwrap();
            }
            let mut objects = no_objects();
            let after = volume(&mut objects, &[("a", "2")]);
            let change = change(Some(before), after);
            let error = store.commit(&change, &objects, &[]).unwrap_err();
            assert!(matches!(error, StoreError::Uncertain { .. }), "{error}");
            assert!(store.commit(&change, &objects, &[]).is_err(), "it was believed the second time");
            assert!(store.append(&change, &objects, &[]).is_err());
        }
    }
}
