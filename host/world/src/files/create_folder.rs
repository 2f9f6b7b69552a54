//! Making a folder.

use super::parts::Entries;
use super::resolve::without_slashes;
use super::{Descriptor, Folder, What};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::snapshot::{Totals, empty_tree};

impl World {
    /// Makes a folder at `path`; a slash at the end is allowed.
    ///
    /// # Errors
    /// Exist if anything is there, a link included; NameTooLong if it would lie too deep, or its path from the top would be too long.
    pub fn create_folder(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        self.check_changeable(base)?;
        let parent = self.parent(base.node, without_slashes(path).0)?;
        let last = parent.last.ok_or(Errno::Exist)?;
        let (name, None) = self.look(parent.folder, last)? else { return Err(Errno::Exist.into()) };
        let above = self.place(parent.folder)?;
        self.check_depth(above.depth + 1)?;
        self.check_path_bytes(above.path_bytes + name.as_str().len() as u64)?;
        let volume = self.files.node(parent.folder).volume;
        self.take_node(volume, &name, 0)?;
        let above = Some((parent.folder, name.as_str()));
        let folder =
            Folder { entries: Some(Entries::default()), ..Folder::stored(above, empty_tree(), Totals::default()) };
        let id = self.files.insert(volume, self.clock.wall_ns(), What::Folder(folder));
        self.attach(parent.folder, name, id)
    }
}
