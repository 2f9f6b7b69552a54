//! `hutch plan`: what a run would do, without doing it.

use super::open_package;
use super::run::tell;
use crate::arguments::Global;
use crate::diff::{FileDiff, volume_diffs};
use crate::done::{Done, show_entry};
use crate::ended::kept_value;
use crate::fault::Fault;
use crate::guest;
use crate::invocation::InvocationArguments;
use crate::output::Output;
use crate::{asked, repair};
use clap::Args;
use hutch::package::Package;
use hutch::{Answer, Host, Risk};
use hutch_model::error_report::ErrorReport;
use serde_json::{Value, json};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(super) fn plan(global: &Global, own: PlanArguments, output: &Output) -> Result<ExitCode, Fault> {
    let mut invocation = own.invocation;
    let package = open_package(global, &invocation.package, invocation.component_bytes_max())?;
    asked::take_silently(&package, &mut invocation)?;
    preview(global, &package, invocation, output)
}

/// The document about a plan.
pub(super) fn plan_value(
    answer: &Answer,
    host: &Host,
    confirmation: Option<&str>,
    diffs: &[FileDiff],
) -> Result<Value, ErrorReport> {
    let mut value = kept_value(answer, host)?;
    value["plan_id"] = json!(host.keeps().then(|| answer.entry.hash.to_string()));
    value["confirmation"] = json!(confirmation);
    value["risk"] = json!(Risk::of(answer, confirmation));
    value["diff"] = json!(diffs);
    Ok(value)
}

/// Runs on the current state and keeps only the record; with --dry-run not even that.
pub(super) fn preview(
    global: &Global,
    package: &Package,
    invocation: InvocationArguments,
    output: &Output,
) -> Result<ExitCode, Fault> {
    let word = invocation.package.display().to_string();
    let host = invocation.host(global)?;
    let call = invocation.call(global, &host, package, 0)?;
    // The guest of a plan starts without it; who applies the plan must know.
    let confirmation = host.validate(package, &call).ok().and_then(|validated| validated.confirmation);
    let answer = host
        .plan(package, &call)
        .map_err(|failure| repair::explain(&failure, &global.line, (package, &word), &call))?;
    output.done(Done::run(&answer, show_entry(&global.line, &word, &call.instance, &answer.entry)));
    let diffs = volume_diffs(&answer);
    let plan_id = host.keeps().then(|| answer.entry.hash.to_string());
    let value = plan_value(&answer, &host, confirmation.as_deref(), &diffs);
    tell("plan", &answer, value, output, |_| {
        let told = guest::told(&answer.outcome.stdout);
        let told = diffs.iter().fold(told, |told, diff| told.and(diff.for_people()));
        let Some(id) = plan_id else { return told };
        let short: String = id.chars().take(12).collect();
        let (yes, asked) = match &confirmation {
            Some(reason) => (Some("--yes"), format!("; {reason}: ask the user first")),
            None => (None, String::new()),
        };
        let instance = Some(call.instance.as_str()).filter(|name| *name != "default");
        let words = ["apply"].into_iter().chain(yes).chain(instance.into_iter().flat_map(|name| ["--instance", name]));
        let apply = global.line.elsewhere(words.chain([word.as_str(), &short])).unwrap_or_default();
        told.and(format!("\nplan {short}{asked}\napply it with {apply}"))
    })
}
