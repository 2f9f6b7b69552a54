//! `hutch validate`: checks a call against what the package declares, and runs nothing.

use super::open_package;
use crate::arguments::Global;
use crate::invocation::InvocationArguments;
use crate::output::{Fault, Format, Output};
use crate::surroundings;
use clap::Args;
use hutch_model::error_code::ErrorCode;
use hutch_model::limits::Limit;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ValidateArguments {
    #[command(flatten)]
    invocation: InvocationArguments,
}

pub(super) fn validate(global: &Global, own: ValidateArguments, output: &Output) -> Result<ExitCode, Fault> {
    let invocation = own.invocation;
    let package = open_package(&invocation.package, invocation.operator_limits().get(&Limit::Component).copied())?;
    let host = surroundings::host(global)?;
    let call = invocation.call(&host, &package, 0)?;
    let validated = host.validate(&package, &call)?;
    if let Some(reason) = &validated.confirmation
        && !call.confirmed
    {
        return Err(Fault::new(ErrorCode::ConfirmationRequired, reason.clone()));
    }
    match output.format {
        Format::Human => output.text("the call is valid")?,
        Format::Json => output.json(&json!({
            "ok": true,
            "command": "validate",
            "calls": validated.command.as_ref().map(ToString::to_string),
            "confirmation": validated.confirmation,
            "argv": validated.invocation.argv(),
            "environment": validated.invocation.environment().keys().collect::<Vec<_>>(),
            "preopens": validated.invocation.preopens(),
            "limits": validated.invocation.limits(),
            "stdin_bytes": validated.invocation.stdin().len(),
        }))?,
    }
    Ok(ExitCode::SUCCESS)
}
