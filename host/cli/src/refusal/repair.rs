//! Commands that mend a refused call: added to the library's report here, where it is known how the call was written.

use crate::line::call_line::CallLine;
use crate::refusal::fault::{Fault, diagnostics_lines};
use hutch::package::Package;
use hutch::{Call, EntryName, Failure};
use hutch_model::asks::Asks;
use hutch_model::contract::{
    ArgumentViolation, Command, Contract, ContractFile, Effect, Parameter, ValueType, ViolationKind,
};
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::gate::Gate;
use hutch_model::ledger::Sealed;
use hutch_model::manifest::Manifest;
use std::path::Path;

/// A failure to invoke `package` as `call` says, with fixes that can be executed as they stand.
pub(crate) fn explain(failure: &Failure, line: &CallLine, (opened, package): (&Package, &str), call: &Call) -> Fault {
    let (report, arguments) = (failure.report(), &call.arguments);
    // What was piped is in no line.
    let input = if call.stdin.is_empty() { "" } else { ", given the same standard input" };
    let report = match failure {
        Failure::Arguments { violations } => {
            let meant = format!("the call as it was probably meant{input}");
            // These are the commands that would ask, and so come to nothing as they stand.
            let asks =
                |by: &[String]| !call.confirmed && line.is_command(&["run", "validate"]) && is_confirmed(opened, by);
            let report = match corrected(violations, arguments) {
                Some(by) if asks(&by) => confirmed(report, line, opened, (arguments, &by), &meant),
                Some(by) => {
                    let again = line.with_arguments(arguments, &by);
                    let risk = match line.is_command(&["plan", "validate"]) {
                        true => "low",
                        false => risk_of_run(opened.manifest(), contract(opened), &by),
                    };
                    fixed(report, again, &format!("makes {meant}"), line.risk(risk))
                }
                None => report,
            };
            let report = match violations.iter().find_map(|violation| misplaced(line, violation, arguments)) {
                Some(flag) => {
                    report.suggest(format!("{flag} is a flag of hutch's too: there it stands before PACKAGE"))
                }
                None => report,
            };
            let command: Vec<&str> =
                arguments.iter().take_while(|word| !word.starts_with('-')).take(1).map(String::as_str).collect();
            let known = violations.iter().all(|one| one.kind != ViolationKind::UnknownCommand);
            let words = ["meta", package].into_iter().chain(command.into_iter().filter(|_| known));
            fixed(report, line.elsewhere(words), "shows what the contract declares", "none")
        }
        Failure::Confirmation { .. } => {
            return confirmed(report, line, opened, (arguments, arguments), &format!("the call{input}")).into();
        }
        Failure::Environment { .. } | Failure::MountNotAsked { .. } => {
            let asks: Vec<String> = Asks::of(opened.manifest()).iter().map(str::to_owned).collect();
            report.suggest(format!("leave it out: all that the package asks for is {}", asks.join(", ")))
        }
        _ => report,
    };
    again(report, line, call.retries).into()
}

/// The arguments without a flag of the host's that stands among them, if it is none of the application's.
fn without_flag(package: &Package, arguments: &[String], flag: &str) -> Vec<String> {
    let read = contract(package).map(|contract| (contract, contract.read_arguments(arguments).command));
    let is_own = read.is_none_or(|(contract, command)| {
        let mut declared = command.iter().flat_map(|command| &command.parameters).chain(&contract.parameters);
        declared.any(|one| flag.strip_prefix("--") == Some(one.name.as_str()))
    });
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let left = arguments.iter().enumerate().filter(|(at, word)| is_own || *at >= end || *word != flag);
    left.map(|(_, word)| word.clone()).collect()
}

/// A report with the call of which some arguments become others, confirmed to the host, and to the application where that asks itself.
fn confirmed(
    report: ErrorReport,
    line: &CallLine,
    opened: &Package,
    (typed, meant): (&[String], &[String]),
    call: &str,
) -> ErrorReport {
    // What says no to the application is confirmed by nothing that is added.
    if options(meant).any(|word| word == "--no-confirm") {
        return report
            .suggest("ask the user, then run it again with --yes before the package and without --no-confirm");
    }
    let asks = asks_itself(opened, meant);
    // What was meant for the host is no flag of the application's, which would refuse it.
    let by = without_flag(opened, meant, "--yes");
    let by = if asks { with_confirm(by) } else { by };
    let again = match by == typed {
        true => line.with_flag("--yes"),
        false => line.with_arguments_and_flag(typed, &by, "--yes"),
    };
    let whom = if asks { ", confirmed to the host and to the application" } else { "" };
    fixed(report, again, &format!("makes {call}{whom}; only after the user agreed to it"), "high")
}

/// The arguments that may be flags.
fn options(arguments: &[String]) -> impl Iterator<Item = &String> {
    arguments.iter().take_while(|word| *word != "--")
}

/// Whether the application wants a confirmation of its own that the call neither gives nor denies.
pub(crate) fn asks_itself(package: &Package, arguments: &[String]) -> bool {
    let contract = package.contract().ok().flatten().map(ContractFile::contract);
    let command = contract.and_then(|contract| contract.read_arguments(arguments).command);
    let takes = |parameter: &Parameter| parameter.name == "confirm" && parameter.value_type == ValueType::Boolean;
    command.is_some_and(|command| command.parameters.iter().any(takes))
        && !options(arguments).any(|word| word == "--confirm" || word == "--no-confirm")
}

/// Whether the host asks for a confirmation of this call, in which nothing is wrong.
pub(crate) fn is_confirmed(package: &Package, arguments: &[String]) -> bool {
    let Ok(Some(contract)) = package.contract() else { return false };
    let read = contract.contract().read_arguments(arguments);
    let is_asked = |command: &Command| {
        let of_manifest = package.manifest().confirmation_required();
        command.confirmation_required || of_manifest.iter().any(|path| path.as_str() == command.name)
    };
    read.violations.is_empty() && read.command.is_some_and(is_asked)
}

/// How much can be lost by a run that is proposed. What the package says of its command raises that, and never lowers it.
pub(crate) fn risk_of_run(manifest: &Manifest, contract: Option<&Contract>, arguments: &[String]) -> &'static str {
    let decision = Gate::new(manifest, contract).decide(arguments);
    let described = decision.command.and_then(|name| contract?.command(name.as_str()));
    let deletes = described.is_some_and(|command| command.effect == Effect::Delete);
    if deletes || decision.confirmation.is_some() { "high" } else { "low" }
}

fn contract(package: &Package) -> Option<&Contract> {
    package.contract().ok().flatten().map(ContractFile::contract)
}

/// The arguments, confirmed to the application, where it reads a flag.
pub(crate) fn with_confirm(mut arguments: Vec<String>) -> Vec<String> {
    let end = options(&arguments).count();
    arguments.insert(end, "--confirm".to_owned());
    arguments
}

/// A report of a call that can be made again with one flag more, if there is a line for it: confirmed, or on the new state if `retries` were too
/// few.
pub(crate) fn again<'l>(report: ErrorReport, line: impl Into<Option<&'l CallLine>>, retries: u32) -> ErrorReport {
    let Some(line) = line.into() else { return report };
    match report.code {
        ErrorCode::ConfirmationRequired => {
            fixed(report, line.with_flag("--yes"), "makes the call; only after the user agreed to it", "high")
        }
        // What was left half changed is so the next time too.
        ErrorCode::Conflict if line.is_command(&["run", "replay"]) && !report.details.contains_key("left") => {
            let more = retries.saturating_mul(10).max(3).to_string();
            fixed(report, line.with_option("--retry", &more), "makes the call on the new state", "low")
        }
        _ => report,
    }
}

/// The entry that a call is about, and the line of the call with the entry's hash: what is the last one, or has this number, may be another one
/// once a person has agreed. What is not found, or is named so already, is as it stands.
pub(crate) fn pinned(name: &EntryName, found: Option<&Sealed>, line: &CallLine) -> (EntryName, Option<CallLine>) {
    let Some(sealed) = found else { return (name.clone(), Some(line.clone())) };
    let (word, hash) = (name.to_string(), sealed.hash.to_string());
    let line = match name {
        EntryName::Last => line.naming(&word, &hash),
        EntryName::Sequence(_) => line.reworded(&word, 1, &[&hash]),
        _ => Some(line.clone()),
    };
    (EntryName::Sequence(sealed.sequence), line)
}

/// A report with one more fix, if there is one.
pub(crate) fn fixed(report: ErrorReport, cmd: Option<String>, effect: &str, risk: &'static str) -> ErrorReport {
    match cmd {
        Some(cmd) => report.fixed_by(cmd, effect, risk),
        None => report,
    }
}

/// A package whose check came to nothing.
pub(crate) fn refused(line: &CallLine, path: &Path, diagnostics: &[Diagnostic]) -> Fault {
    let shown = path.display().to_string();
    let report = ErrorReport::new(ErrorCode::PackageInvalid, format!("{shown} breaks the rules of packages"))
        .detail("diagnostics", serde_json::to_value(diagnostics).unwrap_or_default());
    let report = fixed(report, line.elsewhere(["check", &shown]), "lists every problem", "none");
    Fault::from(report).seen_as(diagnostics_lines(diagnostics))
}

/// A flag of hutch's that was written behind the package, where every word is the application's.
fn misplaced<'a>(line: &CallLine, violation: &ArgumentViolation, arguments: &'a [String]) -> Option<&'a str> {
    let word = arguments.get(violation.index.filter(|_| violation.kind == ViolationKind::UnknownFlag)?)?;
    let flag = word.split('=').next().filter(|flag| flag.starts_with("--"))?;
    line.is_flag_of_run(flag).then_some(flag)
}

/// The arguments with every violation mended, if that is known of each.
fn corrected(violations: &[ArgumentViolation], arguments: &[String]) -> Option<Vec<String>> {
    let mut corrected = arguments.to_vec();
    for violation in violations {
        *corrected.get_mut(violation.index?)? = violation.instead.clone()?;
    }
    Some(corrected)
}
