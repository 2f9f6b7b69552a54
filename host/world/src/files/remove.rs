//! Removing files, links and empty folders.

use super::Descriptor;
use super::resolve::without_slashes;
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
        self.forget_name(id)
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
        self.forget_name(id)
    }
}
