//! Real files as content: naming what a file holds, and whether something on disk is what a snapshot says.

use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp};
use hutch_model::digest::{Digest, Kind};
use hutch_model::snapshot::{self, CHUNK_BYTES, LIST_PARTS, MemoryObjects, Node, ObjectError, Objects, encode_list};
use std::fs::File;
use std::io::{self, Read};

/// Why content could not be written.
pub(super) enum WriteError {
    Object(ObjectError),
    Io(io::Error),
}

impl From<ObjectError> for WriteError {
    fn from(error: ObjectError) -> WriteError {
        WriteError::Object(error)
    }
}

/// Writes content of `size` bytes into a new file.
pub(super) fn write_content(
    hands: &Hands,
    file: &File,
    objects: &dyn Objects,
    (size, content): (u64, &Digest),
) -> Result<(), WriteError> {
    snapshot::read_file(objects, content, size, &mut |chunk| hands.write(file, chunk).map_err(WriteError::Io))
}

/// Reads up to `limit` bytes from `file` and names them; `None` if there are more. Each chunk is shown to `chunk` with the
/// place where it begins, and the lists above them go into `lists`.
pub(super) fn read_file(
    file: &mut dyn Read,
    limit: u64,
    lists: &mut MemoryObjects,
    chunk: &mut dyn FnMut(Digest, u64, &[u8]),
) -> io::Result<Option<Node>> {
    let mut digests = Vec::new();
    let mut size = 0;
    let mut bytes = Vec::with_capacity(CHUNK_BYTES as usize);
    loop {
        bytes.clear();
        let count = (&mut *file).take(CHUNK_BYTES).read_to_end(&mut bytes)? as u64;
        if count == 0 {
            break;
        }
        if size + count > limit {
            return Ok(None);
        }
        let digest = Digest::of(Kind::Chunk, &bytes);
        chunk(digest, size, &bytes);
        digests.push(digest);
        size += count;
    }
    while digests.len() > 1 {
        let parts = digests.chunks(LIST_PARTS as usize);
        digests = parts.map(|part| lists.insert(Kind::List, encode_list(part))).collect();
    }
    let content = digests.first().copied().unwrap_or_else(|| Digest::of(Kind::Chunk, b""));
    Ok(Some(Node::File { size, content }))
}

/// Whether what stands under `name`, and looks like `stamp`, is `node`. What is in a folder is not asked.
pub(super) fn holds(folder: &Dir, name: &str, stamp: &Stamp, node: &Node) -> io::Result<bool> {
    match (stamp.form, node) {
        (Form::Folder, Node::Folder { .. }) => Ok(true),
        (Form::Link, Node::Link { target }) => {
            Ok(hutch_folder::link_target(folder, name).ok().flatten().is_some_and(|found| *found == **target))
        }
        (Form::File, Node::File { size, .. }) if stamp.size == *size => {
            let mut file = match hutch_folder::open_file(folder, name) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(error),
            };
            let found = read_file(&mut file, *size, &mut MemoryObjects::default(), &mut |_, _, _| {})?;
            Ok(found.as_ref() == Some(node))
        }
        _ => Ok(false),
    }
}
