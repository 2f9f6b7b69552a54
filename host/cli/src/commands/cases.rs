//! Tests of a package, made of entries (`hutch ledger show --to-test`) and tried (`hutch check --tests`). Nothing of a run is kept or written down.

use super::instance::InstanceArguments;
use super::open_package;
use crate::flags::global::Global;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use hutch::case::{CASES_FUEL_MAX, Case};
use hutch::{Sealed, Session};
use hutch_documents::ledger::tested_value;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// How many tests that failed are named.
const NAMED: usize = 20;

/// A test that came to something else.
#[derive(Debug, Serialize)]
struct Failed {
    test: String,
    differences: Vec<String>,
}

/// An entry with the test that it makes.
pub(super) fn made(
    global: &Global,
    instance: &InstanceArguments,
    session: &Session,
    sealed: &Sealed,
) -> Result<Value, Fault> {
    let package = open_package(global, &instance.package, None)?;
    let case = surroundings::host(global)?.case(&package, session, sealed)?;
    Ok(tested_value(session, sealed, json!(case))?)
}

/// Tries all tests of a package, and says how many there are.
pub(super) fn tried(global: &Global, word: &Path) -> Result<usize, Fault> {
    let package = open_package(global, word, None)?;
    let (host, at) = (surroundings::host(global)?, surroundings::now());
    let files = Case::files(&package)?;
    let (mut failed, mut count, mut fuel) = (Vec::new(), 0_usize, CASES_FUEL_MAX);
    for file in &files {
        let case = Case::of(&package, file)?;
        let test = file.path.to_string();
        let tried = host.try_case(&package, &case, at, &mut fuel);
        let differences = tried.map_err(|failure| Fault::from(failure).of(&test))?;
        if !differences.is_empty() {
            count += 1;
            failed.push(Failed { test, differences });
            failed.truncate(NAMED);
        }
    }
    if count == 0 {
        return Ok(files.len());
    }
    let message = format!("{count} of {} tests came to something else", files.len());
    let report = ErrorReport::new(ErrorCode::VerifyFailed, message)
        .suggest("mend the package; or, where the new answer is meant, make the test again of an entry that has it")
        .detail("failed", &failed);
    let line = |failed: &Failed| format!("{}: {}", failed.test, failed.differences.join("; "));
    Err(Fault::from(report).seen_as(failed.iter().map(line).collect::<Vec<_>>().join("\n")))
}
