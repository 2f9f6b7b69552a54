//! What can be asked of a file or folder besides its content. Times are virtual; identity is a number given when the run first
//! touches a node. Nothing of the machine underneath shows.

use super::resolve::Walk;
use super::{Descriptor, NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::invocation::Access;

const SECOND_NS: u32 = 1_000_000_000;

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
    /// Seconds and nanoseconds since 1970; nanoseconds beyond a second are carried over.
    At(u64, u32),
}

impl World {
    /// Attributes of what a descriptor is open on.
    pub fn stat(&self, descriptor: &Descriptor) -> Stat {
        self.shown(descriptor.node)
    }

    /// Attributes of what is at `path`.
    ///
    /// # Errors
    /// Those of finding it.
    pub fn stat_at(&mut self, base: &Descriptor, path: &str, follow: bool) -> Result<Stat, Failure> {
        let id = self.find(base, path, follow)?;
        Ok(self.shown(id))
    }

    /// As [`stat_at`](World::stat_at), with the identity within the volume.
    ///
    /// # Errors
    /// Those of finding it.
    pub fn stat_and_identity_at(
        &mut self,
        base: &Descriptor,
        path: &str,
        follow: bool,
    ) -> Result<(Stat, u64), Failure> {
        let id = self.find(base, path, follow)?;
        Ok((self.shown(id), self.files.node(id).serial))
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
    /// ReadOnly where changing is not granted; Overflow for what is no time.
    pub fn set_times(&mut self, descriptor: &Descriptor, accessed: NewTime, modified: NewTime) -> Result<(), Failure> {
        let (accessed_ns, modified_ns) = (self.time_ns(accessed)?, self.time_ns(modified)?);
        if self.files.volume_of(descriptor.node).access == Access::ReadOnly {
            return Err(Errno::ReadOnly.into());
        }
        self.set_times_node(descriptor.node, accessed_ns, modified_ns);
        Ok(())
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
        self.files.folder(base.node)?;
        let (accessed_ns, modified_ns) = (self.time_ns(accessed)?, self.time_ns(modified)?);
        self.check_changeable(base)?;
        let id = if follow { self.find(base, path, true)? } else { self.find_last(base, path)? };
        self.set_times_node(id, accessed_ns, modified_ns);
        Ok(())
    }

    fn find(&mut self, base: &Descriptor, path: &str, follow: bool) -> Result<NodeId, Failure> {
        Ok(self.resolve(base.node, path, Walk { follow, create: false })?.existing()?)
    }

    fn find_last(&mut self, base: &Descriptor, path: &str) -> Result<NodeId, Failure> {
        let parent = self.parent(base.node, path)?;
        match parent.last {
            Some(last) => Ok(self.look(parent.folder, last)?.1.ok_or(Errno::NoEntry)?),
            None => Ok(parent.folder),
        }
    }

    /// Attributes, with times that are shown. A volume's top folder has that of the start; all others have the state's, or one that the
    /// wall clock was asked for.
    fn shown(&self, id: NodeId) -> Stat {
        if matches!(&self.files.node(id).what, What::Folder(folder) if folder.parent.is_none()) {
            self.clock.start_ns();
        }
        self.stat_node(id)
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

    /// The nanoseconds since 1970 that a new time means; `None` keeps the old one. After the year 2554 it is the last one there
    /// is, as Linux takes the last one that its file system has.
    fn time_ns(&self, time: NewTime) -> Result<Option<u64>, Errno> {
        Ok(match time {
            NewTime::Keep => None,
            NewTime::Now => Some(self.clock.wall_ns()),
            NewTime::At(seconds, nanoseconds) => {
                let carried = seconds.checked_add(u64::from(nanoseconds / SECOND_NS)).ok_or(Errno::Overflow)?;
                if i64::try_from(carried).is_err() {
                    return Err(Errno::Overflow);
                }
                let rest_ns = u64::from(nanoseconds % SECOND_NS);
                Some(carried.saturating_mul(u64::from(SECOND_NS)).saturating_add(rest_ns))
            }
        })
    }

    fn set_times_node(&mut self, id: NodeId, accessed_ns: Option<u64>, modified_ns: Option<u64>) {
        if accessed_ns.is_none() && modified_ns.is_none() {
            return;
        }
        let now_ns = self.clock.wall_ns();
        let node = self.files.node_mut(id);
        node.accessed_ns = accessed_ns.unwrap_or(node.accessed_ns);
        node.modified_ns = modified_ns.unwrap_or(node.modified_ns);
        node.changed_ns = now_ns;
        self.mark_changed(id);
    }
}
