//! Looking and opening for reading.

use crate::stamp::{Form, Stamp};
use cap_fs_ext::{DirExt, FollowSymlinks, MetadataExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, Metadata, OpenOptions};
use std::io;
use std::path::Path;

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

/// Refuses what must not be written where it stands: what is no regular file, and a file that has another name, under which it is
/// somebody else's too.
///
/// # Errors
/// It is such.
pub fn check_own(metadata: &Metadata) -> io::Result<()> {
    let reason = match () {
        () if !metadata.is_file() => "is no regular file",
        () if metadata.nlink() > 1 => "has another name too (a hard link)",
        () => return Ok(()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, reason))
}

/// The same of what stands under `name`, if anything does.
///
/// # Errors
/// It is such, or the system's refusal.
pub fn check_own_at(folder: &Dir, name: &str) -> io::Result<()> {
    found(folder.symlink_metadata(name))?.as_ref().map_or(Ok(()), check_own)
}

/// The user with whose rights this process uses files.
#[cfg(unix)]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
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
pub fn open_folder(parent: &Dir, name: impl AsRef<Path>) -> io::Result<Option<Dir>> {
    let name = name.as_ref();
    match found(parent.symlink_metadata(name))?.map(|metadata| Stamp::of(&metadata)) {
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

/// Whether this process may change the content of a file where it stands. It is only asked for: on a file system in layers, who opens a file
/// for writing changes it.
///
/// # Errors
/// It may not.
#[cfg(unix)]
pub fn check_may_write(folder: &Dir, name: &str) -> io::Result<()> {
    use rustix::fs::{Access, AtFlags, accessat};
    match accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW)
        .map_err(io::Error::from)
    {
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            Err(error)
        }
        // That it may, and not now, as of a program that runs, is another question.
        _ => Ok(()),
    }
}

/// The same: it is opened for that, and nothing is done with it.
///
/// # Errors
/// It may not.
#[cfg(not(unix))]
pub fn check_may_write(folder: &Dir, name: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).follow(FollowSymlinks::No).nonblock(true);
    match folder.open_with(name, &options) {
        Err(error) if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// What an access list leaves to owner, group and others, as the nine bits of a mode: of an open file, or of what is made in an open folder
/// (`made`). `None` where there is none, or nobody says.
#[cfg(target_os = "linux")]
pub fn listed_rights(file: &std::fs::File, made: bool) -> Option<u32> {
    // `struct posix_acl_xattr_header` and its entries in linux/posix_acl_xattr.h: a version, then tag, permissions and whose they are.
    const VERSION: [u8; 4] = [2, 0, 0, 0];
    const ENTRY_BYTES: usize = 8;
    const OWNER: u16 = 1;
    const GROUP: u16 = 4;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;
    let name = if made { "system.posix_acl_default" } else { "system.posix_acl_access" };
    let mut bytes = [0; 4096];
    let length = rustix::fs::fgetxattr(file, name, &mut bytes[..]).ok()?;
    let entries = bytes.get(..length)?.strip_prefix(&VERSION)?;
    let of = |wanted: u16| {
        entries.chunks_exact(ENTRY_BYTES).find_map(|entry| match entry {
            [a, b, c, d, ..] if u16::from_le_bytes([*a, *b]) == wanted => {
                Some(u32::from(u16::from_le_bytes([*c, *d])) & 7)
            }
            _ => None,
        })
    };
    Some(of(OWNER)? << 6 | (of(GROUP)? & of(MASK).unwrap_or(7)) << 3 | of(OTHERS)?)
}

/// Nobody says there.
#[cfg(not(target_os = "linux"))]
pub fn listed_rights(_: &std::fs::File, _: bool) -> Option<u32> {
    None
}

/// Where a link points, as written; `None` if that is not UTF-8.
///
/// # Errors
/// There is no link, or the system's refusal.
pub fn link_target(folder: &Dir, name: &str) -> io::Result<Option<String>> {
    Ok(folder.read_link_contents(name)?.into_os_string().into_string().ok())
}
