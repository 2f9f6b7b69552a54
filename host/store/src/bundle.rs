//! A store, or what was added to it from an entry on, as bytes: to be kept where there is no database, and to be carried from one host
//! to another. Whoever takes a bundle in believes nothing: every object is named anew from its bytes, and every entry is made again
//! from its record, in its place, and must come to the same bytes. That the records tell the truth about their runs only running them
//! again shows.
//!
//! The form: parts, one after the other, so that bundles can be appended to each other. A part is `hutch-bundle-1` and a line's end; the
//! length of its content, in eight bytes, the lowest first; the content; and a digest of it, of 32 bytes. The content is items: a letter
//! for the kind, a length in eight bytes, and so many bytes. A part that carries packages begins with `hutch-bundle-2`: who knows of none
//! refuses it, and takes all others.

use crate::absorb::{Shelf, absorb};
use crate::error::StoreError;
use crate::store::Store;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{ENTRY_BYTES_MAX, EntryKind, Pin, Sealed};
use hutch_model::snapshot::{MemoryObjects, Objects, TreeObject};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

const MAGIC: &[u8] = b"hutch-bundle-1\n";
const MAGIC_CARRYING: &[u8] = b"hutch-bundle-2\n";
const LENGTH_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;
const ENTRY: u8 = b'E';
/// A packed package. Stores keep none.
const PACKAGE: u8 = b'P';
const KINDS: [(u8, Kind); 4] = [(b'T', Kind::Tree), (b'L', Kind::List), (b'C', Kind::Chunk), (b'S', Kind::Stream)];
/// Entries that are read from a store at once.
const PAGE: u64 = 256;

/// Bytes of a part beside its content.
const AROUND_BYTES: usize = MAGIC.len() + LENGTH_BYTES + DIGEST_BYTES;

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

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        self.objects.get(Kind::Tree, digest).ok().and_then(|bytes| TreeObject::decode(&bytes).ok())
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
    let whole = Parts::of(store, after, u64::MAX, usize::MAX).next();
    Ok(whole.transpose()?.map(|part| part.bytes).unwrap_or_default())
}

/// Some entries of a store as bytes, with what they brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// A bundle by itself, for whoever has the entries before these.
    pub bytes: Vec<u8>,
    /// The last entry.
    pub last: Pin,
}

/// The entries of a store, some at a time, in order. One part is held in memory, and what one entry brought.
pub struct Parts<'s> {
    store: &'s dyn Store,
    gathering: Gathering,
    page: VecDeque<Sealed>,
    next: u64,
    to: u64,
    bytes_max: usize,
    /// Whether packages are among what is gathered.
    carries: bool,
    /// The intents that are gathered, and what ends them is not: they stay together.
    open: BTreeSet<u64>,
    /// The last entry whose items are gathered.
    last: Option<Pin>,
}

impl<'s> Parts<'s> {
    /// The entries behind place `after` up to place `to`, in parts of at most so many bytes. What one entry brought stays together, so
    /// one that brought more is a part that is longer.
    pub fn of(store: &'s dyn Store, after: u64, to: u64, bytes_max: usize) -> Parts<'s> {
        let gathering = Gathering { objects: store.objects(), held: HashSet::new(), items: Vec::new() };
        let next = after.saturating_add(1);
        let (page, open) = (VecDeque::new(), BTreeSet::new());
        Parts { store, gathering, page, next, to, bytes_max, carries: false, open, last: None }
    }

    /// The same, with packed packages in the first part, whatever its length is then.
    #[must_use]
    pub fn carrying(mut self, packages: &[Vec<u8>]) -> Parts<'s> {
        packages.iter().for_each(|package| item(&mut self.gathering.items, PACKAGE, package));
        self.carries = !packages.is_empty();
        self
    }

    /// The next entry, read from the store.
    fn entry(&mut self) -> Result<Option<Sealed>, StoreError> {
        if self.page.is_empty() && self.next <= self.to {
            let count = PAGE.min((self.to - self.next).saturating_add(1));
            self.page = self.store.entries(self.next, count)?.into();
        }
        let sealed = self.page.pop_front().filter(|sealed| sealed.sequence <= self.to);
        if let Some(sealed) = &sealed {
            self.next = sealed.sequence.saturating_add(1);
        }
        Ok(sealed)
    }

    /// Gathers an entry and what it brought.
    fn gather(&mut self, sealed: &Sealed) -> Result<(), StoreError> {
        let record = sealed.open().map_err(|error| StoreError::entry(&self.store.at(), &error))?.record;
        if record.changes_state() {
            let source = Arc::clone(&self.gathering.objects);
            for volume in record.volumes.values() {
                absorb(&mut self.gathering, &*source, volume.before, volume.after)?;
            }
        }
        for digest in record.streams() {
            if let Some(bytes) = self.store.stream(&digest)?.filter(|_| self.gathering.held.insert(digest)) {
                item(&mut self.gathering.items, b'S', &bytes);
            }
        }
        item(&mut self.gathering.items, ENTRY, &sealed.bytes);
        if record.kind == EntryKind::Intent {
            self.open.insert(sealed.sequence);
        }
        if let Some(closed) = record.closes {
            self.open.remove(&closed);
        }
        Ok(())
    }

    fn part(&mut self) -> Result<Option<Part>, StoreError> {
        let content_max = self.bytes_max.saturating_sub(AROUND_BYTES);
        // What did not fit into the part before is there already.
        while let Some(sealed) = self.entry()? {
            let (fits, before) = (self.gathering.items.len(), self.last.filter(|_| self.open.is_empty()));
            self.gather(&sealed)?;
            self.last = Some(sealed.pin());
            if let Some(last) = before.filter(|_| self.gathering.items.len() > content_max) {
                let behind = self.gathering.items.split_off(fits);
                let items = std::mem::replace(&mut self.gathering.items, behind);
                return Ok(Some(self.ended(&items, last)));
            }
        }
        if let Some(intent) = std::mem::take(&mut self.open).pop_first() {
            // Nothing follows that.
            self.last = None;
            let reason =
                format!("entry {intent} begins to change a granted folder, and how that ended would not go with it");
            return Err(StoreError::Refused { at: self.store.at(), reason });
        }
        let items = std::mem::take(&mut self.gathering.items);
        Ok(self.last.take().map(|last| self.ended(&items, last)))
    }

    fn ended(&mut self, items: &[u8], last: Pin) -> Part {
        let magic = if std::mem::take(&mut self.carries) { MAGIC_CARRYING } else { MAGIC };
        let (length, digest) = ((items.len() as u64).to_le_bytes(), Digest::of(Kind::Artifact, items));
        Part { bytes: [magic, &length, items, digest.as_bytes()].concat(), last }
    }
}

impl Iterator for Parts<'_> {
    type Item = Result<Part, StoreError>;

    fn next(&mut self) -> Option<Result<Part, StoreError>> {
        self.part().transpose()
    }
}

/// What was taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakenIn {
    /// New entries.
    pub entries: u64,
    /// Bytes up to the end of the last whole part. What is behind them was cut short while it was written.
    pub whole_bytes: u64,
}

/// Takes what a store was into it again: entries that it has must be the same ones, the others are made again behind them, and are believed
/// about whose the instance is. What others wrote is looked at in a store of its own, from which [`Store::take`] takes it. A last part
/// that ends too soon is left, and the answer shows it.
///
/// # Errors
/// A part is damaged, the last one too, or an entry does not come to what it says ([`StoreError::Damaged`]); or the store has another entry in a place
/// ([`StoreError::Forked`]). Entries before it stay.
pub fn take_in(store: &dyn Store, bundle: &[u8]) -> Result<TakenIn, StoreError> {
    let mut taken = TakenIn::default();
    let mut rest = bundle;
    let mut incoming = Incoming::default();
    while let Some((items, behind)) = split(rest)? {
        taken.entries += incoming.take(store, &items)?;
        rest = behind;
        taken.whole_bytes = (bundle.len() - rest.len()) as u64;
    }
    Ok(taken)
}

fn damaged(reason: &str) -> StoreError {
    StoreError::Damaged { at: "the bundle".to_owned(), what: "a part".to_owned(), reason: reason.to_owned() }
}

/// The packed packages that a bundle carries. Nobody has looked at them.
///
/// # Errors
/// A part is damaged.
pub fn packages(bundle: &[u8]) -> Result<Vec<&[u8]>, StoreError> {
    let (mut rest, mut found) = (bundle, Vec::new());
    while let Some((items, behind)) = split(rest)? {
        rest = behind;
        for item in items.iter() {
            let (letter, bytes) = item?;
            found.extend((items.carries && letter == PACKAGE).then_some(bytes));
        }
    }
    match rest.is_empty() {
        true => Ok(found),
        false => Err(damaged("is cut short")),
    }
}

/// A part's content.
struct Items<'b> {
    content: &'b [u8],
    /// Whether packages may be in it.
    carries: bool,
}

impl<'b> Items<'b> {
    /// Each item's letter and bytes. Behind one that is broken there is none.
    fn iter(&self) -> impl Iterator<Item = Result<(u8, &'b [u8]), StoreError>> + use<'b> {
        let mut rest = self.content;
        std::iter::from_fn(move || {
            let (letter, behind) = rest.split_first()?;
            let split = behind.split_first_chunk::<LENGTH_BYTES>().and_then(|(length, behind)| {
                behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
            });
            Some(match split {
                Some((bytes, behind)) => {
                    rest = behind;
                    Ok((*letter, bytes))
                }
                None => {
                    rest = &[];
                    Err(damaged("has an item that is longer than the part"))
                }
            })
        })
    }
}

/// A part's content, and what is behind it.
type Split<'b> = (Items<'b>, &'b [u8]);

/// The first part; nothing if it is cut short.
fn split(bytes: &[u8]) -> Result<Option<Split<'_>>, StoreError> {
    let begins = |magic: &[u8]| bytes.starts_with(magic) || magic.starts_with(bytes);
    if !begins(MAGIC) && !begins(MAGIC_CARRYING) {
        return Err(damaged("does not begin as one does"));
    }
    let Some((magic, rest)) = bytes.split_at_checked(MAGIC.len()) else { return Ok(None) };
    let carries = magic == MAGIC_CARRYING;
    let Some((length, rest)) = rest.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged("is too long for this host"))?;
    let Some((content, rest)) = rest.split_at_checked(length) else { return Ok(None) };
    let Some((digest, rest)) = rest.split_at_checked(DIGEST_BYTES) else { return Ok(None) };
    match Digest::of(Kind::Artifact, content).as_bytes() == digest {
        true => Ok(Some((Items { content, carries }, rest))),
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
    fn take(&mut self, store: &dyn Store, items: &Items<'_>) -> Result<u64, StoreError> {
        let mut entries = 0;
        for item in items.iter() {
            let (letter, bytes) = item?;
            match KINDS.iter().find(|(known, _)| *known == letter) {
                Some((_, Kind::Stream)) => drop(self.streams.insert(Digest::of(Kind::Stream, bytes), bytes.into())),
                Some((_, kind)) => drop(self.objects.insert(*kind, bytes)),
                None if letter == ENTRY => entries += u64::from(self.entry(store, bytes)?),
                None if letter == PACKAGE && items.carries => {}
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
        let place = hutch_model::document::read(bytes).ok();
        let sequence = place.as_ref().and_then(|place| place.get("sequence")?.as_u64());
        let sequence = sequence.ok_or_else(|| wrong(last + 1, "has no place in a chain"))?;
        if sequence <= last {
            return match store.entry(sequence)?.is_some_and(|known| known.hash == hash) {
                true => Ok(false),
                false => Err(StoreError::Forked { sequence }),
            };
        }
        if sequence > last + 1 {
            return Err(wrong(sequence, &format!("does not follow entry {last}, which is the last one here")));
        }
        let sealed = Sealed { sequence, hash, bytes: bytes.into() };
        let record = sealed.open().map_err(|error| StoreError::entry("the bundle", &error))?.record;
        let streams: Vec<Arc<[u8]>> =
            record.streams().filter_map(|digest| self.streams.get(&digest).cloned()).collect();
        let streams: Vec<&[u8]> = streams.iter().map(|bytes| &**bytes).collect();
        let pending = store.begin(&record, &self.objects, &streams).map_err(|error| match error {
            // What contradicts itself or leads to what is not there is the bundle, and neither this store nor this host.
            StoreError::Record(reason) => wrong(sequence, &reason),
            StoreError::Missing { what, .. } => wrong(sequence, &format!("leads to {what}, which is not in it")),
            error => error,
        })?;
        if *pending.entry() != sealed {
            return Err(StoreError::other_here(sequence));
        }
        pending.commit().map(|_| true)
    }
}
