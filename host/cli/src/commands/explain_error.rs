//! `hutch explain-error`: what a code means, what must be true for it not to come, what helps, and what may come after that is mended.
//! Codes of the host, of `check`, and those that a package declares.

use crate::arguments::Global;
use crate::fault::Fault;
use crate::output::Output;
use crate::{human, packages, repair};
use clap::Args;
use hutch_model::contract::Failure;
use hutch_model::diagnostic::{Code, Severity};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::step::Step;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ExplainErrorArguments {
    /// The code, as FUEL_LIMIT
    #[arg(value_name = "CODE")]
    code: String,
    /// The package whose code it is; the host's codes are searched if absent
    #[arg(value_name = "PACKAGE")]
    package: Option<PathBuf>,
}

impl ExplainErrorArguments {
    /// The code, and the package if one is named. Codes are in capitals and slugs are not, so the two are told apart where they
    /// stand the other way round.
    fn parts(&self) -> (&str, Option<&Path>) {
        let is_code = |word: &str| !word.contains(|letter: char| letter.is_lowercase() || letter == '/');
        match self.package.as_deref().map(|path| (path, path.to_str())) {
            Some((_, Some(second))) if is_code(second) && !is_code(&self.code) => (second, Some(Path::new(&self.code))),
            Some((path, _)) => (&self.code, Some(path)),
            None => (&self.code, None),
        }
    }
}

pub(super) fn explain_error(global: &Global, own: &ExplainErrorArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (code, package) = own.parts();
    let (meanings, known) = match package {
        Some(path) => {
            // A run of a package can end with the host's codes too.
            let (own, known) = of_package(global, path, code)?;
            if own.is_empty() { (of_host(code).0, known) } else { (own, known) }
        }
        None => of_host(code),
    };
    if meanings.is_empty() {
        let near = known.iter().min_by_key(|known| strsim::osa_distance(known, &code.to_uppercase()));
        let report = ErrorReport::new(ErrorCode::NotFound, format!("there is no code {code:?} here"));
        return Err(match near.filter(|near| strsim::osa_distance(near, &code.to_uppercase()) <= 3) {
            Some(near) => repair::fixed(
                report.suggest(format!("did you mean {near}?")),
                global.line.replacing(code, near),
                "explains that code",
                "none",
            ),
            None => report.suggest("name the package behind it if it is one of its codes"),
        }
        .into());
    }
    output.answer("explain-error", json!({"code": code, "meanings": meanings}), human::fields)?;
    Ok(ExitCode::SUCCESS)
}

fn of_host(code: &str) -> (Vec<Value>, Vec<String>) {
    let host = ErrorCode::from_text(code).map(|code| {
        let meaning = json!({
            "origin": "host",
            "cause": code.meaning(),
            "exit_status": code.exit_status(),
            "fix": code.fix(),
            "retry": retry(code),
            "state_kept": code.kept().text(),
        });
        placed(meaning, Step::of(code))
    });
    let check = Code::from_text(code).map(|code| {
        let is_error = code.severity() == Severity::Error;
        let meaning = json!({
            "origin": "check",
            "cause": code.meaning(),
            "severity": code.severity(),
            "exit_status": if is_error { ErrorCode::PackageInvalid.exit_status() } else { 0 },
            "fix": code.fix(),
            "retry": "after the package is mended",
        });
        placed(meaning, is_error.then_some(Step::Package))
    });
    let known = ErrorCode::ALL.iter().map(|code| code.text()).chain(Code::ALL.iter().map(|code| code.text()));
    (host.into_iter().chain(check).collect(), known.map(str::to_owned).collect())
}

/// A meaning with its place among the steps of a call, which is the order in which faults of one call are mended.
fn placed(mut meaning: Value, step: Option<Step>) -> Value {
    let Some(step) = step else { return meaning };
    let place = json!({
        "step": step.text(),
        "precondition": step.precondition(),
        "steps_before": step.before().map(Step::text).collect::<Vec<_>>(),
        "steps_after": step.after().map(Step::text).collect::<Vec<_>>(),
    });
    if let (Value::Object(meaning), Value::Object(mut place)) = (&mut meaning, place) {
        meaning.append(&mut place);
    }
    meaning
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

fn of_package(global: &Global, path: &Path, code: &str) -> Result<(Vec<Value>, Vec<String>), Fault> {
    let (outline, _) = packages::outline(global, path)?;
    let file = packages::contract(global, path, &outline)?;
    let contract = file.contract();
    let explain = |failure: &Failure| {
        let commands = contract.commands.iter().filter(|command| command.errors.contains(&failure.code));
        let meaning = json!({
            "origin": contract.name,
            "cause": failure.description,
            "exit_status": failure.exit_status,
            "fix": failure.fix,
            "commands": commands.map(|command| command.name.as_str()).collect::<Vec<_>>(),
        });
        placed(meaning, Some(Step::Answer))
    };
    let meanings = contract.errors.iter().filter(|failure| failure.code == code).map(explain).collect();
    Ok((meanings, contract.errors.iter().map(|failure| failure.code.clone()).collect()))
}
