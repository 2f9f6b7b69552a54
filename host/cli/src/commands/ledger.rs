//! `hutch ledger`: the record of everything that was asked for.

use super::bisect::{self, BisectArguments};
use super::cases;
use super::instance::InstanceArguments;
use crate::answer::output::Output;
use crate::flags::global::Global;
use crate::flags::selection::Page;
use crate::machine::needs::Needs;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, Subcommand};
use hutch::{EntryName, Failure, Session};
use hutch_documents::ledger::{changes_value, entry_value, list_value, stored_value};
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
    /// Its head is what verify --head takes. --bisect finds the first entry after which a call's answer has something true at a path, by halving: the
    /// call behind -- is made of the package as it is now on the states that entries left, and nothing of it is kept. True is what is neither false,
    /// null, 0 nor empty, and a list with such an item; a call that ends with another status than 0 has nothing. --to-test adds the test that the
    /// entry makes: what stands in test goes into a file tests/NAME.test.json of the package, which check --tests tries. The whole state before goes
    /// into it, and no secret.
    Show(Box<ShowArguments>),
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Only entries that changed the state
    #[arg(long)]
    changes: bool,
    /// Each with the bytes that its hash is of, the first first, to check the chain elsewhere; with --ndjson these alone, one entry a
    /// line, however many there are
    #[arg(long, conflicts_with = "changes")]
    bytes: bool,
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
    /// With the test of the package that the entry makes; nothing runs
    #[arg(long, conflicts_with = "bisect")]
    to_test: bool,
    #[command(flatten)]
    bisect: BisectArguments,
}

impl LedgerArguments {
    /// What it needs before it begins.
    pub(crate) fn needs(&self) -> Needs {
        let needs = Needs::NOTHING.instances().long();
        match &self.command {
            LedgerCommand::Show(own) if own.bisect.bisect.is_some() => needs.rings(),
            _ => needs,
        }
    }
}

pub(crate) fn ledger(global: &Global, own: &LedgerArguments, output: &Output) -> Result<ExitCode, Fault> {
    match &own.command {
        LedgerCommand::List(own) => list(global, own, output)?,
        LedgerCommand::Show(own) => {
            let value = match &own.bisect.bisect {
                Some(path) => bisect::found(global, &own.bisect, path, &own.instance)?,
                None => {
                    let session = own.instance.open(global)?;
                    let sealed = session.entry(&own.entry)?;
                    match own.to_test {
                        true => cases::made(global, &own.instance, &session, &sealed)?,
                        false => entry_value(&session, &sealed)?,
                    }
                }
            };
            output.answer_value(true, "ledger show", value, bisect::told)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(global: &Global, own: &ListArguments, output: &Output) -> Result<(), Fault> {
    let (session, page) = (own.instance.open(global)?, &own.page);
    if own.bytes {
        return stored(&session, page, output);
    }
    let columns = [
        ("sequence", "N"),
        ("at", "AT"),
        ("kind", "KIND"),
        ("caller", "CALLER"),
        ("argv", "ARGUMENTS"),
        ("error", "ERROR"),
        ("hash", "HASH"),
    ];
    let list = if own.changes { changes_value } else { list_value };
    output.list("ledger list", list(&session, &page.meant())?, page, |items| human::table(items, &columns))
}

fn stored(session: &Session, page: &Page, output: &Output) -> Result<(), Fault> {
    let lines =
        |items: &[Value]| items.iter().filter_map(|item| item["bytes"].as_str()).collect::<Vec<_>>().join("\n").into();
    if !page.ndjson {
        return output.list("ledger list", stored_value(session, &page.meant())?, page, lines);
    }
    if output.shaping.selects() || !output.shaping.cleaning.is_none() {
        return Err(Fault::usage(
            "--bytes --ndjson prints the bytes that hashes are of: nothing is selected from them or taken out",
        ));
    }
    for sealed in session.entries(u64::from(page.offset) + 1) {
        output.data(&String::from_utf8_lossy(&sealed.map_err(Failure::from)?.bytes))?;
    }
    Ok(())
}
