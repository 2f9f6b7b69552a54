//! The ledger: one entry for every invocation and every other change of state, each naming the hash of the one before, so
//! that what was recorded can't be altered unseen. Says what an entry holds, how it is written and how a chain of them is
//! checked. Knows no storage and reads no clock: who records says when, and the store says in which place.
//!
//! An entry is a JSON object in [canonical form](canonical()), its hash is the digest of exactly these bytes
//! ([`Kind::Entry`]). Checks work on the bytes as stored: fields that this version does not know are part of the hash and
//! stay where they are.
//!
//! State follows from the ledger alone: it is the `after` of each volume in the last entry that names it among those that
//! [change the state](Record::changes_state). [`Standing`] says what each record leads to, and every entry holds the digest of
//! that: who knows the last entry knows the state.
//!
//! An entry has at most [`ENTRY_BYTES_MAX`] bytes, whatever a guest does: what it changed is listed as far as there is room, and the
//! rest is counted. Sealing cuts nothing: what an entry says is decided once, when it is [made](Entry::after).

mod canonical;
mod chain;
mod invoked;
mod memo;
mod record;
mod request;
mod standing;
mod tree;

pub use canonical::{NotCanonical, canonical};
pub use chain::{Chain, ChainError, NotAPin, Pin, verify_chain};
pub use invoked::{EnvironmentRecord, INPUTS_BYTES_MAX, Inputs, InvocationRecord, MountRecord, SecretKey};
pub use memo::{Maker, MemoCounts, MemoRecord, MemoUse};
pub use record::{
    CHANGES_WRITTEN_MAX, Caller, CollectRecord, EntryKind, FolderRecord, MapRecord, OutcomeRecord, PackageRecord,
    Record, StreamRecord, VolumeRecord,
};
pub use request::Request;
pub use standing::{Contradiction, Origin, Owner, Standing};
pub use tree::{Inclusion, Leaves, NotATreeHead, TreeHead};

use crate::digest::{Digest, Kind};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What stands in place of a hash before the first entry.
pub fn origin() -> Digest {
    Digest::of(Kind::Entry, b"")
}

/// The most bytes that an entry has. What goes into one is bounded part by part; this is where that is held.
pub const ENTRY_BYTES_MAX: usize = 256 << 10;

/// A record in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// 1 for the first entry, then one more for each.
    pub sequence: u64,
    /// The hash of the entry before; [`origin`] for the first.
    pub previous: Digest,
    /// [`Standing::state`] from this entry on.
    pub state: Digest,
    /// [`Standing::standing`] from this entry on.
    pub standing: Digest,
    /// What happened.
    pub record: Record,
}

/// How many bytes are written.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What every entry of every version has.
#[derive(Serialize, Deserialize)]
struct Place {
    sequence: u64,
    previous: Digest,
    state: Digest,
    standing: Digest,
}

impl Entry {
    /// The entry that comes after `last`, and what it leads to. Of the paths that the record lists it holds as many as it has room for.
    ///
    /// # Errors
    /// The record does not follow from `standing`.
    pub fn after(last: Pin, standing: &Standing, record: Record) -> Result<(Entry, Standing), Contradiction> {
        let sequence = last.sequence + 1;
        let mut leads_to = standing.clone();
        leads_to.take(sequence, &record)?;
        let (state, named) = (leads_to.state(), leads_to.standing());
        let mut entry = Entry { sequence, previous: last.hash, state, standing: named, record };
        // Where nothing is listed nothing is left out.
        if entry.record.lists_anything() {
            let written_bytes = entry.written_bytes();
            entry.record = entry.record.fitted(written_bytes);
        }
        Ok((entry, leads_to))
    }

    /// The bytes of its canonical form, whose characters are written as those of any other form without white space.
    fn written_bytes(&self) -> usize {
        let Entry { sequence, previous, state, standing, record } = self;
        let place = Place { sequence: *sequence, previous: *previous, state: *state, standing: *standing };
        let (mut of_place, mut of_record) = (Counted(0), Counted(0));
        // What has no JSON has no canonical form either: sealing says so.
        let written = serde_json::to_writer(&mut of_place, &place).and(serde_json::to_writer(&mut of_record, record));
        // Two objects become one: two braces go, and a comma comes.
        written.map_or(0, |()| (of_place.0 + of_record.0).saturating_sub(1))
    }

    /// Writes the entry down.
    ///
    /// # Errors
    /// The record holds what canonical JSON can't hold, or more than [`ENTRY_BYTES_MAX`] besides the paths that it lists; none that the host makes does.
    pub fn seal(&self) -> Result<Sealed, NotCanonical> {
        let mut value = serde_json::to_value(&self.record).map_err(|error| NotCanonical(error.to_string()))?;
        let fields = value.as_object_mut().ok_or_else(|| NotCanonical("is no object".to_owned()))?;
        fields.insert("sequence".to_owned(), self.sequence.into());
        for (name, digest) in [("previous", self.previous), ("state", self.state), ("standing", self.standing)] {
            fields.insert(name.to_owned(), digest.to_string().into());
        }
        let bytes: Arc<[u8]> = canonical(&value)?.into();
        if bytes.len() > ENTRY_BYTES_MAX {
            return Err(NotCanonical(format!("has {} bytes, {ENTRY_BYTES_MAX} allowed", bytes.len())));
        }
        Ok(Sealed { sequence: self.sequence, hash: Digest::of(Kind::Entry, &bytes), bytes })
    }
}

/// The most characters of why an entry can't be read.
const REASON_CHARS_MAX: usize = 200;

/// An entry as it is stored: its place, its hash and its bytes, none of them checked yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sealed {
    /// The place where it is stored.
    pub sequence: u64,
    /// The hash under which it is stored.
    pub hash: Digest,
    /// Its canonical JSON.
    pub bytes: Arc<[u8]>,
}

/// A stored entry can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
// Exhaustive: a store says of each whether it is damage or a newer version's work.
pub enum EntryError {
    /// Bytes or hash were changed since it was written.
    #[error("entry {sequence} does not match its hash")]
    Altered {
        /// Its place.
        sequence: u64,
    },
    /// It matches its hash, but is no entry or stands in another's place.
    #[error("entry {sequence} {reason}")]
    Malformed {
        /// Its place.
        sequence: u64,
        /// What is wrong.
        reason: String,
    },
    /// It is whole, and holds a word that this version does not know: a newer one wrote it.
    #[error("entry {sequence} was written by another version: {reason}")]
    Unknown {
        /// Its place.
        sequence: u64,
        /// What is not known.
        reason: String,
    },
}

impl Sealed {
    /// What is written down elsewhere to know it again.
    pub const fn pin(&self) -> Pin {
        Pin { sequence: self.sequence, hash: self.hash }
    }

    /// Checks the hash and reads the entry.
    ///
    /// # Errors
    /// It is damaged, or a newer version wrote it.
    pub fn open(&self) -> Result<Entry, EntryError> {
        let Place { sequence, previous, state, standing } = self.place()?;
        if sequence != self.sequence {
            let reason = format!("says that it is entry {sequence}");
            return Err(EntryError::Malformed { sequence: self.sequence, reason });
        }
        let record: Record = serde_json::from_slice(&self.bytes)
            // The reason repeats what is not known, which is as long as somebody made it.
            .map_err(|error| error.to_string().chars().take(REASON_CHARS_MAX).collect())
            .map_err(|reason| EntryError::Unknown { sequence, reason })?;
        // Who reads one of the two would take the other for what ran.
        if record.invocation.as_ref().is_some_and(InvocationRecord::says_its_arguments_twice) {
            let reason = "names its arguments as a stream, and says others".to_owned();
            return Err(EntryError::Malformed { sequence, reason });
        }
        Ok(Entry { sequence, previous, state, standing, record })
    }

    /// Checks the hash and that it leads to `standing`.
    ///
    /// # Errors
    /// It is damaged, or leads elsewhere: then the reason says to what kind of thing.
    pub fn leads_to(&self, leads_to: &Standing) -> Result<(), EntryError> {
        let place = self.place()?;
        let wrong = |what: &str| EntryError::Malformed {
            sequence: self.sequence,
            reason: format!("does not lead to the {what} that the store holds"),
        };
        match () {
            () if place.state != leads_to.state() => Err(wrong("state")),
            () if place.standing != leads_to.standing() => Err(wrong("owners and intents")),
            () => Ok(()),
        }
    }

    /// Checks the hash and reads only what places the entry in its chain.
    fn place(&self) -> Result<Place, EntryError> {
        let sequence = self.sequence;
        if Digest::of(Kind::Entry, &self.bytes) != self.hash {
            return Err(EntryError::Altered { sequence });
        }
        serde_json::from_slice(&self.bytes)
            .map_err(|error| EntryError::Malformed { sequence, reason: format!("has no place in a chain: {error}") })
    }
}

#[cfg(test)]
mod tests;
