//! A file or link on its way to its place: written aside, with the rights of what it replaces.

use super::Update;
use crate::error::StoreError;
use crate::plain::content::{WriteError, write_content};
use crate::plain::staged::Ours;
use cap_std::fs::Dir;
#[cfg(unix)]
use hutch_folder::Hands;
use hutch_folder::{Gone, Stamp, look};
use hutch_model::snapshot::{Entry, Node};
#[cfg(unix)]
use std::fs::File;
use std::io;

/// What became of something that was to be placed.
pub(super) enum Placed {
    There(Stamp),
    /// Somebody else's stands there.
    Taken,
    /// This file system can't hold it.
    Unnameable,
}

impl Update<'_> {
    /// Writes a file or link aside and lets it change places with what it replaces.
    pub(super) fn place(&mut self, folder: &Dir, is: &Entry, replaces: Option<Stamp>) -> Result<Placed, StoreError> {
        let (name, mut aside) = (is.name.as_str(), self.staged.name());
        let failed = self.failed(name, "write the file");
        let (hands, staging) = (&self.plain.hands, self.staged.folder());
        match &is.node {
            Node::File { size, content } => {
                let file = hands.create_file(staging, &aside).map_err(&failed)?;
                #[cfg(unix)]
                if replaces.is_some() {
                    take_after((hands, &file), (folder, name)).map_err(&failed)?;
                }
                write_content(hands, &file, &*self.objects, (*size, content)).map_err(|error| match error {
                    WriteError::Io(error) => failed(error),
                    WriteError::Object(error) => self.damaged(&error),
                })?;
                hands.set_file_modified(&file, is.modified_ns).map_err(&failed)?;
            }
            Node::Link { target } => {
                match hands.create_link(staging, &aside, target) {
                    Err(error) if cannot_be_named(&error) => return Ok(Placed::Unnameable),
                    made => made.map_err(&failed)?,
                }
                hands.set_modified(staging, &aside, is.modified_ns).map_err(&failed)?;
            }
            Node::Folder { .. } => return Ok(Placed::Unnameable),
        }
        let made = look(staging, &aside).map_err(&failed)?;
        let mut ours = Ours::Anything;
        let placed = match (replaces, made) {
            (Some(stamp), Some(made)) => {
                // What comes out may be another's by then, and this one may be gone: the name says which is ours.
                let named = self.staged.name_of(&[made, stamp]);
                let staging = self.staged.folder();
                hands.place((staging, &aside), (staging, &named)).map_err(&failed)?;
                (aside, ours) = (named, Ours::like(&[made, stamp]));
                hands.exchange((staging, &aside), (folder, name), &stamp)
            }
            _ => hands.place((staging, &aside), (folder, name)).map(|()| Gone::Moved),
        };
        let gone = match placed {
            Err(error) if cannot_be_named(&error) => return Ok(Placed::Unnameable),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Gone::Changed,
            placed => placed.map_err(&failed)?,
        };
        // What was replaced, or what could not be placed; or what was saved while it was taken back.
        self.staged.drop_own(&aside, &ours)?;
        let there = look(folder, name).map_err(&failed)?;
        Ok(match (gone, there, made) {
            (Gone::Moved, Some(there), Some(made)) if there.moved(&made) => Placed::There(there),
            _ => Placed::Taken,
        })
    }
}

/// Gives a new file to whom the one belongs in whose place it goes, for no more than that, and nobody may start it. A list of rights goes with the
/// old one: what looks like the group's there is all that it gave to anybody.
#[cfg(unix)]
fn take_after((hands, file): (&Hands, &File), (folder, name): (&Dir, &str)) -> io::Result<()> {
    use cap_std::fs::MetadataExt;
    use std::os::unix::fs::MetadataExt as _;
    let before = match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        before => before?,
    };
    if !before.is_file() {
        return Ok(());
    }
    let made = file.metadata()?;
    let listed = hutch_folder::open_file(folder, name).ok().and_then(|open| hutch_folder::listed_rights(&open, false));
    let mut mode = before.mode() & 0o666 & (listed.unwrap_or(0o777) | !0o070);
    if (made.uid(), made.gid()) != (before.uid(), before.gid()) {
        let group = Some(before.gid());
        let given = hands.set_owner(file, Some(before.uid()), group).or_else(|_| hands.set_owner(file, None, group));
        if given.is_err() {
            mode &= !0o070;
        }
    }
    match mode == made.mode() & 0o777 {
        true => Ok(()),
        false => hands.set_mode(file, mode),
    }
}

/// Whether the file system has no such names, or links.
fn cannot_be_named(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidFilename | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
}
