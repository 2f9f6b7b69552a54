//! A package's folder as a snapshot: the first content of a volume, or a resource that the guest may read.

use super::{Package, PackageBounds, PackageEntry, PackageError, Source};
use hutch_model::digest::Digest;
use hutch_model::names::PackagePath;
use hutch_model::snapshot::{Entry, MemoryObjects, Name, Node, Tree, empty_tree};
use std::collections::BTreeMap;

/// When files that a package ships were last changed, for a guest: at the beginning of time, so that a checkout or a copy of a
/// package does not change what it is.
const SHIPPED_AT_NS: u64 = 0;

#[derive(Default)]
struct Folder {
    files: BTreeMap<String, Node>,
    folders: BTreeMap<String, Folder>,
}

/// Reads `folder` into `objects` and names it; an absent one is empty.
///
/// # Errors
/// A file of it can't be read.
pub fn snapshot(package: &Package, folder: &PackagePath, objects: &mut MemoryObjects) -> Result<Digest, PackageError> {
    let (source, bounds) = (&package.source, &package.bounds);
    read(source, bounds, folder, objects, |objects, path, _| {
        Ok(objects.insert_file(&source.read_whole(path, bounds).map_err(PackageError::one)?))
    })
}

/// The same, of the files of a package, each as it is `taken` in: path and size are known of it.
pub(super) fn read(
    source: &Source,
    bounds: &PackageBounds,
    folder: &PackagePath,
    objects: &mut MemoryObjects,
    mut taken: impl FnMut(&mut MemoryObjects, &PackagePath, u64) -> Result<Node, PackageError>,
) -> Result<Digest, PackageError> {
    let mut top = Folder::default();
    for PackageEntry { path, file_bytes } in source.entries(folder, bounds)? {
        let inside: Vec<&str> = path.components().skip(folder.components().count()).collect();
        let Some((name, above)) = inside.split_last() else { continue };
        let mut at = &mut top;
        for part in above {
            at = at.folders.entry((*part).to_owned()).or_default();
        }
        match file_bytes {
            None => {
                at.folders.entry((*name).to_owned()).or_default();
            }
            Some(bytes) => {
                at.files.insert((*name).to_owned(), taken(objects, &path, bytes)?);
            }
        }
    }
    Ok(match name_folder(top, objects) {
        Node::Folder { tree, .. } => tree,
        _ => empty_tree(),
    })
}

/// Paths of packages are at most 16 parts deep, so this recursion is too.
fn name_folder(folder: Folder, objects: &mut MemoryObjects) -> Node {
    let mut entries = Vec::new();
    let folders: Vec<_> =
        folder.folders.into_iter().map(|(name, inside)| (name, name_folder(inside, objects))).collect();
    for (name, node) in folder.files.into_iter().chain(folders) {
        if let Ok(name) = Name::new(&name) {
            entries.push(Entry { name, modified_ns: SHIPPED_AT_NS, node });
        }
    }
    // A map has no name twice, and no file of a package is a folder too.
    objects.insert_tree(&Tree::new(entries).unwrap_or_default())
}
