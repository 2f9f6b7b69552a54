//! `hutch verify`: re-executes recorded invocations and compares every byte.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::earlier::Earlier;
use crate::fault::Fault;
use crate::invocation::secret_values;
use crate::output::Output;
use crate::{human, progress};
use clap::Args;
use hutch::{EntryName, Verified};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use serde_json::{Value, json};
use std::process::ExitCode;

/// The most entries that people are shown.
const SHOWN_MAX: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// Give a secret that an invocation was given, from this process's environment; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    /// Verify all entries
    #[arg(long, conflicts_with = "entry")]
    all: bool,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The entry: the beginning of its hash, @ and its number, or last; the last one with a run if absent
    #[arg(value_name = "ENTRY")]
    entry: Option<EntryName>,
}

pub(super) fn verify(global: &Global, own: &VerifyArguments, output: &Output) -> Result<ExitCode, Fault> {
    // Looking at what is not there makes nothing.
    own.instance.open(global)?;
    let (host, package, session) = own.instance.open_package(global)?;
    let secrets = secret_values(&own.secrets)?;
    let entries = match &own.entry {
        _ if own.all => session.entries(1).collect::<Result<Vec<_>, _>>().map_err(hutch::Failure::from)?,
        Some(name) => vec![session.entry(name)?],
        None => session.last_run()?.into_iter().collect(),
    };
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
    match verified_value(&verified, own.all) {
        Ok((value, summary)) => output.answer("verify", value, |_| summary)?,
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

/// The document about entries that were run again, and the same in words; a report if one of them did not come to the same. Entries
/// without a run are passed over where `all` are meant.
pub(super) fn verified_value(verified: &[(Pin, Verified)], all: bool) -> Result<(Value, String), ErrorReport> {
    let (mut results, mut counts) = (Vec::new(), [0u64; 4]);
    for (pin, verified) in verified {
        let (status, count, detail) = match verified {
            Verified::Equal => ("equal", 0, Value::Null),
            Verified::Differs(differences) => ("differs", 1, json!(differences)),
            Verified::NotReproducible(reason) => ("not_reproducible", 2, json!(reason)),
            Verified::NoRun => ("no_run", 3, Value::Null),
        };
        counts[count] += 1;
        results.push(json!({ "sequence": pin.sequence, "hash": pin.hash, "status": status, "detail": detail }));
    }
    let [equal, differs, not_reproducible, no_run] = counts;
    let summary =
        format!("{equal} equal, {differs} differ, {not_reproducible} not reproducible, {no_run} without a run");
    if differs > 0 || not_reproducible > 0 || (!all && no_run > 0) {
        let code = if differs > 0 { ErrorCode::VerifyFailed } else { ErrorCode::NotReproducible };
        return Err(ErrorReport::new(code, summary).detail("entries", results));
    }
    let value = json!({
        "equal": equal,
        "differ": differs,
        "not_reproducible": not_reproducible,
        "no_run": no_run,
        "items": results,
        "total": verified.len(),
        "limit": verified.len(),
        "has_more": false,
    });
    Ok((value, summary))
}
