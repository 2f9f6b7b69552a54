//! A store, or what was added to it from an entry on, as bytes: to be kept where there is no database, and to be carried from one host
//! to another. Whoever takes a bundle in believes nothing: every object is named anew from its bytes, and every entry is made again
//! from its record, in its place, and must come to the same bytes. That the records tell the truth about their runs only running them
//! again shows.
//!
//! The form: parts, one after the other, so that bundles can be appended to each other. A part is `hutch-bundle-1` and a line's end; the
//! length of its content, in eight bytes, the lowest first; the content; and a digest of it, of 32 bytes. The content is items: a letter
//! for the kind, a length in eight bytes, and so many bytes.

use crate::absorb::{Shelf, absorb};
use crate::error::StoreError;
use crate::store::Store;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::ENTRY_BYTES_MAX;
use hutch_model::snapshot::{MemoryObjects, Objects, Tree};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

const MAGIC: &[u8] = b"hutch-bundle-1\n";
const LENGTH_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;
const ENTRY: u8 = b'E';
const KINDS: [(u8, Kind); 4] = [(b'T', Kind::Tree), (b'L', Kind::List), (b'C', Kind::Chunk), (b'S', Kind::Stream)];
/// Entries that are read from a store at once.
const PAGE: u64 = 256;

/// Gathers what a state has and the one before it had not.
struct Gathering {
    objects: Arc<dyn Objects>,
    held: HashSet<Digest>,
    items: Vec<u8>,
}

impl Shelf for Gathering {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.held.contains(digest))
    }

    fn tree(&mut self, digest: &Digest) -> Option<Tree> {
        self.objects.get(Kind::Tree, digest).ok().and_then(|bytes| Tree::decode(&bytes).ok())
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.held.insert(*digest);
        if let Some((letter, _)) = KINDS.iter().find(|(_, known)| *known == kind) {
            item(&mut self.items, *letter, bytes);
        }
        Ok(())
    }

    fn at(&self) -> String {
        "the store".to_owned()
    }
}

fn item(items: &mut Vec<u8>, letter: u8, bytes: &[u8]) {
    items.push(letter);
    items.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    items.extend_from_slice(bytes);
}

/// The entries behind place `after`, with the objects and streams that they brought; nothing if there are none.
///
/// # Errors
/// The store can't be read, or a state that an entry led to is not kept any more.
pub fn export(store: &dyn Store, after: u64) -> Result<Vec<u8>, StoreError> {
    let mut gathering = Gathering { objects: store.objects(), held: HashSet::new(), items: Vec::new() };
    let mut next = after.saturating_add(1);
    loop {
        let entries = store.entries(next, PAGE)?;
        let Some(last) = entries.last() else { break };
        next = last.sequence.saturating_add(1);
        for sealed in &entries {
            let record = sealed.open().map_err(|error| StoreError::entry(&store.at(), &error))?.record;
            if record.changes_state() {
                let source = Arc::clone(&gathering.objects);
                for volume in record.volumes.values() {
                    absorb(&mut gathering, &*source, volume.before, volume.after)?;
                }
            }
            for digest in record.streams() {
                if let Some(bytes) = store.stream(&digest)?.filter(|_| gathering.held.insert(digest)) {
                    item(&mut gathering.items, b'S', &bytes);
                }
            }
            item(&mut gathering.items, ENTRY, &sealed.bytes);
        }
    }
    let items = gathering.items;
    if items.is_empty() {
        return Ok(items);
    }
    let (length, digest) = ((items.len() as u64).to_le_bytes(), Digest::of(Kind::Artifact, &items));
    Ok([MAGIC, &length, &items, digest.as_bytes()].concat())
}

/// What was taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakenIn {
    /// New entries.
    pub entries: u64,
    /// Bytes up to the end of the last whole part. What is behind them was cut short while it was written.
    pub whole_bytes: u64,
}

/// Takes a bundle into `store`: entries that it has must be the same ones, the others are made again behind them. A last part that is
/// not whole is left, and the answer shows it.
///
/// # Errors
/// A part is damaged, or an entry does not come to what it says ([`StoreError::Damaged`]); or the store has another entry in a place
/// ([`StoreError::Forked`]). Entries before it stay.
pub fn take_in(store: &dyn Store, bundle: &[u8]) -> Result<TakenIn, StoreError> {
    let mut taken = TakenIn::default();
    let mut rest = bundle;
    let mut incoming = Incoming::default();
    while let Some((items, behind)) = part(rest)? {
        taken.entries += incoming.take(store, items)?;
        rest = behind;
        taken.whole_bytes = (bundle.len() - rest.len()) as u64;
    }
    Ok(taken)
}

fn damaged(reason: &str) -> StoreError {
    StoreError::Damaged { at: "the bundle".to_owned(), what: "a part".to_owned(), reason: reason.to_owned() }
}

/// A part's content, and what is behind it.
type Part<'b> = (&'b [u8], &'b [u8]);

/// The first part; nothing if it is cut short.
fn part(bytes: &[u8]) -> Result<Option<Part<'_>>, StoreError> {
    let Some((magic, rest)) = bytes.split_at_checked(MAGIC.len()) else {
        return if MAGIC.starts_with(bytes) { Ok(None) } else { Err(damaged("does not begin as one does")) };
    };
    if magic != MAGIC {
        return Err(damaged("does not begin as one does"));
    }
    let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged("is too long for this host"))?;
    let Some((items, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some((digest, rest)) = rest.split_at_checked(DIGEST_BYTES) else { return Ok(None) };
    match Digest::of(Kind::Artifact, items).as_bytes() == digest {
        true => Ok(Some((items, rest))),
        // The last one may have been written only in part, its length first.
        false if rest.is_empty() => Ok(None),
        false => Err(damaged("does not match its digest")),
    }
}

/// Objects and streams that no entry has used yet.
#[derive(Default)]
struct Incoming {
    objects: MemoryObjects,
    streams: BTreeMap<Digest, Arc<[u8]>>,
}

impl Incoming {
    /// Takes the items of one part in; how many entries were new.
    fn take(&mut self, store: &dyn Store, mut items: &[u8]) -> Result<u64, StoreError> {
        let mut entries = 0;
        while let Some((letter, rest)) = items.split_first() {
            let length = rest.split_first_chunk::<LENGTH_BYTES>();
            let (bytes, rest) = length
                .and_then(|(length, rest)| rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?))
                .ok_or_else(|| damaged("has an item that is longer than the part"))?;
            items = rest;
            match KINDS.iter().find(|(known, _)| known == letter) {
                Some((_, Kind::Stream)) => drop(self.streams.insert(Digest::of(Kind::Stream, bytes), bytes.into())),
                Some((_, kind)) => drop(self.objects.insert(*kind, bytes)),
                None if *letter == ENTRY => entries += u64::from(self.entry(store, bytes)?),
                None => return Err(damaged("has an item of a kind that this version does not know")),
            }
        }
        Ok(entries)
    }

    /// Whether the entry was new.
    fn entry(&self, store: &dyn Store, bytes: &[u8]) -> Result<bool, StoreError> {
        let hash = Digest::of(Kind::Entry, bytes);
        let wrong = |sequence: u64, reason: &str| {
            let what = format!("entry {sequence}");
            StoreError::Damaged { at: "the bundle".to_owned(), what, reason: reason.to_owned() }
        };
        let last = store.head()?.last.sequence;
        // Before any of it takes memory as a value.
        if bytes.len() > ENTRY_BYTES_MAX {
            return Err(wrong(last + 1, "is longer than any entry"));
        }
        let place: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
        let sequence = place.as_ref().and_then(|place| place.get("sequence")?.as_u64());
        let sequence = sequence.ok_or_else(|| wrong(last + 1, "has no place in a chain"))?;
        if sequence <= last {
            return match store.entry(sequence)?.is_some_and(|known| known.hash == hash) {
                true => Ok(false),
                false => Err(StoreError::Forked { sequence }),
            };
        }
        let sealed = hutch_model::ledger::Sealed { sequence, hash, bytes: bytes.into() };
        let record = sealed.open().map_err(|error| StoreError::entry("the bundle", &error))?.record;
        let streams: Vec<Arc<[u8]>> =
            record.streams().filter_map(|digest| self.streams.get(&digest).cloned()).collect();
        let streams: Vec<&[u8]> = streams.iter().map(|bytes| &**bytes).collect();
        let pending = store.begin(&record, &self.objects, &streams)?;
        if *pending.entry() != sealed {
            return Err(wrong(sequence, "does not come to what it says when it is made again here"));
        }
        pending.commit().map(|_| true)
    }
}
