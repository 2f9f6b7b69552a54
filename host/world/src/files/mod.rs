//! The files a guest sees: a tree of nodes for each preopened folder, read from a snapshot as it is needed and changed in memory
//! only. One operation per file; this one holds the table of nodes.
//!
//! A folder is read when a path first goes through it, a large one by part, a file's chunk when it is first read or partly overwritten. What a run
//! does not touch costs nothing.
//!
//! # What is not as on Linux
//!
//! Every call answers as the stock host, `wasmtime-wasi` 48, does on Linux: `tests/world/differential` compares the two by random
//! operations. This is all they differ in; the test recognises each row, and fails if one shows no more.
//!
#![doc = include_str!("differences.md")]

mod attributes;
mod commit;
mod content;
mod create_folder;
mod link;
mod open;
mod parts;
mod quota;
mod read_folder;
mod recount;
mod remove;
mod rename;
mod resolve;
mod symlink;
mod touched;

pub use attributes::{NewTime, Stat, Type};
pub(crate) use commit::{ENTRY_BYTES_MAX, OBJECT_BYTES};
pub use commit::{VolumeAfter, WorldAfter};
pub(crate) use content::BUFFER_BYTES_MIN;
pub(crate) use open::check_offset;
pub use open::{Descriptor, OpenOptions};
pub(crate) use parts::PART_BYTES;
pub use read_folder::{FolderStream, Listed};
pub use recount::Counts;
pub(crate) use resolve::HOPS_MAX;
pub use resolve::PATH_BYTES_MAX;

use crate::World;
use crate::failure::{Errno, Failure, Stop};
use crate::meter::price;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use content::Content;
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::{Access, Invocation};
use hutch_model::snapshot::{self, Name, ObjectError, Objects, Totals, empty_tree, read_object};
use parts::Entries;
use quota::Usage;

/// Counted for each node in memory, its name in its folder not included.
pub(crate) const NODE_BYTES: u64 = 256;
/// Counted for each name in a folder that was read, beside the name's own bytes.
pub const SLOT_BYTES: u64 = 128;
/// How many names that are not there are remembered, in all folders: at most 1 MiB.
pub(crate) const MISSED_NAMES: usize = 4096;
/// How many objects of snapshots are kept at hand.
pub(crate) const CACHED_OBJECTS: usize = 32;

/// A node's place in the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct NodeId(usize);

/// A file, folder or link that the run has touched.
#[derive(Debug)]
struct Node {
    what: What,
    volume: usize,
    /// Numbers nodes in the order they were first touched: identity for the guest.
    serial: u64,
    accessed_ns: u64,
    modified_ns: u64,
    changed_ns: u64,
    /// Names that stand for it; a volume's top folder has one without a name.
    names: u32,
    /// Descriptors and streams that hold it.
    handles: u32,
    /// The bytes that a real folder's file had when the run first came by; nothing for what is new, and in other volumes.
    held_before: Option<u64>,
}

#[derive(Debug)]
enum What {
    File(Content),
    Folder(Folder),
    Link(Box<str>),
}

impl What {
    /// What it counts for in memory beside [`NODE_BYTES`]; the entries of a folder not included.
    fn memory_bytes(&self) -> u64 {
        match self {
            What::File(content) => content.memory_bytes(),
            What::Link(target) => target.len() as u64,
            What::Folder(folder) => folder.entries.as_ref().map_or(0, Entries::memory_bytes),
        }
    }
}

#[derive(Debug)]
struct Folder {
    parent: Option<NodeId>,
    /// Bytes of its own name.
    name_bytes: u64,
    /// What it held at the start of the run.
    base: Digest,
    /// What that amounts to.
    totals: Totals,
    /// Its entries, once a path has gone through it.
    entries: Option<Entries>,
    /// Names that were looked up and were not there at the start.
    missed: BTreeSet<Name>,
    /// Whether it was listed.
    listed: bool,
}

impl Folder {
    /// The entries that are known, by name.
    fn known(&self) -> impl Iterator<Item = (&Name, &Slot)> {
        self.entries.iter().flat_map(|entries| &entries.known)
    }

    fn stored(above: Option<(NodeId, &str)>, base: Digest, totals: Totals) -> Folder {
        let (parent, name_bytes) = (above.map(|(parent, _)| parent), above.map_or(0, |(_, name)| name.len() as u64));
        Folder { parent, name_bytes, base, totals, entries: None, missed: BTreeSet::new(), listed: false }
    }
}

/// What a name in a folder stands for.
#[derive(Debug)]
enum Slot {
    /// Not touched yet.
    Cold { modified_ns: u64, node: snapshot::Node },
    /// Touched.
    Live(NodeId),
}

#[derive(Debug)]
struct Volume {
    name: String,
    root: NodeId,
    access: Access,
    before: Digest,
    /// Whether anything in it was changed at all.
    changed: bool,
    /// Whether it is a real folder: its digests are handles then, and totals are not known.
    real: bool,
    /// What counts of it.
    usage: Usage,
}

/// Bytes of a link's target.
fn target_bytes(node: &snapshot::Node) -> usize {
    match node {
        snapshot::Node::Link { target } => target.len(),
        _ => 0,
    }
}

/// All nodes and volumes.
pub(crate) struct FileSystem {
    objects: Arc<dyn Objects>,
    cached: Vec<(Digest, Arc<[u8]>)>,
    nodes: Vec<Option<Node>>,
    free: Vec<NodeId>,
    volumes: Vec<Volume>,
    next_serial: u64,
    /// Names that folders remember not to have.
    missed: usize,
}

impl FileSystem {
    pub(crate) fn new(
        invocation: &Invocation,
        state: &BTreeMap<String, Digest>,
        objects: Arc<dyn Objects>,
    ) -> Result<FileSystem, ObjectError> {
        let mut files = FileSystem {
            objects,
            cached: Vec::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            volumes: Vec::new(),
            next_serial: 1,
            missed: 0,
        };
        let now_ns = invocation.clock_start().unix_ns();
        for (volume, (name, access)) in invocation.preopens().iter().enumerate() {
            let before = state.get(name).copied().unwrap_or_else(empty_tree);
            // What a real folder holds already is not the guest's to account for; what it adds there is.
            let totals = match access {
                Access::ReadWrite if !invocation.mounts().contains(name) => {
                    let top = read_object(&*files.objects, &before)?;
                    if top.entries() == 0 && before != empty_tree() {
                        let reason = "holds nothing";
                        return Err(ObjectError::damaged(Kind::Tree, before, reason));
                    }
                    top.totals()
                }
                _ => Totals::default(),
            };
            let folder = Folder::stored(None, before, totals);
            let root = files.insert(volume, now_ns, What::Folder(folder));
            let real = invocation.mounts().contains(name);
            let usage = Usage { bytes: totals.bytes, files: totals.files };
            let (name, access) = (name.clone(), *access);
            files.volumes.push(Volume { name, root, access, before, changed: false, real, usage });
        }
        Ok(files)
    }

    /// Puts a new node in the table, with one name.
    fn insert(&mut self, volume: usize, now_ns: u64, what: What) -> NodeId {
        let serial = self.next_serial;
        self.next_serial += 1;
        let node = Node {
            what,
            volume,
            serial,
            accessed_ns: now_ns,
            modified_ns: now_ns,
            changed_ns: now_ns,
            names: 1,
            handles: 0,
            held_before: None,
        };
        match self.free.pop() {
            Some(id) => {
                self.nodes[id.0] = Some(node);
                id
            }
            None => {
                let id = NodeId(self.nodes.len());
                self.nodes.push(Some(node));
                id
            }
        }
    }

    /// A node that something still names or holds.
    #[allow(
        clippy::expect_used,
        reason = "ids are private and die with their node: a dangling one is a bug to stop at"
    )]
    fn node(&self, id: NodeId) -> &Node {
        self.nodes[id.0].as_ref().expect("a node id outlived its node")
    }

    /// As [`node`](FileSystem::node), to change it.
    #[allow(
        clippy::expect_used,
        reason = "ids are private and die with their node: a dangling one is a bug to stop at"
    )]
    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.0].as_mut().expect("a node id outlived its node")
    }

    fn volume_of(&self, id: NodeId) -> &Volume {
        &self.volumes[self.node(id).volume]
    }

    fn is_folder(&self, id: NodeId) -> bool {
        matches!(self.node(id).what, What::Folder(_))
    }

    fn folder(&self, id: NodeId) -> Result<&Folder, Errno> {
        match &self.node(id).what {
            What::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotDirectory),
        }
    }

    fn folder_mut(&mut self, id: NodeId) -> Result<&mut Folder, Errno> {
        match &mut self.node_mut(id).what {
            What::Folder(folder) => Ok(folder),
            _ => Err(Errno::NotDirectory),
        }
    }
}

impl World {
    /// A chunk or list of a snapshot, from the few at hand or from outside.
    fn object(&mut self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, Stop> {
        let cached = &mut self.files.cached;
        if let Some(at) = cached.iter().position(|(key, _)| key == digest) {
            let found = cached.remove(at);
            let bytes = found.1.clone();
            cached.push(found);
            return Ok(bytes);
        }
        let bytes = self.fetch(kind, digest)?;
        let cached = &mut self.files.cached;
        if cached.len() == CACHED_OBJECTS {
            cached.remove(0);
        }
        cached.push((*digest, bytes.clone()));
        Ok(bytes)
    }

    fn fetch(&mut self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, Stop> {
        self.meter.spend(price::OBJECT)?;
        Ok(self.files.objects.get(kind, digest)?)
    }

    /// The node that `name` stands for in a folder.
    fn lookup(&mut self, folder: NodeId, name: &str) -> Result<Option<NodeId>, Failure> {
        let (modified_ns, node) = match self.entries_toward(folder, name)?.known.get(name) {
            None => {
                self.miss(folder, name)?;
                return Ok(None);
            }
            Some(Slot::Live(id)) => return Ok(Some(*id)),
            Some(Slot::Cold { modified_ns, node }) => (*modified_ns, node.clone()),
        };
        // A link's target has been counted with its entry.
        self.meter.take_memory_or_stop(NODE_BYTES)?;
        let volume = self.files.node(folder).volume;
        let what = match node {
            snapshot::Node::File { size, content } => What::File(Content::stored(size, content)),
            snapshot::Node::Folder { tree, totals } => What::Folder(Folder::stored(Some((folder, name)), tree, totals)),
            snapshot::Node::Link { target } => What::Link(target),
        };
        let held = if let What::File(content) = &what { content.size } else { 0 };
        let id = self.files.insert(volume, modified_ns, what);
        if self.files.volumes[volume].real {
            self.files.node_mut(id).held_before = Some(held);
        }
        if let Some(slot) = self.entries_toward(folder, name)?.known.get_mut(name) {
            *slot = Slot::Live(id);
        }
        Ok(Some(id))
    }

    /// Remembers that a name was looked up and is not there. After so many, the folder counts as listed instead.
    fn miss(&mut self, folder: NodeId, name: &str) -> Result<(), Failure> {
        let room = self.files.missed < MISSED_NAMES;
        let into = self.files.folder_mut(folder)?;
        if into.listed || into.missed.contains(name) {
            return Ok(());
        }
        match Name::new(name) {
            Ok(missed) if room => {
                into.missed.insert(missed);
                self.files.missed += 1;
            }
            _ => into.listed = true,
        }
        Ok(())
    }

    /// Fails unless the descriptor is of a folder in a volume that is granted read-write.
    fn check_changeable(&self, base: &Descriptor) -> Result<(), Errno> {
        self.files.folder(base.node)?;
        if self.files.volume_of(base.node).access == Access::ReadOnly { Err(Errno::ReadOnly) } else { Ok(()) }
    }

    /// As [`check_changeable`](World::check_changeable), for calls on two folders.
    fn check_both_changeable(&self, old: &Descriptor, new: &Descriptor) -> Result<(), Errno> {
        self.files.folder(old.node)?;
        self.check_changeable(new)?;
        self.check_changeable(old)
    }

    /// Gives `name` in `folder` to a node that has been counted for it; the name must be free.
    fn attach(&mut self, folder: NodeId, name: Name, id: NodeId) -> Result<(), Failure> {
        self.entries_toward(folder, name.as_str())?.known.insert(name, Slot::Live(id));
        self.touch_folder(folder);
        Ok(())
    }

    /// Takes `name` away from its node; the slot's memory is given back, the node stays.
    fn detach(&mut self, folder: NodeId, name: &str) -> Result<(), Failure> {
        if self.entries_toward(folder, name)?.known.remove(name).is_some() {
            self.meter.return_memory(SLOT_BYTES + name.len() as u64);
        }
        self.touch_folder(folder);
        Ok(())
    }

    /// A folder's entries changed: its times, and its volume, are not what they were.
    fn touch_folder(&mut self, folder: NodeId) {
        let now_ns = self.clock.wall_ns();
        let node = self.files.node_mut(folder);
        (node.modified_ns, node.changed_ns) = (now_ns, now_ns);
        self.mark_changed(folder);
    }

    fn mark_changed(&mut self, id: NodeId) {
        let volume = self.files.node(id).volume;
        self.files.volumes[volume].changed = true;
    }

    /// Counts one more descriptor or stream on a node.
    pub(crate) fn hold(&mut self, id: NodeId) {
        self.files.node_mut(id).handles += 1;
    }

    /// Counts one less; a node without names and handles is gone.
    pub(crate) fn release(&mut self, id: NodeId) {
        self.files.node_mut(id).handles -= 1;
        self.drop_if_unused(id);
    }

    /// Takes one name from a node; a node without names and handles is gone.
    fn drop_name(&mut self, id: NodeId) {
        let now_ns = self.clock.wall_ns();
        let node = self.files.node_mut(id);
        node.names -= 1;
        node.changed_ns = now_ns;
        self.drop_if_unused(id);
    }

    fn drop_if_unused(&mut self, id: NodeId) {
        let node = self.files.node(id);
        if node.names > 0 || node.handles > 0 {
            return;
        }
        let held = node.what.memory_bytes();
        self.meter.return_memory(NODE_BYTES + held);
        self.files.nodes[id.0] = None;
        self.files.free.push(id);
    }

    /// Whether both descriptors are of one file or folder.
    pub fn is_same(&self, a: &Descriptor, b: &Descriptor) -> bool {
        a.node == b.node
    }
}
