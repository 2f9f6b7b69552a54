//! What an entry says of what went into a guest. Secrets stand in it as hashes.

use super::canonical::canonical;
use super::record::StreamRecord;
use crate::digest::Digest;
use crate::instant::Instant;
use crate::invocation::{Access, Invocation, Seed};
use crate::limits::Limits;
use crate::outcome::Contract;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most bytes that arguments and environment take in an entry; longer ones are kept as a stream that the entry names.
pub const INPUTS_BYTES_MAX: usize = 32 << 10;

/// The key under which an instance hashes secret values.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey([u8; 32]);

impl SecretKey {
    /// A key from 32 random bytes.
    pub const fn new(bytes: [u8; 32]) -> SecretKey {
        SecretKey(bytes)
    }

    /// What stands for the secret `value` of `name`: who has the key can check a value, who has only the ledger can't guess
    /// it.
    pub fn hash(&self, name: &str, value: &str) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        for part in [name, value] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Digest::from_bytes(*hasher.finalize().as_bytes())
    }

    /// What only who has the key can say of `parts`, of which the first is what for: shows that this instance wrote them. It is never the
    /// [hash](SecretKey::hash) of a secret.
    pub fn seal(&self, parts: &[&[u8]]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        // No name is so long.
        hasher.update(&u64::MAX.to_le_bytes());
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest::from_bytes(*hasher.finalize().as_bytes())
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

/// The value of an environment variable.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentRecord {
    /// As it was.
    Value(String),
    /// The [keyed hash](SecretKey::hash) of a secret.
    Secret(Digest),
}

/// A real folder that the guest could see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MountRecord {
    /// Where it is on the host.
    pub path: String,
    /// What the guest might do with it.
    pub access: Access,
    /// Whether it might change what tools act on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acted_on: bool,
}

impl MountRecord {
    /// As whoever grants it writes it, for a guest that knows it as `name`: `DIR:NAME:ACCESS`, which is `ro`, `rw` or `rwx`.
    pub fn argument(&self, name: &str) -> String {
        let access = match (self.access, self.acted_on) {
            (Access::ReadOnly, _) => "ro",
            (Access::ReadWrite, false) => "rw",
            (Access::ReadWrite, true) => "rwx",
        };
        format!("{}:{name}:{access}", self.path)
    }
}

/// All that went into a guest besides its state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct InvocationRecord {
    /// The program's name, then its arguments; empty if they are in `inputs`.
    pub argv: Vec<String>,
    /// Arguments and environment, if they are longer than [`INPUTS_BYTES_MAX`]: an [`Inputs`] as canonical JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<StreamRecord>,
    /// What it could read on standard input.
    pub stdin: StreamRecord,
    /// Its environment, by name; empty if it is in `inputs`.
    pub environment: BTreeMap<String, EnvironmentRecord>,
    /// The wall clock at its start.
    pub clock_start: Instant,
    /// The start of its randomness.
    pub seed: Seed,
    /// What it might use.
    pub limits: Limits,
    /// The folders that were open, by the name it saw.
    pub preopens: BTreeMap<String, Access>,
    /// Those of them that are real folders.
    #[serde(default)]
    pub mounts: BTreeMap<String, MountRecord>,
    /// Whether the operator confirmed a command that asks for it.
    #[serde(default)]
    pub confirmed: bool,
    /// The contract that its output was held to.
    #[serde(default)]
    pub contract: Contract,
    /// Whether what it read and wrote was only to be named, and so is what it reads and writes when it is made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub digests_only: bool,
}

/// Arguments and environment of an invocation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The program's name, then its arguments.
    pub argv: Vec<String>,
    /// Its environment, by name.
    pub environment: BTreeMap<String, EnvironmentRecord>,
}

impl Inputs {
    /// Reads what an entry's `inputs` names.
    ///
    /// # Errors
    /// The bytes are not what [`InvocationRecord::of`] writes: who reads another form of it may read something else.
    pub fn read(bytes: &[u8]) -> Result<Inputs, serde_json::Error> {
        let inputs: Inputs = serde_json::from_slice(bytes)?;
        match canonical(&serde_json::to_value(&inputs)?).is_ok_and(|form| form == bytes) {
            true => Ok(inputs),
            false => Err(serde::de::Error::custom("they are not in their one form")),
        }
    }
}

impl InvocationRecord {
    /// Records `invocation`; the environment variables named in `secrets` by their hash under `key`. Mounts, confirmation,
    /// contract and whether streams are kept are the caller's to add. Beside it come the bytes that `inputs` names, to be kept as a stream, if it names any.
    pub fn of(
        invocation: &Invocation,
        secrets: &BTreeSet<String>,
        key: &SecretKey,
    ) -> (InvocationRecord, Option<Vec<u8>>) {
        let environment = |(name, value): (&String, &String)| {
            let record = match secrets.contains(name) {
                true => EnvironmentRecord::Secret(key.hash(name, value)),
                false => EnvironmentRecord::Value(value.clone()),
            };
            (name.clone(), record)
        };
        let inputs = Inputs {
            argv: invocation.argv().to_vec(),
            environment: invocation.environment().iter().map(environment).collect(),
        };
        let written = serde_json::to_value(&inputs).ok().and_then(|value| canonical(&value).ok());
        let apart = written.filter(|bytes| bytes.len() > INPUTS_BYTES_MAX);
        let (inputs, named) = match &apart {
            Some(bytes) => (Inputs { argv: Vec::new(), environment: BTreeMap::new() }, Some(StreamRecord::of(bytes))),
            None => (inputs, None),
        };
        let record = InvocationRecord {
            argv: inputs.argv,
            inputs: named,
            stdin: StreamRecord::of(invocation.stdin()),
            environment: inputs.environment,
            clock_start: invocation.clock_start(),
            seed: invocation.seed(),
            limits: invocation.limits().clone(),
            preopens: invocation.preopens().clone(),
            mounts: BTreeMap::new(),
            confirmed: false,
            contract: Contract::default(),
            digests_only: false,
        };
        (record, apart)
    }

    /// Whether arguments or environment stand in it beside the stream that holds them: no host writes that.
    pub(super) fn says_its_arguments_twice(&self) -> bool {
        self.inputs.is_some() && !(self.argv.is_empty() && self.environment.is_empty())
    }
}
