//! What a store promises, whatever keeps it. Knows no database and no files.

use crate::error::StoreError;
use crate::names::VolumeName;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Pin, Record, Sealed, SecretKey};
use hutch_model::snapshot::Objects;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The snapshot of each volume.
pub type State = BTreeMap<VolumeName, Digest>;

/// Where a store stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The last entry; place 0 if there is none.
    pub last: Pin,
    /// The state that the entries up to it have led to.
    pub state: State,
    /// The first entry of which the states and streams are still promised; entries before it have been dropped to their
    /// records.
    pub retained_from: u64,
}

/// One of the two names of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKey {
    /// Its place, from 1.
    Sequence(u64),
    /// Its hash.
    Hash(Digest),
}

/// What to keep. An entry is retained if either rule keeps it or a later entry is retained; the last one always is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retention {
    /// How many entries, counted from the last.
    pub keep_last: u64,
    /// Entries made at this instant or later.
    pub newer_than: Option<Instant>,
}

/// What [`Store::collect`] dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Collected {
    /// The first entry of which states and streams are still promised.
    pub retained_from: u64,
    /// Objects that were removed.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// How much a store holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Ledger entries.
    pub entries: u64,
    /// Chunks, lists and trees.
    pub objects: u64,
    /// Their bytes.
    pub object_bytes: u64,
    /// Kept inputs and outputs.
    pub streams: u64,
    /// Their bytes.
    pub stream_bytes: u64,
    /// Bytes that the store takes on disk; 0 if it has none.
    pub disk_bytes: u64,
}

/// One thing that is not as it was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Which object, entry or table.
    pub what: String,
    /// How it shows.
    pub reason: String,
}

/// The volumes and the ledger of one instance.
///
/// The ledger is the log and the state is what it leads to: a [`Record`] says which volumes it saw, what they were
/// (`before`), what they became (`after`) and whether that is kept, and [`commit`](Store::commit) makes it so or refuses.
/// That is all the concurrency there is, so a shared database can keep a store with one compare-and-swap: put the objects
/// under their digests, then put the sealed entry under its sequence *if nothing is there yet*; whoever loses reads the new
/// head, checks `before` again, seals with the next sequence and repeats. Readers need no lock: objects and entries never
/// change.
///
/// Calls may come from any number of threads and processes.
pub trait Store: Send + Sync {
    /// The last entry and the state, as of one moment.
    ///
    /// # Errors
    /// The store can't be read or is damaged.
    fn head(&self) -> Result<Head, StoreError>;

    /// The objects of all states that are retained. Each is checked against its digest when it is read.
    fn objects(&self) -> Arc<dyn Objects>;

    /// Appends `record` and, if it is `kept`, makes `after` the state of each volume that it names: all of it, or nothing.
    /// Answers with the entry in its place, which is durable by then.
    ///
    /// What a kept record adds to the store is read from `objects`: whatever of `after` is not stored yet. `streams` are
    /// the inputs and outputs to keep with the entry.
    ///
    /// A record that is not kept, or that leaves all its volumes as they were, is a reading and never conflicts: what it
    /// saw was the state at one moment. One that changes a volume conflicts if any volume that it names is not in state
    /// `before` any more, whether it changed that one or only saw it. Entries that others have appended meanwhile without
    /// changing the state do not matter.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]; or an object of `after` is nowhere ([`StoreError::Missing`] if it is the state itself);
    /// or the store can't be written.
    fn commit(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        let given_up = || StoreError::Record("was given up".to_owned());
        self.commit_after(record, objects, streams, &mut || true)?.ok_or_else(given_up)
    }

    /// The same, with something to be done elsewhere that must not be done if the record is refused: `act` is called when nothing
    /// but making it durable is left to do, and nobody else can commit meanwhile. If it says no, nothing is committed.
    ///
    /// # Errors
    /// As for [`commit`](Store::commit).
    fn commit_after(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        act: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Sealed>, StoreError>;

    /// One entry, as stored, not yet checked: [`Sealed::open`] does that.
    ///
    /// # Errors
    /// The store can't be read.
    fn entry(&self, key: EntryKey) -> Result<Option<Sealed>, StoreError>;

    /// Up to `count` entries from `sequence` on, in order, not yet checked.
    ///
    /// # Errors
    /// The store can't be read.
    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError>;

    /// A kept input or output; `None` if it was not kept or is not any more.
    ///
    /// # Errors
    /// The store can't be read, or the bytes are damaged.
    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError>;

    /// The key under which this instance's ledger hashes secrets. Never in the ledger or an export.
    ///
    /// # Errors
    /// The store can't be read.
    fn secret_key(&self) -> Result<SecretKey, StoreError>;

    /// How much there is. Cost follows the number of objects.
    ///
    /// # Errors
    /// The store can't be read.
    fn stats(&self) -> Result<Stats, StoreError>;

    /// Drops the states and streams that only entries before the retained ones name. The entries themselves, the state,
    /// and for each retained entry the states before and after it, stay.
    ///
    /// # Errors
    /// The store can't be written, or what must stay can't be read.
    fn collect(&self, retention: &Retention) -> Result<Collected, StoreError>;

    /// What [`collect`](Store::collect) would drop now. Drops nothing.
    ///
    /// # Errors
    /// What must stay can't be read.
    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError>;

    /// Checks everything: each object against its digest, the chain of entries, that the entries lead to the state, and
    /// that every retained state is complete. Stops after [`DAMAGES_MAX`] findings.
    ///
    /// # Errors
    /// The store can't be read at all.
    fn check(&self) -> Result<Vec<Damage>, StoreError>;
}

/// The most findings that [`Store::check`] gathers.
pub const DAMAGES_MAX: usize = 1000;
