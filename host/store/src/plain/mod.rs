//! The volumes as plain directories, for people. The store is the truth; a directory shows it, and what somebody changes
//! there is noticed and can be made part of the truth, never silently overwritten. Knows no guest.
//!
//! - [`Plain::update`] brings all directories to the state, in steps that can be cut off anywhere: the next update finishes
//!   them. What stands in its way and is not ours stays, and shows as an edit from then on.
//! - [`Plain::check`] looks at what a run touched, and costs no more than that. [`Plain::import`] looks at everything, and
//!   makes a state of it, to be committed as its own entry.
//! - [`import_folder`] and [`export_folder`] read and write folders anywhere else.
//!
//! A file is *ours* if it looks as it did when it was last known to hold what a snapshot says, or if it holds what the shown
//! snapshot has there, or the one that an update is bringing the directory to (`judge`). Looks are remembered as stamps; a stamp
//! that does not fit costs reading the file, nothing more. There is no journal of steps: after a crash, what an unfinished
//! update wrote is recognised by its content, and the same update runs again before any other.
//!
//! What no state can hold (a pipe, a link that leaves the directory, a name that is not UTF-8) is left where it is, and said.
//!
//! What people's tools act on ([`is_acted_on`]) is not shown: a run could have code run by a shell that enters the directory. It stays in the
//! state, and what others put there under such names stays in the directory; neither is ever made the other.
//!
//! Nothing here is made durable, because all of it follows from the store. After another start of the machine, or without stamps,
//! a directory may show what it showed earlier, or files without their content. So no stamp is believed then, and each file that holds
//! what an earlier snapshot has there, or that could be what is left of the shown one, is ours too and written anew, if its time is that
//! snapshot's to the nanosecond: all that is written here is given it, and what a person puts back has another. A volume's directory
//! that is missing altogether is no edit either.

mod check;
mod content;
mod export;
mod judge;
mod scan;
mod staged;
mod stamps;
#[cfg(test)]
mod tests;
mod update;

pub use export::{Exported, export_folder, export_totals};
pub use scan::{Bounds, Imported, Times, import_folder};
pub use update::Updated;

use crate::error::StoreError;
use crate::instance_dir::{InstanceDir, InstanceLock, lock, try_lock};
use crate::names::VolumeName;
use crate::skipped::Skipped;
use crate::store::{State, Store};
use cap_std::fs::Dir;
use hutch_folder::{Form, Hands, Stamp, look, now_ns, open_folder};
use hutch_model::acted_on::is_acted_on;
use hutch_model::snapshot::{Changes, empty_tree};
use stamps::{Shown, Stamps};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The plain directories of one instance.
pub struct Plain {
    store: Arc<dyn Store>,
    stamps: Stamps,
    folder: Dir,
    path: PathBuf,
    hands: Hands,
    wait: Duration,
    /// Which start of the machine this is, if the system says.
    boot: Option<String>,
    /// The clock that files are stamped with.
    now_ns: fn() -> u64,
    /// A clock that nobody sets.
    passed_ns: fn() -> u64,
}

impl std::fmt::Debug for Plain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plain").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Plain {
    /// The directories of `store` in the folder of its instance. `wait` is the longest wait for each lock.
    ///
    /// # Errors
    /// The instance's folder can't be opened.
    pub fn open(dir: &InstanceDir, store: Arc<dyn Store>, wait: Duration) -> Result<Plain, StoreError> {
        let folder = dir.open()?;
        Ok(Plain {
            store,
            stamps: Stamps::open(&folder, dir.path(), wait)?,
            folder,
            path: dir.path().to_owned(),
            hands: Hands::default(),
            wait,
            boot: boot(),
            now_ns,
            passed_ns,
        })
    }

    /// Looks through the whole directory of `volume` and answers with the state that it holds. If that [is an edit](Imported::is_edit)
    /// it is to be committed as an entry of its own that starts from [`Imported::base`]. Brings the directory up to date
    /// first, so what differs is what others changed; where both changed, the directory's version is in the answer and the
    /// volume's in its history. `None` if there is no directory. A file that only has another time does not differ.
    ///
    /// # Errors
    /// The directory holds more than `bounds`; [`StoreError::Busy`] if another process keeps changing it.
    pub fn import(&self, volume: &VolumeName, bounds: &Bounds) -> Result<Option<Imported>, StoreError> {
        let _lock = self.lock()?;
        self.update_locked(None, &mut Updated::default())?;
        let Some((shown, root)) = self.shown(volume)? else { return Ok(None) };
        scan::import_volume(self, (volume, shown, root), bounds, true).map(Some)
    }

    /// The same, but nothing is brought up to date and nothing is written down. Of a directory that is missing or not up to date
    /// nothing can be said: `None`.
    ///
    /// # Errors
    /// As for import.
    pub fn look(&self, volume: &VolumeName, bounds: &Bounds) -> Result<Option<Imported>, StoreError> {
        let state = self.store.head()?.state.get(volume.as_str()).copied();
        let shown = self.stamps.shown(volume)?;
        let Some(shown) = shown.filter(|shown| shown.target.is_none() && Some(shown.tree) == state) else {
            return Ok(None);
        };
        let Some(root) = self.root(volume, false)? else { return Ok(None) };
        let imported = scan::import_volume(self, (volume, shown, root), bounds, false)?;
        // An update in between would look like an edit.
        let same = self.stamps.shown(volume)? == Some(shown);
        Ok(same.then_some(imported))
    }

    /// What [`look`](Plain::look) finds changed, and what no state can hold.
    ///
    /// # Errors
    /// As for import.
    pub fn status(&self, volume: &VolumeName, bounds: &Bounds) -> Result<(Changes, Skipped), StoreError> {
        let before = self.store.head()?.state.get(volume.as_str()).copied().unwrap_or_else(empty_tree);
        let Some(imported) = self.look(volume, bounds)? else { return Ok(Default::default()) };
        let changes = imported.changes_from(&*self.store.objects(), &before);
        let changes = changes.map_err(|error| StoreError::object(self.store.at(), &error))?;
        Ok((changes, imported.skipped().clone()))
    }

    /// What the directory shows and the directory itself, if both are there; else there is nothing that can differ.
    fn shown(&self, volume: &VolumeName) -> Result<Option<(Shown, Dir)>, StoreError> {
        let Some(shown) = self.stamps.shown(volume)? else { return Ok(None) };
        match self.root(volume, false)? {
            Some(root) => Ok(Some((shown, root))),
            None => {
                self.stamps.forget(volume)?;
                Ok(None)
            }
        }
    }

    /// The directory of `volume`; `None` if it is missing and not to be made.
    fn root(&self, volume: &VolumeName, create: bool) -> Result<Option<Dir>, StoreError> {
        let mut at = self.folder.try_clone().map_err(|error| self.failed(volume, "open the folder", error))?;
        for name in volume.components() {
            let failed = |error| self.failed(volume, "open the folder", error);
            let next = match look(&at, name).map_err(failed)? {
                None if create => {
                    self.hands
                        .create_folder(&at, name)
                        .map_err(|error| self.failed(volume, "create the folder", error))?;
                    open_folder(&at, name).map_err(failed)?
                }
                None => return Ok(None),
                Some(Stamp { form: Form::Folder, .. }) => open_folder(&at, name).map_err(failed)?,
                Some(_) => {
                    let reason = "a volume's place is taken by something that is no folder".to_owned();
                    return Err(StoreError::Refused { at: self.at(volume, &[]), reason });
                }
            };
            at = next.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        }
        Ok(Some(at))
    }

    /// The state that the directories are to show: a durable one, or what the power took back would look like somebody's edit.
    fn durable_state(&self) -> Result<State, StoreError> {
        let head = self.store.head()?;
        self.store.settle(head.changed)?;
        Ok(head.state.into_iter().filter(|(volume, _)| !is_acted_on(volume.as_str())).collect())
    }

    /// The path of something in a volume, for messages.
    fn full_path(&self, volume: &VolumeName, path: &[String]) -> PathBuf {
        let mut full = self.path.join(volume.as_str());
        full.extend(path);
        full
    }

    fn at(&self, volume: &VolumeName, path: &[String]) -> String {
        crate::error::at(&self.full_path(volume, path))
    }

    fn failed(&self, volume: &VolumeName, action: &'static str, error: io::Error) -> StoreError {
        StoreError::io(self.full_path(volume, &[]), action, error)
    }

    /// The lock on changing directories, if nobody else holds it.
    fn try_lock(&self) -> Result<Option<InstanceLock>, StoreError> {
        try_lock(&self.folder, &self.path, "hutch.lock")
    }

    /// The same, after waiting for it if need be.
    fn lock(&self) -> Result<InstanceLock, StoreError> {
        lock(&self.folder, &self.path, "hutch.lock", self.wait)
    }
}

/// Nanoseconds since this was first asked.
fn passed_ns() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "how long an update takes is no time of the day")]
    let first = FIRST.get_or_init(Instant::now);
    u64::try_from(first.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Which start of the machine this is: another word after each. `None` where the system does not say.
fn boot() -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the system's own word, at a path that is no file of anybody's")]
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(read.trim().to_owned()).filter(|boot| !boot.is_empty())
}
