//! `hutch apply`: commits what a plan said.

use super::instance::InstanceArguments;
use super::plan::tell;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::call::guest;
use crate::call::invocation::GrantArguments;
use crate::flags::global::Global;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::EntryName;
use hutch_documents::run::kept_value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    #[command(flatten)]
    given: GrantArguments,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The plan: its plan_id or the beginning of it, @ and its number in the ledger, or last for the last plan
    #[arg(value_name = "PLAN", default_value = "last")]
    plan: EntryName,
}

pub(crate) fn apply(global: &Global, own: &ApplyArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (host, package, session) = own.instance.open_package(global)?;
    let grants = own.given.grants(global, &host)?;
    // What can't be found is told, and written down, by what applies it.
    let planned = match &own.plan {
        EntryName::Last => session.last_plan().ok().flatten(),
        plan => session.entry(plan).ok(),
    };
    let (plan, line) = repair::pinned(&own.plan, planned.as_ref(), &global.line);
    let applied = host.apply(&package, &session, &plan, &grants);
    let answer = applied.map_err(|failure| repair::again(failure.report(), line.as_ref(), 0))?;
    output.done(Done::run(&answer, own.instance.show(global, &answer.entry)));
    tell("apply", &answer, kept_value(&answer, &host), output, |_| {
        let told = guest::told(&answer.outcome.stdout);
        match answer.kept {
            true => told.and(format!("\nentry {}, and its change is kept", answer.entry.sequence)),
            false => told.and("\nnothing of it is kept"),
        }
    })
}
