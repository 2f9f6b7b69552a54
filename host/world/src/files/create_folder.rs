//! Making a folder.

use super::resolve::Follow;
use super::{BTreeMap, Descriptor, Folder, What};
use crate::World;
use crate::failure::{Errno, Failure};
use hutch_model::snapshot::{Totals, empty_tree};

impl World {
    /// Makes a folder at `path`; a slash at the end is allowed.
    ///
    /// # Errors
    /// Exist if anything is there, a link included; NameTooLong if it would lie too deep.
    pub fn create_folder(&mut self, base: &Descriptor, path: &str) -> Result<(), Failure> {
        let place = self.resolve(base.node, path, Follow::Never)?;
        let (None, Some(name)) = (place.node, place.name) else { return Err(Errno::Exist.into()) };
        self.check_changeable(place.folder)?;
        let depth = self.files.folder(place.folder)?.depth + 1;
        self.check_depth(depth)?;
        self.take_node(&name, 0)?;
        let volume = self.files.node(place.folder).volume;
        let folder = Folder {
            entries: Some(BTreeMap::new()),
            ..Folder::stored(Some(place.folder), depth, empty_tree(), Totals::default())
        };
        let id = self.files.insert(volume, self.clock.wall_ns(), What::Folder(folder));
        self.attach(place.folder, name, id)
    }
}
