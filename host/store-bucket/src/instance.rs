//! The store of one instance.

use crate::bucket::Bucket;
use crate::client::Placed;
use crate::frame::{self, Frame};
use crate::objects::{Read, Stored};
use crate::transaction::{self, Pending};
use crate::{check, transaction::Parts};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::ledger::{Owner, Record, Sealed, SecretKey};
use hutch_model::names::Slug;
use hutch_model::snapshot::{Lack, Objects};
use hutch_store::{
    Collected, Damage, EntryKey, Head, InstanceName, Memo, Retention, State, Stats, Store, StoreError, Transaction,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Entries that are read at one time.
pub(crate) const PAGE: u64 = 64;

/// A [`Store`] in a [`Bucket`]. Clones are the same store.
#[derive(Clone, Debug)]
pub struct BucketStore(Arc<Instance>);

/// Which instance of which bucket.
pub(crate) struct Instance {
    pub(crate) bucket: Arc<Bucket>,
    /// What says that it is there.
    made: String,
    /// What the names of all else begin with.
    folder: String,
    pub(crate) at: String,
    fresh: [u8; 32],
    /// The key that it has, once it is there.
    key: OnceLock<[u8; 32]>,
    /// The last entry that was seen: none is behind it that is not the last one or after it.
    seen: Mutex<Option<Arc<Frame>>>,
    /// Objects that were read.
    pub(crate) read: Mutex<Read>,
    /// Entries that this store has tried to put.
    tried: AtomicU64,
}

impl std::fmt::Debug for Instance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.at)
    }
}

impl BucketStore {
    pub(crate) fn new(bucket: Arc<Bucket>, slug: &Slug, instance: &InstanceName, fresh: [u8; 32]) -> BucketStore {
        let (made, folder) = (format!("{}{slug}/{instance}", frame::INSTANCES), frame::folder(slug, instance));
        let at = format!("{}, {slug}/{instance}", bucket.at());
        let (key, seen, read, tried) = (OnceLock::new(), Mutex::default(), Mutex::default(), AtomicU64::new(0));
        BucketStore(Arc::new(Instance { bucket, made, folder, at, fresh, key, seen, read, tried }))
    }
}

impl Instance {
    pub(crate) fn name(&self, name: &str) -> String {
        format!("{}{name}", self.folder)
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.bucket.get(&self.name(name))
    }

    /// Objects of this instance, by the part of their names that is their own.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let listed = self.bucket.list(&self.name(prefix))?;
        let own = |key: &str| key.strip_prefix(&self.folder).map(str::to_owned);
        Ok(listed.into_iter().filter_map(|listed| Some((own(&listed.key)?, listed.bytes))).collect())
    }

    /// The key that it has; none if it is not there.
    pub(crate) fn key(&self) -> Result<Option<[u8; 32]>, StoreError> {
        if let Some(key) = self.key.get() {
            return Ok(Some(*key));
        }
        let Some(bytes) = self.bucket.get(&self.made)? else { return Ok(None) };
        let key = frame::made(&self.at, &bytes)?;
        Ok(Some(*self.key.get_or_init(|| key)))
    }

    /// Makes it, if it is not there: in a bucket that was proved to be one for it.
    pub(crate) fn make(&self) -> Result<(), StoreError> {
        if self.seen().is_some() || self.key()?.is_some() {
            return Ok(());
        }
        self.bucket.prove(self.writer())?;
        match self.bucket.put_new(&self.made, &frame::made_bytes(&self.fresh))? {
            Placed::Here => {}
            // By somebody else, or by this one: whoever it was, it has one key.
            Placed::Taken => {}
            Placed::Unknown(reason) if self.key()?.is_none() => {
                return Err(self.bucket.failed(crate::client::Trouble::Lost(reason)));
            }
            Placed::Unknown(_) => {}
        }
        self.key()?.map(drop).ok_or_else(|| StoreError::Busy { at: self.at.clone() })
    }

    /// What no other writer has, and this one once.
    pub(crate) fn writer(&self) -> [u8; 16] {
        let mut hasher = Hasher::new(Kind::Stream);
        hasher.update(b"hutch writer");
        hasher.update(&self.fresh);
        hasher.update(&self.tried.fetch_add(1, Ordering::Relaxed).to_le_bytes());
        let digest = hasher.finish();
        let mut writer = [0; 16];
        writer.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
        writer
    }

    /// An entry in its place; none if there is none.
    pub(crate) fn frame(&self, sequence: u64) -> Result<Option<Frame>, StoreError> {
        let bytes = self.get(&frame::entry(sequence))?;
        bytes.map(|bytes| Frame::read_at(&self.at, sequence, &bytes)).transpose()
    }

    /// The last entry that was seen, of which nobody says that it is the last one now.
    pub(crate) fn seen(&self) -> Option<Arc<Frame>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes an entry that is there.
    pub(crate) fn saw(&self, frame: Frame) -> Arc<Frame> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match &*seen {
            Some(last) if last.sealed.sequence >= frame.sealed.sequence => Arc::clone(last),
            _ => Arc::clone(seen.insert(Arc::new(frame))),
        }
    }

    /// The last entry; none if there is none. Entries are dense, so what is behind the one that is known is looked for in steps that double,
    /// and then halve.
    pub(crate) fn last(&self) -> Result<Option<Arc<Frame>>, StoreError> {
        let mut last = match self.seen() {
            Some(seen) => Some(seen),
            // What can't be read there is no harm: it says where to begin, and nothing else.
            None => self.get("head")?.and_then(|bytes| Frame::read(&self.at, "the head", &bytes).ok()).map(Arc::new),
        };
        let mut step = 1;
        let place = |last: &Option<Arc<Frame>>| last.as_ref().map_or(0, |frame| frame.sealed.sequence);
        while let Some(found) = self.frame(place(&last).saturating_add(step))? {
            last = Some(Arc::new(found));
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if let Some(found) = self.frame(place(&last).saturating_add(step))? {
                last = Some(Arc::new(found));
            }
        }
        let Some(last) = last else { return Ok(None) };
        last.head.check_last(&self.at, std::slice::from_ref(&last.sealed))?;
        Ok(Some(self.saw(Arc::unwrap_or_clone(last))))
    }

    /// Up to `count` entries from `sequence` on, up to the last one.
    pub(crate) fn frames(&self, sequence: u64, count: u64) -> Result<Vec<Frame>, StoreError> {
        let end = self.last()?.map_or(0, |last| last.sealed.sequence);
        let first = sequence.max(1);
        let end = end.min(first.saturating_add(count).saturating_sub(1));
        let mut frames = Vec::new();
        let mut next = first;
        while next <= end {
            let until = end.min(next.saturating_add(PAGE - 1));
            let names = (next..=until).map(|sequence| self.name(&frame::entry(sequence))).collect();
            for (sequence, bytes) in (next..=until).zip(self.bucket.get_all(names)?) {
                // That one is missing, who looks at them as a chain will see.
                frames.extend(bytes.map(|bytes| Frame::read_at(&self.at, sequence, &bytes)).transpose()?);
            }
            next = until + 1;
        }
        Ok(frames)
    }

    fn refuse_to_collect(&self) -> StoreError {
        let reason = "nothing is removed from a bucket: nobody can be kept from needing it meanwhile; an instance that nobody uses any more goes \
            with the objects under data/SLUG/NAME/ and then instances/SLUG/NAME"
            .to_owned();
        StoreError::Refused { at: self.at.clone(), reason }
    }
}

impl Store for BucketStore {
    fn at(&self) -> String {
        self.0.at.clone()
    }

    fn is_there(&self) -> Result<bool, StoreError> {
        Ok(self.0.key()?.is_some())
    }

    fn head(&self) -> Result<Head, StoreError> {
        Ok(self.0.last()?.map(|last| last.head.clone()).unwrap_or_default())
    }

    fn state_at(&self, sequence: u64) -> Result<State, StoreError> {
        if sequence == 0 {
            return Ok(State::new());
        }
        let missing = || StoreError::Missing { at: self.0.at.clone(), what: format!("entry {sequence}") };
        let found = self.0.frame(sequence)?.ok_or_else(missing)?;
        found.head.check_last(&self.0.at, std::slice::from_ref(&found.sealed))?;
        Ok(found.head.state)
    }

    fn last_change(&self, sequence: u64) -> Result<Option<u64>, StoreError> {
        let last = self.0.last()?;
        let changed = match last {
            None => 0,
            Some(last) if last.sealed.sequence <= sequence => last.head.changed,
            Some(_) if sequence == 0 => 0,
            Some(_) => self.0.frame(sequence)?.map_or(0, |found| found.head.changed),
        };
        Ok((changed > 0).then_some(changed))
    }

    fn objects(&self) -> Arc<dyn Objects> {
        Arc::new(Stored(Arc::clone(&self.0)))
    }

    /// Holds no lock, because there is none: if another entry takes the place meanwhile, the transaction is refused
    /// ([`StoreError::Busy`]), and nothing of it is there. What was only begun is not in the bucket.
    fn begin<'s>(
        &'s self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<Box<dyn Transaction + 's>, StoreError> {
        Ok(Box::new(Pending::begin(&self.0, Parts { record, objects, streams })?))
    }

    fn commit(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        transaction::commit(&self.0, Parts { record, objects, streams })
    }

    /// What is put is durable when that is answered.
    fn append(&self, record: &Record, objects: &dyn Objects, streams: &[&[u8]]) -> Result<Sealed, StoreError> {
        self.commit(record, objects, streams)
    }

    /// One after the other: those before one that is refused stay.
    fn take(&self, entries: &[Sealed], from: &dyn Store, owner: &Owner) -> Result<(), StoreError> {
        entries.iter().try_for_each(|sealed| transaction::take(&self.0, (sealed, from, owner)))
    }

    fn settle(&self, _sequence: u64) -> Result<(), StoreError> {
        Ok(())
    }

    fn find(&self, key: &EntryKey) -> Result<Vec<Sealed>, StoreError> {
        let prefix = match key {
            EntryKey::Sequence(0) => return Ok(Vec::new()),
            EntryKey::Sequence(sequence) => {
                return Ok(self.0.frame(*sequence)?.map(|found| found.sealed).into_iter().collect());
            }
            EntryKey::Hash(hash) => hash.to_string(),
            EntryKey::Prefix(prefix) => prefix.clone(),
        };
        // Nothing else is the beginning of a name.
        if prefix.len() > 64 || !prefix.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return Ok(Vec::new());
        }
        let (mut found, mut next): (Vec<Sealed>, _) = (Vec::new(), None);
        loop {
            let (listed, more) = self.0.bucket.page(&self.0.name(&format!("h/{prefix}")), next)?;
            for sequence in listed.iter().filter_map(|listed| frame::marked(&listed.key)) {
                // Somebody wanted to put it there; whether he did, the place says.
                let sealed = self.0.frame(sequence)?.map(|found| found.sealed);
                let is_it = |sealed: &Sealed| {
                    sealed.hash.to_string().starts_with(&prefix) && !found.iter().any(|other| other == sealed)
                };
                if let Some(sealed) = sealed.filter(is_it) {
                    found.push(sealed);
                }
                if found.len() == 2 {
                    return Ok(found);
                }
            }
            match more {
                Some(more) => next = Some(more),
                None => return Ok(found),
            }
        }
    }

    fn entries(&self, sequence: u64, count: u64) -> Result<Vec<Sealed>, StoreError> {
        Ok(self.0.frames(sequence, count)?.into_iter().map(|frame| frame.sealed).collect())
    }

    fn stream(&self, digest: &Digest) -> Result<Option<Arc<[u8]>>, StoreError> {
        match Stored(Arc::clone(&self.0)).get(Kind::Stream, digest) {
            Err(error) if error.lack == Lack::Missing => Ok(None),
            found => found.map(Some).map_err(|error| StoreError::object(self.at(), &error)),
        }
    }

    /// The one that it has when it is made, unless another process makes it first.
    fn secret_key(&self) -> Result<SecretKey, StoreError> {
        Ok(SecretKey::new(self.0.key()?.unwrap_or(self.0.fresh)))
    }

    fn stats(&self) -> Result<Stats, StoreError> {
        check::stats(&self.0)
    }

    /// What is remembered goes as it comes, and nothing goes here.
    fn memo(&self, _make: bool) -> Result<Option<Arc<dyn Memo>>, StoreError> {
        let reason = "a bucket keeps no outcomes: --memo is for instances in a home or in a database".to_owned();
        Err(StoreError::Refused { at: self.0.at.clone(), reason })
    }

    fn collect(&self, _retention: &Retention, _record: &Record) -> Result<(Collected, Sealed), StoreError> {
        Err(self.0.refuse_to_collect())
    }

    fn collectable(&self, _retention: &Retention) -> Result<Collected, StoreError> {
        Err(self.0.refuse_to_collect())
    }

    fn check(&self) -> Result<Vec<Damage>, StoreError> {
        check::check(&self.0)
    }
}
