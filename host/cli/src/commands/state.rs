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
use hutch_documents::state::{file_value, files_value, outside_value};
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
    /// List a volume's folder
    Ls(LsArguments),
    /// Show a volume's file
    Cat(CatArguments),
    /// Compare states
    ///
    /// Those that two entries left. Without them: what was changed outside since the last entry, and what is not settled.
    Diff(DiffArguments),
}

#[derive(Debug, Args)]
struct StateOfArguments {
    /// In the state that this entry left; the current state if absent
    #[arg(long, value_name = "ENTRY")]
    at: Option<EntryName>,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
struct LsArguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    of: StateOfArguments,
    /// The path, the volume first; all volumes if absent
    #[arg(value_name = "PATH")]
    path: Option<String>,
}

#[derive(Debug, Args)]
struct CatArguments {
    /// Write the file's bytes to standard output, unchanged, and nothing around them
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    of: StateOfArguments,
    /// The path, the volume first
    #[arg(value_name = "PATH")]
    path: String,
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
        StateCommand::Ls(own) => ls(global, own, output)?,
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

fn ls(global: &Global, own: &LsArguments, output: &Output) -> Result<(), Fault> {
    let session = own.of.instance.open(global)?;
    let path = own.path.as_deref().map(|path| with_volume(&session, own.of.at.as_ref(), path)).transpose()?;
    let listed = files_value(&session, own.of.at.as_ref(), path.as_deref(), &own.page.meant())?;
    let columns = [("type", "TYPE"), ("size", "BYTES"), ("modified", "MODIFIED"), ("path", "PATH")];
    output.list("state ls", listed, &own.page, |items| human::table(items, &columns))
}

fn cat(global: &Global, own: &CatArguments, output: &Output) -> Result<(), Fault> {
    let session = own.of.instance.open(global)?;
    let text = &with_volume(&session, own.of.at.as_ref(), &own.path)?;
    if own.raw && (output.shaping.selects() || !output.shaping.cleaning.is_none()) {
        return Err(Fault::usage("--raw writes the bytes as they are: nothing is selected from them or taken out"));
    }
    if own.raw {
        let state = session.state_at(own.of.at.as_ref())?;
        let path = session.state_path(&state, text)?;
        return raw(&session, &state, &path, output);
    }
    let value = file_value(&session, own.of.at.as_ref(), text)?.map_err(|report| {
        let report = *report;
        Fault::from(report.suggest("write it out unchanged with --raw"))
    })?;
    output.answer_value(true, "state cat", value, |value| {
        let (size, encoding) = (&value["size"], value["encoding"].as_str().unwrap_or_default());
        format!("{text}, {size} bytes, {encoding}:\n{}", value["content"].as_str().unwrap_or_default())
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
