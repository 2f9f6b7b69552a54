//! What a proof is of, and what running it again comes to.

use crate::Open;
use crate::moved::Pinned;
use crate::run::Room;
use hutch::proof::Proof;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::outcome::{Ending, Outcome};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The entry that a proof is of, as that says it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Proved {
    entry: Pinned,
    #[schemars(with = "String")]
    at: Instant,
    package: String,
    version: Option<String>,
    #[schemars(with = "Option<String>")]
    component: Option<Digest>,
    instance: String,
    argv: Vec<String>,
    environment: BTreeMap<String, String>,
    #[schemars(with = "Option<String>")]
    clock_start: Option<Instant>,
    #[schemars(with = "Option<Open>")]
    ending: Option<Ending>,
    #[schemars(with = "Option<String>")]
    error: Option<ErrorCode>,
    kept: bool,
    /// How many objects of the state the run read
    objects: usize,
    /// The ledger that the entry is in, as the head of a tree: the number of its entries, a colon and the root
    tree: String,
}

impl From<&Proof> for Proved {
    fn from(proof: &Proof) -> Proved {
        let record = proof.record();
        Proved {
            entry: proof.entry().pin().into(),
            at: record.at,
            package: record.package.slug.clone(),
            version: record.package.version.clone(),
            component: record.package.component,
            instance: record.instance.clone(),
            argv: proof.argv().to_vec(),
            environment: proof.environment().into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
            clock_start: record.invocation.as_ref().map(|invocation| invocation.clock_start),
            ending: record.outcome.as_ref().map(|outcome| outcome.ending.clone()),
            error: record.error,
            kept: record.kept,
            objects: proof.objects(),
            tree: proof.tree().to_string(),
        }
    }
}

/// The same, with what the run printed when it was made again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Checked {
    #[serde(flatten)]
    proved: Proved,
    #[schemars(with = "Value")]
    output: Option<Value>,
    stdout: String,
    stderr: String,
}

impl Checked {
    /// Of a proof that was checked.
    ///
    /// # Errors
    /// What was printed is too large for an answer.
    pub fn of(proof: &Proof, outcome: &Outcome) -> Result<Checked, ErrorReport> {
        let lost = |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer would be too large: {reason}"));
        Ok(Checked {
            proved: Proved::from(proof),
            output: Room::default().output(outcome).map_err(lost)?,
            stdout: String::from_utf8_lossy(&outcome.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&outcome.stderr).into_owned(),
        })
    }
}
