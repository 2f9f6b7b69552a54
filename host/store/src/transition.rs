//! What a record means for a store: the rule of conflicts and the next head, in one place for all of them. Pure.

use crate::absorb::{Shelf, absorb};
use crate::admitted::Admitted;
use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::{Head, Store};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, Owner, Record, Sealed, Standing};
use hutch_model::snapshot::Objects;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A record in its place, and all that it changes.
#[derive(Debug)]
pub struct Advance {
    /// The entry.
    pub sealed: Sealed,
    /// What it leads to.
    pub head: Head,
    /// The volumes that become others.
    pub changed: Vec<Transition>,
}

/// One volume that becomes another.
#[derive(Debug)]
pub struct Transition {
    /// Which.
    pub volume: VolumeName,
    /// From what; none if it is new.
    pub before: Option<Digest>,
    /// To what.
    pub after: Digest,
}

impl Advance {
    /// Takes all of the new states that `shelf` does not hold in from `source`: none with an entry whose states are not kept any more, and with the
    /// first one whose states are, all of the state that it stands on too.
    ///
    /// # Errors
    /// As for [`absorb`].
    pub fn absorb(&self, shelf: &mut dyn Shelf, source: &dyn Objects) -> Result<(), StoreError> {
        let (sequence, kept_from) = (self.sealed.sequence, self.head.retained_from);
        if sequence < kept_from {
            return Ok(());
        }
        if sequence == kept_from {
            for (volume, tree) in &self.head.state {
                let changed = self.changed.iter().find(|change| change.volume == *volume);
                if let Some(before) = changed.map_or(Some(*tree), |change| change.before) {
                    absorb(shelf, source, None, before)?;
                }
            }
        }
        self.changed.iter().try_for_each(|change| absorb(shelf, source, change.before, change.after))
    }
}

/// The inputs and outputs that an entry made elsewhere names, as far as the store that has it kept them.
///
/// # Errors
/// That store can't be read.
pub fn streams(record: &Record, from: &dyn Store) -> Result<Vec<Arc<[u8]>>, StoreError> {
    record.streams().filter_map(|digest| from.stream(&digest).transpose()).collect()
}

impl Head {
    /// What the entries up to here lead to, as the ledger says it.
    pub fn standing(&self) -> Standing {
        Standing {
            volumes: self.state.iter().map(|(name, tree)| (name.to_string(), *tree)).collect(),
            owners: self.owners.clone(),
            open: self.open.clone(),
        }
    }

    /// Appends `record`, or refuses it; [`crate::Store::begin`] states the rule.
    ///
    /// # Errors
    /// [`StoreError::Conflict`], or the record contradicts itself.
    pub fn advance(&self, record: &Record) -> Result<Advance, StoreError> {
        let (entry, leads_to) = Entry::after(self.last, &self.standing(), record.clone())?;
        let mut changed = Vec::new();
        if record.changes_state() {
            for (name, volume) in record.volumes.iter().filter(|(_, volume)| volume.before != Some(volume.after)) {
                let named = name.parse().map_err(|error| StoreError::Record(format!("volume {name:?}: {error}")))?;
                changed.push(Transition { volume: named, before: volume.before, after: volume.after });
            }
        }
        let sealed = entry.seal()?;
        let mut state = self.state.clone();
        state.extend(changed.iter().map(|change| (change.volume.clone(), change.after)));
        let mut admitted = self.admitted.clone();
        if let (Some(admitted), Some(owner)) = (&mut admitted, &record.owner) {
            admitted.packages.insert(owner.origin.clone(), owner.package);
        }
        let head = Head {
            last: sealed.pin(),
            state,
            changed: if changed.is_empty() { self.changed } else { sealed.sequence },
            owners: leads_to.owners,
            admitted,
            open: leads_to.open,
            retained_from: self.retained_from,
        };
        Ok(Advance { sealed, head, changed })
    }

    /// The same of an entry of a ledger of which the states before place `kept_from` are not to be had: [`crate::Store::begin_kept_from`] states the
    /// rule.
    ///
    /// # Errors
    /// As for [`advance`](Head::advance); or there are entries here whose states are kept, and this one has none ([`StoreError::Dropped`]).
    pub fn advance_kept_from(&self, record: &Record, kept_from: u64) -> Result<Advance, StoreError> {
        let mut advance = self.advance(record)?;
        if advance.sealed.sequence < kept_from {
            if self.last.sequence > 0 && self.retained_from <= self.last.sequence {
                return Err(StoreError::Dropped { at: "the bundle".to_owned(), kept_from });
            }
            advance.head.retained_from = kept_from;
        }
        Ok(advance)
    }

    /// Appends an entry that was made elsewhere, where the states before place `kept_from` are not kept any more, or refuses it; [`crate::Store::take`]
    /// states the rule.
    ///
    /// # Errors
    /// It is not for the place behind the last entry ([`StoreError::Forked`]): somebody appended another one since it was made, or one before it is
    /// missing. Or the entry contradicts itself, or comes to something else here; or as for [`advance_kept_from`](Head::advance_kept_from).
    pub fn take(&self, sealed: &Sealed, owner: &Owner, kept_from: u64) -> Result<(Record, Advance), StoreError> {
        let Entry { sequence, previous, record, .. } =
            sealed.open().map_err(|error| StoreError::entry("the bundle", &error))?;
        if self.last.sequence.checked_add(1) != Some(sequence) || previous != self.last.hash {
            return Err(StoreError::Forked { sequence });
        }
        let mut advance = self.advance_kept_from(&record, kept_from)?;
        if advance.sealed != *sealed {
            return Err(StoreError::other_here(sealed.sequence));
        }
        let nobody_else = || Admitted { packages: self.owners.clone(), taken: BTreeMap::new(), unknown: 0 };
        let mut admitted = self.admitted.clone().unwrap_or_else(nobody_else);
        admitted.packages.insert(owner.origin.clone(), owner.package);
        admitted.add(sequence);
        advance.head.admitted = Some(admitted);
        Ok((record, advance))
    }
}
