//! What is served, and what a server takes from the program that it is part of.

use crate::telemetry::Telemetry;
use hutch::package::Package;
use hutch::{Failure, Host, Mount};
use hutch_model::contract::Contract;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_store::InstanceName;
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// The most bytes of tools, unless the operator says how many commands may be tools of their own: what a client shows its model for each of
/// them takes room there.
pub const TOOLS_BYTES_MAX: usize = 4000;

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
    /// The most commands that are tools of their own; where there are more, they are found, described and called by three tools. If absent,
    /// they are where all tools together have at most [`TOOLS_BYTES_MAX`] bytes.
    pub tools_max: Option<usize>,
    /// Whether tools tell the schemas of their answers too.
    pub output_schemas: bool,
    /// Folders that whoever serves grants to every package that asks for one of the name.
    pub mounts: BTreeMap<String, Mount>,
    /// The clock and the randomness.
    pub surroundings: Surroundings,
    /// Who is told of the work.
    pub telemetry: Arc<Telemetry>,
    /// The line of the program with these words, if there is one.
    pub line: Box<Line>,
}

impl Serving {
    /// Has this process enclosed, where its owner wants that. What the system has to give is there by then, and no other thread.
    pub(crate) fn enclose(&self) -> Result<(), ServeError> {
        let packages = self.packages.iter().map(|served| &served.package);
        Ok(self.host.enclose_serving(packages, &self.instance, &self.limits, self.mounts.values())?)
    }
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
