//! What comes from around the process: words, variables, the clock, randomness.

use crate::report::usage;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

/// The words behind the program's name.
#[expect(clippy::disallowed_methods, reason = "the program's words are its own")]
pub(crate) fn words() -> Result<Vec<String>, ErrorReport> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| usage(format!("the argument {} is not UTF-8", word.display())))
    };
    std::env::args_os().skip(1).map(text).collect()
}

/// A variable, if it is set.
#[expect(clippy::disallowed_methods, reason = "an application has no other words for its host")]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Refuses to run a guest where rings are required: none stands around this program.
pub(crate) fn without_rings() -> Result<(), ErrorReport> {
    let asked = variable("HUTCH_RING").unwrap_or_default();
    match asked.to_str() {
        Some("" | "auto" | "off") => Ok(()),
        Some("required") => {
            let message = "HUTCH_RING requires rings, and none stands around this program";
            let report = ErrorReport::new(ErrorCode::RingRequired, message);
            Err(report.suggest("run the package with hutch, or ask the user whether HUTCH_RING=auto will do"))
        }
        _ => Err(usage(format!("HUTCH_RING is {asked:?}: expected required, auto or off"))),
    }
}

/// The host's clock.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the clock what time it is")]
pub(crate) fn now() -> Instant {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Instant::from_unix_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// A seed that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the one place that takes randomness")]
pub(crate) fn random_seed() -> Result<Seed, ErrorReport> {
    let mut seed = [0; 32];
    let failed = |error| ErrorReport::new(ErrorCode::HostFault, format!("the system gives no randomness: {error}"));
    getrandom::fill(&mut seed).map_err(failed).map(|()| Seed(seed))
}
