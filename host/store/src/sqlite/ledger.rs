//! Head and entries: reading them, and the statements that append one.

use super::columns::{Named, signed, unsigned};
use super::failure::database;
use super::objects::TransactionShelf;
use super::schema::Fact;
use crate::absorb::Shelf;
use crate::admitted::admitted_text;
use crate::error::{StoreError, at};
use crate::store::{EntryKey, Head, State, Store};
use crate::transition::{Advance, streams};
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{Chain, Origin, Owner, Pin, Record, Sealed};
use hutch_model::snapshot::Objects;
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;

/// Reads the head; the connection should be in a transaction, so that it is of one moment.
pub(super) fn head(connection: &Connection, path: &Path) -> Result<Head, StoreError> {
    let failed = |error| database(path, error);
    let damaged = |what: String, reason: String| StoreError::Damaged { at: at(path), what, reason };
    let (mut state, mut changed) = (State::new(), 0);
    const VOLUMES: &str =
        "SELECT volume, tree, (SELECT max(sequence) FROM moves WHERE moves.volume = heads.volume) FROM heads";
    let mut volumes = connection.prepare_cached(VOLUMES).map_err(failed)?;
    let row = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, Named>(1)?.0, row.get::<_, Option<i64>>(2)?));
    for volume in volumes.query_map((), row).map_err(failed)? {
        let (name, tree, moved) = volume.map_err(failed)?;
        changed = changed.max(moved.map_or(0, unsigned));
        let volume = name.parse();
        let volume = volume
            .map_err(|error: crate::names::StoreNameError| damaged(format!("volume {name:?}"), error.to_string()))?;
        state.insert(volume, tree);
    }
    let mut head = Head { last: last(connection, path)?, state, changed, ..Head::default() };
    for (origin, package) in named(connection, "SELECT origin, package FROM owners").map_err(failed)? {
        let origin: Result<Origin, _> = serde_json::from_value(origin.into());
        head.owners.insert(origin.map_err(|error| damaged("an owner".to_owned(), error.to_string()))?, package);
    }
    let mut intents = connection.prepare_cached("SELECT sequence FROM intents").map_err(failed)?;
    for sequence in intents.query_map((), |row| row.get(0)).map_err(failed)? {
        head.open.insert(unsigned(sequence.map_err(failed)?));
    }
    if let Some(admitted) = meta(connection, Fact::Admitted).map_err(failed)? {
        let written = serde_json::from_slice(&admitted).map_err(|error| error.to_string());
        let admitted = written.and_then(crate::admitted::admitted);
        head.admitted = Some(admitted.map_err(|reason| damaged("who is admitted".to_owned(), reason))?);
    }
    let retained = meta(connection, Fact::RetainedFrom).map_err(failed)?.unwrap_or_default();
    head.retained_from = retained.first_chunk().map_or(1, |bytes| u64::from_be_bytes(*bytes));
    Ok(head)
}

/// Rows of a text and a digest.
fn named(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<(String, Digest)>> {
    let mut rows = connection.prepare_cached(sql)?;
    let row = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Named>(1)?.0));
    rows.query_map((), row)?.collect()
}

/// The last entry, by what the store remembers beside the entries.
pub(super) fn last(connection: &Connection, path: &Path) -> Result<Pin, StoreError> {
    let value = meta(connection, Fact::Head).map_err(|error| database(path, error))?;
    let Some(value) = value else { return Ok(Chain::default().head()) };
    let pin = value.split_first_chunk().and_then(|(sequence, hash)| {
        Some(Pin { sequence: u64::from_be_bytes(*sequence), hash: Digest::from_bytes(hash.try_into().ok()?) })
    });
    pin.ok_or_else(|| StoreError::Damaged {
        at: at(path),
        what: "the head".to_owned(),
        reason: format!("has {} bytes instead of 40", value.len()),
    })
}

pub(super) fn meta(connection: &Connection, fact: Fact) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut query = connection.prepare_cached("SELECT value FROM meta WHERE name = ?1")?;
    query.query_row([fact.name()], |row| row.get(0)).optional()
}

pub(super) fn set_meta(connection: &Connection, fact: Fact, value: &[u8]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO meta VALUES (?1, ?2)")?;
    insert.execute((fact.name(), value)).map(|_| ())
}

/// Writes an entry, and the state that it leads to. The connection is in a transaction.
pub(super) fn append(connection: &Connection, path: &Path, parts: Parts<'_>) -> Result<Sealed, StoreError> {
    let advance = head(connection, path)?.advance(parts.0)?;
    write(connection, path, parts, advance)
}

/// The same for an entry that was made elsewhere.
pub(super) fn take(
    connection: &Connection,
    path: &Path,
    (sealed, from, owner, kept_from): (&Sealed, &dyn Store, &Owner, u64),
) -> Result<Sealed, StoreError> {
    let before = head(connection, path)?;
    let (record, advance) = before.take(sealed, owner, kept_from)?;
    if advance.head.retained_from != before.retained_from {
        let from = advance.head.retained_from.to_be_bytes();
        set_meta(connection, Fact::RetainedFrom, &from).map_err(|error| database(path, error))?;
    }
    let streams = streams(&record, from)?;
    let streams: Vec<&[u8]> = streams.iter().map(|bytes| &**bytes).collect();
    write(connection, path, (&record, &*from.objects(), &streams), advance)
}

/// A record, where the objects are that it leads to, and the streams to keep with it.
pub(super) type Parts<'a> = (&'a Record, &'a dyn Objects, &'a [&'a [u8]]);

fn write(
    connection: &Connection,
    path: &Path,
    (record, objects, streams): Parts<'_>,
    advance: Advance,
) -> Result<Sealed, StoreError> {
    let mut shelf = TransactionShelf { connection, path };
    advance.absorb(&mut shelf, objects)?;
    let Advance { sealed, head, changed } = advance;
    for bytes in streams {
        shelf.put(Kind::Stream, &Digest::of(Kind::Stream, bytes), bytes)?;
    }
    let write = || {
        for change in &changed {
            let (volume, tree) = (change.volume.as_str(), Named(change.after));
            connection.prepare_cached("INSERT OR REPLACE INTO heads VALUES (?1, ?2)")?.execute((volume, &tree))?;
            let moved = (volume, signed(sealed.sequence), &tree);
            connection.prepare_cached("INSERT INTO moves VALUES (?1, ?2, ?3)")?.execute(moved)?;
        }
        if let Some(owner) = &record.owner {
            let owner = (owner.origin.as_str(), Named(owner.package));
            connection.prepare_cached("INSERT OR REPLACE INTO owners VALUES (?1, ?2)")?.execute(owner)?;
        }
        if record.kind == hutch_model::ledger::EntryKind::Intent {
            connection.prepare_cached("INSERT INTO intents VALUES (?1)")?.execute([signed(sealed.sequence)])?;
        }
        if let Some(closed) = record.closes {
            connection.prepare_cached("DELETE FROM intents WHERE sequence = ?1")?.execute([signed(closed)])?;
        }
        if let Some(admitted) = &head.admitted {
            set_meta(connection, Fact::Admitted, admitted_text(admitted).to_string().as_bytes())?;
        }
        let entry = (signed(sealed.sequence), Named(sealed.hash), signed(record.at.unix_ns()), &sealed.bytes[..]);
        connection
            .prepare_cached("INSERT INTO entries (sequence, hash, at_ns, bytes) VALUES (?1, ?2, ?3, ?4)")?
            .execute(entry)?;
        let head = [&sealed.sequence.to_be_bytes()[..], sealed.hash.as_bytes()].concat();
        set_meta(connection, Fact::Head, &head)?;
        // What a failed commit left is under what is written now.
        connection.prepare_cached("DELETE FROM meta WHERE name = ?1")?.execute([Fact::Cut.name()]).map(|_| ())
    };
    write().map_err(|error| database(path, error))?;
    Ok(sealed)
}

/// Checks that the last entry is the one that the store remembers, and that it leads to the state that the store holds: at a cost
/// that follows the number of volumes and nothing else.
pub(super) fn check_head(connection: &Connection, path: &Path) -> Result<Pin, StoreError> {
    let head = head(connection, path)?;
    let stored = entries(connection, head.last.sequence, 2).map_err(|error| database(path, error))?;
    head.check_last(&at(path), &stored)?;
    Ok(head.last)
}

/// The state from an entry on, checked against the entry.
pub(super) fn state_at(connection: &Connection, path: &Path, sequence: u64) -> Result<State, StoreError> {
    if sequence == 0 {
        return Ok(State::new());
    }
    let failed = |error| database(path, error);
    let missing = || StoreError::Missing { at: at(path), what: format!("entry {sequence}") };
    let key = EntryKey::Sequence(sequence);
    let sealed = find(connection, &key).map_err(failed)?.pop().ok_or_else(missing)?;
    let entry = sealed.open().map_err(|error| StoreError::entry(&at(path), &error))?;
    let mut head = head(connection, path)?;
    let mut state = State::new();
    for volume in head.state.keys() {
        const LATEST: &str =
            "SELECT tree FROM moves WHERE volume = ?1 AND sequence <= ?2 ORDER BY sequence DESC LIMIT 1";
        let tree = connection
            .prepare_cached(LATEST)
            .and_then(|mut query| query.query_row((volume.as_str(), signed(sequence)), |row| row.get(0)).optional());
        if let Some(Named(tree)) = tree.map_err(failed)? {
            state.insert(volume.clone(), tree);
        }
    }
    head.state = state;
    match head.standing().state() == entry.state {
        true => Ok(head.state),
        false => Err(StoreError::Damaged {
            at: at(path),
            what: format!("the state from entry {sequence} on"),
            reason: "is not the one that the entry leads to".to_owned(),
        }),
    }
}

/// The last entry, in this place or before it, that changed the state.
pub(super) fn last_change(connection: &Connection, sequence: u64) -> rusqlite::Result<Option<u64>> {
    const LAST: &str = "SELECT max(last) FROM (
        SELECT (SELECT max(sequence) FROM moves WHERE volume = heads.volume AND sequence <= ?1) AS last FROM heads)";
    let last: Option<i64> = connection.prepare_cached(LAST)?.query_row([signed(sequence)], |row| row.get(0))?;
    Ok(last.map(unsigned))
}

const COLUMNS: &str = "SELECT sequence, hash, bytes FROM entries";

fn sealed(row: &Row<'_>) -> rusqlite::Result<Sealed> {
    let Named(hash) = row.get(1)?;
    Ok(Sealed { sequence: unsigned(row.get(0)?), hash, bytes: row.get_ref(2)?.as_blob()?.into() })
}

pub(super) fn find(connection: &Connection, key: &EntryKey) -> rusqlite::Result<Vec<Sealed>> {
    let select = |condition: &str| connection.prepare_cached(&format!("{COLUMNS} WHERE {condition} LIMIT 2"));
    match key {
        EntryKey::Sequence(sequence) => select("sequence = ?1")?.query_map([signed(*sequence)], sealed)?.collect(),
        EntryKey::Hash(hash) => select("hash = ?1")?.query_map([Named(*hash)], sealed)?.collect(),
        EntryKey::Prefix(prefix) => {
            // A prefix names all hashes between itself with zeros and itself with the highest digits behind it.
            let padded = |digit: &str| format!("{prefix}{}", digit.repeat(64_usize.saturating_sub(prefix.len())));
            let (Ok(first), Ok(last)) = (padded("0").parse(), padded("f").parse()) else { return Ok(Vec::new()) };
            select("hash BETWEEN ?1 AND ?2")?.query_map([Named(first), Named(last)], sealed)?.collect()
        }
    }
}

pub(super) fn entries(connection: &Connection, sequence: u64, count: u64) -> rusqlite::Result<Vec<Sealed>> {
    // No entry has a place beyond the largest number of the database: behind that one the pages end.
    let Ok(sequence) = i64::try_from(sequence) else { return Ok(Vec::new()) };
    connection
        .prepare_cached(&format!("{COLUMNS} WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2"))?
        .query_map((sequence, signed(count)), sealed)?
        .collect()
}
