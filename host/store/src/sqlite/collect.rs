//! Reclaiming what no retained entry needs, in one transaction. Writers wait for it; readers don't.

use super::columns::{Named, unsigned};
use super::ledger::{self, set_meta};
use super::objects::At;
use crate::error::StoreError;
use crate::reach::reach;
use crate::retention::{retained_from, states};
use crate::store::{Collected, Retention};
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use rusqlite::{Connection, TransactionBehavior};
use std::collections::HashSet;
use std::path::Path;

/// What a store must keep.
pub(super) struct Roots {
    /// States that must be complete.
    pub(super) states: Vec<Digest>,
    /// Streams that are kept if they are there.
    pub(super) streams: HashSet<Digest>,
}

/// The roots if entries from `from` on are retained. `unreadable` says what becomes of an entry that can't be read.
pub(super) fn roots(
    connection: &Connection,
    path: &Path,
    from: u64,
    unreadable: impl Fn(StoreError) -> Result<(), StoreError>,
) -> Result<Roots, StoreError> {
    let database = |error| StoreError::database(path, error);
    let mut roots = Roots { states: Vec::new(), streams: HashSet::new() };
    const TREES: &str =
        "SELECT tree FROM heads UNION SELECT tree FROM plain UNION SELECT target FROM plain WHERE target NOTNULL";
    let mut trees = connection.prepare(TREES).map_err(database)?;
    for tree in trees.query_map((), |row| row.get(0)).map_err(database)? {
        let Named(tree) = tree.map_err(database)?;
        roots.states.push(tree);
    }
    let mut next = from;
    loop {
        let page = ledger::entries(connection, next, 256).map_err(database)?;
        let Some(last) = page.last() else { return Ok(roots) };
        next = last.sequence + 1;
        for sealed in &page {
            let record = match sealed.open() {
                Ok(entry) => entry.record,
                Err(error) => {
                    unreadable(StoreError::entry(path, &error))?;
                    continue;
                }
            };
            for (state, must) in states(&record) {
                if must || At(connection).holds(&state).map_err(database)? {
                    roots.states.push(state);
                }
            }
            roots.streams.extend(record.streams());
        }
    }
}

pub(super) fn collect(
    connection: &mut Connection,
    path: &Path,
    retention: &Retention,
) -> Result<Collected, StoreError> {
    let database = |error| StoreError::database(path, error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(database)?;
    let (dead, collected) = unneeded(&transaction, path, retention)?;
    remove(&transaction, &dead).map_err(database)?;
    set_meta(&transaction, "retained_from", &collected.retained_from.to_be_bytes()).map_err(database)?;
    transaction.commit().map_err(database)?;
    // The space goes back to the system; if that fails, it is used again.
    let _ = give_back(connection);
    Ok(collected)
}

/// What [`collect`] would remove.
pub(super) fn collectable(
    connection: &mut Connection,
    path: &Path,
    retention: &Retention,
) -> Result<Collected, StoreError> {
    let transaction = connection.transaction().map_err(|error| StoreError::database(path, error))?;
    Ok(unneeded(&transaction, path, retention)?.1)
}

/// The rows of the objects that no retained entry needs, and what they amount to.
fn unneeded(connection: &Connection, path: &Path, retention: &Retention) -> Result<(Vec<i64>, Collected), StoreError> {
    let database = |error| StoreError::database(path, error);
    let before = ledger::head(connection, path)?.retained_from;
    let times = {
        let mut query =
            connection.prepare("SELECT sequence, at_ns FROM entries ORDER BY sequence").map_err(database)?;
        let place = |row: &rusqlite::Row<'_>| Ok((unsigned(row.get(0)?), Instant::from_unix_ns(unsigned(row.get(1)?))));
        let rows = query.query_map((), place).map_err(database)?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map_err(database)?
    };
    // What was dropped once stays dropped, whatever is asked for later.
    let from = retained_from(retention, times).max(before);
    let Roots { states, streams: mut live } = roots(connection, path, from, Err)?;
    for state in states {
        reach(&At(connection), state, &mut live).map_err(|error| StoreError::object(path, &error))?;
    }
    let (dead, bytes) = outside(connection, &live).map_err(database)?;
    let objects = dead.len() as u64;
    Ok((dead, Collected { retained_from: from, objects, bytes }))
}

fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    for pragma in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        let mut query = connection.prepare(pragma)?;
        let mut rows = query.query(())?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}

/// The rows of the objects that are not in `live`, and their bytes.
fn outside(connection: &Connection, live: &HashSet<Digest>) -> rusqlite::Result<(Vec<i64>, u64)> {
    let mut dead = Vec::new();
    let mut query = connection.prepare("SELECT rowid, digest, length(bytes) FROM objects")?;
    let mut rows = query.query(())?;
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let Named(digest) = row.get(1)?;
        if !live.contains(&digest) {
            dead.push(row.get::<_, i64>(0)?);
            bytes += unsigned(row.get(2)?);
        }
    }
    Ok((dead, bytes))
}

fn remove(connection: &Connection, rows: &[i64]) -> rusqlite::Result<()> {
    let mut delete = connection.prepare("DELETE FROM objects WHERE rowid = ?1")?;
    for row in rows {
        delete.execute([row])?;
    }
    Ok(())
}
