//! `hutch state`: looking inside volumes, and carrying them in and out.

use super::instance::InstanceArguments;
use super::undo::changed;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{StateExported, StateImported};
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::machine::progress;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::package::open_folder;
use hutch::{EntryName, Session, StatePath};
use hutch_documents::moved::{Changed, Pinned};
use hutch_documents::state::{file_value, files_value, status_value};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::snapshot::Changes;
use hutch_store::VolumeName;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
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
    /// Compare two entries' states
    Diff(DiffArguments),
    /// Export a volume
    Export(FolderArguments),
    /// Import a volume
    Import(FolderArguments),
    /// Show outside changes
    Status(InstanceArguments),
}

#[derive(Debug, Args)]
struct PathArguments {
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
struct LsArguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    path: PathArguments,
}

#[derive(Debug, Args)]
struct CatArguments {
    /// Write the file's bytes to standard output, unchanged, and nothing around them
    #[arg(long)]
    raw: bool,
    #[command(flatten)]
    path: PathArguments,
}

#[derive(Debug, Args)]
struct DiffArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry whose state is the older
    #[arg(value_name = "A")]
    before: EntryName,
    /// The entry whose state is the newer
    #[arg(value_name = "B")]
    after: EntryName,
}

#[derive(Debug, Args)]
struct FolderArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The volume; the only one if absent
    #[arg(long, value_name = "VOLUME")]
    volume: Option<VolumeName>,
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn state(global: &Global, own: &StateArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        StateCommand::Ls(own) => ls(global, own, output)?,
        StateCommand::Cat(own) => cat(global, own, output)?,
        StateCommand::Diff(own) => {
            let session = own.instance.open(global)?;
            let (before, after) = (session.state_at(Some(&own.before))?, session.state_at(Some(&own.after))?);
            say_changes("state diff", &session.changes(&before, &after)?, output)?;
        }
        StateCommand::Export(own) => {
            let session = own.instance.open(global)?;
            let state = session.state_at(None)?;
            let volume = own.volume(&state)?;
            let folder = target(&own.folder, global.dry_run)?;
            let exported = session.export(&state, &volume, (folder.as_ref(), &own.folder))?;
            output.done(Done::changed(None));
            let totals = exported.totals;
            let value = StateExported {
                volume: volume.to_string(),
                folder: own.folder.clone(),
                files: totals.files,
                bytes: totals.bytes,
                aside: [(&volume.to_string(), &exported.skipped)].into_iter().collect(),
            };
            output.answer("state export", value, human::fields)?;
        }
        StateCommand::Import(own) => {
            let session = own.instance.open_or_make(global)?;
            let volume = own.volume(&session.state_at(None)?)?;
            let taken = session.import(&volume, (&folder(&own.folder)?, &own.folder))?;
            output.done(Done::entry(taken.entry.pin(), own.instance.show(global, &taken.entry.pin())));
            output.behind(taken.behind.as_deref());
            let value = StateImported {
                volume: volume.to_string(),
                changes: taken.changes.listed,
                entry: Pinned::kept(&session, &taken.entry),
                changes_omitted: Some(taken.changes.omitted).filter(|omitted| *omitted > 0),
                aside: [(&volume.to_string(), &taken.skipped)].into_iter().collect(),
            };
            output.answer("state import", value, human::fields)?;
        }
        StateCommand::Status(own) => {
            output.answer_value(true, "state status", status_value(&own.open(global)?)?, human::fields)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl FolderArguments {
    fn volume<T>(&self, state: &BTreeMap<String, T>) -> Result<VolumeName, Fault> {
        if let Some(volume) = &self.volume {
            return Ok(volume.clone());
        }
        let mut names = state.keys();
        match (names.next().and_then(|name| name.parse().ok()), names.next()) {
            (Some(name), None) => Ok(name),
            (None, _) => Err(Fault::usage("the package has no volume")),
            (Some(_), Some(_)) => Err(Fault::usage("the package has several volumes; name one with --volume")),
        }
    }
}

fn folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| Fault::file(path, &error))
}

/// The folder to write into, made if it is missing; a preview makes none.
#[expect(clippy::disallowed_methods, reason = "the operator names it")]
fn target(path: &Path, preview: bool) -> Result<Option<cap_std::fs::Dir>, Fault> {
    match path.exists() {
        true => folder(path).map(Some),
        false if preview => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder(parent).map(|_| None)
        }
        false => {
            std::fs::create_dir(path).map_err(|error| Fault::file(path, &error))?;
            folder(path).map(Some)
        }
    }
}

fn ls(global: &Global, own: &LsArguments, output: &Output) -> Result<(), Fault> {
    let session = own.path.instance.open(global)?;
    let listed = files_value(&session, own.path.at.as_ref(), own.path.path.as_deref(), &own.page.meant())?;
    let columns = [("type", "TYPE"), ("size", "BYTES"), ("modified", "MODIFIED"), ("path", "PATH")];
    output.list("state ls", listed, &own.page, |items| human::table(items, &columns))
}

fn cat(global: &Global, own: &CatArguments, output: &Output) -> Result<(), Fault> {
    let own_path = &own.path;
    let session = own_path.instance.open(global)?;
    let text = own_path.path.as_deref().ok_or_else(|| Fault::usage("name a file, the volume first"))?;
    if own.raw && (output.shaping.selects() || !output.shaping.cleaning.is_none()) {
        return Err(Fault::usage("--raw writes the bytes as they are: nothing is selected from them or taken out"));
    }
    if own.raw {
        let state = session.state_at(own_path.at.as_ref())?;
        let path = session.state_path(&state, text)?;
        return raw(&session, &state, &path, output);
    }
    let value = file_value(&session, own_path.at.as_ref(), text)?.map_err(|report| {
        let report = *report;
        Fault::from(report.suggest("write it out unchanged with --raw"))
    })?;
    output.answer_value(true, "state cat", value, |value| {
        let (size, encoding) = (&value["size"], value["encoding"].as_str().unwrap_or_default());
        format!("{text}, {size} bytes, {encoding}:\n{}", value["content"].as_str().unwrap_or_default())
    })
}

/// A file's bytes and nothing else.
fn raw(session: &Session, state: &BTreeMap<String, Digest>, path: &StatePath, output: &Output) -> Result<(), Fault> {
    progress::finish();
    let mut stdout = std::io::stdout().lock();
    if stdout.is_terminal() {
        return Err(ErrorReport::new(ErrorCode::Usage, "--raw writes any bytes, and standard output is a terminal")
            .suggest("write it to a file or a pipe, or leave --raw out")
            .into());
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

fn say_changes(command: &str, changes: &BTreeMap<String, Changes>, output: &Output) -> Result<(), Fault> {
    output.answer(command, Changed::from(changes), |_| {
        let lines = changes
            .iter()
            .flat_map(|(volume, changes)| changes.listed.iter().map(move |change| changed(volume, change)));
        match lines.collect::<Vec<_>>() {
            lines if lines.is_empty() => "nothing".to_owned(),
            lines => lines.join("\n"),
        }
    })
}
