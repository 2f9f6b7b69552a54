//! From nodes back to snapshots: the digests after a run, and the objects that are new.

use super::content::{chunk_length, no_file, part_count};
use super::{Content, Folder, NodeId, Slot, Touched, Volume, What};
use crate::World;
use crate::failure::{Failure, Stop};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
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
    /// A part of a volume can't be read.
    pub fn commit(&mut self) -> Result<WorldAfter, Stop> {
        let mut after = WorldAfter::default();
        let mut zeros = Zeros::default();
        for volume in 0..self.files.volumes.len() {
            let Volume { name, root, access, before, changed, .. } = &self.files.volumes[volume];
            let (name, root, before, changed) = (name.clone(), *root, *before, *changed);
            if *access == Access::ReadOnly {
                continue;
            }
            let digest = if changed { self.commit_folders(root, &mut after.objects, &mut zeros)? } else { before };
            after.volumes.insert(name, VolumeAfter { before, after: digest });
        }
        Ok(after)
    }

    /// Names a folder and all that lies in it, from the inside out.
    fn commit_folders(&mut self, top: NodeId, objects: &mut MemoryObjects, zeros: &mut Zeros) -> Result<Digest, Stop> {
        let mut folder = self.open_folder(top)?;
        let mut above: Vec<(OpenFolder, Name)> = Vec::new();
        loop {
            let Some((name, id)) = folder.live.pop() else {
                let OpenFolder { id, entries, .. } = folder;
                let tree = Tree::new(entries).ok_or_else(|| Stop::Fault("a folder holds a name twice".into()))?;
                let totals = tree.totals();
                let tree = objects.insert(Kind::Tree, tree.encode());
                let Some((outer, name)) = above.pop() else { return Ok(tree) };
                folder = outer;
                let modified_ns = self.files.node(id).modified_ns;
                folder.entries.push(Entry { name, modified_ns, node: Node::Folder { tree, totals } });
                continue;
            };
            let node = match &self.files.node(id).what {
                What::Link(target) => Node::Link { target: target.clone() },
                What::File(_) => self.commit_file(id, objects, zeros)?,
                What::Folder(Folder { entries: None, base, totals, .. }) => {
                    Node::Folder { tree: *base, totals: *totals }
                }
                What::Folder(_) => {
                    let inner = self.open_folder(id)?;
                    above.push((core::mem::replace(&mut folder, inner), name));
                    continue;
                }
            };
            folder.entries.push(Entry { name, modified_ns: self.files.node(id).modified_ns, node });
        }
    }

    fn open_folder(&mut self, id: NodeId) -> Result<OpenFolder, Stop> {
        let mut folder = OpenFolder { id, entries: Vec::new(), live: Vec::new() };
        for (name, slot) in self.entries(id).map_err(stopped)? {
            let name = name.clone();
            match slot {
                Slot::Live(id) => folder.live.push((name, *id)),
                Slot::Cold { modified_ns, node } => {
                    folder.entries.push(Entry { name, modified_ns: *modified_ns, node: node.clone() });
                }
            }
        }
        Ok(folder)
    }

    fn commit_file(&mut self, id: NodeId, objects: &mut MemoryObjects, zeros: &mut Zeros) -> Result<Node, Stop> {
        let content = self.content(id).map_err(no_file)?;
        let size = content.size;
        let content = match content.base {
            Some(base) if content.is_stored() => base.content,
            _ if size == 0 => Digest::of(Kind::Chunk, b""),
            _ => self.commit_part(id, list_levels(size), 0, objects, zeros)?,
        };
        Ok(Node::File { size, content })
    }

    /// The digest of part `number` at `level`; parts that did not change are taken from the snapshot unread.
    fn commit_part(
        &mut self,
        id: NodeId,
        level: u32,
        number: u64,
        objects: &mut MemoryObjects,
        zeros: &mut Zeros,
    ) -> Result<Digest, Stop> {
        let content = self.content(id).map_err(no_file)?;
        if let Some(base) = content.base
            && is_unchanged(content, level, number)
        {
            return self.base_part(&base, level, number);
        }
        if is_hole(content, level, number) {
            return Ok(zeros.part(level, objects));
        }
        let size = content.size;
        if level == 0 {
            let bytes = self.file_read(id, number * CHUNK_BYTES, chunk_length(size, number)).map_err(stopped)?;
            return Ok(objects.insert(Kind::Chunk, bytes));
        }
        let parts = part_count(size, level - 1) - number * LIST_PARTS;
        let mut digests = Vec::new();
        for part in 0..parts.min(LIST_PARTS) {
            digests.push(self.commit_part(id, level - 1, number * LIST_PARTS + part, objects, zeros)?);
        }
        Ok(objects.insert(Kind::List, encode_list(&digests)))
    }
}

/// A folder whose inside is being named.
struct OpenFolder {
    id: NodeId,
    /// What is named.
    entries: Vec<Entry>,
    /// What is to be named.
    live: Vec<(Name, NodeId)>,
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

/// Whole parts of zeros, by level: their objects are the same wherever they stand.
#[derive(Default)]
struct Zeros(Vec<Digest>);

impl Zeros {
    fn part(&mut self, level: u32, objects: &mut MemoryObjects) -> Digest {
        loop {
            if let Some(digest) = self.0.get(level as usize) {
                return *digest;
            }
            self.0.push(match self.0.last() {
                None => objects.insert(Kind::Chunk, alloc::vec![0; CHUNK_BYTES as usize]),
                Some(below) => objects.insert(Kind::List, encode_list(&[*below; LIST_PARTS as usize])),
            });
        }
    }
}

fn stopped(failure: Failure) -> Stop {
    match failure {
        Failure::Stop(stop) => stop,
        Failure::Errno(errno) => Stop::Fault(alloc::format!("{errno:?} while state was collected")),
    }
}
