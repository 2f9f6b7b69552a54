//! The store in one SQLite database: write-ahead log, every commit synced. The only module that knows SQL, with the
//! [`plain`](crate::plain) directories' stamps.
//!
//! A reader sees one moment and waits for nobody; a writer waits for another one as long as the opener allows, ten seconds
//! unless it says otherwise, and then gives up with [`StoreError::Busy`]. A commit is one transaction and one sync.

mod check;
mod collect;
pub(crate) mod columns;
mod ledger;
mod objects;
mod pool;
mod schema;

pub use pool::IfMissing;

use crate::error::StoreError;
use crate::place::Place;
use crate::store::{Collected, Damage, EntryKey, Head, Retention, Stats, Store};
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Record, Sealed, SecretKey};
use hutch_model::snapshot::Objects;
use objects::{At, Stored};
use pool::Pool;
use std::sync::Arc;
use std::time::Duration;

/// A [`Store`] in one database file.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    place: Place,
    pool: Arc<Pool>,
}

impl SqliteStore {
    /// Opens the store of an instance: brings its tables up to date, and checks that the last entries are linked and that
    /// none was cut off.
    ///
    /// # Errors
    /// There is none and none is to be made; a newer version wrote it; it is damaged; the system refuses.
    pub fn open(place: &Place, if_missing: IfMissing) -> Result<SqliteStore, StoreError> {
        SqliteStore::open_within(place, if_missing, pool::WAIT)
    }

    /// As [`open`](SqliteStore::open), for one who waits at most this long for each lock that another process holds.
    ///
    /// # Errors
    /// As for open.
    pub fn open_within(place: &Place, if_missing: IfMissing, wait: Duration) -> Result<SqliteStore, StoreError> {
        match if_missing {
            IfMissing::Create => place.create()?,
            IfMissing::Fail if place.exists() => {}
            IfMissing::Fail => {
                return Err(StoreError::Missing { path: place.database(), what: "store".to_owned() });
            }
        }
        let pool = Pool::open(place.database(), if_missing, wait)?;
        pool.with(|connection| ledger::check_tail(connection, &place.database()))?;
        Ok(SqliteStore { place: place.clone(), pool: Arc::new(pool) })
    }

    /// Where it lies.
    pub fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }
}

impl Store for SqliteStore {
    fn head(&self) -> Result<Head, StoreError> {
        self.pool.with(|connection| {
            let transaction =
                connection.transaction().map_err(|error| StoreError::database(self.pool.path(), error))?;
            ledger::head(&transaction, self.pool.path())
        })
    }

    fn objects(&self) -> Arc<dyn Objects> {
        Arc::new(Stored(Arc::clone(&self.pool)))
    }

    fn commit_after(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        act: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Sealed>, StoreError> {
        let streams: Vec<_> = streams.iter().map(|bytes| (Digest::of(Kind::Stream, bytes), *bytes)).collect();
        self.pool.with(|connection| ledger::commit(connection, self.pool.path(), record, objects, &streams, act))
    }

    fn entry(&self, key: EntryKey) -> Result<Option<Sealed>, StoreError> {
        self.pool.sql(|connection| ledger::entry(connection, key))
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        self.pool.sql(|connection| ledger::entries(connection, sequence, count))
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if !self.pool.sql(|connection| At(connection).holds(digest))? {
            return Ok(None);
        }
        let found = Stored(Arc::clone(&self.pool)).get(Kind::Stream, digest);
        found.map(Some).map_err(|error| StoreError::object(self.pool.path(), &error))
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        let key = self.pool.sql(|connection| ledger::meta(connection, "secret_key"))?.unwrap_or_default();
        key.as_slice().try_into().map(SecretKey::new).map_err(|_| StoreError::Damaged {
            path: self.pool.path().to_owned(),
            what: "the secret key".to_owned(),
            reason: format!("has {} bytes instead of 32", key.len()),
        })
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        self.pool.sql(|connection| check::stats(connection))
    }

    fn collect(&self, retention: &Retention) -> Result<Collected, StoreError> {
        self.pool.with(|connection| collect::collect(connection, self.pool.path(), retention))
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        self.pool.with(|connection| collect::collectable(connection, self.pool.path(), retention))
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.pool.with(|connection| check::check(connection, self.pool.path()))
    }
}
