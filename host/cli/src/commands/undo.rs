//! `hutch undo`: back to an earlier state, as a new entry.

use super::instance::InstanceArguments;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::call::invocation::{Asked, mounts, parse_mount};
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::{EntryName, Failure, Reach};
use hutch_documents::moved::moved_value;
use hutch_model::snapshot::PathChange;
use hutch_model::terminal::one_line;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// How many changes to take back, or the entry to go back before: the beginning of its hash, or @ and its number
    #[arg(value_name = "N|ENTRY", default_value = "1")]
    what: What,
    /// Go to the state that this entry left
    #[arg(long, value_name = "ENTRY", conflicts_with = "what")]
    to: Option<EntryName>,
    /// Make N changes again that were taken back
    #[arg(long, conflicts_with = "to")]
    redo: bool,
    /// Grant a real folder that the last change is taken back in too; may be repeated
    #[arg(long = "mount", value_name = "DIR:NAME:rw|rwx", value_parser = parse_mount, conflicts_with = "to")]
    mounts: Vec<Asked>,
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

pub(crate) fn undo(global: &Global, own: &UndoArguments, output: &Output) -> Result<ExitCode, Fault> {
    if !own.mounts.is_empty() && !matches!(own.what, What::Count(1)) {
        return Err(Fault::usage("real folders are put back with one change at a time, the last")
            .suggest("leave the number or the entry out"));
    }
    let mounts = mounts(own.mounts.clone(), &surroundings::host(global)?)?;
    let session = own.instance.open(global)?;
    let again = |failure: Failure| match &failure {
        Failure::FolderNotGranted { mounts, .. } if own.mounts.is_empty() => {
            let line = if let [mount] = &**mounts { global.line.with_option("--mount", mount) } else { None };
            Fault::from(repair::fixed(failure.report(), line, "puts the real folder back too", "high"))
        }
        _ => failure.into(),
    };
    let moved = match (&own.to, &own.what) {
        (Some(name), _) => session.restore(name)?,
        (None, What::Count(count)) if own.redo => session.redo_last(*count, &mounts).map_err(again)?,
        (None, What::Entry(_)) if own.redo => {
            return Err(Fault::usage("--redo goes forward by a number of changes, and not to an entry")
                .suggest("give a number, or --to ENTRY without --redo"));
        }
        (None, What::Count(count)) => session.undo_last(*count, &mounts).map_err(again)?,
        (None, What::Entry(name)) => session.undo(name)?,
    };
    output.done(Done::entry(moved.entry.pin(), own.instance.show(global, &moved.entry.pin())));
    output.behind(moved.behind.as_deref());
    let forward = own.to.is_some() || own.redo;
    let place = if forward { "to what was there after" } else { "back before" };
    output.answer_value(true, "undo", moved_value(&session, &moved), |_| {
        let mut text = match session.keeps() {
            true => format!("{place} entry {}, written down as entry {}", moved.follows.sequence, moved.entry.sequence),
            false => format!("nothing is done yet; it would go {place} entry {}", moved.follows.sequence),
        };
        for (volume, changes) in &moved.changes {
            for change in &changes.listed {
                text.push_str(&format!("\n  {}", changed(volume, change)));
            }
        }
        for folder in &moved.left {
            let path = one_line(&folder.path);
            text.push_str(&format!(
                "\nthe real folder {path}, which entry {} changed, stays as it is",
                folder.sequence
            ));
        }
        if let Some(Reach { back, forward }) = session.keeps().then(|| session.reach().ok()).flatten() {
            text.push_str(&format!("\n{back} more to undo, {forward} to redo"));
        }
        text
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A changed path, for people.
pub(super) fn changed(volume: &str, change: &PathChange) -> String {
    format!("{} {volume}/{}", format!("{:?}", change.change).to_lowercase(), one_line(&change.path))
}
