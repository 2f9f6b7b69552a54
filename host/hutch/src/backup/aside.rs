//! A folder beside a backup or a home, for what is on its way there: copies of the home, with its keys. It goes when it is dropped. What a
//! process leaves that is killed, the next one in that place removes; it knows it by a file in it, which a living one holds locked. What is in
//! such a folder is removed through its handle, and that file as the last: whatever else gets its name meanwhile keeps what is in it.

use crate::package::open_folder;
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp, list, list_at_most, look};
use hutch_store::{InstanceLock, StoreError, lock};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// What the folder of a backup is called, before something random.
pub(super) const BACKUP: &str = ".hutch-backup-";

/// The same of a home that is restored.
pub(super) const RESTORE: &str = ".hutch-restore-";

/// How many letters and digits the random part has.
const RANDOM_CHARS: usize = 6;

/// The file that is locked as long as the folder is used. What somebody else calls so has none.
const HELD: &str = "hutch.aside";

/// How often a folder is made again that somebody took for one that was left, before it was held.
const TRIES: u32 = 8;

#[derive(Debug)]
pub(super) struct Aside {
    path: PathBuf,
    /// Where the folder lies.
    place: Dir,
    left: Left,
}

impl Aside {
    /// Makes a folder that nobody else may enter, and removes those that were left there.
    ///
    /// # Errors
    /// The system's refusal.
    pub(super) fn make(prefix: &str, beside: &Path) -> Result<Aside, StoreError> {
        let refused = |error| StoreError::io(beside, "make a folder there", error);
        let place = open_folder(beside).map_err(refused)?;
        for left in all_left(&place, beside) {
            // What can't be removed now, the next one removes.
            let _ = left.remove(&place);
        }
        let mut tries = 0;
        loop {
            let made = private_folder(prefix, beside).map_err(refused)?;
            match hold(&place, made.path()) {
                Ok(left) => return Ok(Aside { path: made.keep(), place, left }),
                Err(_) if tries < TRIES => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn folder(&self) -> &Dir {
        &self.left.folder
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = self.left.remove(&self.place);
    }
}

/// A folder that nobody else is at.
#[derive(Debug)]
struct Left {
    name: String,
    folder: Dir,
    /// Let go of when the folder is gone. One that was empty is not held, and goes only if it still is.
    held: Option<InstanceLock>,
}

impl Left {
    /// The folder of this name, if a process has left it that was killed.
    fn found(place: &Dir, at: &Path, name: String) -> Option<Left> {
        let random = [BACKUP, RESTORE].into_iter().find_map(|prefix| name.strip_prefix(prefix))?;
        let is_random = random.len() == RANDOM_CHARS && random.chars().all(|one| one.is_ascii_alphanumeric());
        let folder = hutch_folder::open_folder(place, &name).ok()??;
        let held = match look(&folder, HELD).ok()? {
            Some(Stamp { form: Form::File, .. }) => Some(lock(&folder, &at.join(&name), HELD, Duration::ZERO).ok()?),
            // It was not held yet, or not any more; who is about to hold it makes another.
            None if is_random && is_empty(&folder) => None,
            _ => return None,
        };
        Some(Left { name, folder, held })
    }

    fn remove(&self, place: &Dir) -> io::Result<()> {
        let mut names = if self.held.is_some() { list(&self.folder)?.names } else { Vec::new() };
        names.sort_by_key(|name| name == HELD);
        for name in &names {
            match look(&self.folder, name)? {
                Some(Stamp { form: Form::Folder, .. }) => self.folder.remove_dir_all(name)?,
                _ => Hands::default().drop_file(&self.folder, name)?,
            }
        }
        Hands::default().remove_folder(place, &self.name)
    }
}

fn is_empty(folder: &Dir) -> bool {
    list_at_most(folder, 1).is_ok_and(|listing| listing.names.is_empty() && listing.not_text.is_empty())
}

/// All that was left in a place, held so that nobody else removes it or begins to use it.
fn all_left(place: &Dir, at: &Path) -> impl Iterator<Item = Left> {
    list(place).unwrap_or_default().names.into_iter().filter_map(move |name| Left::found(place, at, name))
}

/// What backups and restores that were killed have left in a folder: copies of homes, with their keys, or nothing. The next backup to that
/// folder, or restore of a home in it, removes them; this only looks.
///
/// # Errors
/// The system's refusal.
pub fn remnants(place: &Path) -> io::Result<Vec<PathBuf>> {
    Ok(all_left(&open_folder(place)?, place).map(|left| place.join(&left.name)).collect())
}

/// A new folder below another, which nobody else may enter. It goes when it is dropped.
fn private_folder(prefix: &str, beside: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix).rand_bytes(RANDOM_CHARS);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir_in(beside)
}

/// Holds a folder that was just made in a place.
fn hold(place: &Dir, path: &Path) -> Result<Left, StoreError> {
    let busy = || StoreError::Busy { at: path.display().to_string() };
    let refused = |error| StoreError::io(path, "hold it", error);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(busy)?.to_owned();
    let folder = hutch_folder::open_folder(place, &name).map_err(refused)?.ok_or_else(busy)?;
    let held = lock(&folder, path, HELD, Duration::ZERO)?;
    match look(&folder, HELD).map_err(refused)? {
        Some(_) => Ok(Left { name, folder, held: Some(held) }),
        None => Err(busy()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, read_dir, rename, write};

    fn folder(path: PathBuf, files: &[&str]) -> PathBuf {
        create_dir(&path).unwrap();
        files.iter().for_each(|file| write(path.join(file), "a key").unwrap());
        path
    }

    #[test]
    fn what_was_left_goes_with_the_next_one_and_nothing_else_does() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let beside = Aside::make(RESTORE, place.path()).unwrap();
        // One at work, and one that nobody had held yet.
        let left = [folder(at(".hutch-backup-killed"), &["0", HELD]), folder(at(".hutch-restore-a1B2c3"), &[])];
        let mine = [
            folder(at(".hutch-backup-mine"), &["0"]),
            folder(at(".hutch-backup-abcdef"), &["0"]),
            folder(at(".hutch-restore-empty"), &[]),
        ];
        assert_eq!(remnants(place.path()).unwrap(), left);
        drop(Aside::make(BACKUP, place.path()).unwrap());
        assert!(!left.iter().any(|folder| folder.exists()));
        assert!(beside.path().exists(), "somebody holds it");
        drop(beside);
        assert_eq!(read_dir(place.path()).unwrap().count(), mine.len());
        assert!(mine[..2].iter().all(|folder| folder.join("0").exists()));
    }

    #[test]
    fn another_folder_that_gets_the_name_of_one_that_was_left_keeps_what_is_in_it() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        let (name, dir) = (".hutch-backup-killed", open_folder(place.path()).unwrap());
        folder(at(name), &["0", HELD]);
        let left = Left::found(&dir, place.path(), name.to_owned()).unwrap();
        rename(at(name), at("moved")).unwrap();
        let mine = folder(at(name), &["mine", HELD]);
        assert!(left.remove(&dir).is_err());
        assert_eq!(read_dir(mine).unwrap().count(), 2);
        assert_eq!(read_dir(at("moved")).unwrap().count(), 0);
        // Nor does one that was empty when it was looked at lose what it was given then.
        let empty = folder(at(".hutch-backup-a1B2c3"), &[]);
        let left = Left::found(&dir, place.path(), ".hutch-backup-a1B2c3".to_owned()).unwrap();
        write(empty.join("0"), "mine").unwrap();
        assert!(left.remove(&dir).is_err() && empty.join("0").exists());
    }
}
