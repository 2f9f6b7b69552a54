//! Writing: the entries of a store, with the objects that they brought, as parts. Holds no more of them than it has to.

use super::{ADMITTED, AT, DIGEST_BYTES, ENTRY, KEPT_FROM, KINDS, LENGTH_BYTES, MAGIC, MAGIC_CARRYING, PACKAGE};
use crate::absorb::{Shelf, absorb};
use crate::admitted::{Admitted, admitted_text};
use crate::error::StoreError;
use crate::store::{State, Store};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::{EntryKind, Pin, Sealed};
use hutch_model::snapshot::{Objects, TreeObject};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::sync::Arc;

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
