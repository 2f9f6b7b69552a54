//! `hutch apply`: commits what a plan said.

use super::instance::InstanceArguments;
use super::plan::tell;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::call::guest;
use crate::call::invocation::secret_values;
use crate::flags::global::Global;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::EntryName;
use hutch_documents::run::kept_value;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ApplyArguments {
    /// Give a secret that the plan was given, from this process's environment; may be repeated
    #[arg(long = "secret", value_name = "NAME")]
    secrets: Vec<String>,
    #[command(flatten)]
    instance: InstanceArguments,
    /// The plan: its plan_id or the beginning of it, @ and its number in the ledger, or last for the last plan
    #[arg(value_name = "PLAN", default_value = "last")]
    plan: EntryName,
}

pub(crate) fn apply(global: &Global, own: &ApplyArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (host, package, session) = own.instance.open_package(global)?;
    let secrets = secret_values(&own.secrets)?;
    let applied = host.apply(&package, &session, &own.plan, &secrets, global.yes);
    let answer = applied.map_err(|failure| repair::again(failure.report(), &global.line, 0))?;
    output.done(Done::run(&answer, own.instance.show(global, &answer.entry)));
    tell("apply", &answer, kept_value(&answer, &host), output, |_| {
        let told = guest::told(&answer.outcome.stdout);
        match answer.kept {
            true => told.and(format!("\nentry {}, and its change is kept", answer.entry.sequence)),
            false => told.and("\nnothing of it is kept"),
        }
    })
}
