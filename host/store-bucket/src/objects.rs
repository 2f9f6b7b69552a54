//! Objects in a bucket: reading them with their digests checked, and gathering what a record adds.

use crate::frame;
use crate::instance::Instance;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{Lack, ObjectError, Objects, TreeObject};
use hutch_store::StoreError;
use hutch_store::keeping::{Shelf, Source};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, PoisonError};

/// The objects of a store, for readers in any thread.
pub(crate) struct Stored(pub(crate) Arc<Instance>);

impl Objects for Stored {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        read(&self.0, kind, digest)
    }
}

/// Bytes of objects that are kept in memory, and of the longest one.
const READ_BYTES_MAX: usize = 8 << 20;
const READ_OBJECT_BYTES_MAX: usize = 256 << 10;

/// Objects that were read and checked, as far as there is room: a journey for each is long, and some are read several times.
#[derive(Default)]
pub(crate) struct Read {
    objects: HashMap<Digest, Arc<[u8]>>,
    bytes: usize,
}

impl Read {
    fn keep(&mut self, digest: &Digest, bytes: &Arc<[u8]>) {
        if bytes.len() > READ_OBJECT_BYTES_MAX {
            return;
        }
        if self.bytes + bytes.len() > READ_BYTES_MAX {
            *self = Read::default();
        }
        if self.objects.insert(*digest, Arc::clone(bytes)).is_none() {
            self.bytes += bytes.len();
        }
    }
}

fn read(instance: &Instance, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
    let kept = || instance.read.lock().unwrap_or_else(PoisonError::into_inner);
    // A digest is of one kind alone.
    if let Some(bytes) = kept().objects.get(digest) {
        return Ok(Arc::clone(bytes));
    }
    let bytes = read_anew(instance, kind, digest)?;
    kept().keep(digest, &bytes);
    Ok(bytes)
}

fn read_anew(instance: &Instance, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
    let found = instance.get(&frame::object(kind, digest));
    let found = found.map_err(|error| ObjectError::unreadable(kind, *digest, error))?;
    let bytes = found.ok_or_else(|| ObjectError::missing(kind, *digest))?;
    match is_sound(kind, digest, &bytes) {
        true => Ok(bytes.into()),
        false => Err(ObjectError::damaged(kind, *digest, "does not match its digest")),
    }
}

pub(crate) fn is_sound(kind: Kind, digest: &Digest, bytes: &[u8]) -> bool {
    Digest::of(kind, bytes) == *digest
}

/// What was given, and behind it what is there.
pub(crate) struct Given<'a> {
    pub(crate) objects: &'a dyn Objects,
    pub(crate) instance: &'a Instance,
}

impl Objects for Given<'_> {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.objects.get(kind, digest).or_else(|error| match error.lack {
            Lack::Missing => read(self.instance, kind, digest).map_err(|other| match other.lack {
                Lack::Missing => error,
                _ => other,
            }),
            _ => Err(error),
        })
    }
}

/// So many objects are asked for whether they are there, before they are read and put.
const MANY: usize = 64;

/// What a record adds. A folder or a list that is there is not known to be whole, because a writer that was killed leaves some of a state. So all is
/// put that does not stand in the same place of the state before, which is whole; but for chunks, which name nothing: of a long file
/// that was changed a little, nearly all are there. One that is shorter than it should be is none: there are servers that keep what came of an
/// upload before its connection ended, and list it.
pub(crate) struct Gathered<'i> {
    instance: &'i Instance,
    /// Chunks that are there.
    there: HashSet<Digest>,
    pub(crate) new: BTreeMap<String, Arc<[u8]>>,
}

impl<'i> Gathered<'i> {
    pub(crate) fn new(instance: &'i Instance) -> Gathered<'i> {
        Gathered { instance, there: HashSet::new(), new: BTreeMap::new() }
    }

    /// Adds a stream.
    pub(crate) fn add_stream(&mut self, bytes: &[u8]) {
        self.new.insert(frame::object(Kind::Stream, &Digest::of(Kind::Stream, bytes)), bytes.into());
    }
}

impl Shelf for Gathered<'_> {
    fn holds(&mut self, digest: &Digest) -> Result<bool, StoreError> {
        let kinds = [Kind::Chunk, Kind::List, Kind::Tree];
        let is_new = || kinds.into_iter().any(|kind| self.new.contains_key(&frame::object(kind, digest)));
        Ok(self.there.contains(digest) || is_new())
    }

    fn expect(&mut self, objects: &[(Digest, Option<u64>)]) -> Result<(), StoreError> {
        let chunks: Vec<(&Digest, &u64)> =
            objects.iter().filter_map(|(digest, bytes)| Some((digest, bytes.as_ref()?))).collect();
        for some in chunks.chunks(1000).filter(|_| chunks.len() >= MANY) {
            let name = |(digest, _): &(&Digest, _)| self.instance.name(&frame::object(Kind::Chunk, digest));
            let found = self.instance.bucket.lengths(some.iter().map(name).collect())?;
            let whole = some.iter().zip(found).filter(|((_, bytes), found)| *found == Some(**bytes));
            self.there.extend(whole.map(|((digest, _), _)| **digest));
        }
        Ok(())
    }

    fn tree(&mut self, digest: &Digest) -> Option<TreeObject> {
        let bytes = match self.new.get(&frame::object(Kind::Tree, digest)) {
            Some(bytes) => Arc::clone(bytes),
            None => read(self.instance, Kind::Tree, digest).ok()?,
        };
        TreeObject::decode(&bytes).ok()
    }

    fn put(&mut self, kind: Kind, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        self.new.insert(frame::object(kind, digest), bytes.into());
        Ok(())
    }

    fn at(&self) -> String {
        self.instance.at.clone()
    }
}

/// The objects that were listed, for looking through states.
pub(crate) struct All<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) digests: &'a HashSet<Digest>,
}

impl Source for All<'_> {
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        read_anew(self.instance, kind, digest)
    }

    fn exists(&self, digest: &Digest) -> bool {
        self.digests.contains(digest)
    }
}
