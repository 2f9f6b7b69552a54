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
pub mod draw;
pub mod judge;
pub mod read;
pub mod report;
pub mod rule;
pub mod survey;
pub mod table;
pub mod target;

use std::collections::BTreeMap;

/// Makes an issue about a package with a host's own command line, follows it, and holds that to the rules about feedback. `more` are the
/// arguments that say which package it is.
///
/// # Errors
/// The host's command line can't be called at all.
pub fn feedback(
    host: &mut dyn target::Target,
    more: &[String],
    subject: &judge::feedback::Subject<'_>,
) -> Result<BTreeMap<&'static str, rule::Finding>, target::TargetError> {
    let survey = survey::Survey::of_issues(host, more)?;
    Ok(judge::feedback::of_host(&survey, subject))
}

/// Calls the target, judges what happened, and reports.
///
/// # Errors
/// The target can't be called at all.
pub fn certify(target: &mut dyn target::Target) -> Result<report::Report, target::TargetError> {
    let survey = survey::Survey::of(target)?;
    Ok(report::Report::new(&survey, judge::all(&survey)))
}
