//! A folder's entries as far as they were read. A small folder is read at once. One in parts is read by part, as its names are looked
//! up, and all of it when it is listed; what was not read costs nothing and is named as it was.

use super::{FileSystem, Folder, NodeId, SLOT_BYTES, Slot, target_bytes};
use crate::World;
use crate::failure::{Errno, Failure, Stop};
use crate::meter::price;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{
    Entry, Name, ObjectError, Part, Parts, Prefix, Route, Totals, Tree, TreeObject, empty_tree,
};

/// Counted for each line of a folder in parts that was read.
pub(crate) const PART_BYTES: u64 = 128;

/// The entries of a folder that a path has gone through.
#[derive(Debug, Default)]
pub(super) struct Entries {
    /// Those that were read or made. All that a part held which was read.
    pub(super) known: BTreeMap<Name, Slot>,
    /// The parts that the folder is in at rest; none if it is one object.
    pub(super) parts: Vec<Branch>,
    /// How many entries are in parts that were not read.
    pub(super) unread: u64,
}

/// A part of a folder at rest.
#[derive(Debug)]
pub(super) struct Branch {
    pub(super) part: Part,
    pub(super) below: Below,
}

/// What was read of a part.
#[derive(Debug)]
pub(super) enum Below {
    /// Nothing.
    Unread,
    /// Its entries.
    Entries,
    /// Which parts it is in.
    Parts(Vec<Branch>),
}

/// The branch with a digit, if there is one.
pub(super) fn branch(branches: &[Branch], digit: u8) -> Option<&Branch> {
    branches.binary_search_by_key(&digit, |branch| branch.part.digit).ok().and_then(|at| branches.get(at))
}

/// Calls `each` with all parts that were not read.
pub(super) fn each_unread(branches: &[Branch], at: Prefix, each: &mut dyn FnMut(Prefix, &Part)) {
    for Branch { part, below } in branches {
        let at = at.below(part.digit);
        match below {
            Below::Unread => each(at, part),
            Below::Entries => {}
            Below::Parts(branches) => each_unread(branches, at, each),
        }
    }
}

fn unread_parts(parts: Parts) -> Vec<Branch> {
    parts.parts().iter().map(|part| Branch { part: *part, below: Below::Unread }).collect()
}

/// How many lines of parts there are.
pub(super) fn lines(branches: &[Branch]) -> u64 {
    let below = |branch: &Branch| if let Below::Parts(branches) = &branch.below { lines(branches) } else { 0 };
    branches.iter().map(|branch| 1 + below(branch)).sum()
}

impl Entries {
    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.known.is_empty() && self.unread == 0
    }

    /// What it counts for in memory beside its slots.
    pub(super) fn memory_bytes(&self) -> u64 {
        lines(&self.parts) * PART_BYTES
    }

    /// How many entries and lines are gone past by who looks at all that was read.
    pub(super) fn passed(&self) -> u64 {
        self.known.len() as u64 + lines(&self.parts)
    }

    /// Calls `each` with the parts that were not read.
    pub(super) fn each_unread(&self, each: &mut dyn FnMut(&Part)) {
        each_unread(&self.parts, Prefix::WHOLE, &mut |_, part| each(part));
    }

    /// The part that has a name, if there is one that was not read.
    fn unread_toward(&self, name: &str) -> Option<(Prefix, Part)> {
        if self.unread == 0 {
            return None;
        }
        let (route, mut at, mut branches) = (Route::of(name), Prefix::WHOLE, &self.parts);
        loop {
            let Branch { part, below } = branch(branches, route.digit(at.levels()))?;
            at = at.below(part.digit);
            match below {
                Below::Unread => return Some((at, *part)),
                Below::Entries => return None,
                Below::Parts(inner) => branches = inner,
            }
        }
    }

    /// Takes in what was read of a part.
    fn fill(&mut self, at: Prefix, object: TreeObject) {
        let mut branches = &mut self.parts;
        for level in 0..at.levels() {
            let digit = at.digit(level);
            let found = branches.binary_search_by_key(&digit, |branch| branch.part.digit);
            let Some(branch) = found.ok().and_then(|found| branches.get_mut(found)) else { return };
            match &mut branch.below {
                Below::Parts(inner) => branches = inner,
                below => {
                    match object {
                        TreeObject::Entries(tree) => {
                            *below = Below::Entries;
                            self.unread = self.unread.saturating_sub(branch.part.entries);
                            self.known.extend(slots(tree));
                        }
                        TreeObject::Parts(parts) => *below = Below::Parts(unread_parts(parts)),
                    }
                    return;
                }
            }
        }
    }
}

fn slots(tree: Tree) -> impl Iterator<Item = (Name, Slot)> {
    let slot = |entry: Entry| (entry.name, Slot::Cold { modified_ns: entry.modified_ns, node: entry.node });
    tree.into_entries().into_iter().map(slot)
}

impl FileSystem {
    /// The entries of a folder that was opened.
    fn opened(&mut self, id: NodeId) -> Result<&mut Entries, Failure> {
        self.folder_mut(id)?.entries.as_mut().ok_or(Failure::Errno(Errno::NotDirectory))
    }
}

impl World {
    /// The entries of a folder; reads the first of its objects the first time, which is all of a small one.
    pub(super) fn open_folder(&mut self, id: NodeId) -> Result<&mut Entries, Failure> {
        let Folder { base, totals, entries, parent, .. } = self.files.folder(id)?;
        if entries.is_none() {
            // What a volume amounts to is not said anywhere else; what a real folder does, nobody says.
            let real = self.files.volume_of(id).real;
            let said = parent.and(Some(*totals)).filter(|_| !real);
            let base = *base;
            let entries =
                if base == empty_tree() { Entries::default() } else { self.read_folder_object(&base, said, real)? };
            self.files.folder_mut(id)?.entries = Some(entries);
        }
        self.files.opened(id)
    }

    /// The entries of a folder, with all that it has under `name` and beside it in the same part.
    pub(super) fn entries_toward(&mut self, id: NodeId, name: &str) -> Result<&mut Entries, Failure> {
        while let Some((at, part)) = self.open_folder(id)?.unread_toward(name) {
            self.read_part(id, at, &part)?;
        }
        self.files.opened(id)
    }

    /// All entries of a folder.
    pub(super) fn all_entries(&mut self, id: NodeId) -> Result<&mut BTreeMap<Name, Slot>, Failure> {
        while self.open_folder(id)?.unread > 0 {
            let mut unread = Vec::new();
            each_unread(&self.files.opened(id)?.parts, Prefix::WHOLE, &mut |at, part| unread.push((at, *part)));
            for (at, part) in unread {
                self.read_part(id, at, &part)?;
            }
        }
        Ok(&mut self.files.opened(id)?.known)
    }

    /// Whether a folder holds nothing.
    pub(super) fn is_empty(&mut self, id: NodeId) -> Result<bool, Failure> {
        if self.files.volume_of(id).real {
            return Ok(self.open_folder(id)?.is_empty());
        }
        let folder = self.files.folder(id)?;
        Ok(folder.entries.as_ref().map_or(folder.base == empty_tree(), Entries::is_empty))
    }

    /// Reads a folder that holds something, and amounts to what the folder above it says; a real one may hold nothing.
    fn read_folder_object(&mut self, tree: &Digest, said: Option<Totals>, real: bool) -> Result<Entries, Stop> {
        let object = self.tree_object(tree)?;
        let holds = (object.entries() > 0 || real) && object.is_folder();
        if !holds || said.is_some_and(|said| said != object.totals()) {
            return Err(ObjectError::damaged(Kind::Tree, *tree, "does not hold what it should").into());
        }
        self.count_object(&object)?;
        Ok(match object {
            TreeObject::Entries(tree) => Entries { known: slots(tree).collect(), ..Entries::default() },
            TreeObject::Parts(parts) => {
                let unread = parts.parts().iter().map(|part| part.entries).sum();
                Entries { known: BTreeMap::new(), parts: unread_parts(parts), unread }
            }
        })
    }

    /// Reads a part of a folder that was not read.
    pub(super) fn read_part(&mut self, id: NodeId, at: Prefix, part: &Part) -> Result<(), Failure> {
        let object = self.tree_object(&part.tree)?;
        if !object.is_part(part, at) {
            let reason = "is not the part that its folder says";
            return Err(Stop::from(ObjectError::damaged(Kind::Tree, part.tree, reason)).into());
        }
        self.count_object(&object)?;
        self.files.opened(id)?.fill(at, object);
        Ok(())
    }

    fn tree_object(&mut self, tree: &Digest) -> Result<TreeObject, Stop> {
        let bytes = self.fetch(Kind::Tree, tree)?;
        TreeObject::decode(&bytes).map_err(|error| ObjectError::damaged(Kind::Tree, *tree, format!("{error}")).into())
    }

    /// Counts what an object takes to read and to keep.
    fn count_object(&mut self, object: &TreeObject) -> Result<(), Stop> {
        let held = |entry: &Entry| SLOT_BYTES + (entry.name.as_str().len() + target_bytes(&entry.node)) as u64;
        let (lines, bytes) = match object {
            TreeObject::Entries(tree) => (tree.entries().len() as u64, tree.entries().iter().map(held).sum()),
            TreeObject::Parts(parts) => {
                let lines = parts.parts().len() as u64;
                (lines, lines * PART_BYTES)
            }
        };
        self.meter.spend(lines * price::ENTRY)?;
        self.meter.take_memory_or_stop(bytes)
    }
}
