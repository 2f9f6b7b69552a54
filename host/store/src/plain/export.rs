//! A state as a folder of real files, anywhere.

use super::content::{WriteError, write_content};
use super::disk::{self, Disk};
use super::links::stays_inside;
use super::scan::Bounds;
use crate::error::StoreError;
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{DEPTH_MAX, Node, Objects, Totals, read_tree};
use std::io;
use std::path::Path;

/// Writes the state `tree` into the empty folder `root`. `path` is where that is, for messages. Reading the folder back
/// gives the same state, so names are written as they are, never changed: one that this file system can't hold, or takes
/// for another one's (upper and lower case), ends the export with its path.
///
/// # Errors
/// The folder is not empty; the state is larger than `bounds`, or has a link that could leave the folder; an object is
/// missing or damaged; the folder can't be written. What was written until then stays.
pub fn export_folder(
    objects: &dyn Objects,
    tree: &Digest,
    root: &Dir,
    path: &Path,
    bounds: &Bounds,
) -> Result<Totals, StoreError> {
    let bounds = Bounds { depth: bounds.depth.min(DEPTH_MAX), ..*bounds };
    let mut export = Export { objects, root: path, bounds, disk: Disk::default(), totals: Totals::default() };
    export.expect_empty(root)?;
    export.folder(root, &mut Vec::new(), tree)?;
    Ok(export.totals)
}

/// What [`export_folder`] would write into the empty folder `root`, or into one that is still to be made. Writes nothing.
///
/// # Errors
/// The folder is not empty; the state is larger than `bounds`; an object is missing or damaged.
pub fn export_totals(
    objects: &dyn Objects,
    tree: &Digest,
    root: Option<&Dir>,
    path: &Path,
    bounds: &Bounds,
) -> Result<Totals, StoreError> {
    let tree = read_tree(objects, tree).map_err(|error| StoreError::object(path, &error))?;
    let export = Export { objects, root: path, bounds: *bounds, disk: Disk::default(), totals: tree.totals() };
    root.map_or(Ok(()), |root| export.expect_empty(root))?;
    export.expect_within_bounds()?;
    Ok(export.totals)
}

struct Export<'a> {
    objects: &'a dyn Objects,
    root: &'a Path,
    bounds: Bounds,
    disk: Disk,
    totals: Totals,
}

impl Export<'_> {
    fn io(&self, path: &[String], error: io::Error) -> StoreError {
        let mut full = self.root.to_owned();
        full.extend(path);
        match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let reason = "this file system takes two names of the state for one".to_owned();
                StoreError::Refused { path: full, reason }
            }
            io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => {
                let reason = format!("this file system can't hold it: {error}");
                StoreError::Refused { path: full, reason }
            }
            _ => StoreError::io(full, "write", error),
        }
    }

    fn refuse<T>(&self, path: &[String], reason: String) -> Result<T, StoreError> {
        let mut full = self.root.to_owned();
        full.extend(path);
        Err(StoreError::Refused { path: full, reason })
    }

    fn folder(&mut self, folder: &Dir, path: &mut Vec<String>, tree: &Digest) -> Result<(), StoreError> {
        let tree = read_tree(self.objects, tree).map_err(|error| StoreError::object(self.root, &error))?;
        for entry in tree.entries() {
            let name = entry.name.as_str();
            path.push(name.to_owned());
            if path.len() > self.bounds.depth {
                return self.refuse(path, format!("is more than {} folders deep", self.bounds.depth));
            }
            self.count(&entry.node)?;
            match &entry.node {
                Node::Folder { tree, .. } => {
                    let made = self.disk.create_folder(folder, name).and_then(|()| disk::folder(folder, name));
                    let inside = made.and_then(|made| made.ok_or(io::ErrorKind::NotFound.into()));
                    let inside = inside.map_err(|error| self.io(path, error))?;
                    self.folder(&inside, path, tree)?;
                    let set = self.disk.set_modified(folder, name, entry.modified_ns);
                    set.map_err(|error| self.io(path, error))?;
                }
                Node::File { size, content } => self.file(folder, path, name, (*size, content), entry.modified_ns)?,
                Node::Link { target } => {
                    if !stays_inside(path.len() - 1, target) {
                        return self.refuse(path, format!("is a link that could leave its folder, to {target:?}"));
                    }
                    let made = self.disk.create_link(folder, name, target);
                    let made = made.and_then(|()| self.disk.set_modified(folder, name, entry.modified_ns));
                    made.map_err(|error| self.io(path, error))?;
                }
            }
            path.pop();
        }
        Ok(())
    }

    fn count(&mut self, node: &Node) -> Result<(), StoreError> {
        let own = if let Node::Folder { .. } = node { Totals { files: 1, ..Totals::default() } } else { node.totals() };
        self.totals = self.totals.plus(own);
        self.expect_within_bounds()
    }

    fn expect_empty(&self, root: &Dir) -> Result<(), StoreError> {
        match disk::list(root).map_err(|error| self.io(&[], error))?.is_empty() {
            true => Ok(()),
            false => self.refuse(&[], "the folder is not empty".to_owned()),
        }
    }

    fn expect_within_bounds(&self) -> Result<(), StoreError> {
        let limited = |limit, allowed| Err(StoreError::Limited { path: self.root.to_owned(), limit, allowed });
        match self.totals {
            Totals { files, .. } if files > self.bounds.files => limited(Limit::StateFiles, self.bounds.files),
            Totals { bytes, .. } if bytes > self.bounds.bytes => limited(Limit::StateBytes, self.bounds.bytes),
            _ => Ok(()),
        }
    }

    fn file(
        &self,
        folder: &Dir,
        path: &[String],
        name: &str,
        (size, content): (u64, &Digest),
        modified_ns: u64,
    ) -> Result<(), StoreError> {
        let file = self.disk.create_file(folder, name).map_err(|error| self.io(path, error))?;
        write_content(&self.disk, &file, self.objects, (size, content)).map_err(|error| match error {
            WriteError::Io(error) => self.io(path, error),
            WriteError::Object(error) => StoreError::object(self.root, &error),
        })?;
        self.disk.finish(file, modified_ns, false).map_err(|error| self.io(path, error))
    }
}
