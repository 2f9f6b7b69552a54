//! `hutch plan`: what a run would do, without doing it.

use super::open_package;
use crate::answer::done::{Done, show_entry};
use crate::answer::output::{Format, Output};
use crate::call::asked;
use crate::call::ended::{failure_of, said};
use crate::call::guest;
use crate::call::invocation::{self, InvocationArguments};
use crate::flags::global::Global;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::told::Told;
use clap::Args;
use hutch::Answer;
use hutch::package::Package;
use hutch_documents::diff::file_diffs;
use hutch_documents::run::plan_value;
use hutch_model::error_report::ErrorReport;
use serde_json::Value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(crate) fn plan(global: &Global, own: PlanArguments, output: &Output) -> Result<ExitCode, Fault> {
    let mut invocation = own.invocation;
    let package = open_package(global, &invocation.package, invocation.component_bytes_max())?;
    asked::take_silently(&package, &mut invocation)?;
    preview(global, &package, invocation, output)
}

/// Runs on the current state and keeps only the record; with --dry-run not even that.
pub(super) fn preview(
    global: &Global,
    package: &Package,
    mut invocation: InvocationArguments,
    output: &Output,
) -> Result<ExitCode, Fault> {
    // What is shown is what the call does once a person agreed; that is asked for by whoever applies it.
    if !invocation.unchecked {
        invocation.arguments = invocation::confirmed(package, invocation.arguments);
    }
    let word = invocation.package.display().to_string();
    let (host, unread) = (invocation.host(global)?, invocation.unread(package));
    let is_piped_past = invocation.is_piped_past();
    let granted = invocation.granted()?;
    let call = invocation.call(global, &host, package, 0)?;
    // The guest of a plan starts without it; who applies the plan must know.
    let confirmation = host.validate(package, &call).ok().and_then(|validated| validated.confirmation);
    let answer = host.plan(package, &call).map_err(|failure| {
        repair::explain(&failure, &global.line, (package, &word), &call).unread(unread.as_deref())
    })?;
    if let Some(how) = unread.as_deref().or(invocation::looked_for(is_piped_past, &call, &answer)) {
        output.remark(how);
    }
    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
    let diffs = file_diffs(&answer);
    let plan_id = host.keeps().then(|| answer.entry.hash.to_string());
    let value = plan_value(&answer, &host, confirmation.as_deref(), &diffs);
    tell("plan", &answer, value, output, |_| {
        let told = guest::told(&answer.outcome.stdout);
        let told = diffs
            .iter()
            .fold(told, |told, diff| told.and_lines(diff.marked().into_iter().map(|(mark, line)| (mark.into(), line))));
        let Some(id) = plan_id else { return told };
        let short: String = id.chars().take(12).collect();
        let (yes, asked) = match &confirmation {
            Some(reason) => (Some("--yes"), format!("; {reason}: ask the user first")),
            None => (None, String::new()),
        };
        let instance = Some(call.instance.as_str()).filter(|name| *name != "default");
        let granted = granted.iter().map(String::as_str);
        let words = ["apply"].into_iter().chain(yes).chain(instance.into_iter().flat_map(|name| ["--instance", name]));
        let words = words.chain(granted);
        let apply = global.line.elsewhere(words.chain([word.as_str(), &short])).unwrap_or_default();
        told.and(format!("\nplan {short}{asked}\napply it with {apply}"))
    })
}

/// Answers with a document about a run whose end was good; any other end is a failure, with the document among its details.
pub(super) fn tell<T: Into<Told>>(
    command: &str,
    answer: &Answer,
    value: Result<Value, ErrorReport>,
    output: &Output,
    human: impl FnOnce(&Value) -> T,
) -> Result<ExitCode, Fault> {
    output.behind(answer.behind.as_deref());
    let person = output.format.get() == Format::Human;
    if let Some(report) = failure_of(answer, person) {
        let report = match value {
            Ok(value) => report.detail("run", value),
            Err(_) => report,
        };
        return Err(Fault::from(report).seen_as(said(answer)));
    }
    output.answer_value(true, command, value.map_err(|report| output.unanswered(report))?, human)?;
    Ok(ExitCode::SUCCESS)
}
