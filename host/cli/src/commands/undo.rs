//! `hutch undo`: back to an earlier state, as a new entry.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::output::Output;
use crate::told::one_line;
use clap::Args;
use hutch::{EntryName, Moved, Session};
use hutch_model::ledger::Sealed;
use hutch_model::snapshot::{Changes, PathChange};
use hutch_store::Skipped;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// How many changes to take back, or the entry to go back before: the beginning of its hash, or @ and its number
    #[arg(value_name = "N|ENTRY", default_value = "1")]
    what: What,
}

/// A number of changes, or an entry.
#[derive(Debug, Clone)]
enum What {
    Count(u64),
    Entry(EntryName),
}

impl std::str::FromStr for What {
    type Err = String;

    fn from_str(text: &str) -> Result<What, String> {
        match text.parse() {
            Ok(count @ 1..=9999) => Ok(What::Count(count)),
            _ => text
                .parse()
                .map(What::Entry)
                .map_err(|error| format!("expected a number from 1 to 9999, or an entry: {error}")),
        }
    }
}

pub(super) fn undo(global: &Global, own: &UndoArguments, output: &Output) -> Result<ExitCode, Fault> {
    let session = own.instance.open(global)?;
    let moved = match &own.what {
        What::Count(count) => session.undo_last(*count)?,
        What::Entry(name) => session.undo(name)?,
    };
    output.done(Done::entry(moved.entry.pin(), own.instance.show(global, &moved.entry.pin())));
    say_moved("undo", &session, &moved, output)?;
    Ok(ExitCode::SUCCESS)
}

/// The name of an entry that was written; a preview writes none.
pub(super) fn entry_value(session: &Session, entry: &Sealed) -> Value {
    match session.keeps() {
        true => json!({ "sequence": entry.sequence, "hash": entry.hash }),
        false => Value::Null,
    }
}

/// A changed path, for people.
pub(super) fn changed(volume: &str, change: &PathChange) -> String {
    format!("{} {volume}/{}", format!("{:?}", change.change).to_lowercase(), one_line(&change.path))
}

/// The paths that are listed of each volume.
pub(super) fn changes_value(changes: &BTreeMap<String, Changes>) -> Value {
    changes.iter().map(|(volume, changes)| (volume.clone(), json!(changes.listed))).collect()
}

/// Adds to an answer how many more paths differ, if any do.
pub(crate) fn add_omitted(value: &mut Value, omitted: u64) {
    if omitted > 0 {
        value["changes_omitted"] = omitted.into();
    }
}

/// How many more paths differ than are listed.
pub(super) fn omitted(changes: &BTreeMap<String, Changes>) -> u64 {
    changes.values().map(|changes| changes.omitted).sum()
}

/// Adds to an answer what stands in plain directories and can be in no state, by volume, if anything does.
pub(crate) fn add_skipped(value: &mut Value, skipped: &BTreeMap<String, Skipped>) {
    let some = skipped.iter().filter(|(_, skipped)| **skipped != Skipped::default());
    let some: serde_json::Map<_, _> = some.map(|(volume, skipped)| (volume.clone(), one_skipped(skipped))).collect();
    if !some.is_empty() {
        value["skipped"] = some.into();
    }
}

/// The same, of one folder.
pub(super) fn one_skipped(skipped: &Skipped) -> Value {
    let listed = skipped.listed.iter().map(|(path, reason)| json!({ "path": path, "reason": reason }));
    json!({ "paths": listed.collect::<Vec<_>>(), "omitted": skipped.omitted })
}

/// The document about a move to another state.
pub(super) fn moved_value(session: &Session, moved: &Moved) -> Value {
    let mut value = json!({
        "entry": entry_value(session, &moved.entry),
        "follows": { "sequence": moved.follows.sequence, "hash": moved.follows.hash },
        "changes": changes_value(&moved.changes),
    });
    add_omitted(&mut value, omitted(&moved.changes));
    add_skipped(&mut value, &moved.skipped);
    value
}

/// Answers with a move to another state.
pub(super) fn say_moved(command: &str, session: &Session, moved: &Moved, output: &Output) -> Result<(), Fault> {
    output.behind(moved.behind.as_deref());
    let value = moved_value(session, moved);
    let place = if command == "undo" { "back before" } else { "to what was there after" };
    output.answer(command, value, |_| {
        let mut text = match session.keeps() {
            true => format!("{place} entry {}, written down as entry {}", moved.follows.sequence, moved.entry.sequence),
            false => format!("nothing is done yet; it would go {place} entry {}", moved.follows.sequence),
        };
        for (volume, changes) in &moved.changes {
            for change in &changes.listed {
                text.push_str(&format!("\n  {}", changed(volume, change)));
            }
        }
        text
    })
}
