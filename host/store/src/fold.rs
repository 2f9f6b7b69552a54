//! The state that a ledger leads to, entry by entry. Pure.

use crate::store::State;
use hutch_model::digest::Digest;
use hutch_model::ledger::Record;
use std::collections::BTreeMap;

/// The state after the records taken so far.
#[derive(Default)]
pub(crate) struct Fold(BTreeMap<String, Digest>);

impl Fold {
    /// Takes the next record. The error says which volume it could not have started from; the fold goes on with what the
    /// record says.
    pub(crate) fn take(&mut self, record: &Record) -> Result<(), String> {
        if !record.changes_state() {
            return Ok(());
        }
        let mut wrong = None;
        for (name, volume) in &record.volumes {
            if self.0.insert(name.clone(), volume.after) != volume.before {
                wrong = Some(format!("does not start from the state of volume {name:?} at its time"));
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Whether `state` is another one.
    pub(crate) fn differs_from(&self, state: &State) -> bool {
        let stored = state.iter().map(|(name, tree)| (name.as_str(), tree));
        !stored.eq(self.0.iter().map(|(name, tree)| (name.as_str(), tree)))
    }
}
