//! What the operator says about one run. Everything that is not said here does not reach the guest.

use crate::mount::Mount;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

/// A value for the guest's environment.
#[derive(Clone, PartialEq, Eq)]
pub struct EnvironmentValue {
    /// What the guest sees.
    pub value: String,
    /// Whether the ledger may hold it; a secret is recorded as a keyed hash.
    pub secret: bool,
}

impl EnvironmentValue {
    /// An environment of values and of secrets, each by its name.
    ///
    /// # Errors
    /// The name that both have.
    pub fn all(
        values: impl IntoIterator<Item = (String, String)>,
        secrets: impl IntoIterator<Item = (String, String)>,
    ) -> Result<BTreeMap<String, EnvironmentValue>, String> {
        let mut all = BTreeMap::new();
        for (name, value) in values {
            all.insert(name, EnvironmentValue { value, secret: false });
        }
        for (name, value) in secrets {
            if all.insert(name.clone(), EnvironmentValue { value, secret: true }).is_some() {
                return Err(name);
            }
        }
        Ok(all)
    }
}

/// What no entry holds of its invocation: whoever has that made again gives it again.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Grants {
    /// The values of which the ledger has only a hash, by the name that the guest knows them by.
    pub secrets: BTreeMap<String, String>,
    /// The real folders, by the name that the guest knew them by. Others than that invocation had reach no guest.
    pub mounts: BTreeMap<String, Mount>,
    /// Whether the user has confirmed a command that asks for it.
    pub confirmed: bool,
    /// Whether the invocation was made where secrets are hashed under another key: what it comes to with these values is all that there is to hold
    /// them against.
    pub(crate) made_elsewhere: bool,
}

/// One run, as asked for: made by [`Call::new`], and what it says more is set on it.
#[derive(Clone)]
#[non_exhaustive]
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
    /// Whether the guest starts even if its arguments break the package's contract, and may change something by a command that only reads, says
    /// the contract.
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
    /// Whether an outcome that was kept for an equal call may take the place of a run, and this one's may be kept: one of so many that are
    /// found is run all the same and compared. `None`: neither. Previews, plans and what
    /// is done again run their guests in any case.
    pub memo: Option<NonZeroU32>,
}

impl Call {
    /// A call of the instance `default` that says nothing but this: `at` is the host's clock and the guest's, `seed` the start of the
    /// guest's randomness.
    ///
    /// ```
    /// # use hutch::{Call, Instant, Limit, Seed};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let now: Instant = "2026-04-01T09:00:00Z".parse()?;
    /// let call = Call::new(["add", "milk"], now, Seed([7; 32]))
    ///     .in_instance("mine".parse()?)
    ///     .with_stdin("more about it")
    ///     .with_environment("LANGUAGE", "de")
    ///     .with_secret("TOKEN", "not written down")
    ///     .with_limit(Limit::Fuel, 1_000_000);
    /// assert_eq!((call.environment.len(), call.clock_start), (2, now));
    /// # Ok(())
    /// # }
    /// ```
    pub fn new<A: Into<String>>(arguments: impl IntoIterator<Item = A>, at: Instant, seed: Seed) -> Call {
        Call {
            instance: InstanceName::default(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            stdin: Vec::new(),
            at,
            clock_start: at,
            seed,
            environment: BTreeMap::new(),
            mounts: BTreeMap::new(),
            limits: BTreeMap::new(),
            contract: None,
            unchecked: false,
            guard: None,
            confirmed: false,
            retries: 0,
            keep_streams: true,
            wall_time_us: None,
            memo: None,
        }
    }

    /// The same, in another instance.
    #[must_use]
    pub fn in_instance(self, instance: InstanceName) -> Call {
        Call { instance, ..self }
    }

    /// The same, with this to read on standard input.
    #[must_use]
    pub fn with_stdin(self, stdin: impl Into<Vec<u8>>) -> Call {
        Call { stdin: stdin.into(), ..self }
    }

    /// The same, with a value of the environment that the ledger holds.
    #[must_use]
    pub fn with_environment(mut self, name: impl Into<String>, value: impl Into<String>) -> Call {
        self.environment.insert(name.into(), EnvironmentValue { value: value.into(), secret: false });
        self
    }

    /// The same, with one that is recorded as a keyed hash.
    #[must_use]
    pub fn with_secret(mut self, name: impl Into<String>, value: impl Into<String>) -> Call {
        self.environment.insert(name.into(), EnvironmentValue { value: value.into(), secret: true });
        self
    }

    /// The same, under a limit of the operator's.
    #[must_use]
    pub fn with_limit(mut self, limit: Limit, value: u64) -> Call {
        self.limits.insert(limit, value);
        self
    }

    /// The names of values that are written down nowhere.
    pub(crate) fn secrets(&self) -> BTreeSet<String> {
        self.environment.iter().filter(|(_, value)| value.secret).map(|(name, _)| name.clone()).collect()
    }
}
