//! What can be asked of a file or folder besides its content. Times are virtual; identity is a number given when the run first
//! touches a node. Nothing of the machine underneath shows.

use super::resolve::Follow;
use super::{Descriptor, NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::invocation::Access;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
}

/// Attributes of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// What it is.
    pub kind: Type,
    /// Names of a file or link; 1 for a folder.
    pub links: u64,
    /// Bytes of a file, or of a link's target; 0 for a folder.
    pub size: u64,
    /// Last set or written, in nanoseconds since 1970; reading does not change it.
    pub accessed_ns: u64,
    /// Last change of content.
    pub modified_ns: u64,
    /// Last change of content, names or attributes.
    pub changed_ns: u64,
}

/// A new value for a time stamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewTime {
    /// Leave it.
    Keep,
    /// The virtual now.
    Now,
    /// Seconds and nanoseconds since 1970.
    At(u64, u32),
}

impl World {
    /// Attributes of what a descriptor is open on.
    pub fn stat(&self, descriptor: &Descriptor) -> Stat {
        self.stat_node(descriptor.node)
    }

    /// Attributes of what is at `path`.
    ///
    /// # Errors
    /// Those of finding it.
    pub fn stat_at(&mut self, base: &Descriptor, path: &str, follow: bool) -> Result<Stat, Failure> {
        let id = self.find(base, path, follow)?;
        Ok(self.stat_node(id))
    }

    /// The kind of what a descriptor is open on.
    pub fn kind(&self, descriptor: &Descriptor) -> Type {
        self.stat_node(descriptor.node).kind
    }

    /// Two numbers that are equal for two descriptors of one node only.
    pub fn identity(&self, descriptor: &Descriptor) -> (u64, u64) {
        self.identity_node(descriptor.node)
    }

    /// As [`identity`](World::identity), for what is at `path`.
    ///
    /// # Errors
    /// Those of finding it.
    pub fn identity_at(&mut self, base: &Descriptor, path: &str, follow: bool) -> Result<(u64, u64), Failure> {
        let id = self.find(base, path, follow)?;
        Ok(self.identity_node(id))
    }

    /// Sets times of what a descriptor is open on.
    ///
    /// # Errors
    /// ReadOnly where changing is not granted; Invalid or Overflow for what is no time.
    pub fn set_times(&mut self, descriptor: &Descriptor, accessed: NewTime, modified: NewTime) -> Result<(), Failure> {
        self.set_times_node(descriptor.node, accessed, modified)
    }

    /// Sets times of what is at `path`.
    ///
    /// # Errors
    /// As [`set_times`](World::set_times), and those of finding it.
    pub fn set_times_at(
        &mut self,
        base: &Descriptor,
        path: &str,
        follow: bool,
        accessed: NewTime,
        modified: NewTime,
    ) -> Result<(), Failure> {
        let id = self.find(base, path, follow)?;
        self.set_times_node(id, accessed, modified)
    }

    fn find(&mut self, base: &Descriptor, path: &str, follow: bool) -> Result<NodeId, Failure> {
        let follow = if follow { Follow::Yes } else { Follow::No };
        Ok(self.resolve(base.node, path, follow)?.existing()?)
    }

    fn stat_node(&self, id: NodeId) -> Stat {
        let node = self.files.node(id);
        let (kind, size) = match &node.what {
            What::File(content) => (Type::File, content.size),
            What::Folder(_) => (Type::Folder, 0),
            What::Link(target) => (Type::Link, target.len() as u64),
        };
        let (accessed_ns, modified_ns, changed_ns) = (node.accessed_ns, node.modified_ns, node.changed_ns);
        Stat { kind, links: u64::from(node.names), size, accessed_ns, modified_ns, changed_ns }
    }

    fn identity_node(&self, id: NodeId) -> (u64, u64) {
        let node = self.files.node(id);
        (node.serial, node.volume as u64)
    }

    fn set_times_node(&mut self, id: NodeId, accessed: NewTime, modified: NewTime) -> Result<(), Failure> {
        if self.files.volume_of(id).access == Access::ReadOnly {
            return Err(Errno::ReadOnly.into());
        }
        let now_ns = self.clock.wall_ns();
        let value = |time, kept| match time {
            NewTime::Keep => Ok(kept),
            NewTime::Now => Ok(now_ns),
            NewTime::At(_, nanoseconds) if nanoseconds >= 1_000_000_000 => Err(Errno::Invalid),
            NewTime::At(seconds, nanoseconds) => {
                let sum = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(u64::from(nanoseconds)));
                sum.ok_or(Errno::Overflow)
            }
        };
        let node = self.files.node(id);
        let times = (value(accessed, node.accessed_ns)?, value(modified, node.modified_ns)?);
        let node = self.files.node_mut(id);
        (node.accessed_ns, node.modified_ns) = times;
        node.changed_ns = now_ns;
        self.mark_changed(id);
        Ok(())
    }
}
