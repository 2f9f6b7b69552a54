//! Whole volumes, carried out of the store into real folders and in from them.

use crate::failure::Failure;
use crate::session::Session;
use crate::state::no_volume;
use cap_std::fs::Dir;
use hutch_model::digest::Digest;
use hutch_model::ledger::{EntryKind, Record, Sealed, VolumeRecord};
use hutch_model::snapshot::Changes;
use hutch_sandbox::RunError;
use hutch_store::plain::{Bounds, Exported, Times, export_folder, export_totals, import_folder};
use hutch_store::{Skipped, VolumeName};
use std::collections::BTreeMap;
use std::path::Path;

impl Session {
    /// Writes a volume's state into an empty folder, and says how much that is. A preview writes nothing; for it the folder may be
    /// missing.
    ///
    /// # Errors
    /// The folder is not empty or can't be written; there is no such volume.
    pub fn export(
        &self,
        state: &BTreeMap<String, Digest>,
        volume: &VolumeName,
        (dir, path): (Option<&Dir>, &Path),
    ) -> Result<Exported, Failure> {
        let tree = state.get(volume.as_str()).ok_or_else(|| no_volume(volume))?;
        let (objects, bounds) = (self.objects(), Bounds::widest());
        Ok(match dir.filter(|_| self.keeps()) {
            Some(dir) => export_folder(&*objects, tree, dir, path, &bounds)?,
            None => export_totals(&*objects, tree, dir, path, &bounds)?,
        })
    }

    /// Makes a folder's content the state of a volume.
    ///
    /// # Errors
    /// The folder holds more than a state may; there is no such volume.
    pub fn import(&self, volume: &VolumeName, folder: (&Dir, &Path)) -> Result<Taken, Failure> {
        let imported = self.absorb_edits().and_then(|_| self.import_now(volume, folder));
        self.recorded(EntryKind::Import, imported)
    }

    fn import_now(&self, volume: &VolumeName, (dir, path): (&Dir, &Path)) -> Result<Taken, Failure> {
        let before = self.head()?.state.get(volume.as_str()).copied().ok_or_else(|| no_volume(volume))?;
        let imported = import_folder(dir, path, &Bounds::widest(), Times::Kept)?;
        let changes = imported.changes_from(&*self.objects(), &before).map_err(RunError::from)?;
        let change = VolumeRecord::new(Some(before), imported.tree(), changes.clone());
        let volumes = BTreeMap::from([(volume.to_string(), change)]);
        let record = Record { volumes, kept: true, ..self.record(EntryKind::Import) };
        let (entry, behind) = self.commit(&record, &imported, &[])?;
        Ok(Taken { entry, changes, behind, skipped: imported.skipped().clone() })
    }
}

/// A folder's content that became the state of a volume.
#[derive(Debug)]
#[non_exhaustive]
pub struct Taken {
    /// The entry that records it.
    pub entry: Sealed,
    /// What changed.
    pub changes: Changes,
    /// Why the plain directory does not show the state yet, if it does not.
    pub behind: Option<String>,
    /// What is in the folder and can be in no state.
    pub skipped: Skipped,
}
