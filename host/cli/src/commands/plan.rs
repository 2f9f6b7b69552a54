//! `hutch plan`: what a run would do, without doing it.

use super::open_package;
use super::run::run_value;
use crate::arguments::Global;
use crate::diff::volume_diffs;
use crate::invocation::InvocationArguments;
use crate::output::{Fault, Format, Output};
use crate::surroundings;
use clap::Args;
use hutch_model::limits::Limit;
use hutch_model::outcome::Verdict;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(super) fn plan(global: &Global, own: PlanArguments, output: &Output) -> Result<ExitCode, Fault> {
    preview(global, own.invocation, output)
}

/// Runs on the current state and keeps only the record.
pub(super) fn preview(global: &Global, invocation: InvocationArguments, output: &Output) -> Result<ExitCode, Fault> {
    let package_path = invocation.package.clone();
    let package = open_package(&package_path, invocation.operator_limits().get(&Limit::Component).copied())?;
    let host = surroundings::host(global)?;
    let call = invocation.call(&host, &package, 0)?;
    let answer = host.plan(&package, &call)?;
    let diffs = volume_diffs(&answer);
    let plan_id = answer.entry.hash.to_string();
    match output.format {
        Format::Human => {
            let mut text = String::from_utf8_lossy(&answer.outcome.stdout).trim_end().to_owned();
            for diff in diffs.iter() {
                text.push_str(&format!("\n{}", diff.for_people()));
            }
            let short: String = plan_id.chars().take(12).collect();
            output.text(&format!(
                "{text}\n\nplan {short}: apply it with hutch apply {} {short}",
                package_path.display()
            ))?;
        }
        Format::Json => {
            let mut value = run_value("plan", &answer);
            value["plan_id"] = json!(plan_id);
            value["diff"] = json!(diffs);
            output.json(&value)?;
        }
    }
    Ok(ExitCode::from(match &answer.verdict {
        Verdict::Good => 0,
        Verdict::Failed { status } => *status,
        Verdict::Bad { code, .. } => code.exit_status(),
    }))
}
