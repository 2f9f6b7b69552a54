//! Looking at everything: how much there is, and whether all of it is what was written.

use crate::collect::{Roots, roots};
use crate::failure::failed;
use crate::instance::Instance;
use crate::ledger::{self, HEAD, place};
use crate::objects::{self, At, is_sound};
use crate::row::Value;
use crate::wire::{Connection, WireError};
use hutch_store::keeping::{Audit, Findings, Moves, reach};
use hutch_store::{Damage, Head, Stats, StoreError};
use std::collections::HashSet;

/// As of one moment, and changing nothing.
pub(crate) const MOMENT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Entries that are read at once.
pub(crate) const PAGE: u64 = 256;

/// Counts.
pub(crate) fn stats(connection: &mut Connection, id: i64) -> Result<Stats, WireError> {
    const OBJECTS: &str = "SELECT coalesce(sum((kind < 4)::int), 0)::bigint,
        coalesce(sum(bytes) FILTER (WHERE kind < 4), 0)::bigint, coalesce(sum((kind = 4)::int), 0)::bigint,
        coalesce(sum(bytes) FILTER (WHERE kind = 4), 0)::bigint FROM (
            SELECT min(kind) AS kind, sum(length(bytes)) AS bytes FROM hutch_objects WHERE instance = $1
            GROUP BY digest) object";
    const ENTRIES: &str = "SELECT count(*), coalesce(sum(length(bytes)), 0)::bigint FROM hutch_entries
        WHERE instance = $1";
    let id = [Value::Number(id)];
    let answers = connection.run(&[(OBJECTS, &id), (ENTRIES, &id)])?;
    let number = |statement: usize, column| {
        answers.get(statement).and_then(|rows| rows.first()).map_or(Ok(0), |row| row.number(column))
    };
    let (object_bytes, stream_bytes) = (number(0, 1)?, number(0, 3)?);
    Ok(Stats {
        entries: number(1, 0)?,
        objects: number(0, 0)?,
        object_bytes,
        streams: number(0, 2)?,
        stream_bytes,
        disk_bytes: number(1, 1)? + object_bytes + stream_bytes,
    })
}

/// Checks all. The transaction that it begins is the caller's to end.
pub(crate) fn check(instance: &Instance, connection: &mut Connection, id: i64) -> Result<Vec<Damage>, StoreError> {
    let wire = |error| failed(&instance.at, error);
    let rows = connection.run(&[(MOMENT, &[]), (HEAD, &instance.key())]).map_err(wire)?;
    let mut findings = Findings::default();
    let listed = objects::list(connection, id).map_err(wire)?;
    for object in &listed {
        if !is_sound(connection, id, object).map_err(wire)? {
            findings.add(format!("object {}", object.digest), "does not match its digest");
        }
    }
    match place(&instance.at, rows.last().map(Vec::as_slice).unwrap_or_default()) {
        Ok(found) => {
            let head = found.map(|place| place.head).unwrap_or_default();
            check_entries(connection, id, &head, &mut findings).map_err(wire)?;
            let all: HashSet<_> = listed.iter().map(|object| object.digest).collect();
            // Entries that can't be read were found above.
            let Roots { states, .. } = roots(instance, connection, (id, &head, head.retained_from), &all, |_| Ok(()))?;
            let mut live = HashSet::new();
            for state in states {
                if let Err(error) = reach(&At::new(connection, id, &all), state, &mut live) {
                    findings.add(format!("state {state}"), error);
                }
            }
        }
        Err(error) => findings.add("the head", error),
    }
    Ok(findings.into_damages())
}

/// The chain is whole, ends at the head, and leads to the state.
fn check_entries(connection: &mut Connection, id: i64, head: &Head, findings: &mut Findings) -> Result<(), WireError> {
    let mut audit = Audit::default();
    let mut next = 0;
    loop {
        let page = ledger::entries(connection, id, next, PAGE)?;
        let Some(last) = page.last() else { break };
        next = last.sequence + 1;
        page.iter().for_each(|sealed| audit.take(sealed, findings));
    }
    const MOVES: &str = "SELECT volume, sequence, tree FROM hutch_moves WHERE instance = $1 ORDER BY volume, sequence";
    let mut index = Moves::new();
    for row in connection.rows(MOVES, &[Value::Number(id)])? {
        index.entry(row.text(0)?.to_owned()).or_default().push((row.number(1)?, row.digest(2)?));
    }
    audit.end(head, &index, findings);
    Ok(())
}
