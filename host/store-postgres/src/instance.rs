//! The store of one instance.

use crate::database::Database;
use crate::failure::failed;
use crate::ledger::{self, HEAD, Place, place};
use crate::memo::PostgresMemo;
use crate::objects::Stored;
use crate::row::Value;
use crate::transaction::Pending;
use crate::{check, collect};
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Owner, Record, Sealed, SecretKey};
use hutch_model::names::Slug;
use hutch_model::snapshot::{Lack, Objects};
use hutch_store::{
    Collected, Damage, EntryKey, Head, InstanceName, Memo, Retention, State, Stats, Store, StoreError, Transaction,
};
use std::sync::{Arc, OnceLock};

/// A [`Store`] in a [`Database`]. Clones are the same store.
#[derive(Clone, Debug)]
pub struct PostgresStore(Arc<Instance>, Arc<OnceLock<Arc<PostgresMemo>>>);

/// The last change of each volume up to a place, one look into the index for each, however many there were: asked for the first of each volume,
/// the server would read and sort all of them.
const MOVES: &str = "WITH RECURSIVE named (volume) AS (
        (SELECT volume FROM hutch_moves WHERE instance = $1 ORDER BY volume LIMIT 1)
        UNION ALL
        SELECT (SELECT volume FROM hutch_moves WHERE instance = $1 AND volume > named.volume ORDER BY volume LIMIT 1)
        FROM named WHERE named.volume IS NOT NULL)
    SELECT named.volume, last.tree, last.sequence FROM named CROSS JOIN LATERAL (
        SELECT tree, sequence FROM hutch_moves WHERE instance = $1 AND volume = named.volume AND sequence <= $2
        ORDER BY sequence DESC LIMIT 1) AS last";

/// Which instance of which database.
pub(crate) struct Instance {
    pub(crate) database: Arc<Database>,
    package: String,
    name: String,
    pub(crate) at: String,
    fresh: [u8; 32],
    /// The number of its row, once there is one.
    id: OnceLock<i64>,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at)
    }
}

impl PostgresStore {
    pub(crate) fn new(database: Arc<Database>, slug: &Slug, instance: &InstanceName, fresh: [u8; 32]) -> PostgresStore {
        let (package, name) = (slug.to_string(), instance.to_string());
        let at = format!("{} {package}/{name}", database.at());
        let instance = Instance { database, package, name, at, fresh, id: OnceLock::new() };
        PostgresStore(Arc::new(instance), Arc::default())
    }
}

impl Instance {
    /// What names its row, among those of the role.
    pub(crate) fn key(&self) -> [Value<'_>; 2] {
        [Value::Text(&self.package), Value::Text(&self.name)]
    }

    /// Where it stands; none if it is not there.
    pub(crate) fn place(&self) -> Result<Option<Place>, StoreError> {
        let rows = self.database.sql(|connection| connection.rows(HEAD, &self.key()))?;
        let found = place(&self.at, &rows)?;
        match (&found, self.id.get()) {
            (Some(place), Some(known)) if place.id != *known => {
                Err(self.lost("is another one than the one that was here"))
            }
            (None, Some(_)) => Err(self.lost("is gone, and with it the ledger and every state")),
            (Some(place), None) => {
                let _ = self.id.set(place.id);
                Ok(found)
            }
            _ => Ok(found),
        }
    }

    fn lost(&self, reason: &str) -> StoreError {
        StoreError::Lost { at: self.at.clone(), reason: reason.to_owned() }
    }

    /// The number of its row; none if it is not there.
    pub(crate) fn id(&self) -> Result<Option<i64>, StoreError> {
        match self.id.get() {
            Some(id) => Ok(Some(*id)),
            None => Ok(self.place()?.map(|place| place.id)),
        }
    }

    /// Where it stands, made if it is not there.
    pub(crate) fn made(&self) -> Result<Place, StoreError> {
        if let Some(place) = self.place()? {
            return Ok(place);
        }
        const MAKE: &str = "INSERT INTO hutch_instances
            (package, name, secret_key, sequence, hash, standing, changed, retained_from, removals)
            VALUES ($1, $2, $3, 0, $4, $5, 0, 1, 0) ON CONFLICT DO NOTHING";
        let head = Head::default();
        let standing = ledger::standing_text(&head);
        let [package, name] = self.key();
        let values =
            [package, name, Value::Blob(&self.fresh), Value::Blob(head.last.hash.as_bytes()), Value::Text(&standing)];
        self.database.sql(|connection| connection.rows(MAKE, &values).map(drop))?;
        self.place()?.ok_or_else(|| self.lost("was taken away while it was made"))
    }

    /// Asks for something of the instance, if it is there.
    pub(crate) fn ask<R: Default>(
        &self,
        job: impl Fn(&mut crate::wire::Connection, i64) -> Result<R, crate::wire::WireError>,
    ) -> Result<R, StoreError> {
        match self.id()? {
            Some(id) => self.database.sql(|connection| job(connection, id)),
            None => Ok(R::default()),
        }
    }
}

impl Store for PostgresStore {
    fn at(&self) -> String {
        self.0.at.clone()
    }

    fn is_there(&self) -> Result<bool, StoreError> {
        Ok(self.0.id()?.is_some())
    }

    fn head(&self) -> Result<Head, StoreError> {
        Ok(self.0.place()?.map(|place| place.head).unwrap_or_default())
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        if sequence == 0 {
            return Ok(State::new());
        }
        let at = &self.0.at;
        let sealed = self.entry(sequence)?;
        let sealed = sealed.ok_or_else(|| StoreError::Missing { at: at.clone(), what: format!("entry {sequence}") })?;
        let entry = sealed.open().map_err(|error| StoreError::entry(at, &error))?;
        let place = Value::Number(crate::row::signed(sequence));
        let rows = self.0.ask(|connection, id| connection.rows(MOVES, &[Value::Number(id), place]))?;
        let mut head = Head::default();
        let damaged = |reason: String| {
            let what = format!("the state from entry {sequence} on");
            StoreError::Damaged { at: at.clone(), what, reason }
        };
        for row in &rows {
            let name = row.text(0).map_err(|error| damaged(error.to_string()))?;
            let volume = name.parse().map_err(|error: hutch_store::StoreNameError| damaged(error.to_string()))?;
            head.state.insert(volume, row.digest(1).map_err(|error| damaged(error.to_string()))?);
        }
        match head.standing().state() == entry.state {
            true => Ok(head.state),
            false => Err(damaged("is not the one that the entry leads to".to_owned())),
        }
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        let place = Value::Number(crate::row::signed(sequence));
        self.0.ask(|connection, id| {
            let rows = connection.rows(MOVES, &[Value::Number(id), place])?;
            let places: Vec<u64> = rows.iter().map(|row| row.number(2)).collect::<Result<_, _>>()?;
            Ok(places.into_iter().max())
        })
    }

    fn objects(&self) -> Arc<dyn Objects> {
        Arc::new(Stored(Arc::clone(&self.0)))
    }

    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        let mut pending = Pending::begin(&self.0, (record, objects, streams))?;
        pending.write()?;
        Ok(Box::new(pending))
    }

    fn commit(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        Box::new(Pending::begin(&self.0, (record, objects, streams))?).commit()
    }

    /// The server shares syncs among those who commit at one time.
    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.commit(record, objects, streams)
    }

    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError> {
        match entries {
            [] => Ok(()),
            entries => Pending::take(&self.0, (entries, from, owner)),
        }
    }

    fn settle(&self, _sequence: u64) -> Result<(), StoreError> {
        Ok(())
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        self.0.ask(|connection, id| ledger::find(connection, id, key))
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        self.0.ask(|connection, id| ledger::entries(connection, id, sequence, count))
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        match Stored(Arc::clone(&self.0)).get(Kind::Stream, digest) {
            Err(error) if error.lack == Lack::Missing => Ok(None),
            found => found.map(Some).map_err(|error| StoreError::object(self.at(), &error)),
        }
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        const KEY: &str = "SELECT secret_key FROM hutch_instances
            WHERE tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user) AND package = $1 AND name = $2";
        let rows = self.0.database.sql(|connection| connection.rows(KEY, &self.0.key()))?;
        // The one that it has when it is made, unless another process makes it first.
        let Some(row) = rows.first() else { return Ok(SecretKey::new(self.0.fresh)) };
        let key = row.blob(0).map(|key| &key[..]).unwrap_or_default();
        key.try_into().map(SecretKey::new).map_err(|_| StoreError::Damaged {
            at: self.at(),
            what: "the secret key".to_owned(),
            reason: format!("has {} bytes instead of 32", key.len()),
        })
    }

    fn memo(&self, _make: bool) -> Result<Option<Arc<dyn Memo>>, StoreError> {
        let memo = self.1.get_or_init(|| Arc::new(PostgresMemo::new(Arc::clone(&self.0))));
        Ok(Some(memo.clone()))
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        self.0.ask(check::stats)
    }

    fn collect(&self, retention: &Retention, record: &Record) -> Result<(Collected, Sealed), StoreError> {
        collect::collect(&self.0, retention, record)
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        collect::collectable(&self.0, retention)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        match self.0.id()? {
            Some(id) => self.0.database.with(|connection| {
                let checked = check::check(&self.0, connection, id);
                let ended = connection.rows("ROLLBACK", &[]).map_err(|error| failed(&self.0.at, error));
                checked.and_then(|damages| ended.map(|_| damages))
            }),
            None => Ok(Vec::new()),
        }
    }
}
