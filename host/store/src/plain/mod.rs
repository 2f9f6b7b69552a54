//! The volumes as plain directories, for people. The database is the truth; a directory shows it, and what somebody changes
//! there is noticed and can be made part of the truth, never silently overwritten. Knows no guest.
//!
//! - [`Plain::update`] brings all directories to the state, in steps that can be cut off anywhere: the next update finishes
//!   them. What stands in its way and is not ours stays, and shows as an edit from then on.
//! - [`Plain::check`] looks at what a run touched, and costs no more than that. [`Plain::import`] looks at everything, and
//!   makes a state of it, to be committed as its own entry.
//! - [`import_folder`] and [`export_folder`] read and write folders anywhere else.
//!
//! A file is *ours* if it looks as it did when it was last known to hold what the shown snapshot says, or if it holds what
//! that snapshot has there, or the one that an update is bringing the directory to. Looks are remembered as stamps; a stamp
//! that does not fit costs reading the file, nothing more. There is no journal of steps: after a crash, what an unfinished
//! update wrote is recognised by its content, and the same update runs again before any other.
//!
//! A file is made durable before it replaces another one. Its folder is not: after a loss of power, on a file system that
//! orders renames freely, an older version of a file can come back and then shows as an edit, in the ledger and undoable.
//! A volume's directory that is missing altogether is no edit: it is written anew.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

mod content;
mod disk;
mod export;
#[cfg(test)]
mod faults;
mod handles;
mod links;
mod look;
mod scan;
mod stamps;
mod steps;
#[cfg(test)]
mod tests;
mod update;

pub use export::{export_folder, export_totals};
pub use look::Touch;
pub use scan::{Bounds, Imported, Times, import_folder};
pub use update::Updated;

use crate::error::StoreError;
use crate::names::VolumeName;
use crate::sqlite::SqliteStore;
use crate::store::Store;
use cap_fs_ext::OpenOptionsSyncExt;
use cap_std::fs::{Dir, OpenOptions};
use disk::{Disk, Form, Stamp};
use hutch_model::snapshot::{PathChange, empty_tree};
use stamps::Shown;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// At what distance a lock that another process holds is tried again by those who can't do without.
const LOCK_PAUSE: Duration = Duration::from_millis(25);

/// Files on their way into a directory.
const STAGING: &str = "hutch.tmp";

/// The plain directories of one instance.
#[derive(Debug)]
pub struct Plain {
    store: SqliteStore,
    folder: Dir,
    disk: Disk,
}

/// Held while directories are changed. The system lets go of it when the process ends, however it ends.
struct Lock(#[allow(dead_code, reason = "held, not read")] std::fs::File);

impl Plain {
    /// The directories beside `store`.
    ///
    /// # Errors
    /// The instance's folder can't be opened.
    pub fn open(store: &SqliteStore) -> Result<Plain, StoreError> {
        Ok(Plain { store: store.clone(), folder: store.place().open()?, disk: Disk::default() })
    }

    /// Looks through the whole directory of `volume` and answers with the state that it holds, if that is another one than
    /// the volume's: to be committed as an entry of its own. Brings the directory up to date first, so what differs is
    /// what others changed; where both changed, the directory's version is in the answer and the volume's in its history.
    /// `None` if nothing differs. A file that only has another time does not differ.
    ///
    /// # Errors
    /// The directory holds what no state can hold, or more than `bounds`; [`StoreError::Busy`] if another process keeps
    /// changing it.
    pub fn import(&self, volume: &VolumeName, bounds: &Bounds) -> Result<Option<Imported>, StoreError> {
        let _lock = self.lock()?;
        self.update_locked(&mut Updated::default())?;
        let Some((shown, root)) = self.shown(volume)? else { return Ok(None) };
        let (imported, notes) = scan::import_volume(self, volume, shown, root, bounds)?;
        if !notes.is_empty() {
            self.store.pool().sql(|connection| stamps::save(connection, volume, shown, &notes))?;
        }
        Ok((imported.tree() != shown.tree).then_some(imported))
    }

    /// The same, but nothing is brought up to date and nothing is written down. Of a directory that is missing or not up to date
    /// nothing can be said: `None`.
    ///
    /// # Errors
    /// As for import.
    pub fn look(&self, volume: &VolumeName, bounds: &Bounds) -> Result<Option<Imported>, StoreError> {
        let _lock = self.lock()?;
        let state = self.store.head()?.state.get(volume.as_str()).copied();
        let shown = self.store.pool().sql(|connection| stamps::shown(connection, volume))?;
        let Some(shown) = shown.filter(|shown| shown.target.is_none() && Some(shown.tree) == state) else {
            return Ok(None);
        };
        let Some(root) = self.root(volume, false)? else { return Ok(None) };
        let (imported, _) = scan::import_volume(self, volume, shown, root, bounds)?;
        Ok((imported.tree() != shown.tree).then_some(imported))
    }

    /// What [`look`](Plain::look) finds changed.
    ///
    /// # Errors
    /// As for import.
    pub fn status(&self, volume: &VolumeName, bounds: &Bounds) -> Result<Vec<PathChange>, StoreError> {
        let before = self.store.head()?.state.get(volume.as_str()).copied().unwrap_or_else(empty_tree);
        let Some(imported) = self.look(volume, bounds)? else { return Ok(Vec::new()) };
        let changes = imported.changes_from(&*self.store.objects(), &before);
        changes.map_err(|error| StoreError::object(&self.store.place().database(), &error))
    }

    /// What the directory shows and the directory itself, if both are there; else there is nothing that can differ.
    fn shown(&self, volume: &VolumeName) -> Result<Option<(Shown, Dir)>, StoreError> {
        let shown = self.store.pool().sql(|connection| stamps::shown(connection, volume))?;
        let Some(shown) = shown else { return Ok(None) };
        match self.root(volume, false)? {
            Some(root) => Ok(Some((shown, root))),
            None => {
                self.store.pool().sql(|connection| stamps::forget(connection, volume))?;
                Ok(None)
            }
        }
    }

    /// The directory of `volume`; `None` if it is missing and not to be made.
    fn root(&self, volume: &VolumeName, create: bool) -> Result<Option<Dir>, StoreError> {
        let mut at = self.folder.try_clone().map_err(|error| self.failed(volume, "open the folder", error))?;
        for name in volume.components() {
            let failed = |error| self.failed(volume, "open the folder", error);
            let next = match disk::look(&at, name).map_err(failed)? {
                None if create => {
                    self.disk
                        .create_folder(&at, name)
                        .map_err(|error| self.failed(volume, "create the folder", error))?;
                    disk::folder(&at, name).map_err(failed)?
                }
                None => return Ok(None),
                Some(Stamp { form: Form::Folder, .. }) => disk::folder(&at, name).map_err(failed)?,
                Some(_) => {
                    let reason = "a volume's place is taken by something that is no folder".to_owned();
                    return Err(StoreError::Refused { path: self.path(volume, &[]), reason });
                }
            };
            at = next.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        }
        Ok(Some(at))
    }

    /// The path of something in a volume, for messages.
    fn path(&self, volume: &VolumeName, path: &[String]) -> PathBuf {
        let mut full = self.store.place().folder().join(volume.as_str());
        full.extend(path);
        full
    }

    fn failed(&self, volume: &VolumeName, action: &'static str, error: io::Error) -> StoreError {
        StoreError::io(self.path(volume, &[]), action, error)
    }

    /// The lock, if nobody else holds it.
    fn try_lock(&self) -> Result<Option<Lock>, StoreError> {
        let path = || self.store.place().folder().join("hutch.lock");
        let failed = |error| StoreError::io(path(), "lock the folder", error);
        let mut options = OpenOptions::new();
        // Without waiting: a pipe in its place has nobody at its other end.
        options.write(true).create(true).nonblock(true);
        cap_fs_ext::OpenOptionsFollowExt::follow(&mut options, cap_fs_ext::FollowSymlinks::No);
        let file = self.folder.open_with("hutch.lock", &options).map_err(failed)?.into_std();
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The lock, after waiting for it if need be.
    fn lock(&self) -> Result<Lock, StoreError> {
        let (wait, mut waited) = (self.store.pool().wait(), Duration::ZERO);
        loop {
            if let Some(lock) = self.try_lock()? {
                return Ok(lock);
            }
            if waited >= wait {
                break;
            }
            let pause = LOCK_PAUSE.min(wait - waited);
            std::thread::sleep(pause);
            waited += pause;
        }
        Err(StoreError::Busy { path: self.store.place().folder().join("hutch.lock") })
    }
}
