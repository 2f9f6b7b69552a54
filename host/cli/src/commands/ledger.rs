//! `hutch ledger`: the record of everything that was asked for.

use super::instance::InstanceArguments;
use crate::answer::output::Output;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::{EntryName, Failure};
use hutch_documents::ledger::{changes_value, entry_value, export_value, list_value};
use serde_json::Value;
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
    ///
    /// Its head is what verify --head takes.
    Show(ShowArguments),
    /// Export all entries
    ///
    /// Each with the bytes that its hash is of, so that the chain can be checked elsewhere. With --ndjson these bytes alone, one
    /// entry a line, however many there are.
    Export(ExportArguments),
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

pub(crate) fn ledger(global: &Global, own: &LedgerArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        LedgerCommand::List(own) => list(global, own, output)?,
        LedgerCommand::Show(own) => {
            let session = own.instance.open(global)?;
            let value = entry_value(&session, &session.entry(&own.entry)?)?;
            output.answer_value(true, "ledger show", value, human::fields)?;
        }
        LedgerCommand::Export(own) => export(global, own, output)?,
    }
    Ok(ExitCode::SUCCESS)
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
