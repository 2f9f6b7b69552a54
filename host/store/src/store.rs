//! What a store promises, whatever keeps it. Knows no database and no files.

use crate::admitted::Admitted;
use crate::error::StoreError;
use crate::memo::Memo;
use crate::names::VolumeName;
use hutch_model::digest::Digest;
use hutch_model::instant::Instant;
use hutch_model::ledger::{Chain, Origin, Owner, Pin, Record, Sealed, SecretKey};
use hutch_model::snapshot::Objects;
use std::collections::{BTreeMap, BTreeSet};
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
    /// The place of the last entry that changed the state; 0 if none did.
    pub changed: u64,
    /// The packages that entries name as the instance's, and what each was when it was last used.
    pub owners: BTreeMap<Origin, Digest>,
    /// Those of them that count here, if entries were [taken](Store::take) that were made elsewhere: no entry says it, and none is
    /// believed about it.
    pub admitted: Option<Admitted>,
    /// The places of intents that no entry has closed.
    pub open: BTreeSet<u64>,
    /// The first entry of which the states and streams are still promised; entries before it have been dropped to their
    /// records.
    pub retained_from: u64,
}

impl Default for Head {
    /// The head of an empty store.
    fn default() -> Head {
        let last = Chain::default().head();
        let (state, owners, open) = (State::new(), BTreeMap::new(), BTreeSet::new());
        Head { last, state, changed: 0, owners, admitted: None, open, retained_from: 1 }
    }
}

impl Head {
    /// The packages that may use the instance here, and what each was when it was last used.
    pub fn admitted(&self) -> &BTreeMap<Origin, Digest> {
        self.admitted.as_ref().map_or(&self.owners, |admitted| &admitted.packages)
    }

    /// Whether the entry in a place was made here, and not only [taken](Store::take). Of what was appended after this, it says nothing: no.
    pub fn is_own(&self, sequence: u64) -> bool {
        let is_taken = self.admitted.as_ref().is_some_and(|admitted| admitted.has_taken(sequence));
        sequence <= self.last.sequence && !is_taken
    }

    /// Whether the entry in a place was made here, or it is [not known](Admitted::unknown): a request that it carried out is not carried out again.
    /// It decides nothing else.
    pub fn may_be_own(&self, sequence: u64) -> bool {
        let unknown = self.admitted.as_ref().map_or(0, |admitted| admitted.unknown);
        self.is_own(sequence) || sequence <= unknown
    }
}

/// Names of entries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EntryKey {
    /// The one in this place, from 1.
    Sequence(u64),
    /// The one with this hash.
    Hash(Digest),
    /// Those whose hash begins with these lower-case hexadecimal digits.
    Prefix(String),
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
/// (`before`), what they became (`after`) and whether that is kept, and [`begin`](Store::begin) takes it or refuses.
/// That is all the concurrency there is, so a shared database can keep a store with one compare-and-swap: put the objects
/// under their digests, then put the sealed entry under its sequence *if nothing is there yet*; whoever loses reads the new
/// head, checks `before` again, seals with the next sequence and repeats. Readers need no lock: objects and entries never
/// change.
///
/// Calls may come from any number of threads and processes.
pub trait Store: Send + Sync {
    /// Where it is, for messages.
    fn at(&self) -> String;

    /// Whether there is such an instance. A store that is made when it is first written is not there before.
    ///
    /// # Errors
    /// The store can't be read.
    fn is_there(&self) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// The last entry and the state, as of one moment.
    ///
    /// # Errors
    /// The store can't be read or is damaged.
    fn head(&self) -> Result<Head, StoreError>;

    /// The state from an entry on; the empty one for place 0.
    ///
    /// # Errors
    /// There is no such entry ([`StoreError::Missing`]); or the store can't be read or is damaged.
    fn state_at(&self, sequence: u64) -> Result<State, StoreError>;

    /// The last entry, in this place or before it, that changed the state; `None` if none did.
    ///
    /// # Errors
    /// The store can't be read.
    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError>;

    /// The objects of all states that are retained. Each is checked against its digest when it is read.
    fn objects(&self) -> Arc<dyn Objects>;

    /// Begins to append `record` and, if it is `kept`, to make `after` the state of each volume that it names: all of it, or
    /// nothing. Everything that can refuse it is asked now; nobody else can append anything until the transaction ends, or, where
    /// there is nothing to lock, its commit is refused if somebody has ([`StoreError::Busy`]). Dropping it takes it back.
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
    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError>;

    /// The same of an entry that was made elsewhere, where the states before place `kept_from` were dropped: one before that place brings no state, which
    /// only a store without states takes, and what is retained begins in that place.
    ///
    /// # Errors
    /// As for [`begin`](Store::begin); or there are states here ([`StoreError::Dropped`]). A store that does not know of it misses the states.
    fn begin_kept_from<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        kept_from: u64,
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        let _ = kept_from;
        self.begin(record, objects, streams)
    }

    /// Begins and commits.
    ///
    /// # Errors
    /// As for [`begin`](Store::begin) and [`Transaction::commit`].
    fn commit(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.begin(record, objects, streams)?.commit()
    }

    /// The same, for everybody to see, but perhaps not durable yet: [`settle`](Store::settle) waits for that, once for all who wait at
    /// the same time, and meanwhile the next record can follow. If the power goes first, it is lost with all that follow, and with
    /// none before it.
    ///
    /// # Errors
    /// As for [`commit`](Store::commit).
    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError>;

    /// Appends entries that were made elsewhere, all of them or, where a store can do that, none. Each must come to the same bytes when it is
    /// made again here; what they lead to is read `from` the store that has them. Whom they name as the instance's counts for nothing
    /// here: who might use it before may, and so may `owner`. What `from` has no states of any more is taken [without](Store::begin_kept_from).
    ///
    /// # Errors
    /// As for [`commit`](Store::commit); or one is for another place than the next one ([`StoreError::Forked`]), as when somebody appends one first; or
    /// comes to something else here ([`StoreError::Damaged`]).
    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError>;

    /// Returns when the entry in this place and all before it are durable, those that are readings excepted: at once where nothing was
    /// only [appended](Store::append). Whoever answers with what an entry led to calls this first.
    ///
    /// # Errors
    /// [`StoreError::Uncertain`]: the system can't say that it is durable, and nothing more can be written through this store.
    fn settle(&self, sequence: u64) -> Result<(), StoreError>;

    /// The entries with this name, as stored, not yet checked: [`Sealed::open`] does that. A prefix may name more than one; at
    /// most two are given.
    ///
    /// # Errors
    /// The store can't be read.
    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError>;

    /// The entry in a place, not yet checked.
    ///
    /// # Errors
    /// The store can't be read.
    fn entry(&self, sequence: u64) -> Result<Option<Sealed>, StoreError> {
        Ok(self.find(&EntryKey::Sequence(sequence))?.pop())
    }

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

    /// The outcomes that are kept beside the instance to be used again; none if none ever were and `make` does not say otherwise, or where
    /// none are kept at all.
    ///
    /// # Errors
    /// What is there can't be read: the instance is none the worse for it.
    fn memo(&self, make: bool) -> Result<Option<Arc<dyn Memo>>, StoreError> {
        let _ = make;
        Ok(None)
    }

    /// How much there is. Cost follows the number of objects.
    ///
    /// # Errors
    /// The store can't be read.
    fn stats(&self) -> Result<Stats, StoreError>;

    /// Drops the states and streams that only entries before the retained ones name, and appends `record`, which then says what
    /// was dropped. The entries themselves, the state, and for each retained entry the states before and after it, stay.
    /// Others may append entries while it is decided what goes.
    ///
    /// # Errors
    /// The store can't be written, or what must stay can't be read; or it is one from which nothing is removed ([`StoreError::Refused`]).
    fn collect(&self, retention: &Retention, record: &Record) -> Result<(Collected, Sealed), StoreError>;

    /// What [`collect`](Store::collect) would drop now. Drops nothing.
    ///
    /// # Errors
    /// What must stay can't be read; or nothing is ever removed.
    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError>;

    /// Checks everything: each object and each stream against its digest, the chain of entries, that the entries lead to the
    /// state, and that every retained state is complete. Stops after [`DAMAGES_MAX`] findings.
    ///
    /// # Errors
    /// The store can't be read at all.
    fn check(&self) -> Result<Vec<Damage>, StoreError>;
}

/// A record that is about to be appended. Dropping it takes it back.
pub trait Transaction {
    /// The entry that it becomes.
    fn entry(&self) -> &Sealed;

    /// Makes it so. A record that changes anything is durable by then; one that is [a reading](Record::is_reading) may be lost
    /// with the power, until the next one that is not.
    ///
    /// # Errors
    /// The store can't be written, and nothing was appended; or [`StoreError::Uncertain`].
    fn commit(self: Box<Self>) -> Result<Sealed, StoreError>;
}

/// The most findings that [`Store::check`] gathers.
pub const DAMAGES_MAX: usize = 1000;
