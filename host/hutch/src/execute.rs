//! One execution: the guest over a state, judged, and nothing kept of it. What is left of the guest may come from elsewhere.

use crate::answer::VolumeChange;
use crate::expected;
use crate::failure::Failure;
use crate::grants::Granted;
use crate::mount::{Known, MountObjects};
use crate::prepare::Prepared;
use crate::remembered::Remembered;
use hutch_model::diagnostic::short;
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::invocation::Access;
use hutch_model::limits::Limit;
use hutch_model::memo::Seen;
use hutch_model::outcome::{Measured, Outcome, Verdict};
use hutch_model::snapshot::{Changes, Layered, MemoryObjects, Objects, Touched, diff};
use hutch_sandbox::{Run, RunError, run};
use hutch_store::State;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a run makes, everybody may use as the system has it.
static NOTHING_KNOWN: BTreeMap<String, Known> = BTreeMap::new();

/// A run of which nothing was recorded yet.
pub(crate) struct Executed {
    pub(crate) outcome: Outcome,
    pub(crate) verdict: Verdict,
    pub(crate) measured: Measured,
    pub(crate) volumes: BTreeMap<String, VolumeChange>,
    /// What the run added.
    pub(crate) objects: MemoryObjects,
    /// What it wants changed in granted folders.
    pub(crate) mounted: BTreeMap<String, VolumeChange>,
    /// How everything in granted folders looked that it was shown, by folder.
    pub(crate) seen: BTreeMap<String, Arc<MountObjects>>,
    /// Everything that can be read of volumes and granted folders, before and after.
    pub(crate) all: Layered,
    /// The place of the last entry that changed the state which it saw.
    pub(crate) saw: u64,
    /// What the run touched.
    #[cfg_attr(not(feature = "machine"), expect(dead_code, reason = "nobody edits what is nowhere"))]
    pub(crate) touched: BTreeMap<String, Touched>,
    /// The folders that the guest left otherwise than it found them, whether its end was good or not.
    pub(crate) left: BTreeMap<String, Digest>,
    /// What the run has looked at that it need not.
    pub(crate) looked_at: Seen,
    pub(crate) stdin_read: bool,
    /// What a memo had to do with it; none if nobody asked one.
    pub(crate) memo: Option<Remembered>,
}

impl Executed {
    /// The granted folders in which it wants something changed.
    pub(crate) fn granted<'e>(&'e self, prepared: &'e Prepared) -> Vec<Granted<'e>> {
        let changed = self.mounted.iter().filter(|(_, change)| change.before != change.after);
        let granted = changed.filter_map(|(name, change)| {
            let (mount, seen) = (prepared.mounts.get(name)?, self.seen.get(name)?);
            Some(Granted { name, mount, change, seen, known: &NOTHING_KNOWN })
        });
        granted.collect()
    }
}

/// What a guest runs over: all folders that are open for it.
pub(crate) struct Ground {
    pub(crate) trees: BTreeMap<String, Digest>,
    pub(crate) objects: Layered,
    granted: BTreeMap<String, Arc<MountObjects>>,
}

impl Ground {
    /// That of a call, over `state`, whose content is in `stored`.
    pub(crate) fn of(prepared: &Prepared, stored: Arc<dyn Objects>, state: &State) -> Ground {
        let mut trees = prepared.resources.trees.clone();
        let preopens = prepared.invocation.preopens();
        let volumes = state.iter().map(|(name, digest)| (name.to_string(), *digest));
        trees.extend(volumes.filter(|(name, _)| preopens.contains_key(name)));
        let mut layers = vec![stored, prepared.resources.objects.clone()];
        let mut granted = BTreeMap::new();
        for (name, mount) in &prepared.mounts {
            let objects = mount.objects(name, prepared.invocation.limits().get(Limit::Memory));
            trees.insert(name.clone(), objects.root());
            layers.push(objects.clone());
            granted.insert(name.clone(), objects);
        }
        Ground { trees, objects: Layered(layers), granted }
    }

    /// Why a run over it came to nothing.
    fn failure(&self, prepared: &Prepared, error: RunError) -> Failure {
        let staged = |(name, objects): (&String, &Arc<MountObjects>)| {
            Some((prepared.mounts.get(name)?, objects.staged()?.to_owned()))
        };
        let staged = self.granted.iter().find_map(staged);
        match (error, staged) {
            (RunError::State(_), Some((mount, staged))) => Failure::staged(mount.path().display().to_string(), &staged),
            (error, _) => error.into(),
        }
    }
}

/// What is left of a guest, by its run or by one that came to the same.
pub(crate) struct Left {
    pub(crate) outcome: Outcome,
    pub(crate) measured: Measured,
    /// The folders that it left otherwise than it found them, by name.
    pub(crate) after: BTreeMap<String, Digest>,
    /// What of those is not in the ground.
    pub(crate) objects: MemoryObjects,
    pub(crate) touched: BTreeMap<String, Touched>,
    pub(crate) looked_at: Seen,
    /// Whether it is known to have asked for standard input.
    pub(crate) stdin_read: bool,
}

/// Runs over `state`, whose content is in `stored`; touches nothing.
pub(crate) fn execute(prepared: &Prepared, stored: Arc<dyn Objects>, state: &State) -> Result<Executed, Failure> {
    execute_over(prepared, &Ground::of(prepared, stored, state))
}

/// The same, over ground that is there.
pub(crate) fn execute_over(prepared: &Prepared, ground: &Ground) -> Result<Executed, Failure> {
    let ran = run(&prepared.program, &prepared.invocation, &ground.trees, Arc::new(ground.objects.clone()));
    let Run { outcome, after, measured } = ran.map_err(|error| ground.failure(prepared, error))?;
    let measured = Measured { wall_time_us: prepared.wall_time_us.unwrap_or(measured.wall_time_us), ..measured };
    let changed = after.volumes.into_iter().filter(|(_, volume)| volume.before != volume.after);
    let left = Left {
        outcome,
        measured,
        after: changed.map(|(name, volume)| (name, volume.after)).collect(),
        objects: after.objects,
        touched: after.touched,
        looked_at: after.seen,
        stdin_read: after.stdin_read,
    };
    judged(prepared, ground, left, true)
}

/// What a run comes to that left this; which paths that changed is found out only if it is wanted.
pub(crate) fn judged(prepared: &Prepared, ground: &Ground, left: Left, lists: bool) -> Result<Executed, Failure> {
    let Left { outcome, measured, after, objects, touched, looked_at, stdin_read } = left;
    let mut all = Layered(vec![Arc::new(objects.clone())]);
    all.0.extend(ground.objects.0.iter().cloned());
    let mut verdict = expected::judge(&outcome, prepared.record.contract, prepared.output_schema.as_ref());
    if let Some(command) = prepared.reads.as_deref().filter(|_| verdict == Verdict::Good && !after.is_empty()) {
        verdict = not_reading(command, (&ground.trees, &after), &all)?;
    }
    let (mut volumes, mut mounted) = (BTreeMap::new(), BTreeMap::new());
    for (name, access) in prepared.invocation.preopens() {
        let (Access::ReadWrite, Some(before)) = (access, ground.trees.get(name)) else { continue };
        let good = after.get(name).filter(|_| verdict == Verdict::Good);
        let after = *good.unwrap_or(before);
        let changes = match lists {
            true => diff(&all, before, &after).map_err(RunError::from)?,
            false => Changes::default(),
        };
        let kind = if prepared.mounts.contains_key(name) { &mut mounted } else { &mut volumes };
        kind.insert(name.clone(), VolumeChange { before: *before, after, changes });
    }
    Ok(Executed {
        outcome,
        verdict,
        measured,
        volumes,
        mounted,
        seen: ground.granted.clone(),
        all,
        objects,
        saw: 0,
        touched,
        left: after,
        looked_at,
        stdin_read,
        memo: None,
    })
}

/// So many of the paths are named that a command changed which is to change none.
const NAMED: usize = 3;

/// What it is called that a command which only reads, says the contract, leaves folders otherwise than it found them.
fn not_reading(
    command: &str,
    (before, after): (&BTreeMap<String, Digest>, &BTreeMap<String, Digest>),
    all: &Layered,
) -> Result<Verdict, Failure> {
    let (mut named, mut count) = (Vec::new(), 0_u64);
    for (name, after) in after {
        let Some(before) = before.get(name) else { continue };
        let changes = diff(all, before, after).map_err(RunError::from)?;
        count += changes.count();
        let room = NAMED.saturating_sub(named.len());
        let paths = changes.listed.iter().take(room).map(|change| format!("{name}/{}", change.path));
        named.extend(paths.map(|path| format!("{:?}", short(&path))));
    }
    let more = match count.saturating_sub(named.len() as u64) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let said = format!("its command {:?} says that it only reads", short(command));
    let message = format!("the guest exited with 0, but {said}, and changed {}{more}", named.join(", "));
    Ok(Verdict::Bad { code: ErrorCode::ContractViolation, message })
}
