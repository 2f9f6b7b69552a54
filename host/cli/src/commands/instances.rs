//! `hutch instance`: whole instances, listed, copied, renamed and taken away.

use super::instance::{InstanceArguments, slug};
use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::output::Output;
use crate::selection::Page;
use crate::{human, repair, surroundings};
use clap::{Args, Subcommand};
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
    }
    Ok(ExitCode::SUCCESS)
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
