//! `hutch state`: looking inside volumes.

use super::instance::InstanceArguments;
use super::undo::changed;
use crate::answer::output::Output;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::machine::progress;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::{EntryName, Session, StatePath};
use hutch_documents::moved::Changed;
use hutch_documents::state::{outside_value, path_value};
use hutch_model::digest::Digest;
use hutch_model::snapshot::Changes;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct StateArguments {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    /// Show a volume's folder or file
    Cat(CatArguments),
    /// Compare states
    ///
    /// Those that two entries left. Without them: what was changed outside since the last entry, and what is not settled.
    Diff(DiffArguments),
}

#[derive(Debug, Args)]
struct CatArguments {
    /// Write a file's bytes to standard output, unchanged, and nothing around them
    #[arg(long, requires = "path", conflicts_with = "ndjson")]
    raw: bool,
    #[command(flatten)]
    page: Page,
    /// In the state that this entry left; the current state if absent
    #[arg(long, value_name = "ENTRY")]
    at: Option<EntryName>,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The path, the volume first; all volumes if absent
    #[arg(value_name = "PATH")]
    path: Option<String>,
}

#[derive(Debug, Args)]
struct DiffArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry whose state is the older
    #[arg(value_name = "A", requires = "after")]
    before: Option<EntryName>,
    /// The entry whose state is the newer
    #[arg(value_name = "B")]
    after: Option<EntryName>,
}

pub(crate) fn state(global: &Global, own: &StateArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        StateCommand::Cat(own) => cat(global, own, output)?,
        StateCommand::Diff(own) => {
            let session = own.instance.open(global)?;
            let (Some(before), Some(after)) = (&own.before, &own.after) else {
                output.answer_value(true, "state diff", outside_value(&session)?, human::fields)?;
                return Ok(ExitCode::SUCCESS);
            };
            let (before, after) = (session.state_at(Some(before))?, session.state_at(Some(after))?);
            say_changes(&session.changes(&before, &after)?, output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn cat(global: &Global, own: &CatArguments, output: &Output) -> Result<(), Fault> {
    let (session, at) = (own.instance.open(global)?, own.at.as_ref());
    let path = own.path.as_deref().map(|path| with_volume(&session, at, path)).transpose()?;
    let path = path.as_deref();
    if let Some(path) = path.filter(|_| own.raw) {
        if output.shaping.selects() || !output.shaping.cleaning.is_none() {
            return Err(Fault::usage("--raw writes the bytes as they are: nothing is selected from them or taken out"));
        }
        let state = session.state_at(at)?;
        return raw(&session, &state, &session.state_path(&state, path)?, output);
    }
    let found = path_value(&session, at, path, &own.page.meant())?.map_err(|report| {
        let report = *report;
        Fault::from(report.suggest("write it out unchanged with --raw"))
    })?;
    let file = path.filter(|_| found.get("content").is_some());
    let columns = [("type", "TYPE"), ("size", "BYTES"), ("modified", "MODIFIED"), ("path", "PATH")];
    output.list("state cat", found, &own.page, |items| match (file, items) {
        (Some(path), [file]) => {
            let (size, encoding) = (&file["size"], file["encoding"].as_str().unwrap_or_default());
            format!("{path}, {size} bytes, {encoding}:\n{}", file["content"].as_str().unwrap_or_default()).into()
        }
        _ => human::table(items, &columns),
    })
}

/// A path, in front of which the only volume may be left out.
fn with_volume(session: &Session, at: Option<&EntryName>, path: &str) -> Result<String, Fault> {
    let state = session.state_at(at)?;
    let within = state.keys().next().filter(|_| state.len() == 1 && session.state_path(&state, path).is_err());
    let within = within.map(|volume| format!("{volume}/{}", path.trim_start_matches('/')));
    let is_there =
        |path: &String| session.state_path(&state, path).is_ok_and(|path| session.list(&state, &path).is_ok());
    Ok(within.filter(is_there).unwrap_or_else(|| path.to_owned()))
}

/// A file's bytes and nothing else.
fn raw(session: &Session, state: &BTreeMap<String, Digest>, path: &StatePath, output: &Output) -> Result<(), Fault> {
    progress::finish();
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        return Err(Fault::usage("--raw writes any bytes, and standard output is a terminal")
            .suggest("write it to a file or a pipe, or leave --raw out"));
    }
    let mut lost = None;
    let read = session.read(state, path, &mut |bytes| {
        output.write(&mut stdout, &[bytes]).map_err(|fault| {
            lost = Some(fault);
            std::io::ErrorKind::WriteZero.into()
        })
    });
    match lost {
        Some(fault) => Err(fault),
        None => Ok(read?),
    }
}

fn say_changes(changes: &BTreeMap<String, Changes>, output: &Output) -> Result<ExitCode, Fault> {
    output.answer("state diff", Changed::from(changes), |_| {
        let lines = changes
            .iter()
            .flat_map(|(volume, changes)| changes.listed.iter().map(move |change| changed(volume, change)));
        match lines.collect::<Vec<_>>() {
            lines if lines.is_empty() => "nothing".to_owned(),
            lines => lines.join("\n"),
        }
    })
}
