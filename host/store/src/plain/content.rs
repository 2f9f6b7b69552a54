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

/// The smallest part of a file that a file system writes or does not.
const BLOCK_BYTES: usize = 512;

/// Why a comparison ends.
enum Unequal {
    Differs,
    Io(io::Error),
    Object(ObjectError),
}

impl From<ObjectError> for Unequal {
    fn from(error: ObjectError) -> Unequal {
        Unequal::Object(error)
    }
}

/// Whether a file is `size` bytes of `content` of which some did not reach the disk: it ends early, or has zeros in their place.
pub(super) fn is_torn(
    folder: &Dir,
    name: &str,
    objects: &dyn Objects,
    (size, content): (u64, &Digest),
) -> Result<bool, WriteError> {
    let mut file = match hutch_folder::open_file(folder, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        file => file.map_err(WriteError::Io)?,
    };
    let compared = snapshot::read_file(objects, content, size, &mut |wanted| {
        let mut found = Vec::with_capacity(wanted.len());
        (&mut file).take(wanted.len() as u64).read_to_end(&mut found).map_err(Unequal::Io)?;
        let mut blocks = found.chunks(BLOCK_BYTES).zip(wanted.chunks(BLOCK_BYTES));
        let unwritten = |block: &[u8]| block.iter().all(|byte| *byte == 0);
        match blocks.all(|(found, wanted)| unwritten(found) || wanted.starts_with(found)) {
            true => Ok(()),
            false => Err(Unequal::Differs),
        }
    });
    match compared {
        Ok(()) => Ok(file.take(1).read_to_end(&mut Vec::new()).map_err(WriteError::Io)? == 0),
        Err(Unequal::Differs) => Ok(false),
        Err(Unequal::Io(error)) => Err(WriteError::Io(error)),
        // What is not kept any more can't be compared.
        Err(Unequal::Object(error)) if error.lack == snapshot::Lack::Missing => Ok(false),
        Err(Unequal::Object(error)) => Err(WriteError::Object(error)),
    }
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
