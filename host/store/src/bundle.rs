//! A store, or what was added to it from an entry on, as bytes: to be kept where there is no database, and to be carried from one host
//! to another. Whoever takes a bundle in believes nothing: every object is named anew from its bytes, and every entry is made again
//! from its record, in its place, and must come to the same bytes. That the records tell the truth about their runs only running them
//! again shows.
//!
//! The form: parts, one after the other, so that bundles can be appended to each other. A part is `hutch-bundle-1` and a line's end; the
//! length of its content, in eight bytes, the lowest first; the content; and a digest of it, of 32 bytes. The content is items: a letter
//! for the kind, a length in eight bytes, and so many bytes. A part that carries packages begins with `hutch-bundle-2`: who knows of none
//! refuses it, and takes all others. Where the first entries have no states any more, an item before them says which entry is the first that has: those before that
//! one are records alone, and with that one comes all of the state that it stands on. In a [log](crate::log) the last item of a part may say who may use
//! the instance and which entries were taken: elsewhere nobody believes it.

use crate::absorb::{Shelf, absorb};
use crate::admitted::{Admitted, admitted, admitted_text};
use crate::error::StoreError;
use crate::store::{State, Store};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::{ENTRY_BYTES_MAX, EntryKind, Pin, Sealed};
use hutch_model::snapshot::{ObjectError, Objects, TreeObject};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

/// Where what is wrong with one is said to be: in none of the stores.
pub const AT: &str = "the bundle";

const MAGIC: &[u8] = b"hutch-bundle-1\n";
const MAGIC_CARRYING: &[u8] = b"hutch-bundle-2\n";
const LENGTH_BYTES: usize = 8;
const DIGEST_BYTES: usize = 32;
const ENTRY: u8 = b'E';
/// A packed package. Stores keep none.
const PACKAGE: u8 = b'P';
/// The place of the first entry whose states are kept.
const KEPT_FROM: u8 = b'K';
/// Who may use the instance behind the entries before it, and which of them were taken.
const ADMITTED: u8 = b'A';
const KINDS: [(u8, Kind); 4] = [(b'T', Kind::Tree), (b'L', Kind::List), (b'C', Kind::Chunk), (b'S', Kind::Stream)];
/// Entries that are read from a store at once.
const PAGE: u64 = 256;

/// Bytes of a part beside its content.
const AROUND_BYTES: usize = MAGIC.len() + LENGTH_BYTES + DIGEST_BYTES;

/// Bytes that are gathered before they are written, where nothing waits for what is behind them.
const GATHERED_BYTES: usize = 1 << 20;

/// What a state has and the one before it had not, before it is written.
struct Gathering {
    objects: Arc<dyn Objects>,
    held: HashSet<Digest>,
    items: Vec<u8>,
}

/// A part that is being written: how long it is, and its digest, are known at its end.
struct Writing<'w> {
    to: &'w mut dyn Target,
    begins: u64,
    content: u64,
    hasher: Hasher,
}

/// Where a part is written.
trait Target: Write + Seek {}

impl<W: Write + Seek> Target for W {}

impl<'w> Writing<'w> {
    fn begin(to: &'w mut dyn Target, magic: &[u8]) -> io::Result<Writing<'w>> {
        let begins = to.stream_position()?;
        to.write_all(magic)?;
        to.write_all(&[0; LENGTH_BYTES])?;
        Ok(Writing { to, begins, content: 0, hasher: Hasher::new(Kind::Artifact) })
    }

    /// Writes what was gathered.
    fn push(&mut self, items: &mut Vec<u8>) -> io::Result<()> {
        self.hasher.update(items);
        self.content += items.len() as u64;
        self.to.write_all(items)?;
        items.clear();
        Ok(())
    }

    /// Whether there is room for so many bytes more.
    fn has_room(&self, bytes: usize, bytes_max: usize) -> bool {
        self.content.saturating_add(bytes as u64) <= bytes_max.saturating_sub(AROUND_BYTES) as u64
    }

    fn end(self) -> io::Result<()> {
        self.to.write_all(self.hasher.finish().as_bytes())?;
        let end = self.to.stream_position()?;
        self.to.seek(SeekFrom::Start(self.begins + MAGIC.len() as u64))?;
        self.to.write_all(&self.content.to_le_bytes())?;
        self.to.seek(SeekFrom::Start(end)).map(drop)
    }
}

/// Why a part is not written.
#[derive(Debug, thiserror::Error)]
pub enum PartError {
    /// The store can't be read, or a state is not kept any more.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It can't be written where it should be.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl From<PartError> for StoreError {
    fn from(error: PartError) -> StoreError {
        match error {
            PartError::Store(error) => error,
            PartError::Write(error) => {
                StoreError::Failed { at: AT.to_owned(), action: "write it", source: error.into() }
            }
        }
    }
}

/// Gathers, and writes as it does if nothing waits for what is behind.
struct Filling<'a, 'w> {
    gathering: &'a mut Gathering,
    straight: Option<&'a mut Writing<'w>>,
    failed: Option<io::Error>,
}

impl Filling<'_, '_> {
    fn add(&mut self, letter: u8, bytes: &[u8]) {
        let items = &mut self.gathering.items;
        item(items, letter, bytes);
        if let Some(writing) = self.straight.as_mut().filter(|_| items.len() >= GATHERED_BYTES && self.failed.is_none())
        {
            self.failed = writing.push(items).err();
        }
    }
}

impl Shelf for Filling<'_, '_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        Ok(self.gathering.held.contains(digest))
    }

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        self.gathering.objects.get(Kind::Tree, digest).ok().and_then(|bytes| TreeObject::decode(&bytes).ok())
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.gathering.held.insert(*digest);
        if let Some((letter, _)) = KINDS.iter().find(|(_, known)| *known == kind) {
            self.add(*letter, bytes);
        }
        match &self.failed {
            None => Ok(()),
            // Whoever fills says which.
            Some(error) => Err(PartError::Write(error.kind().into()).into()),
        }
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

/// The entries behind place `after`, with the objects and streams that they brought; nothing if there are none. If it is all of them, those whose
/// states are not kept any more are records alone.
///
/// # Errors
/// The store can't be read, or a state that an entry led to is not kept any more, and somebody is to have those before it
/// ([`StoreError::Dropped`]).
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

/// The entries of a store, some at a time, in order. What one entry brought is held in memory where parts may be too long, and the part that is
/// made as bytes; else nothing is.
pub struct Parts<'s> {
    store: &'s dyn Store,
    gathering: Gathering,
    page: VecDeque<Sealed>,
    next: u64,
    to: u64,
    bytes_max: usize,
    /// Whether packages are among what is gathered.
    carries: bool,
    /// The first entry with states, if those before it are records alone; else 0.
    alone_before: u64,
    /// What a log says behind the last entry.
    admitted: Option<Admitted>,
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
        let (carries, alone_before, admitted, last) = (false, 0, None, None);
        Parts { store, gathering, page, next, to, bytes_max, carries, alone_before, admitted, open, last }
    }

    /// The same, with who may use the instance behind the last part.
    pub(crate) fn admitting(self, admitted: Option<Admitted>) -> Parts<'s> {
        Parts { admitted, ..self }
    }

    /// The same, with packed packages in the first part, whatever its length is then.
    #[must_use]
    pub fn carrying(mut self, packages: &[Vec<u8>]) -> Parts<'s> {
        packages.iter().for_each(|package| item(&mut self.gathering.items, PACKAGE, package));
        self.carries = !packages.is_empty();
        self
    }

    /// Whether there is another part.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn has_more(&mut self) -> Result<bool, StoreError> {
        self.turn()?;
        Ok(self.last.is_some() || self.page.front().is_some_and(|sealed| sealed.sequence <= self.to))
    }

    /// Reads the next page from the store, if there is nothing left of the one before.
    fn turn(&mut self) -> Result<(), StoreError> {
        if self.page.is_empty() && self.next <= self.to {
            let count = PAGE.min((self.to - self.next).saturating_add(1));
            self.page = self.store.entries(self.next, count)?.into();
        }
        Ok(())
    }

    /// The next entry.
    fn entry(&mut self) -> Result<Option<Sealed>, StoreError> {
        self.turn()?;
        let sealed = self.page.pop_front().filter(|sealed| sealed.sequence <= self.to);
        if let Some(sealed) = &sealed {
            self.next = sealed.sequence.saturating_add(1);
        }
        Ok(sealed)
    }

    /// Says which entry is the first that has states, if it is not the first one: that and all before it stay together, as nothing could stand on a
    /// record alone.
    fn begin_kept_from(&mut self) -> Result<(), StoreError> {
        let Some(first) = self.page.front().filter(|_| self.last.is_none()).map(|sealed| sealed.sequence) else {
            return Ok(());
        };
        let kept_from = self.store.head()?.retained_from;
        if first >= kept_from {
            return Ok(());
        }
        if first > 1 || self.to < kept_from {
            return Err(StoreError::Dropped { at: self.store.at(), kept_from });
        }
        self.alone_before = kept_from;
        item(&mut self.gathering.items, KEPT_FROM, &kept_from.to_le_bytes());
        Ok(())
    }

    /// Gathers an entry and what it brought.
    fn gather(&mut self, sealed: &Sealed, straight: Option<&mut Writing<'_>>) -> Result<(), PartError> {
        let record = sealed.open().map_err(|error| StoreError::entry(&self.store.at(), &error))?.record;
        let source = Arc::clone(&self.gathering.objects);
        let is_alone = sealed.sequence < self.alone_before;
        let stands_on = match sealed.sequence == self.alone_before {
            true => self.store.state_at(sealed.sequence - 1)?,
            false => State::new(),
        };
        let mut filling = Filling { gathering: &mut self.gathering, straight, failed: None };
        let changed = record.volumes.values().filter(|_| record.changes_state() && !is_alone);
        let changed = changed.map(|volume| (volume.before, volume.after));
        for (before, after) in stands_on.into_values().map(|tree| (None, tree)).chain(changed) {
            let absorbed = absorb(&mut filling, &*source, before, after);
            filling.failed.take().map_or(Ok(()), Err)?;
            absorbed?;
        }
        for digest in record.streams().filter(|_| !is_alone) {
            if let Some(bytes) = self.store.stream(&digest)?.filter(|_| filling.gathering.held.insert(digest)) {
                filling.add(b'S', &bytes);
            }
        }
        filling.add(ENTRY, &sealed.bytes);
        filling.failed.map_or(Ok(()), Err)?;
        if record.kind == EntryKind::Intent {
            self.open.insert(sealed.sequence);
        }
        if let Some(closed) = record.closes {
            self.open.remove(&closed);
        }
        Ok(())
    }

    /// Writes the next part, as it is made; the last entry of it, or nothing if there is none. The place of its length is filled in at
    /// its end.
    ///
    /// # Errors
    /// The store can't be read, or a state that an entry led to is not kept any more, and the entries before the first one with states are not all
    /// asked for with that ([`StoreError::Dropped`]); or it can't be written.
    pub fn write(&mut self, mut to: impl Write + Seek) -> Result<Option<Pin>, PartError> {
        if !self.has_more()? {
            return Ok(None);
        }
        self.begin_kept_from()?;
        let magic = if std::mem::take(&mut self.carries) { MAGIC_CARRYING } else { MAGIC };
        let mut writing = Writing::begin(&mut to, magic)?;
        while let Some(sealed) = self.entry()? {
            // What was gathered before is in this part, also what did not fit into the one before.
            writing.push(&mut self.gathering.items)?;
            let before = self.last.filter(|last| self.open.is_empty() && last.sequence >= self.alone_before);
            let straight = (self.bytes_max == usize::MAX).then_some(&mut writing);
            self.gather(&sealed, straight)?;
            self.last = Some(sealed.pin());
            if let Some(last) = before.filter(|_| !writing.has_room(self.gathering.items.len(), self.bytes_max)) {
                writing.end()?;
                return Ok(Some(last));
            }
        }
        if let Some(intent) = std::mem::take(&mut self.open).pop_first() {
            // Nothing follows that.
            self.last = None;
            let reason =
                format!("entry {intent} begins to change a granted folder, and how that ended would not go with it");
            return Err(StoreError::Refused { at: self.store.at(), reason }.into());
        }
        if let Some(admitted) = self.admitted.take() {
            item(&mut self.gathering.items, ADMITTED, admitted_text(&admitted).to_string().as_bytes());
        }
        writing.push(&mut self.gathering.items)?;
        writing.end()?;
        Ok(self.last.take())
    }

    fn part(&mut self) -> Result<Option<Part>, StoreError> {
        let mut to = Cursor::new(Vec::new());
        let last = self.write(&mut to)?;
        Ok(last.map(|last| Part { bytes: to.into_inner(), last }))
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
/// A part is damaged, the last one too: then nothing is taken. Or an entry does not come to what it says ([`StoreError::Damaged`]), or the store
/// has another entry in a place ([`StoreError::Forked`]): entries before it stay.
pub fn take_in(store: &dyn Store, bundle: &[u8]) -> Result<TakenIn, StoreError> {
    let bundle = Bundle::read(bundle)?;
    Ok(TakenIn { entries: bundle.take_into(store)?, whole_bytes: bundle.whole_bytes() })
}

fn damaged(reason: &str) -> StoreError {
    StoreError::Damaged { at: AT.to_owned(), what: "a part".to_owned(), reason: reason.to_owned() }
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
    let ended = rest
        .split_at_checked(length)
        .and_then(|(content, behind)| Some((content, behind.split_at_checked(DIGEST_BYTES)?)));
    let Some((content, (digest, rest))) = ended else { return torn(rest).map(|()| None) };
    match Digest::of(Kind::Artifact, content).as_bytes() == digest {
        true => Ok(Some((Items { content, carries }, rest))),
        false => Err(damaged("does not match its digest")),
    }
}

/// The most places at which the end of a part is looked for that says that it is longer than what is there: each takes a digest. Where more look
/// like the beginning of another part, somebody made them so.
const ENDS_MAX: usize = 1024;

/// Holds what came of a part that says that it is longer for one that was being written, and there is no more of it. One that is there to its end, or
/// that another one follows, is whole and says so wrongly: nobody is to cut that off.
fn torn(came: &[u8]) -> Result<(), StoreError> {
    let begins =
        |at: &usize| came.get(*at..).is_some_and(|rest| rest.starts_with(MAGIC) || rest.starts_with(MAGIC_CARRYING));
    let (mut hasher, mut hashed) = (Hasher::new(Kind::Artifact), came);
    let mut at = 0;
    for (tried, end) in (0..came.len()).filter(begins).chain([came.len()]).enumerate() {
        if tried == ENDS_MAX {
            return Err(damaged("is longer than what is there, and holds too much that looks like others"));
        }
        let Some(content) = end.checked_sub(DIGEST_BYTES) else { continue };
        let Some((more, rest)) = hashed.split_at_checked(content.saturating_sub(at)) else { continue };
        hasher.update(more);
        (hashed, at) = (rest, content.max(at));
        if at == content && came.get(content..end) == Some(hasher.finish().as_bytes()) {
            return Err(damaged("says that it is longer than it is"));
        }
    }
    Ok(())
}

/// A bundle whose parts are what their digests say, and where in it everything is. Its objects are read where they lie, so that it is held once
/// however large they are.
pub struct Bundle<B> {
    bytes: B,
    whole_bytes: usize,
    entries: Vec<Range<usize>>,
    objects: HashMap<Digest, Range<usize>>,
    /// The first entry of which it says that its states are in it: 1 if of all.
    kept_from: u64,
    /// Who may use the instance, as a log says it, and behind how many of the entries it does.
    admitted: Option<(usize, Range<usize>)>,
}

impl<B> std::fmt::Debug for Bundle<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bundle({} bytes, {} entries)", self.whole_bytes, self.entries.len())
    }
}

impl<B: AsRef<[u8]> + Send + Sync> Objects for Bundle<B> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        // A digest is of one kind alone.
        let found = self.find(digest).and_then(|place| self.at(&place));
        found.map(Arc::from).ok_or_else(|| ObjectError::missing(kind, *digest))
    }
}

impl<B: AsRef<[u8]> + Send + Sync> Bundle<B> {
    /// Reads one. Nothing is known of what its entries say.
    ///
    /// # Errors
    /// A part is damaged.
    pub fn read(bytes: B) -> Result<Bundle<B>, StoreError> {
        let (mut entries, mut objects, mut kept_from, mut admitted) = (Vec::new(), HashMap::new(), 1_u64, None);
        let all = bytes.as_ref();
        let mut rest = all;
        while let Some((items, behind)) = split(rest)? {
            let mut next = all.len() - behind.len() - DIGEST_BYTES - items.content.len();
            for item in items.iter() {
                let (letter, bytes) = item?;
                let begins = next + 1 + LENGTH_BYTES;
                next = begins + bytes.len();
                match KINDS.iter().find(|(known, _)| *known == letter) {
                    Some((_, kind)) => drop(objects.insert(Digest::of(*kind, bytes), begins..next)),
                    None if letter == ENTRY => entries.push(begins..next),
                    None if letter == PACKAGE && items.carries => {}
                    None if letter == KEPT_FROM => {
                        let place = <[u8; LENGTH_BYTES]>::try_from(bytes);
                        let place = place.map_err(|_| damaged("has a place of another length"))?;
                        kept_from = kept_from.max(u64::from_le_bytes(place));
                    }
                    None if letter == ADMITTED => admitted = Some((entries.len(), begins..next)),
                    None => return Err(damaged("has an item of a kind that this version does not know")),
                }
            }
            rest = behind;
        }
        let whole_bytes = all.len() - rest.len();
        Ok(Bundle { bytes, whole_bytes, entries, objects, kept_from, admitted })
    }

    /// Bytes up to the end of the last whole part. What is behind them was cut short while it was written.
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes as u64
    }

    /// Whether its end is there.
    pub fn is_whole(&self) -> bool {
        self.whole_bytes == self.bytes.as_ref().len()
    }

    /// Where an object or a stream is.
    pub(crate) fn find(&self, digest: &Digest) -> Option<Range<usize>> {
        self.objects.get(digest).cloned()
    }

    /// What lies in this place.
    pub(crate) fn at(&self, place: &Range<usize>) -> Option<&[u8]> {
        self.bytes.as_ref().get(place.clone())
    }

    /// Takes it into a store, as [`take_in`] does; how many entries were new.
    ///
    /// # Errors
    /// As there.
    pub fn take_into(&self, store: &dyn Store) -> Result<u64, StoreError> {
        self.take_entries(store, &self.entries)
    }

    /// The same of a log: `admit` is told who may use the instance, behind the entries that led to it.
    pub(crate) fn take_log_into(
        &self,
        store: &dyn Store,
        admit: impl FnOnce(Admitted) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        let Some((entries, place)) = &self.admitted else { return self.take_into(store) };
        let (before, behind) = self.entries.split_at_checked(*entries).unwrap_or_default();
        let mut new = self.take_entries(store, before)?;
        let written = serde_json::from_slice(self.at(place).unwrap_or_default()).map_err(|error| error.to_string());
        admit(written.and_then(admitted).map_err(|reason| damaged(&reason))?)?;
        new += self.take_entries(store, behind)?;
        Ok(new)
    }

    fn take_entries(&self, store: &dyn Store, places: &[Range<usize>]) -> Result<u64, StoreError> {
        let mut new = 0;
        for bytes in places.iter().filter_map(|place| self.at(place)) {
            new += u64::from(self.entry(store, bytes)?);
        }
        let head = store.head()?;
        // Nothing could go on from a state that is not there.
        if head.last.sequence > 0 && head.retained_from > head.last.sequence {
            return Err(damaged("ends before the first entry whose states are in it"));
        }
        Ok(new)
    }

    /// Whether the entry was new.
    fn entry(&self, store: &dyn Store, bytes: &[u8]) -> Result<bool, StoreError> {
        let hash = Digest::of(Kind::Entry, bytes);
        let wrong = |sequence: u64, reason: &str| {
            let what = format!("entry {sequence}");
            StoreError::Damaged { at: AT.to_owned(), what, reason: reason.to_owned() }
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
        let record = sealed.open().map_err(|error| StoreError::entry(AT, &error))?.record;
        let streams: Vec<&[u8]> =
            record.streams().filter_map(|digest| self.find(&digest).and_then(|place| self.at(&place))).collect();
        let pending = store.begin_kept_from(&record, self, &streams, self.kept_from).map_err(|error| match error {
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
