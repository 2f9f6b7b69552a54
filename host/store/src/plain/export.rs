//! A state as a folder of real files, anywhere.

use super::content::{WriteError, write_content};
use super::scan::Bounds;
use crate::error::{StoreError, at};
use crate::skipped::Skipped;
use cap_std::fs::Dir;
use hutch_folder::{Handles, Hands, list, stays_inside};
use hutch_model::digest::Digest;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{DEPTH_MAX, Node, Objects, Totals, read_tree};
use std::io;
use std::path::{Path, PathBuf};

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Exported {
    /// What it amounts to.
    pub totals: Totals,
    /// Links that could leave the folder, and so are not in it.
    pub skipped: Skipped,
}

/// Writes the state `tree` into the empty folder `root`. `path` is where that is, for messages. Reading the folder back
/// gives the same state without what is said to be skipped, so names are written as they are, never changed: one that this file
/// system can't hold, or takes for another one's (upper and lower case), ends the export with its path.
///
/// # Errors
/// The folder is not empty ([`StoreError::Occupied`]); the state is larger than `bounds`; an object is
/// missing or damaged; the folder can't be written. What was written until then stays.
pub fn export_folder(
    objects: &dyn Objects,
    tree: &Digest,
    root: &Dir,
    path: &Path,
    bounds: &Bounds,
) -> Result<Exported, StoreError> {
    let own = root.try_clone().map_err(|error| StoreError::io(path, "open the folder", error))?;
    expect_empty(root, path)?;
    Export::of(objects, path, bounds, Some(Handles::new(own))).all(tree)
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
) -> Result<Exported, StoreError> {
    if let Some(root) = root {
        expect_empty(root, path)?;
    }
    Export::of(objects, path, bounds, None).all(tree)
}

fn expect_empty(root: &Dir, path: &Path) -> Result<(), StoreError> {
    let listing = list(root).map_err(|error| StoreError::io(path, "list the folder", error))?;
    match listing.names.is_empty() && listing.not_text.is_empty() {
        true => Ok(()),
        false => Err(StoreError::Occupied { at: at(path) }),
    }
}

pub(super) fn expect_within(bounds: &Bounds, totals: Totals, path: &Path) -> Result<(), StoreError> {
    let limited = |limit, allowed| Err(StoreError::Limited { at: at(path), limit, allowed });
    match totals {
        Totals { files, .. } if files > bounds.files => limited(Limit::StateFiles, bounds.files),
        Totals { bytes, .. } if bytes > bounds.bytes => limited(Limit::StateBytes, bounds.bytes),
        Totals { depth, .. } if depth as usize > bounds.depth => limited(Limit::FolderDepth, bounds.depth as u64),
        _ => Ok(()),
    }
}

struct Export<'a> {
    objects: &'a dyn Objects,
    root: &'a Path,
    bounds: Bounds,
    hands: Hands,
    /// The folder that is written to, if any is.
    handles: Option<Handles>,
    /// Where the export is, from the root down.
    path: Vec<String>,
    done: Exported,
}

impl<'a> Export<'a> {
    fn of(objects: &'a dyn Objects, root: &'a Path, bounds: &Bounds, handles: Option<Handles>) -> Export<'a> {
        let bounds = Bounds { depth: bounds.depth.min(DEPTH_MAX), ..*bounds };
        let (hands, done) = (Hands::default(), Exported::default());
        Export { objects, root, bounds, hands, handles, path: Vec::new(), done }
    }

    fn all(mut self, tree: &Digest) -> Result<Exported, StoreError> {
        let top = read_tree(self.objects, tree).map_err(|error| StoreError::object(at(self.root), &error))?;
        // Before the first write.
        expect_within(&self.bounds, top.totals(), self.root)?;
        self.folder(tree)?;
        Ok(self.done)
    }

    fn full_path(&self, name: &str) -> PathBuf {
        let mut full = self.root.to_owned();
        full.extend(&self.path);
        full.push(name);
        full
    }

    fn io(&self, name: &str, error: io::Error) -> StoreError {
        let path = self.full_path(name);
        let reason = match error.kind() {
            io::ErrorKind::AlreadyExists => "this file system takes two names of the state for one".to_owned(),
            io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported => {
                format!("this file system can't hold it: {error}")
            }
            _ => return StoreError::io(path, "write", error),
        };
        StoreError::Refused { at: at(&path), reason }
    }

    /// The folder in which the export is; `None` if nothing is written.
    fn here(&mut self) -> Result<Option<Dir>, StoreError> {
        let Some(handles) = &mut self.handles else { return Ok(None) };
        let folder = handles.at(&self.path).and_then(|folder| folder.map(Dir::try_clone).transpose());
        let folder = folder.and_then(|folder| folder.ok_or(io::ErrorKind::NotFound.into()));
        folder.map(Some).map_err(|error| self.io("", error))
    }

    fn folder(&mut self, tree: &Digest) -> Result<(), StoreError> {
        let tree = read_tree(self.objects, tree).map_err(|error| StoreError::object(at(self.root), &error))?;
        if self.path.len() >= self.bounds.depth && !tree.entries().is_empty() {
            let (limit, allowed) = (Limit::FolderDepth, self.bounds.depth as u64);
            return Err(StoreError::Limited { at: at(&self.full_path("")), limit, allowed });
        }
        let folder = self.here()?;
        for entry in tree.entries() {
            let name = entry.name.as_str();
            match &entry.node {
                Node::Folder { .. } => {
                    self.count(Totals { files: 1, ..Totals::default() })?;
                    if let Some(folder) = &folder {
                        self.hands.create_folder(folder, name).map_err(|error| self.io(name, error))?;
                    }
                }
                Node::File { size, content } => {
                    self.count(entry.node.totals())?;
                    if let Some(folder) = &folder {
                        self.file(folder, name, (*size, content), entry.modified_ns)?;
                    }
                }
                Node::Link { target } if !stays_inside(self.path.len(), target) => {
                    let path: Vec<&str> = self.path.iter().map(String::as_str).chain([name]).collect();
                    self.done.skipped.add(path.join("/"), "the link could leave its folder");
                }
                Node::Link { target } => {
                    self.count(entry.node.totals())?;
                    if let Some(folder) = &folder {
                        let made = self.hands.create_link(folder, name, target);
                        let made = made.and_then(|()| self.hands.set_modified(folder, name, entry.modified_ns));
                        made.map_err(|error| self.io(name, error))?;
                    }
                }
            }
        }
        drop(folder);
        for entry in tree.entries() {
            let Node::Folder { tree, .. } = &entry.node else { continue };
            let name = entry.name.as_str();
            self.path.push(name.to_owned());
            self.folder(tree)?;
            self.path.pop();
            if let Some(folder) = self.here()? {
                let set = self.hands.set_modified(&folder, name, entry.modified_ns);
                set.map_err(|error| self.io(name, error))?;
            }
        }
        Ok(())
    }

    fn count(&mut self, more: Totals) -> Result<(), StoreError> {
        self.done.totals = self.done.totals.plus(more);
        expect_within(&self.bounds, self.done.totals, self.root)
    }

    fn file(
        &self,
        folder: &Dir,
        name: &str,
        (size, content): (u64, &Digest),
        modified_ns: u64,
    ) -> Result<(), StoreError> {
        let file = self.hands.create_file(folder, name).map_err(|error| self.io(name, error))?;
        write_content(&self.hands, &file, self.objects, (size, content)).map_err(|error| match error {
            WriteError::Io(error) => self.io(name, error),
            WriteError::Object(error) => StoreError::object(at(self.root), &error),
        })?;
        self.hands.set_file_modified(&file, modified_ns).map_err(|error| self.io(name, error))
    }
}
