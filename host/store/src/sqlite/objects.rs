//! Objects in the database: reading them with their digests checked, and taking new ones in.

use super::columns::{Named, kind_number};
use super::failure::database;
use super::pool::Pool;
use crate::absorb::Shelf;
use crate::error::StoreError;
use crate::reach::Source;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{ObjectError, Objects, TreeObject};
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;
use std::sync::Arc;

/// The objects of a store, for readers in any thread.
pub(super) struct Stored(pub(super) Arc<Pool>);

impl Objects for Stored {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let found = self.0.with(|connection| Ok(At(connection).bytes(kind, digest)));
        found.unwrap_or_else(|error| Err(ObjectError::unreadable(kind, *digest, error)))
    }
}

/// The objects as one connection, perhaps within a transaction, sees them.
pub(super) struct At<'c>(pub(super) &'c Connection);

impl Source for At<'_> {
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let found = self
            .0
            .prepare_cached("SELECT bytes FROM objects WHERE digest = ?1")
            .and_then(|mut query| {
                query.query_row([Named(*digest)], |row| Ok(Arc::<[u8]>::from(row.get_ref(0)?.as_blob()?))).optional()
            })
            .map_err(|error| match error {
                rusqlite::Error::InvalidColumnType(..) => ObjectError::damaged(kind, *digest, error.to_string()),
                _ => ObjectError::unreadable(kind, *digest, error),
            })?;
        let bytes = found.ok_or(ObjectError::missing(kind, *digest))?;
        match Digest::of(kind, &bytes) == *digest {
            true => Ok(bytes),
            false => Err(ObjectError::damaged(kind, *digest, "does not match its digest")),
        }
    }

    fn exists(&self, digest: &Digest) -> bool {
        self.holds(digest).unwrap_or(false)
    }
}

impl At<'_> {
    pub(super) fn holds(&self, digest: &Digest) -> rusqlite::Result<bool> {
        self.0.prepare_cached("SELECT 1 FROM objects WHERE digest = ?1")?.exists([Named(*digest)])
    }
}

/// The shelf of a transaction.
pub(super) struct TransactionShelf<'c> {
    pub(super) connection: &'c Connection,
    pub(super) path: &'c Path,
}

impl Shelf for TransactionShelf<'_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        At(self.connection).holds(digest).map_err(|error| database(self.path, error))
    }

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        At(self.connection).bytes(Kind::Tree, digest).ok().and_then(|bytes| TreeObject::decode(&bytes).ok())
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let put = || {
            self.connection
                .prepare_cached(
                    "INSERT INTO objects (digest, kind, bytes) VALUES (?1, ?2, ?3) ON CONFLICT (digest) DO NOTHING",
                )?
                .execute((Named(*digest), kind_number(kind), bytes))
        };
        put().map(|_| ()).map_err(|error| database(self.path, error))
    }

    fn at(&self) -> String {
        crate::error::at(self.path)
    }
}
