//! What a record means for the state: the rule of conflicts, in one place for all stores. Pure.

use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::State;
use hutch_model::digest::Digest;
use hutch_model::ledger::Record;

/// One volume that becomes another.
#[derive(Debug)]
pub(crate) struct Transition {
    /// Which.
    pub(crate) volume: VolumeName,
    /// From what; none if it is new.
    pub(crate) before: Option<Digest>,
    /// To what.
    pub(crate) after: Digest,
}

/// The volumes that `record` changes, given that `state` is the state now; [`crate::Store::commit`] states the rule.
pub(crate) fn transitions(record: &Record, state: &State) -> Result<Vec<Transition>, StoreError> {
    if !record.changes_state() {
        return Ok(Vec::new());
    }
    let mut changed = Vec::new();
    for (name, volume) in &record.volumes {
        let found = state.get(name.as_str()).copied();
        if volume.before != found {
            return Err(StoreError::Conflict { volume: name.clone(), expected: volume.before, found });
        }
        if found != Some(volume.after) {
            let volume_name = name.parse().map_err(|error| StoreError::Record(format!("volume {name:?}: {error}")))?;
            changed.push(Transition { volume: volume_name, before: volume.before, after: volume.after });
        }
    }
    Ok(changed)
}
