//! A run for real: check, run, judge, keep.

use crate::call::Call;
use crate::expected;
use crate::failure::Failure;
use crate::folder;
use crate::host::Host;
use crate::package::Package;
use hutch_model::digest::Digest;
use hutch_model::gate::Gate;
use hutch_model::guard;
use hutch_model::invocation::{Access, Invocation, InvocationParts};
use hutch_model::ledger::{EntryKind, InvocationRecord, OutcomeRecord, PackageRecord, Pin, Record, VolumeRecord};
use hutch_model::outcome::{Measured, Outcome, Verdict};
use hutch_model::snapshot::{Layered, MemoryObjects, PathChange, diff};
use hutch_sandbox::{Program, Run, run};
use hutch_store::{IfMissing, Store, StoreError, VolumeName};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A guest's end, judged and recorded.
#[derive(Debug)]
pub struct Answer {
    /// How it ended and what it said.
    pub outcome: Outcome,
    /// What that means.
    pub verdict: Verdict,
    /// Whether the state it left was kept.
    pub kept: bool,
    /// Each volume, by name.
    pub volumes: BTreeMap<String, VolumeChange>,
    /// What the host's clock says.
    pub measured: Measured,
    /// The ledger's entry.
    pub entry: Pin,
}

/// What became of a volume.
#[derive(Debug)]
pub struct VolumeChange {
    /// Its digest when the guest started.
    pub before: Digest,
    /// Its digest now.
    pub after: Digest,
    /// The paths that differ.
    pub changes: Vec<PathChange>,
}

/// What is the same for every attempt of a call.
struct Prepared {
    program: Program,
    invocation: Invocation,
    record: InvocationRecord,
    resources: MemoryObjects,
    resource_trees: BTreeMap<String, Digest>,
    output_schema: Option<Value>,
}

/// A call that was refused before the guest started, and what may be written down of it.
struct Refused {
    failure: Box<Failure>,
    invocation: Option<Box<InvocationRecord>>,
}

/// Refused for what it holds, or before all of it was known: nothing of it is written down but the code.
fn unwritten(failure: Failure) -> Refused {
    Refused { failure: Box::new(failure), invocation: None }
}

impl Host {
    /// Runs `package` as `call` says and keeps the state if its end is good.
    ///
    /// # Errors
    /// Everything that is not the guest's own end. Refusals are recorded too.
    pub fn run(&self, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let store = self.store(package, &call.instance, IfMissing::Create)?;
        let record = |kind| Record::new(kind, call.at, call.instance.as_str(), package_record(package));
        let prepared = match self.prepare(package, call, &store) {
            Ok(prepared) => prepared,
            Err(Refused { failure, invocation }) => {
                let error = Some(failure.code());
                let refused = Record { error, invocation: invocation.map(|record| *record), ..record(EntryKind::Run) };
                store.commit(&refused, &MemoryObjects::default(), &[])?;
                return Err(*failure);
            }
        };
        ensure_volumes(package, &store, record(EntryKind::Create))?;
        let mut attempt = 0;
        loop {
            match self.attempt(call, &store, &prepared, record(EntryKind::Run)) {
                Err(Failure::Store(StoreError::Conflict { .. })) if attempt < call.retries => attempt += 1,
                done => return done,
            }
        }
    }

    /// Checks everything that can be checked before the guest starts.
    fn prepare(&self, package: &Package, call: &Call, store: &dyn Store) -> Result<Prepared, Refused> {
        let manifest = package.manifest();
        let contract = package.contract().map(|file| file.contract());
        let decision = Gate::new(manifest, contract).decide(&call.arguments);
        let command = decision.command.as_ref().map(|command| command.as_str());
        let policy = call.guard.unwrap_or(manifest.guard());
        guard::check(&call.arguments, policy, contract, command).map_err(|error| unwritten(Failure::Guard(error)))?;
        let asked: BTreeSet<&str> = manifest.environment().iter().map(|name| name.as_str()).collect();
        if let Some(name) = call.environment.keys().find(|name| !asked.contains(name.as_str())) {
            return Err(unwritten(Failure::Environment { name: name.clone() }));
        }
        let limits = self.limits(package, call.limits.iter().map(|(limit, value)| (*limit, *value)));
        let mut argv = vec![manifest.slug().to_string()];
        argv.extend(manifest.entry().arguments().iter().chain(&call.arguments).cloned());
        let volumes = manifest.volumes().iter().map(|path| (path.to_string(), Access::ReadWrite));
        let resources = manifest.resources().iter().map(|path| (path.to_string(), Access::ReadOnly));
        let invocation = Invocation::new(InvocationParts {
            argv,
            environment: call.environment.iter().map(|(name, value)| (name.clone(), value.value.clone())).collect(),
            stdin: call.stdin.clone(),
            clock_start: call.clock_start,
            seed: call.seed,
            limits,
            preopens: volumes.chain(resources).collect(),
        })
        .map_err(|error| unwritten(error.into()))?;
        let secrets: BTreeSet<String> =
            call.environment.iter().filter(|(_, value)| value.secret).map(|(name, _)| name.clone()).collect();
        let key = store.secret_key().map_err(|error| unwritten(error.into()))?;
        let record = InvocationRecord {
            confirmed: call.confirmed,
            contract: call.contract,
            ..InvocationRecord::of(&invocation, &secrets, &key)
        };
        let refuse = |failure| Refused { failure: Box::new(failure), invocation: Some(Box::new(record.clone())) };
        expected::check_arguments(package, call).map_err(refuse)?;
        let output_schema = expected::schema(package, call).map_err(refuse)?;
        if let (Some(reason), false) = (decision.confirmation, call.confirmed) {
            return Err(refuse(Failure::Confirmation { reason }));
        }
        let program = self.load(package, invocation.limits()).map_err(refuse)?;
        let (mut resources, mut resource_trees) = (MemoryObjects::default(), BTreeMap::new());
        for path in manifest.resources() {
            let tree = folder::snapshot(package, path, &mut resources).map_err(|error| refuse(error.into()))?;
            resource_trees.insert(path.to_string(), tree);
        }
        Ok(Prepared { program, invocation, record, resources, resource_trees, output_schema })
    }

    fn attempt(&self, call: &Call, store: &dyn Store, prepared: &Prepared, record: Record) -> Result<Answer, Failure> {
        let head = store.head()?;
        let mut state = prepared.resource_trees.clone();
        let volumes = head.state.iter().map(|(name, digest)| (name.to_string(), *digest));
        state.extend(volumes.filter(|(name, _)| prepared.invocation.preopens().contains_key(name)));
        let objects = Layered(vec![store.objects(), Arc::new(prepared.resources.clone())]);
        let Run { outcome, after, measured } =
            run(&prepared.program, &prepared.invocation, &state, Arc::new(objects.clone()))?;
        let verdict = expected::judge(&outcome, call.contract, prepared.output_schema.as_ref());
        let kept = verdict == Verdict::Good;
        let seen = Layered(vec![Arc::new(after.objects.clone()), store.objects()]);
        let mut changed = BTreeMap::new();
        for (name, access) in prepared.invocation.preopens() {
            let (Access::ReadWrite, Some(before)) = (access, state.get(name)) else { continue };
            let after = after.volumes.get(name).filter(|_| kept).map_or(*before, |volume| volume.after);
            let changes = diff(&seen, before, &after).map_err(|error| Failure::Run(error.into()))?;
            changed.insert(name.clone(), VolumeChange { before: *before, after, changes });
        }
        let volume_record =
            |change: &VolumeChange| VolumeRecord::new(Some(change.before), change.after, change.changes.clone());
        let record = Record {
            invocation: Some(prepared.record.clone()),
            outcome: Some(OutcomeRecord::of(&outcome, &measured)),
            error: match &verdict {
                Verdict::Bad { code, .. } => Some(*code),
                Verdict::Good | Verdict::Failed { .. } => None,
            },
            volumes: changed.iter().map(|(name, change)| (name.clone(), volume_record(change))).collect(),
            kept,
            ..record
        };
        let streams: Vec<&[u8]> = [prepared.invocation.stdin(), &outcome.stdout, &outcome.stderr]
            .into_iter()
            .filter(|stream| !stream.is_empty())
            .collect();
        let entry = store.commit(&record, &after.objects, &streams)?.pin();
        Ok(Answer { outcome, verdict, kept, volumes: changed, measured, entry })
    }
}

/// Gives volumes that have no state yet the content that the package ships.
fn ensure_volumes(package: &Package, store: &dyn Store, record: Record) -> Result<(), Failure> {
    let known = store.head()?.state;
    let mut objects = MemoryObjects::default();
    let mut volumes = BTreeMap::new();
    for path in package.manifest().volumes() {
        let name: VolumeName =
            path.as_str().parse().map_err(|source| Failure::Volume { name: path.to_string(), source })?;
        if !known.contains_key(&name) {
            let tree = folder::snapshot(package, path, &mut objects)?;
            volumes.insert(name.to_string(), VolumeRecord::new(None, tree, Vec::new()));
        }
    }
    if volumes.is_empty() {
        return Ok(());
    }
    match store.commit(&Record { volumes, kept: true, ..record }, &objects, &[]) {
        // Another process made them first: its content is the same package's.
        Err(StoreError::Conflict { .. }) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn package_record(package: &Package) -> PackageRecord {
    let manifest = package.manifest();
    PackageRecord {
        slug: manifest.slug().to_string(),
        version: Some(manifest.version().to_string()),
        digest: None,
        component: Some(Digest::of(hutch_model::digest::Kind::Component, package.component())),
    }
}
