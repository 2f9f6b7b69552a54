//! Moving between states: back before an entry, or to what one left. Each move is an entry of its own, so it can be taken back too.
//! What the state was at an entry is one question with one answer: [`hutch_store::Store::state_at`].

use crate::edits::Edits;
use crate::entries::EntryName;
use crate::failure::Failure;
use crate::session::Session;
use hutch_model::ledger::{EntryKind, Record, Sealed, VolumeRecord};
use hutch_model::snapshot::{Changes, Lack, MemoryObjects, diff};
use hutch_store::Skipped;
use hutch_store::{Collected, Retention, StoreError};
use std::collections::BTreeMap;

/// A move to another state.
#[derive(Debug)]
#[non_exhaustive]
pub struct Moved {
    /// The entry that records it.
    pub entry: Sealed,
    /// The entry that it went back before, or to.
    pub follows: Sealed,
    /// What changed, by volume.
    pub changes: BTreeMap<String, Changes>,
    /// Why the plain directories do not show the state yet, if they don't.
    pub behind: Option<String>,
    /// What stands in plain directories and can be in no state, by volume.
    pub skipped: BTreeMap<String, Skipped>,
}

impl Session {
    /// Drops the states and streams that only old entries name, and says so in the ledger. A preview says what would be dropped.
    ///
    /// # Errors
    /// The store can't be written, or what must stay can't be read.
    pub fn collect(&self, retention: &Retention) -> Result<Collected, Failure> {
        let collected = self.store.collect(retention, &self.record(EntryKind::Collect));
        self.recorded(EntryKind::Collect, collected.map(|(collected, _)| collected).map_err(Failure::from))
    }

    /// Goes back before the last `count` entries that changed the state.
    ///
    /// # Errors
    /// There are not so many; or a state is not kept any more.
    pub fn undo_last(&self, count: u64) -> Result<Moved, Failure> {
        let undone = self.absorb_edits().and_then(|edits| {
            let sealed = self.changed_before_last(count.max(1))?;
            self.go(EntryKind::Undo, &sealed, edits)
        });
        self.recorded(EntryKind::Undo, undone)
    }

    /// The entry before which to go so that the last `count` changes are undone.
    fn changed_before_last(&self, count: u64) -> Result<Sealed, Failure> {
        let nothing = || Failure::NothingToUndo { count };
        let mut sequence = self.head()?.last.sequence;
        let mut left = count;
        loop {
            sequence = self.store.last_change(sequence)?.ok_or_else(nothing)?;
            let sealed = self.entry(&EntryName::Sequence(sequence))?;
            if sealed.open().map_err(Failure::Entry)?.record.kind != EntryKind::Create {
                left -= 1;
            }
            if left == 0 {
                return Ok(sealed);
            }
            sequence = sequence.checked_sub(1).ok_or_else(nothing)?;
        }
    }

    /// Goes back to the state from before an entry.
    ///
    /// # Errors
    /// There is no such entry, or the state is the one from before it; or that is not kept any more.
    pub fn undo(&self, name: &EntryName) -> Result<Moved, Failure> {
        let undone = self.absorb_edits().and_then(|edits| self.go(EntryKind::Undo, &self.entry(name)?, edits));
        self.recorded(EntryKind::Undo, undone)
    }

    /// Goes to the state from after an entry.
    ///
    /// # Errors
    /// There is no such entry, or the state is the one from after it; or that is not kept any more.
    pub fn restore(&self, name: &EntryName) -> Result<Moved, Failure> {
        let restored = self.absorb_edits().and_then(|edits| self.go(EntryKind::Restore, &self.entry(name)?, edits));
        self.recorded(EntryKind::Restore, restored)
    }

    /// Goes to the whole state from before or after an entry. A volume that was not there yet stays as it is: there is no state in
    /// which it is not.
    fn go(&self, kind: EntryKind, follows: &Sealed, edits: Edits) -> Result<Moved, Failure> {
        let (place, sequence) = match kind {
            EntryKind::Undo => ("before", follows.sequence.saturating_sub(1)),
            _ => ("after", follows.sequence),
        };
        let (head, objects) = (self.head()?, self.objects());
        self.check_request(&head)?;
        let (mut volumes, mut all_changes) = (BTreeMap::new(), BTreeMap::new());
        for (name, after) in self.store.state_at(sequence)? {
            let before = head.state.get(&name).copied();
            let changes = match before {
                Some(before) => diff(&*objects, &before, &after).map_err(|error| {
                    match error.lack == Lack::Missing && error.digest == after {
                        // It was collected: of a state that is kept, all is.
                        true => StoreError::Missing { at: self.store.at(), what: format!("state {after}") },
                        false => StoreError::object(self.store.at(), &error),
                    }
                })?,
                None => Changes::default(),
            };
            all_changes.insert(name.to_string(), changes.clone());
            volumes.insert(name.to_string(), VolumeRecord::new(before, after, changes));
        }
        let record = Record { follows: Some(follows.hash), volumes, kept: true, ..self.record(kind) };
        if !record.changes_state() {
            return Err(Failure::NoChange { place, sequence: follows.sequence });
        }
        let (entry, behind) = self.commit(&record, &MemoryObjects::default(), &[])?;
        Ok(Moved { entry, follows: follows.clone(), changes: all_changes, behind, skipped: edits.skipped })
    }
}
