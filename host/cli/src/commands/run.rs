//! `hutch run`: a drop-in for a package's `entry.command`.

use super::open_package;
use super::plan::preview;
use crate::arguments::Global;
use crate::invocation::InvocationArguments;
use crate::output::{Fault, Output};
use crate::surroundings;
use clap::Args;
use hutch::Answer;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Bytes of a bad run's output that its error report shows.
const SHOWN_BYTES: usize = 4096;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Answer with one JSON document about the run instead of the guest's output
    #[arg(long)]
    envelope: bool,
    /// Run again on the new state, so many times, if another process changed it meanwhile
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Show what the run would do, without doing it; the same as plan
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(super) fn run(global: &Global, own: RunArguments, output: &Output) -> Result<ExitCode, Fault> {
    if own.dry_run {
        return preview(global, own.invocation, output);
    }
    let package =
        open_package(&own.invocation.package, own.invocation.operator_limits().get(&Limit::Component).copied())?;
    let host = surroundings::host(global)?;
    let call = own.invocation.call(&host, &package, own.retry)?;
    let answer = host.run(&package, &call)?;
    finish(&answer, own.envelope.then(|| run_value("run", &answer)), output)
}

/// Answers as the guest did, or with one document about the run.
pub(super) fn finish(answer: &Answer, envelope: Option<Value>, output: &Output) -> Result<ExitCode, Fault> {
    output.behind(answer.behind.as_deref());
    if let Some(envelope) = envelope {
        output.json(&envelope)?;
    } else if let Some(report) = bad_end(answer) {
        return Err(report.into());
    } else {
        output.guest(&answer.outcome.stdout, &answer.outcome.stderr)?;
    }
    Ok(ExitCode::from(match &answer.verdict {
        Verdict::Good => 0,
        Verdict::Failed { status } => *status,
        Verdict::Bad { code, .. } => code.exit_status(),
    }))
}

/// The host's report about a guest that ended otherwise than by its own exit, or broke the contract.
fn bad_end(answer: &Answer) -> Option<ErrorReport> {
    let Verdict::Bad { code, message } = &answer.verdict else { return None };
    let outcome = &answer.outcome;
    let mut report = ErrorReport::new(*code, message.clone())
        .detail("fuel", outcome.fuel)
        .detail("fuel_exact", outcome.fuel_exact)
        .detail("memory_peak_bytes", outcome.memory_peak_bytes)
        .detail("stdout", shown(&outcome.stdout))
        .detail("stderr", shown(&outcome.stderr));
    match &outcome.ending {
        Ending::Limited { limit } => report = report.detail("limit", limit.name()),
        Ending::Trapped { trap } => report = report.detail("trap", trap.as_str()),
        Ending::Exited { .. } => {}
    }
    Some(report)
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes)).into_owned()
}

/// One document about a run.
pub(super) fn run_value(command: &str, answer: &Answer) -> Value {
    let outcome = &answer.outcome;
    let (ending, detail) = match &outcome.ending {
        Ending::Exited { .. } => ("exited", Value::Null),
        Ending::Trapped { trap } => ("trapped", trap.as_str().into()),
        Ending::Limited { limit } => ("limited", limit.name().into()),
    };
    let exit_status = match outcome.ending {
        Ending::Exited { status } => Some(status),
        _ => None,
    };
    let volumes: BTreeMap<_, _> = answer
        .volumes
        .iter()
        .map(|(name, volume)| {
            (name, json!({ "before": volume.before, "after": volume.after, "changes": volume.changes }))
        })
        .collect();
    json!({
        "ok": answer.verdict == Verdict::Good,
        "command": command,
        "ending": ending,
        "ending_detail": detail,
        "exit_status": exit_status,
        "output": serde_json::from_slice::<Value>(&outcome.stdout).ok(),
        "stdout": String::from_utf8_lossy(&outcome.stdout),
        "stderr": String::from_utf8_lossy(&outcome.stderr),
        "fuel": outcome.fuel,
        "fuel_exact": outcome.fuel_exact,
        "memory_peak_bytes": outcome.memory_peak_bytes,
        "refused": outcome.refused,
        "unreproducible": outcome.unreproducible,
        "profile": outcome.profile,
        "wall_time_us": answer.measured.wall_time_us,
        "load_time_us": answer.measured.load_time_us,
        "compiled": answer.measured.compiled,
        "kept": answer.kept,
        "volumes": volumes,
        "mounts": answer.mounted.iter().map(|(name, mount)| (name, &mount.changes)).collect::<BTreeMap<_, _>>(),
        "entry": { "sequence": answer.entry.sequence, "hash": answer.entry.hash },
        "error": bad_end(answer),
    })
}
