//! `hutch run`: a drop-in for a package's `entry.command`.

use super::open_package;
use super::plan::preview;
use crate::answer::done::{Done, show_entry};
use crate::answer::output::{Format, Output};
use crate::answers::{BatchAnswer, BatchItem};
use crate::call::ended::{failure_of, said, unsaid};
use crate::call::guest;
use crate::call::invocation::{self, InvocationArguments};
use crate::call::memo::{self, MemoArguments};
use crate::call::{asked, batch};
use crate::flags::global::Global;
use crate::machine::{progress, surroundings};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use crate::screen::told::Told;
use clap::Args;
use hutch::package::Package;
use hutch::{Answer, Host};
use hutch_documents::run::{Room, run_value};
use hutch_model::contract::Asked;
use hutch_model::error_code::ErrorCode;
use hutch_model::outcome::Verdict;
use serde_json::{Value, json};
use std::mem::ManuallyDrop;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Answer with a document about the run
    #[arg(long)]
    envelope: bool,
    /// Run again so often after a CONFLICT
    #[arg(long, value_name = "N", default_value_t = 0)]
    retry: u32,
    /// Make the calls on standard input: arrays of arguments, or {arguments, stdin, now, seed}
    #[arg(long, conflicts_with_all = ["stdin", "stdin_file", "stdin_text"])]
    json_input: bool,
    /// Print each call's line as it ends
    #[arg(long, requires = "json_input")]
    ndjson: bool,
    #[command(flatten)]
    memo: MemoArguments,
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(crate) fn run(global: &Global, mut own: RunArguments, output: &Output) -> Result<ExitCode, Fault> {
    // The process ends with its package, host and answer: taking them apart would cost a thirtieth of a short call.
    let package = open_package(global, &own.invocation.package, own.invocation.component_bytes_max())?;
    let package = ManuallyDrop::new(package);
    let asked = asked::take(&package, &mut own.invocation)?;
    asked::settle(&asked, output);
    if let Some(about) = asked.about {
        let word = own.invocation.package.display().to_string();
        let answer = asked::about(&package, &word, about, &own.invocation.arguments)?;
        return tell_about(answer, &asked, output);
    }
    if global.dry_run || asked.dry_run {
        if own.json_input || asked.batch {
            let message = "each invocation of a list begins where the one before ended, so a list can't be previewed";
            return Err(Fault::usage(message).suggest("preview each with hutch plan"));
        }
        output.preview.set(true);
        return preview(&Global { dry_run: true, ..global.clone() }, &package, own.invocation, output);
    }
    own.envelope |= output.shaping.selects();
    if asked::chooses(&asked) && (own.envelope || own.json_input || asked.batch) {
        let message =
            "behind PACKAGE, --fields and --query choose from the application's answer, which this call does not print";
        return Err(Fault::usage(message).suggest("write them before PACKAGE"));
    }
    let host = ManuallyDrop::new(own.invocation.host(global)?);
    if own.json_input || asked.batch {
        return batch(global, &host, &package, own, asked.batch, output);
    }
    let word = own.invocation.package.display().to_string();
    let (unread, is_piped_past) = (own.invocation.unread(&package), own.invocation.is_piped_past());
    let mut call = own.invocation.call(global, &host, &package, own.retry)?;
    call.memo = own.memo.sample();
    let answer = host.run(&package, &call).map_err(|failure| {
        repair::explain(&failure, &global.line, (&package, &word), &call).unread(unread.as_deref())
    })?;
    if let Some(how) = unread.as_deref().or(invocation::looked_for(is_piped_past, &call, &answer)) {
        output.remark(how);
    }
    let answer = ManuallyDrop::new(answer);
    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
    memo::tell(output, answer.memo.as_ref());
    finish(&answer, own.envelope, &asked, output)
}

/// Answers in the application's place, as the application would.
fn tell_about((value, text): (Value, String), asked: &Asked, output: &Output) -> Result<ExitCode, Fault> {
    let shaped = asked::shaped(asked, value.to_string().as_bytes()).map_err(|report| output.unanswered(report))?;
    match (shaped, output.format.get()) {
        (Some(shaped), _) => shaped.print(output)?,
        (None, Format::Human) => output.told(text)?,
        (None, Format::Json) => output.bare(value)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Answers as the guest did, or with one document about the run.
fn finish(answer: &Answer, envelope: bool, asked: &Asked, output: &Output) -> Result<ExitCode, Fault> {
    output.behind(answer.behind.as_deref());
    let person = output.format.get() == Format::Human;
    if envelope {
        let value = match run_value(answer, &mut Room::default()) {
            Ok(value) => value,
            // That the run failed matters more than that it can't be shown.
            Err(report) => {
                let report = failure_of(answer, person).unwrap_or(report);
                return Err(output.unanswered(report).seen_as(said(answer)));
            }
        };
        let good = answer.verdict == Verdict::Good;
        output.answer_value(good, "run", value, human::fields).map_err(|fault| match failure_of(answer, person) {
            // What was asked for is not there because the run failed: that is what has to be said.
            Some(report) if fault.report().code == ErrorCode::NotFound => {
                output.unanswered(report).ending_with(answer.status())
            }
            _ => fault,
        })?;
        return Ok(ExitCode::from(answer.status()));
    }
    if let Some(report) = answer.bad_end() {
        return Err(Fault::from(report).seen_as(said(answer)));
    }
    if let Some(report) = unsaid(answer, person) {
        return Err(Fault::from(report).ending_with(answer.status()).seen_as(said(answer)));
    }
    let (stdout, mut stderr) = (&answer.outcome.stdout, answer.outcome.stderr.as_slice());
    if answer.verdict == Verdict::Good {
        if asked.quiet {
            stderr = &[];
        }
        if let Some(shaped) = asked::shaped(asked, stdout).map_err(|report| output.unanswered(report))? {
            output.guest(&[], stderr).and_then(|()| shaped.print(output))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    match person.then(|| guest::drawn(stdout)).flatten() {
        Some(drawn) => output.guest(&[], stderr).and_then(|()| output.told(drawn))?,
        None => output.guest(stdout, stderr)?,
    }
    Ok(ExitCode::from(answer.status()))
}

/// One invocation after the other, each on the state that the one before left. Stops at the first that is not good, which is the failure
/// that is reported, with everything that was done.
fn batch(
    global: &Global,
    host: &Host,
    package: &Package,
    mut own: RunArguments,
    of_parameters: bool,
    output: &Output,
) -> Result<ExitCode, Fault> {
    if own.json_input && of_parameters {
        return Err(Fault::usage(
            "--json-input before PACKAGE reads calls, and behind it parameters: give one of them",
        ));
    }
    if own.ndjson && output.shaping.selects() {
        return Err(Fault::usage(
            "--ndjson prints each invocation whole, so --query and --fields have nothing to choose from",
        ));
    }
    let items = match of_parameters {
        true => {
            let words = std::mem::take(&mut own.invocation.arguments);
            batch::read_parameters(asked::command(package, &words)?, global.wait)?
        }
        false => batch::read(global.wait)?,
    };
    let total = items.len();
    let word = own.invocation.package.display().to_string();
    let (now, seed) = (own.invocation.now, own.invocation.seed);
    let mut call = own.invocation.call(global, host, package, own.retry)?;
    call.memo = own.memo.sample();
    let instance = host.instance(package, &call.instance, call.at);
    let instance = instance.map_err(|failure| repair::explain(&failure, &global.line, (package, &word), &call))?;
    let (mut done, mut failed, mut kept, mut room) = (Vec::new(), None, 0_usize, Room::default());
    let (person, mut seen) = (output.format.get() == Format::Human, String::new());
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
                memo::tell(output, answer.memo.as_ref());
                if answer.kept {
                    kept += 1;
                    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
                }
                if own.ndjson {
                    room = Room::default();
                }
                if failure_of(&answer, person).is_some() {
                    seen = said(&answer);
                }
                match run_value(&answer, &mut room) {
                    Ok(value) => (value, answer.status(), failure_of(&answer, person)),
                    Err(report) => {
                        let report = failure_of(&answer, person).unwrap_or(report);
                        let report = output.unanswered(report).report().clone();
                        (json!({"error": report}), report.code.exit_status(), Some(report))
                    }
                }
            }
            Err(failure) => {
                let mut report = repair::explain(&failure, &global.line, (package, &word), &call).report().clone();
                // A change of the line would make the invocations before this one again.
                report.fixes.retain(|fix| fix.risk == "none");
                (json!({"error": report}), report.code.exit_status(), Some(report))
            }
        };
        let mut result = json!(BatchItem { index: at, arguments: call.arguments, status, run });
        output.shaping.cleaning.value(&mut result);
        match own.ndjson {
            true => output.lines(&[result])?,
            false => done.push(result),
        }
        if let Some(report) = report {
            failed = Some((at, report));
            break;
        }
    }
    if let Some((at, mut report)) = failed {
        report.message = format!("invocation {at} of {total}: {}", report.message);
        if report.code == ErrorCode::GuestFailed && !person {
            report.suggestion = match own.ndjson {
                true => format!("read what it says in the line of index {at}"),
                false => format!("read what it says in details.items[{at}].run"),
            };
        }
        if kept > 0 {
            report.suggestion = format!("{kept} invocations of the list are kept: send only the others again, mended");
        }
        let mut report =
            report.detail("index", at).detail("total", total).detail("kept", kept > 0).detail("items_kept", kept);
        let told = table(&done).and(seen);
        if !own.ndjson {
            report = report.detail("items", done);
        }
        return Err(Fault::from(report).seen_as(told));
    }
    if !own.ndjson {
        let result = BatchAnswer { done: done.len(), items: done, total };
        output.answer("run", result, |result| {
            let items = result.get("items").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            table(items)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(items: &[Value]) -> Told {
    human::table(items, &[("index", "N"), ("status", "STATUS"), ("arguments", "ARGUMENTS")])
}
