//! A folder beside a backup or a home, for what is on its way there: copies of the home, with its keys. It goes when it is dropped. What a
//! process leaves that is killed, the next one in that place removes; it knows it by a file in it, which a living one holds locked.

use super::failed;
use crate::package::open_folder;
use cap_std::fs::Dir;
use hutch_folder::{Form, Stamp, list, look};
use hutch_store::{InstanceLock, StoreError, lock};
use std::io;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// What the folder of a backup is called, before something random.
pub(super) const BACKUP: &str = ".hutch-backup-";

/// The same of a home that is restored.
pub(super) const RESTORE: &str = ".hutch-restore-";

/// The file that is locked as long as the folder is used. What somebody else calls so has none.
const HELD: &str = "hutch.aside";

/// How often a folder is made again that somebody took for one that was left, before it was held.
const TRIES: u32 = 8;

#[derive(Debug)]
pub(super) struct Aside {
    folder: TempDir,
    /// Let go of when the folder is gone.
    _held: InstanceLock,
}

impl Aside {
    /// Makes a folder that nobody else may enter, and removes those that were left there.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn make(prefix: &str, beside: &Path) -> Result<Aside, StoreError> {
        let refused = |error| failed(beside, "make a folder there", error);
        sweep(&open_folder(beside).map_err(refused)?, beside);
        let mut tries = 0;
        loop {
            let folder = private_folder(prefix, beside).map_err(refused)?;
            match hold(folder.path()) {
                Ok(held) => return Ok(Aside { folder, _held: held }),
                Err(_) if tries < TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A new folder below another, which nobody else may enter. It goes when it is dropped.
fn private_folder(prefix: &str, beside: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(beside)
}

/// Holds a folder that was just made.
fn hold(path: &Path) -> Result<InstanceLock, StoreError> {
    let refused = |error| failed(path, "hold it", error);
    let folder = open_folder(path).map_err(refused)?;
    let held = lock(&folder, path, HELD, Duration::ZERO)?;
    match look(&folder, HELD).map_err(refused)? {
        Some(_) => Ok(held),
        None => Err(StoreError::Busy { at: path.display().to_string() }),
    }
}

/// Removes what was left in a place. What can't be removed now, the next one removes.
fn sweep(place: &Dir, at: &Path) {
    let names = list(place).unwrap_or_default().names;
    for name in names.iter().filter(|name| name.starts_with(BACKUP) || name.starts_with(RESTORE)) {
        let Ok(Some(folder)) = hutch_folder::open_folder(place, name) else { continue };
        let is_ours = matches!(look(&folder, HELD), Ok(Some(Stamp { form: Form::File, .. })));
        if is_ours && let Ok(_held) = lock(&folder, &at.join(name), HELD, Duration::ZERO) {
            let _ = place.remove_dir_all(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_goes_with_the_next_one_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let Aside { folder, _held: held } = Aside::make(BACKUP, place.path()).unwrap();
        let left = folder.keep();
        std::fs::write(left.join("0"), "a key").unwrap();
        let beside = Aside::make(RESTORE, place.path()).unwrap();
        assert!(left.exists(), "somebody holds it");
        drop(held);
        let mine = [".hutch-backup-mine", ".hutch-restore-empty"].map(|name| place.path().join(name));
        mine.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        std::fs::write(mine[0].join("0"), "mine").unwrap();
        drop(Aside::make(BACKUP, place.path()).unwrap());
        assert!(!left.exists() && beside.path().exists());
        drop(beside);
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), mine.len());
        assert!(mine[0].join("0").exists());
    }
}
