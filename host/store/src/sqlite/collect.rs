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
    let before = ledger::head(&transaction, path)?.retained_from;
    let times = {
        let mut query =
            transaction.prepare("SELECT sequence, at_ns FROM entries ORDER BY sequence").map_err(database)?;
        let place = |row: &rusqlite::Row<'_>| Ok((unsigned(row.get(0)?), Instant::from_unix_ns(unsigned(row.get(1)?))));
        let rows = query.query_map((), place).map_err(database)?;
        rows.collect::<rusqlite::Result<Vec<_>>>().map_err(database)?
    };
    // What was dropped once stays dropped, whatever is asked for later.
    let from = retained_from(retention, times).max(before);
    let Roots { states, streams: mut live } = roots(&transaction, path, from, Err)?;
    for state in states {
        reach(&At(&transaction), state, &mut live).map_err(|error| StoreError::object(path, &error))?;
    }
    let mut collected = sweep(&transaction, &live).map_err(database)?;
    collected.retained_from = from;
    set_meta(&transaction, "retained_from", &from.to_be_bytes()).map_err(database)?;
    transaction.commit().map_err(database)?;
    // The space goes back to the system; if that fails, it is used again.
    let _ = give_back(connection);
    Ok(collected)
}

fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    for pragma in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
        let mut query = connection.prepare(pragma)?;
        let mut rows = query.query(())?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}

fn sweep(connection: &Connection, live: &HashSet<Digest>) -> rusqlite::Result<Collected> {
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
    let mut delete = connection.prepare("DELETE FROM objects WHERE rowid = ?1")?;
    for rowid in &dead {
        delete.execute([rowid])?;
    }
    Ok(Collected { retained_from: 0, objects: dead.len() as u64, bytes })
}
