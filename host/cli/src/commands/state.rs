//! `hutch state`: looking inside volumes, and carrying them in and out.

use super::instance::InstanceArguments;
use super::soundness;
use super::undo::{add_omitted, add_skipped, changed, changes_value, entry_value, omitted, one_skipped, say_moved};
use crate::arguments::Global;
use crate::bounds::FILE_BYTES;
use crate::done::Done;
use crate::fault::Fault;
use crate::human;
use crate::output::Output;
use crate::progress;
use crate::selection::Page;
use clap::{Args, Subcommand};
use hutch::package::open_folder;
use hutch::{EntryName, Failure, Item, Session, StatePath};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Record;
use hutch_model::snapshot::{Changes, Node};
use hutch_store::Skipped;
use hutch_store::VolumeName;
use serde_json::{Value, json};
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
    /// List entries that changed state
    Log(LogArguments),
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
    /// Go back to an entry's state
    Restore(RestoreArguments),
    /// Show outside changes
    Status(InstanceArguments),
    /// Check all of an instance
    Check(InstanceArguments),
    /// Record outside changes
    Absorb(InstanceArguments),
}

#[derive(Debug, Args)]
struct LogArguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    instance: InstanceArguments,
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

#[derive(Debug, Args)]
struct RestoreArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry
    #[arg(value_name = "ENTRY")]
    entry: EntryName,
}

/// What the state is, and what was changed outside of any run.
pub(super) fn status_value(session: &Session) -> Result<Value, Failure> {
    let (edits, withheld) = (session.edits()?, session.withheld()?);
    let volume = |(name, digest): (String, Digest)| {
        let (changes, skipped) = edits.get(&name).cloned().unwrap_or_default();
        let mut value = json!({ "digest": digest, "edited_outside": changes.listed });
        add_omitted(&mut value, changes.omitted);
        if skipped != Skipped::default() {
            value["skipped"] = one_skipped(&skipped);
        }
        if let Some(withheld) = withheld.get(&name) {
            value["withheld"] = json!(withheld.listed);
            value["withheld_omitted"] = withheld.omitted.into();
        }
        (name, value)
    };
    let volumes: BTreeMap<String, Value> = session.state_at(None)?.into_iter().map(volume).collect();
    let mut value = json!({ "volumes": volumes });
    let unsettled = session.unsettled()?;
    if !unsettled.is_empty() {
        value["unsettled"] = json!(unsettled);
    }
    Ok(value)
}

pub(super) fn state(global: &Global, own: &StateArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        StateCommand::Log(own) => log(global, own, output)?,
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
            let mut value = json!({
                "volume": volume.as_str(), "folder": own.folder, "files": totals.files, "bytes": totals.bytes,
            });
            add_skipped(&mut value, &BTreeMap::from([(volume.to_string(), exported.skipped)]));
            output.answer("state export", value, human::fields)?;
        }
        StateCommand::Import(own) => {
            let session = own.instance.open_or_make(global)?;
            let volume = own.volume(&session.state_at(None)?)?;
            let taken = session.import(&volume, (&folder(&own.folder)?, &own.folder))?;
            output.done(Done::entry(taken.entry.pin(), own.instance.show(global, &taken.entry.pin())));
            output.behind(taken.behind.as_deref());
            let mut value = json!({
                "volume": volume.as_str(),
                "changes": taken.changes.listed,
                "entry": entry_value(&session, &taken.entry),
            });
            add_omitted(&mut value, taken.changes.omitted);
            add_skipped(&mut value, &BTreeMap::from([(volume.to_string(), taken.skipped)]));
            output.answer("state import", value, human::fields)?;
        }
        StateCommand::Restore(own) => {
            let session = own.instance.open(global)?;
            let moved = session.restore(&own.entry)?;
            output.done(Done::entry(moved.entry.pin(), own.instance.show(global, &moved.entry.pin())));
            say_moved("state restore", &session, &moved, output)?;
        }
        StateCommand::Status(own) => {
            output.answer("state status", status_value(&own.open(global)?)?, human::fields)?;
        }
        StateCommand::Check(own) => soundness::check(global, own, output)?,
        StateCommand::Absorb(own) => {
            let session = own.open(global)?;
            let edits = session.edits()?;
            let changes: BTreeMap<String, Changes> =
                edits.iter().map(|(volume, (changes, _))| (volume.clone(), changes.clone())).collect();
            let absorbed = session.absorb_edits()?;
            if let Some(entry) = absorbed.entries.last() {
                output.done(Done::entry(entry.pin(), own.show(global, &entry.pin())));
            }
            let mut value = json!({
                "entry": absorbed.entries.last().map(|entry| entry_value(&session, entry)),
                "changes": changes_value(&changes),
            });
            add_omitted(&mut value, omitted(&changes));
            add_skipped(&mut value, &absorbed.skipped);
            output.answer("state absorb", value, human::fields)?;
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

fn log(global: &Global, own: &LogArguments, output: &Output) -> Result<(), Fault> {
    let session = own.instance.open(global)?;
    let mut changes = Vec::new();
    for sealed in session.entries(1) {
        let sealed = sealed.map_err(Failure::from)?;
        let record = sealed.open().map_err(Failure::Entry)?.record;
        if record.changes_state() {
            changes.push((sealed.sequence, sealed.hash, record));
        }
    }
    let item = |(sequence, hash, record): (u64, Digest, Record)| {
        json!({
            "sequence": sequence, "hash": hash, "at": record.at, "kind": record.kind,
            "follows": record.follows, "volumes": record.volumes,
        })
    };
    let items = changes.into_iter().rev().map(item).collect();
    let columns = [("sequence", "N"), ("at", "AT"), ("kind", "KIND"), ("hash", "HASH")];
    output.list("state log", own.page.of(items), &own.page, |items| human::table(items, &columns))
}

/// What a folder held when an entry had left it, or holds now; all volumes if no path is named.
pub(super) fn files_value(
    session: &Session,
    at: Option<&EntryName>,
    path: Option<&str>,
    page: &Page,
) -> Result<Value, Failure> {
    let state = session.state_at(at)?;
    let items = match path {
        Some(path) => session.list(&state, &session.state_path(&state, path)?)?,
        None => state.keys().map(|name| Item { path: name.clone(), entry: None }).collect(),
    };
    Ok(page.of(items.iter().map(item_value).collect()))
}

fn ls(global: &Global, own: &LsArguments, output: &Output) -> Result<(), Fault> {
    let session = own.path.instance.open(global)?;
    let listed = files_value(&session, own.path.at.as_ref(), own.path.path.as_deref(), &own.page)?;
    let columns = [("type", "TYPE"), ("size", "BYTES"), ("modified", "MODIFIED"), ("path", "PATH")];
    output.list("state ls", listed, &own.page, |items| human::table(items, &columns))
}

fn item_value(item: &Item) -> Value {
    let Some(entry) = &item.entry else { return json!({ "path": item.path, "type": "volume" }) };
    let modified = hutch_model::instant::Instant::from_unix_ns(entry.modified_ns);
    match &entry.node {
        Node::File { size, content } => {
            json!({ "path": item.path, "type": "file", "size": size, "modified": modified, "digest": content })
        }
        Node::Folder { tree, totals } => json!({
            "path": item.path, "type": "folder", "modified": modified, "digest": tree,
            "bytes": totals.bytes, "files": totals.files,
        }),
        Node::Link { target } => json!({ "path": item.path, "type": "link", "target": target, "modified": modified }),
    }
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
    output.answer("state cat", value, |value| {
        let (size, encoding) = (&value["size"], value["encoding"].as_str().unwrap_or_default());
        format!("{text}, {size} bytes, {encoding}:\n{}", value["content"].as_str().unwrap_or_default())
    })
}

/// A file as an entry had left it, or as it is now; a report where it is longer than an answer may be.
pub(super) fn file_value(
    session: &Session,
    at: Option<&EntryName>,
    text: &str,
) -> Result<Result<Value, Box<ErrorReport>>, Failure> {
    let state = session.state_at(at)?;
    let path = session.state_path(&state, text)?;
    let (mut content, mut too_long) = (Vec::new(), false);
    let read = session.read(&state, &path, &mut |bytes| {
        too_long = FILE_BYTES.is_below((content.len() + bytes.len()) as u64);
        if too_long {
            return Err(std::io::ErrorKind::FileTooLarge.into());
        }
        content.extend_from_slice(bytes);
        Ok(())
    });
    if too_long {
        let message = format!("{text} is longer than the {} bytes that an answer holds", FILE_BYTES.max);
        return Ok(Err(Box::new(ErrorReport::new(ErrorCode::Usage, message))));
    }
    read?;
    let size = content.len();
    let (encoding, content) = match String::from_utf8(content) {
        Ok(text) => ("utf-8", text),
        Err(error) => ("base64", data_encoding::BASE64.encode(error.as_bytes())),
    };
    Ok(Ok(json!({ "path": text, "size": size, "encoding": encoding, "content": content })))
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
    let mut value = json!({ "changes": changes_value(changes) });
    add_omitted(&mut value, omitted(changes));
    output.answer(command, value, |_| {
        let lines = changes
            .iter()
            .flat_map(|(volume, changes)| changes.listed.iter().map(move |change| changed(volume, change)));
        match lines.collect::<Vec<_>>() {
            lines if lines.is_empty() => "nothing".to_owned(),
            lines => lines.join("\n"),
        }
    })
}
