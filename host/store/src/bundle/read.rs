//! Reading: parts that somebody wrote, held against their digests, and taken into a store, which makes each entry again.

use super::{ADMITTED, AT, DIGEST_BYTES, ENTRY, KEPT_FROM, KINDS, LENGTH_BYTES, MAGIC, MAGIC_CARRYING, PACKAGE};
use crate::admitted::{Admitted, admitted};
use crate::error::StoreError;
use crate::store::Store;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::{ENTRY_BYTES_MAX, Sealed};
use hutch_model::snapshot::{ObjectError, Objects};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

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
