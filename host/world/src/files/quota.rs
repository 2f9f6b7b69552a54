//! Space in volumes: bytes by the sizes of files, once for each name; files, folders and links by their names.

use super::{NODE_BYTES, NodeId, SLOT_BYTES};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::limits::Limit;
use hutch_model::snapshot::Name;

impl World {
    /// Counts a change of a file's size, for each of its names.
    ///
    /// # Errors
    /// FileTooLarge or InsufficientSpace, and nothing is counted.
    pub(super) fn resize_quota(&mut self, id: NodeId, from: u64, to: u64) -> Result<(), Failure> {
        if to > from && to > self.meter.limit(Limit::FileBytes) {
            self.meter.refuse(Limit::FileBytes);
            return Err(Errno::FileTooLarge.into());
        }
        let names = u64::from(self.files.node(id).names);
        self.files.usage.bytes = self.files.usage.bytes.saturating_sub(from.saturating_mul(names));
        let after = self.files.usage.bytes.saturating_add(to.saturating_mul(names));
        if to > from && names > 0 && after > self.meter.limit(Limit::StateBytes) {
            self.files.usage.bytes = self.files.usage.bytes.saturating_add(from.saturating_mul(names));
            self.meter.refuse(Limit::StateBytes);
            return Err(Errno::InsufficientSpace.into());
        }
        self.files.usage.bytes = after;
        Ok(())
    }

    /// Counts one more name for `bytes` bytes, and its memory.
    ///
    /// # Errors
    /// InsufficientSpace or InsufficientMemory, and nothing is counted.
    pub(super) fn take_name(&mut self, name: &Name, bytes: u64) -> Result<(), Failure> {
        let files = self.files.usage.files.saturating_add(1);
        if files > self.meter.limit(Limit::StateFiles) {
            self.meter.refuse(Limit::StateFiles);
            return Err(Errno::InsufficientSpace.into());
        }
        let sum = self.files.usage.bytes.saturating_add(bytes);
        if bytes > 0 && sum > self.meter.limit(Limit::StateBytes) {
            self.meter.refuse(Limit::StateBytes);
            return Err(Errno::InsufficientSpace.into());
        }
        self.meter.take_memory_or_errno(SLOT_BYTES + name.as_str().len() as u64)?;
        self.files.usage.files = files;
        self.files.usage.bytes = sum;
        Ok(())
    }

    /// Counts one more name for a node that is new, and the node's memory with `held` bytes of its own.
    pub(super) fn take_node(&mut self, name: &Name, held: u64) -> Result<(), Failure> {
        self.take_name(name, 0)?;
        if let Err(failure) = self.meter.take_memory_or_errno(NODE_BYTES + held) {
            self.return_name(0);
            self.meter.return_memory(SLOT_BYTES + name.as_str().len() as u64);
            return Err(failure);
        }
        Ok(())
    }

    /// Counts one name less. Its memory is given back where its slot goes.
    pub(super) fn return_name(&mut self, bytes: u64) {
        self.files.usage.files = self.files.usage.files.saturating_sub(1);
        self.files.usage.bytes = self.files.usage.bytes.saturating_sub(bytes);
    }

    /// Refuses a folder that would lie too deep.
    pub(super) fn check_depth(&mut self, depth: u64) -> Result<(), Failure> {
        if depth > self.meter.limit(Limit::FolderDepth) {
            self.meter.refuse(Limit::FolderDepth);
            return Err(Errno::NameTooLong.into());
        }
        Ok(())
    }
}
