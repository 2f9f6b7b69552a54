//! Whether a run, whosever it is, has begun to place what it changed in or around a folder, and has not ended: a staging folder says so
//! that lies there and whose journal is not done. What is around it is half changed, or is being changed, for everybody who looks.
//!
//! That is believed only of what a run of this user has made where it lies: what others put there under such a name, and what was copied there
//! from elsewhere, be it by `git clone`, keeps nobody out.

use super::STAGING;
use super::journal;
use super::seal::NAME_DIGITS;
use cap_std::fs::{Dir, Metadata};
use hutch_folder::{Hands, Stamp, look, open_file, open_folder};
use std::fs::TryLockError;
use std::io;
use std::path::Path;

/// So many names are looked at of the granted folder and of each above it, before a guest starts. Of what else is in the granted one it
/// shows when the guest goes there.
const LOOKED_NAMES: usize = 1 << 16;

/// A staging folder that a run made where it lies.
pub(crate) struct Staged {
    path: String,
    dir: Dir,
    /// The number of the folder that it lies in, and its own.
    within: (u64, u64),
}

impl Staged {
    /// The one of this name in the folder at `path`, if a run of this user made it there and is not done.
    pub(super) fn at(folder: &Dir, path: &Path, name: &str) -> Option<Staged> {
        let digits = name.strip_prefix(STAGING)?;
        if digits.len() != NAME_DIGITS || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let dir = open_folder(folder, name).ok().flatten()?;
        let (around, own) = (folder.dir_metadata().ok()?, dir.dir_metadata().ok()?);
        let within = (Stamp::of(&around).inode, Stamp::of(&own).inode);
        let staged = Staged { path: path.join(name).display().to_string(), dir, within };
        (is_private(&own) && staged.is_live().is_some()).then_some(staged)
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether its run lives; `None` if that is done, or its journal is none that was written here.
    pub(crate) fn is_live(&self) -> Option<bool> {
        let metadata = self.dir.symlink_metadata(journal::NAME).ok()?;
        let journal = open_file(&self.dir, journal::NAME).ok()?;
        if !is_private(&metadata) || !journal::is_within(&journal, self.within) {
            return None;
        }
        // Held from before it has this name until it has it no more.
        match journal.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(true),
            // The run may have come to its end since the file was opened.
            Ok(()) => look(&self.dir, journal::NAME).ok().flatten().map(|_| false),
            // Without locks nobody can tell.
            Err(TryLockError::Error(_)) => None,
        }
    }

    /// From now on it tells of no run any more. All else in it stays, and its journal says under another name what that is.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn let_go(&self) -> io::Result<()> {
        let (mut name, mut taken) = (journal::LEFT_NAME.to_owned(), 0_u64);
        loop {
            match Hands::default().place((&self.dir, journal::NAME), (&self.dir, &name)) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    taken += 1;
                    name = format!("{}-{taken}", journal::LEFT_NAME);
                }
                placed => return placed,
            }
        }
    }
}

/// Those in this folder and in all above it that can be listed.
pub(super) fn around(folder: &Dir, real_path: &Path) -> Vec<Staged> {
    let mut found = inside(folder, real_path);
    for above in real_path.ancestors().skip(1) {
        if let Ok(folder) = crate::package::open_folder(above) {
            found.extend(inside(&folder, above));
        }
    }
    found
}

fn inside(folder: &Dir, path: &Path) -> Vec<Staged> {
    let entries = folder.entries().into_iter().flatten().take(LOOKED_NAMES);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(STAGING)).collect();
    names.sort_unstable();
    names.iter().filter_map(|name| Staged::at(folder, path, name)).collect()
}

/// Whether it is this user's and nobody else may open it, as all that a run makes there: nobody else has a lock on it.
#[cfg(unix)]
fn is_private(metadata: &Metadata) -> bool {
    use cap_std::fs::MetadataExt;
    const OTHERS: u32 = 0o077;
    metadata.uid() == hutch_folder::effective_user() && metadata.mode() & OTHERS == 0
}

/// Nobody says there whose it is.
#[cfg(not(unix))]
fn is_private(_: &Metadata) -> bool {
    false
}

/// The staging folder at a path, if the run did not live that it tells of.
pub(crate) fn left_at(path: &Path) -> Option<Staged> {
    let above = path.parent()?;
    let folder = crate::package::open_folder(above).ok()?;
    let name = path.file_name()?.to_str()?;
    Staged::at(&folder, above, name).filter(|staged| staged.is_live() == Some(false))
}
