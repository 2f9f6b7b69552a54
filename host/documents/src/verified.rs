//! Entries that were run again.

use crate::moved::Pinned;
use hutch::Verified;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Entries that were run again.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct VerifiedAnswer {
    equal: u64,
    differ: u64,
    not_reproducible: u64,
    no_run: u64,
    /// The entry before the part of the ledger that was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Pinned")]
    pub after: Option<Pinned>,
    /// The last one of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Pinned")]
    pub last: Option<Pinned>,
    items: Vec<VerifiedEntry>,
    total: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct VerifiedEntry {
    sequence: u64,
    #[schemars(with = "String")]
    hash: Digest,
    #[schemars(extend("enum" = ["equal", "differs", "not_reproducible", "no_run"]))]
    status: &'static str,
    detail: Value,
}

/// The document about entries that were run again, and the same in words; a report if one of them did not come to the same. Entries
/// without a run are passed over where `all` are meant.
pub fn verified_value(verified: &[(Pin, Verified)], all: bool) -> Result<(VerifiedAnswer, String), ErrorReport> {
    let (mut found, mut items) = (VerifiedAnswer { total: verified.len(), ..VerifiedAnswer::default() }, Vec::new());
    for (pin, verified) in verified {
        let (count, detail) = match verified {
            Verified::Equal => (&mut found.equal, Value::Null),
            Verified::NoRun => (&mut found.no_run, Value::Null),
            Verified::Differs(differences) => (&mut found.differ, json!(differences)),
            Verified::NotReproducible(reason) => (&mut found.not_reproducible, json!(reason)),
            // What is not known here proves nothing.
            _ => (&mut found.not_reproducible, Value::Null),
        };
        *count += 1;
        items.push(VerifiedEntry { sequence: pin.sequence, hash: pin.hash, status: verified.name(), detail });
    }
    let VerifiedAnswer { equal, differ, not_reproducible, no_run, .. } = found;
    let summary =
        format!("{equal} equal, {differ} differ, {not_reproducible} not reproducible, {no_run} without a run");
    if differ > 0 || not_reproducible > 0 || (!all && no_run > 0) {
        let code = if differ > 0 { ErrorCode::VerifyFailed } else { ErrorCode::NotReproducible };
        return Err(ErrorReport::new(code, summary).detail("entries", items));
    }
    Ok((VerifiedAnswer { items, ..found }, summary))
}
