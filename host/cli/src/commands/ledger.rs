//! `hutch ledger`: the record of everything that was asked for.

use super::instance::InstanceArguments;
use crate::answer::output::Output;
use crate::answers::ChainAnswer;
use crate::commands::heads;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand, ValueHint};
use hutch::{EntryName, Failure};
use hutch_documents::ledger::{changes_value, entry_value, export_value, head_value, list_value};
use hutch_model::ledger::Pin;
use hutch_store::InstanceName;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct LedgerArguments {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// List entries, last first
    List(ListArguments),
    /// Show an entry
    Show(ShowArguments),
    /// Show the ledger's head
    Head(InstanceArguments),
    /// Export all entries
    ///
    /// Each with the bytes that its hash is of, so that the chain can be checked elsewhere. With --ndjson these bytes alone, one
    /// entry a line, however many there are.
    Export(ExportArguments),
    /// Check the chain of entries
    ///
    /// Of one instance, or with --heads of each that a file names, which instance list --ndjson wrote: it must be there, and have come at
    /// least as far.
    Verify(ChainArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only entries that changed the state
    #[arg(long)]
    changes: bool,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
struct ExportArguments {
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
struct ShowArguments {
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry: the beginning of its hash, @ and its number, or last
    #[arg(value_name = "ENTRY", default_value = "last")]
    entry: EntryName,
}

#[derive(Debug, Args)]
struct ChainArguments {
    /// A head that was written down: its number, a colon and its hash
    #[arg(long, value_name = "N:HASH", conflicts_with = "heads")]
    head: Option<Pin>,
    /// The heads of instances that were written down, one a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["instance", "package"])]
    heads: Option<PathBuf>,
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// The folder that holds APP.md, a packed file, or the slug of a package that has run
    #[arg(value_name = "PACKAGE", required_unless_present = "heads")]
    package: Option<PathBuf>,
}

pub(crate) fn ledger(global: &Global, own: &LedgerArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        LedgerCommand::List(own) => list(global, own, output)?,
        LedgerCommand::Show(own) => {
            let session = own.instance.open(global)?;
            let value = entry_value(&session, &session.entry(&own.entry)?)?;
            output.answer_value(true, "ledger show", value, human::fields)?;
        }
        LedgerCommand::Head(own) => {
            let value = head_value(&own.open(global)?)?;
            output.answer_value(true, "ledger head", value, |value| {
                value["head"].as_str().unwrap_or_default().to_owned()
            })?;
        }
        LedgerCommand::Export(own) => export(global, own, output)?,
        LedgerCommand::Verify(own) => verify(global, own, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn verify(global: &Global, own: &ChainArguments, output: &Output) -> Result<(), Fault> {
    if let Some(file) = &own.heads {
        let (instances, entries) = heads::verify(global, file, output)?;
        let value = ChainAnswer::Heads { instances, entries };
        let told = format!("{instances} instances with {entries} entries, as they were written");
        return output.answer("ledger verify", value, |_| told);
    }
    let package = own.package.clone().ok_or_else(|| Fault::usage("name a package, or --heads FILE"))?;
    let session = InstanceArguments { instance: own.instance.clone(), package }.open(global)?;
    let pins: Vec<Pin> = own.head.into_iter().collect();
    let head = session.check_chain(&pins)?;
    let value = ChainAnswer::One { entries: head.sequence, hash: head.hash };
    output.answer("ledger verify", value, |_| format!("{} entries, as they were written", head.sequence))
}

fn list(global: &Global, own: &ListArguments, output: &Output) -> Result<(), Fault> {
    let (session, page) = (own.instance.open(global)?, &own.page);
    let columns = [
        ("sequence", "N"),
        ("at", "AT"),
        ("kind", "KIND"),
        ("argv", "ARGUMENTS"),
        ("error", "ERROR"),
        ("hash", "HASH"),
    ];
    let list = if own.changes { changes_value } else { list_value };
    output.list("ledger list", list(&session, &page.meant())?, page, |items| human::table(items, &columns))
}

fn export(global: &Global, own: &ExportArguments, output: &Output) -> Result<(), Fault> {
    if own.page.ndjson && (output.shaping.selects() || !output.shaping.cleaning.is_none()) {
        return Err(Fault::usage(
            "--ndjson prints the bytes that hashes are of: nothing is selected from them or taken out",
        ));
    }
    let session = own.instance.open(global)?;
    if own.page.ndjson {
        for sealed in session.entries(u64::from(own.page.offset) + 1) {
            output.data(&String::from_utf8_lossy(&sealed.map_err(Failure::from)?.bytes))?;
        }
        return Ok(());
    }
    let lines =
        |items: &[Value]| items.iter().filter_map(|item| item["bytes"].as_str()).collect::<Vec<_>>().join("\n").into();
    output.list("ledger export", export_value(&session, &own.page.meant())?, &own.page, lines)
}
