//! Renaming, over an existing file or empty folder too.

use super::resolve::without_slashes;
use super::{Descriptor, Folder, NodeId, SLOT_BYTES, Slot};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use hutch_model::snapshot::{Node, Totals};

impl World {
    /// Gives what is at `old` the name `new`; what was at `new` is gone.
    ///
    /// # Errors
    /// Those of Linux's `rename`: Busy for `.` and `..`, CrossDevice between volumes, Invalid into itself, NotDirectory,
    /// IsDirectory and NotEmpty where the two don't fit. NameTooLong if a folder would lie too deep, or a path from the top would be too long.
    pub fn rename(&mut self, old: (&Descriptor, &str), new: (&Descriptor, &str)) -> Result<(), Failure> {
        self.check_both_changeable(old.0, new.0)?;
        let ((old_path, old_slash), (new_path, new_slash)) = (without_slashes(old.1), without_slashes(new.1));
        let from = self.parent(old.0.node, old_path)?;
        let to = self.parent(new.0.node, new_path)?;
        if self.files.node(from.folder).volume != self.files.node(to.folder).volume {
            return Err(Errno::CrossDevice.into());
        }
        let (Some(old_last), Some(new_last)) = (from.last, to.last) else { return Err(Errno::Busy.into()) };
        let (old_name, found) = self.look(from.folder, old_last)?;
        let id = found.ok_or(Errno::NoEntry)?;
        let (new_name, replaced) = self.look(to.folder, new_last)?;
        let folder = self.files.is_folder(id);
        if (old_slash || new_slash) && !folder {
            return Err(Errno::NotDirectory.into());
        }
        if folder && self.is_within(to.folder, id)? {
            return Err(Errno::Invalid.into());
        }
        if let Some(replaced) = replaced {
            if replaced == id {
                return Ok(());
            }
            if self.is_within(from.folder, replaced)? {
                return Err(Errno::NotEmpty.into());
            }
            match (folder, self.files.is_folder(replaced)) {
                (true, false) => return Err(Errno::NotDirectory.into()),
                (false, true) => return Err(Errno::IsDirectory.into()),
                (true, true) if !self.is_empty(replaced)? => return Err(Errno::NotEmpty.into()),
                _ => {}
            }
        }
        let (above, name_bytes) = (self.place(to.folder)?, new_name.as_str().len() as u64);
        let below = if folder { self.reach(id)? } else { Extent::default() };
        if folder {
            self.check_depth(above.depth + 1 + below.depth)?;
        }
        self.check_path_bytes(above.path_bytes + name_bytes + below.path_bytes)?;
        self.meter.take_memory_or_errno(SLOT_BYTES + new_name.as_str().len() as u64)?;
        if let Some(replaced) = replaced {
            self.detach(to.folder, new_name.as_str())?;
            self.forget_name(replaced)?;
        }
        self.detach(from.folder, old_name.as_str())?;
        if folder {
            let moved = self.files.folder_mut(id)?;
            (moved.parent, moved.name_bytes) = (Some(to.folder), name_bytes);
        }
        let now_ns = self.clock.wall_ns();
        self.files.node_mut(id).changed_ns = now_ns;
        self.attach(to.folder, new_name, id)
    }

    /// Whether `inner` is `outer` or lies in it.
    fn is_within(&mut self, inner: NodeId, outer: NodeId) -> Result<bool, Failure> {
        let mut at = Some(inner);
        while let Some(id) = at {
            self.meter.spend(price::STEP)?;
            if id == outer {
                return Ok(true);
            }
            at = self.files.folder(id)?.parent;
        }
        Ok(false)
    }

    /// How far a folder is from its volume's top; its path ends in a slash, for what comes after it.
    pub(super) fn place(&mut self, id: NodeId) -> Result<Extent, Failure> {
        let (mut at, mut extent) = (id, Extent::default());
        while let Folder { parent: Some(parent), name_bytes, .. } = self.files.folder(at)? {
            extent = Extent { depth: extent.depth + 1, path_bytes: extent.path_bytes + name_bytes + 1 };
            at = *parent;
            self.meter.spend(price::STEP)?;
        }
        Ok(extent)
    }

    /// How far what is in a folder reaches below it; paths begin with a slash. Nothing if it holds nothing.
    fn reach(&mut self, top: NodeId) -> Result<Extent, Failure> {
        let (mut pending, mut reach) = (alloc::vec![(top, Extent::default())], Extent::default());
        while let Some((id, above)) = pending.pop() {
            let folder = self.files.folder(id)?;
            let Some(entries) = &folder.entries else {
                reach = reach.or(above.plus(Extent::below(&folder.totals)));
                continue;
            };
            self.meter.spend(price::STEP + price::PASSED_ENTRY * entries.passed())?;
            // What was not read is as its part says.
            entries.each_unread(&mut |part| reach = reach.or(above.plus(Extent::below(&part.totals))));
            for (name, slot) in &entries.known {
                let here = above.plus(Extent { depth: 0, path_bytes: 1 + name.as_str().len() as u64 });
                let folder = Extent { depth: here.depth + 1, ..here };
                match slot {
                    Slot::Live(id) if self.files.is_folder(*id) => {
                        reach = reach.or(folder);
                        pending.push((*id, folder));
                    }
                    Slot::Cold { node: Node::Folder { totals, .. }, .. } => {
                        reach = reach.or(folder).or(folder.plus(Extent::below(totals)));
                    }
                    Slot::Live(_) | Slot::Cold { .. } => reach = reach.or(here),
                }
            }
        }
        Ok(reach)
    }
}

/// How far one place is below another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Extent {
    /// Folders within folders.
    pub(super) depth: u64,
    /// Bytes of the path between them.
    pub(super) path_bytes: u64,
}

impl Extent {
    /// That of what such a folder holds.
    fn below(totals: &Totals) -> Extent {
        let path_bytes = u64::from(totals.path_bytes);
        Extent { depth: u64::from(totals.depth), path_bytes: path_bytes + u64::from(path_bytes > 0) }
    }

    const fn plus(self, further: Extent) -> Extent {
        Extent { depth: self.depth + further.depth, path_bytes: self.path_bytes + further.path_bytes }
    }

    /// The larger of each.
    fn or(self, other: Extent) -> Extent {
        Extent { depth: self.depth.max(other.depth), path_bytes: self.path_bytes.max(other.path_bytes) }
    }
}
