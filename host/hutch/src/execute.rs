//! One execution: the guest over a state, judged, and nothing kept of it.

use crate::answer::VolumeChange;
use crate::expected;
use crate::failure::Failure;
use crate::mount::MountObjects;
use crate::prepare::Prepared;
use hutch_model::invocation::Access;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Measured, Outcome, Verdict};
use hutch_model::snapshot::{Layered, MemoryObjects, Objects, Touched, diff};
use hutch_sandbox::{Run, RunError, run};
use hutch_store::State;
use std::collections::BTreeMap;
use std::sync::Arc;

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
}

/// Runs over `state`, whose content is in `stored`; touches nothing.
pub(crate) fn execute(prepared: &Prepared, stored: Arc<dyn Objects>, state: &State) -> Result<Executed, Failure> {
    let mut trees = prepared.resources.trees.clone();
    let preopens = prepared.invocation.preopens();
    let volumes = state.iter().map(|(name, digest)| (name.to_string(), *digest));
    trees.extend(volumes.filter(|(name, _)| preopens.contains_key(name)));
    let mut layers = vec![stored, Arc::clone(&prepared.resources.objects)];
    let mut granted = BTreeMap::new();
    for (name, mount) in &prepared.mounts {
        let objects = mount.objects(name, prepared.invocation.limits().get(Limit::Memory));
        trees.insert(name.clone(), objects.root());
        layers.push(objects.clone());
        granted.insert(name.clone(), objects);
    }
    let objects = Layered(layers);
    let Run { outcome, after, measured } =
        run(&prepared.program, &prepared.invocation, &trees, Arc::new(objects.clone()))?;
    let measured = Measured { wall_time_us: prepared.wall_time_us.unwrap_or(measured.wall_time_us), ..measured };
    let verdict = expected::judge(&outcome, prepared.record.contract, prepared.output_schema.as_ref());
    let mut all = Layered(vec![Arc::new(after.objects.clone())]);
    all.0.extend(objects.0);
    let (mut volumes, mut mounted) = (BTreeMap::new(), BTreeMap::new());
    for (name, access) in preopens {
        let (Access::ReadWrite, Some(before)) = (access, trees.get(name)) else { continue };
        let good = after.volumes.get(name).filter(|_| verdict == Verdict::Good);
        let left = good.map_or(*before, |volume| volume.after);
        let changes = diff(&all, before, &left).map_err(RunError::from)?;
        let kind = if prepared.mounts.contains_key(name) { &mut mounted } else { &mut volumes };
        kind.insert(name.clone(), VolumeChange { before: *before, after: left, changes });
    }
    let touched = after.touched;
    Ok(Executed {
        outcome,
        verdict,
        measured,
        volumes,
        mounted,
        seen: granted,
        all,
        objects: after.objects,
        saw: 0,
        touched,
    })
}
