//! `hutch instance`: whole instances, listed, copied, renamed, taken away, and carried from one home to another, and volumes of them, to and from folders.

use super::instance::{InstanceArguments, slug};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{
    InstanceExported, InstanceExports, InstanceImported, InstanceImports, InstanceItem, InstanceMoved, InstancePurged,
    VolumeExported, VolumeImported,
};
use crate::call::invocation::{parse_limit, secret_values};
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::machine::input::{self, Source};
use crate::machine::needs::Needs;
use crate::machine::new_file::{self, NewFile};
use crate::machine::place::private_folders;
use crate::machine::{progress, stores, surroundings};
use crate::package::carried;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::package::open_folder;
use hutch::{EntryName, Failure, Verified};
use hutch_documents::moved::Pinned;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use hutch_model::limits::{Limit, Unit};
use hutch_store::bundle::{self, PartError, Parts};
use hutch_store::{InstanceDir, InstanceName, SqliteStore, VolumeName};
use std::io::{BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(crate) enum InstanceCommand {
    /// List instances
    List(InstanceListArguments),
    /// Copy or rename an instance
    Copy(InstanceCopyArguments),
    /// Delete an instance
    Purge(InstanceArguments),
    /// Write an instance into one file, to be taken elsewhere
    ///
    /// Its entries, states, inputs and outputs, and no key, as one file: for another home, a browser tab or a safe place. Of entries whose states gc
    /// has dropped it holds the records alone. Its bytes follow from the ledger. With --part-bytes as FILE.0001, FILE.0002 and so on, each for whoever took in the one before.
    /// With --volume the files of one volume, into a folder.
    Export(InstanceExportArguments),
    /// Take in an instance that was written into a file elsewhere
    ///
    /// Every entry is made again and every run is run again, and must come to the same, before anything of a file is taken: all of it or
    /// nothing. Of several files those before one that is refused are taken. Packages that the first one carries run in the sandbox for that alone;
    /// PACKAGE need not be here then. --dry-run verifies the files alone. With --volume a folder's files
    /// take the place of that volume's, and nothing is run.
    Import(InstanceImportArguments),
}

impl InstanceCommand {
    /// What it needs before it begins.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            InstanceCommand::Copy(_) | InstanceCommand::Purge(_) => Needs::NOTHING.at_home(),
            InstanceCommand::Import(own) if own.volume.is_none() => Needs::NOTHING.instances().rings(),
            _ => Needs::NOTHING.instances(),
        }
        .long()
    }
}

#[derive(Debug, Args)]
pub(crate) struct InstanceListArguments {
    #[command(flatten)]
    page: Page,
    /// Those of this package alone
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct InstanceExportArguments {
    /// The file to write; with --volume the folder
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// Export this volume's files alone
    #[arg(long, value_name = "VOLUME", conflicts_with_all = ["after", "to", "part_bytes", "packages"])]
    volume: Option<VolumeName>,
    /// Leave out this entry and all before it, which the other side has
    #[arg(long, value_name = "ENTRY")]
    after: Option<EntryName>,
    /// Leave out all behind this entry
    #[arg(long, value_name = "ENTRY")]
    to: Option<EntryName>,
    /// Write several files, none longer than so many bytes unless one entry is
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    part_bytes: Option<u64>,
    /// And the package, in each version that a run was made by
    #[arg(long)]
    packages: bool,
    #[command(flatten)]
    instance: InstanceArguments,
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    Unit::Bytes.parse(text).ok_or_else(|| format!("expected {}", Unit::Bytes.expected()))
}

#[derive(Debug, Args)]
pub(crate) struct InstanceImportArguments {
    /// A file that export wrote; several in their order; with --volume the folder
    #[arg(long = "input", value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Import this volume's files alone
    #[arg(long, value_name = "VOLUME", conflicts_with_all = ["head", "limits", "secrets"])]
    volume: Option<VolumeName>,
    /// An entry that must be there then: its number, a colon and its hash
    #[arg(long, value_name = "N:HASH")]
    head: Option<Pin>,
    /// Set a limit, of a run that it tells of and of a state; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    /// Give a secret that a run was given, from this process's environment; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InstanceCopyArguments {
    /// Keep none under the old name
    #[arg(long = "move")]
    renames: bool,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The new name
    #[arg(value_name = "TO")]
    to: InstanceName,
}

pub(crate) fn instance(global: &Global, own: InstanceCommand, output: &Output) -> Result<ExitCode, Fault> {
    match own {
        InstanceCommand::List(own) => list(global, &own, output).map(|()| ExitCode::SUCCESS),
        InstanceCommand::Copy(own) => {
            let (slug, host, from) = (own.instance.slug(global)?, surroundings::host(global)?, &own.instance.instance);
            let behind = match own.renames {
                true => host.rename_instance(&slug, from, &own.to).map(|()| None)?,
                false => host.copy_instance(&slug, from, &own.to, surroundings::now())?,
            };
            output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
            output.behind(behind.as_deref());
            let value = InstanceMoved { package: slug.to_string(), from: from.to_string(), to: own.to.to_string() };
            output.answer("instance copy", value, human::fields)
        }
        InstanceCommand::Purge(own) => {
            let slug = own.slug(global)?;
            let host = surroundings::host(global)?;
            let dir = InstanceDir::new(&surroundings::home(global)?, &slug, &own.instance);
            // What can be ended now is ended; of the rest nobody will know. Of what was only begun nothing is left elsewhere.
            let unsettled = match SqliteStore::is_begun(&dir, global.wait) {
                true => Vec::new(),
                false => own.open(global)?.unsettled()?,
            };
            if !global.yes && !global.dry_run {
                let mut message = format!("{slug}/{} would be taken away for good, with its ledger", own.instance);
                for folder in &unsettled {
                    message.push_str(&format!("; what a run left in {folder} stays there, and is put back no more"));
                }
                let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
                    .detail("unsettled", unsettled)
                    .suggest("ask the user, then repeat the call with --yes");
                return Err(repair::again(report, &global.line, 0).into());
            }
            host.purge_instance(&slug, &own.instance)?;
            output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
            let (package, instance) = (slug.to_string(), own.instance.to_string());
            let value = InstancePurged { package, instance, unsettled };
            output.answer("instance purge", value, human::fields)
        }
        InstanceCommand::Export(own) => match &own.volume {
            Some(volume) => export_volume(global, &own, volume, output),
            None => export(global, &own, output),
        },
        InstanceCommand::Import(own) => match &own.volume {
            Some(volume) => import_volume(global, &own, volume, output),
            None => import(global, &own, output),
        },
    }
}

/// The longest file that is taken in: all of it is held in memory. What is more is exported in parts.
const BUNDLE_BYTES_MAX: u64 = 1 << 30;
/// The most files of one export: their names are in order.
const PARTS_MAX: usize = 9999;

fn export(global: &Global, own: &InstanceExportArguments, output: &Output) -> Result<ExitCode, Fault> {
    let session = own.instance.open(global)?;
    let place = |name: &Option<EntryName>| {
        let sealed = name.as_ref().map(|name| session.entry(name)).transpose();
        sealed.map(|sealed| sealed.map(|sealed| sealed.pin()))
    };
    let after = place(&own.after)?.map_or(0, |pin| pin.sequence);
    let last = place(&own.to)?.map_or_else(|| Ok(session.head()?.last), Ok::<_, Failure>)?;
    let entries = last.sequence.checked_sub(after).ok_or_else(|| Fault::usage("--after is behind --to"))?;
    let dropped = session.head()?.retained_from.saturating_sub(1).saturating_sub(after);
    let bytes_max = own.part_bytes.map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let (mut files, mut bytes) = (Vec::new(), 0);
    let packages = match own.packages {
        true => carried::packed(global, &own.instance.package, &session, (after, last.sequence))?,
        false => Vec::new(),
    };
    let mut parts = session.bundles(after, last.sequence, bytes_max).carrying(&packages);
    // No entries are a file too.
    while parts.has_more().map_err(Failure::from)? || files.is_empty() {
        let path = match own.part_bytes {
            None => own.output.clone(),
            Some(_) if files.len() == PARTS_MAX => {
                let message = format!("more than {PARTS_MAX} files");
                return Err(Fault::usage(message).suggest("let each be longer: raise --part-bytes"));
            }
            Some(_) => {
                let mut name = own.output.clone().into_os_string();
                name.push(format!(".{:04}", files.len() + 1));
                name.into()
            }
        };
        bytes += usize::try_from(write_new(global, &path, &mut parts)?).unwrap_or(usize::MAX);
        if !global.dry_run {
            output.done(Done::changed(None));
        }
        files.push(path);
    }
    let result = InstanceExported {
        package: own.instance.slug(global)?.to_string(),
        instance: own.instance.instance.to_string(),
        path: own.output.clone(),
        files,
        bytes,
        entries,
        dropped,
        last: last.into(),
    };
    output.answer("instance export", InstanceExports::Instance(result), human::fields)
}

/// Writes the next part as it is made; how long it is.
fn write_new(global: &Global, path: &Path, parts: &mut Parts<'_>) -> Result<u64, Fault> {
    let failed = |error: PartError| match error {
        PartError::Store(error) => Fault::from(Failure::from(error)),
        PartError::Write(error) => Fault::file(path, &error),
    };
    if global.dry_run {
        let mut part = Cursor::new(Vec::new());
        parts.write(&mut part).map_err(failed)?;
        new_file::preview(path, part.get_ref())?;
        return Ok(part.get_ref().len() as u64);
    }
    // It holds what the instance holds, which nobody else may read either.
    let mut file = NewFile::begin_private(path)?;
    let mut writer = BufWriter::new(file.file());
    parts.write(&mut writer).map_err(failed)?;
    writer.flush().map_err(|error| Fault::file(path, &error))?;
    drop(writer);
    file.keep()
}

fn import(global: &Global, own: &InstanceImportArguments, output: &Output) -> Result<ExitCode, Fault> {
    let secrets = secret_values(&own.secrets)?;
    // Once a guest has run, no path leads to the next one.
    let opened: Vec<_> = own
        .inputs
        .iter()
        .skip(1)
        .map(|path| Ok(Source::Open(path.clone(), input::opened(path)?)))
        .collect::<Result<_, Fault>>()?;
    let (path, count) = (own.inputs.first(), own.inputs.len());
    let path = path.ok_or_else(|| Fault::usage("name a file with --input"))?;
    let first = bundle(Source::File(path.clone()), global.wait)?;
    let host = surroundings::host(global)?;
    let (package, earlier) = carried::makers(global, &own.instance.package, (path, &first)).map_err(of_a_file)?;
    for version in &earlier {
        // Behind the ring nothing is compiled; one that can't be says so where it is needed.
        let _ = host.load(version, &host.limits(version, own.limits.iter().copied()));
    }
    let rest = opened.into_iter().map(|source| bundle(source, global.wait));
    let bundles = std::iter::once(Ok(first)).chain(rest).enumerate().map(|(number, bundle)| {
        progress::at(number, count);
        (bundle, own.head.filter(|_| number + 1 == count))
    });
    let at = surroundings::now();
    let instance = &own.instance.instance;
    let taken = host.take_in_all((&package, &earlier, &own.limits), instance, at, &secrets, bundles);
    let taken = taken.map_err(of_a_file)?;
    if let Some((sealed, _)) = taken.verified.last() {
        output.done(Done::entry(sealed.pin(), own.instance.show(global, &sealed.pin())));
    }
    let count = |is: fn(&Verified) -> bool| taken.verified.iter().filter(|(_, verified)| is(verified)).count();
    let result = InstanceImported {
        package: package.manifest().slug().to_string(),
        instance: own.instance.instance.to_string(),
        entries: taken.entries,
        equal: count(|verified| matches!(verified, Verified::Equal)),
        by_carried: taken.by_carried,
        not_reproducible: count(|verified| matches!(verified, Verified::NotReproducible(_))),
        as_told: taken.as_told,
        dropped: taken.dropped,
        moved: taken.moved,
        confirmed: taken.confirmed,
        plans: taken.plans,
        last: taken.verified.last().map(|(sealed, _)| sealed.pin().into()),
    };
    output.answer("instance import", InstanceImports::Instance(result), human::fields)
}

/// What is wrong with a file is no damage of what is kept here.
fn of_a_file(fault: Fault) -> Fault {
    match fault.report().code {
        ErrorCode::StoreDamaged if fault.report().message.starts_with(bundle::AT) => fault
            .suggest("have the file made again where the instance is; nothing here is damaged, and nothing was taken"),
        _ => fault,
    }
}

fn bundle(source: Source, wait: Duration) -> Result<Vec<u8>, Fault> {
    bundle_within(BUNDLE_BYTES_MAX, source, wait)
}

fn bundle_within(most: u64, source: Source, wait: Duration) -> Result<Vec<u8>, Fault> {
    let name = source.name();
    let bytes = input::read(source, most, wait)?;
    if bytes.len() as u64 <= most {
        return Ok(bytes);
    }
    let message = format!("{name} has more than {most} bytes");
    let suggestion = "export the instance with --part-bytes, and import all files in their order";
    Err(ErrorReport::new(ErrorCode::StdinLimit, message).suggest(suggestion).into())
}

fn list(global: &Global, own: &InstanceListArguments, output: &Output) -> Result<(), Fault> {
    let wanted = own.package.as_ref().map(|package| slug(global, package)).transpose()?;
    let known = stores::known(global)?;
    let known = known.into_iter().filter(|known| wanted.as_ref().is_none_or(|wanted| *wanted == known.slug));
    let (known, page) = (known.collect::<Vec<_>>(), own.page.meant());
    // Each is opened for its head, so no more of them than are shown.
    let shown = known.iter().skip(page.offset as usize).take(page.limit as usize);
    let items = shown.map(|known| {
        let head = stores::head(global, known).map(|head| head.map(|head| head.to_string()))?;
        let (package, instance) = (known.slug.to_string(), known.name.to_string());
        Ok(InstanceItem { package, instance, bytes: known.bytes, head })
    });
    let items = items.collect::<Result<Vec<_>, Fault>>()?;
    output.list("instance list", page.part(items, known.len() as u64), &own.page, |items| {
        human::table(items, &[("package", "PACKAGE"), ("instance", "INSTANCE"), ("bytes", "BYTES"), ("head", "HEAD")])
    })
}

/// Writes the files of a volume into a folder.
fn export_volume(
    global: &Global,
    own: &InstanceExportArguments,
    volume: &VolumeName,
    output: &Output,
) -> Result<ExitCode, Fault> {
    let session = own.instance.open(global)?;
    let state = session.state_at(None)?;
    let folder = target(&own.output, global.dry_run)?;
    let exported = session.export(&state, volume, (folder.as_ref(), &own.output))?;
    output.done(Done::changed(None));
    let totals = exported.totals;
    let value = VolumeExported {
        volume: volume.to_string(),
        folder: own.output.clone(),
        files: totals.files,
        bytes: totals.bytes,
        aside: [(&volume.to_string(), &exported.skipped)].into_iter().collect(),
    };
    output.answer("instance export", InstanceExports::Volume(value), human::fields)
}

/// Takes the files of a folder in the place of a volume's.
fn import_volume(
    global: &Global,
    own: &InstanceImportArguments,
    volume: &VolumeName,
    output: &Output,
) -> Result<ExitCode, Fault> {
    let [path] = own.inputs.as_slice() else { return Err(Fault::usage("a volume is imported from one folder")) };
    let session = own.instance.open_or_make(global)?;
    let taken = session.import(volume, (&folder(path)?, path))?;
    output.done(Done::entry(taken.entry.pin(), own.instance.show(global, &taken.entry.pin())));
    output.behind(taken.behind.as_deref());
    let value = VolumeImported {
        volume: volume.to_string(),
        changes: taken.changes.listed,
        entry: Pinned::kept(&session, &taken.entry),
        changes_omitted: Some(taken.changes.omitted).filter(|omitted| *omitted > 0),
        aside: [(&volume.to_string(), &taken.skipped)].into_iter().collect(),
    };
    output.answer("instance import", InstanceImports::Volume(value), human::fields)
}

fn folder(path: &Path) -> Result<cap_std::fs::Dir, Fault> {
    open_folder(path).map_err(|error| Fault::file(path, &error))
}

/// The folder to write into, made for its owner alone if it is missing; a preview makes none.
#[expect(clippy::disallowed_methods, reason = "the operator names it")]
fn target(path: &Path, preview: bool) -> Result<Option<cap_std::fs::Dir>, Fault> {
    match path.exists() {
        true => folder(path).map(Some),
        false if preview => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            folder(parent).map(|_| None)
        }
        false => {
            private_folders().create(path).map_err(|error| Fault::file(path, &error))?;
            folder(path).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_more_than_its_bound_is_refused_and_told_how_to_come_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance");
        #[expect(clippy::disallowed_methods, reason = "a test makes the file that it reads")]
        std::fs::write(&path, [7; 10]).unwrap();
        let read = |most| bundle_within(most, Source::File(path.clone()), Duration::from_secs(20));
        assert_eq!(read(10).unwrap(), [7; 10]);
        let fault = read(9).unwrap_err();
        assert_eq!(fault.report().code, ErrorCode::StdinLimit);
        assert!(fault.report().suggestion.contains("--part-bytes"), "{}", fault.report().suggestion);
    }
}
