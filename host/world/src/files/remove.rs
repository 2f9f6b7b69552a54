//! Removing files, links and empty folders.

use super::resolve::without_slashes;
use super::{Descriptor, NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};

impl World {
    /// Removes a file's name, or a link.
    ///
    /// # Errors
    /// IsDirectory for a folder.
    pub fn unlink_file(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        self.check_changeable(base)?;
        let parent = self.parent(base.node, path)?;
        let Some(last) = parent.last else { return Err(Errno::IsDirectory.into()) };
        let (name, found) = self.look(parent.folder, last)?;
        let id = found.ok_or(Errno::NoEntry)?;
        if self.files.is_folder(id) {
            return Err(Errno::IsDirectory.into());
        }
        self.detach(parent.folder, name.as_str())?;
        self.forget_name(id);
        Ok(())
    }

    /// Removes an empty folder. A slash at the end is allowed.
    ///
    /// # Errors
    /// NotDirectory for anything else, NotEmpty if it holds something, Invalid for `.` and `..`.
    pub fn remove_folder(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        self.check_changeable(base)?;
        let parent = self.parent(base.node, without_slashes(path).0)?;
        let Some(last) = parent.last else { return Err(Errno::Invalid.into()) };
        let (name, found) = self.look(parent.folder, last)?;
        let id = found.ok_or(Errno::NoEntry)?;
        if !self.files.is_folder(id) {
            return Err(Errno::NotDirectory.into());
        }
        if !self.is_empty(id)? {
            return Err(Errno::NotEmpty.into());
        }
        self.detach(parent.folder, name.as_str())?;
        self.forget_name(id);
        Ok(())
    }

    /// Takes one name's worth from the quota and from the node.
    pub(super) fn forget_name(&mut self, id: NodeId) {
        let bytes = match &self.files.node(id).what {
            What::File(content) => content.size,
            _ => 0,
        };
        self.return_name(bytes);
        self.drop_name(id);
    }
}
