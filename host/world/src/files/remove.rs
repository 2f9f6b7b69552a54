//! Removing files, links and empty folders.

use super::resolve::Follow;
use super::{Descriptor, NodeId, What};
use crate::World;
use crate::failure::{Errno, Failure};

impl World {
    /// Removes a file's name, or a link.
    ///
    /// # Errors
    /// IsDirectory for a folder.
    pub fn unlink_file(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        let place = self.resolve(base.node, path, Follow::Never)?;
        let id = place.existing()?;
        let Some(name) = &place.name else { return Err(Errno::IsDirectory.into()) };
        if self.files.is_folder(id) {
            return Err(Errno::IsDirectory.into());
        }
        if place.slash {
            return Err(Errno::NotDirectory.into());
        }
        self.check_changeable(place.folder)?;
        self.detach(place.folder, name.as_str())?;
        self.forget_name(id);
        Ok(())
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    /// NotDirectory for anything else, NotEmpty if it holds something, Invalid for `.`, Busy for the volume's top.
    pub fn remove_folder(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        let place = self.resolve(base.node, path, Follow::Never)?;
        let id = place.existing()?;
        let Some(name) = &place.name else { return Err(Errno::Invalid.into()) };
        if !self.files.is_folder(id) {
            return Err(Errno::NotDirectory.into());
        }
        self.check_changeable(place.folder)?;
        if !self.entries(id)?.is_empty() {
            return Err(Errno::NotEmpty.into());
        }
        self.detach(place.folder, name.as_str())?;
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
