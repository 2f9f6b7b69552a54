//! What the operator says about one run. Everything that is not said here does not reach the guest.

use crate::mount::Mount;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use std::collections::{BTreeMap, BTreeSet};

/// A value for the guest's environment.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvironmentValue {
    /// What the guest sees.
    pub value: String,
    /// Whether the ledger may hold it; a secret is recorded as a keyed hash.
    pub secret: bool,
}

/// One run, as asked for.
#[derive(Clone)]
pub struct Call {
    /// The instance whose state it works on.
    pub instance: InstanceName,
    /// The arguments after the package.
    pub arguments: Vec<String>,
    /// Everything there is to read on standard input.
    pub stdin: Vec<u8>,
    /// The host's clock now: when the ledger says that it happened.
    pub at: Instant,
    /// The guest's wall clock at the start; `at` if nobody says otherwise.
    pub clock_start: Instant,
    /// The start of the guest's randomness.
    pub seed: Seed,
    /// Values for environment names that the package asks for.
    pub environment: BTreeMap<String, EnvironmentValue>,
    /// Real folders that the operator grants, by the name that the package asks for.
    pub mounts: BTreeMap<String, Mount>,
    /// Limits that the operator sets.
    pub limits: BTreeMap<Limit, u64>,
    /// What the output is held to; if `None`, one JSON document, or anything where the package's contract has answers for people and the
    /// call asks for one.
    pub contract: Option<Contract>,
    /// Whether the guest starts even if its arguments break the package's contract.
    pub unchecked: bool,
    /// How strictly arguments are judged; what the package says if `None`.
    pub guard: Option<Guard>,
    /// Whether the user has confirmed a command that asks for it.
    pub confirmed: bool,
    /// How often a run is repeated on the new state when another process changed it meanwhile.
    pub retries: u32,
    /// Whether standard input, output and error are kept with the entry, or only named, also when the entry is made
    /// again. One in which a secret stands, as it is or as JSON writes it, is never kept; none is if a secret has fewer than four bytes.
    pub keep_streams: bool,
    /// What the ledger says that the run took, where this host has no clock to measure it by; what was measured if `None`.
    pub wall_time_us: Option<u64>,
}

impl Call {
    /// The names of values that are written down nowhere.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        self.environment.iter().filter(|(_, value)| value.secret).map(|(name, _)| name.clone()).collect()
    }
}
