//! `hutch ledger`: the record of everything that was asked for.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::output::{Fault, Format, Output};
use crate::query::Query;
use clap::{Args, Subcommand};
use hutch::{EntryName, Failure, Session};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, Pin, Sealed, StreamRecord};
use serde_json::{Value, json};
use std::process::ExitCode;

/// How many entries a listing shows unless it is told.
const LIST_DEFAULT: u64 = 50;

#[derive(Debug, Args)]
pub(crate) struct LedgerArguments {
    #[command(subcommand)]
    command: LedgerCommand,
}

#[derive(Debug, Subcommand)]
enum LedgerCommand {
    /// List entries, the last ones first
    List(ListArguments),
    /// Show an entry with its input and output
    Show(ShowArguments),
    /// Show the last entry with its input and output
    Last(LastArguments),
    /// Show the head: what to write down to recognise the ledger later
    Head(InstanceArguments),
    /// Write all entries, one JSON document a line, as they are stored
    Export(InstanceArguments),
    /// Check that the chain of entries is as it was written
    Verify(ChainArguments),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT)]
    limit: u64,
    /// Leave out so many of the last ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    #[command(flatten)]
    instance: InstanceArguments,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// Print only this part of the answer, as output.items[0].id
    #[arg(long, value_name = "PATH")]
    query: Option<Query>,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry: the beginning of its hash, @ and its number, or last
    #[arg(value_name = "ENTRY")]
    entry: EntryName,
}

#[derive(Debug, Args)]
struct LastArguments {
    /// Print only this part of the answer, as output.items[0].id
    #[arg(long, value_name = "PATH")]
    query: Option<Query>,
    #[command(flatten)]
    instance: InstanceArguments,
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
        LedgerCommand::Show(own) => show(global, &own.instance, &own.entry, own.query.as_ref(), output)?,
        LedgerCommand::Last(own) => show(global, &own.instance, &EntryName::Last, own.query.as_ref(), output)?,
        LedgerCommand::Head(own) => {
            let head = own.open(global)?.0.head()?.last;
            let pin = format!("{}:{}", head.sequence, head.hash);
            match output.format {
                Format::Human => output.text(&pin)?,
                Format::Json => output.json(&json!({
                    "ok": true, "command": "ledger head", "sequence": head.sequence, "hash": head.hash, "head": pin,
                }))?,
            }
        }
        LedgerCommand::Export(own) => {
            for sealed in own.open(global)?.0.entries(1) {
                let sealed = sealed.map_err(Failure::from)?;
                output.text(&String::from_utf8_lossy(&sealed.bytes))?;
            }
        }
        LedgerCommand::Verify(own) => {
            let session = own.instance.open(global)?.0;
            let pins: Vec<Pin> = own.head.into_iter().collect();
            let head = session.check_chain(&pins)?;
            match output.format {
                Format::Human => output.text(&format!("{} entries, as they were written", head.sequence))?,
                Format::Json => output.json(&json!({
                    "ok": true, "command": "ledger verify", "entries": head.sequence, "hash": head.hash,
                }))?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(global: &Global, own: &ListArguments, output: &Output) -> Result<(), Fault> {
    let session = own.instance.open(global)?.0;
    let total = session.head()?.last.sequence;
    let end = total.saturating_sub(own.offset);
    let first = end.saturating_sub(own.limit) + 1;
    let mut rows = Vec::new();
    for sealed in session.entries(first).take_while(|sealed| sealed.as_ref().is_ok_and(|sealed| sealed.sequence <= end))
    {
        let sealed = sealed.map_err(Failure::from)?;
        rows.push((sealed.hash, sealed.open().map_err(Failure::Entry)?));
    }
    rows.reverse();
    match output.format {
        Format::Human => {
            let line = |(hash, entry): &(Digest, Entry)| {
                let hash: String = hash.to_string().chars().take(12).collect();
                let argv =
                    entry.record.invocation.as_ref().map(|invocation| invocation.argv.join(" ")).unwrap_or_default();
                let end = entry.record.error.map(|code| code.to_string()).unwrap_or_default();
                format!("@{:<5} {hash} {} {:<8} {argv} {end}", entry.sequence, entry.record.at, word(entry))
                    .trim_end()
                    .to_owned()
            };
            output.text(&rows.iter().map(line).collect::<Vec<_>>().join("\n"))
        }
        Format::Json => output.json(&json!({
            "ok": true,
            "command": "ledger list",
            "total": total,
            "limit": own.limit,
            "offset": own.offset,
            "has_more": first > 1,
            "items": rows.iter().map(|(hash, entry)| summary(hash, entry)).collect::<Vec<_>>(),
        })),
    }
}

fn word(entry: &Entry) -> String {
    serde_json::to_value(entry.record.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
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
    global: &Global,
    instance: &InstanceArguments,
    name: &EntryName,
    query: Option<&Query>,
    output: &Output,
) -> Result<(), Fault> {
    let session = instance.open(global)?.0;
    let value = entry_value(&session, &session.entry(name)?)?;
    match query {
        Some(query) => output.json(&query.find(&value)?),
        None => output.json(&value),
    }
}

fn entry_value(session: &Session, sealed: &Sealed) -> Result<Value, Fault> {
    let entry = sealed.open().map_err(Failure::Entry)?;
    let outcome = entry.record.outcome.as_ref();
    let stream = |record: Option<StreamRecord>| -> Result<Option<Vec<u8>>, Fault> {
        match record {
            None => Ok(None),
            Some(record) if record.size == 0 => Ok(Some(Vec::new())),
            Some(record) => {
                Ok(session.store().stream(&record.digest).map_err(Failure::from)?.map(|bytes| bytes.to_vec()))
            }
        }
    };
    let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let stdout = stream(outcome.map(|outcome| outcome.stdout))?;
    let stderr = stream(outcome.map(|outcome| outcome.stderr))?;
    Ok(json!({
        "ok": true,
        "command": "ledger show",
        "sequence": entry.sequence,
        "hash": sealed.hash,
        "previous": entry.previous,
        "record": entry.record,
        "output": stdout.as_ref().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok()),
        "stdout": text(&stdout),
        "stderr": text(&stderr),
    }))
}
