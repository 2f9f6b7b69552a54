//! A run: over a state, judged, recorded, and kept or not.

use crate::call::Call;
use crate::expected;
use crate::failure::Failure;
use crate::host::Host;
use crate::package::Package;
use crate::prepare::{Prepared, Refused};
use crate::session::Session;
use hutch_model::digest::Digest;
use hutch_model::invocation::Access;
use hutch_model::ledger::{EntryKind, OutcomeRecord, Pin, Record, VolumeRecord};
use hutch_model::outcome::{Measured, Outcome, Verdict};
use hutch_model::snapshot::{Layered, MemoryObjects, Objects, PathChange, diff};
use hutch_sandbox::{Run, RunError, Touched, run};
use hutch_store::{State, StoreError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A guest's end, judged and recorded.
pub struct Answer {
    /// How it ended and what it said.
    pub outcome: Outcome,
    /// What that means.
    pub verdict: Verdict,
    /// Whether the state it left was kept.
    pub kept: bool,
    /// Each read-write volume, by name, as the guest left it if its end was good.
    pub volumes: BTreeMap<String, VolumeChange>,
    /// Each granted folder that the guest might change, by name.
    pub mounted: BTreeMap<String, VolumeChange>,
    /// What the volumes hold, before and after.
    pub objects: Layered,
    /// What the host's clock says.
    pub measured: Measured,
    /// The ledger's entry.
    pub entry: Pin,
    /// Why the plain directories do not show the state yet, if they don't.
    pub behind: Option<String>,
}

/// What became of a volume.
#[derive(Debug, Clone)]
pub struct VolumeChange {
    /// Its digest when the guest started.
    pub before: Digest,
    /// Its digest afterwards.
    pub after: Digest,
    /// The paths that differ.
    pub changes: Vec<PathChange>,
}

/// A run that nothing was recorded of yet.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    pub(crate) verdict: Verdict,
    pub(crate) measured: Measured,
    pub(crate) volumes: BTreeMap<String, VolumeChange>,
    /// What the run added.
    pub(crate) objects: MemoryObjects,
    /// What it wants changed in granted folders.
    pub(crate) mounted: BTreeMap<String, VolumeChange>,
    /// Everything that can be read of volumes and granted folders, before and after.
    pub(crate) seen: Layered,
    /// What the run touched.
    pub(crate) touched: BTreeMap<String, Touched>,
}

/// How often a run is repeated because what it touched was changed outside meanwhile.
const EDITED_MAX: u32 = 8;

impl Host {
    /// Runs `package` as `call` says and keeps the state if its end is good.
    ///
    /// # Errors
    /// Everything that is not the guest's own end. Refusals are recorded too.
    pub fn run(&self, package: &Package, call: &Call) -> Result<Answer, Failure> {
        let session = self.open(package, &call.instance, call.at)?;
        let prepared = self.admit(package, call, &session, EntryKind::Run)?;
        self.run_and_keep(&session, &prepared, session.record(EntryKind::Run), call.retries)
    }

    /// Prepares a call; one that is refused is recorded.
    pub(crate) fn admit(
        &self,
        package: &Package,
        call: &Call,
        session: &Session,
        kind: EntryKind,
    ) -> Result<Prepared, Failure> {
        match self.prepare(package, call, session.store(), kind == EntryKind::Plan) {
            Ok(prepared) => Ok(prepared),
            Err(Refused { failure, invocation }) => {
                let invocation = invocation.map(|record| *record);
                let refused = Record { error: Some(failure.code()), invocation, ..session.record(kind) };
                session.commit(&refused, &MemoryObjects::default(), &[])?;
                Err(*failure)
            }
        }
    }

    /// Runs over the state as it is now and keeps what a good end leaves, as `record`; repeats it if the state changed meanwhile,
    /// up to `retries` times.
    pub(crate) fn run_and_keep(
        &self,
        session: &Session,
        prepared: &Prepared,
        record: Record,
        retries: u32,
    ) -> Result<Answer, Failure> {
        let (mut conflicts, mut edits) = (0, 0);
        loop {
            let executed = execute(prepared, session, &session.head()?.state)?;
            if edits < EDITED_MAX && session.absorb_edits_seen_by(&executed, prepared.invocation.limits())? {
                edits += 1;
                continue;
            }
            let kept = executed.verdict == Verdict::Good;
            match conclude(session, prepared, executed, record.clone(), kept) {
                Err(Failure::Store(StoreError::Conflict { .. })) if conflicts < retries => conflicts += 1,
                done => return done,
            }
        }
    }
}

/// Runs over `state`; touches nothing.
pub(crate) fn execute(prepared: &Prepared, session: &Session, state: &State) -> Result<Executed, Failure> {
    let mut trees = prepared.resource_trees.clone();
    let preopens = prepared.invocation.preopens();
    let volumes = state.iter().map(|(name, digest)| (name.to_string(), *digest));
    trees.extend(volumes.filter(|(name, _)| preopens.contains_key(name)));
    let mut layers = vec![session.objects(), Arc::new(prepared.resources.clone()) as Arc<dyn Objects>];
    for (name, mount) in &prepared.mounts {
        let (root, objects) = mount.objects();
        trees.insert(name.clone(), root);
        layers.push(objects);
    }
    let objects = Layered(layers);
    let Run { outcome, after, measured } =
        run(&prepared.program, &prepared.invocation, &trees, Arc::new(objects.clone()))?;
    let verdict = expected::judge(&outcome, prepared.record.contract, prepared.output_schema.as_ref());
    let mut seen = Layered(vec![Arc::new(after.objects.clone())]);
    seen.0.extend(objects.0);
    let (mut volumes, mut mounted) = (BTreeMap::new(), BTreeMap::new());
    for (name, access) in preopens {
        let (Access::ReadWrite, Some(before)) = (access, trees.get(name)) else { continue };
        let good = after.volumes.get(name).filter(|_| verdict == Verdict::Good);
        let left = good.map_or(*before, |volume| volume.after);
        let changes = diff(&seen, before, &left).map_err(RunError::from)?;
        let kind = if prepared.mounts.contains_key(name) { &mut mounted } else { &mut volumes };
        kind.insert(name.clone(), VolumeChange { before: *before, after: left, changes });
    }
    Ok(Executed { outcome, verdict, measured, volumes, mounted, seen, objects: after.objects, touched: after.touched })
}

/// Records a run as `record` says, and keeps its state or not.
pub(crate) fn conclude(
    session: &Session,
    prepared: &Prepared,
    executed: Executed,
    record: Record,
    kept: bool,
) -> Result<Answer, Failure> {
    let Executed { outcome, verdict, measured, volumes, mounted, objects, seen, .. } = executed;
    let kept = kept && session.keeps();
    let volume_record =
        |change: &VolumeChange| VolumeRecord::new(Some(change.before), change.after, change.changes.clone());
    let record = Record {
        invocation: Some(prepared.record.clone()),
        outcome: Some(OutcomeRecord::of(&outcome, &measured)),
        error: match &verdict {
            Verdict::Bad { code, .. } => Some(*code),
            Verdict::Good | Verdict::Failed { .. } => None,
        },
        volumes: volumes.iter().map(|(name, change)| (name.clone(), volume_record(change))).collect(),
        kept,
        ..record
    };
    let streams = [prepared.invocation.stdin(), &outcome.stdout, &outcome.stderr];
    let streams: Vec<&[u8]> = streams.into_iter().filter(|stream| !stream.is_empty()).collect();
    // Granted folders are changed when nothing can refuse the record any more, and the record is dropped if they can't be.
    let mut refused = None;
    let mut carry_out = || {
        let wanted =
            mounted.iter().filter(|_| kept).filter_map(|(name, change)| Some((prepared.mounts.get(name)?, change)));
        for (mount, change) in wanted {
            if let Err(source) = mount.apply(&seen, change) {
                refused = Some(Failure::Mount { path: mount.path.clone(), source });
                return false;
            }
        }
        true
    };
    let committed = session.commit_after(&record, &objects, &streams, &mut carry_out)?;
    let Some((sealed, behind)) = committed else {
        return Err(refused.unwrap_or(Failure::Run(RunError::Host("the record was given up".to_owned()))));
    };
    Ok(Answer { outcome, verdict, kept, volumes, mounted, objects: seen, measured, entry: sealed.pin(), behind })
}
