//! Reclaiming what no retained entry needs. What goes is decided beside the writers, who may go on meanwhile; then, under the instance's
//! lock, what they appended is looked at and the rest removed.

use crate::check::{MOMENT, PAGE};
use crate::failure::failed;
use crate::instance::Instance;
use crate::ledger::{self, Append, HEAD, Place, place};
use crate::objects::{self, At, Listed};
use crate::row::Value;
use crate::transaction::{became, give_up, lock};
use crate::wire::{Connection, WireError};
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Record, Sealed};
use hutch_store::keeping::{reach, retained_from, states};
use hutch_store::{Collected, Head, Retention, StoreError};
use std::collections::HashSet;

/// What a store must keep.
pub(crate) struct Roots {
    /// States that must be complete.
    pub(crate) states: Vec<Digest>,
    /// Streams that are kept if they are there.
    streams: HashSet<Digest>,
}

/// The roots if entries from `from` on are retained; `all` are the objects that there are. `unreadable` says what becomes of an entry that
/// can't be read.
pub(crate) fn roots(
    instance: &Instance,
    connection: &mut Connection,
    (id, head, from): (i64, &Head, u64),
    all: &HashSet<Digest>,
    unreadable: impl Fn(StoreError) -> Result<(), StoreError>,
) -> Result<Roots, StoreError> {
    let mut roots = Roots { states: head.state.values().copied().collect(), streams: HashSet::new() };
    let mut next = from;
    loop {
        let page = ledger::entries(connection, id, next, PAGE).map_err(|error| failed(&instance.at, error))?;
        let Some(last) = page.last() else { return Ok(roots) };
        next = last.sequence + 1;
        for sealed in &page {
            let record = match sealed.open() {
                Ok(entry) => entry.record,
                Err(error) => {
                    unreadable(StoreError::entry(&instance.at, &error))?;
                    continue;
                }
            };
            let kept = states(&record).filter(|(state, must)| *must || all.contains(state));
            roots.states.extend(kept.map(|(state, _)| state));
            roots.streams.extend(record.streams());
        }
    }
}

/// What stays and what goes, as of one moment.
struct Found {
    id: i64,
    /// The first entry that is retained.
    from: u64,
    /// The last entry at that moment.
    last: u64,
    live: HashSet<Digest>,
    dead: Vec<Listed>,
}

impl Found {
    fn look(instance: &Instance, retention: &Retention) -> Result<Option<Found>, StoreError> {
        instance.database.with(|connection| {
            let found = Found::look_at(instance, connection, retention);
            // It changed nothing, so it does not matter how it ends.
            let _ = connection.rows("ROLLBACK", &[]);
            found
        })
    }

    fn look_at(
        instance: &Instance,
        connection: &mut Connection,
        retention: &Retention,
    ) -> Result<Option<Found>, StoreError> {
        let wire = |error| failed(&instance.at, error);
        let answers = connection.run(&[(MOMENT, &[]), (HEAD, &instance.key())]).map_err(wire)?;
        let Some(Place { id, head, .. }) = place(&instance.at, answers.last().map(Vec::as_slice).unwrap_or_default())?
        else {
            return Ok(None);
        };
        const TIMES: &str = "SELECT sequence, at_ns FROM hutch_entries WHERE instance = $1 ORDER BY sequence";
        let times = connection.rows(TIMES, &[Value::Number(id)]).map_err(wire)?;
        let times: Result<Vec<(u64, Instant)>, _> =
            times.iter().map(|row| Ok((row.number(0)?, Instant::from_unix_ns(row.number(1)?)))).collect();
        let times = times.map_err(|error| wire(WireError::Unexpected(error)))?;
        // What was dropped once stays dropped, whatever is asked for later.
        let from = retained_from(retention, times).max(head.retained_from);
        let mut found = Found { id, from, last: head.last.sequence, live: HashSet::new(), dead: Vec::new() };
        let listed = objects::list(connection, id).map_err(wire)?;
        let all: HashSet<Digest> = listed.iter().map(|object| object.digest).collect();
        found.mark(instance, connection, (&head, from), &all)?;
        found.dead = listed.into_iter().filter(|object| !found.live.contains(&object.digest)).collect();
        Ok(Some(found))
    }

    /// Adds what the state and the entries from `from` on need.
    fn mark(
        &mut self,
        instance: &Instance,
        connection: &mut Connection,
        (head, from): (&Head, u64),
        all: &HashSet<Digest>,
    ) -> Result<(), StoreError> {
        let Roots { states, streams } = roots(instance, connection, (self.id, head, from), all, Err)?;
        self.live.extend(streams);
        let source = At::new(connection, self.id, all);
        for state in states {
            reach(&source, state, &mut self.live).map_err(|error| StoreError::object(&*instance.at, &error))?;
        }
        Ok(())
    }
}

pub(crate) fn collectable(instance: &Instance, retention: &Retention) -> Result<Collected, StoreError> {
    let Some(found) = Found::look(instance, retention)? else {
        return Ok(Collected { retained_from: 1, ..Collected::default() });
    };
    let (objects, bytes) = (found.dead.len() as u64, found.dead.iter().map(|object| object.bytes).sum());
    Ok(Collected { retained_from: found.from, objects, bytes })
}

pub(crate) fn collect(
    instance: &Instance,
    retention: &Retention,
    record: &Record,
) -> Result<(Collected, Sealed), StoreError> {
    instance.made()?;
    let missing = || StoreError::Missing { at: instance.at.clone(), what: "store".to_owned() };
    let mut found = Found::look(instance, retention)?.ok_or_else(missing)?;
    let mut connection = instance.database.take()?;
    let written = remove(instance, &mut connection, &mut found, record);
    match written {
        Ok((done, None)) => {
            instance.database.give_back(connection);
            Ok(done)
        }
        Ok(((collected, sealed), Some(lost))) => {
            instance.database.give_back(connection);
            became(instance, &sealed, lost)?;
            Ok((collected, sealed))
        }
        Err(error) => {
            give_up(instance, connection);
            Err(error)
        }
    }
}

type Done = (Collected, Sealed);

/// Removes what was found to be of no use, as far as it still is; and what was said instead of an answer to the commit, if that is so.
fn remove(
    instance: &Instance,
    connection: &mut Connection,
    found: &mut Found,
    record: &Record,
) -> Result<(Done, Option<WireError>), StoreError> {
    let wire = |error| failed(&instance.at, error);
    let locked = lock(instance, connection, (instance.database.wait(), false))?;
    let missing = || StoreError::Missing { at: instance.at.clone(), what: "store".to_owned() };
    let mut locked = locked.ok_or_else(missing)?;
    let all: HashSet<Digest> =
        objects::list(connection, found.id).map_err(wire)?.iter().map(|object| object.digest).collect();
    found.mark(instance, connection, (&locked.head, found.last + 1), &all)?;
    // Another process may have dropped more meanwhile.
    let retained_from = found.from.max(locked.head.retained_from);
    // What was of no use may be of use again: an entry that came meanwhile can name it.
    let dead: Vec<Digest> =
        found.dead.iter().map(|object| object.digest).filter(|digest| !found.live.contains(digest)).collect();
    let (objects, bytes) = objects::remove(connection, found.id, &dead).map_err(wire)?;
    let collected = Collected { retained_from, objects, bytes };
    let record = Record { collected: Some(collected.record()), ..record.clone() };
    locked.head.retained_from = retained_from;
    locked.removals += 1;
    let advance = locked.head.advance(&record)?;
    let committed = Append::of(&locked, &record, &advance).run(connection, &[("COMMIT", &[])]);
    match committed {
        Ok(()) => Ok(((collected, advance.sealed), None)),
        Err(lost @ WireError::Io(_)) => Ok(((collected, advance.sealed), Some(lost))),
        Err(error) => Err(wire(error)),
    }
}
