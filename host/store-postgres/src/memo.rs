//! The memo of an instance: rows beside it, which a role may be let read and not write. What is kept beside one instance is found from all
//! of its tenant, and from those alone, whatever the role may see of others. Who wrote a row is what the server says, as long as writers are
//! granted no more than host/docs/fleets.md says.

use crate::instance::Instance;
use crate::row::{Value, signed};
use hutch_model::digest::Digest;
use hutch_model::memo::KEPT_BYTES_MAX;
use hutch_store::{Found, MEMO_BYTES_MAX, Memo, MemoStats, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// After as many bytes a process looks again whether there is room. All that is between two looks is beyond the bound.
const LOOK_BYTES: u64 = 8 << 20;

/// Of each key what this instance has, and the latest that another one of the tenant has.
const FIND: &str = "SELECT DISTINCT ON (kept.key, own.package = $1 AND own.name = $2) kept.key, kept.value, kept.role,
        own.package || '/' || own.name, (own.package = $1 AND own.name = $2)::int::bigint
    FROM hutch_memo kept JOIN hutch_instances own ON own.id = kept.instance
    WHERE own.tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user)
        AND kept.key = ANY($3) AND length(kept.value) <= $4
    ORDER BY kept.key, own.package = $1 AND own.name = $2 DESC, kept.place DESC";
const REPLACE: &str = "DELETE FROM hutch_memo WHERE instance = $1 AND key = $2";
const REMOVE: &str = "DELETE FROM hutch_memo WHERE key = $1 AND instance IN (SELECT id FROM hutch_instances
    WHERE tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user))";
/// The other columns are the server's to say.
const PUT: &str = "INSERT INTO hutch_memo (instance, key, value) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
const MAKE_ROOM: &str = "DELETE FROM hutch_memo WHERE instance = $1 AND place <= (SELECT max(place) FROM (
        SELECT place, sum(length(value)) OVER (ORDER BY place DESC) AS bytes FROM hutch_memo WHERE instance = $1
    ) outcome WHERE bytes > $2)";
const CLEAR: &str = "DELETE FROM hutch_memo WHERE instance = $1";
const STATS: &str = "SELECT count(*), coalesce(sum(length(value)), 0)::bigint FROM hutch_memo WHERE instance = $1";

/// The outcomes of an instance in a database.
#[derive(Debug)]
pub(crate) struct PostgresMemo {
    instance: Arc<Instance>,
    bytes_max: u64,
    /// Bytes that this process put there since it looked whether there is room.
    since_look: AtomicU64,
}

impl PostgresMemo {
    pub(crate) fn new(instance: Arc<Instance>) -> PostgresMemo {
        PostgresMemo { instance, bytes_max: MEMO_BYTES_MAX, since_look: AtomicU64::new(LOOK_BYTES) }
    }
}

impl Memo for PostgresMemo {
    fn get(&self, keys: &[Digest]) -> Result<Vec<Found>, StoreError> {
        let named: Vec<&[u8]> = keys.iter().map(|key| &key.as_bytes()[..]).collect();
        let ([package, name], longest) = (self.instance.key(), Value::Number(signed(KEPT_BYTES_MAX as u64)));
        self.instance.database.sql(|connection| {
            let rows = connection.rows(FIND, &[package, name, Value::Blobs(&named), longest])?;
            let found = rows.iter().map(|row| {
                let (role, instance) = (Some(row.text(2)?.to_owned()), row.text(3)?.to_owned());
                let instance = (row.number(4)? == 0).then_some(instance);
                Ok(Found { key: row.digest(0)?, value: row.bytes(1)?.to_vec(), role, instance })
            });
            found.collect()
        })
    }

    fn put(&self, key: &Digest, value: &[u8]) -> Result<(), StoreError> {
        let bytes = value.len() as u64;
        let looks = self.since_look.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= LOOK_BYTES;
        self.instance.ask(|connection, id| {
            let (id, key) = (Value::Number(id), Value::Blob(key.as_bytes()));
            connection.run(&[(REPLACE, &[id, key]), (PUT, &[id, key, Value::Blob(value)])])?;
            if looks {
                connection.rows(MAKE_ROOM, &[id, Value::Number(signed(self.bytes_max))])?;
            }
            Ok(())
        })?;
        if looks {
            self.since_look.store(0, Ordering::Relaxed);
        }
        Ok(())
    }

    fn remove(&self, key: &Digest) -> Result<(), StoreError> {
        let key = Value::Blob(key.as_bytes());
        self.instance.database.sql(|connection| connection.rows(REMOVE, &[key]).map(drop))
    }

    fn clear(&self) -> Result<(), StoreError> {
        self.instance.ask(|connection, id| connection.rows(CLEAR, &[Value::Number(id)]).map(drop))
    }

    fn stats(&self) -> Result<MemoStats, StoreError> {
        self.instance.ask(|connection, id| {
            let rows = connection.rows(STATS, &[Value::Number(id)])?;
            let number = |column| rows.first().map_or(Ok(0), |row| row.number(column));
            Ok(MemoStats { outcomes: number(0)?, bytes: number(1)? })
        })
    }
}
