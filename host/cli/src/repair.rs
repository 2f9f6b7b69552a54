//! Commands that mend a refused call: added to the library's report here, where it is known how the call was written.

use crate::output::Fault;
use crate::quote;
use hutch::Failure;
use hutch_model::contract::ArgumentViolation;
use hutch_model::error_code::ErrorCode;

/// A failure to invoke `package` with `arguments` by the host's `verb`, with fixes that can be executed as they stand.
pub(crate) fn explain(failure: &Failure, verb: &str, package: &str, arguments: &[String]) -> Fault {
    let report = failure.report();
    let call = |flags: &[&str], arguments: &[String]| {
        let words = ["hutch", verb].into_iter().chain(flags.iter().copied()).chain([package]);
        quote::line(words.chain(arguments.iter().map(String::as_str)))
    };
    let report = match failure {
        Failure::Arguments { violations } => {
            let report = match corrected(violations, arguments) {
                Some(corrected) => {
                    report.fixed_by(call(&[], &corrected), "makes the call as it was probably meant", "low")
                }
                None => report,
            };
            let command: Vec<&str> =
                arguments.iter().take_while(|word| !word.starts_with('-')).take(1).map(String::as_str).collect();
            let known = violations.iter().all(|one| one.kind != hutch_model::contract::ViolationKind::UnknownCommand);
            let words = ["hutch", "meta", package].into_iter().chain(command.into_iter().filter(|_| known));
            report.fixed_by(quote::line(words), "shows what the contract declares", "none")
        }
        Failure::Confirmation { .. } => {
            report.fixed_by(call(&["--yes"], arguments), "makes the call; only after the user agreed to it", "high")
        }
        _ if report.code == ErrorCode::Conflict => {
            report.fixed_by(call(&["--retry", "3"], arguments), "makes the call on the new state", "low")
        }
        _ => report,
    };
    report.into()
}

/// The arguments with every violation mended, if that is known of each.
fn corrected(violations: &[ArgumentViolation], arguments: &[String]) -> Option<Vec<String>> {
    let mut corrected = arguments.to_vec();
    for violation in violations {
        *corrected.get_mut(violation.index?)? = violation.instead.clone()?;
    }
    Some(corrected)
}
