//! Head and entries: the statements that read them, and those that append one.

use crate::row::{Row, Value, signed};
use crate::wire::{Connection, Statement, WireError};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Origin, Pin, Record, Sealed};
use hutch_store::keeping::{self, Advance};
use hutch_store::{EntryKey, Head, StoreError};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The instance's row and its last entry, as of one moment; a second entry would be one that comes after the last.
pub(crate) const HEAD: &str = "SELECT i.id, i.sequence, i.hash, i.standing, i.changed, i.retained_from, i.removals,
    e.sequence, e.hash, e.bytes FROM hutch_instances i LEFT JOIN LATERAL (
        SELECT sequence, hash, bytes FROM hutch_entries WHERE instance = i.id AND sequence >= i.sequence
        ORDER BY sequence LIMIT 2) e ON true
    WHERE i.tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user) AND i.package = $1 AND i.name = $2";

/// Locks the row until the transaction ends. A statement of its own, so that what follows sees what was waited for.
pub(crate) const LOCK: &str = "SELECT id FROM hutch_instances
    WHERE tenant = coalesce(nullif(current_setting('hutch.tenant', true), '')::name, current_user) AND package = $1 AND name = $2 FOR UPDATE";

/// An instance's row.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) id: i64,
    pub(crate) head: Head,
    /// How often objects were taken away.
    pub(crate) removals: u64,
}

/// Reads what [`HEAD`] gives, and holds it against the last entry; none if there is no such instance.
pub(crate) fn place(at: &str, rows: &[Row]) -> Result<Option<Place>, StoreError> {
    let Some(row) = rows.first() else { return Ok(None) };
    let failed = |error| crate::failure::failed(at, WireError::Unexpected(error));
    let damaged = |reason: String| StoreError::Damaged { at: at.to_owned(), what: "the head".to_owned(), reason };
    let mut head = Head {
        last: Pin { sequence: row.number(1).map_err(failed)?, hash: row.digest(2).map_err(failed)? },
        changed: row.number(4).map_err(failed)?,
        retained_from: row.number(5).map_err(failed)?,
        ..Head::default()
    };
    let standing: Json =
        serde_json::from_str(row.text(3).map_err(failed)?).map_err(|error| damaged(error.to_string()))?;
    let known = ["volumes", "owners", "open", "admitted"];
    if let Some(other) =
        standing.as_object().into_iter().flat_map(|parts| parts.keys()).find(|name| !known.contains(&&***name))
    {
        return Err(damaged(format!("holds {other:?}, which this version does not know")));
    }
    let part = |name: &str| standing.get(name).cloned().unwrap_or_default();
    let volumes: BTreeMap<String, Digest> =
        serde_json::from_value(part("volumes")).map_err(|error| damaged(error.to_string()))?;
    for (name, tree) in volumes {
        let volume = name.parse().map_err(|error: hutch_store::StoreNameError| damaged(error.to_string()))?;
        head.state.insert(volume, tree);
    }
    let owners: BTreeMap<Origin, Digest> =
        serde_json::from_value(part("owners")).map_err(|error| damaged(error.to_string()))?;
    let open: BTreeSet<u64> = serde_json::from_value(part("open")).map_err(|error| damaged(error.to_string()))?;
    let admitted = standing.get("admitted").cloned().map(keeping::admitted).transpose().map_err(damaged)?;
    (head.owners, head.admitted, head.open) = (owners, admitted, open);
    let stored: Result<Vec<Sealed>, _> =
        rows.iter().filter(|row| row.blob(7).is_some()).map(|row| sealed(row, 7)).collect();
    head.check_last(at, &stored.map_err(failed)?)?;
    let id = signed(row.number(0).map_err(failed)?);
    Ok(Some(Place { id, head, removals: row.number(6).map_err(failed)? }))
}

/// What the entries have led to, as the row holds it.
pub(crate) fn standing_text(head: &Head) -> String {
    let standing = head.standing();
    let mut text = json!({ "volumes": standing.volumes, "owners": standing.owners, "open": standing.open });
    if let Some(admitted) = &head.admitted {
        text["admitted"] = keeping::admitted_text(admitted);
    }
    text.to_string()
}

fn sealed(row: &Row, first: usize) -> Result<Sealed, crate::row::Unexpected> {
    let bytes = row.bytes(first + 2)?[..].into();
    Ok(Sealed { sequence: row.number(first)?, hash: row.digest(first + 1)?, bytes })
}

pub(crate) fn sealed_rows(rows: &[Row]) -> Result<Vec<Sealed>, WireError> {
    Ok(rows.iter().map(|row| sealed(row, 0)).collect::<Result<_, _>>()?)
}

/// The statement that appends an entry with what it leads to. It never overwrites one.
pub(crate) struct Append {
    standing: String,
    volumes: Vec<String>,
    trees: Vec<Digest>,
    numbers: [i64; 6],
    hash: Digest,
    bytes: std::sync::Arc<[u8]>,
}

const APPEND: &str = "WITH entry AS (
        INSERT INTO hutch_entries (instance, sequence, hash, at_ns, bytes) VALUES ($1, $2, $3, $4, $5)),
    moved AS (
        INSERT INTO hutch_moves (instance, volume, sequence, tree)
        SELECT $1, volume, $2, tree FROM unnest($6, $7) AS moved (volume, tree))
    UPDATE hutch_instances SET sequence = $2, hash = $3, standing = $8, changed = $9, retained_from = $10,
        removals = $11 WHERE id = $1";

impl Append {
    /// Behind what is in this place.
    pub(crate) fn of(place: &Place, record: &Record, advance: &Advance) -> Append {
        let Advance { sealed, head, changed } = advance;
        Append {
            standing: standing_text(head),
            volumes: changed.iter().map(|change| change.volume.to_string()).collect(),
            trees: changed.iter().map(|change| change.after).collect(),
            numbers: [
                place.id,
                signed(sealed.sequence),
                signed(record.at.unix_ns()),
                signed(head.changed),
                signed(head.retained_from),
                signed(place.removals),
            ],
            hash: sealed.hash,
            bytes: sealed.bytes.clone(),
        }
    }

    /// Carries it out, with `also` behind it in the same journey.
    pub(crate) fn run(&self, connection: &mut Connection, also: &[Statement<'_>]) -> Result<(), WireError> {
        let volumes: Vec<&str> = self.volumes.iter().map(String::as_str).collect();
        let trees: Vec<&[u8]> = self.trees.iter().map(|tree| &tree.as_bytes()[..]).collect();
        let [id, sequence, at_ns, changed, retained_from, removals] = self.numbers.map(Value::Number);
        let hash = Value::Blob(self.hash.as_bytes());
        let values = [
            id,
            sequence,
            hash,
            at_ns,
            Value::Blob(&self.bytes),
            Value::Texts(&volumes),
            Value::Blobs(&trees),
            Value::Text(&self.standing),
            changed,
            retained_from,
            removals,
        ];
        let all: Vec<Statement<'_>> = [(APPEND, &values[..])].into_iter().chain(also.iter().copied()).collect();
        connection.run(&all).map(drop)
    }
}

const COLUMNS: &str = "SELECT sequence, hash, bytes FROM hutch_entries WHERE instance = $1";

pub(crate) fn find(connection: &mut Connection, id: i64, key: &EntryKey) -> Result<Vec<Sealed>, WireError> {
    let id = Value::Number(id);
    let rows = match key {
        EntryKey::Sequence(sequence) => match i64::try_from(*sequence) {
            Ok(sequence) => connection.rows(&format!("{COLUMNS} AND sequence = $2"), &[id, Value::Number(sequence)])?,
            Err(_) => Vec::new(),
        },
        EntryKey::Hash(hash) => {
            connection.rows(&format!("{COLUMNS} AND hash = $2 LIMIT 2"), &[id, Value::Blob(hash.as_bytes())])?
        }
        EntryKey::Prefix(prefix) => {
            // A prefix names all hashes between itself with zeros and itself with the highest digits behind it.
            let padded = |digit: &str| format!("{prefix}{}", digit.repeat(64_usize.saturating_sub(prefix.len())));
            let ends: (Result<Digest, _>, Result<Digest, _>) = (padded("0").parse(), padded("f").parse());
            let (Ok(first), Ok(last)) = ends else { return Ok(Vec::new()) };
            let between = format!("{COLUMNS} AND hash BETWEEN $2 AND $3 LIMIT 2");
            connection.rows(&between, &[id, Value::Blob(first.as_bytes()), Value::Blob(last.as_bytes())])?
        }
    };
    sealed_rows(&rows)
}

pub(crate) fn entries(
    connection: &mut Connection,
    id: i64,
    sequence: u64,
    count: u64,
) -> Result<Vec<Sealed>, WireError> {
    // No entry has a place beyond the largest number of the database: behind that one the pages end.
    let Ok(sequence) = i64::try_from(sequence) else { return Ok(Vec::new()) };
    let page = format!("{COLUMNS} AND sequence >= $2 ORDER BY sequence LIMIT $3");
    let rows = connection.rows(&page, &[Value::Number(id), Value::Number(sequence), Value::Number(signed(count))])?;
    sealed_rows(&rows)
}
