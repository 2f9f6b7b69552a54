//! A store of an embedder's: what is read comes from memory, and what is committed is appended to one file of the embedder's, of which it
//! begins again. It uses this crate alone. The argument is the file.
#![allow(clippy::disallowed_methods, clippy::print_stdout, reason = "an embedder's program")]

use hutch::package::Package;
use hutch::storing::{
    Collected, Damage, Digest, EntryKey, Head, MemoryStore, Objects, Owner, Record, Retention, Sealed, SecretKey,
    State, Stats, Store, StoreError, Transaction, bundle,
};
use hutch::{Call, Host, Instant, Sandbox, Seed};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The store, and the file that it is kept in with the place of the last entry that is there.
struct Kept {
    memory: MemoryStore,
    file: Mutex<(File, u64)>,
}

impl Kept {
    fn open(path: &Path, key: SecretKey) -> Result<Kept, Box<dyn std::error::Error>> {
        let memory = MemoryStore::new(key);
        let taken = bundle::take_in(&memory, &fs::read(path).unwrap_or_default())?;
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        // What was being written when the last process ended.
        file.set_len(taken.whole_bytes)?;
        let last = memory.head()?.last.sequence;
        Ok(Kept { memory, file: Mutex::new((file, last)) })
    }

    /// Keeps what is new before anybody is told of it. Where that fails, the memory knows an entry that the next process may not know.
    fn keep(&self) -> Result<(), StoreError> {
        let mut guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, kept) = &mut *guard;
        let (added, sequence) = (bundle::export(&self.memory, *kept)?, self.memory.head()?.last.sequence);
        let written = file.write_all(&added).and_then(|()| file.sync_data());
        written.map_err(|error| StoreError::Uncertain { at: self.at(), sequence, source: error.into() })?;
        *kept = sequence;
        Ok(())
    }
}

/// A record that is about to be appended to the memory, and then to the file.
struct Pending<'s>(Box<dyn Transaction + 's>, &'s Kept);

impl Transaction for Pending<'_> {
    fn entry(&self) -> &Sealed {
        self.0.entry()
    }

    fn commit(self: Box<Self>) -> Result<Sealed, StoreError> {
        let sealed = self.0.commit()?;
        self.1.keep()?;
        Ok(sealed)
    }
}

impl Store for Kept {
    fn at(&self) -> String {
        "the embedder's file".to_owned()
    }

    fn head(&self) -> Result<Head, StoreError> {
        self.memory.head()
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        self.memory.state_at(sequence)
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        self.memory.last_change(sequence)
    }

    fn objects(&self) -> Arc<dyn Objects> {
        self.memory.objects()
    }

    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        Ok(Box::new(Pending(self.memory.begin(record, objects, streams)?, self)))
    }

    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.commit(record, objects, streams)
    }

    /// Who may use the instance then would have to be kept beside its log, of which the file is all that there is.
    fn take(&self, _: &[Sealed], _: &dyn Store, _: &Owner) -> Result<(), StoreError> {
        Err(StoreError::Refused { at: self.at(), reason: "what others made is not kept here".to_owned() })
    }

    fn settle(&self, _: u64) -> Result<(), StoreError> {
        // Nothing is answered before it is in the file.
        Ok(())
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        self.memory.find(key)
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        self.memory.entries(sequence, count)
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        self.memory.stream(digest)
    }

    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        self.memory.secret_key()
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        self.memory.stats()
    }

    fn collect(&self, _: &Retention, _: &Record) -> Result<(Collected, Sealed), StoreError> {
        let what = "a log, from which nothing is dropped".to_owned();
        Err(StoreError::Refused { at: self.at(), reason: what })
    }

    fn collectable(&self, retention: &Retention) -> Result<Collected, StoreError> {
        self.memory.collectable(retention)
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        self.memory.check()
    }
}

type Done<T> = Result<T, Box<dyn std::error::Error>>;

/// Adds an item with the state in `file`; answers with how many entries that makes, and what is listed.
fn add(package: &Path, file: &Path, title: &str) -> Done<(u64, String)> {
    let package = Package::open_at(package)?;
    let store: Arc<dyn Store> = Arc::new(Kept::open(file, SecretKey::new([7; 32]))?);
    let kept = Arc::clone(&store);
    let host = Host::with_stores(Arc::new(move |_, _| Ok(Arc::clone(&kept))), Sandbox::default());
    let now: Instant = "2026-04-01T09:00:00Z".parse()?;
    host.run(&package, &Call::new(["add", title], now, Seed([7; 32])))?;
    let listed = host.run(&package, &Call::new(["list"], now, Seed([7; 32])))?;
    Ok((store.head()?.last.sequence, String::from_utf8_lossy(&listed.outcome.stdout).into_owned()))
}

fn main() -> Done<()> {
    let file = std::env::args_os().nth(1).ok_or("expected a file")?;
    let (entries, listed) = add("packages/todo".as_ref(), file.as_ref(), "milk")?;
    println!("{entries} {listed}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_is_in_the_file_and_what_was_cut_short_is_not() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("log");
        let (first, _) = add(&package, &file, "milk").unwrap();
        let whole = fs::read(&file).unwrap();
        fs::write(&file, [&whole[..], &whole[..100]].concat()).unwrap();
        let (second, listed) = add(&package, &file, "bread").unwrap();
        assert!(listed.contains("milk") && listed.contains("bread"), "{listed}");
        // Two runs each, and the instance is made once.
        assert_eq!((first, second), (3, 5));
        assert_eq!(fs::read(&file).unwrap()[..whole.len()], whole);
        let mut damaged = whole.clone();
        damaged[40] ^= 1;
        damaged.extend_from_slice(&whole);
        fs::write(&file, damaged).unwrap();
        assert!(add(&package, &file, "cheese").is_err(), "damage was taken for an end that was cut short");
    }

    /// An embedder has one crate.
    #[test]
    fn it_names_one_crate() {
        let code = include_str!("own_store.rs").split("#[cfg(test)]").next().unwrap();
        assert!(!code.contains(concat!("hutch", "_")));
    }
}
