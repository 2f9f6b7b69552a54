//! Answers about calls of a package's commands.

use hutch_documents::Open;
use hutch_documents::moved::Pinned;
use hutch_documents::proved::{Checked, Proved};
use hutch_documents::run::RunAnswer;
use hutch_documents::verified::VerifiedAnswer;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Seed};
use hutch_model::limits::Limits;
use hutch_model::outcome::Unreproducible;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `run` answers, if it answers itself.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "each is answered by itself; together they are what there can be")]
pub(crate) enum RunAnswers {
    /// To one call.
    One(Box<RunAnswer<'static>>),
    /// To a list of calls.
    List(BatchAnswer),
}

/// A list of calls.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BatchAnswer {
    #[schemars(with = "Vec<BatchItem>")]
    pub(crate) items: Vec<Value>,
    pub(crate) total: usize,
    pub(crate) done: usize,
}

/// One of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BatchItem {
    pub(crate) index: usize,
    pub(crate) arguments: Vec<String>,
    pub(crate) status: u8,
    #[schemars(with = "Open")]
    pub(crate) run: Value,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ValidateAnswer {
    pub(crate) calls: Option<String>,
    pub(crate) confirmation: Option<String>,
    pub(crate) argv: Vec<String>,
    pub(crate) environment: Vec<String>,
    #[schemars(with = "Open")]
    pub(crate) preopens: BTreeMap<String, Access>,
    #[schemars(with = "Open")]
    pub(crate) limits: Limits,
    pub(crate) stdin_bytes: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MapAnswer {
    pub(crate) calls: u64,
    pub(crate) failed: u64,
    pub(crate) resumed: u64,
    pub(crate) input: MapInput,
    pub(crate) output: MapOutput,
    /// What the calls saw, for --expect-state
    #[schemars(with = "String")]
    pub(crate) state: Digest,
    #[schemars(with = "String")]
    pub(crate) now: Instant,
    #[schemars(with = "String")]
    pub(crate) seed: Seed,
    pub(crate) entry: Option<Pinned>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    pub(crate) memo: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<MapLine>")]
    pub(crate) items: Option<Vec<Value>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MapInput {
    #[schemars(with = "String")]
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MapOutput {
    #[schemars(with = "Option<String>")]
    pub(crate) path: Option<PathBuf>,
    #[schemars(with = "String")]
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

/// A line that answers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MapLine {
    pub(crate) id: Value,
    #[schemars(with = "Option<String>")]
    pub(crate) key: Option<Digest>,
    pub(crate) status: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub(crate) fuel: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    pub(crate) output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) stdout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub(crate) stderr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    pub(crate) error: Option<Value>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) after: BTreeMap<String, Digest>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub(crate) unreproducible: Vec<Unreproducible>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleAnswer {
    pub(crate) commands: Vec<ScheduledCommand>,
    pub(crate) call: Option<String>,
    pub(crate) at: Option<String>,
    #[schemars(with = "Vec<String>")]
    pub(crate) next: Vec<Instant>,
    pub(crate) export: Option<ScheduleExport>,
}

/// A command that a package documents for scheduling.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduledCommand {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    #[schemars(with = "Option<String>")]
    pub(crate) effect: Option<hutch_model::contract::Effect>,
    pub(crate) confirmation_required: bool,
    pub(crate) line: u32,
}

/// What has another program make a call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleExport {
    pub(crate) form: &'static str,
    pub(crate) files: Vec<ScheduleFile>,
    pub(crate) notes: [&'static str; 2],
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ScheduleFile {
    pub(crate) name: String,
    pub(crate) text: String,
}

/// What `prove` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum ProveAnswers {
    /// A proof that was made.
    Made {
        #[schemars(with = "String")]
        path: PathBuf,
        bytes: u64,
        /// Whether the package is in it
        carries: bool,
        /// The key that signed it
        key: Option<String>,
        #[serde(flatten)]
        proved: Box<Proved>,
        changed: bool,
    },
    /// One that was checked.
    Checked {
        #[schemars(extend("enum" = ["equal"]))]
        status: &'static str,
        /// The key that was asked for, and has signed it
        key: Option<String>,
        #[serde(flatten)]
        checked: Box<Checked>,
    },
}

/// What `verify` answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum VerifyAnswers {
    /// Of runs that were run again.
    Runs(VerifiedAnswer),
    /// Of one chain.
    Chain {
        entries: u64,
        #[schemars(with = "String")]
        hash: Digest,
        /// All of them, as the head of a tree: their number, a colon and the root
        tree: String,
    },
    /// Of the chains that a file names.
    Heads { instances: u64, entries: u64 },
}
