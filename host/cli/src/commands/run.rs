//! `hutch run`: a drop-in for a package's `entry.command`.

use super::open_package;
use super::plan::preview;
use super::undo::{add_omitted, add_skipped};
use crate::arguments::Global;
use crate::done::{Done, show_entry};
use crate::fault::Fault;
use crate::invocation::InvocationArguments;
use crate::output::Output;
use crate::{batch, human, progress, repair, surroundings};
use clap::Args;
use hutch::package::Package;
use hutch::{Answer, Host};
use hutch_model::error_code::ErrorCode;
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
    /// Make every invocation that standard input lists: JSON arrays of arguments, or objects with arguments, stdin, now, seed
    #[arg(long, conflicts_with_all = ["stdin", "stdin_file", "stdin_text"])]
    json_input: bool,
    /// The most invocations that such a list may have
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "json_input", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch_max: u32,
    /// Go on with the list after an invocation that failed
    #[arg(long, requires = "json_input")]
    keep_going: bool,
    /// Print one line for each invocation of the list as soon as it ended
    #[arg(long, requires = "json_input")]
    ndjson: bool,
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(super) fn run(global: &Global, mut own: RunArguments, output: &Output) -> Result<ExitCode, Fault> {
    if global.dry_run {
        if own.json_input {
            let message = "each invocation of a list begins where the one before ended, so a list can't be previewed";
            return Err(ErrorReport::new(ErrorCode::Usage, message).suggest("preview each with hutch plan").into());
        }
        return preview(global, own.invocation, output);
    }
    let component_bytes_max = own.invocation.operator_limits().get(&Limit::Component).copied();
    let package = open_package(global, &own.invocation.package, component_bytes_max)?;
    let host = own.invocation.host(global)?;
    if own.json_input {
        return batch(global, &host, &package, own, output);
    }
    own.envelope |= output.shaping.selects();
    let word = own.invocation.package.display().to_string();
    let call = own.invocation.call(global, &host, &package, own.retry)?;
    let answer = host.run(&package, &call).map_err(|failure| repair::explain(&failure, &global.line, &word, &call))?;
    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
    finish(&answer, own.envelope, output)
}

/// Answers as the guest did, or with one document about the run.
fn finish(answer: &Answer, envelope: bool, output: &Output) -> Result<ExitCode, Fault> {
    output.behind(answer.behind.as_deref());
    if envelope {
        let good = answer.verdict == Verdict::Good;
        output.answer_as(good, "run", run_value(answer), human::fields).map_err(|fault| match failure_of(answer) {
            // What was asked for is not there because the run failed: that is what has to be said.
            Some(report) if fault.report().code == ErrorCode::NotFound => {
                output.unanswered(report).ending_with(status(answer))
            }
            _ => fault,
        })?;
    } else if let Some(report) = bad_end(answer) {
        return Err(Fault::from(report).seen_as(said(answer)));
    } else {
        output.guest(&answer.outcome.stdout, &answer.outcome.stderr)?;
    }
    Ok(ExitCode::from(status(answer)))
}

/// Answers with a document about a run whose end was good; any other end is a failure, with the document among its details.
pub(super) fn tell(
    command: &str,
    answer: &Answer,
    value: Value,
    output: &Output,
    human: impl FnOnce(&Value) -> String,
) -> Result<ExitCode, Fault> {
    output.behind(answer.behind.as_deref());
    if let Some(report) = failure_of(answer) {
        return Err(Fault::from(report.detail("run", value)).seen_as(said(answer)));
    }
    output.answer(command, value, human)?;
    Ok(ExitCode::SUCCESS)
}

/// The exit status of a command that answers as the guest did.
fn status(answer: &Answer) -> u8 {
    match &answer.verdict {
        Verdict::Good => 0,
        Verdict::Failed { status } => *status,
        Verdict::Bad { code, .. } => code.exit_status(),
    }
}

/// One invocation after the other, each on the state that the one before left. Stops at the first that is not good, or goes on if
/// asked to: in either case the first is the failure that is reported, with everything that was done.
fn batch(
    global: &Global,
    host: &Host,
    package: &Package,
    own: RunArguments,
    output: &Output,
) -> Result<ExitCode, Fault> {
    if own.ndjson && output.shaping.selects() {
        return Err(Fault::usage(
            "--ndjson prints each invocation whole, so --query and --fields have nothing to choose from",
        ));
    }
    let items = batch::read(own.batch_max, global.wait)?;
    let total = items.len();
    let word = own.invocation.package.display().to_string();
    let (now, seed) = (own.invocation.now, own.invocation.seed);
    let call = own.invocation.call(global, host, package, own.retry)?;
    let instance = host.instance(package, &call.instance, call.at);
    let instance = instance.map_err(|failure| repair::explain(&failure, &global.line, &word, &call))?;
    let (mut done, mut failed, mut kept) = (Vec::new(), None, 0_usize);
    let _step = progress::during("run");
    for (at, item) in items.into_iter().enumerate() {
        progress::at(at, total);
        let mut call = call.clone();
        call.at = surroundings::now();
        call.clock_start = item.now.or(now).unwrap_or(call.at);
        call.seed = item.seed.or(seed).map_or_else(surroundings::random_seed, Ok)?;
        call.stdin = item.stdin.into_bytes();
        call.arguments.extend(item.arguments);
        let (run, status, report) = match instance.run(&call) {
            Ok(answer) => {
                if answer.kept {
                    kept += 1;
                    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
                }
                (run_value(&answer), status(&answer), failure_of(&answer))
            }
            Err(failure) => {
                let mut report = repair::explain(&failure, &global.line, &word, &call).report().clone();
                // A change of the line would make the invocations before this one again.
                report.fixes.retain(|fix| fix.risk == "none");
                (json!({"error": report}), report.code.exit_status(), Some(report))
            }
        };
        let mut result = json!({"index": at, "arguments": call.arguments, "status": status, "run": run});
        output.shaping.cleaning.value(&mut result);
        match own.ndjson {
            true => output.lines(&[result])?,
            false => done.push(result),
        }
        let stop = report.is_some() && !own.keep_going;
        failed = failed.or_else(|| Some((at, report?)));
        if stop {
            break;
        }
    }
    if let Some((at, mut report)) = failed {
        report.message = format!("invocation {at} of {total}: {}", report.message);
        if kept > 0 {
            report.suggestion = format!("{kept} invocations of the list are kept: send only the others again, mended");
        }
        let mut report =
            report.detail("index", at).detail("total", total).detail("kept", kept > 0).detail("items_kept", kept);
        if !own.ndjson {
            report = report.detail("items", done);
        }
        return Err(report.into());
    }
    if !own.ndjson {
        let result = json!({"items": done, "total": total, "done": done.len()});
        output.answer("run", result, |result| {
            let items = result.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            human::table(items, &[("index", "N"), ("status", "STATUS"), ("arguments", "ARGUMENTS")])
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The host's report about a run that is not good.
fn failure_of(answer: &Answer) -> Option<ErrorReport> {
    bad_end(answer).or_else(|| guest_failed(answer))
}

/// The host's report about a guest that ended with a failure of its own.
fn guest_failed(answer: &Answer) -> Option<ErrorReport> {
    let Verdict::Failed { status } = &answer.verdict else { return None };
    let message = format!("the guest ended with status {status}, so nothing of what it did is kept");
    Some(ErrorReport::new(ErrorCode::GuestFailed, message))
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

/// What a guest said before it ended badly, for people.
fn said(answer: &Answer) -> String {
    let streams = [("standard output", &answer.outcome.stdout), ("standard error", &answer.outcome.stderr)];
    let parts = streams.into_iter().filter(|(_, bytes)| !bytes.trim_ascii().is_empty());
    let parts =
        parts.map(|(name, bytes)| format!("the guest's {name}:\n  {}", shown(bytes).trim_end().replace('\n', "\n  ")));
    parts.collect::<Vec<_>>().join("\n")
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes)).into_owned()
}

/// The same as [`run_value`]; a preview has no entry.
pub(super) fn kept_value(answer: &Answer, host: &Host) -> Value {
    let mut value = run_value(answer);
    if !host.keeps() {
        value["entry"] = Value::Null;
    }
    value
}

/// One document about a run.
pub(super) fn run_value(answer: &Answer) -> Value {
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
            let (changes, omitted) = (&volume.changes.listed, volume.changes.omitted);
            let mut value = json!({ "before": volume.before, "after": volume.after, "changes": changes });
            add_omitted(&mut value, omitted);
            (name, value)
        })
        .collect();
    let mut value = json!({
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
        "mounts": answer.mounted.iter().map(|(name, mount)| (name, &mount.changes.listed)).collect::<BTreeMap<_, _>>(),
        "entry": { "sequence": answer.entry.sequence, "hash": answer.entry.hash },
        "error": bad_end(answer),
    });
    if !answer.withheld.is_empty() {
        value["withheld"] = json!(answer.withheld);
    }
    add_skipped(&mut value, &answer.skipped);
    value
}
