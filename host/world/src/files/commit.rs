//! From nodes back to snapshots: the digests after a run, and the objects that are new.

use super::content::chunk_length;
use super::{Content, FileSystem, Folder, NodeId, Slot, Touched, What};
use crate::World;
use crate::failure::{Failure, Stop};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, LIST_PARTS, MemoryObjects, Name, Node, Tree, encode_list, list_levels,
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

impl World {
    /// Names what the run left in its volumes.
    ///
    /// # Errors
    /// Folders lie too deep, or a part of a volume can't be read.
    pub fn commit(&mut self) -> Result<WorldAfter, Stop> {
        let mut after = WorldAfter::default();
        for volume in 0..self.files.volumes.len() {
            let FileSystem { volumes, .. } = &self.files;
            let (name, root, before) = (volumes[volume].name.clone(), volumes[volume].root, volumes[volume].before);
            if volumes[volume].access == Access::ReadOnly {
                continue;
            }
            let mut digest = before;
            if volumes[volume].changed
                && let Node::Folder { tree, totals } = self.commit_node(root, 0, &mut after.objects)?
            {
                // A folder that no path went through can be moved to where its own folders lie too deep.
                if u64::from(totals.depth) > self.meter.limit(Limit::FolderDepth) {
                    return Err(Stop::Limit(Limit::FolderDepth));
                }
                digest = tree;
            }
            after.volumes.insert(name, VolumeAfter { before, after: digest });
        }
        Ok(after)
    }

    fn commit_node(&mut self, id: NodeId, depth: u64, objects: &mut MemoryObjects) -> Result<Node, Stop> {
        match &self.files.node(id).what {
            What::Link(target) => Ok(Node::Link { target: target.clone() }),
            What::File(_) => self.commit_file(id, objects),
            What::Folder(Folder { entries: None, base, totals, .. }) => {
                Ok(Node::Folder { tree: *base, totals: *totals })
            }
            What::Folder(_) => self.commit_folder(id, depth, objects),
        }
    }

    fn commit_folder(&mut self, id: NodeId, depth: u64, objects: &mut MemoryObjects) -> Result<Node, Stop> {
        if depth > self.meter.limit(Limit::FolderDepth) {
            return Err(Stop::Limit(Limit::FolderDepth));
        }
        let mut entries = Vec::new();
        let mut live: Vec<(Name, NodeId)> = Vec::new();
        for (name, slot) in self.entries(id).map_err(stopped)? {
            match slot {
                Slot::Live(child) => live.push((name.clone(), *child)),
                Slot::Cold { modified_ns, node } => {
                    entries.push(Entry { name: name.clone(), modified_ns: *modified_ns, node: node.clone() });
                }
            }
        }
        for (name, child) in live {
            let node = self.commit_node(child, depth + 1, objects)?;
            entries.push(Entry { name, modified_ns: self.files.node(child).modified_ns, node });
        }
        let tree = Tree::new(entries).ok_or_else(|| Stop::Fault("a folder holds a name twice".into()))?;
        Ok(objects.insert_tree(&tree))
    }

    fn commit_file(&mut self, id: NodeId, objects: &mut MemoryObjects) -> Result<Node, Stop> {
        let content = self.content(id).map_err(|_| Stop::Fault("a file is no file".into()))?;
        let size = content.size;
        if content.is_stored() {
            let digest = content.base.map_or_else(|| Digest::of(Kind::Chunk, b""), |base| base.content);
            return Ok(Node::File { size, content: digest });
        }
        if size == 0 {
            return Ok(Node::File { size, content: Digest::of(Kind::Chunk, b"") });
        }
        let content = self.commit_part(id, list_levels(size), 0, objects)?;
        Ok(Node::File { size, content })
    }

    /// The digest of part `number` at `level`; parts that did not change are taken from the snapshot unread.
    fn commit_part(
        &mut self,
        id: NodeId,
        level: u32,
        number: u64,
        objects: &mut MemoryObjects,
    ) -> Result<Digest, Stop> {
        let content = self.content(id).map_err(|_| Stop::Fault("a file is no file".into()))?;
        if let Some(base) = content.base
            && is_unchanged(content, level, number)
        {
            return self.base_part(&base, level, number);
        }
        if is_hole(content, level, number) {
            return Ok(zeros(level, objects));
        }
        let size = content.size;
        if level == 0 {
            let bytes = self.file_read(id, number * CHUNK_BYTES, chunk_length(size, number)).map_err(stopped)?;
            return Ok(objects.insert(Kind::Chunk, bytes));
        }
        let parts = part_count(size, level - 1) - number * LIST_PARTS;
        let mut digests = Vec::new();
        for part in 0..parts.min(LIST_PARTS) {
            digests.push(self.commit_part(id, level - 1, number * LIST_PARTS + part, objects)?);
        }
        Ok(objects.insert(Kind::List, encode_list(&digests)))
    }
}

/// Chunks, or lists at a level, that a file of `size` bytes has.
fn part_count(size: u64, level: u32) -> u64 {
    size.div_ceil(CHUNK_BYTES).div_ceil(LIST_PARTS.pow(level))
}

/// Whether part `number` at `level` is the same in the snapshot: none of its chunks was written, all are wholly there, and it
/// reaches as far.
fn is_unchanged(content: &Content, level: u32, number: u64) -> bool {
    let Some(base) = content.base else { return false };
    let chunks = LIST_PARTS.pow(level);
    let (first, end) = (number * chunks, (number + 1) * chunks);
    let to = content.size.min(end * CHUNK_BYTES);
    level <= list_levels(base.size)
        && to <= base.visible
        && to == base.size.min(end * CHUNK_BYTES)
        && content.written.range(first..end).next().is_none()
}

/// Whether part `number` at `level` is whole and was never written: all zeros.
fn is_hole(content: &Content, level: u32, number: u64) -> bool {
    let chunks = LIST_PARTS.pow(level);
    let (first, end) = (number * chunks, (number + 1) * chunks);
    end * CHUNK_BYTES <= content.size
        && content.base.is_none_or(|base| base.visible <= first * CHUNK_BYTES)
        && content.written.range(first..end).next().is_none()
}

/// A whole part of zeros: its objects are the same wherever it stands.
fn zeros(level: u32, objects: &mut MemoryObjects) -> Digest {
    let mut digest = objects.insert(Kind::Chunk, alloc::vec![0; CHUNK_BYTES as usize]);
    for _ in 0..level {
        digest = objects.insert(Kind::List, encode_list(&[digest; LIST_PARTS as usize]));
    }
    digest
}

fn stopped(failure: Failure) -> Stop {
    match failure {
        Failure::Stop(stop) => stop,
        Failure::Errno(errno) => Stop::Fault(alloc::format!("{errno:?} while state was collected")),
    }
}
