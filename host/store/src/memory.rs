//! A store that lasts as long as its process: for tests, for throw-away states, for embedders that keep state themselves, and, over
//! another store, for previews. Over another one, it shows what that one would be, and changes nothing of it.

use crate::absorb::Shelf;
use crate::admitted::Admitted;
use crate::bundle::Bundle;
use crate::error::StoreError;
use crate::memo::Memo;
use crate::reach::{Source, reach};
use crate::store::{Collected, DAMAGES_MAX, Damage, EntryKey, Head, Retention, State, Stats, Store, Transaction};
use crate::transition::{Advance, streams};
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::ledger::{CollectRecord, Owner, Record, Sealed, SecretKey, Standing, verify_chain};
use hutch_model::snapshot::{Layered, ObjectError, Objects, TreeObject};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`Store`] in memory. Clones are the same store.
#[derive(Clone)]
pub struct MemoryStore {
    below: Below,
    contents: Arc<Mutex<Contents>>,
    /// Apart from the rest, and locked only for one look-up at a time while a commit goes on: the objects that are
    /// committed may be read from this very store.
    objects: Arc<Mutex<Shelved>>,
    /// A bundle that is held as long as this is, so that what is taken from it is not held again.
    lent: Option<Arc<Lent>>,
}

/// A bundle that lends what it has.
type Lent = Bundle<Vec<u8>>;

/// Bytes that a store in memory keeps, or that lie in a bundle.
#[derive(Clone)]
enum Kept {
    Own(Arc<[u8]>),
    Lent(Arc<Lent>, Range<usize>),
}

impl Kept {
    fn bytes(&self) -> &[u8] {
        match self {
            Kept::Own(bytes) => bytes,
            // It was there as it was found.
            Kept::Lent(bundle, place) => bundle.at(place).unwrap_or_default(),
        }
    }

    fn shared(&self) -> Arc<[u8]> {
        match self {
            Kept::Own(bytes) => Arc::clone(bytes),
            Kept::Lent(..) => self.bytes().into(),
        }
    }
}

/// What a store in memory begins with.
#[derive(Clone)]
enum Below {
    Nothing(SecretKey),
    Store(Arc<dyn Store>),
}

#[derive(Default)]
struct Contents {
    streams: HashMap<Digest, Kept>,
    entries: Vec<(Instant, Sealed)>,
    /// Where the entries here lead; none before the first.
    head: Option<Head>,
    /// The state from each of the entries here on.
    states: Vec<State>,
}

#[derive(Clone, Default)]
struct Shelved(HashMap<Digest, (Kind, Kept)>);

const HERE: &str = "memory";

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryStore")
    }
}

impl MemoryStore {
    /// An empty store whose ledger hashes secrets under `key`.
    pub fn new(key: SecretKey) -> MemoryStore {
        MemoryStore { below: Below::Nothing(key), contents: Arc::default(), objects: Arc::default(), lent: None }
    }

    /// A store without any entry that has these objects and streams, of which each is named by its bytes.
    pub fn holding(all: impl IntoIterator<Item = (Kind, Arc<[u8]>)>) -> MemoryStore {
        let store = MemoryStore::new(SecretKey::new([0; 32]));
        for (kind, bytes) in all {
            let (digest, kept) = (Digest::of(kind, &bytes), Kept::Own(bytes));
            match kind {
                Kind::Stream => drop(store.lock().streams.insert(digest, kept)),
                kind => drop(store.shelved().0.insert(digest, (kind, kept))),
            }
        }
        store
    }

    /// A store that begins as `below` and never changes it.
    pub fn over(below: Arc<dyn Store>) -> MemoryStore {
        MemoryStore { below: Below::Store(below), contents: Arc::default(), objects: Arc::default(), lent: None }
    }

    /// The same, which keeps no copy of what this bundle has, but the bundle.
    #[must_use]
    pub fn lent(self, bundle: Arc<Bundle<Vec<u8>>>) -> MemoryStore {
        MemoryStore { lent: Some(bundle), ..self }
    }

    fn kept(&self, digest: &Digest, bytes: &[u8]) -> Kept {
        match self.lent.as_ref().and_then(|bundle| Some((bundle, bundle.find(digest)?))) {
            Some((bundle, place)) => Kept::Lent(Arc::clone(bundle), place),
            None => Kept::Own(bytes.into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        // Contents are replaced whole, so a panic elsewhere leaves them as they were.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelved(&self) -> MutexGuard<'_, Shelved> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn head_of(&self, contents: &Contents) -> Result<Head, StoreError> {
        match (&contents.head, &self.below) {
            (Some(head), _) => Ok(head.clone()),
            (None, Below::Store(below)) => below.head(),
            (None, Below::Nothing(_)) => Ok(Head::default()),
        }
    }

    /// Says who may use the instance from here on.
    pub(crate) fn admit(&self, admitted: Admitted) -> Result<(), StoreError> {
        let mut contents = self.lock();
        contents.head = Some(Head { admitted: Some(admitted), ..self.head_of(&contents)? });
        Ok(())
    }

    /// The place of the first entry that is here.
    fn begins(&self) -> Option<u64> {
        self.lock().entries.first().map(|(_, entry)| entry.sequence)
    }

    fn below(&self) -> Option<&dyn Store> {
        match &self.below {
            Below::Store(below) => Some(&**below),
            Below::Nothing(_) => None,
        }
    }

    /// Appends a record whose objects are all here or in `new`.
    fn append(&self, contents: &mut Contents, at: Instant, advance: Advance, new: Shelved) -> Sealed {
        self.shelved().0.extend(new.0);
        contents.states.push(advance.head.state.clone());
        contents.head = Some(advance.head);
        contents.entries.push((at, advance.sealed.clone()));
        advance.sealed
    }

    /// What an entry adds to the objects, and to those that others before it add.
    fn gathered(&self, new: Shelved, advance: &Advance, objects: &dyn Objects) -> Result<Shelved, StoreError> {
        let mut beside = Beside { store: self, objects: self.objects(), new };
        // What is stored below is found there, unless it is dropped meanwhile: so it is taken in like anything else.
        let source = Both(objects, &*beside.objects.clone());
        advance.absorb(&mut beside, &source)?;
        Ok(beside.new)
    }

    fn collect_here(
        &self,
        contents: &Contents,
        retention: &Retention,
    ) -> Result<(Collected, HashSet<Digest>, HashSet<Digest>), StoreError> {
        let head = self.head_of(contents)?;
        let entries = contents.entries.iter().map(|(at, entry)| (entry.sequence, *at));
        let from = crate::retention::retained_from(retention, entries).max(head.retained_from);
        let shelved = self.shelved();
        let (roots, streams) = contents.roots(&shelved, &head, from)?;
        let mut live = HashSet::new();
        for root in roots {
            reach(&*shelved, root, &mut live).map_err(|error| StoreError::object(HERE, &error))?;
        }
        let mut collected = Collected { retained_from: from, ..Collected::default() };
        let dead = shelved.0.iter().filter(|(digest, _)| !live.contains(*digest)).map(|(_, (_, bytes))| bytes);
        let unread = contents.streams.iter().filter(|(digest, _)| !streams.contains(*digest)).map(|(_, bytes)| bytes);
        for kept in dead.chain(unread) {
            collected.objects += 1;
            collected.bytes += kept.bytes().len() as u64;
        }
        Ok((collected, live, streams))
    }
}

impl Source for Shelved {
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let found = self.0.get(digest).map(|(_, kept)| kept.shared());
        found.ok_or(ObjectError::missing(kind, *digest))
    }

    fn exists(&self, digest: &Digest) -> bool {
        self.0.contains_key(digest)
    }
}

/// The objects of a store in memory alone, without what is below it.
struct Held(Arc<Mutex<Shelved>>);

impl Objects for Held {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes(kind, digest)
    }
}

/// New objects beside those there are, so that a transaction that is dropped leaves nothing.
struct Beside<'a> {
    store: &'a MemoryStore,
    objects: Arc<dyn Objects>,
    new: Shelved,
}

impl Shelf for Beside<'_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.new.exists(digest) || self.store.shelved().exists(digest))
    }

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        match self.new.0.get(digest) {
            Some((_, kept)) => TreeObject::decode(kept.bytes()).ok(),
            None => TreeObject::decode(&self.objects.get(Kind::Tree, digest).ok()?).ok(),
        }
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.new.0.insert(*digest, (kind, self.store.kept(digest, bytes)));
        Ok(())
    }

    fn at(&self) -> String {
        self.store.at()
    }
}

impl Contents {
    /// What must stay, of the states and of the streams.
    fn roots(&self, objects: &Shelved, head: &Head, from: u64) -> Result<(Vec<Digest>, HashSet<Digest>), StoreError> {
        let mut roots: Vec<Digest> = head.state.values().copied().collect();
        let mut streams = HashSet::new();
        for (_, sealed) in &self.entries {
            if sealed.sequence >= from {
                let record = sealed.open().map_err(|error| StoreError::entry(HERE, &error))?.record;
                let states = crate::retention::states(&record);
                let here = |state: &Digest| objects.0.contains_key(state);
                roots.extend(states.filter(|(state, must)| *must || here(state)).map(|(state, _)| state));
                streams.extend(record.streams());
            }
        }
        Ok((roots, streams))
    }
}

/// A record that is about to be appended. Nobody else can append one meanwhile.
struct Pending<'s> {
    store: &'s MemoryStore,
    contents: MutexGuard<'s, Contents>,
    at: Instant,
    advance: Advance,
    new: Shelved,
    streams: Vec<(Digest, Kept)>,
}

impl Transaction for Pending<'_> {
    fn entry(&self) -> &Sealed {
        &self.advance.sealed
    }

    fn commit(self: Box<Self>) -> Result<Sealed, StoreError> {
        let Pending { store, mut contents, at, advance, new, streams } = *self;
        contents.streams.extend(streams);
        Ok(store.append(&mut contents, at, advance, new))
    }
}

impl Store for MemoryStore {
    fn at(&self) -> String {
        self.below().map_or_else(|| HERE.to_owned(), |below| below.at())
    }

    fn is_there(&self) -> Result<bool, StoreError> {
        self.below().map_or(Ok(true), |below| below.is_there())
    }

    fn head(&self) -> Result<Head, StoreError> {
        self.head_of(&self.lock())
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        if sequence == 0 {
            return Ok(State::new());
        }
        let contents = self.lock();
        let here = contents.entries.iter().position(|(_, entry)| entry.sequence == sequence);
        match (here.and_then(|at| contents.states.get(at)), self.below()) {
            (Some(state), _) => Ok(state.clone()),
            (None, Some(below)) => below.state_at(sequence),
            (None, None) => Err(StoreError::Missing { at: self.at(), what: format!("entry {sequence}") }),
        }
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        {
            let contents = self.lock();
            for (at, (_, sealed)) in contents.entries.iter().enumerate().rev() {
                let before = match (at.checked_sub(1).and_then(|at| contents.states.get(at)), self.below()) {
                    (Some(state), _) => state.clone(),
                    (None, Some(below)) => below.state_at(sealed.sequence - 1)?,
                    (None, None) => State::new(),
                };
                if sealed.sequence <= sequence && contents.states.get(at) != Some(&before) {
                    return Ok(Some(sealed.sequence));
                }
            }
        }
        // What others appended below meanwhile is not part of it.
        let before = self.begins().map_or(sequence, |begins| sequence.min(begins.saturating_sub(1)));
        self.below().map_or(Ok(None), |below| below.last_change(before))
    }

    fn objects(&self) -> Arc<dyn Objects> {
        let here: Arc<dyn Objects> = Arc::new(Held(Arc::clone(&self.objects)));
        match self.below() {
            Some(below) => Arc::new(Layered(vec![here, below.objects()])),
            None => here,
        }
    }

    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        self.begin_kept_from(record, objects, streams, 1)
    }

    fn begin_kept_from<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        kept_from: u64,
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        let streams = streams.iter().map(|bytes| (Digest::of(Kind::Stream, bytes), *bytes));
        let streams = streams.map(|(digest, bytes)| (digest, self.kept(&digest, bytes))).collect();
        let contents = self.lock();
        let advance = self.head_of(&contents)?.advance_kept_from(record, kept_from)?;
        let new = self.gathered(Shelved::default(), &advance, objects)?;
        Ok(Box::new(Pending { store: self, contents, at: record.at, advance, new, streams }))
    }

    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.commit(record, objects, streams)
    }

    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError> {
        // It may be one over this one, and look here for what it has not: so it is asked before the lock.
        let (kept_from, mut kept) = (from.head()?.retained_from, Vec::new());
        for sealed in entries {
            kept.extend(streams(&sealed.open().map_err(|error| StoreError::entry(HERE, &error))?.record, from)?);
        }
        let mut contents = self.lock();
        let (mut head, objects) = (self.head_of(&contents)?, from.objects());
        let (mut new, mut taken) = (Shelved::default(), Vec::new());
        for sealed in entries {
            let (record, advance) = head.take(sealed, owner, kept_from)?;
            new = self.gathered(new, &advance, &*objects)?;
            head = advance.head.clone();
            taken.push((record.at, advance));
        }
        // Nothing can refuse it any more.
        contents.streams.extend(kept.into_iter().map(|bytes| (Digest::of(Kind::Stream, &bytes), Kept::Own(bytes))));
        for (at, advance) in taken {
            self.append(&mut contents, at, advance, std::mem::take(&mut new));
        }
        Ok(())
    }

    /// What is here lasts as long as it can, and what is below was not appended here.
    fn settle(&self, sequence: u64) -> Result<(), StoreError> {
        let here = self.lock().entries.first().map(|(_, entry)| entry.sequence);
        let below = here.map_or(sequence, |first| sequence.min(first - 1));
        self.below().map_or(Ok(()), |store| store.settle(below))
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        let mut found = self.below().map_or(Ok(Vec::new()), |below| below.find(key))?;
        // What others appended below meanwhile is not part of it.
        let begins = self.begins();
        found.retain(|entry| begins.is_none_or(|begins| entry.sequence < begins));
        let contents = self.lock();
        let wanted = |entry: &&Sealed| match key {
            EntryKey::Sequence(sequence) => entry.sequence == *sequence,
            EntryKey::Hash(hash) => entry.hash == *hash,
            EntryKey::Prefix(prefix) => entry.hash.to_string().starts_with(prefix),
        };
        found.extend(contents.entries.iter().map(|(_, entry)| entry).filter(wanted).cloned());
        found.truncate(2);
        Ok(found)
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        let mut entries = self.below().map_or(Ok(Vec::new()), |below| below.entries(sequence, count))?;
        let begins = self.begins();
        entries.retain(|entry| begins.is_none_or(|begins| entry.sequence < begins));
        let contents = self.lock();
        let left = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(entries.len());
        let here = contents.entries.iter().map(|(_, entry)| entry).filter(|entry| entry.sequence >= sequence);
        entries.extend(here.take(left).cloned());
        Ok(entries)
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        match (self.lock().streams.get(digest), self.below()) {
            (Some(kept), _) => Ok(Some(kept.shared())),
            (None, Some(below)) => below.stream(digest),
            (None, None) => Ok(None),
        }
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        match &self.below {
            Below::Nothing(key) => Ok(key.clone()),
            Below::Store(below) => below.secret_key(),
        }
    }

    fn memo(&self, _make: bool) -> Result<Option<Arc<dyn Memo>>, StoreError> {
        self.below().map_or(Ok(None), |below| below.memo(false))
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let mut stats = self.below().map_or(Ok(Stats::default()), |below| below.stats())?;
        let (contents, shelved) = (self.lock(), self.shelved());
        stats.entries += contents.entries.len() as u64;
        stats.objects += shelved.0.len() as u64;
        stats.object_bytes += shelved.0.values().map(|(_, kept)| kept.bytes().len() as u64).sum::<u64>();
        stats.streams += contents.streams.len() as u64;
        stats.stream_bytes += contents.streams.values().map(|kept| kept.bytes().len() as u64).sum::<u64>();
        Ok(stats)
    }

    fn collect(&self, retention: &Retention, record: &Record) -> Result<(Collected, Sealed), StoreError> {
        let mut contents = self.lock();
        let (collected, kept) = match self.below() {
            // What is below is not changed, and what is here is a preview's.
            Some(below) => (below.collectable(retention)?, None),
            None => {
                let (collected, live, streams) = self.collect_here(&contents, retention)?;
                (collected, Some((live, streams)))
            }
        };
        let record = Record { collected: Some(collected.record()), ..record.clone() };
        let mut advance = self.head_of(&contents)?.advance(&record)?;
        advance.head.retained_from = collected.retained_from;
        if let Some((live, streams)) = kept {
            self.shelved().0.retain(|digest, _| live.contains(digest));
            contents.streams.retain(|digest, _| streams.contains(digest));
        }
        Ok((collected, self.append(&mut contents, record.at, advance, Shelved::default())))
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        match self.below() {
            Some(below) => below.collectable(retention),
            None => Ok(self.collect_here(&self.lock(), retention)?.0),
        }
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        let mut damages = self.below().map_or(Ok(Vec::new()), |below| below.check())?;
        let mut find = |what: String, reason: String| {
            if damages.len() < DAMAGES_MAX {
                damages.push(Damage { what, reason });
            }
        };
        let entries = self.entries(1, u64::MAX)?;
        let mut standing = Standing::default();
        for sealed in &entries {
            match sealed.open() {
                Ok(entry) => standing.force(entry.sequence, &entry.record),
                Err(error) => find(format!("entry {}", sealed.sequence), error.to_string()),
            }
        }
        let contents = self.lock();
        let head = self.head_of(&contents)?;
        if let Some(error) = entries.last().and_then(|last| last.leads_to(&standing).err()) {
            find("the state".to_owned(), error.to_string());
        }
        if standing != head.standing() {
            find("the state".to_owned(), "is not the one that the entries lead to".to_owned());
        }
        if let Err(error) = verify_chain::<hutch_model::ledger::ChainError>(entries.into_iter().map(Ok), &[head.last]) {
            find(format!("entry {}", error.sequence()), error.to_string());
        }
        let shelved = self.shelved();
        let objects = shelved.0.iter().map(|(digest, (kind, bytes))| (digest, *kind, bytes));
        let streams = contents.streams.iter().map(|(digest, bytes)| (digest, Kind::Stream, bytes));
        for (digest, kind, kept) in objects.chain(streams) {
            if Digest::of(kind, kept.bytes()) != *digest {
                find(format!("object {digest}"), "does not match its digest".to_owned());
            }
        }
        if self.below().is_none() {
            let (roots, _) = contents.roots(&shelved, &head, head.retained_from)?;
            let mut live = HashSet::new();
            for root in roots {
                if let Err(error) = reach(&*shelved, root, &mut live) {
                    find(format!("state {root}"), error.to_string());
                }
            }
        }
        Ok(damages)
    }
}

/// Two sources as one: [`Layered`] for references.
struct Both<'a>(&'a dyn Objects, &'a dyn Objects);

impl Objects for Both<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.0.get(kind, digest).or_else(|error| self.1.get(kind, digest).map_err(|_| error))
    }
}

impl Collected {
    /// What the ledger says of it.
    pub fn record(&self) -> CollectRecord {
        CollectRecord { retained_from: self.retained_from, objects: self.objects, bytes: self.bytes }
    }
}
