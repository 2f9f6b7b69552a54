//! Who has an instance open. Whoever uses it holds a lock together with all others who do, for as long as its store is open; whoever
//! replaces all of it (another name, another place, nowhere) holds it alone. So no instance is split under a server: what is written
//! lands where the next one to open the instance finds it. Knows nothing of what is in the files.

use crate::error::{StoreError, at};
use crate::instance_dir::{self, InstanceDir, InstanceLock};
use cap_std::fs::Dir;
use hutch_folder::Stamp;
use std::fs::{File, TryLockError};
use std::io;
use std::time::Duration;

/// The file that is locked. Empty.
const NAME: &str = "hutch.open";

/// How often an instance is looked for again because it was replaced in the moment in which it was opened.
pub(crate) const MOVES_MAX: u32 = 8;

/// That an instance is open. The system lets go of it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Hold {
    dir: InstanceDir,
    /// The folder, wherever it is by now.
    folder: Dir,
    /// What is locked, and tells the folder from another one in its place. None where nothing may be written: nothing is then.
    file: Option<(InstanceLock, Stamp)>,
}

impl Hold {
    /// Holds the instance together with others, after waiting at most `wait` for one who holds it alone. `None` if it was replaced
    /// meanwhile: then `folder` is not the one that `dir` names any more.
    ///
    /// # Errors
    /// [`StoreError::InUse`], or the system's refusal.
    pub(crate) fn together(dir: &InstanceDir, folder: Dir, wait: Duration) -> Result<Option<Hold>, StoreError> {
        let file = match instance_dir::lock_file(&folder, NAME) {
            Ok((file, stamp)) => Some((InstanceLock::of(file), stamp)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) if is_denied(&error) => None,
            Err(error) => return Err(failed(dir, error)),
        };
        if let Some((file, _)) = &file {
            locked(dir, file.file(), wait, File::try_lock_shared)?;
        }
        let hold = Hold { dir: dir.clone(), folder, file };
        Ok(hold.is_in_place()?.then_some(hold))
    }

    /// Holds the instance alone from now on, after waiting at most `wait` for all others to close it. If they don't, nothing is held
    /// any more.
    ///
    /// # Errors
    /// [`StoreError::InUse`], which names them as far as the system does; it was replaced meanwhile ([`StoreError::Missing`]); the
    /// system's refusal.
    pub(crate) fn alone(&self, wait: Duration) -> Result<(), StoreError> {
        if let Some((file, _)) = &self.file {
            // Two who both wanted to be alone, and held on to what they have, would wait for each other.
            let alone = |file: &File| {
                file.unlock().map_err(TryLockError::Error)?;
                file.try_lock()
            };
            locked(&self.dir, file.file(), wait, alone)?;
        }
        self.check()
    }

    /// The folder, wherever it is by now.
    pub(crate) fn folder(&self) -> &Dir {
        &self.folder
    }

    /// Refuses to go on in a folder that is not the instance's any more: somebody moved it, or took it away, without asking who has it
    /// open.
    ///
    /// # Errors
    /// [`StoreError::Missing`], or the system's refusal.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self.is_in_place()? {
            true => Ok(()),
            false => {
                let what = "such instance any more: it was moved or taken away while it was open here".to_owned();
                Err(StoreError::Missing { at: at(self.dir.path()), what })
            }
        }
    }

    fn is_in_place(&self) -> Result<bool, StoreError> {
        let Some((_, stamp)) = &self.file else { return Ok(true) };
        let there = self.dir.look(NAME).map_err(|error| failed(&self.dir, error))?;
        Ok(there.is_some_and(|there| (there.device, there.inode) == (stamp.device, stamp.inode)))
    }
}

fn failed(dir: &InstanceDir, error: io::Error) -> StoreError {
    StoreError::io(dir.path().join(NAME), "lock the instance", error)
}

fn is_denied(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// A lock of the file, after waiting at most `wait` for it.
fn locked(
    dir: &InstanceDir,
    file: &File,
    wait: Duration,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<(), StoreError> {
    let held = instance_dir::wait_for(wait, || match lock(file) {
        Ok(()) => Ok(Some(())),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(failed(dir, error)),
    })?;
    held.ok_or_else(|| StoreError::InUse { at: at(dir.path()), by: holders(file) })
}

/// The processes that hold a lock on a file, as far as the system says.
fn holders(file: &File) -> Vec<u32> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        #[expect(clippy::disallowed_methods, reason = "the system's own word, at a path that is no file of anybody's")]
        let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
        let Ok(metadata) = file.metadata() else { return Vec::new() };
        // As in `1: FLOCK ADVISORY READ 4711 08:01:1234 0 EOF`, where 0 is a process that can't be seen from here.
        let device = metadata.dev();
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
        let place = format!("{major:02x}:{minor:02x}:{}", metadata.ino());
        let mut found: Vec<u32> = locks
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                let is_it = words.get(1) == Some(&"FLOCK") && words.get(5) == Some(&place.as_str());
                words.get(4).filter(|_| is_it)?.parse().ok()
            })
            .filter(|process| *process != 0)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        Vec::new()
    }
}
