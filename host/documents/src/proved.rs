//! What a proof is of.

use crate::Open;
use crate::moved::Pinned;
use hutch::proof::Proof;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::outcome::Ending;
use schemars::JsonSchema;
use serde::Serialize;

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
            argv: record.invocation.iter().flat_map(|invocation| invocation.argv.iter().cloned()).collect(),
            ending: record.outcome.as_ref().map(|outcome| outcome.ending.clone()),
            error: record.error,
            kept: record.kept,
            objects: proof.objects(),
            tree: proof.tree().to_string(),
        }
    }
}
