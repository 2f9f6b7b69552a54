//! Everything that is decided before a guest starts: what reaches it, and whether it may start at all.

use crate::call::Call;
use crate::expected;
use crate::failure::Failure;
use crate::folder;
use crate::host::Host;
use crate::mount::Mount;
use crate::package::Package;
use crate::session::{Session, component_digest};
use hutch_model::digest::Digest;
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::invocation::{Access, Invocation, InvocationParts};
use hutch_model::ledger::{EnvironmentRecord, InvocationRecord, Record};
use hutch_model::names::CommandPath;
use hutch_model::snapshot::MemoryObjects;
use hutch_sandbox::Program;
use hutch_store::Store;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// An invocation that may start.
pub(crate) struct Prepared {
    pub(crate) program: Program,
    pub(crate) invocation: Invocation,
    pub(crate) record: InvocationRecord,
    /// What the answer is held to, beside its form.
    pub(crate) output_schema: Option<Value>,
    pub(crate) resources: MemoryObjects,
    pub(crate) resource_trees: BTreeMap<String, Digest>,
    pub(crate) mounts: BTreeMap<String, Mount>,
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
pub struct Validated {
    /// The command that it calls, if that is certain.
    pub command: Option<CommandPath>,
    /// What the guest would get.
    pub invocation: Invocation,
    /// Why a person must confirm it, if one must.
    pub confirmation: Option<String>,
}

impl Host {
    /// Checks a call against what the package declares, and runs nothing. That a confirmation is missing is part of the answer.
    ///
    /// # Errors
    /// The call would be refused.
    pub fn validate(&self, package: &Package, call: &Call) -> Result<Validated, Failure> {
        let manifest = package.manifest();
        let contract = package.contract().map(|file| file.contract());
        let decision = Gate::new(manifest, contract).decide(&call.arguments);
        let command = decision.command.as_ref().map(|command| command.as_str());
        let policy = call.guard.unwrap_or(manifest.guard());
        guard::check(&call.arguments, policy, contract, command).map_err(Failure::Guard)?;
        expected::check_arguments(package, call)?;
        let asked: BTreeSet<&str> = manifest.environment().iter().map(|name| name.as_str()).collect();
        if let Some(name) = call.environment.keys().find(|name| !asked.contains(name.as_str())) {
            return Err(Failure::Environment { name: name.clone() });
        }
        let mut argv = vec![manifest.slug().to_string()];
        argv.extend(manifest.entry().arguments().iter().chain(&call.arguments).cloned());
        let volumes = manifest.volumes().iter().map(|path| (path.to_string(), Access::ReadWrite));
        let resources = manifest.resources().iter().map(|path| (path.to_string(), Access::ReadOnly));
        let asked: BTreeSet<&str> = manifest.mounts().iter().map(|path| path.as_str()).collect();
        if let Some(name) = call.mounts.keys().find(|name| !asked.contains(name.as_str())) {
            return Err(Failure::MountNotAsked { name: name.clone() });
        }
        let mounts = call.mounts.iter().map(|(name, mount)| (name.clone(), mount.access));
        let invocation = Invocation::new(InvocationParts {
            argv,
            environment: call.environment.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            stdin: call.stdin.clone(),
            clock_start: call.clock_start,
            seed: call.seed,
            limits: self.limits(package, call.limits.iter().map(|(limit, value)| (*limit, *value))),
            preopens: volumes.chain(resources).chain(mounts).collect(),
            mounts: call.mounts.keys().cloned().collect(),
        })?;
        Ok(Validated { command: decision.command, invocation, confirmation: decision.confirmation })
    }

    /// Checks a call and makes its program ready. `preview` needs no confirmation: nothing of it is kept.
    pub(crate) fn prepare(
        &self,
        package: &Package,
        call: &Call,
        store: &dyn Store,
        preview: bool,
    ) -> Result<Prepared, Refused> {
        let Validated { invocation, confirmation, .. } = self.validate(package, call).map_err(unwritten)?;
        let secrets: BTreeSet<String> =
            call.environment.iter().filter(|(_, value)| value.secret).map(|(name, _)| name.clone()).collect();
        let key = store.secret_key().map_err(|error| unwritten(error.into()))?;
        let record = InvocationRecord {
            mounts: call.mounts.iter().map(|(name, mount)| (name.clone(), mount.record())).collect(),
            confirmed: call.confirmed,
            contract: call.contract,
            ..InvocationRecord::of(&invocation, &secrets, &key)
        };
        if let Some(reason) = confirmation
            && !call.confirmed
            && !preview
        {
            let failure = Box::new(Failure::Confirmation { reason });
            return Err(Refused { failure, invocation: Some(Box::new(record)) });
        }
        self.ready(package, invocation, record.clone(), call.mounts.clone())
            .map_err(|failure| Refused { failure: Box::new(failure), invocation: Some(Box::new(record)) })
    }

    /// Refuses a recorded invocation that asks for a confirmation and has none this time; the refusal is recorded as `record` says. A
    /// preview needs none: nothing of it is kept.
    pub(crate) fn confirm(
        &self,
        package: &Package,
        session: &Session,
        prepared: &Prepared,
        record: &Record,
    ) -> Result<(), Failure> {
        let leading = package.manifest().entry().arguments().len() + 1;
        let arguments = prepared.invocation.argv().get(leading..).unwrap_or_default();
        let contract = package.contract().map(|file| file.contract());
        match Gate::new(package.manifest(), contract).decide(arguments).confirmation {
            Some(reason) if !prepared.record.confirmed && session.keeps() => {
                let failure = Failure::Confirmation { reason };
                let invocation = Some(prepared.record.clone());
                let refused = Record { error: Some(failure.code()), invocation, ..record.clone() };
                session.commit(&refused, &MemoryObjects::default(), &[])?;
                Err(failure)
            }
            _ => Ok(()),
        }
    }

    /// The invocation of an entry again, byte for byte. `secrets` are values that the ledger holds only as hashes.
    pub(crate) fn prepare_again(
        &self,
        package: &Package,
        record: &Record,
        store: &dyn Store,
        secrets: &BTreeMap<String, String>,
    ) -> Result<Prepared, Failure> {
        let again = |reason: String| Failure::NotAgain { reason };
        let Some(recorded) = &record.invocation else { return Err(again("it has no invocation".to_owned())) };
        if record.package.component.is_some_and(|component| component != component_digest(package)) {
            return Err(again("it was made by another component than the package's".to_owned()));
        }
        if !recorded.mounts.is_empty() {
            return Err(again("its guest could see real folders".to_owned()));
        }
        let stdin = match recorded.stdin.size {
            0 => Vec::new(),
            _ => match store.stream(&recorded.stdin.digest)? {
                Some(bytes) => bytes.to_vec(),
                None => return Err(again("its standard input is not kept any more".to_owned())),
            },
        };
        let key = store.secret_key()?;
        let mut environment = BTreeMap::new();
        for (name, value) in &recorded.environment {
            let value = match value {
                EnvironmentRecord::Value(value) => value.clone(),
                EnvironmentRecord::Secret(hash) => match secrets.get(name) {
                    Some(value) if key.hash(name, value) == *hash => value.clone(),
                    Some(_) => return Err(again(format!("the secret {name} is not the one it was given"))),
                    None => {
                        return Err(again(format!("it was given the secret {name}, which the ledger does not hold")));
                    }
                },
            };
            environment.insert(name.clone(), value);
        }
        let invocation = Invocation::new(InvocationParts {
            argv: recorded.argv.clone(),
            environment,
            stdin,
            clock_start: recorded.clock_start,
            seed: recorded.seed,
            limits: recorded.limits.clone(),
            preopens: recorded.preopens.clone(),
            mounts: BTreeSet::new(),
        })?;
        self.ready(package, invocation, recorded.clone(), BTreeMap::new())
    }

    fn ready(
        &self,
        package: &Package,
        invocation: Invocation,
        record: InvocationRecord,
        mounts: BTreeMap<String, Mount>,
    ) -> Result<Prepared, Failure> {
        let program = self.load(package, invocation.limits())?;
        let (mut resources, mut resource_trees) = (MemoryObjects::default(), BTreeMap::new());
        for path in package.manifest().resources() {
            let tree = folder::snapshot(package, path, &mut resources)?;
            resource_trees.insert(path.to_string(), tree);
        }
        let leading = package.manifest().entry().arguments().len() + 1;
        let arguments = invocation.argv().get(leading..).unwrap_or_default();
        let output_schema = expected::schema(package, record.contract, arguments)?;
        Ok(Prepared { program, invocation, record, output_schema, resources, resource_trees, mounts })
    }
}
