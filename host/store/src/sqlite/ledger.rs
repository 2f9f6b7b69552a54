//! Head, entries and the one transaction that moves them.

use super::columns::{Named, signed, unsigned};
use super::objects::TransactionShelf;
use crate::absorb::{Shelf, absorb};
use crate::error::StoreError;
use crate::store::{EntryKey, Head, State};
use crate::transition::transitions;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Chain, ChainError, Entry, EntryError, Pin, Record, Sealed};
use hutch_model::snapshot::Objects;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior};
use std::path::Path;

/// Entries whose links are checked at each opening; [`crate::Store::check`] checks all.
const TAIL: u64 = 16;

/// Reads the head; the connection should be in a transaction, so that it is of one moment.
pub(super) fn head(connection: &Connection, path: &Path) -> Result<Head, StoreError> {
    let database = |error| StoreError::database(path, error);
    let mut volumes = connection.prepare_cached("SELECT volume, tree FROM heads").map_err(database)?;
    let rows =
        volumes.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get::<_, Named>(1)?))).map_err(database)?;
    let mut state = State::new();
    for row in rows {
        let (name, Named(tree)) = row.map_err(database)?;
        let damaged = |error: crate::names::StoreNameError| StoreError::Damaged {
            path: path.to_owned(),
            what: format!("volume {name:?}"),
            reason: error.to_string(),
        };
        state.insert(name.parse().map_err(damaged)?, tree);
    }
    let retained = meta(connection, "retained_from").map_err(database)?.unwrap_or_default();
    let retained_from = retained.first_chunk().map_or(1, |bytes| u64::from_be_bytes(*bytes));
    Ok(Head { last: last(connection, path)?, state, retained_from })
}

/// The last entry, by what the store remembers beside the entries.
fn last(connection: &Connection, path: &Path) -> Result<Pin, StoreError> {
    let value = meta(connection, "head").map_err(|error| StoreError::database(path, error))?;
    let Some(value) = value else { return Ok(Chain::default().head()) };
    let pin = value.split_first_chunk().and_then(|(sequence, hash)| {
        Some(Pin { sequence: u64::from_be_bytes(*sequence), hash: Digest::from_bytes(hash.try_into().ok()?) })
    });
    pin.ok_or_else(|| StoreError::Damaged {
        path: path.to_owned(),
        what: "the head".to_owned(),
        reason: format!("has {} bytes instead of 40", value.len()),
    })
}

pub(super) fn meta(connection: &Connection, name: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?.query_row([name], |row| row.get(0)).optional()
}

pub(super) fn set_meta(connection: &Connection, name: &str, value: &[u8]) -> rusqlite::Result<()> {
    connection.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?.execute((name, value)).map(|_| ())
}

/// Appends `record` and moves the state, or changes nothing; nothing either if `act` says no, which comes last.
pub(super) fn commit(
    connection: &mut Connection,
    path: &Path,
    record: &Record,
    objects: &dyn Objects,
    streams: &[(Digest, &[u8])],
    act: &mut dyn FnMut() -> bool,
) -> Result<Option<Sealed>, StoreError> {
    let database = |error| StoreError::database(path, error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(database)?;
    let Head { last, state, .. } = head(&transaction, path)?;
    let changes = transitions(record, &state)?;
    let mut shelf = TransactionShelf { connection: &transaction, path };
    for change in &changes {
        absorb(&mut shelf, objects, change.before, change.after)?;
        transaction
            .prepare_cached("INSERT OR REPLACE INTO heads VALUES (?1, ?2)")
            .and_then(|mut insert| insert.execute((change.volume.as_str(), Named(change.after))))
            .map_err(database)?;
    }
    for (digest, bytes) in streams {
        shelf.put(Kind::Stream, digest, bytes)?;
    }
    let entry = Entry { sequence: last.sequence + 1, previous: last.hash, record: record.clone() };
    let sealed = entry.seal()?;
    let head = [&sealed.sequence.to_be_bytes()[..], sealed.hash.as_bytes()].concat();
    transaction
        .prepare_cached("INSERT INTO entries (sequence, hash, at_ns, bytes) VALUES (?1, ?2, ?3, ?4)")
        .and_then(|mut insert| {
            let at_ns = signed(record.at.unix_ns());
            insert.execute((signed(sealed.sequence), Named(sealed.hash), at_ns, &sealed.bytes[..]))
        })
        .and_then(|_| set_meta(&transaction, "head", &head))
        .map_err(database)?;
    if !act() {
        return Ok(None);
    }
    transaction.commit().map_err(database)?;
    Ok(Some(sealed))
}

/// Checks that the last entries are linked and end where the store remembers.
pub(super) fn check_tail(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let database = |error| StoreError::database(path, error);
    let transaction = connection.transaction().map_err(database)?;
    let pin = last(&transaction, path)?;
    let start = pin.sequence.saturating_sub(TAIL);
    let broken = |error: ChainError| StoreError::chain(path, &error);
    let mut chain = Chain::default();
    for sealed in entries(&transaction, start, TAIL + 2).map_err(database)? {
        match sealed.sequence == start && start > 0 {
            true => chain = Chain::after(sealed.pin()),
            false if chain.head().sequence < start => {
                return Err(broken(ChainError::Removed { sequence: start, found: sealed.sequence }));
            }
            false => chain.take(&sealed).map_err(broken)?,
        }
    }
    let head = chain.head();
    if head.sequence < pin.sequence {
        return Err(broken(ChainError::Cut { sequence: head.sequence + 1 }));
    }
    if head != pin {
        return Err(broken(EntryError::Altered { sequence: head.sequence }.into()));
    }
    Ok(())
}

const COLUMNS: &str = "SELECT sequence, hash, bytes FROM entries";

fn sealed(row: &Row<'_>) -> rusqlite::Result<Sealed> {
    let Named(hash) = row.get(1)?;
    Ok(Sealed { sequence: unsigned(row.get(0)?), hash, bytes: row.get_ref(2)?.as_blob()?.into() })
}

pub(super) fn entry(connection: &Connection, key: EntryKey) -> rusqlite::Result<Option<Sealed>> {
    match key {
        EntryKey::Sequence(sequence) => connection
            .prepare_cached(&format!("{COLUMNS} WHERE sequence = ?1"))?
            .query_row([signed(sequence)], sealed)
            .optional(),
        EntryKey::Hash(hash) => connection
            .prepare_cached(&format!("{COLUMNS} WHERE hash = ?1"))?
            .query_row([Named(hash)], sealed)
            .optional(),
    }
}

pub(super) fn entries(connection: &Connection, sequence: u64, count: u64) -> rusqlite::Result<Vec<Sealed>> {
    connection
        .prepare_cached(&format!("{COLUMNS} WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2"))?
        .query_map((signed(sequence), signed(count)), sealed)?
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::Store;
    use crate::common::{change, no_objects, place, put, sqlite, state, volume};
    use hutch_model::error_code::ErrorCode;

    /// A disk that is full after the n-th new page, for every n: the commit fails and nothing of it stays.
    #[test]
    fn a_full_disk_at_any_page_leaves_all_as_it_was() {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        let before = put(&store, &[("a", "1")]);
        let (head, stats) = (store.head().unwrap(), store.stats().unwrap());
        let mut objects = no_objects();
        let noise: String =
            (0..40_000u32).map(|at| char::from(b' ' + (at.wrapping_mul(2_654_435_761) >> 26) as u8)).collect();
        let after = volume(&mut objects, &[("a", &noise), ("b/c", "2")]);
        let path = place(&home).database();
        let set = |pages: i64| {
            store.pool().sql(|connection| {
                let now: i64 = connection.query_row("PRAGMA page_count", (), |row| row.get(0))?;
                connection.query_row(&format!("PRAGMA max_page_count = {}", now + pages), (), |_| Ok(()))
            })
        };
        let mut failures = 0;
        for pages in 0.. {
            set(pages).unwrap();
            match store.commit(&change(Some(before), after), &objects, &[b"out"]) {
                Ok(_) => break,
                Err(error) => assert_eq!(error.code(), ErrorCode::HostFault, "{error}"),
            }
            failures += 1;
            assert_eq!(store.head().unwrap(), head, "{pages} pages");
            assert_eq!(store.stats().unwrap(), stats, "{pages} pages");
        }
        assert!(failures > 5, "{failures} pages were all");
        assert_eq!(state(&store), Some(after));
        assert_eq!(store.check().unwrap(), []);
        assert!(path.exists());
    }

    #[test]
    fn a_writer_that_waits_too_long_is_told_so_and_readers_do_not_wait() {
        let home = tempfile::tempdir().unwrap();
        let store = sqlite(&home);
        let before = put(&store, &[("a", "1")]);
        let other = rusqlite::Connection::open(place(&home).database()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        store.pool().sql(|connection| connection.busy_timeout(std::time::Duration::ZERO)).unwrap();
        let error = store.commit(&change(Some(before), before), &no_objects(), &[]).unwrap_err();
        assert_eq!(error.code(), ErrorCode::InstanceBusy, "{error}");
        assert_eq!(state(&store), Some(before));
        assert_eq!(store.check().unwrap(), []);
        other.execute_batch("ROLLBACK").unwrap();
        store.commit(&change(Some(before), before), &no_objects(), &[]).unwrap();
    }
}
