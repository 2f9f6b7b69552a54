//! What a tab is asked, read from JSON. Outside text becomes types here and nowhere else.

use hutch::{Call, EnvironmentValue};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One request: `{"op": "run", …}`.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Takes the attachment as a packed package.
    Load {},
    /// Takes the attachment as the code of a component.
    Artifact {},
    /// Looks into the attachment, a packed package, whose component is the answer's attachment if there is no code of it yet. Loads nothing.
    Component {},
    /// Looks into the attachment, a bundle: one of the packages that it carries is the answer's attachment, packed, if there are so many. Loads
    /// nothing.
    Carried {
        /// Which one, from 0 on.
        #[serde(default)]
        number: usize,
    },
    /// Makes an instance ready, with the attachment as its log, if there is one already.
    Open {
        /// The package's slug.
        package: String,
        /// The instance.
        instance: String,
        /// 64 hexadecimal digits under which the ledger hashes secrets.
        key: Seed,
    },
    /// Runs a command and keeps what a good end leaves.
    Run(Invoke),
    /// Runs it and keeps the record alone.
    Plan(Invoke),
    /// Checks a call and runs nothing.
    Validate(Invoke),
    /// Commits what a plan said.
    Commit {
        /// Which instance of which package, and when.
        #[serde(flatten)]
        target: Target,
        /// The plan's entry.
        plan: String,
        /// Whether a person confirmed it.
        #[serde(default)]
        confirmed: bool,
        /// What the ledger says that it took; what was measured if absent.
        #[serde(default)]
        wall_time_us: Option<u64>,
    },
    /// Takes back the last changes, or goes back before an entry.
    Undo {
        /// Which instance of which package, and when.
        #[serde(flatten)]
        target: Target,
        /// How many changes.
        #[serde(default)]
        count: Option<u64>,
        /// Before which entry.
        #[serde(default)]
        entry: Option<String>,
    },
    /// Goes to the state that an entry left.
    Restore {
        /// Which instance of which package, and when.
        #[serde(flatten)]
        target: Target,
        /// Which entry.
        entry: String,
    },
    /// Entries from a place on.
    Ledger {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// The first one's place.
        #[serde(default)]
        from: u64,
        /// How many, at most.
        #[serde(default)]
        count: Option<usize>,
    },
    /// Runs what was recorded again and compares every byte.
    Verify {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// Which entry; all of them if absent.
        #[serde(default)]
        entry: Option<String>,
    },
    /// All that an entry follows from as a proof, as the attachment.
    Prove {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// Which entry; the last one with a run if absent.
        #[serde(default)]
        entry: Option<String>,
        /// Without the package.
        #[serde(default)]
        bare: bool,
    },
    /// Looks into the attachment, a proof: the package in it is the answer's attachment, packed, if there is one. Runs nothing.
    Proof {},
    /// Takes the attachment as a proof, and runs again what it says, by the package in it or else by the one that is loaded.
    Check {
        /// The clock of whoever asks.
        at: Instant,
        /// What the run may take beyond what a run of the package may.
        #[serde(default)]
        limits: BTreeMap<Limit, u64>,
    },
    /// What a folder of a volume holds, and the digests of all volumes.
    Objects {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// The folder or file; the volumes if absent.
        #[serde(default)]
        path: Option<String>,
        /// After which entry; now if absent.
        #[serde(default)]
        entry: Option<String>,
    },
    /// A file of a volume, as the attachment.
    Read {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// The file.
        path: String,
        /// After which entry; now if absent.
        #[serde(default)]
        entry: Option<String>,
    },
    /// Everything behind an entry as a bundle, as the attachment.
    Export {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// The last place that is known already.
        #[serde(default)]
        after: u64,
        /// With the package, if it made a run among them.
        #[serde(default)]
        packages: bool,
        /// As a piece of the log that `open` is given, for nobody else.
        #[serde(default)]
        log: bool,
    },
    /// Takes the attachment in as a bundle.
    Import {
        /// Which instance of which package.
        #[serde(flatten)]
        target: Target,
        /// Whether the packages that it carries may run, to prove it. Where none is loaded, the latest of them stands for it.
        #[serde(default)]
        packages: bool,
        /// What its runs and states may take beyond what a run of the package may.
        #[serde(default)]
        limits: BTreeMap<Limit, u64>,
    },
}

/// An instance of a package, and the instant at which something is done to it.
#[derive(Debug, Deserialize)]
pub struct Target {
    /// The package's slug.
    pub package: String,
    /// The instance.
    pub instance: String,
    /// The clock of whoever asks.
    pub at: Instant,
}

/// A call of a package's command.
#[derive(Debug, Deserialize)]
pub struct Invoke {
    /// Which instance of which package, and when.
    #[serde(flatten)]
    pub target: Target,
    /// The arguments after the package.
    pub arguments: Vec<String>,
    /// Text on standard input; the attachment if absent.
    #[serde(default)]
    stdin: Option<String>,
    /// The guest's clock at the start; `at` if absent.
    #[serde(default)]
    clock_start: Option<Instant>,
    seed: Seed,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    limits: BTreeMap<Limit, u64>,
    #[serde(default)]
    contract: Option<Contract>,
    #[serde(default)]
    unchecked: bool,
    #[serde(default)]
    guard: Option<Guard>,
    #[serde(default)]
    confirmed: bool,
    #[serde(default)]
    digests_only: bool,
    #[serde(default)]
    wall_time_us: Option<u64>,
}

pub(crate) fn usage(message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(ErrorCode::Usage, message)
}

impl Request {
    /// Reads a request.
    pub(crate) fn read(bytes: &[u8]) -> Result<Request, ErrorReport> {
        serde_json::from_slice(bytes).map_err(|error| usage(format!("the request is not of a known form: {error}")))
    }
}

impl Target {
    pub(crate) fn instance(&self) -> Result<InstanceName, ErrorReport> {
        self.instance.parse().map_err(|error| usage(format!("the instance {:?}: {error}", self.instance)))
    }
}

impl Invoke {
    /// The call that it asks for.
    pub(crate) fn call(self, attachment: Vec<u8>) -> Result<Call, ErrorReport> {
        let instance = self.target.instance()?;
        let environment = EnvironmentValue::all(self.environment, self.secrets)
            .map_err(|name| usage(format!("{name} is given as a value and as a secret")))?;
        let mut call = Call::new(self.arguments, self.target.at, self.seed).in_instance(instance);
        call.stdin = self.stdin.map_or(attachment, String::into_bytes);
        call.clock_start = self.clock_start.unwrap_or(self.target.at);
        (call.environment, call.limits) = (environment, self.limits);
        (call.contract, call.guard) = (self.contract, self.guard);
        (call.unchecked, call.confirmed) = (self.unchecked, self.confirmed);
        call.keep_streams = !self.digests_only;
        call.wall_time_us = self.wall_time_us;
        Ok(call)
    }
}
