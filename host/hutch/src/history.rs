//! Moving between states: back before an entry, or to what one left. Each move is an entry of its own, so it can be taken back too.

use crate::entries::EntryName;
use crate::failure::Failure;
use crate::session::Session;
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, EntryKind, Record, Sealed, VolumeRecord};
use hutch_model::limits::Limits;
use hutch_model::snapshot::{MemoryObjects, PathChange, diff};
use hutch_sandbox::RunError;
use std::collections::BTreeMap;

/// A move to another state.
#[derive(Debug)]
pub struct Moved {
    /// The entry that records it.
    pub entry: Sealed,
    /// The entry that it went back before, or to.
    pub follows: Sealed,
    /// What changed, by volume.
    pub changes: BTreeMap<String, Vec<PathChange>>,
    /// Why the plain directories do not show the state yet, if they don't.
    pub behind: Option<String>,
}

impl Session {
    /// Goes back before the last `count` entries that changed the state.
    ///
    /// # Errors
    /// There are not so many; or a state is not kept any more.
    pub fn undo_last(&self, count: u64, limits: &Limits) -> Result<Moved, Failure> {
        self.absorb_edits(limits)?;
        let mut left = count.max(1);
        let mut sequence = self.head()?.last.sequence;
        while sequence > 0 {
            let sealed = self.entry(&EntryName::Sequence(sequence))?;
            let record = sealed.open().map_err(Failure::Entry)?.record;
            if record.changes_state() && record.kind != EntryKind::Create {
                left -= 1;
                if left == 0 {
                    return self.undo_sealed(sealed);
                }
            }
            sequence -= 1;
        }
        Err(Failure::NothingToUndo { count })
    }

    /// Goes back to the state from before an entry.
    ///
    /// # Errors
    /// There is no such entry, or it changed nothing; or its state is not kept any more.
    pub fn undo(&self, name: &EntryName, limits: &Limits) -> Result<Moved, Failure> {
        self.absorb_edits(limits)?;
        self.undo_sealed(self.entry(name)?)
    }

    fn undo_sealed(&self, sealed: Sealed) -> Result<Moved, Failure> {
        let Entry { sequence, record, .. } = sealed.open().map_err(Failure::Entry)?;
        if !record.changes_state() {
            return Err(Failure::NoChange { sequence });
        }
        let before = record.volumes.iter().filter_map(|(name, volume)| Some((name.clone(), volume.before?)));
        self.go(EntryKind::Undo, sealed, before.collect())
    }

    /// Goes to the state that an entry left.
    ///
    /// # Errors
    /// There is no such entry, or it left no state; or its state is not kept any more.
    pub fn restore(&self, name: &EntryName, limits: &Limits) -> Result<Moved, Failure> {
        self.absorb_edits(limits)?;
        let sealed = self.entry(name)?;
        let Entry { sequence, record, .. } = sealed.open().map_err(Failure::Entry)?;
        if !record.kept || record.volumes.is_empty() {
            return Err(Failure::NoChange { sequence });
        }
        let after = record.volumes.iter().map(|(name, volume)| (name.clone(), volume.after)).collect();
        self.go(EntryKind::Restore, sealed, after)
    }

    fn go(&self, kind: EntryKind, follows: Sealed, to: BTreeMap<String, Digest>) -> Result<Moved, Failure> {
        let head = self.head()?;
        let (mut volumes, mut all_changes) = (BTreeMap::new(), BTreeMap::new());
        for (name, after) in to {
            let before = head.state.get(name.as_str()).copied();
            let changes = match before {
                Some(before) => diff(&*self.objects(), &before, &after).map_err(RunError::from)?,
                None => Vec::new(),
            };
            all_changes.insert(name.clone(), changes.clone());
            volumes.insert(name, VolumeRecord::new(before, after, changes));
        }
        let record = Record { follows: Some(follows.hash), volumes, kept: true, ..self.record(kind) };
        let (entry, behind) = self.commit(&record, &MemoryObjects::default(), &[])?;
        Ok(Moved { entry, follows, changes: all_changes, behind })
    }
}
