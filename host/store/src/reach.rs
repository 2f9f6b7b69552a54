//! All objects that a state consists of. Knows no database.

use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{Node, ObjectError, TreeObject, decode_list, empty_tree, list_levels};
use std::collections::HashSet;
use std::sync::Arc;

/// Where objects are looked up. Not [`hutch_model::snapshot::Objects`], because a transaction belongs to one thread.
pub trait Source {
    /// An object's bytes, checked.
    ///
    /// # Errors
    /// It is not there, is damaged, or can't be read.
    fn bytes(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError>;

    /// Whether an object is there, damaged or not.
    fn exists(&self, digest: &Digest) -> bool;
}

/// Adds to `live` the state `root` and all that it names; what is in `live` already is taken to be there with all it names.
/// Chunks must be there; their bytes are not read.
///
/// # Errors
/// Something of it is missing, damaged or can't be read.
pub fn reach(source: &dyn Source, root: Digest, live: &mut HashSet<Digest>) -> Result<(), ObjectError> {
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        if folder == empty_tree() || !live.insert(folder) {
            continue;
        }
        let bytes = source.bytes(Kind::Tree, &folder)?;
        let object =
            TreeObject::decode(&bytes).map_err(|error| ObjectError::damaged(Kind::Tree, folder, error.to_string()))?;
        let tree = match object {
            TreeObject::Entries(tree) => tree,
            TreeObject::Parts(parts) => {
                folders.extend(parts.parts().iter().map(|part| part.tree));
                continue;
            }
        };
        for entry in tree.entries() {
            match &entry.node {
                Node::File { size: 0, .. } | Node::Link { .. } => {}
                Node::File { size, content } => reach_parts(source, list_levels(*size), *content, live)?,
                Node::Folder { tree, .. } => folders.push(*tree),
            }
        }
    }
    Ok(())
}

/// The depth of this recursion is bounded by the levels of lists, of which there are at most six.
fn reach_parts(source: &dyn Source, level: u32, digest: Digest, live: &mut HashSet<Digest>) -> Result<(), ObjectError> {
    if !live.insert(digest) {
        return Ok(());
    }
    if level == 0 {
        return if source.exists(&digest) { Ok(()) } else { Err(ObjectError::missing(Kind::Chunk, digest)) };
    }
    let bytes = source.bytes(Kind::List, &digest)?;
    let malformed = || ObjectError::damaged(Kind::List, digest, "is no list of digests");
    for part in decode_list(&bytes).ok_or_else(malformed)? {
        reach_parts(source, level - 1, part, live)?;
    }
    Ok(())
}
