//! `hutch explain-error`: what a code means, what must be true for it not to come, what helps, and what may come after that is mended.
//! Codes of the host, of `check`, and those that a package declares.

use crate::answer::output::Output;
use crate::answers::{ExplainAnswer, Meaning, StepAnswer};
use crate::flags::global::Global;
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use crate::spec::facts;
use clap::Args;
use hutch_documents::By;
use hutch_model::contract::Failure;
use hutch_model::diagnostic::{Code, Severity};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::nearest::nearest;
use hutch_model::step::Step;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ExplainErrorArguments {
    /// The code, as FUEL_LIMIT, or all of the host's that end or begin alike, as *_LIMIT
    #[arg(value_name = "CODE")]
    code: String,
    /// The package whose code it is; the host's codes are searched if absent
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

pub(crate) fn explain_error(global: &Global, own: &ExplainErrorArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (code, package) = (own.code.as_str(), own.package.as_deref());
    let (meanings, known) = match package {
        Some(path) => {
            // A run of a package can end with the host's codes too.
            let (own, known) = of_package(global, path, code)?;
            if own.is_empty() { (of_host(code).0, known) } else { (own, known) }
        }
        None => of_host(code),
    };
    if meanings.is_empty() {
        let near = nearest(code, known.iter().map(String::as_str));
        let report = ErrorReport::new(ErrorCode::NotFound, format!("there is no code {code:?} here"));
        return Err(match near {
            Some(near) => repair::fixed(
                report.suggest(format!("did you mean {near}?")),
                global.line.replacing(code, &[near]),
                "explains that code",
                "none",
            ),
            None => report.suggest("name the package behind it if it is one of its codes"),
        }
        .into());
    }
    output.answer("explain-error", ExplainAnswer { code: code.to_owned(), meanings }, human::fields)
}

fn of_host(code: &str) -> (Vec<Meaning>, Vec<String>) {
    let is_several = code.contains('*');
    let host =
        ErrorCode::ALL.iter().copied().filter(|known| facts::stands_for(code, known.text())).map(|code| Meaning {
            code: is_several.then(|| code.text()),
            origin: "host".to_owned(),
            cause: code.meaning().to_owned(),
            exit_status: code.exit_status(),
            fix: code.fix().to_owned(),
            retry: Some(retry(code)),
            state_kept: Some(code.kept().text()),
            place: Step::of(code).map(placed),
            ..Meaning::default()
        });
    let check = Code::from_text(code).map(|code| {
        let is_error = code.severity() == Severity::Error;
        Meaning {
            origin: "check".to_owned(),
            cause: code.meaning().to_owned(),
            severity: Some(code.severity()),
            exit_status: if is_error { ErrorCode::PackageInvalid.exit_status() } else { 0 },
            fix: code.fix().to_owned(),
            retry: Some("after the package is mended"),
            place: is_error.then(|| placed(Step::Package)),
            ..Meaning::default()
        }
    });
    let known = ErrorCode::ALL.iter().map(|code| code.text()).chain(Code::ALL.iter().map(|code| code.text()));
    (host.chain(check).collect(), known.map(str::to_owned).collect())
}

/// The place of a code among the steps of a call, which is the order in which faults of one call are mended.
fn placed(step: Step) -> StepAnswer {
    StepAnswer {
        step: step.text(),
        precondition: step.precondition(),
        steps_before: step.before().map(Step::text).collect(),
        steps_after: step.after().map(Step::text).collect(),
    }
}

/// When the same call may succeed.
fn retry(code: ErrorCode) -> &'static str {
    match (code, code.exit_status()) {
        (ErrorCode::Conflict | ErrorCode::InstanceBusy, _) => "at once, on the new state",
        (ErrorCode::WallTimeLimit, _) => "once; it may have been the machine",
        (ErrorCode::HostFault, _) => "once, if it was not kept; it may have been the machine",
        (ErrorCode::AnswerLost, _) => "only if details.kept is false",
        (ErrorCode::StdinTimeLimit, _) => "when standard input is written and closed in time",
        (ErrorCode::ConfirmationRequired, _) => "with --yes, after the user agreed",
        (_, 40..=44) => "with less work or a higher limit; it ends the same way otherwise",
        _ => "after the call is corrected; it ends the same way otherwise",
    }
}

fn of_package(global: &Global, path: &Path, code: &str) -> Result<(Vec<Meaning>, Vec<String>), Fault> {
    let (outline, _) = packages::outline(global, path)?;
    let file = packages::contract(global, path, &outline)?;
    let contract = file.contract();
    let explain = |failure: &Failure| {
        let commands = contract.commands.iter().filter(|command| command.errors.contains(&failure.code));
        Meaning {
            by: Some(By::Package),
            origin: contract.name.clone(),
            cause: failure.description.clone(),
            exit_status: failure.exit_status,
            fix: failure.fix.clone(),
            commands: Some(commands.map(|command| command.name.clone()).collect()),
            place: Some(placed(Step::Answer)),
            ..Meaning::default()
        }
    };
    let meanings = contract.errors.iter().filter(|failure| failure.code == code).map(explain).collect();
    Ok((meanings, contract.errors.iter().map(|failure| failure.code.clone()).collect()))
}
