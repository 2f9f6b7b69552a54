//! Appending a record: what it adds is put under digests, then the entry in its place, if that is free. Whether it is there, the place says
//! and nothing else.

use crate::client::{Placed, Trouble};
use crate::frame::{self, Frame};
use crate::instance::Instance;
use crate::objects::{Gathered, Given};
use hutch_model::ledger::{Owner, Record, Sealed};
use hutch_model::snapshot::Objects;
use hutch_store::keeping::{Advance, streams};
use hutch_store::{Head, Store, StoreError, Transaction};
use std::sync::Arc;
use std::time::Duration;

/// How often an entry may find its place taken before the instance is said to be busy.
const TRIES_MAX: u32 = 200;
/// At what distance a server that says nothing is asked again what became of an entry.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes that are on their way at one time.
const FLIGHT_BYTES: usize = 64 << 20;

/// What is to be appended.
pub(crate) struct Parts<'a> {
    pub(crate) record: &'a Record,
    pub(crate) objects: &'a dyn Objects,
    pub(crate) streams: &'a [&'a [u8]],
}

/// A record that was held against the last entry. Nothing of it is in the bucket yet.
pub(crate) struct Pending {
    instance: Arc<Instance>,
    record: Record,
    advance: Advance,
    new: Vec<(String, Arc<[u8]>)>,
}

/// What became of an entry.
enum Became {
    /// It is there.
    Kept,
    /// Another one is there, and is the last one that was seen.
    Other,
}

fn head(instance: &Instance) -> Result<Head, StoreError> {
    Ok(instance.last()?.map(|last| last.head.clone()).unwrap_or_default())
}

impl Pending {
    pub(crate) fn begin(instance: &Arc<Instance>, parts: Parts<'_>) -> Result<Pending, StoreError> {
        let advance = head(instance)?.advance(parts.record)?;
        Pending::of(instance, parts, advance)
    }

    /// Behind the last entry that was seen, if it can stand there: whether that is the last one, its place will say.
    fn behind_seen(instance: &Arc<Instance>, parts: Parts<'_>) -> Result<Pending, StoreError> {
        match instance.seen().and_then(|seen| seen.head.advance(parts.record).ok()) {
            Some(advance) => Pending::of(instance, parts, advance),
            None => Pending::begin(instance, parts),
        }
    }

    fn of(instance: &Arc<Instance>, parts: Parts<'_>, advance: Advance) -> Result<Pending, StoreError> {
        let Parts { record, objects, streams } = parts;
        let mut gathered = Gathered::new(instance);
        let given = Given { objects, instance };
        advance.absorb(&mut gathered, &given)?;
        for stream in streams {
            gathered.add_stream(stream);
        }
        let new = gathered.new.into_iter().map(|(name, bytes)| (instance.name(&name), bytes)).collect();
        Ok(Pending { instance: Arc::clone(instance), record: record.clone(), advance, new })
    }

    /// Puts there what the entry names. It does not depend on the place that the entry gets.
    fn put_objects(&mut self) -> Result<(), StoreError> {
        let (mut flight, mut size) = (Vec::new(), 0);
        for (name, bytes) in std::mem::take(&mut self.new) {
            if size > 0 && size + bytes.len() > FLIGHT_BYTES {
                self.instance.bucket.put_all(std::mem::take(&mut flight))?;
                size = 0;
            }
            size += bytes.len().max(1);
            flight.push((name, bytes.to_vec()));
        }
        // Where to look for the entry goes with the last of them: it must be there before the entry is.
        flight.push(self.mark());
        self.instance.bucket.put_all(flight)
    }

    /// Puts there what it adds, and then itself.
    fn carry_out(&mut self) -> Result<Became, StoreError> {
        self.instance.make()?;
        self.put_objects()?;
        self.place()
    }

    fn mark(&self) -> (String, Vec<u8>) {
        (self.instance.name(&frame::mark(self.advance.sealed.pin())), Vec::new())
    }

    /// Puts the entry in its place, once all that it names is there.
    fn place(&self) -> Result<Became, StoreError> {
        let Pending { instance, advance, .. } = self;
        let frame = Frame { sealed: advance.sealed.clone(), head: advance.head.clone() };
        let (sequence, bytes) = (frame.sealed.sequence, frame.bytes(&instance.writer()));
        let name = instance.name(&frame::entry(sequence));
        let (mut waited, mut lost) = (Duration::ZERO, None);
        loop {
            let said = instance.bucket.put_new(&name, &bytes);
            let found = match said {
                Ok(Placed::Here) => Ok(Some(bytes.clone())),
                Ok(Placed::Taken) => instance.bucket.get(&name),
                Ok(Placed::Unknown(reason)) => {
                    lost = Some(reason);
                    instance.bucket.get(&name)
                }
                // An earlier one may have been carried out, or may be yet.
                Err(error) if lost.is_none() => return Err(error),
                Err(_) => instance.bucket.get(&name),
            };
            match found {
                Ok(Some(found)) if found == bytes => {
                    // If that can't be put there, the next one looks further.
                    let _ = instance.bucket.put_all(vec![(instance.name("head"), bytes)]);
                    instance.saw(frame);
                    return Ok(Became::Kept);
                }
                Ok(Some(found)) => {
                    instance.saw(Frame::read_at(&instance.at, sequence, &found)?);
                    return Ok(Became::Other);
                }
                // It was refused because somebody was putting one there, who did not; or the first one is on its way.
                Ok(None) | Err(_) if waited < instance.bucket.wait() => {}
                // Every put was refused, and nothing of it is there.
                Ok(None) if lost.is_none() => return Err(StoreError::Busy { at: instance.at.clone() }),
                Err(error) if lost.is_none() => return Err(error),
                _ => {
                    let source = Trouble::Lost(lost.unwrap_or_default()).into();
                    return Err(StoreError::Uncertain { at: instance.at.clone(), sequence, source });
                }
            }
            #[expect(clippy::disallowed_methods, reason = "no event tells that a server can be reached again")]
            std::thread::sleep(PAUSE);
            waited += PAUSE;
        }
    }
}

/// Appends a record, behind whatever others append meanwhile.
pub(crate) fn commit(instance: &Arc<Instance>, parts: Parts<'_>) -> Result<Sealed, StoreError> {
    let mut pending = Pending::behind_seen(instance, parts)?;
    let mut became = pending.carry_out()?;
    for _ in 1..TRIES_MAX {
        match became {
            Became::Kept => return Ok(pending.advance.sealed),
            Became::Other => {
                pending.advance = head(instance)?.advance(&pending.record)?;
                instance.bucket.put_all(vec![pending.mark()])?;
                became = pending.place()?;
            }
        }
    }
    Err(StoreError::Busy { at: instance.at.clone() })
}

/// Appends an entry that was made elsewhere, if it still has its place.
pub(crate) fn take(
    instance: &Arc<Instance>,
    (sealed, from, owner): (&Sealed, &dyn Store, &Owner),
) -> Result<(), StoreError> {
    if from.head()?.retained_from > sealed.sequence {
        let reason = "a bucket keeps every state, and the first entries come without theirs".to_owned();
        return Err(StoreError::Refused { at: instance.at.clone(), reason });
    }
    let (record, advance) = head(instance)?.take(sealed, owner, 1)?;
    let streams = streams(&record, from)?;
    let streams: Vec<&[u8]> = streams.iter().map(|bytes| &**bytes).collect();
    let parts = Parts { record: &record, objects: &*from.objects(), streams: &streams };
    match Pending::of(instance, parts, advance)?.carry_out()? {
        Became::Kept => Ok(()),
        Became::Other => Err(StoreError::Forked { sequence: sealed.sequence }),
    }
}

impl Transaction for Pending {
    fn entry(&self) -> &Sealed {
        &self.advance.sealed
    }

    fn commit(mut self: Box<Self>) -> Result<Sealed, StoreError> {
        match self.carry_out()? {
            Became::Kept => Ok(self.advance.sealed),
            Became::Other => Err(StoreError::Busy { at: self.instance.at.clone() }),
        }
    }
}
