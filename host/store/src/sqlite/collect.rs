//! Reclaiming what no retained entry needs. What goes is decided beside the writers, who may go on meanwhile; then, in one short
//! transaction, what they appended is looked at and the rest removed.

use super::SqliteStore;
use super::columns::{Named, unsigned};
use super::failure::database;
use super::ledger::{self, set_meta};
use super::objects::At;
use super::pool::empty_log;
use super::schema::Fact;
use super::transaction::{Pending, Sync};
use crate::error::{StoreError, at};
use crate::reach::reach;
use crate::retention::{retained_from, states};
use crate::store::{Collected, Retention};
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Record, Sealed};
use hutch_model::snapshot::MemoryObjects;
use rusqlite::Connection;
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
    let failed = |error| database(path, error);
    let mut roots = Roots { states: Vec::new(), streams: HashSet::new() };
    let mut trees = connection.prepare("SELECT tree FROM heads").map_err(failed)?;
    for tree in trees.query_map((), |row| row.get(0)).map_err(failed)? {
        let Named(tree) = tree.map_err(failed)?;
        roots.states.push(tree);
    }
    let mut next = from;
    loop {
        let page = ledger::entries(connection, next, 256).map_err(failed)?;
        let Some(last) = page.last() else { return Ok(roots) };
        next = last.sequence + 1;
        for sealed in &page {
            let record = match sealed.open() {
                Ok(entry) => entry.record,
                Err(error) => {
                    unreadable(StoreError::entry(&at(path), &error))?;
                    continue;
                }
            };
            for (state, must) in states(&record) {
                if must || At(connection).holds(&state).map_err(failed)? {
                    roots.states.push(state);
                }
            }
            roots.streams.extend(record.streams());
        }
    }
}

pub(super) fn collect(
    store: &SqliteStore,
    retention: &Retention,
    record: &Record,
) -> Result<(Collected, Sealed), StoreError> {
    let path = store.pool.path();
    let failed = |error| database(path, error);
    let found = store.pool.with(|connection| {
        let moment = connection.transaction().map_err(failed)?;
        Found::look(&moment, path, retention)
    })?;
    let done = remove(store, found, record)?;
    // The space goes back to the system; if that fails, it is used again.
    store.pool.with(|connection| {
        let _ = shrink(connection);
        empty_log(connection);
        Ok(())
    })?;
    Ok(done)
}

/// Removes what was found to be of no use, as far as it still is.
fn remove(store: &SqliteStore, mut found: Found, record: &Record) -> Result<(Collected, Sealed), StoreError> {
    let path = store.pool.path();
    let failed = |error| database(path, error);
    let mut pending = Pending::open(store, Sync::Now)?;
    let connection = pending.connection()?;
    let last = found.last;
    found.mark(connection, path, last + 1)?;
    // Another process may have dropped more meanwhile.
    found.from = found.from.max(ledger::head(connection, path)?.retained_from);
    let mut collected = Collected { retained_from: found.from, ..Collected::default() };
    for (row, digest, bytes) in &found.dead {
        // What was of no use may be of use again: an entry that came meanwhile can name it.
        if !found.live.contains(digest) {
            let deleted = connection
                .prepare_cached("DELETE FROM objects WHERE rowid = ?1 AND digest = ?2")
                .and_then(|mut delete| delete.execute((row, Named(*digest))));
            let deleted = deleted.map_err(failed)? as u64;
            collected.objects += deleted;
            collected.bytes += bytes * deleted;
        }
    }
    set_meta(connection, Fact::RetainedFrom, &collected.retained_from.to_be_bytes()).map_err(failed)?;
    let record = Record { collected: Some(collected.record()), ..record.clone() };
    let sealed = pending.append((&record, &MemoryObjects::default(), &[]))?;
    pending.end(sealed.sequence)?;
    Ok((collected, sealed))
}

/// What [`collect`] would remove.
pub(super) fn collectable(
    connection: &mut Connection,
    path: &Path,
    retention: &Retention,
) -> Result<Collected, StoreError> {
    let moment = connection.transaction().map_err(|error| database(path, error))?;
    let found = Found::look(&moment, path, retention)?;
    let (objects, bytes) = (found.dead.len() as u64, found.dead.iter().map(|(_, _, bytes)| bytes).sum());
    Ok(Collected { retained_from: found.from, objects, bytes })
}

/// What stays and what goes, as of one moment.
struct Found {
    /// The first entry that is retained.
    from: u64,
    /// The last entry at that moment.
    last: u64,
    live: HashSet<Digest>,
    /// Row, name and bytes.
    dead: Vec<(i64, Digest, u64)>,
}

impl Found {
    fn look(connection: &Connection, path: &Path, retention: &Retention) -> Result<Found, StoreError> {
        let failed = |error| database(path, error);
        let head = ledger::head(connection, path)?;
        let times = {
            let mut query =
                connection.prepare("SELECT sequence, at_ns FROM entries ORDER BY sequence").map_err(failed)?;
            let place =
                |row: &rusqlite::Row<'_>| Ok((unsigned(row.get(0)?), Instant::from_unix_ns(unsigned(row.get(1)?))));
            let rows = query.query_map((), place).map_err(failed)?;
            rows.collect::<rusqlite::Result<Vec<_>>>().map_err(failed)?
        };
        // What was dropped once stays dropped, whatever is asked for later.
        let from = retained_from(retention, times).max(head.retained_from);
        let mut found = Found { from, last: head.last.sequence, live: HashSet::new(), dead: Vec::new() };
        found.mark(connection, path, from)?;
        found.dead = outside(connection, &found.live).map_err(failed)?;
        Ok(found)
    }

    /// Adds what the state and the entries from `from` on need.
    fn mark(&mut self, connection: &Connection, path: &Path, from: u64) -> Result<(), StoreError> {
        let Roots { states, streams } = roots(connection, path, from, Err)?;
        self.live.extend(streams);
        for state in states {
            reach(&At(connection), state, &mut self.live).map_err(|error| StoreError::object(at(path), &error))?;
        }
        Ok(())
    }
}

fn shrink(connection: &Connection) -> rusqlite::Result<()> {
    let mut query = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut rows = query.query(())?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// The objects that are not in `live`.
fn outside(connection: &Connection, live: &HashSet<Digest>) -> rusqlite::Result<Vec<(i64, Digest, u64)>> {
    let mut dead = Vec::new();
    let mut query = connection.prepare("SELECT rowid, digest, length(bytes) FROM objects")?;
    let mut rows = query.query(())?;
    while let Some(row) = rows.next()? {
        let Named(digest) = row.get(1)?;
        if !live.contains(&digest) {
            dead.push((row.get(0)?, digest, unsigned(row.get(2)?)));
        }
    }
    Ok(dead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance_dir::InstanceDir;
    use crate::sqlite::Opening;
    use crate::store::Store;
    use hutch_model::ledger::{EntryKind, PackageRecord, VolumeRecord};
    use hutch_model::snapshot::{Changes, Entry, Name, Node, Tree};

    fn record(kind: EntryKind) -> Record {
        Record::new(kind, Instant::from_unix_ns(1), "default", PackageRecord::default())
    }

    /// Makes the volume hold one file with `content`.
    fn put(store: &SqliteStore, content: &str) {
        let mut objects = MemoryObjects::default();
        let node = objects.insert_file(content.as_bytes());
        let entry = Entry { name: Name::new("a").unwrap(), modified_ns: 0, node };
        let Node::Folder { tree, .. } = objects.insert_tree(&Tree::new(vec![entry]).unwrap()) else { unreachable!() };
        let before = store.head().unwrap().state.get("state").copied();
        let mut record = Record { kept: true, ..record(EntryKind::Run) };
        record.volumes.insert("state".to_owned(), VolumeRecord::new(before, tree, Changes::default()));
        store.commit(&record, &objects, &[]).unwrap();
    }

    #[test]
    fn what_another_collection_dropped_meanwhile_stays_dropped() {
        let home = tempfile::tempdir().unwrap();
        let place = InstanceDir::new(home.path(), &"todo".parse().unwrap(), &"default".parse().unwrap());
        let store = SqliteStore::open(&place, &Opening::default()).unwrap();
        (0..5).for_each(|at| put(&store, &at.to_string()));
        let keep = |keep_last| Retention { keep_last, newer_than: None };
        let looked = store.pool.with(|connection| Found::look(connection, store.pool.path(), &keep(1000))).unwrap();
        assert_eq!(looked.from, 1);
        let (dropped, _) = store.collect(&keep(1), &record(EntryKind::Collect)).unwrap();
        assert_eq!((dropped.retained_from, dropped.objects), (5, 6));

        let (late, sealed) = remove(&store, looked, &record(EntryKind::Collect)).unwrap();
        assert_eq!((late.retained_from, late.objects), (5, 0));
        assert_eq!(sealed.open().unwrap().record.collected, Some(late.record()));
        assert_eq!(store.head().unwrap().retained_from, 5);
        assert_eq!(store.check().unwrap(), []);
        store.collect(&keep(1000), &record(EntryKind::Collect)).unwrap();
    }
}
