//! `hutch validate`: checks a call against what the package declares, and runs nothing.

use super::open_package;
use crate::answer::output::Output;
use crate::answers::ValidateAnswer;
use crate::call::asked;
use crate::call::invocation::InvocationArguments;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::Failure;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(crate) fn validate(global: &Global, own: ValidateArguments, output: &Output) -> Result<ExitCode, Fault> {
    let mut invocation = own.invocation;
    let word = invocation.package.display().to_string();
    let package = open_package(global, &invocation.package, invocation.component_bytes_max())?;
    asked::take_silently(&package, &mut invocation)?;
    let host = surroundings::host(global)?;
    let unread = invocation.unread(&package);
    let call = invocation.call(global, &host, &package, 0)?;
    let explain =
        |failure: &Failure| repair::explain(failure, &global.line, (&package, &word), &call).unread(unread.as_deref());
    let validated = host.validate(&package, &call).map_err(|failure| explain(&failure))?;
    if let Some(reason) = &validated.confirmation
        && !call.confirmed
    {
        return Err(explain(&Failure::Confirmation { reason: reason.clone() }));
    }
    let invocation = &validated.invocation;
    let value = ValidateAnswer {
        calls: validated.command.as_ref().map(ToString::to_string),
        confirmation: validated.confirmation.clone(),
        argv: invocation.argv().to_vec(),
        environment: invocation.environment().keys().cloned().collect(),
        preopens: invocation.preopens().clone(),
        limits: invocation.limits().clone(),
        stdin_bytes: invocation.stdin().len(),
    };
    output.answer("validate", value, |_| "the call is valid".to_owned())
}
