//! What a library is asked, read from JSON. Outside text becomes types here and nowhere else.

use crate::surroundings::{absolute, now, random, unusable};
use hutch::{Call, EntryName, EnvironmentValue, Grants, Mount};
use hutch_documents::Page;
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Seed};
use hutch_model::limits::Limit;
use hutch_model::manifest::Guard;
use hutch_model::outcome::Contract;
use hutch_store::InstanceName;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What every request may say.
#[derive(Debug, Deserialize)]
pub(crate) struct Common {
    /// A folder, a packed file, or the slug of an installed package.
    pub(crate) package: String,
    #[serde(default)]
    instance: Option<String>,
    /// The host's clock; that of the machine if absent.
    #[serde(default)]
    at: Option<Instant>,
    /// A name by which the call can be cancelled.
    #[serde(default)]
    pub(crate) id: Option<String>,
    /// After how long it is cancelled.
    #[serde(default)]
    pub(crate) deadline_ms: Option<u64>,
}

/// The names of its fields.
const COMMON: [&str; 5] = ["package", "instance", "at", "id", "deadline_ms"];

/// One request: `{"command": "run", "package": …, …}`. The commands are those of the command line.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) common: Common,
    pub(crate) command: Command,
}

/// What is to be done.
#[derive(Debug, Deserialize)]
#[serde(tag = "command")]
pub(crate) enum Command {
    /// Runs a command and keeps what a good end leaves.
    #[serde(rename = "run")]
    Run(Invoke),
    /// Runs it and keeps the record alone.
    #[serde(rename = "plan")]
    Plan(Invoke),
    /// Commits what a plan said.
    #[serde(rename = "apply")]
    Apply(Apply),
    /// Takes back the last changes, or goes back before an entry or to one.
    #[serde(rename = "undo")]
    Undo(Undo),
    /// Runs what was recorded again and compares every byte.
    #[serde(rename = "verify")]
    Verify(Verify),
    /// Makes a proof of an entry, or checks the one that stands on the input.
    #[serde(rename = "prove")]
    Prove(Prove),
    /// A page of the ledger, the last entries first; as they are stored, the first first.
    #[serde(rename = "ledger list")]
    LedgerList(List),
    /// An entry with its input and output: the last if none is named.
    #[serde(rename = "ledger show")]
    LedgerShow(Entry),
    /// What a folder of a volume holds, or a file of one.
    #[serde(rename = "state cat")]
    StateCat(Files),
    /// What was changed outside, and the digests of all volumes.
    #[serde(rename = "state diff")]
    StateDiff(Nothing),
    /// The package's commands with their schemas, as tools of an agent.
    #[serde(rename = "meta")]
    Meta(Nothing),
}

/// Nothing more is said.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apply {
    /// The plan's entry.
    pub(crate) plan: String,
    /// Secrets that the plan was given.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// Real folders that the plan was given.
    #[serde(default)]
    mounts: BTreeMap<String, Granted>,
    /// Whether a person confirmed it.
    #[serde(default)]
    confirmed: bool,
    /// What the ledger says that it took; what was measured if absent.
    #[serde(default)]
    pub(crate) wall_time_us: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Undo {
    /// How many changes; one if neither is said.
    #[serde(default)]
    pub(crate) count: Option<u64>,
    /// Before which entry.
    #[serde(default)]
    pub(crate) entry: Option<String>,
    /// To the state that this entry left.
    #[serde(default)]
    pub(crate) to: Option<String>,
    /// The real folders that are put back with the last change.
    #[serde(default)]
    pub(crate) mounts: BTreeMap<String, Granted>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    #[serde(default)]
    pub(crate) entry: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Verify {
    /// Which entry; the last one with a run if absent.
    #[serde(default)]
    pub(crate) entry: Option<String>,
    /// All of them.
    #[serde(default)]
    pub(crate) all: bool,
    /// Secrets that invocations were given.
    #[serde(default)]
    pub(crate) secrets: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prove {
    /// Which entry; the last one with a run if absent.
    #[serde(default)]
    pub(crate) entry: Option<String>,
    /// Without the package.
    #[serde(default)]
    pub(crate) bare: bool,
    /// Check one instead.
    #[serde(default)]
    pub(crate) check: bool,
    /// What the run that is checked may take beyond what a run of the package may.
    #[serde(default)]
    pub(crate) limits: BTreeMap<Limit, u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct List {
    /// As they are stored.
    #[serde(default)]
    pub(crate) bytes: bool,
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    offset: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Files {
    /// The folder or the file, the volume first; all volumes if absent.
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// After which entry; now if absent.
    #[serde(default)]
    pub(crate) entry: Option<String>,
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    offset: Option<u32>,
}

/// A call of a package's command.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Invoke {
    /// The arguments after the package.
    #[serde(default)]
    arguments: Vec<String>,
    /// Text on standard input; what comes beside the request if absent.
    #[serde(default)]
    stdin: Option<String>,
    /// The guest's clock at the start; `at` if absent.
    #[serde(default)]
    now: Option<Instant>,
    /// The start of the guest's randomness; random if absent.
    #[serde(default)]
    seed: Option<Seed>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    /// The same, kept as keyed hashes.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) limits: BTreeMap<Limit, u64>,
    /// Real folders, by the name that the package asks for.
    #[serde(default)]
    mounts: BTreeMap<String, Granted>,
    #[serde(default)]
    contract: Option<Contract>,
    #[serde(default)]
    unchecked: bool,
    #[serde(default)]
    guard: Option<Guard>,
    #[serde(default)]
    confirmed: bool,
    /// How often it is run again if another process changed the state.
    #[serde(default)]
    retry: u32,
    #[serde(default)]
    digests_only: bool,
    /// What the ledger says that the run took; what was measured if absent.
    #[serde(default)]
    wall_time_us: Option<u64>,
}

/// A folder that is granted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Granted {
    folder: PathBuf,
    /// `ro`, `rw`, or `rwx`: also what tools act on, and files that can be started. `ro` if absent.
    #[serde(default)]
    access: Option<String>,
}

/// A mistake of whoever called.
pub(crate) fn usage(message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(ErrorCode::Usage, message)
}

/// The most items of a page, as on the command line.
const ITEMS_MAX: u32 = 10_000;
const ITEMS: u32 = 100;

fn page(limit: Option<u32>, offset: Option<u32>) -> Result<Page, ErrorReport> {
    match limit.unwrap_or(ITEMS) {
        limit @ 1..=ITEMS_MAX => Ok(Page { limit, offset: offset.unwrap_or(0) }),
        limit => Err(usage(format!("limit is {limit}: expected 1 to {ITEMS_MAX}"))),
    }
}

impl Apply {
    /// What the plan is given again.
    pub(crate) fn grants(self) -> Result<Grants, ErrorReport> {
        let mut grants = Grants::default();
        (grants.secrets, grants.mounts, grants.confirmed) = (self.secrets, opened(self.mounts)?, self.confirmed);
        Ok(grants)
    }
}

impl Undo {
    /// How many changes are meant.
    pub(crate) fn count(&self) -> Result<u64, ErrorReport> {
        match self.count.unwrap_or(1) {
            count @ 1..=9999 => Ok(count),
            count => Err(usage(format!("count is {count}: expected 1 to 9999"))),
        }
    }
}

impl List {
    pub(crate) fn page(&self) -> Result<Page, ErrorReport> {
        page(self.limit, self.offset)
    }
}

impl Files {
    pub(crate) fn page(&self) -> Result<Page, ErrorReport> {
        page(self.limit, self.offset)
    }
}

impl Request {
    /// Reads a request.
    pub(crate) fn read(bytes: &[u8]) -> Result<Request, ErrorReport> {
        let unknown = |error: serde_json::Error| usage(format!("the request is not of a known form: {error}"));
        let mut own: Map<String, Value> = document::read_as(bytes).map_err(unknown)?;
        let common = COMMON.iter().filter_map(|name| own.remove_entry(*name)).collect();
        let common = typed(common).map_err(unknown)?;
        Ok(Request { common, command: typed(own).map_err(unknown)? })
    }
}

fn typed<T: DeserializeOwned>(fields: Map<String, Value>) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(fields))
}

impl Common {
    pub(crate) fn instance(&self) -> Result<InstanceName, ErrorReport> {
        let name = self.instance.as_deref().unwrap_or("default");
        name.parse().map_err(|error| usage(format!("the instance {name:?}: {error}")))
    }

    pub(crate) fn at(&self) -> Instant {
        self.at.unwrap_or_else(now)
    }
}

impl Invoke {
    /// Refuses what means nothing for a plan.
    pub(crate) fn check_plan(&self) -> Result<(), ErrorReport> {
        match self.retry {
            0 => Ok(()),
            _ => Err(usage("retry is for run: a plan changes nothing, and so never conflicts")),
        }
    }

    /// The call that it asks for.
    pub(crate) fn call(self, common: &Common, attachment: &[u8]) -> Result<Call, ErrorReport> {
        let at = common.at();
        if self.stdin.is_some() && !attachment.is_empty() {
            return Err(usage("standard input is given twice: as stdin, and beside the request"));
        }
        let environment = EnvironmentValue::all(self.environment, self.secrets)
            .map_err(|name| usage(format!("{name} is given as a value and as a secret")))?;
        let seed = self.seed.map_or_else(|| random().map(Seed), Ok)?;
        let mut call = Call::new(self.arguments, at, seed).in_instance(common.instance()?);
        call.stdin = self.stdin.map_or_else(|| attachment.to_vec(), String::into_bytes);
        call.clock_start = self.now.unwrap_or(at);
        (call.environment, call.limits) = (environment, self.limits);
        call.mounts = opened(self.mounts)?;
        (call.contract, call.guard) = (self.contract, self.guard);
        (call.unchecked, call.confirmed) = (self.unchecked, self.confirmed);
        call.retries = self.retry;
        call.keep_streams = !self.digests_only;
        call.wall_time_us = self.wall_time_us;
        Ok(call)
    }
}

pub(crate) fn opened(mounts: BTreeMap<String, Granted>) -> Result<BTreeMap<String, Mount>, ErrorReport> {
    mounts.into_iter().map(|(name, granted)| Ok((name, granted.mount()?))).collect()
}

impl Granted {
    fn mount(self) -> Result<Mount, ErrorReport> {
        let (access, acted_on) = match self.access.as_deref() {
            None | Some("ro") => (Access::ReadOnly, false),
            Some("rw") => (Access::ReadWrite, false),
            Some("rwx") => (Access::ReadWrite, true),
            Some(other) => return Err(usage(format!("access is {other:?}: expected ro, rw or rwx"))),
        };
        let mount = Mount::open(&absolute(&self.folder)?, access).map_err(|error| unusable(&self.folder, &error))?;
        Ok(if acted_on { mount.with_acted_on() } else { mount })
    }
}

/// An entry that a request names.
pub(crate) fn entry_name(text: &str) -> Result<EntryName, ErrorReport> {
    text.parse().map_err(|error| usage(format!("the entry {text:?}: {error}")))
}
