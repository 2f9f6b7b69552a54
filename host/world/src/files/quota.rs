//! Space in volumes: bytes by the sizes of files, once for each name; files, folders and links by their names. Each volume is
//! counted by itself, and all together are held to the limits. What a real folder held before is nobody's to count: of what is in
//! it, only what the run adds does, so taking something away there makes no room elsewhere.

use super::{NODE_BYTES, Node, NodeId, PATH_BYTES_MAX, SLOT_BYTES, What};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::limits::Limit;
use hutch_model::snapshot::Name;

/// What counts of a volume, or of a node in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Usage {
    pub(super) bytes: u64,
    pub(super) files: u64,
}

impl Usage {
    pub(super) const fn plus(self, other: Usage) -> Usage {
        Usage { bytes: self.bytes.saturating_add(other.bytes), files: self.files.saturating_add(other.files) }
    }

    const fn minus(self, other: Usage) -> Usage {
        Usage { bytes: self.bytes.saturating_sub(other.bytes), files: self.files.saturating_sub(other.files) }
    }
}

impl Node {
    /// What it counts for.
    pub(super) fn usage(&self) -> Usage {
        let size = if let What::File(content) = &self.what { content.size } else { 0 };
        self.usage_with(self.names, size)
    }

    /// What it would count for with so many names and bytes.
    pub(super) fn usage_with(&self, names: u32, size: u64) -> Usage {
        let all = Usage { bytes: u64::from(names).saturating_mul(size), files: u64::from(names) };
        match self.held_before {
            Some(bytes) => all.minus(Usage { bytes, files: 1 }),
            None => all,
        }
    }
}

/// A new name's node before it has one.
pub(super) const NONE: Usage = Usage { bytes: 0, files: 0 };

/// A new file, folder or link.
pub(super) const ONE: Usage = Usage { bytes: 0, files: 1 };

impl World {
    /// What all volumes count for.
    pub(super) fn usage(&self) -> Usage {
        self.files.volumes.iter().fold(NONE, |sum, volume| sum.plus(volume.usage))
    }

    /// Counts a change of something in a volume.
    ///
    /// # Errors
    /// InsufficientSpace if it is more than there may be, and nothing is counted.
    fn count(&mut self, volume: usize, from: Usage, to: Usage) -> Result<(), Failure> {
        let sum = self.usage().minus(from).plus(to);
        for (grows, sum, limit) in [
            (to.files > from.files, sum.files, Limit::StateFiles),
            (to.bytes > from.bytes, sum.bytes, Limit::StateBytes),
        ] {
            if grows && sum > self.meter.limit(limit) {
                self.meter.refuse(limit);
                return Err(Errno::InsufficientSpace.into());
            }
        }
        let usage = &mut self.files.volumes[volume].usage;
        *usage = usage.minus(from).plus(to);
        Ok(())
    }

    /// Counts a change of a file's size, for each of its names.
    ///
    /// # Errors
    /// FileTooLarge or InsufficientSpace, and nothing is counted.
    pub(super) fn resize_quota(&mut self, id: NodeId, from: u64, to: u64) -> Result<(), Failure> {
        if to > from && to > self.meter.limit(Limit::FileBytes) {
            self.meter.refuse(Limit::FileBytes);
            return Err(Errno::FileTooLarge.into());
        }
        let node = self.files.node(id);
        let (from, to) = (node.usage_with(node.names, from), node.usage_with(node.names, to));
        self.count(node.volume, from, to)
    }

    /// Counts one more name in a volume, of what counts `from` now and `to` then, and the name's memory.
    ///
    /// # Errors
    /// InsufficientSpace or InsufficientMemory, and nothing is counted.
    pub(super) fn take_name(&mut self, volume: usize, name: &Name, from: Usage, to: Usage) -> Result<(), Failure> {
        self.count(volume, from, to)?;
        let taken = self.meter.take_memory_or_errno(SLOT_BYTES + name.as_str().len() as u64);
        if taken.is_err() {
            self.count(volume, to, from)?;
        }
        taken
    }

    /// Counts a name for a node that is new, and the node's memory with `held` bytes of its own.
    pub(super) fn take_node(&mut self, volume: usize, name: &Name, held: u64) -> Result<(), Failure> {
        self.take_name(volume, name, NONE, ONE)?;
        let taken = self.meter.take_memory_or_errno(NODE_BYTES + held);
        if taken.is_err() {
            self.count(volume, ONE, NONE)?;
            self.meter.return_memory(SLOT_BYTES + name.as_str().len() as u64);
        }
        taken
    }

    /// Takes one name from a node and from the quota. The name's memory is given back where its slot goes.
    pub(super) fn forget_name(&mut self, id: NodeId) -> Result<(), Failure> {
        let node = self.files.node(id);
        let size = if let What::File(content) = &node.what { content.size } else { 0 };
        let (from, to) = (node.usage(), node.usage_with(node.names.saturating_sub(1), size));
        self.count(node.volume, from, to)?;
        self.drop_name(id);
        Ok(())
    }

    /// Refuses a folder that would lie too deep.
    pub(super) fn check_depth(&mut self, depth: u64) -> Result<(), Failure> {
        if depth > self.meter.limit(Limit::FolderDepth) {
            self.meter.refuse(Limit::FolderDepth);
            return Err(Errno::NameTooLong.into());
        }
        Ok(())
    }

    /// Refuses a name whose path from the volume's top would be longer than a path that can be walked: whatever there is can be
    /// said.
    pub(super) fn check_path_bytes(&self, bytes: u64) -> Result<(), Errno> {
        if bytes < PATH_BYTES_MAX as u64 { Ok(()) } else { Err(Errno::NameTooLong) }
    }
}
