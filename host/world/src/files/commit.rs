//! From nodes back to snapshots: the digests after a run, and the objects that are new. This is work like any other: each byte and
//! each entry has its price, each new object counts as memory in full, and a run that is late ends in the middle of it. What is named
//! is let go of as it is named, and named once, however many names it has.

use super::content::{no_file, part_count, stopped};
use super::{Content, FileSystem, Folder, NodeId, Slot, Volume, What};
use crate::World;
use crate::failure::Stop;
use crate::meter::price;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::invocation::Access;
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, LIST_PARTS, MemoryObjects, Node, Totals, Touched, empty_tree, encode_list, list_levels,
};

/// One read-write volume after a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolumeAfter {
    /// Its digest at the start.
    pub before: Digest,
    /// Its digest now.
    pub after: Digest,
}

/// All read-write volumes after a run, by name, and the objects they need beyond those there were.
#[derive(Debug, Default)]
pub struct WorldAfter {
    /// The volumes.
    pub volumes: BTreeMap<String, VolumeAfter>,
    /// New objects; some may be in the store already.
    pub objects: MemoryObjects,
    /// What the run touched in them.
    pub touched: BTreeMap<String, Touched>,
}

/// Counted for each new object beside its bytes.
pub(crate) const OBJECT_BYTES: u64 = 192;

/// The most that an entry takes in its folder's object, its name and a link's target not included.
pub(crate) const ENTRY_BYTES_MAX: usize = 72;

/// Bytes that are hashed between two looks at the deadline.
const HASHED_BYTES: usize = 64 * 1024;

impl World {
    /// Names what the run left in its volumes. Written files have their bytes in the new objects afterwards, and no more here.
    ///
    /// # Errors
    /// Fuel, memory or time are used up, or a part of a volume can't be read.
    pub fn commit(&mut self) -> Result<WorldAfter, Stop> {
        let mut naming = Naming::default();
        match self.name_volumes(&mut naming) {
            Ok(volumes) => Ok(WorldAfter { volumes, objects: naming.objects, touched: BTreeMap::new() }),
            Err(stop) => {
                self.meter.return_memory(naming.counted_bytes);
                Err(stop)
            }
        }
    }

    fn name_volumes(&mut self, naming: &mut Naming) -> Result<BTreeMap<String, VolumeAfter>, Stop> {
        let mut volumes = BTreeMap::new();
        for volume in 0..self.files.volumes.len() {
            let Volume { name, root, access, before, changed, .. } = &self.files.volumes[volume];
            let (name, root, before, changed) = (name.clone(), *root, *before, *changed);
            if *access == Access::ReadOnly {
                continue;
            }
            if changed {
                self.entries(root).map_err(stopped)?;
                self.name_folders(root, naming)?;
            }
            let after = if changed { self.files.folder(root).map_err(no_file)?.base } else { before };
            volumes.insert(name, VolumeAfter { before, after });
        }
        Ok(volumes)
    }

    /// Names a folder and all that lies in it, from the inside out.
    fn name_folders(&mut self, top: NodeId, naming: &mut Naming) -> Result<(), Stop> {
        let mut open = alloc::vec![(top, self.live_in(top)?)];
        while let Some((folder, live)) = open.last_mut() {
            let Some(id) = live.pop() else {
                let folder = *folder;
                open.pop();
                self.name_folder(folder, naming)?;
                continue;
            };
            match &self.files.node(id).what {
                What::File(_) => self.name_file(id, naming)?,
                What::Folder(Folder { entries: Some(_), .. }) => open.push((id, self.live_in(id)?)),
                What::Folder(_) | What::Link(_) => {}
            }
        }
        Ok(())
    }

    /// What of a folder the run has touched.
    fn live_in(&mut self, id: NodeId) -> Result<Vec<NodeId>, Stop> {
        let entries = self.files.folder(id).map_err(no_file)?.entries.iter().flatten();
        let live = entries.filter_map(|(_, slot)| if let Slot::Live(id) = slot { Some(*id) } else { None });
        Ok(live.collect())
    }

    /// Names a folder in which everything has its name.
    fn name_folder(&mut self, id: NodeId, naming: &mut Naming) -> Result<(), Stop> {
        let World { files, meter, .. } = self;
        let folder = files.folder(id).map_err(no_file)?;
        let entries = || folder.entries.iter().flatten();
        let most = |(name, slot): (&hutch_model::snapshot::Name, &Slot)| {
            ENTRY_BYTES_MAX + name.as_str().len() + target_bytes(files, slot)
        };
        let capacity: usize = entries().map(most).sum();
        // Twice for a while: here, and as the object that is kept.
        meter.take_memory_or_stop(capacity as u64)?;
        naming.counted_bytes += capacity as u64;
        let mut bytes = Vec::with_capacity(capacity);
        let mut totals = Totals::default();
        for (name, slot) in entries() {
            meter.spend(price::NAMED_ENTRY)?;
            let (modified_ns, node) = stored(files, slot);
            let entry = Entry { name: name.clone(), modified_ns, node };
            totals = totals.plus(entry.totals());
            entry.encode(&mut bytes);
        }
        debug_assert!(bytes.len() <= capacity, "an entry is longer than it may be");
        let before = folder.base;
        let tree = self.digest(Kind::Tree, &bytes)?;
        if tree != before && tree != empty_tree() {
            self.keep(naming, tree, bytes)?;
        }
        self.meter.return_memory(capacity as u64);
        naming.counted_bytes -= capacity as u64;
        let folder = self.files.folder_mut(id).map_err(no_file)?;
        (folder.base, folder.totals) = (tree, totals);
        Ok(())
    }

    /// Names a file's content, unless it has its name.
    fn name_file(&mut self, id: NodeId, naming: &mut Naming) -> Result<(), Stop> {
        let content = self.content(id).map_err(no_file)?;
        let size = content.size;
        if content.is_stored() {
            return Ok(());
        }
        let named = if size == 0 { empty_file() } else { self.name_part(id, list_levels(size), 0, naming)? };
        let content = self.content_mut(id).map_err(no_file)?;
        debug_assert!(content.written.is_empty(), "a chunk was not named");
        *content = Content::stored(size, named);
        Ok(())
    }

    /// The digest of part `number` at `level`; parts that did not change are taken from the snapshot unread.
    fn name_part(&mut self, id: NodeId, level: u32, number: u64, naming: &mut Naming) -> Result<Digest, Stop> {
        self.meter.spend(price::STEP)?;
        let content = self.content(id).map_err(no_file)?;
        if let Some(base) = content.base
            && is_unchanged(content, level, number)
        {
            return self.base_part(&base, level, number);
        }
        if is_hole(content, level, number) {
            return self.name_zeros(level, naming);
        }
        if level == 0 {
            let bytes = self.take_chunk(id, number)?;
            return self.name_object(naming, Kind::Chunk, bytes);
        }
        let parts = part_count(content.size, level - 1) - number * LIST_PARTS;
        let mut digests = Vec::new();
        for part in 0..parts.min(LIST_PARTS) {
            digests.push(self.name_part(id, level - 1, number * LIST_PARTS + part, naming)?);
        }
        self.name_object(naming, Kind::List, encode_list(&digests))
    }

    /// The digest of a part that is whole and all zeros: it is the same wherever it stands.
    fn name_zeros(&mut self, level: u32, naming: &mut Naming) -> Result<Digest, Stop> {
        loop {
            if let Some(digest) = naming.zeros.get(level as usize) {
                return Ok(*digest);
            }
            let next = match naming.zeros.last() {
                None => self.name_object(naming, Kind::Chunk, alloc::vec![0; CHUNK_BYTES as usize])?,
                Some(below) => {
                    let list = encode_list(&[*below; LIST_PARTS as usize]);
                    self.name_object(naming, Kind::List, list)?
                }
            };
            naming.zeros.push(next);
        }
    }

    /// Names and keeps an object.
    fn name_object(&mut self, naming: &mut Naming, kind: Kind, bytes: Vec<u8>) -> Result<Digest, Stop> {
        let digest = self.digest(kind, &bytes)?;
        self.keep(naming, digest, bytes)?;
        Ok(digest)
    }

    /// The digest of an object, for the price of its bytes.
    fn digest(&mut self, kind: Kind, bytes: &[u8]) -> Result<Digest, Stop> {
        self.meter.spend(price::NAMED_OBJECT)?;
        let mut hasher = Hasher::new(kind);
        for part in bytes.chunks(HASHED_BYTES) {
            self.meter.spend(part.len() as u64 * price::BYTE)?;
            hasher.update(part);
        }
        Ok(hasher.finish())
    }

    /// Keeps an object, which counts as memory unless it is there already.
    fn keep(&mut self, naming: &mut Naming, digest: Digest, bytes: Vec<u8>) -> Result<(), Stop> {
        if naming.objects.find(&digest).is_none() {
            let counted_bytes = OBJECT_BYTES + bytes.len() as u64;
            self.meter.take_memory_or_stop(counted_bytes)?;
            naming.counted_bytes += counted_bytes;
            naming.objects.insert_named(digest, bytes);
        }
        Ok(())
    }
}

/// What is named so far.
#[derive(Default)]
struct Naming {
    objects: MemoryObjects,
    /// What was counted as memory for them.
    counted_bytes: u64,
    /// Whole parts of zeros, by level.
    zeros: Vec<Digest>,
}

/// What a name stands for, as a snapshot says it, and when that was last changed. What was touched has been named.
fn stored(files: &FileSystem, slot: &Slot) -> (u64, Node) {
    match slot {
        Slot::Cold { modified_ns, node } => (*modified_ns, node.clone()),
        Slot::Live(id) => {
            let node = files.node(*id);
            let stored = match &node.what {
                What::File(Content { size, base, .. }) => {
                    Node::File { size: *size, content: base.map_or_else(empty_file, |base| base.content) }
                }
                What::Folder(Folder { base, totals, .. }) => Node::Folder { tree: *base, totals: *totals },
                What::Link(target) => Node::Link { target: target.clone() },
            };
            (node.modified_ns, stored)
        }
    }
}

fn target_bytes(files: &FileSystem, slot: &Slot) -> usize {
    match slot {
        Slot::Cold { node, .. } => super::target_bytes(node),
        Slot::Live(id) => match &files.node(*id).what {
            What::Link(target) => target.len(),
            What::File(_) | What::Folder(_) => 0,
        },
    }
}

/// The name of no bytes.
fn empty_file() -> Digest {
    Digest::of(Kind::Chunk, b"")
}

/// Whether part `number` at `level` is the same in the snapshot: none of its chunks was written, all are wholly there, and it
/// reaches as far.
fn is_unchanged(content: &Content, level: u32, number: u64) -> bool {
    let Some(base) = content.base else { return false };
    let chunks = LIST_PARTS.pow(level);
    let (first, end) = (number * chunks, (number + 1) * chunks);
    let end_bytes = end.saturating_mul(CHUNK_BYTES);
    let to = content.size.min(end_bytes);
    level <= list_levels(base.size)
        && to <= base.visible
        && to == base.size.min(end_bytes)
        && content.written.range(first..end).next().is_none()
}

/// Whether part `number` at `level` is whole and was never written: all zeros.
fn is_hole(content: &Content, level: u32, number: u64) -> bool {
    let chunks = LIST_PARTS.pow(level);
    let (first, end) = (number * chunks, (number + 1) * chunks);
    end.saturating_mul(CHUNK_BYTES) <= content.size
        && content.base.is_none_or(|base| base.visible <= first * CHUNK_BYTES)
        && content.written.range(first..end).next().is_none()
}
