//! A record that is about to be appended to the database.

use super::SqliteStore;
use super::failure::database;
use super::ledger::{self, Parts};
use super::pool::{GROUP_LOG_BYTES_MAX, LOG_BYTES_MAX};
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
        if sync != Sync::Never {
            store.group.check().map_err(|error| StoreError::io(store.pool.path(), "make the log durable", error))?;
        }
        let connection = store.pool.take()?;
        let synced = match sync {
            Sync::Now => "PRAGMA synchronous = FULL",
            Sync::Later | Sync::Never => "PRAGMA synchronous = NORMAL",
        };
        let begun = connection.execute_batch(synced).and_then(|()| connection.execute_batch("BEGIN IMMEDIATE"));
        let empty = Sealed { sequence: 0, hash: hutch_model::ledger::origin(), bytes: [].into() };
        let pending = Pending { store, connection: Some(connection), sealed: empty, sync };
        begun.map_err(|error| database(store.pool.path(), error))?;
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
    pub(super) fn take(&mut self, parts: (&Sealed, &dyn Store, &Owner)) -> Result<Sealed, StoreError> {
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
        let _ = connection.execute_batch("ROLLBACK");
        let cut = connection
            .execute_batch("PRAGMA synchronous = NORMAL; INSERT OR REPLACE INTO meta VALUES ('cut', randomblob(8))");
        match cut {
            Ok(()) => Err(database(path, error)),
            Err(_) => Err(StoreError::Uncertain { at: at(path), sequence, source: error.into() }),
        }
    }
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
        if let Some(connection) = self.connection.take()
            && connection.execute_batch("ROLLBACK").is_ok()
        {
            self.store.pool.give_back(connection);
        }
    }
}
