//! From nodes back to snapshots: the digests after a run, and the objects that are new. This is work like any other: each byte and
//! each entry has its price, each new object counts as memory in full, and a run that is late ends in the middle of it. What is named
//! is let go of as it is named, and named once, however many names it has.

use super::content::{no_file, part_count, stopped};
use super::parts::{Below, Branch, Entries, PART_BYTES, branch, each_unread, lines};
use super::{Content, FileSystem, Folder, NodeId, Slot, Volume, What};
use crate::World;
use crate::failure::Stop;
use crate::meter::{Meter, price};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::invocation::Access;
use hutch_model::memo::Seen;
use hutch_model::snapshot::{
    CHUNK_BYTES, Entry, LIST_PARTS, MemoryObjects, Name, Node, PARTS, Part, Parts, Prefix, Route, Totals, Touched,
    empty_tree, encode_list, list_levels,
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
    /// What it has seen of the clock and of the seed.
    pub seen: Seen,
    /// Whether it asked for standard input.
    pub stdin_read: bool,
}

/// Counted for each new object beside its bytes.
pub(crate) const OBJECT_BYTES: u64 = 192;

/// The most that an entry takes in its folder's object, its name and a link's target not included.
pub(crate) const ENTRY_BYTES_MAX: usize = 72;

/// Counted for each known entry of a large folder while that is named.
const ROUTE_BYTES: u64 = 32;

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
            Ok(volumes) => Ok(WorldAfter { volumes, objects: naming.objects, ..WorldAfter::default() }),
            Err(stop) => {
                self.meter.return_memory(naming.counted_bytes);
                Err(stop)
            }
        }
    }

    /// Whether all that the run saw of what others may write meanwhile was there together (`Objects::check`).
    ///
    /// # Errors
    /// It was not, or the deadline is over before that is known.
    pub fn check(&self) -> Result<(), Stop> {
        let late = self.meter.late();
        let is_late = || late.load(Ordering::Relaxed);
        self.files.objects.check(&|| !is_late())?;
        if is_late() { Err(Stop::Late) } else { Ok(()) }
    }

    /// What the run has seen up to now.
    pub fn seen(&self) -> Seen {
        Seen { clock: self.clock.is_start_seen(), seed: self.random.is_seed_seen() }
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
                self.open_folder(root).map_err(stopped)?;
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
        let known = self.files.folder(id).map_err(no_file)?.known();
        let live = known.filter_map(|(_, slot)| if let Slot::Live(id) = slot { Some(*id) } else { None });
        Ok(live.collect())
    }

    /// Names a folder in which everything has its name.
    fn name_folder(&mut self, id: NodeId, naming: &mut Naming) -> Result<(), Stop> {
        self.read_few(id, naming)?;
        let World { files, meter, .. } = self;
        let folder = files.folder(id).map_err(no_file)?;
        let Some(Entries { known, parts, unread }) = &folder.entries else { return Ok(()) };
        let (before, entries) = (folder.base, known.len() as u64 + unread);
        let mut namer = FolderNamer { files, meter, naming };
        // A real folder's objects are nobody's to keep.
        let (tree, totals, branches) = if files.volume_of(id).real || Prefix::WHOLE.is_one_object(entries) {
            let (tree, totals) = namer.entries(known.iter(), before)?;
            (tree, totals, Vec::new())
        } else {
            let counted_bytes = known.len() as u64 * ROUTE_BYTES;
            namer.take(counted_bytes)?;
            let routes = routes(known, namer.meter)?;
            let named = namer.parts(Prefix::WHOLE, &routes, parts, Some(before))?;
            namer.give_back(counted_bytes);
            named
        };
        let (was, is) = (lines(parts), lines(&branches));
        meter.take_memory_or_stop(is * PART_BYTES)?;
        meter.return_memory(was * PART_BYTES);
        let folder = self.files.folder_mut(id).map_err(no_file)?;
        (folder.base, folder.totals) = (tree, totals);
        if let Some(entries) = &mut folder.entries {
            entries.parts = branches;
        }
        Ok(())
    }

    /// Reads what was not read of a folder in places where so little is left that it is one object now.
    fn read_few(&mut self, id: NodeId, naming: &mut Naming) -> Result<(), Stop> {
        let World { files, meter, .. } = self;
        let folder = files.folder(id).map_err(no_file)?;
        let Some(entries) = folder.entries.as_ref().filter(|entries| entries.unread > 0) else { return Ok(()) };
        let counted_bytes = entries.known.len() as u64 * ROUTE_BYTES;
        meter.take_memory_or_stop(counted_bytes)?;
        naming.counted_bytes += counted_bytes;
        let mut few = Vec::new();
        let routes = routes(&entries.known, meter)?;
        find_few(&entries.parts, Prefix::WHOLE, &routes, &mut few);
        drop(routes);
        meter.return_memory(counted_bytes);
        naming.counted_bytes -= counted_bytes;
        for (at, part) in few {
            self.read_part(id, at, &part).map_err(stopped)?;
        }
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
        let digest = digest(&mut self.meter, kind, &bytes)?;
        keep(&mut self.meter, naming, digest, bytes)?;
        Ok(digest)
    }
}

/// The digest of an object, for the price of its bytes.
fn digest(meter: &mut Meter, kind: Kind, bytes: &[u8]) -> Result<Digest, Stop> {
    meter.spend(price::NAMED_OBJECT)?;
    let mut hasher = Hasher::new(kind);
    for part in bytes.chunks(HASHED_BYTES) {
        meter.spend(part.len() as u64 * price::BYTE)?;
        hasher.update(part);
    }
    Ok(hasher.finish())
}

/// Keeps an object, which counts as memory unless it is there already.
fn keep(meter: &mut Meter, naming: &mut Naming, digest: Digest, bytes: Vec<u8>) -> Result<(), Stop> {
    if naming.objects.find(&digest).is_none() {
        let counted_bytes = OBJECT_BYTES + bytes.len() as u64;
        meter.take_memory_or_stop(counted_bytes)?;
        naming.counted_bytes += counted_bytes;
        naming.objects.insert_named(digest, bytes);
    }
    Ok(())
}

/// A known entry of a large folder, and where it is.
type Located<'a> = (Route, (&'a Name, &'a Slot));

/// Such entries, by where they are.
type Routes<'a> = [Located<'a>];

fn routes<'a>(known: &'a BTreeMap<Name, Slot>, meter: &mut Meter) -> Result<Vec<Located<'a>>, Stop> {
    let mut routes = Vec::with_capacity(known.len());
    for (name, slot) in known {
        meter.spend(price::NAMED_ENTRY)?;
        routes.push((Route::of(name.as_str()), (name, slot)));
    }
    routes.sort_unstable_by_key(|(route, (name, _))| (*route, *name));
    Ok(routes)
}

/// Those that are in the part with a digit, and those behind it.
fn split_at<'r, 'a>(routes: &'r Routes<'a>, at: Prefix, digit: u8) -> (&'r Routes<'a>, &'r Routes<'a>) {
    routes.split_at(routes.partition_point(|(route, _)| route.digit(at.levels()) <= digit))
}

/// Finds the parts that were not read where what is left is one object.
fn find_few(branches: &[Branch], at: Prefix, mut routes: &Routes<'_>, few: &mut Vec<(Prefix, Part)>) {
    let mut left = routes.len() as u64;
    each_unread(branches, at, &mut |_, part| left += part.entries);
    if at.is_one_object(left) {
        each_unread(branches, at, &mut |at, part| few.push((at, *part)));
        return;
    }
    for digit in 0..PARTS as u8 {
        let (inside, behind) = split_at(routes, at, digit);
        routes = behind;
        if let Some(Branch { below: Below::Parts(inner), .. }) = branch(branches, digit) {
            find_few(inner, at.below(digit), inside, few);
        }
    }
}

/// Names what is in a folder.
struct FolderNamer<'a> {
    files: &'a FileSystem,
    meter: &'a mut Meter,
    naming: &'a mut Naming,
}

impl FolderNamer<'_> {
    fn take(&mut self, bytes: u64) -> Result<(), Stop> {
        self.meter.take_memory_or_stop(bytes)?;
        self.naming.counted_bytes += bytes;
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        self.meter.return_memory(bytes);
        self.naming.counted_bytes -= bytes;
    }

    /// Names the object of entries, which are by name.
    fn entries<'e>(
        &mut self,
        entries: impl Iterator<Item = (&'e Name, &'e Slot)> + Clone,
        before: Digest,
    ) -> Result<(Digest, Totals), Stop> {
        let files = self.files;
        let most = |(name, slot): (&Name, &Slot)| ENTRY_BYTES_MAX + name.as_str().len() + target_bytes(files, slot);
        let capacity: usize = entries.clone().map(most).sum();
        // Twice for a while: here, and as the object that is kept.
        self.take(capacity as u64)?;
        let mut bytes = Vec::with_capacity(capacity);
        let mut totals = Totals::default();
        for (name, slot) in entries {
            self.meter.spend(price::NAMED_ENTRY)?;
            let (modified_ns, node) = stored(files, slot);
            let entry = Entry { name: name.clone(), modified_ns, node };
            totals = totals.plus(entry.totals());
            entry.encode(&mut bytes);
        }
        debug_assert!(bytes.len() <= capacity, "an entry is longer than it may be");
        let tree = self.tree(bytes, before)?;
        self.give_back(capacity as u64);
        Ok((tree, totals))
    }

    /// The digest of a folder's object, which is kept if it is not the one that was there before.
    fn tree(&mut self, bytes: Vec<u8>, before: Digest) -> Result<Digest, Stop> {
        let tree = digest(self.meter, Kind::Tree, &bytes)?;
        if tree != before && tree != empty_tree() {
            keep(self.meter, self.naming, tree, bytes)?;
        }
        Ok(tree)
    }

    /// Names the parts of a place where there are too many entries for one object. Parts of which nothing was touched stay as they
    /// are.
    fn parts(
        &mut self,
        at: Prefix,
        mut routes: &Routes<'_>,
        before: &[Branch],
        tree: Option<Digest>,
    ) -> Result<(Digest, Totals, Vec<Branch>), Stop> {
        let mut branches = Vec::with_capacity(PARTS);
        for digit in 0..PARTS as u8 {
            let (inside, behind) = split_at(routes, at, digit);
            routes = behind;
            branches.extend(self.part(at.below(digit), digit, inside, branch(before, digit))?);
        }
        let parts = Parts::new(at, branches.iter().map(|branch| branch.part).collect());
        let parts = parts.ok_or_else(|| Stop::Fault("a folder in parts holds few entries".into()))?;
        self.meter.spend(branches.len() as u64 * price::NAMED_ENTRY)?;
        let totals = parts.parts().iter().fold(Totals::default(), |sum, part| sum.plus(part.totals));
        let tree = self.tree(parts.encode(), tree.unwrap_or_else(empty_tree))?;
        Ok((tree, totals, branches))
    }

    /// Names one part; nothing if nothing is in it.
    fn part(
        &mut self,
        at: Prefix,
        digit: u8,
        inside: &Routes<'_>,
        before: Option<&Branch>,
    ) -> Result<Option<Branch>, Stop> {
        let inner = match before {
            // Of what was not read nothing is known, and nothing came into it.
            Some(Branch { part, below: Below::Unread }) => {
                return Ok(Some(Branch { part: *part, below: Below::Unread }));
            }
            Some(Branch { below: Below::Parts(inner), .. }) => inner.as_slice(),
            Some(Branch { part, below: Below::Entries }) => {
                let touched = |(_, slot): &(&Name, &Slot)| matches!(slot, Slot::Live(_));
                if inside.len() as u64 == part.entries && !inside.iter().any(|(_, entry)| touched(entry)) {
                    return Ok(Some(Branch { part: *part, below: Below::Entries }));
                }
                &[]
            }
            None => &[],
        };
        let mut entries = inside.len() as u64;
        each_unread(inner, at, &mut |_, part| entries += part.entries);
        let was = before.map(|branch| branch.part.tree);
        let (tree, totals, below) = if entries == 0 {
            return Ok(None);
        } else if at.is_one_object(entries) {
            // By route they are, and by name they are written.
            let mut named: Vec<(&Name, &Slot)> = inside.iter().map(|(_, entry)| *entry).collect();
            named.sort_unstable_by_key(|(name, _)| *name);
            let (tree, totals) = self.entries(named.iter().copied(), was.unwrap_or_else(empty_tree))?;
            (tree, totals, Below::Entries)
        } else {
            let (tree, totals, branches) = self.parts(at, inside, inner, was)?;
            (tree, totals, Below::Parts(branches))
        };
        Ok(Some(Branch { part: Part { digit, entries, totals, tree }, below }))
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
