//! `hutch ledger`: the record of everything that was asked for.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::ended::Room;
use crate::fault::Fault;
use crate::human;
use crate::output::Output;
use crate::selection::Page;
use clap::{Args, Subcommand};
use hutch::{EntryName, Failure, Session};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, Pin, Sealed, StreamRecord};
use serde_json::{Value, json};
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
    /// Show the last entry
    Last(InstanceArguments),
    /// Show the ledger's head
    Head(InstanceArguments),
    /// Export all entries
    ///
    /// Each with the bytes that its hash is of, so that the chain can be checked elsewhere. With --ndjson these bytes alone, one
    /// entry a line, however many there are.
    Export(ExportArguments),
    /// Check the chain of entries
    Verify(ChainArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
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
    #[arg(value_name = "ENTRY")]
    entry: EntryName,
}

#[derive(Debug, Args)]
struct ChainArguments {
    /// A head that was written down: its number, a colon and its hash
    #[arg(long, value_name = "N:HASH", value_parser = parse_pin)]
    head: Option<Pin>,
    #[command(flatten)]
    instance: InstanceArguments,
}

fn parse_pin(text: &str) -> Result<Pin, String> {
    let wrong = || "expected a number, a colon and a hash, as ledger head prints".to_owned();
    let (sequence, hash) = text.split_once(':').ok_or_else(wrong)?;
    Ok(Pin { sequence: sequence.parse().map_err(|_| wrong())?, hash: hash.parse::<Digest>().map_err(|_| wrong())? })
}

pub(super) fn ledger(global: &Global, own: &LedgerArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        LedgerCommand::List(own) => list(global, own, output)?,
        LedgerCommand::Show(own) => show("ledger show", global, &own.instance, &own.entry, output)?,
        LedgerCommand::Last(own) => show("ledger last", global, own, &EntryName::Last, output)?,
        LedgerCommand::Head(own) => {
            let head = own.open(global)?.head()?.last;
            let pin = format!("{}:{}", head.sequence, head.hash);
            let value = json!({ "sequence": head.sequence, "hash": head.hash, "head": pin });
            output.answer("ledger head", value, |_| pin)?;
        }
        LedgerCommand::Export(own) => export(global, own, output)?,
        LedgerCommand::Verify(own) => {
            let session = own.instance.open(global)?;
            let pins: Vec<Pin> = own.head.into_iter().collect();
            let head = session.check_chain(&pins)?;
            let value = json!({ "entries": head.sequence, "hash": head.hash });
            output.answer("ledger verify", value, |_| format!("{} entries, as they were written", head.sequence))?;
        }
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
    output.list("ledger list", list_value(&session, page)?, page, |items| human::table(items, &columns))
}

/// One page of the ledger, the last entries first.
pub(super) fn list_value(session: &Session, page: &Page) -> Result<Value, Failure> {
    let total = session.head()?.last.sequence;
    let end = total.saturating_sub(u64::from(page.offset));
    let first = end.saturating_sub(u64::from(page.limit)) + 1;
    let mut rows = Vec::new();
    for sealed in session.entries(first) {
        let sealed = sealed?;
        if sealed.sequence > end {
            break;
        }
        rows.push(summary(&sealed.hash, &sealed.open().map_err(Failure::Entry)?));
    }
    rows.reverse();
    Ok(page.part(rows, total))
}

/// Items of the list: at most so many behind a place, the first first.
pub(super) fn since(session: &Session, after: u64, limit: u32) -> Result<Vec<Value>, Failure> {
    let entries = session.entries(after.saturating_add(1)).take(limit as usize);
    entries
        .map(|sealed| {
            sealed
                .map_err(Failure::from)
                .and_then(|sealed| Ok(summary(&sealed.hash, &sealed.open().map_err(Failure::Entry)?)))
        })
        .collect()
}

fn export(global: &Global, own: &ExportArguments, output: &Output) -> Result<(), Fault> {
    if own.page.ndjson && (output.shaping.selects() || !output.shaping.cleaning.is_none()) {
        return Err(Fault::usage(
            "--ndjson prints the bytes that hashes are of: nothing is selected from them or taken out",
        ));
    }
    let session = own.instance.open(global)?;
    let first = u64::from(own.page.offset) + 1;
    let mut items = Vec::new();
    for sealed in session.entries(first) {
        let sealed = sealed.map_err(Failure::from)?;
        let bytes = String::from_utf8_lossy(&sealed.bytes);
        if own.page.ndjson {
            output.data(&bytes)?;
        } else if items.len() < own.page.limit as usize {
            items.push(json!({ "sequence": sealed.sequence, "hash": sealed.hash, "bytes": bytes }));
        } else {
            break;
        }
    }
    if own.page.ndjson {
        return Ok(());
    }
    let total = session.head()?.last.sequence;
    let lines =
        |items: &[Value]| items.iter().filter_map(|item| item["bytes"].as_str()).collect::<Vec<_>>().join("\n").into();
    output.list("ledger export", own.page.part(items, total), &own.page, lines)
}

fn summary(hash: &Digest, entry: &Entry) -> Value {
    let record = &entry.record;
    json!({
        "sequence": entry.sequence,
        "hash": hash,
        "at": record.at,
        "kind": record.kind,
        "follows": record.follows,
        "argv": record.invocation.as_ref().map(|invocation| &invocation.argv),
        "ending": record.outcome.as_ref().map(|outcome| &outcome.ending),
        "error": record.error,
        "kept": record.kept,
        "changes": record.volumes.values().map(|volume| volume.changes.len() as u64 + volume.changes_omitted).sum::<u64>(),
    })
}

fn show(
    command: &str,
    global: &Global,
    instance: &InstanceArguments,
    name: &EntryName,
    output: &Output,
) -> Result<(), Fault> {
    let session = instance.open(global)?;
    output.answer(command, entry_value(&session, &session.entry(name)?)?, human::fields)
}

/// An entry with its input and output.
pub(super) fn entry_value(session: &Session, sealed: &Sealed) -> Result<Value, Failure> {
    let entry = sealed.open().map_err(Failure::Entry)?;
    let outcome = entry.record.outcome.as_ref();
    let stream = |record: Option<StreamRecord>| -> Result<Option<Vec<u8>>, Failure> {
        match record {
            None => Ok(None),
            Some(record) if record.size == 0 => Ok(Some(Vec::new())),
            Some(record) => Ok(session.store().stream(&record.digest)?.map(|bytes| bytes.to_vec())),
        }
    };
    let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let stdout = stream(outcome.map(|outcome| outcome.stdout))?;
    let stderr = stream(outcome.map(|outcome| outcome.stderr))?;
    let document = stdout.as_ref().map_or(Ok(None), |bytes| Room::default().document(bytes));
    let mut value = json!({
        "sequence": entry.sequence,
        "hash": sealed.hash,
        "previous": entry.previous,
        "record": entry.record,
        "output": document.as_ref().ok(),
        "stdout": text(&stdout),
        "stderr": text(&stderr),
    });
    if let Err(reason) = document {
        value["output_omitted"] = reason.into();
    }
    Ok(value)
}
