//! `hutch instance`: whole instances, listed, copied, renamed, taken away, and carried from one home to another.

use super::instance::{InstanceArguments, slug};
use super::open_package;
use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::input::{self, Source};
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::selection::Page;
use crate::{human, repair, surroundings};
use clap::{Args, Subcommand};
use hutch::{EntryName, Verified};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_store::InstanceName;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

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
    /// the ledger.
    Export(InstanceExportArguments),
    /// Import an instance
    ///
    /// Every entry is made again and every run is run again, and must come to the same, before anything is taken: all of it or nothing.
    /// --dry-run verifies the file alone.
    Import(InstanceImportArguments),
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
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct InstanceImportArguments {
    /// The file that export wrote
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
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

pub(super) fn instance(global: &Global, own: InstanceCommand, output: &Output) -> Result<ExitCode, Fault> {
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
            if !global.yes && !global.dry_run {
                let message = format!("{slug}/{} would be taken away for good, with its ledger", own.instance);
                let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
                    .suggest("ask the user, then repeat the call with --yes");
                return Err(repair::again(report, &global.line, 0).into());
            }
            host.purge_instance(&slug, &own.instance)?;
            output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
            let value = json!({"package": slug.as_str(), "instance": own.instance.as_str()});
            output.answer("instance purge", value, human::fields)?;
        }
        InstanceCommand::Export(own) => export(global, &own, output)?,
        InstanceCommand::Import(own) => import(global, &own, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The most bytes of a file that is taken in: all of it is held in memory. What is more is exported in parts.
const BUNDLE_BYTES_MAX: u64 = 1 << 30;

fn export(global: &Global, own: &InstanceExportArguments, output: &Output) -> Result<(), Fault> {
    let session = own.instance.open(global)?;
    let after = own.after.as_ref().map(|name| session.entry(name)).transpose()?.map_or(0, |sealed| sealed.sequence);
    let last = session.head()?.last;
    let bytes = session.bundle(after)?;
    match global.dry_run {
        true => new_file::preview(&own.output, &bytes)?,
        false => {
            let mut file = NewFile::begin(&own.output)?;
            file.writer().write_all(&bytes).map_err(|error| Fault::file(&own.output, &error))?;
            file.keep()?;
            output.done(Done::changed(None));
        }
    }
    let result = json!({
        "package": own.instance.slug(global)?.as_str(),
        "instance": own.instance.instance.as_str(),
        "path": own.output,
        "bytes": bytes.len(),
        "entries": last.sequence - after,
        "last": {"sequence": last.sequence, "hash": last.hash},
    });
    output.answer("instance export", result, human::fields)
}

fn import(global: &Global, own: &InstanceImportArguments, output: &Output) -> Result<(), Fault> {
    let bytes = input::read(Source::File(own.input.clone()), BUNDLE_BYTES_MAX, global.wait)?;
    if bytes.len() as u64 > BUNDLE_BYTES_MAX {
        let message = format!("{} has more than {BUNDLE_BYTES_MAX} bytes", own.input.display());
        let suggestion = "export the instance in parts, each --after the last entry of the one before";
        return Err(ErrorReport::new(ErrorCode::StdinLimit, message).suggest(suggestion).into());
    }
    let host = surroundings::host(global)?;
    let package = open_package(global, &own.instance.package, None)?;
    let taken = host.take_in(&package, &own.instance.instance, surroundings::now(), &bytes)?;
    if let Some((sealed, _)) = taken.verified.last() {
        output.done(Done::entry(sealed.pin(), own.instance.show(global, &sealed.pin())));
    }
    let equal = taken.verified.iter().filter(|(_, verified)| *verified == Verified::Equal).count();
    let last = taken.verified.last().map(|(sealed, _)| json!({"sequence": sealed.sequence, "hash": sealed.hash}));
    let result = json!({
        "package": package.manifest().slug().as_str(),
        "instance": own.instance.instance.as_str(),
        "entries": taken.entries,
        "equal": equal,
        "last": last,
    });
    output.answer("instance import", result, human::fields)
}

fn list(global: &Global, own: &InstanceListArguments, output: &Output) -> Result<(), Fault> {
    let home = surroundings::home(global)?;
    let wanted = own.package.as_ref().map(|package| slug(global, package)).transpose()?;
    let known = hutch::instances::of(&home).map_err(|error| Fault::file(&home, &error))?;
    let known = known.into_iter().filter(|known| wanted.as_ref().is_none_or(|wanted| *wanted == known.slug));
    let items: Vec<Value> = known
        .map(|known| json!({"package": known.slug.as_str(), "instance": known.name.as_str(), "bytes": known.bytes}))
        .collect();
    output.list("instance list", own.page.of(items), &own.page, |items| {
        human::table(items, &[("package", "PACKAGE"), ("instance", "INSTANCE"), ("bytes", "BYTES")])
    })
}

fn moved(global: &Global, command: &str, own: &InstanceTargetArguments, output: &Output) -> Result<(), Fault> {
    let slug = own.instance.slug(global)?;
    output.done(Done::changed(global.line.elsewhere(["instance", "list"])));
    let value = json!({"package": slug.as_str(), "from": own.instance.instance.as_str(), "to": own.to.as_str()});
    output.answer(command, value, human::fields)
}
