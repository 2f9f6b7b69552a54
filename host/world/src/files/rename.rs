//! Renaming, over an existing file or empty folder too.

use super::resolve::without_slashes;
use super::{Descriptor, NodeId, SLOT_BYTES, Slot};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use hutch_model::snapshot::Node;

impl World {
    /// Gives what is at `old` the name `new`; what was at `new` is gone.
    ///
    /// # Errors
    /// Those of Linux's `rename`: Busy for `.` and `..`, CrossDevice between volumes, Invalid into itself, NotDirectory,
    /// IsDirectory and NotEmpty where the two don't fit. NameTooLong if a folder would lie too deep.
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
        if folder {
            let deepest = self.depth(to.folder)? + 1 + self.height(id)?;
            self.check_depth(deepest)?;
        }
        self.meter.take_memory_or_errno(SLOT_BYTES + new_name.as_str().len() as u64)?;
        if let Some(replaced) = replaced {
            self.detach(to.folder, new_name.as_str())?;
            self.forget_name(replaced);
        }
        self.detach(from.folder, old_name.as_str())?;
        if folder {
            self.files.folder_mut(id)?.parent = Some(to.folder);
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

    /// Folders above one, up to the volume's top.
    pub(super) fn depth(&mut self, id: NodeId) -> Result<u64, Failure> {
        let (mut at, mut depth) = (id, 0);
        while let Some(parent) = self.files.folder(at)?.parent {
            self.meter.spend(price::STEP)?;
            (at, depth) = (parent, depth + 1);
        }
        Ok(depth)
    }

    /// Folders within folders below one; 0 if it holds none.
    fn height(&mut self, top: NodeId) -> Result<u64, Failure> {
        let (mut pending, mut height) = (alloc::vec![(top, 0)], 0);
        while let Some((id, above)) = pending.pop() {
            let folder = self.files.folder(id)?;
            let Some(entries) = &folder.entries else {
                height = height.max(above + u64::from(folder.totals.depth));
                continue;
            };
            self.meter.spend(price::STEP + price::PASSED_ENTRY * entries.len() as u64)?;
            height = height.max(above);
            for slot in entries.values() {
                match slot {
                    Slot::Live(id) if self.files.is_folder(*id) => pending.push((*id, above + 1)),
                    Slot::Cold { node: Node::Folder { totals, .. }, .. } => {
                        height = height.max(above + 1 + u64::from(totals.depth));
                    }
                    Slot::Live(_) | Slot::Cold { .. } => {}
                }
            }
        }
        Ok(height)
    }
}
