//! Symbolic links: made with any relative target, followed only inside the volume.

use super::resolve::PATH_BYTES_MAX;
use super::{Descriptor, What};
use crate::World;
use crate::failure::{Errno, Failure};
use alloc::string::String;

impl World {
    /// Makes a link at `path` that points to `target`.
    ///
    /// # Errors
    /// NotPermitted for an absolute target, NoEntry for an empty one, Exist if the name is taken.
    pub fn symlink(&mut self, base: &Descriptor, target: &str, path: &str) -> Result<(), Failure> {
        self.check_changeable(base)?;
        if target.starts_with('/') {
            return Err(Errno::NotPermitted.into());
        }
        let parent = self.parent(base.node, path)?;
        if target.is_empty() {
            return Err(Errno::NoEntry.into());
        }
        if target.contains('\0') {
            return Err(Errno::Invalid.into());
        }
        if target.len() >= PATH_BYTES_MAX {
            return Err(Errno::NameTooLong.into());
        }
        let last = parent.last.ok_or(Errno::Exist)?;
        let (name, None) = self.look(parent.folder, last)? else { return Err(Errno::Exist.into()) };
        let above = self.place(parent.folder)?;
        self.check_path_bytes(above.path_bytes + name.as_str().len() as u64)?;
        let volume = self.files.node(parent.folder).volume;
        self.take_node(volume, &name, target.len() as u64)?;
        let id = self.files.insert(volume, self.clock.wall_ns(), What::Link(target.into()));
        self.attach(parent.folder, name, id)
    }

    /// Where the link at `path` points.
    ///
    /// # Errors
    /// Invalid if it is no link.
    pub fn read_link(&mut self, base: &Descriptor, path: &str) -> Result<String, Failure> {
        let parent = self.parent(base.node, path)?;
        let last = parent.last.ok_or(Errno::Invalid)?;
        let (_, found) = self.look(parent.folder, last)?;
        match &self.files.node(found.ok_or(Errno::NoEntry)?).what {
            What::Link(target) => Ok(String::from(&**target)),
            _ => Err(Errno::Invalid.into()),
        }
    }
}
