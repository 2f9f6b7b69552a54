//! Whether a run, whosever it is, has begun to place what it changed in or around a folder, and has not ended: a staging folder says so
//! that lies there and whose journal is not done. What is around it is half changed, or is being changed, for everybody who looks.

use super::STAGING;
use super::journal;
use super::seal::NAME_DIGITS;
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, look, open_file, open_folder};
use std::fs::TryLockError;
use std::io;
use std::path::Path;

/// So many names are looked at of the granted folder and of each above it, before a guest starts. Of what else is in the granted one it
/// shows when the guest goes there.
const LOOKED_NAMES: usize = 1 << 16;

/// A staging folder: its path, and whether the run lives.
pub(crate) type Staged = (String, bool);

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
    let at = |name: String| is_live(folder, &name).map(|live| (path.join(name).display().to_string(), live));
    let mut staged: Vec<Staged> = names.filter_map(at).collect();
    staged.sort();
    staged
}

/// Whether the run lives that a name in a folder tells of; `None` if the name tells of none.
pub(super) fn is_live(folder: &Dir, name: &str) -> Option<bool> {
    let staging = begun(folder, name)?;
    // Held from before it has this name until all is done.
    let held = open_file(&staging, journal::NAME).map(|journal| journal.try_lock_shared());
    Some(matches!(held, Ok(Err(TryLockError::WouldBlock))))
}

/// The staging folder of this name, if it is this user's and its journal is not done. What other users made keeps nobody out.
fn begun(folder: &Dir, name: &str) -> Option<Dir> {
    let digits = name.strip_prefix(STAGING)?;
    if digits.len() != NAME_DIGITS || !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let staging = open_folder(folder, name).ok().flatten()?;
    let journal = look(&staging, journal::NAME).ok().flatten()?;
    (journal.form == Form::File && is_own(&staging)).then_some(staging)
}

#[cfg(unix)]
fn is_own(staging: &Dir) -> bool {
    use cap_std::fs::MetadataExt;
    staging.dir_metadata().is_ok_and(|found| found.uid() == hutch_folder::effective_user())
}

/// Nobody says there whose it is.
#[cfg(not(unix))]
fn is_own(_: &Dir) -> bool {
    true
}

/// The staging folder at a path, if the run did not live that it tells of.
pub(crate) fn left_at(path: &Path) -> Option<Dir> {
    let above = crate::package::open_folder(path.parent()?).ok()?;
    let name = path.file_name()?.to_str()?;
    begun(&above, name).filter(|_| is_live(&above, name) == Some(false))
}

/// From now on it tells of no run any more. All else in it stays, and its journal says under another name what that is.
///
/// # Errors
/// The system's refusal.
pub(crate) fn let_go(staging: &Dir) -> io::Result<()> {
    Hands::default().place((staging, journal::NAME), (staging, journal::LEFT_NAME))
}
