//! Which entry made something so is found by few runs and few looks into a ledger, however long it is.

use super::{call, sandbox, todo};
use hutch::storing::{
    Collected, Damage, Digest, EntryKey, Head, MemoryObjects, MemoryStore, Objects, Owner, Record, Retention, Sealed,
    SecretKey, State, Stats, Store, StoreError, Transaction,
};
use hutch::{Failure, Host};
use hutch_model::halving::first_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A store that counts the entries and the states that are looked at in it.
struct Counted(MemoryStore, AtomicU64);

impl Counted {
    fn count<T>(&self, looks: impl FnOnce(&T) -> usize, found: Result<T, StoreError>) -> Result<T, StoreError> {
        self.1.fetch_add(found.as_ref().map_or(1, looks).max(1) as u64, Ordering::Relaxed);
        found
    }
}

impl Store for Counted {
    fn at(&self) -> String {
        self.0.at()
    }

    fn head(&self) -> Result<Head, StoreError> {
        self.0.head()
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        self.count(|_| 1, self.0.state_at(sequence))
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        self.count(|_| 1, self.0.last_change(sequence))
    }

    fn objects(&self) -> Arc<dyn Objects> {
        self.0.objects()
    }

    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        self.0.begin(record, objects, streams)
    }

    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.0.append(record, objects, streams)
    }

    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError> {
        self.0.take(entries, from, owner)
    }

    fn settle(&self, sequence: u64) -> Result<(), StoreError> {
        self.0.settle(sequence)
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        self.count(Vec::len, self.0.find(key))
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        self.count(Vec::len, self.0.entries(sequence, count))
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.0.stream(digest)
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        self.0.secret_key()
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        self.0.stats()
    }

    fn collect(&self, retention: &Retention, record: &Record) -> Result<(Collected, Sealed), StoreError> {
        self.0.collect(retention, record)
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        self.0.collectable(retention)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.0.check()
    }
}

#[test]
fn an_entry_among_thousands_is_found_by_few_runs_and_few_looks() {
    const READINGS: u64 = 4_000;
    const WANTED: u64 = 1_234;
    let store = Arc::new(Counted(MemoryStore::new(SecretKey::new([7; 32])), AtomicU64::new(0)));
    let kept: Arc<dyn Store> = store.clone();
    let host = Host::with_stores(Arc::new(move |_, _| Ok(Arc::clone(&kept))), sandbox());
    let (package, list) = (todo(), call(&["list"]));
    host.run(&package, &call(&["add", "milk"])).unwrap();
    let listed = host.run(&package, &list).unwrap().entry.sequence;
    let reading = store.entry(listed).unwrap().unwrap().open().unwrap().record;
    for _ in 0..READINGS {
        store.commit(&reading, &MemoryObjects::default(), &[]).unwrap();
    }
    let last = store.head().unwrap().last.sequence;
    assert_eq!(last, listed + READINGS);

    let before = store.1.load(Ordering::Relaxed);
    let host = host.previewing();
    let mut job = host.job(&package, &list, None).unwrap();
    let from = job.first_whole(1, last).unwrap();
    let mut runs = 0;
    let found = first_of(from, last, |sequence| -> Result<bool, Failure> {
        runs += 1;
        job.after(sequence)?;
        job.run(&list)?;
        Ok(sequence >= WANTED)
    });
    assert_eq!(found.unwrap(), Some(WANTED));
    let looks = store.1.load(Ordering::Relaxed) - before;
    assert!(runs <= 2 + 12, "{runs} runs");
    // One for each run, and a few to begin with.
    assert!(looks <= runs + 8, "{looks} looks for {runs} runs");
    assert_eq!(store.head().unwrap().last.sequence, last, "something was written down");
}
