//! Everything that is decided before a guest starts: what reaches it, and whether it may start at all.

use crate::call::{Call, Grants};
use crate::expected;
use crate::failure::Failure;
use crate::host::Host;
use crate::mount::Mount;
use crate::package::{Package, Resources};
use crate::session::Session;
use hutch_model::contract::Effect;
use hutch_model::diagnostic::short;
use hutch_model::error_code::ErrorCode;
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::invocation::{Access, Invocation, InvocationParts};
use hutch_model::ledger::{EntryKind, EnvironmentRecord, Inputs, InvocationRecord, MountRecord, Record, StreamRecord};
use hutch_model::manifest::Manifest;
use hutch_model::names::CommandPath;
use hutch_model::outcome::{Contract, Outcome};
use hutch_model::redact;
use hutch_sandbox::Program;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The most that an entry takes to say which folders a call was granted: with the longest names of a package and the longest inputs
/// beside it, there is room for it.
const MOUNTS_BYTES_MAX: usize = 64 << 10;

/// An invocation that may start.
pub(crate) struct Prepared {
    pub(crate) program: Program,
    pub(crate) invocation: Invocation,
    pub(crate) record: InvocationRecord,
    /// What the answer is held to, beside its form.
    pub(crate) output_schema: Option<Value>,
    pub(crate) resources: Resources,
    pub(crate) mounts: BTreeMap<String, Mount>,
    /// Whether the command is one that changes something, says the contract.
    pub(crate) changes: bool,
    /// The name of the command, if it is held to changing nothing.
    pub(crate) reads: Option<String>,
    /// Arguments and environment, if the record names them as a stream.
    inputs: Option<Vec<u8>>,
    /// Values that are written down nowhere.
    secrets: Vec<String>,
    /// What the record says that the run took, if not what is measured.
    pub(crate) wall_time_us: Option<u64>,
}

impl Prepared {
    /// The same, ended by what ends the session's runs, and said to take what those are said to take.
    pub(crate) fn on_behalf_of(mut self, session: &Session) -> Prepared {
        self.wall_time_us = self.wall_time_us.or(session.wall_time_us());
        #[cfg(feature = "machine")]
        if let Some(stop) = session.stop() {
            self.program = self.program.stopped_by(stop);
        }
        self
    }

    /// Why its outcome is neither kept nor looked for, if so: it may hold what is kept nowhere, or follow from what has no name.
    pub(crate) fn not_for_memos(&self) -> Option<&'static str> {
        match () {
            () if !self.secrets.is_empty() => Some("the call is given a secret"),
            () if !self.mounts.is_empty() => Some("the call is given a folder"),
            () if self.record.digests_only => Some("of what the call reads and writes only digests are kept"),
            () => None,
        }
    }

    /// The inputs and outputs to keep with the entry: without one in which a secret stands, as it is or as JSON writes it. A secret of
    /// few bytes stands everywhere. An input that the entry needs in order to be made again is kept in any case.
    pub(crate) fn streams<'a>(&'a self, outcome: &'a Outcome) -> Vec<&'a [u8]> {
        let told = |bytes: &[u8]| {
            let mut secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
            secrets.any(|secret| secret.len() < SHORT_BYTES || redact::holds(bytes, secret))
        };
        let all = [self.invocation.stdin(), &outcome.stdout, &outcome.stderr];
        let keeps = !self.record.digests_only;
        let kept = all.into_iter().filter(|bytes| keeps && !bytes.is_empty() && !told(bytes));
        kept.chain(self.inputs.as_deref()).collect()
    }
}

/// A secret shorter than this is not looked for.
const SHORT_BYTES: usize = 4;

/// A secret shorter than this, in characters, may stand anywhere by chance: that is no reason to refuse a call.
const TOLD_CHARACTERS_MIN: usize = 8;

/// Refuses the value of a secret among what an entry holds as it is: arguments, and values of the environment that are none.
fn check_secrets(call: &Call) -> Result<(), Failure> {
    for (name, secret) in call.environment.iter().filter(|(_, value)| value.secret) {
        let told = |text: &str| redact::holds(text.as_bytes(), &secret.value);
        if secret.value.chars().count() < TOLD_CHARACTERS_MIN {
            continue;
        }
        let argument = call.arguments.iter().position(|argument| told(argument));
        let mut plain = call.environment.iter().filter(|(_, value)| !value.secret);
        let place = match argument {
            Some(at) => Some(format!("argument {}", at + 1)),
            None => plain.find(|(_, value)| told(&value.value)).map(|(other, _)| format!("the value of {other}")),
        };
        if let Some(place) = place {
            return Err(Failure::SecretTold { name: name.clone(), place });
        }
    }
    Ok(())
}

/// What each call of a package begins with: the program's name, and the arguments of its entry.
pub(crate) fn leading(manifest: &Manifest) -> impl Iterator<Item = &str> {
    std::iter::once(manifest.slug().as_str()).chain(manifest.entry().arguments().iter().map(String::as_str))
}

/// The folders that a package has of its own.
pub(crate) fn own_folders(manifest: &Manifest) -> impl Iterator<Item = (String, Access)> {
    let volumes = manifest.volumes().iter().map(|path| (path.to_string(), Access::ReadWrite));
    let resources = manifest.resources().iter().map(|path| (path.to_string(), Access::ReadOnly));
    volumes.chain(resources)
}

/// A call that was refused before the guest started, and what may be written down of it.
pub(crate) struct Refused {
    pub(crate) failure: Box<Failure>,
    pub(crate) invocation: Option<Box<InvocationRecord>>,
}

/// Refused for what it holds, or before all of it was known: nothing of it is written down but the code.
fn unwritten(failure: Failure) -> Refused {
    Refused { failure: Box::new(failure), invocation: None }
}

/// What a call comes to, without anything having run.
#[derive(Debug)]
#[non_exhaustive]
pub struct Validated {
    /// The command that it calls, if that is certain.
    pub command: Option<CommandPath>,
    /// Whether that command changes something, says the contract.
    pub changes: bool,
    /// What the guest would get.
    pub invocation: Invocation,
    /// Why a person must confirm it, if one must.
    pub confirmation: Option<String>,
    /// The name of the command, if it is held to changing nothing.
    pub(crate) reads: Option<String>,
}

impl Host {
    /// Refuses folders that can't be granted, whatever the package asks for: those of the host itself, what holds them, and what lies
    /// in them; and for writing any, where instances are shared with other machines.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_mounts<'m>(&self, mounts: impl IntoIterator<Item = &'m Mount>) -> Result<(), Failure> {
        for mount in mounts {
            let path = || mount.path().display().to_string();
            if mount.is_hosts(self.own()) {
                return Err(Failure::MountOwn { path: path() });
            }
            if self.shares() && mount.access() == Access::ReadWrite {
                return Err(Failure::MountShared { path: path() });
            }
            if let Some(by) = mount.is_acted_on_by() {
                return Err(Failure::MountActedOn { path: path(), by: by.to_owned() });
            }
        }
        Ok(())
    }

    /// Checks a call against what the package declares, and runs nothing. That a confirmation is missing is part of the answer.
    ///
    /// # Errors
    /// The call would be refused.
    pub fn validate(&self, package: &Package, call: &Call) -> Result<Validated, Failure> {
        let manifest = package.manifest();
        let contract = expected::contract_of_call(package, &call.arguments)?;
        let contract = contract.as_deref();
        let decision = Gate::new(manifest, contract).decide(&call.arguments);
        let command = decision.command.as_ref().map(|command| command.as_str());
        let described = contract
            .and_then(|contract| contract.commands.iter().find(|described| Some(described.name.as_str()) == command));
        let changes = described.is_some_and(|described| described.effect != Effect::Read);
        let policy = call.guard.unwrap_or(manifest.guard());
        guard::check(&call.arguments, policy, contract, command).map_err(Failure::Guard)?;
        let reads = match call.unchecked {
            true => None,
            false => expected::check_arguments(package, &call.arguments)?,
        };
        let asked: BTreeSet<&str> = manifest.environment().iter().map(|name| name.as_str()).collect();
        if let Some(name) = call.environment.keys().find(|name| !asked.contains(name.as_str())) {
            return Err(Failure::Environment { name: name.clone() });
        }
        check_secrets(call)?;
        let asked: BTreeSet<&str> = manifest.mounts().iter().map(|path| path.as_str()).collect();
        if let Some(name) = call.mounts.keys().find(|name| !asked.contains(name.as_str())) {
            return Err(Failure::MountNotAsked { name: name.clone() });
        }
        self.check_mounts(call.mounts.values())?;
        let bytes = call.mounts.iter().map(|(name, mount)| 3 * name.len() + mount.recorded_bytes()).sum();
        if bytes > MOUNTS_BYTES_MAX {
            return Err(Failure::MountsTooLong { bytes, allowed: MOUNTS_BYTES_MAX });
        }
        let invocation = self.invocation(package, call)?;
        Ok(Validated { command: decision.command, changes, invocation, confirmation: decision.confirmation, reads })
    }

    /// What of a call would reach the guest; nothing of it is held against what the package declares.
    pub(crate) fn invocation(&self, package: &Package, call: &Call) -> Result<Invocation, Failure> {
        let manifest = package.manifest();
        let argv = leading(manifest).chain(call.arguments.iter().map(String::as_str)).map(str::to_owned).collect();
        let mounts = call.mounts.iter().map(|(name, mount)| (name.clone(), mount.access()));
        Ok(Invocation::new(InvocationParts {
            argv,
            environment: call.environment.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            stdin: call.stdin.clone(),
            clock_start: call.clock_start,
            seed: call.seed,
            limits: self.limits(package, call.limits.iter().map(|(limit, value)| (*limit, *value))),
            preopens: own_folders(manifest).chain(mounts).collect(),
            mounts: call.mounts.keys().cloned().collect(),
        })?)
    }

    /// Checks a call and makes its program ready. `preview` needs no confirmation: nothing of it is kept.
    pub(crate) fn prepare(
        &self,
        package: &Package,
        call: &Call,
        session: &Session,
        preview: bool,
    ) -> Result<Prepared, Refused> {
        let validated = self.validate(package, call).map_err(unwritten)?;
        let Validated { invocation, confirmation, changes, reads, .. } = validated;
        let key = session.store().secret_key().map_err(|error| unwritten(error.into()))?;
        let usual = || expected::usual_output(package, &call.arguments).map_err(|error| unwritten(error.into()));
        let contract = call.contract.map_or_else(usual, Ok)?;
        let (record, inputs) = InvocationRecord::of(&invocation, &call.secrets(), &key);
        let record = InvocationRecord {
            mounts: call.mounts.iter().map(|(name, mount)| (name.clone(), mount.record())).collect(),
            confirmed: call.confirmed,
            contract,
            digests_only: !call.keep_streams,
            ..record
        };
        if let Some(reason) = confirmation
            && !call.confirmed
            && !preview
        {
            let failure = Box::new(Failure::Confirmation { reason });
            return Err(Refused { failure, invocation: Some(Box::new(record)) });
        }
        if let Err(failure) = session.check_settled(call.mounts.values()) {
            return Err(Refused { failure: Box::new(failure), invocation: Some(Box::new(record)) });
        }
        let hidden = call.environment.values().filter(|value| value.secret).map(|value| value.value.clone()).collect();
        let ready = self.ready(package, session, invocation, record.clone(), call.mounts.clone());
        #[cfg(feature = "machine")]
        let ready = ready.map(|ready| Prepared { program: ready.program.having_spent(package.reading()), ..ready });
        ready
            .map(|ready| Prepared { inputs, secrets: hidden, changes, reads, wall_time_us: call.wall_time_us, ..ready })
            .map_err(|failure| Refused { failure: Box::new(failure), invocation: Some(Box::new(record)) })
    }

    /// Refuses a recorded invocation that asks for a confirmation and has none this time; it is made again as `kind`. A preview needs none: nothing
    /// of it is kept. What was not recorded here, nobody here has said: it is held against the contract and the guard, as what somebody says now, and
    /// asks always.
    pub(crate) fn confirm(
        &self,
        package: &Package,
        session: &Session,
        (sequence, recorded): (u64, &Record),
        kind: EntryKind,
        prepared: &mut Prepared,
    ) -> Result<(), Failure> {
        let arguments = prepared.invocation.argv().get(leading(package.manifest()).count()..).unwrap_or_default();
        let contract = expected::contract_of_call(package, arguments)?;
        let decision = Gate::new(package.manifest(), contract.as_deref()).decide(arguments);
        let mut confirmation = decision.confirmation;
        let is_own = session.head()?.is_own(sequence);
        // What a plan of here says that it changes, and what a run of here has changed, somebody here has let it change.
        let in_folders = recorded.folders.values().any(|folder| !folder.changes.is_empty());
        let is_let = kind == EntryKind::Apply || recorded.changes_state() || (recorded.kept && in_folders);
        if is_own && !is_let {
            prepared.reads = expected::reads(package, arguments)?;
        }
        if !is_own {
            let command = decision.command.as_ref().map(|command| command.as_str());
            guard::check(arguments, package.manifest().guard(), contract.as_deref(), command)
                .map_err(Failure::Guard)?;
            prepared.reads = expected::check_arguments(package, arguments)?;
            confirmation.get_or_insert_with(|| {
                format!("entry {sequence} came from another home, and nobody here asked for it")
            });
        }
        match confirmation {
            Some(reason) if !prepared.record.confirmed && session.keeps() => Err(Failure::Confirmation { reason }),
            _ => Ok(()),
        }
    }

    /// The invocation of an entry again, byte for byte, with what the ledger does not hold of it.
    pub(crate) fn prepare_again(
        &self,
        package: &Package,
        record: &Record,
        session: &Session,
        grants: &Grants,
    ) -> Result<Prepared, Failure> {
        let store = session.store();
        let again = |reason: String| Failure::NotAgain { reason };
        let Some(recorded) = &record.invocation else { return Err(again("it has no invocation".to_owned())) };
        let made_by = &record.package;
        if made_by.component.is_some_and(|component| component != package.component_digest()) {
            return Err(again("it was made by another component than the package's".to_owned()));
        }
        if made_by.component.is_some() && made_by.resources != package.resources()?.trees {
            return Err(again("the package's resources were others".to_owned()));
        }
        if recorded.contract == Contract::Schema && made_by.digest != Some(package.run_digest()?) {
            return Err(again("its answer was held to a schema of another version of the package".to_owned()));
        }
        let mut mounts = BTreeMap::new();
        for (name, was) in &recorded.mounts {
            let is_alike = |mount: &&Mount| {
                let is = mount.record();
                (is.access, is.acted_on) == (was.access, was.acted_on)
            };
            let granted = grants.mounts.get(name).filter(is_alike);
            // Where it was is no reason to grant it: the entry may have come from elsewhere.
            if granted.is_none() {
                let argument = MountRecord { path: "DIR".to_owned(), ..was.clone() }.argument(name);
                let reason = "its guest was granted a real folder, which has to be granted again";
                return Err(again(format!("{reason}: --mount {argument}")));
            }
            mounts.extend(granted.map(|mount| (name.clone(), mount.clone())));
        }
        self.check_mounts(mounts.values())?;
        session.check_settled(mounts.values())?;
        let named = |what: &str, stream: &StreamRecord| match store.stream(&stream.digest)? {
            Some(bytes) if bytes.len() as u64 == stream.size => Ok(bytes),
            Some(_) => Err(again(format!("{what} not as long as it says"))),
            None => Err(again(format!("{what} not kept any more"))),
        };
        let stdin = match &recorded.stdin {
            nothing if *nothing == StreamRecord::of(b"") => Vec::new(),
            stdin => named("its standard input is", stdin)?.to_vec(),
        };
        let apart = recorded.inputs.as_ref().map(|inputs| {
            Inputs::read(&named("its arguments are", inputs)?).map_err(|error| again(format!("its arguments: {error}")))
        });
        let apart = apart.transpose()?;
        let (argv, values) = match &apart {
            Some(inputs) => (&inputs.argv, &inputs.environment),
            None => (&recorded.argv, &recorded.environment),
        };
        let manifest = package.manifest();
        let begins = leading(manifest).collect::<Vec<_>>();
        // The words behind it are those that are judged: where others stand there, other words would run than were agreed to.
        if !argv.iter().map(String::as_str).take(begins.len()).eq(begins.iter().copied()) {
            return Err(again(format!("its arguments do not begin as the package's do, with {}", begins.join(" "))));
        }
        let mut folders = recorded.preopens.clone();
        folders.retain(|name, _| !recorded.mounts.contains_key(name));
        if folders != own_folders(manifest).collect() {
            return Err(again("it saw other folders than the package's".to_owned()));
        }
        let asked: BTreeSet<&str> = manifest.environment().iter().map(|name| name.as_str()).collect();
        if let Some(name) = values.keys().find(|name| !asked.contains(name.as_str())) {
            let name = short(name);
            return Err(again(format!("it was given the variable {name:?}, which the package does not ask for")));
        }
        let key = store.secret_key()?;
        let (mut environment, mut hidden) = (BTreeMap::new(), Vec::new());
        for (name, value) in values {
            let value = match value {
                EnvironmentRecord::Value(value) => value.clone(),
                EnvironmentRecord::Secret(hash) => match grants.secrets.get(name) {
                    Some(value) if grants.made_elsewhere || key.hash(name, value) == *hash => {
                        hidden.push(value.clone());
                        value.clone()
                    }
                    Some(_) => {
                        let reason = "is not the one it was given, as far as it was given here";
                        return Err(again(format!("the secret {name} {reason}")));
                    }
                    None => {
                        return Err(again(format!("it was given the secret {name}, which the ledger does not hold")));
                    }
                },
            };
            environment.insert(name.clone(), value);
        }
        let invocation = Invocation::new(InvocationParts {
            argv: argv.clone(),
            environment,
            stdin,
            clock_start: recorded.clock_start,
            seed: recorded.seed,
            limits: recorded.limits.clone(),
            preopens: recorded.preopens.clone(),
            mounts: mounts.keys().cloned().collect(),
        })?;
        let granted = mounts.iter().map(|(name, mount)| (name.clone(), mount.record())).collect();
        let ready =
            self.ready(package, session, invocation, InvocationRecord { mounts: granted, ..recorded.clone() }, mounts)?;
        // What is read to find out whether it is the same is no part of what the run took.
        #[cfg(feature = "machine")]
        package.reading();
        // An entry does not say whether it was held to changing nothing. One that was and changed something says that it broke its contract, and one
        // that was not says what it changed.
        let reads = match record.error {
            Some(ErrorCode::ContractViolation) => {
                expected::reads(package, ready.invocation.argv().get(begins.len()..).unwrap_or_default())?
            }
            _ => None,
        };
        Ok(Prepared { secrets: hidden, reads, ..ready })
    }

    /// The one way to an invocation that may start: its program is loaded here, and the process is enclosed.
    fn ready(
        &self,
        package: &Package,
        session: &Session,
        invocation: Invocation,
        record: InvocationRecord,
        mounts: BTreeMap<String, Mount>,
    ) -> Result<Prepared, Failure> {
        let program = self.load(package, invocation.limits())?;
        let resources = package.resources()?.clone();
        let arguments = invocation.argv().get(leading(package.manifest()).count()..).unwrap_or_default();
        let output_schema = expected::schema(package, record.contract, arguments)?;
        let without_own = |(name, mount): (String, Mount)| (name, mount.without(self.own()));
        let mounts = mounts.into_iter().map(without_own).collect();
        self.enclose(package, Some(session), &mounts)?;
        let (inputs, secrets) = (None, Vec::new());
        Ok(Prepared {
            program,
            invocation,
            record,
            output_schema,
            resources,
            mounts,
            changes: false,
            reads: None,
            inputs,
            secrets,
            wall_time_us: None,
        })
    }
}
