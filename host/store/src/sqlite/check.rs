//! Looking at everything: how much there is, and whether all of it is what was written.

use super::collect::{Roots, roots};
use super::columns::{Named, kind_number, kind_of, unsigned};
use super::failure::database;
use super::ledger;
use super::objects::At;
use super::own::{Beside, beside, tables};
use super::schema::{Fact, MIGRATIONS};
use crate::audit::{Audit, Findings, Moves};
use crate::error::StoreError;
use crate::reach::reach;
use crate::store::{Damage, Stats};
use hutch_model::digest::{Digest, Kind};
use rusqlite::Connection;
use std::collections::HashSet;
use std::path::Path;

/// Counts.
pub(super) fn stats(connection: &Connection) -> rusqlite::Result<Stats> {
    let number = |sql: &str| connection.query_row(sql, (), |row| row.get(0)).map(unsigned);
    let (mut objects, mut streams) = ((0, 0), (0, 0));
    let mut kinds = connection.prepare("SELECT kind, count(*), sum(length(bytes)) FROM objects GROUP BY kind")?;
    let mut rows = kinds.query(())?;
    while let Some(row) = rows.next()? {
        let sum = if row.get::<_, Option<i64>>(0)? == kind_number(Kind::Stream) { &mut streams } else { &mut objects };
        sum.0 += unsigned(row.get(1)?);
        sum.1 += unsigned(row.get(2)?);
    }
    Ok(Stats {
        entries: number("SELECT count(*) FROM entries")?,
        objects: objects.0,
        object_bytes: objects.1,
        streams: streams.0,
        stream_bytes: streams.1,
        disk_bytes: number("PRAGMA page_count")? * number("PRAGMA page_size")?,
    })
}

/// Checks all, as of one moment.
pub(super) fn check(connection: &mut Connection, path: &Path) -> Result<Vec<Damage>, StoreError> {
    let database = |error| database(path, error);
    let transaction = connection.transaction().map_err(database)?;
    let mut findings = Findings::default();
    check_pages(&transaction, &mut findings).map_err(database)?;
    check_names(&transaction, &mut findings).map_err(database)?;
    check_objects(&transaction, &mut findings).map_err(database)?;
    match ledger::head(&transaction, path) {
        Ok(head) => {
            check_entries(&transaction, &head, &mut findings).map_err(database)?;
            // Entries that can't be read were found above.
            let Roots { states, .. } = roots(&transaction, path, head.retained_from, |_| Ok(()))?;
            let mut live = HashSet::new();
            for state in states {
                if let Err(error) = reach(&At(&transaction), state, &mut live) {
                    findings.add(format!("state {state}"), error);
                }
            }
        }
        Err(error) => findings.add("the head", error),
    }
    Ok(findings.into_damages())
}

/// Looks at all pages; where there are tables of others only at those of its own: the rules of the others are theirs, and may take any time.
fn check_pages(connection: &Connection, findings: &mut Findings) -> rusqlite::Result<()> {
    let looks = match beside(connection, MIGRATIONS)? {
        Beside::Nothing => vec!["PRAGMA integrity_check(100)".to_owned()],
        _ => tables(MIGRATIONS).map(|table| format!("PRAGMA integrity_check({table})")).collect(),
    };
    for look in looks {
        let mut query = connection.prepare(&look)?;
        for line in query.query_map((), |row| row.get::<_, String>(0))? {
            let line = line?;
            if line != "ok" {
                findings.add("the database", line);
            }
        }
    }
    Ok(())
}

/// What has another name than any would be looked for and not found: as if nobody had said who is admitted.
fn check_names(connection: &Connection, findings: &mut Findings) -> rusqlite::Result<()> {
    let mut query = connection.prepare("SELECT CAST(name AS TEXT) FROM meta")?;
    for name in query.query_map((), |row| row.get::<_, String>(0))? {
        let name = name?;
        if !Fact::ALL.iter().any(|fact| fact.name() == name) {
            findings.add(format!("the row {name:?} of meta"), "has a name that none has");
        }
    }
    Ok(())
}

fn check_objects(connection: &Connection, findings: &mut Findings) -> rusqlite::Result<()> {
    let mut query = connection.prepare("SELECT digest, kind, bytes FROM objects")?;
    let mut rows = query.query(())?;
    while let Some(row) = rows.next()? {
        let Ok(Named(digest)) = row.get(0) else {
            findings.add("an object", "has a name that is no digest");
            continue;
        };
        let bytes = row.get_ref(2)?.as_blob()?;
        let kind = kind_of(row.get(1)?);
        if kind.is_none_or(|kind| Digest::of(kind, bytes) != digest) {
            findings.add(format!("object {digest}"), "does not match its digest");
        }
    }
    Ok(())
}

/// The chain is whole, ends at the head, and leads to the state.
fn check_entries(connection: &Connection, head: &crate::Head, findings: &mut Findings) -> rusqlite::Result<()> {
    let mut audit = Audit::default();
    let mut next = 0;
    loop {
        let page = ledger::entries(connection, next, 256)?;
        let Some(last) = page.last() else { break };
        next = last.sequence + 1;
        page.iter().for_each(|sealed| audit.take(sealed, findings));
    }
    let mut index = Moves::new();
    let mut rows = connection.prepare("SELECT volume, sequence, tree FROM moves ORDER BY volume, sequence")?;
    let mut rows = rows.query(())?;
    while let Some(row) = rows.next()? {
        index.entry(row.get(0)?).or_default().push((unsigned(row.get(1)?), row.get::<_, Named>(2)?.0));
    }
    audit.end(head, &index, findings);
    Ok(())
}
