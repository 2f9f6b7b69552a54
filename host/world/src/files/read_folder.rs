//! Listing a folder: by name, in the order of the names' bytes. A stream remembers the last name it gave, so what is added or
//! removed meanwhile shows or not by its place in that order, and nothing is given twice.

use super::{Descriptor, NodeId, Slot, Type, What};
use crate::World;
use crate::failure::{Errno, Failure};
use crate::meter::price;
use alloc::string::{String, ToString};
use core::ops::Bound;
use hutch_model::snapshot::{Name, Node};

/// A place in a listing. It ends with [`World::close_folder_stream`], which it must be given to.
#[derive(Debug)]
pub struct FolderStream {
    node: NodeId,
    after: Option<Name>,
}

/// One name of a folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// What it stands for.
    pub kind: Type,
    /// The name.
    pub name: String,
    /// As [`World::identity`] has it, within the volume.
    pub identity: u64,
}

impl World {
    /// The first name of a folder, or the first after `after`, which need not be there any more.
    ///
    /// # Errors
    /// NotDirectory for a file; fuel or memory is used up.
    pub fn list_after(&mut self, folder: &Descriptor, after: Option<&str>) -> Result<Option<Listed>, Failure> {
        self.meter.spend(price::ENTRY)?;
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let entries = self.all_entries(folder.node)?;
        let next = entries.range::<str, _>((start, Bound::Unbounded)).next();
        let name = next.map(|(name, _)| name.as_str().to_string());
        self.files.folder_mut(folder.node)?.listed = true;
        let Some(name) = name else { return Ok(None) };
        let id = self.lookup(folder.node, &name)?.ok_or(Errno::NoEntry)?;
        let identity = self.files.node(id).serial;
        Ok(Some(Listed { kind: self.kind_of(id), name, identity }))
    }

    /// The identity of the folder above one; of itself, if it is the top or was removed.
    ///
    /// # Errors
    /// NotDirectory for a file.
    pub fn identity_above(&self, folder: &Descriptor) -> Result<u64, Failure> {
        let above = self.files.folder(folder.node)?.parent.filter(|_| self.files.node(folder.node).names > 0);
        Ok(self.files.node(above.unwrap_or(folder.node)).serial)
    }

    fn kind_of(&self, id: NodeId) -> Type {
        match self.files.node(id).what {
            What::File(_) => Type::File,
            What::Folder(_) => Type::Folder,
            What::Link(_) => Type::Link,
        }
    }

    /// Starts a listing.
    ///
    /// # Errors
    /// NotDirectory for a file.
    pub fn read_folder(&mut self, descriptor: &Descriptor) -> Result<FolderStream, Failure> {
        self.all_entries(descriptor.node)?;
        self.files.folder_mut(descriptor.node)?.listed = true;
        self.hold(descriptor.node);
        Ok(FolderStream { node: descriptor.node, after: None })
    }

    /// The next name, and what it stands for.
    ///
    /// # Errors
    /// Fuel is used up.
    pub fn read_folder_entry(&mut self, stream: &mut FolderStream) -> Result<Option<(Type, String)>, Failure> {
        self.meter.spend(price::ENTRY)?;
        let start = stream.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        // All of them have been read.
        let entries = &self.files.folder(stream.node)?.entries.as_ref().ok_or(Errno::NotDirectory)?.known;
        let Some((name, slot)) = entries.range::<Name, _>((start, Bound::Unbounded)).next() else { return Ok(None) };
        let kind = match slot {
            Slot::Cold { node: Node::File { .. }, .. } => Type::File,
            Slot::Cold { node: Node::Folder { .. }, .. } => Type::Folder,
            Slot::Cold { node: Node::Link { .. }, .. } => Type::Link,
            Slot::Live(id) => self.kind_of(*id),
        };
        stream.after = Some(name.clone());
        Ok(Some((kind, name.as_str().to_string())))
    }

    /// Ends a listing.
    pub fn close_folder_stream(&mut self, stream: FolderStream) {
        self.release(stream.node);
    }
}
