//! Hard links: a second name for a file. Within a run both names are one file; a snapshot keeps them as two files of equal
//! content, so each name counts in full.

use super::{Descriptor, What};
use crate::World;
use crate::failure::{Errno, Failure};

impl World {
    /// Gives the file or link at `old_path` the name `new_path` too.
    ///
    /// # Errors
    /// Invalid if asked to follow a link, NotPermitted for a folder, CrossDevice between volumes, Exist if the name is taken.
    pub fn link(&mut self, old: (&Descriptor, &str), follow: bool, new: (&Descriptor, &str)) -> Result<(), Failure> {
        self.check_both_changeable(old.0, new.0)?;
        if follow {
            return Err(Errno::Invalid.into());
        }
        let from = self.parent(old.0.node, old.1)?;
        let to = self.parent(new.0.node, new.1)?;
        let found = match from.last {
            Some(last) => self.look(from.folder, last)?.1,
            None => Some(from.folder),
        };
        let id = found.ok_or(Errno::NoEntry)?;
        let last = to.last.ok_or(Errno::Exist)?;
        let (name, None) = self.look(to.folder, last)? else { return Err(Errno::Exist.into()) };
        if self.files.node(id).volume != self.files.node(to.folder).volume {
            return Err(Errno::CrossDevice.into());
        }
        if self.files.is_folder(id) {
            return Err(Errno::NotPermitted.into());
        }
        let above = self.place(to.folder)?;
        self.check_path_bytes(above.path_bytes + name.as_str().len() as u64)?;
        let node = self.files.node(id);
        let names = node.names.checked_add(1).ok_or(Errno::TooManyLinks)?;
        let size = if let What::File(content) = &node.what { content.size } else { 0 };
        let (volume, from, to_be) = (node.volume, node.usage(), node.usage_with(names, size));
        self.take_name(volume, &name, from, to_be)?;
        let now_ns = self.clock.wall_ns();
        let node = self.files.node_mut(id);
        node.names = names;
        node.changed_ns = now_ns;
        self.attach(to.folder, name, id)
    }
}
