//! The store in one SQLite database with a write-ahead log. The only module that knows SQL, with the
//! [`plain`](crate::plain) directories' stamps.
//!
//! A reader sees one moment and waits for nobody; a writer waits for another one as long as the opener allows, ten seconds
//! unless it says otherwise, and then gives up with [`StoreError::Busy`]. An entry that changes anything is one transaction and one
//! sync, of the log alone; a reading is one transaction and none. The log is emptied when it is long, so opening, which reads it through, costs the
//! same after a million entries.

mod begun;
mod check;
mod collect;
pub(crate) mod columns;
pub(crate) mod failure;
mod group;
mod ledger;
mod memo;
mod objects;
pub(crate) mod own;
mod pool;
mod schema;
mod transaction;
mod whole;

pub use pool::IfMissing;

use crate::error::{StoreError, at};
use crate::hold::{Hold, MOVES_MAX};
use crate::instance_dir::InstanceDir;
use crate::mark::{Mark, Marker};
use crate::memo::Memo;
use crate::rooting::Rooting;
use crate::store::{Collected, Damage, EntryKey, Head, Retention, State, Stats, Store, Transaction};
use group::Group;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Owner, Record, Sealed, SecretKey};
use hutch_model::snapshot::Objects;
use memo::SqliteMemo;
use objects::{At, Stored};
use pool::Pool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use transaction::{Pending, Sync};

/// How a store is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opening {
    /// What to do if there is none.
    pub if_missing: IfMissing,
    /// The longest wait for each lock that another process holds.
    pub wait: Duration,
}

impl Default for Opening {
    /// Makes a store where there is none, and waits for ten seconds.
    fn default() -> Opening {
        Opening { if_missing: IfMissing::Create, wait: Duration::from_secs(10) }
    }
}

/// A [`Store`] in one database file. Clones are the same store.
#[derive(Clone, Debug)]
pub struct SqliteStore {
    dir: InstanceDir,
    pool: Arc<Pool>,
    marker: Arc<Marker>,
    group: Arc<Group>,
    /// It never changes.
    secret_key: Arc<OnceLock<SecretKey>>,
    /// Once it was asked for.
    memo: Arc<OnceLock<Arc<SqliteMemo>>>,
}

impl SqliteStore {
    /// Opens the store of an instance: brings its tables up to date, and checks that its last entry is the one it remembers, that
    /// it leads to the state that is stored, and that it is the store that was here before.
    ///
    /// As long as it is open, in this process or another, the instance is neither renamed nor purged.
    ///
    /// # Errors
    /// There is none and none is to be made; somebody is replacing it ([`StoreError::InUse`]); it was lost; a newer version wrote it; it is
    /// damaged; the system refuses.
    pub fn open(dir: &InstanceDir, opening: &Opening) -> Result<SqliteStore, StoreError> {
        let hold = Arc::new(hold(dir, opening)?);
        let folder = hold.folder();
        let read = |error| StoreError::io(dir.path(), "read the mark of the store", error);
        let mark = Mark::read(folder).map_err(read)?;
        let empty = dir.database_bytes() == 0;
        if empty && mark.is_some() {
            return Err(Mark::without_database(dir));
        }
        let rooting = Rooting::look(dir, folder, mark.is_none())?;
        let opening = match mark {
            Some(_) => Opening { if_missing: IfMissing::Fail, ..*opening },
            None => *opening,
        };
        let pool = Pool::open(Arc::clone(&hold), dir, &opening).map_err(|error| match error {
            // Where there was something nothing is begun.
            StoreError::Missing { .. } if mark.is_some() => Mark::without_database(dir),
            error => error,
        })?;
        let (last, store) = pool.with(|connection| {
            let moment = connection.transaction().map_err(|error| failure::database(pool.path(), error))?;
            let last = ledger::check_head(&moment, pool.path())?;
            let store =
                ledger::meta(&moment, schema::Fact::Store).map_err(|error| failure::database(pool.path(), error))?;
            Ok((last, store.and_then(|bytes| bytes.try_into().ok()).unwrap_or_default()))
        })?;
        if let Some(lost) = mark.as_ref().and_then(|mark| mark.contradicts(dir, store, last)) {
            return Err(lost);
        }
        let marker = Marker::open(folder, store);
        if mark.is_none() {
            // A new store is more than a log before it is said that there is one.
            pool.with(|connection| {
                pool::empty_log(connection);
                Ok(())
            })?;
        }
        // From here on, syncing the log is all that an entry takes to be durable.
        rooting.settle()?;
        if mark.is_none() && dir.database_bytes() > 0 {
            marker.set(0);
        }
        let group = Group::default();
        // A mark is written after what it says is durable.
        group.known(mark.map_or(0, |mark| mark.sequence));
        Ok(SqliteStore {
            dir: dir.clone(),
            pool: Arc::new(pool),
            marker: Arc::new(marker),
            group: Arc::new(group),
            secret_key: Arc::default(),
            memo: Arc::default(),
        })
    }

    /// Where it lies.
    pub fn dir(&self) -> &InstanceDir {
        &self.dir
    }
}

/// Holds an instance open, and makes its folder if it may.
fn hold(dir: &InstanceDir, opening: &Opening) -> Result<Hold, StoreError> {
    for _ in 0..MOVES_MAX {
        match opening.if_missing {
            IfMissing::Create => dir.create()?,
            IfMissing::Fail if dir.exists() => {}
            IfMissing::Fail => return Err(StoreError::Missing { at: at(&dir.database()), what: "store".to_owned() }),
        }
        // Whoever had it alone may have given it another name, or taken it away: then it is looked for once more.
        if let Some(hold) = Hold::together(dir, dir.open()?, opening.wait)? {
            return Ok(hold);
        }
    }
    Err(StoreError::InUse { at: at(dir.path()), by: Vec::new() })
}

impl Store for SqliteStore {
    fn at(&self) -> String {
        at(self.pool.path())
    }

    fn head(&self) -> Result<Head, StoreError> {
        self.pool.with(|connection| {
            let moment = connection.transaction().map_err(|error| failure::database(self.pool.path(), error))?;
            ledger::head(&moment, self.pool.path())
        })
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        self.pool.with(|connection| {
            let moment = connection.transaction().map_err(|error| failure::database(self.pool.path(), error))?;
            ledger::state_at(&moment, self.pool.path(), sequence)
        })
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        self.pool.sql(|connection| ledger::last_change(connection, sequence))
    }

    fn objects(&self) -> Arc<dyn Objects> {
        Arc::new(Stored(Arc::clone(&self.pool)))
    }

    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        let sync = if record.is_reading() { Sync::Never } else { Sync::Now };
        Ok(Box::new(Pending::begin(self, sync, (record, objects, streams))?))
    }

    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        // Only what changes the state is waited for.
        match record.changes_state() {
            true => Box::new(Pending::begin(self, Sync::Later, (record, objects, streams))?).commit(),
            false => self.commit(record, objects, streams),
        }
    }

    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError> {
        let Some(last) = entries.last() else { return Ok(()) };
        let kept_from = from.head()?.retained_from;
        let mut pending = Pending::open(self, Sync::Now)?;
        for sealed in entries {
            pending.take((sealed, from, owner, kept_from))?;
        }
        pending.end(last.sequence)
    }

    fn settle(&self, sequence: u64) -> Result<(), StoreError> {
        if self.group.is_durable(sequence) {
            return Ok(());
        }
        // Another process may have seen to it, and said so.
        if let Ok(Some(mark)) = Mark::read(self.pool.folder()) {
            self.group.known(mark.sequence);
        }
        match self.group.settle(sequence, || self.pool.sync_log()) {
            Ok(reached) => {
                if let Some(reached) = reached {
                    self.marker.set(reached);
                }
                Ok(())
            }
            Err(error) => Err(StoreError::Uncertain { at: self.at(), sequence, source: Box::new(error) }),
        }
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        self.pool.sql(|connection| ledger::find(connection, key))
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        self.pool.sql(|connection| ledger::entries(connection, sequence, count))
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        if !self.pool.sql(|connection| At(connection).holds(digest))? {
            return Ok(None);
        }
        let found = Stored(Arc::clone(&self.pool)).get(Kind::Stream, digest);
        found.map(Some).map_err(|error| StoreError::object(self.at(), &error))
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        if let Some(key) = self.secret_key.get() {
            return Ok(key.clone());
        }
        let key = self.pool.sql(|connection| ledger::meta(connection, schema::Fact::SecretKey))?.unwrap_or_default();
        let read = key.as_slice().try_into().map(SecretKey::new).map_err(|_| StoreError::Damaged {
            at: self.at(),
            what: "the secret key".to_owned(),
            reason: format!("has {} bytes instead of 32", key.len()),
        })?;
        Ok(self.secret_key.get_or_init(|| read).clone())
    }

    fn memo(&self, make: bool) -> Result<Option<Arc<dyn Memo>>, StoreError> {
        if let Some(memo) = self.memo.get() {
            return Ok(Some(memo.clone()));
        }
        let opened = SqliteMemo::open(&self.dir, make)?;
        Ok(opened.map(|memo| self.memo.get_or_init(|| Arc::new(memo)).clone() as Arc<dyn Memo>))
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let stats = self.pool.sql(|connection| check::stats(connection))?;
        Ok(Stats { disk_bytes: stats.disk_bytes + self.pool.log_bytes(), ..stats })
    }

    fn collect(&self, retention: &Retention, record: &Record) -> Result<(Collected, Sealed), StoreError> {
        collect::collect(self, retention, record)
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        self.pool.with(|connection| collect::collectable(connection, self.pool.path(), retention))
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.pool.with(|connection| check::check(connection, self.pool.path()))
    }
}
