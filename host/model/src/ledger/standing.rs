//! Where a ledger leads: the state of each volume, whom the instance belongs to, and what was begun and not ended. Pure, and the one
//! place that says what a record changes.

use super::record::{EntryKind, Record};
use crate::digest::{Digest, Hasher, Kind};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where a package was opened from, as the operator knows it. A slug is what a package says of itself; this is what it is known by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

impl Origin {
    /// The package that is installed under its slug.
    pub fn installed() -> Origin {
        Origin("installed".to_owned())
    }

    /// A folder or a packed file, by its absolute path without links.
    pub fn path(path: &str) -> Origin {
        Origin(format!("path:{path}"))
    }

    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.strip_prefix("path:") {
            Some(path) => f.write_str(path),
            None => f.write_str("the installed package"),
        }
    }
}

/// A package that may use an instance.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Owner {
    /// Where it comes from.
    pub origin: Origin,
    /// What it was when it was last used from there: [`super::PackageRecord::digest`].
    pub package: Digest,
}

/// What the entries so far have led to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The snapshot of each volume, by name.
    pub volumes: BTreeMap<String, Digest>,
    /// The packages that may use the instance, and what each was when it was last used.
    pub owners: BTreeMap<Origin, Digest>,
    /// The places of intents that no entry has closed.
    pub open: BTreeSet<u64>,
}

/// A record does not follow from what was there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// It starts from another state of a volume.
    #[error("starts from another state of volume {volume:?}")]
    Volume {
        /// Which.
        volume: String,
        /// What the record says was there; none if nothing.
        expected: Option<Digest>,
        /// What is there.
        found: Option<Digest>,
    },
    /// It closes an intent that is not open.
    #[error("closes the intent in entry {sequence}, which is not open")]
    Intent {
        /// The intent's place.
        sequence: u64,
    },
}

impl Standing {
    /// What `record` in the place `sequence` leads to. A record that is not kept, or that leaves all its volumes as they were, is a
    /// reading: what it saw need not be the state any more.
    ///
    /// # Errors
    /// It can't follow; nothing was changed.
    pub fn take(&mut self, sequence: u64, record: &Record) -> Result<(), Contradiction> {
        if record.changes_state() {
            for (name, volume) in &record.volumes {
                let found = self.volumes.get(name).copied();
                if volume.before != found {
                    let volume = name.clone();
                    let expected = record.volumes.get(name).and_then(|volume| volume.before);
                    return Err(Contradiction::Volume { volume, expected, found });
                }
            }
        }
        if let Some(closed) = record.closes.filter(|closed| !self.open.contains(closed)) {
            return Err(Contradiction::Intent { sequence: closed });
        }
        self.force(sequence, record);
        Ok(())
    }

    /// The same, whether it follows or not: to go on with a check after a break.
    pub fn force(&mut self, sequence: u64, record: &Record) {
        if record.changes_state() {
            let after = record.volumes.iter().map(|(name, volume)| (name.clone(), volume.after));
            self.volumes.extend(after);
        }
        if let Some(Owner { origin, package }) = &record.owner {
            self.owners.insert(origin.clone(), *package);
        }
        if record.kind == EntryKind::Intent {
            self.open.insert(sequence);
        }
        if let Some(closed) = record.closes {
            self.open.remove(&closed);
        }
    }

    /// Names the state: every volume and its snapshot.
    pub fn state(&self) -> Digest {
        let mut hasher = Hasher::new(Kind::State);
        for (name, tree) in &self.volumes {
            hasher.update_part(name.as_bytes());
            hasher.update(tree.as_bytes());
        }
        hasher.finish()
    }

    /// Names the rest: owners and open intents.
    pub fn standing(&self) -> Digest {
        let mut hasher = Hasher::new(Kind::Standing);
        hasher.update(&(self.owners.len() as u64).to_le_bytes());
        for (origin, package) in &self.owners {
            hasher.update_part(origin.as_str().as_bytes());
            hasher.update(package.as_bytes());
        }
        for sequence in &self.open {
            hasher.update(&sequence.to_le_bytes());
        }
        hasher.finish()
    }
}
