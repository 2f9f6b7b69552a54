//! A store that lasts as long as its process: for tests, for throw-away states, and for embedders that keep state
//! themselves.

use crate::absorb::{Shelf, absorb};
use crate::error::StoreError;
use crate::reach::{Source, reach};
use crate::store::{Collected, DAMAGES_MAX, Damage, EntryKey, Head, Retention, State, Stats, Store};
use crate::transition::transitions;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::ledger::{Chain, Entry, Record, Sealed, SecretKey, verify_chain};
use hutch_model::snapshot::{ObjectError, Objects, Tree};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A [`Store`] in memory. Clones are the same store.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    key: SecretKey,
    contents: Arc<Mutex<Contents>>,
    /// Apart from the rest, and locked only for one look-up at a time while a commit goes on: the objects that are
    /// committed may be read from this very store.
    objects: Arc<Mutex<Shelved>>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    streams: HashMap<Digest, Arc<[u8]>>,
    entries: Vec<(Instant, Sealed)>,
    state: State,
    retained_from: u64,
}

#[derive(Clone, Debug, Default)]
struct Shelved(HashMap<Digest, (Kind, Arc<[u8]>)>);

const HERE: &str = "memory";

impl MemoryStore {
    /// An empty store whose ledger hashes secrets under `key`.
    pub fn new(key: SecretKey) -> MemoryStore {
        MemoryStore { key, contents: Arc::default(), objects: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        // Contents are replaced whole, so a panic elsewhere leaves them as they were.
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelved(&self) -> MutexGuard<'_, Shelved> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf for Shelved {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.0.contains_key(digest))
    }

    fn tree(&mut self, digest: &Digest) -> Option<Tree> {
        self.0.get(digest).and_then(|(_, bytes)| Tree::decode(bytes).ok())
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.insert(*digest, (kind, bytes.into()));
        Ok(())
    }

    fn path(&self) -> &Path {
        Path::new(HERE)
    }
}

impl Source for Shelved {
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let found = self.0.get(digest).map(|(_, bytes)| Arc::clone(bytes));
        found.ok_or_else(|| ObjectError { digest: *digest, kind, reason: "is missing".to_owned() })
    }

    fn exists(&self, digest: &Digest) -> bool {
        self.0.contains_key(digest)
    }
}

impl Objects for MemoryStore {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.shelved().bytes(kind, digest)
    }
}

/// New objects beside those there are, so that a failed commit leaves nothing.
struct Overlay<'a> {
    below: &'a MemoryStore,
    new: Shelved,
}

impl Shelf for Overlay<'_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.new.holds(digest)? || self.below.shelved().exists(digest))
    }

    fn tree(&mut self, digest: &Digest) -> Option<Tree> {
        self.below.shelved().tree(digest)
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.new.put(kind, digest, bytes)
    }

    fn path(&self) -> &Path {
        Path::new(HERE)
    }
}

impl Contents {
    fn head(&self) -> Head {
        let last = self.entries.last().map(|(_, entry)| entry.pin());
        Head {
            last: last.unwrap_or_else(|| Chain::default().head()),
            state: self.state.clone(),
            retained_from: self.retained_from.max(1),
        }
    }

    fn roots(&self, objects: &Shelved, from: u64) -> Result<(Vec<Digest>, HashSet<Digest>), StoreError> {
        let mut roots: Vec<Digest> = self.state.values().copied().collect();
        let mut streams = HashSet::new();
        for (_, sealed) in &self.entries {
            if sealed.sequence >= from {
                let record = sealed.open().map_err(|error| StoreError::entry(Path::new(HERE), &error))?.record;
                let states = crate::retention::states(&record);
                let here = |state: &Digest| objects.0.contains_key(state);
                roots.extend(states.filter(|(state, must)| *must || here(state)).map(|(state, _)| state));
                streams.extend(record.streams());
            }
        }
        Ok((roots, streams))
    }

    fn collect(&mut self, shelved: &mut Shelved, retention: &Retention) -> Result<Collected, StoreError> {
        let entries = self.entries.iter().map(|(at, entry)| (entry.sequence, *at));
        let from = crate::retention::retained_from(retention, entries).max(self.retained_from);
        let (roots, streams) = self.roots(shelved, from)?;
        let mut live = HashSet::new();
        for root in roots {
            reach(&*shelved, root, &mut live).map_err(|error| StoreError::object(Path::new(HERE), &error))?;
        }
        let mut collected = Collected { retained_from: from, ..Collected::default() };
        let mut count = |kept: bool, bytes: &Arc<[u8]>| {
            collected.objects += u64::from(!kept);
            collected.bytes += if kept { 0 } else { bytes.len() as u64 };
            kept
        };
        shelved.0.retain(|digest, (_, bytes)| count(live.contains(digest), bytes));
        self.streams.retain(|digest, bytes| count(streams.contains(digest), bytes));
        self.retained_from = from;
        Ok(collected)
    }
}

impl Store for MemoryStore {
    fn head(&self) -> Result<Head, StoreError> {
        Ok(self.lock().head())
    }

    fn objects(&self) -> Arc<dyn Objects> {
        Arc::new(self.clone())
    }

    fn commit_after(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        act: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Sealed>, StoreError> {
        let streams = streams.iter().map(|bytes| (Digest::of(Kind::Stream, bytes), Arc::from(*bytes)));
        let mut contents = self.lock();
        let changes = transitions(record, &contents.state)?;
        let mut overlay = Overlay { below: self, new: Shelved::default() };
        for change in &changes {
            absorb(&mut overlay, objects, change.before, change.after)?;
        }
        let new = overlay.new.0;
        let last = contents.head().last;
        let entry = Entry { sequence: last.sequence + 1, previous: last.hash, record: record.clone() };
        let sealed = entry.seal()?;
        if !act() {
            return Ok(None);
        }
        self.shelved().0.extend(new);
        contents.streams.extend(streams);
        contents.state.extend(changes.into_iter().map(|change| (change.volume, change.after)));
        contents.entries.push((record.at, sealed.clone()));
        Ok(Some(sealed))
    }

    fn entry(&self, key: EntryKey) -> Result<Option<Sealed>, StoreError> {
        let contents = self.lock();
        let wanted = |entry: &Sealed| match key {
            EntryKey::Sequence(sequence) => entry.sequence == sequence,
            EntryKey::Hash(hash) => entry.hash == hash,
        };
        Ok(contents.entries.iter().map(|(_, entry)| entry).find(|entry| wanted(entry)).cloned())
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        let contents = self.lock();
        let from = contents.entries.iter().map(|(_, entry)| entry).filter(|entry| entry.sequence >= sequence);
        Ok(from.take(usize::try_from(count).unwrap_or(usize::MAX)).cloned().collect())
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        Ok(self.lock().streams.get(digest).cloned())
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        Ok(self.key.clone())
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        let (contents, shelved) = (self.lock(), self.shelved());
        let objects = shelved.0.values().map(|(_, bytes)| bytes.len() as u64);
        let streams = contents.streams.values().map(|bytes| bytes.len() as u64);
        Ok(Stats {
            entries: contents.entries.len() as u64,
            objects: shelved.0.len() as u64,
            object_bytes: objects.sum(),
            streams: contents.streams.len() as u64,
            stream_bytes: streams.sum(),
            disk_bytes: 0,
        })
    }

    fn collect(&self, retention: &Retention) -> Result<Collected, StoreError> {
        let (mut contents, mut shelved) = (self.lock(), self.shelved());
        contents.collect(&mut shelved, retention)
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        let (mut contents, mut shelved) = (self.lock().clone(), self.shelved().clone());
        contents.collect(&mut shelved, retention)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        let (contents, shelved) = (self.lock(), self.shelved());
        let mut damages = Vec::new();
        for (digest, (kind, bytes)) in &shelved.0 {
            if Digest::of(*kind, bytes) != *digest && damages.len() < DAMAGES_MAX {
                damages
                    .push(Damage { what: format!("object {digest}"), reason: "does not match its digest".to_owned() });
            }
        }
        let entries = contents.entries.iter().map(|(_, entry)| Ok(entry.clone()));
        if let Err(error) = verify_chain::<hutch_model::ledger::ChainError>(entries, &[]) {
            damages.push(Damage { what: format!("entry {}", error.sequence()), reason: error.to_string() });
        }
        let (roots, _) = contents.roots(&shelved, contents.retained_from)?;
        let mut live = HashSet::new();
        for root in roots {
            if let Err(error) = reach(&*shelved, root, &mut live) {
                damages.push(Damage { what: format!("state {root}"), reason: error.to_string() });
            }
        }
        Ok(damages)
    }
}
