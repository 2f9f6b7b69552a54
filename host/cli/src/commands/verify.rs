//! `hutch verify`: re-executes recorded invocations and compares every byte, or checks the chain of entries alone.

use super::heads;
use super::instance::InstanceArguments;
use crate::answer::output::Output;
use crate::answers::VerifyAnswers;
use crate::call::invocation::secret_values;
use crate::flags::global::Global;
use crate::machine::needs::Needs;
use crate::machine::progress;
use crate::package::earlier::Earlier;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::{Args, ValueHint};
use hutch::{EntryName, Failure, Session};
use hutch_documents::verified::verified_value;
use hutch_model::ledger::{Chain, Pin, Sealed};
use hutch_store::InstanceName;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;

/// The most entries that people are shown.
const SHOWN_MAX: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Give a secret that an invocation was given, from this process's environment; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    /// Verify all entries
    #[arg(long, conflicts_with_all = ["entry", "from", "to"])]
    all: bool,
    /// Verify a part of the ledger, from this entry on
    #[arg(long, value_name = "ENTRY", conflicts_with = "entry")]
    from: Option<EntryName>,
    /// Up to this entry; else to the last
    #[arg(long, value_name = "ENTRY", conflicts_with = "entry")]
    to: Option<EntryName>,
    /// Check that the entries are as they were written, and run nothing
    #[arg(long, conflicts_with_all = ["all", "entry", "from", "to", "secrets"])]
    chain: bool,
    /// With --chain: a head that was written down, its number, a colon and its hash
    #[arg(long, value_name = "N:HASH", requires = "chain", conflicts_with = "heads")]
    head: Option<Pin>,
    /// With --chain: the instances that a file names, which instance list --ndjson wrote, each with its head
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "chain", conflicts_with_all = ["instance", "package"])]
    heads: Option<PathBuf>,
    /// The instance
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// The folder that holds APP.md, a packed file, or the slug of a package that has run
    #[arg(value_name = "PACKAGE", required = true)]
    package: Option<PathBuf>,
    /// The entry: the beginning of its hash, @ and its number, or last; the last one with a run if absent
    #[arg(value_name = "ENTRY")]
    entry: Option<EntryName>,
}

impl VerifyArguments {
    /// What it needs before it begins.
    pub(crate) fn needs(&self) -> Needs {
        let needs = Needs::NOTHING.instances().long();
        if self.chain { needs } else { needs.rings() }
    }
}

pub(crate) fn verify(global: &Global, own: &VerifyArguments, output: &Output) -> Result<ExitCode, Fault> {
    if let Some(file) = &own.heads {
        let (instances, entries) = heads::verify(global, file, output)?;
        let told = format!("{instances} instances with {entries} entries, as they were written");
        return output.answer("verify", VerifyAnswers::Heads { instances, entries }, |_| told);
    }
    let package = own.package.clone().ok_or_else(|| Fault::usage("name a package, or --heads FILE"))?;
    let instance = InstanceArguments { instance: own.instance.clone(), package };
    // Looking at what is not there makes nothing.
    let session = instance.open(global)?;
    if own.chain {
        let (head, leaves) = session.leaves(own.head.as_slice())?;
        let tree = leaves.head().to_string();
        let value = VerifyAnswers::Chain { entries: head.sequence, hash: head.hash, tree };
        return output.answer("verify", value, |_| format!("{} entries, as they were written", head.sequence));
    }
    let (host, package, session) = instance.open_package(global)?;
    let secrets = secret_values(&own.secrets)?;
    let part = (own.from.is_some() || own.to.is_some()).then(|| part(&session, own.from.as_ref(), own.to.as_ref()));
    let (entries, ends) = match part.transpose()? {
        Some((entries, ends)) => (entries, Some(ends)),
        None => (meant(&session, own)?, None),
    };
    let all = own.all || ends.is_some();
    let mut earlier = Earlier::of(global, &package)?;
    // Before the first guest starts: behind the ring nothing is compiled.
    for sealed in &entries {
        host.load_again(earlier.maker(sealed, &package)?, sealed);
    }
    let mut verified = Vec::new();
    for (done, sealed) in entries.iter().enumerate() {
        progress::at(done, entries.len());
        let maker = earlier.maker(sealed, &package)?;
        verified.push((sealed.pin(), host.verify(maker, &session, sealed, &secrets)?));
    }
    match verified_value(&verified, all) {
        Ok((mut value, summary)) => {
            if let Some((after, last)) = ends {
                (value.after, value.last) = (Some(after.into()), Some(last.into()));
            }
            output.answer("verify", VerifyAnswers::Runs(value), |_| summary)?;
        }
        Err(report) => {
            let results = report.details.get("entries").and_then(Value::as_array).cloned().unwrap_or_default();
            let others: Vec<Value> =
                results.into_iter().filter(|one| one["status"] != "equal").take(SHOWN_MAX).collect();
            let columns = [("sequence", "N"), ("status", "STATUS"), ("detail", "WHAT"), ("hash", "HASH")];
            return Err(Fault::from(report).seen_as(human::table(&others, &columns)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The entries that are meant, if no part of the ledger is.
fn meant(session: &Session, own: &VerifyArguments) -> Result<Vec<Sealed>, Failure> {
    Ok(match &own.entry {
        _ if own.all => session.entries(1).collect::<Result<Vec<_>, _>>()?,
        name => session.entry_or_last_run(name.as_ref())?.into_iter().collect(),
    })
}

/// A part of the ledger, which hangs together, with the entry that it rests on and the last one of it. Parts whose ends meet are a ledger
/// that was verified whole.
fn part(
    session: &Session,
    from: Option<&EntryName>,
    to: Option<&EntryName>,
) -> Result<(Vec<Sealed>, (Pin, Pin)), Fault> {
    let first = session.entry(from.unwrap_or(&EntryName::Sequence(1)))?;
    let last = session.entry(to.unwrap_or(&EntryName::Last))?;
    let count = (last.sequence + 1).checked_sub(first.sequence).filter(|count| *count > 0);
    let count = count.ok_or_else(|| Fault::usage("--from is behind --to"))?;
    let rests = first.open().map_err(Failure::Entry)?;
    let after = Pin { sequence: rests.sequence.saturating_sub(1), hash: rests.previous };
    let mut chain = Chain::after(after);
    let mut entries = Vec::new();
    for sealed in session.entries(first.sequence).take(usize::try_from(count).unwrap_or(usize::MAX)) {
        let sealed = sealed.map_err(Failure::from)?;
        chain.take(&sealed).map_err(Failure::Chain)?;
        entries.push(sealed);
    }
    Ok((entries, (after, chain.head())))
}
