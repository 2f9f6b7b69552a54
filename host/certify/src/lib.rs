//! Tests a command line against the 98 rules of agent-friendly command lines.
//!
//! ```text
//! target --invoke--> survey --judge--> findings --> report (level, what to mend first)
//! ```
//!
//! A [`Target`](target::Target) answers one call at a time: a package in the sandbox on a throw-away state, this program, or any
//! native one. The [`survey`] reads what the target says of itself, makes calls from that, and writes down what happened; it
//! judges nothing. The functions in [`judge`] decide each rule from what is written down alone: they call nothing, so a test can
//! hand them any target. A check that cannot fail is a defect: `tests/certify/rules` has, for each rule, a command line that
//! keeps it and one that breaks it.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

pub mod describe;
pub mod judge;
pub mod read;
pub mod report;
pub mod rule;
pub mod survey;
pub mod table;
pub mod target;

/// Calls the target, judges what happened, and reports.
///
/// # Errors
/// The target can't be called at all.
pub fn certify(target: &mut dyn target::Target) -> Result<report::Report, target::TargetError> {
    let survey = survey::Survey::of(target)?;
    Ok(report::Report::new(&survey, judge::all(&survey)))
}
