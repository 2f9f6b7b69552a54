//! Looking and opening for reading.

use crate::stamp::{Form, Stamp};
use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use std::io;

/// `None` instead of the error that nothing is there.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What stands under `name`; `None` if nothing does.
///
/// # Errors
/// The system's refusal.
pub fn look(folder: &Dir, name: &str) -> io::Result<Option<Stamp>> {
    Ok(found(folder.symlink_metadata(name))?.map(|metadata| Stamp::of(&metadata)))
}

/// The names in a folder.
#[derive(Debug, Default)]
pub struct Listing {
    /// Those that are UTF-8, sorted.
    pub names: Vec<String>,
    /// The others, made readable: for messages alone.
    pub not_text: Vec<String>,
}

/// The names in `folder`.
///
/// # Errors
/// The system's refusal.
pub fn list(folder: &Dir) -> io::Result<Listing> {
    list_at_most(folder, usize::MAX)
}

/// So many of the names in `folder`, whichever come first.
///
/// # Errors
/// The system's refusal.
pub fn list_at_most(folder: &Dir, names: usize) -> io::Result<Listing> {
    let mut listing = Listing::default();
    for entry in folder.entries()?.take(names) {
        match entry?.file_name().into_string() {
            Ok(name) => listing.names.push(name),
            Err(name) => listing.not_text.push(name.to_string_lossy().into_owned()),
        }
    }
    listing.names.sort_unstable();
    listing.not_text.sort_unstable();
    Ok(listing)
}

/// Opens a folder that is no link; `None` if there is none.
///
/// # Errors
/// The system's refusal.
pub fn open_folder(parent: &Dir, name: &str) -> io::Result<Option<Dir>> {
    match look(parent, name)? {
        Some(Stamp { form: Form::Folder, .. }) => found(parent.open_dir_nofollow(name)),
        _ => Ok(None),
    }
}

/// Opens a regular file for reading. A pipe that took its place does not block.
///
/// # Errors
/// There is no regular file, or the system's refusal.
pub fn open_file(folder: &Dir, name: &str) -> io::Result<std::fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options)?;
    match file.metadata()?.is_file() {
        true => Ok(file.into_std()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "is no regular file")),
    }
}

/// Whether this process may change the content of a file where it stands: it is opened for that, and nothing is done with it.
///
/// # Errors
/// It may not.
pub fn check_may_write(folder: &Dir, name: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).follow(FollowSymlinks::No).nonblock(true);
    match folder.open_with(name, &options) {
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            Err(error)
        }
        // That it may, and not now, as of a program that runs, is another question.
        _ => Ok(()),
    }
}

/// Where a link points, as written; `None` if that is not UTF-8.
///
/// # Errors
/// There is no link, or the system's refusal.
pub fn link_target(folder: &Dir, name: &str) -> io::Result<Option<String>> {
    Ok(folder.read_link_contents(name)?.into_os_string().into_string().ok())
}
