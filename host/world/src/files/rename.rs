//! Renaming, over an existing file or empty folder too.

use super::resolve::Follow;
use super::{Descriptor, NodeId, SLOT_BYTES};
use crate::World;
use crate::failure::{Errno, Failure};

impl World {
    /// Gives what is at `old` the name `new`; what was at `new` is gone.
    ///
    /// # Errors
    /// Those of Linux's `rename`: Busy for `.` and `..`, CrossDevice between volumes, Invalid into itself, NotDirectory,
    /// IsDirectory and NotEmpty where the two don't fit.
    pub fn rename(&mut self, old: (&Descriptor, &str), new: (&Descriptor, &str)) -> Result<(), Failure> {
        let from = self.resolve(old.0.node, old.1, Follow::Never)?;
        let to = self.resolve(new.0.node, new.1, Follow::Never)?;
        if self.files.node(from.folder).volume != self.files.node(to.folder).volume {
            return Err(Errno::CrossDevice.into());
        }
        let (Some(old_name), Some(new_name)) = (&from.name, &to.name) else { return Err(Errno::Busy.into()) };
        let id = from.existing()?;
        let folder = self.files.is_folder(id);
        if (from.slash || to.slash) && !folder {
            return Err(Errno::NotDirectory.into());
        }
        if folder && self.is_within(to.folder, id) {
            return Err(Errno::Invalid.into());
        }
        self.check_changeable(from.folder)?;
        self.check_changeable(to.folder)?;
        if let Some(replaced) = to.node {
            if replaced == id {
                return Ok(());
            }
            match (folder, self.files.is_folder(replaced)) {
                (true, false) => return Err(Errno::NotDirectory.into()),
                (false, true) => return Err(Errno::IsDirectory.into()),
                (true, true) if !self.entries(replaced)?.is_empty() => return Err(Errno::NotEmpty.into()),
                _ => {}
            }
        }
        let depth = self.files.folder(to.folder)?.depth + 1;
        if folder {
            self.check_depth(depth)?;
        }
        self.meter.take_memory_or_errno(SLOT_BYTES + new_name.as_str().len() as u64)?;
        if let Some(replaced) = to.node {
            self.detach(to.folder, new_name.as_str())?;
            self.forget_name(replaced);
        }
        self.detach(from.folder, old_name.as_str())?;
        if folder {
            self.files.folder_mut(id)?.parent = Some(to.folder);
            self.move_depth(id, depth)?;
        }
        let now_ns = self.clock.wall_ns();
        self.files.node_mut(id).changed_ns = now_ns;
        self.attach(to.folder, new_name.clone(), id)
    }

    /// Whether `inner` is `outer` or lies in it.
    fn is_within(&self, inner: NodeId, outer: NodeId) -> bool {
        let mut at = Some(inner);
        while let Some(id) = at {
            if id == outer {
                return true;
            }
            at = self.files.folder(id).ok().and_then(|folder| folder.parent);
        }
        false
    }

    /// Sets the depth of a moved folder and of the folders in it that were touched.
    fn move_depth(&mut self, top: NodeId, depth: u64) -> Result<(), Failure> {
        let mut pending = alloc::vec![(top, depth)];
        while let Some((id, depth)) = pending.pop() {
            self.meter.spend(crate::meter::price::ENTRY)?;
            let folder = self.files.folder_mut(id)?;
            folder.depth = depth;
            let inside = folder.entries.iter().flat_map(|entries| entries.values());
            let live = inside.filter_map(|slot| match slot {
                super::Slot::Live(id) => Some(*id),
                super::Slot::Cold { .. } => None,
            });
            let live: alloc::vec::Vec<_> = live.collect();
            pending.extend(live.into_iter().filter(|id| self.files.is_folder(*id)).map(|id| (id, depth + 1)));
        }
        Ok(())
    }
}
