//! Whether entries are one chain, and lead to what a store says of itself: in one place for all that keep them. Pure.

use crate::error::StoreError;
use crate::store::{DAMAGES_MAX, Damage, Head};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Chain, ChainError, EntryError, Sealed, Standing};
use std::collections::BTreeMap;

/// The entries that changed a volume, and what each made of it, by the volume's name.
pub type Moves = BTreeMap<String, Vec<(u64, Digest)>>;

/// What was found, up to [`DAMAGES_MAX`].
#[derive(Debug, Default)]
pub struct Findings(Vec<Damage>);

impl Findings {
    /// Adds one.
    pub fn add(&mut self, what: impl Into<String>, reason: impl ToString) {
        if self.0.len() < DAMAGES_MAX {
            self.0.push(Damage { what: what.into(), reason: reason.to_string() });
        }
    }

    /// All of them.
    pub fn into_damages(self) -> Vec<Damage> {
        self.0
    }
}

/// The entries so far, from the first on.
#[derive(Debug, Default)]
pub struct Audit {
    chain: Chain,
    standing: Standing,
    moves: Moves,
}

impl Audit {
    /// Takes the next entry.
    pub fn take(&mut self, sealed: &Sealed, findings: &mut Findings) {
        let linked = self.chain.take(sealed);
        if let Err(error) = &linked {
            findings.add(format!("entry {}", error.sequence()), error);
            // One break would show in all that follows.
            self.chain = Chain::after(sealed.pin());
        }
        match sealed.open() {
            Ok(entry) => {
                if let Err(wrong) = self.standing.take(entry.sequence, &entry.record) {
                    findings.add(format!("entry {}", sealed.sequence), wrong);
                    self.standing.force(entry.sequence, &entry.record);
                }
                if let Err(wrong) = sealed.leads_to(&self.standing) {
                    findings.add(format!("entry {}", sealed.sequence), wrong);
                }
                for (name, volume) in entry.record.volumes.iter().filter(|_| entry.record.changes_state()) {
                    if volume.before != Some(volume.after) {
                        self.moves.entry(name.clone()).or_default().push((entry.sequence, volume.after));
                    }
                }
            }
            Err(error) if linked.is_ok() => findings.add(format!("entry {}", sealed.sequence), error),
            Err(_) => {}
        }
    }

    /// There is no entry more: holds them against the head, and against the index of states.
    pub fn end(self, head: &Head, index: &Moves, findings: &mut Findings) {
        let last = self.chain.head();
        if last != head.last {
            let reason = format!("the entries end with {}, not with {}", last.sequence, head.last.sequence);
            findings.add("the head", reason);
        }
        if self.standing != head.standing() {
            findings.add("the state", "is not the one that the entries lead to");
        }
        if *index != self.moves {
            findings.add("the index of states", "is not what the entries say");
        }
    }
}

impl Head {
    /// Holds the head of the store `at` against the entries from its last one on, of which `stored` are the first two: at a cost that
    /// follows the number of volumes and nothing else.
    ///
    /// # Errors
    /// [`StoreError::Damaged`]: the last entry is another one, or leads to another state.
    pub fn check_last(&self, at: &str, stored: &[Sealed]) -> Result<(), StoreError> {
        let broken = |error: ChainError| StoreError::chain(at, &error);
        match stored {
            [] if self.last == Chain::default().head() && self.standing() == Default::default() => Ok(()),
            [entry] if entry.sequence == self.last.sequence => {
                entry.leads_to(&self.standing()).map_err(|error| broken(error.into()))?;
                match entry.pin() == self.last {
                    true => Ok(()),
                    false => Err(broken(EntryError::Altered { sequence: entry.sequence }.into())),
                }
            }
            [] => Err(broken(ChainError::Cut { sequence: self.last.sequence.max(1) })),
            [first, ..] if first.sequence > self.last.sequence && self.last.sequence > 0 => {
                Err(broken(ChainError::Removed { sequence: self.last.sequence, found: first.sequence }))
            }
            [.., second] => {
                let reason = "comes after the last one".to_owned();
                Err(broken(EntryError::Malformed { sequence: second.sequence, reason }.into()))
            }
        }
    }
}
