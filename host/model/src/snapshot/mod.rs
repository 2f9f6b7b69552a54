//! A volume at rest: a Merkle tree of folders and chunked files. Content has one name only, its digest, so equal trees
//! are equal digests and a small change is a small number of new objects.
//!
//! A folder is a [`Tree`] of sorted entries, one object of them; a folder of more than [`PART_ENTRIES`] is in [`Parts`], which follow from its
//! names alone. A file of up to [`CHUNK_BYTES`] is one chunk; a longer one is a tree of
//! [lists](crate::digest::Kind::List) with [`LIST_PARTS`] digests each, as many levels as its size needs. Entries hold
//! a modification time because programs compare those across runs; they hold no owner, mode, inode or access time.
//!
//! Knows no storage: bytes come through [`Objects`].

mod diff;
mod parts;
mod touched;
mod tree;

pub use diff::{CHANGES_BYTES_MAX, CHANGES_MAX, Change, Changes, Difference, PathChange, compare, diff};
pub use parts::{
    PART_ENTRIES, PART_LEVELS, PARTS, Part, Parts, Prefix, Route, TreeObject, find_in, read_changed, read_object,
    read_part, read_some, read_tree,
};
pub use touched::{Touched, TouchedName};
pub use tree::{Entry, Name, NameError, Node, Totals, Tree, TreeError};

use crate::digest::{Digest, Kind};
use std::sync::Arc;

/// Bytes of file content in one chunk; the last chunk of a file may be shorter.
pub const CHUNK_BYTES: u64 = 64 * 1024;

/// Digests in one list; the last list of a level may be shorter.
pub const LIST_PARTS: u64 = 256;

/// Folders within folders that two snapshots are compared in, or that are written to a disk: each level is a call.
pub const DEPTH_MAX: usize = 1024;

/// Where the content of trees, lists and chunks comes from.
pub trait Objects: Send + Sync {
    /// The bytes that `digest` names. An implementation that reads from outside checks them against the digest.
    ///
    /// # Errors
    /// The object is missing or damaged. A guest never sees this: it ends the run as a host fault.
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError>;

    /// Whether all that was had of what others may write meanwhile was there together. Asked when nothing more will be read, before
    /// anything of it is kept or told. Before each step it asks whether it `goes_on`, and leaves the rest if not.
    ///
    /// # Errors
    /// [`Lack::Changed`], or it can't be had any more.
    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        let _ = goes_on;
        Ok(())
    }
}

/// An object could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind:?} {digest} {lack}")]
pub struct ObjectError {
    /// What was asked for.
    pub digest: Digest,
    /// As what.
    pub kind: Kind,
    /// Why it could not be had.
    pub lack: Lack,
}

/// Why an object could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
// Exhaustive: a store tells damage from what changed meanwhile by it.
pub enum Lack {
    /// It is not here.
    #[error("is missing")]
    Missing,
    /// It is here, and is not what was written: how that shows.
    #[error("{0}")]
    Damaged(String),
    /// It was read from a real folder, and is not any more what it was when it was first looked at: the path.
    #[error("was changed by another program while it was in use: {0}")]
    Changed(String),
    /// It is in a real folder, and the system lets the user who asked not read it: the path.
    #[error("may not be read: {0}")]
    Denied(String),
    /// The system could not read it: what it said.
    #[error("can't be read: {0}")]
    Unreadable(String),
}

impl ObjectError {
    /// It is not here.
    pub const fn missing(kind: Kind, digest: Digest) -> ObjectError {
        ObjectError { digest, kind, lack: Lack::Missing }
    }

    /// It is not what was written.
    pub fn damaged(kind: Kind, digest: Digest, reason: impl Into<String>) -> ObjectError {
        ObjectError { digest, kind, lack: Lack::Damaged(reason.into()) }
    }

    /// The system could not read it.
    pub fn unreadable(kind: Kind, digest: Digest, reason: impl ToString) -> ObjectError {
        ObjectError { digest, kind, lack: Lack::Unreadable(reason.to_string()) }
    }

    /// A folder that lies deeper than [`DEPTH_MAX`].
    pub fn too_deep(digest: Digest) -> ObjectError {
        ObjectError::damaged(Kind::Tree, digest, format!("is more than {DEPTH_MAX} folders deep"))
    }
}

/// Objects held in memory.
#[derive(Debug, Default, Clone)]
pub struct MemoryObjects(std::collections::HashMap<Digest, Arc<[u8]>>);

impl MemoryObjects {
    /// Takes an object in and names it.
    pub fn insert(&mut self, kind: Kind, bytes: impl Into<Arc<[u8]>>) -> Digest {
        let bytes = bytes.into();
        let digest = Digest::of(kind, &bytes);
        self.0.insert(digest, bytes);
        digest
    }

    /// Takes in an object whose digest is known.
    pub fn insert_named(&mut self, digest: Digest, bytes: impl Into<Arc<[u8]>>) {
        self.0.insert(digest, bytes.into());
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&Digest, &Arc<[u8]>)> {
        self.0.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object with this digest, if it is here.
    pub fn find(&self, digest: &Digest) -> Option<&Arc<[u8]>> {
        self.0.get(digest)
    }

    /// Takes in a file's content of any length and names it.
    pub fn insert_file(&mut self, bytes: &[u8]) -> Node {
        let chunks = bytes.chunks(CHUNK_BYTES as usize).map(|chunk| self.insert(Kind::Chunk, chunk)).collect();
        self.insert_lists(bytes.len() as u64, chunks)
    }

    /// Takes in the lists of a file whose chunks are elsewhere, and names it.
    pub fn insert_lists(&mut self, size: u64, chunks: Vec<Digest>) -> Node {
        let mut digests = chunks;
        while digests.len() > 1 {
            digests =
                digests.chunks(LIST_PARTS as usize).map(|part| self.insert(Kind::List, encode_list(part))).collect();
        }
        let content = digests.first().copied().unwrap_or_else(|| Digest::of(Kind::Chunk, b""));
        Node::File { size, content }
    }

    /// Takes in a folder, in parts if it is large, and names it.
    pub fn insert_tree(&mut self, tree: &Tree) -> Node {
        Node::Folder { tree: parts::insert(self, tree), totals: tree.totals() }
    }
}

impl Objects for MemoryObjects {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        self.find(digest).cloned().ok_or(ObjectError::missing(kind, *digest))
    }
}

/// Objects from several places: the first that has one gives it. An object that is damaged in one place and missing in the others
/// is damaged.
#[derive(Clone)]
pub struct Layered(pub Vec<Arc<dyn Objects>>);

impl Objects for Layered {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let mut refused = ObjectError::missing(kind, *digest);
        for layer in &self.0 {
            match layer.get(kind, digest) {
                Ok(bytes) => return Ok(bytes),
                Err(error) if refused.lack == Lack::Missing => refused = error,
                Err(_) => {}
            }
        }
        Err(refused)
    }

    fn check(&self, goes_on: &dyn Fn() -> bool) -> Result<(), ObjectError> {
        self.0.iter().try_for_each(|layer| layer.check(goes_on))
    }
}

/// Levels of lists above the chunks of a file of `size` bytes: 0 for a file that is one chunk.
pub const fn list_levels(size: u64) -> u32 {
    let mut parts = size.div_ceil(CHUNK_BYTES);
    let mut levels = 0;
    while parts > 1 {
        parts = parts.div_ceil(LIST_PARTS);
        levels += 1;
    }
    levels
}

/// The bytes of a list object.
pub fn encode_list(parts: &[Digest]) -> Vec<u8> {
    parts.iter().flat_map(|digest| *digest.as_bytes()).collect()
}

/// The digests in a list object; `None` if the bytes are no list.
pub fn decode_list(bytes: &[u8]) -> Option<Vec<Digest>> {
    let (parts, rest) = bytes.as_chunks::<32>();
    let fits = rest.is_empty() && !parts.is_empty() && parts.len() as u64 <= LIST_PARTS;
    fits.then(|| parts.iter().map(|part| Digest::from_bytes(*part)).collect())
}

/// The digest of the folder that holds nothing: the first state of every volume.
pub fn empty_tree() -> Digest {
    Digest::of(Kind::Tree, &Tree::default().encode())
}

/// What a snapshot has at a path, names from the top down; `None` if nothing is there, or the path is empty.
///
/// # Errors
/// An object is missing or damaged.
pub fn find<'n>(
    objects: &dyn Objects,
    top: &Digest,
    path: impl IntoIterator<Item = &'n str>,
) -> Result<Option<Entry>, ObjectError> {
    let mut found: Option<Entry> = None;
    for name in path {
        let folder = match found.as_ref().map(|entry| &entry.node) {
            None => *top,
            Some(Node::Folder { tree, .. }) => *tree,
            Some(_) => return Ok(None),
        };
        found = find_in(objects, &folder, name)?;
        if found.is_none() {
            return Ok(None);
        }
    }
    Ok(found)
}

/// Reads a list.
///
/// # Errors
/// The object is missing, or its bytes are no list.
pub fn read_list(objects: &dyn Objects, digest: &Digest) -> Result<Vec<Digest>, ObjectError> {
    let bytes = objects.get(Kind::List, digest)?;
    decode_list(&bytes).ok_or_else(|| ObjectError::damaged(Kind::List, *digest, "is no list of digests"))
}

/// Calls `each` with every chunk of a file, in order.
///
/// # Errors
/// An object is missing or has the wrong length, or `each` fails.
pub fn read_file<E: From<ObjectError>>(
    objects: &dyn Objects,
    content: &Digest,
    size: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if size == 0 {
        return Ok(());
    }
    let mut seen = 0;
    read_parts(objects, content, list_levels(size), size, &mut seen, each)?;
    if seen != size {
        let reason = format!("holds {seen} bytes instead of {size}");
        return Err(ObjectError::damaged(Kind::List, *content, reason).into());
    }
    Ok(())
}

fn read_parts<E: From<ObjectError>>(
    objects: &dyn Objects,
    content: &Digest,
    level: u32,
    size: u64,
    seen: &mut u64,
    each: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if level == 0 {
        let chunk = objects.get(Kind::Chunk, content)?;
        if chunk.len() as u64 != CHUNK_BYTES.min(size.saturating_sub(*seen)) {
            let reason = format!("a chunk of {} bytes is not of its place's length", chunk.len());
            return Err(ObjectError::damaged(Kind::Chunk, *content, reason).into());
        }
        *seen += chunk.len() as u64;
        return each(&chunk);
    }
    for part in read_list(objects, content)? {
        read_parts(objects, &part, level - 1, size, seen, each)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_the_size() {
        let list = CHUNK_BYTES * LIST_PARTS;
        let cases = [(0, 0), (1, 0), (CHUNK_BYTES, 0), (CHUNK_BYTES + 1, 1), (list, 1), (list + 1, 2), (u64::MAX, 6)];
        for (size, levels) in cases {
            assert_eq!(list_levels(size), levels, "{size}");
        }
    }

    #[test]
    fn what_is_damaged_in_one_place_and_missing_in_others_is_damaged() {
        struct Damaged;
        impl Objects for Damaged {
            fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
                Err(ObjectError::damaged(kind, *digest, "does not match its digest"))
            }
        }
        let nothing = || Arc::new(MemoryObjects::default()) as Arc<dyn Objects>;
        let digest = Digest::of(Kind::Chunk, b"1");
        for layers in [vec![nothing(), Arc::new(Damaged), nothing()], vec![Arc::new(Damaged), nothing()]] {
            let error = Layered(layers).get(Kind::Chunk, &digest).unwrap_err();
            assert_eq!(error.lack, Lack::Damaged("does not match its digest".to_owned()));
        }
        assert_eq!(Layered(vec![nothing()]).get(Kind::Chunk, &digest).unwrap_err().lack, Lack::Missing);
    }

    #[test]
    fn a_file_comes_back_as_it_was_stored() {
        for size in [0, 1, CHUNK_BYTES as usize, CHUNK_BYTES as usize + 1, 5_000_000, 17_000_001] {
            let bytes: Vec<u8> = (0..size).map(|at| (at / 7) as u8).collect();
            let mut objects = MemoryObjects::default();
            let Node::File { size: stored, content } = objects.insert_file(&bytes) else { panic!("no file") };
            assert_eq!(stored, size as u64);
            let mut back = Vec::new();
            read_file::<ObjectError>(&objects, &content, stored, &mut |chunk| {
                back.extend_from_slice(chunk);
                Ok(())
            })
            .unwrap();
            assert_eq!(back, bytes);
            let wrong = read_file::<ObjectError>(&objects, &content, stored + 1, &mut |_| Ok(()));
            assert!(wrong.is_err(), "a wrong size of {size} was taken");
        }
    }
}
