//! By what two runs are told to want the same of a granted folder.

use super::MountObjects;
use super::carry::{Wanted, Wishes, is_folder};
use hutch_folder::{Form, Stamp};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::snapshot::{Node, ObjectError, Objects, list_levels, read_list};

impl Wishes {
    /// By what another run's wishes are told to be the same: how what is replaced or taken away looked, and what comes. What comes from a
    /// granted folder is not read for that: `source` says of which part of which file a handle is, and how the file looked.
    ///
    /// # Errors
    /// An object can't be had.
    pub(crate) fn names(
        &self,
        objects: &dyn Objects,
        seen: &MountObjects,
        source: &Source<'_>,
    ) -> Result<(Digest, Digest), ObjectError> {
        let (mut before, mut after) = (Hasher::new(Kind::Mount), Hasher::new(Kind::Mount));
        for Wanted { path, was, is } in &self.wanted {
            before.update_part(path.as_bytes());
            after.update_part(path.as_bytes());
            match was {
                None => before.update(b"-"),
                // What is put into it and taken from it has a place of its own.
                Some(was) if is_folder(was) => before.update(b"d"),
                Some(_) => name_look(&mut before, seen.stamp(path)),
            }
            match is.as_ref().map(|is| (&is.node, is.modified_ns)) {
                None => after.update(b"-"),
                Some((Node::Folder { .. }, _)) => after.update(b"d"),
                Some((Node::Link { target }, _)) => {
                    after.update(b"l");
                    after.update_part(target.as_bytes());
                }
                Some((Node::File { size, content }, modified_ns)) => {
                    after.update(b"f");
                    [*size, modified_ns].iter().for_each(|number| after.update(&number.to_le_bytes()));
                    name_content(&mut after, objects, source, (content, list_levels(*size)))?;
                }
            }
        }
        Ok((before.finish(), after.finish()))
    }
}

/// Of which part of which file in a granted folder a handle is, and how the file looked; `None` if it names content.
pub(crate) type Source<'a> = dyn Fn(&Digest) -> Option<(Stamp, u8, u64)> + 'a;

/// The file system is left out: it has another number after a restart.
fn name_look(hasher: &mut Hasher, stamp: Option<Stamp>) {
    let Some(Stamp { form, size, modified_ns, changed_ns, inode, device: _ }) = stamp else {
        return hasher.update(b"?");
    };
    hasher.update(match form {
        Form::Folder => b"d",
        Form::File => b"f",
        Form::Link => b"l",
        Form::Other => b"o",
    });
    [size, modified_ns, changed_ns, inode].iter().for_each(|number| hasher.update(&number.to_le_bytes()));
}

fn name_content(
    hasher: &mut Hasher,
    objects: &dyn Objects,
    source: &Source<'_>,
    (content, level): (&Digest, u32),
) -> Result<(), ObjectError> {
    match (source(content), level) {
        (Some((stamp, level, place)), _) => {
            hasher.update(&[b'p', level]);
            hasher.update(&place.to_le_bytes());
            name_look(hasher, Some(stamp));
        }
        (None, 0) => {
            hasher.update(b"c");
            hasher.update(content.as_bytes());
        }
        (None, _) => {
            for part in read_list(objects, content)? {
                name_content(hasher, objects, source, (&part, level - 1))?;
            }
        }
    }
    Ok(())
}
