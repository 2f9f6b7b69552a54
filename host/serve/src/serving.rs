//! What is served, and what a server takes from the program that it is part of.

use hutch::package::Package;
use hutch::{Answer, Host};
use hutch_model::contract::Contract;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_store::InstanceName;
use serde_json::Value;
use std::collections::BTreeMap;

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
    /// The program's words.
    pub shown: Shown,
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
