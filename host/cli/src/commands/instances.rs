//! `hutch instance`: whole instances, listed, copied, renamed, taken away, and carried from one home to another.

use super::instance::{InstanceArguments, slug};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{InstanceExported, InstanceImported, InstanceItem, InstanceMoved, InstancePurged};
use crate::call::invocation::parse_limit;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::machine::input::{self, Source};
use crate::machine::needs::Needs;
use crate::machine::new_file::{self, NewFile};
use crate::machine::{progress, stores, surroundings};
use crate::package::carried;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::{EntryName, Failure, Verified};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use hutch_model::limits::{Limit, Unit};
use hutch_store::InstanceName;
use hutch_store::bundle::{PartError, Parts};
use std::fs::File;
use std::io::{self, BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(crate) enum InstanceCommand {
    /// List instances
    List(InstanceListArguments),
    /// Copy an instance
    Copy(InstanceTargetArguments),
    /// Rename an instance
    Rename(InstanceTargetArguments),
    /// Delete an instance
    Purge(InstanceArguments),
    /// Export an instance
    ///
    /// Its entries, states, inputs and outputs, and no key, as one file: for another home, a browser tab or a safe place. Its bytes follow from
    /// the ledger. With --part-bytes as FILE.0001, FILE.0002 and so on, each for whoever took in the one before.
    Export(InstanceExportArguments),
    /// Import an instance
    ///
    /// Every entry is made again and every run is run again, and must come to the same, before anything of a file is taken: all of it or
    /// nothing. Of several files those before one that is refused are taken. Packages that the first one carries run in the sandbox for that alone;
    /// PACKAGE need not be here then. --dry-run verifies the files alone.
    Import(InstanceImportArguments),
}

impl InstanceCommand {
    /// What it needs before it begins.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            InstanceCommand::Copy(_) | InstanceCommand::Rename(_) | InstanceCommand::Purge(_) => {
                Needs::NOTHING.at_home()
            }
            InstanceCommand::Import(_) => Needs::NOTHING.instances().rings(),
            InstanceCommand::List(_) | InstanceCommand::Export(_) => Needs::NOTHING.instances(),
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
    /// The file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
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
    /// A file that export wrote; several in their order
    #[arg(long = "input", value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// An entry that must be there then: its number, a colon and its hash
    #[arg(long, value_name = "N:HASH")]
    head: Option<Pin>,
    /// Set a limit, of a run that it tells of and of a state; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InstanceTargetArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The new name
    #[arg(value_name = "TO")]
    to: InstanceName,
}

pub(crate) fn instance(global: &Global, own: InstanceCommand, output: &Output) -> Result<ExitCode, Fault> {
    match own {
        InstanceCommand::List(own) => list(global, &own, output)?,
        InstanceCommand::Copy(own) => {
            let slug = own.instance.slug(global)?;
            let host = surroundings::host(global)?;
            host.copy_instance(&slug, &own.instance.instance, &own.to, surroundings::now())?;
            moved(global, "instance copy", &own, output)?;
        }
        InstanceCommand::Rename(own) => {
            let slug = own.instance.slug(global)?;
            surroundings::host(global)?.rename_instance(&slug, &own.instance.instance, &own.to)?;
            moved(global, "instance rename", &own, output)?;
        }
        InstanceCommand::Purge(own) => {
            let slug = own.slug(global)?;
            let host = surroundings::host(global)?;
            // What can be ended now is ended; of the rest nobody will know.
            let unsettled = own.open(global)?.unsettled()?;
            if !global.yes && !global.dry_run {
                let mut message = format!("{slug}/{} would be taken away for good, with its ledger", own.instance);
                for folder in &unsettled {
                    message.push_str(&format!(
                        "; what was there before a killed run stays in {folder}, and is put back no more"
                    ));
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
            output.answer("instance purge", value, human::fields)?;
        }
        InstanceCommand::Export(own) => export(global, &own, output)?,
        InstanceCommand::Import(own) => import(global, &own, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The longest file that is taken in: all of it is held in memory. What is more is exported in parts.
const BUNDLE_BYTES_MAX: u64 = 1 << 30;
/// The most files of one export: their names are in order.
const PARTS_MAX: usize = 9999;

fn export(global: &Global, own: &InstanceExportArguments, output: &Output) -> Result<(), Fault> {
    let session = own.instance.open(global)?;
    let place = |name: &Option<EntryName>| {
        let sealed = name.as_ref().map(|name| session.entry(name)).transpose();
        sealed.map(|sealed| sealed.map(|sealed| sealed.pin()))
    };
    let after = place(&own.after)?.map_or(0, |pin| pin.sequence);
    let last = place(&own.to)?.map_or_else(|| Ok(session.head()?.last), Ok::<_, Failure>)?;
    let entries = last.sequence.checked_sub(after).ok_or_else(|| Fault::usage("--after is behind --to"))?;
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
        last: last.into(),
    };
    output.answer("instance export", result, human::fields)
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
    let mut file = NewFile::begin(path)?;
    let mut writer = BufWriter::new(file.file());
    parts.write(&mut writer).map_err(failed)?;
    writer.flush().map_err(|error| Fault::file(path, &error))?;
    drop(writer);
    file.keep()
}

fn import(global: &Global, own: &InstanceImportArguments, output: &Output) -> Result<(), Fault> {
    // Once a guest has run, no path leads to the next one.
    let opened: Vec<_> = own.inputs.iter().skip(1).map(|path| opened(path)).collect::<Result<_, _>>()?;
    let (path, count) = (own.inputs.first(), own.inputs.len());
    let path = path.ok_or_else(|| Fault::usage("name a file with --input"))?;
    let first = bundle(Source::File(path.clone()), global.wait)?;
    let host = surroundings::host(global)?;
    let (package, earlier) = carried::makers(global, &own.instance.package, (path, &first))?;
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
    let taken = host.take_in_all((&package, &earlier, &own.limits), &own.instance.instance, at, bundles)?;
    if let Some((sealed, _)) = taken.verified.last() {
        output.done(Done::entry(sealed.pin(), own.instance.show(global, &sealed.pin())));
    }
    let equal = taken.verified.iter().filter(|(_, verified)| *verified == Verified::Equal).count();
    let result = InstanceImported {
        package: package.manifest().slug().to_string(),
        instance: own.instance.instance.to_string(),
        entries: taken.entries,
        equal,
        as_told: taken.as_told,
        last: taken.verified.last().map(|(sealed, _)| sealed.pin().into()),
    };
    output.answer("instance import", result, human::fields)
}

/// A file that is read later.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn opened(path: &Path) -> Result<Source, Fault> {
    let failed = |error: io::Error| Fault::unreadable(path, &error);
    // Looked at before it is opened: a pipe would be waited for.
    match path.metadata().map_err(failed)?.is_file() {
        true => Ok(Source::Open(path.to_owned(), File::open(path).map_err(failed)?)),
        false => Err(Fault::usage(format!("{} is no file", path.display()))),
    }
}

fn bundle(source: Source, wait: Duration) -> Result<Vec<u8>, Fault> {
    let name = source.name();
    let bytes = input::read(source, BUNDLE_BYTES_MAX, wait)?;
    if bytes.len() as u64 <= BUNDLE_BYTES_MAX {
        return Ok(bytes);
    }
    let message = format!("{name} has more than {BUNDLE_BYTES_MAX} bytes");
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

fn moved(global: &Global, command: &str, own: &InstanceTargetArguments, output: &Output) -> Result<(), Fault> {
    let slug = own.instance.slug(global)?;
    output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
    let (from, to) = (own.instance.instance.to_string(), own.to.to_string());
    let value = InstanceMoved { package: slug.to_string(), from, to };
    output.answer(command, value, human::fields)
}
