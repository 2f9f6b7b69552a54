//! What a record means for a store: the rule of conflicts and the next head, in one place for all of them. Pure.

use crate::error::StoreError;
use crate::names::VolumeName;
use crate::store::Head;
use hutch_model::digest::Digest;
use hutch_model::ledger::{Entry, Owner, Record, Sealed, Standing};

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
            admitted.insert(owner.origin.clone(), owner.package);
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

    /// Appends an entry that was made elsewhere, or refuses it; [`crate::Store::take`] states the rule.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]; or the entry contradicts itself, or comes to something else here.
    pub fn take(&self, sealed: &Sealed, owner: &Owner) -> Result<(Record, Advance), StoreError> {
        let record = sealed.open().map_err(|error| StoreError::entry("the bundle", &error))?.record;
        let mut advance = self.advance(&record)?;
        if advance.sealed != *sealed {
            return Err(StoreError::other_here(sealed.sequence));
        }
        let mut admitted = self.admitted().clone();
        admitted.insert(owner.origin.clone(), owner.package);
        advance.head.admitted = Some(admitted);
        Ok((record, advance))
    }
}
