//! What is served, and what a server takes from the program that it is part of.

use crate::telemetry::Telemetry;
use hutch::package::Package;
use hutch::{Answer, EntryName, Failure, Host, Moved, Session, Verified};
use hutch_model::contract::Contract;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{Pin, Sealed};
use hutch_model::limits::Limit;
use hutch_store::InstanceName;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// The most commands that are tools of their own, unless the operator says otherwise: what a client shows its model for each of them
/// takes room there.
pub const TOOLS_MAX: usize = 40;

/// A host, the packages that it serves, and how.
pub struct Serving {
    /// Runs them.
    pub host: Host,
    /// At least one; no two have the same slug.
    pub packages: Vec<Served>,
    /// The instance of each that is worked on.
    pub instance: InstanceName,
    /// Limits that the operator sets for every call.
    pub limits: BTreeMap<Limit, u64>,
    /// The most commands that are tools of their own; where there are more, they are found, described and called by three tools.
    pub tools_max: usize,
    /// The clock and the randomness.
    pub surroundings: Surroundings,
    /// Who is told of the work.
    pub telemetry: Arc<Telemetry>,
    /// The program's words.
    pub shown: Shown,
    /// The program's documents.
    pub documents: Documents,
}

/// A package that is served, as it was when serving began.
pub struct Served {
    /// What is run.
    pub package: Package,
    /// What a person writes to name it.
    pub word: String,
    /// How far it is trusted, as discovery says it.
    pub trust: &'static str,
    /// What it says its commands are.
    pub contract: Contract,
    /// What the program's command line says of it.
    pub about: About,
}

/// What the program's command line answers about a package: results, without what is around them.
#[derive(Clone, Default)]
pub struct About {
    /// Of `catalog`: one of its items.
    pub listed: Value,
    /// Of `meta`.
    pub meta: Value,
    /// Of `meta --export mcp`: each command with its schemas.
    pub tools: Value,
}

/// An entry that was run again, and what came of it.
pub type RunAgain = (Pin, Verified);

/// Lists what stands at a path when an entry had left it, with a limit and an offset.
pub type FilesOf = fn(&Session, Option<&EntryName>, Option<&str>, (u32, u32)) -> Result<Value, Failure>;
/// Tells a file as an entry had left it, or why it can't be told.
pub type FileOf = fn(&Session, Option<&EntryName>, &str) -> Result<Result<Value, Box<ErrorReport>>, Failure>;

/// What the program's command line answers, made of what was done: the same documents, with the same fields.
#[derive(Clone, Copy)]
pub struct Documents {
    /// What is around every answer: the command's name and its result.
    pub envelope: fn(&str, Value) -> Value,
    /// The result of `run`.
    pub run: fn(&Answer, &Host) -> Result<Value, ErrorReport>,
    /// The result of `plan`, with the reason for which a person must agree.
    pub plan: fn(&Answer, &Host, Option<&str>) -> Result<Value, ErrorReport>,
    /// The result of `undo`.
    pub moved: fn(&Session, &Moved) -> Value,
    /// The result of `verify`; a report if an entry did not come to the same.
    pub verified: fn(&[RunAgain]) -> Result<Value, ErrorReport>,
    /// The result of `ledger list`, with its limit and its offset.
    pub entries: fn(&Session, u32, u32) -> Result<Value, Failure>,
    /// Items as `ledger list` has them: at most so many behind a place, the first first.
    pub since: fn(&Session, u64, u32) -> Result<Vec<Value>, Failure>,
    /// The result of `ledger show`.
    pub entry: fn(&Session, &Sealed) -> Result<Value, Failure>,
    /// The result of `state ls` at an entry, with its limit and its offset.
    pub files: FilesOf,
    /// The result of `state cat` at an entry; a report if the file is longer than an answer may be.
    pub file: FileOf,
    /// The result of `state status`.
    pub state: fn(&Session) -> Result<Value, Failure>,
}

/// What a library does not reach for.
#[derive(Clone, Copy)]
pub struct Surroundings {
    /// The host's clock.
    pub now: fn() -> Instant,
    /// A seed that nobody can guess, if the system has one.
    pub seed: fn() -> Option<Seed>,
}

/// Makes a line of words.
pub type Line = dyn Fn(&[&str]) -> Option<String> + Send + Sync;

/// How answers are put into words: as on the program's command line.
pub struct Shown {
    /// What is reported of a run that did not end well.
    pub failure: fn(&Answer) -> Option<ErrorReport>,
    /// What a run changes, for programs and for people.
    pub changes: fn(&Answer) -> (Value, String),
    /// The line of the program with these words, if there is one.
    pub line: Box<Line>,
}

impl Served {
    /// Its name.
    pub(crate) fn slug(&self) -> &str {
        self.package.manifest().slug().as_str()
    }

    /// Whether what its commands answer is held to the schemas that it declares: they are those of a file.
    pub(crate) fn is_held(&self) -> bool {
        self.package.contract().is_ok_and(|contract| contract.is_some())
    }
}

/// Why serving did not begin, or ended otherwise than by its client's going.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// A package can't be read.
    #[error(transparent)]
    Host(#[from] Failure),
    /// The system gives no runtime, no randomness, or ends a thread.
    #[error("{0}")]
    System(String),
    /// Nobody can be listened to at the address.
    #[error("{address} can't be listened at: {source}")]
    Address {
        /// Where.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The environment says something that can't be followed.
    #[error("{0}")]
    Setting(String),
    /// The client began with something else than the protocol says.
    #[error("{0}")]
    Protocol(String),
}
