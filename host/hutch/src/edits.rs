//! What people change in plain directories: noticed where a run touched it, and made part of the state as an entry of its own, which
//! starts from the state that the directory was compared with and from no other.

use crate::answer::{Edits, WITHHELD_MAX};
use crate::execute::Executed;
use crate::failure::Failure;
use crate::session::Session;
use hutch_model::acted_on::is_acted_on;
use hutch_model::ledger::{EntryKind, Record, VolumeRecord};
use hutch_model::snapshot::{Changes, Node, read_tree};
use hutch_sandbox::RunError;
use hutch_store::plain::{Bounds, Imported, Plain};
use hutch_store::{Skipped, StoreError, VolumeName};
use std::collections::BTreeMap;

/// How often a directory is looked through again because the state changed meanwhile.
const LOOKS_MAX: u32 = 8;

impl Session {
    /// Looks whether what a run touched was changed outside.
    pub(crate) fn is_edited(&self, executed: &Executed) -> Result<bool, Failure> {
        let Some(plain) = self.kept_plain() else { return Ok(false) };
        for (name, touched) in &executed.touched {
            // Granted folders are touched too, and are nobody's plain directories.
            if let (Ok(volume), true) = (name.parse::<VolumeName>(), executed.volumes.contains_key(name))
                && plain.check(&volume, touched)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes what was changed outside part of the state, each volume as an entry of its own. What is changed while this looks is
    /// left for the next time.
    ///
    /// # Errors
    /// The store can't be written; the state does not stand still long enough.
    pub fn absorb_edits(&self) -> Result<Edits, Failure> {
        let mut edits = Edits::default();
        // A preview took them into account when it began.
        let Some(plain) = self.kept_plain() else { return Ok(edits) };
        for volume in self.head()?.state.keys() {
            let mut looks = 0;
            loop {
                let Some(imported) = plain.import(volume, &Bounds::widest())? else { break };
                edits.skip(volume, imported.skipped());
                if !imported.is_edit() {
                    break;
                }
                let record = self.edit(volume, &imported)?;
                match self.store.commit(&record, &imported, &[]) {
                    Ok(sealed) => {
                        edits.entries.push(sealed);
                        break;
                    }
                    // The state moved on, or the file did: what is there now is looked at again.
                    Err(StoreError::Conflict { .. } | StoreError::Changed { .. }) if looks < LOOKS_MAX => looks += 1,
                    Err(error) => return Err(error.into()),
                }
            }
        }
        if !edits.entries.is_empty() {
            let _ = self.update_plain();
        }
        Ok(edits)
    }

    fn kept_plain(&self) -> Option<&Plain> {
        self.plain.as_deref().filter(|_| self.keeps())
    }

    /// What was changed outside as a record.
    fn edit(&self, volume: &VolumeName, imported: &Imported) -> Result<Record, Failure> {
        let before = imported.base();
        let changes = match before {
            Some(before) => imported
                .changes_from(&*self.objects(), &before)
                .map_err(|error| StoreError::object(self.store.at(), &error))?,
            None => Changes::default(),
        };
        let volumes = BTreeMap::from([(volume.to_string(), VolumeRecord::new(before, imported.tree(), changes))]);
        Ok(Record { volumes, kept: true, ..self.record(EntryKind::Edit) })
    }

    /// Takes into account what was changed outside, if this is a preview: as absorbing it would.
    pub(crate) fn preview_edits(&self) -> Result<(), Failure> {
        let Some(plain) = self.plain.as_ref().filter(|_| !self.keeps()) else { return Ok(()) };
        for (volume, tree) in &self.head()?.state {
            // What an earlier preview of the same instance took into account is part of the state by now.
            let edit = plain.look(volume, &Bounds::widest())?;
            if let Some(imported) = edit.filter(|imported| imported.is_edit() && imported.base() == Some(*tree)) {
                self.store.commit(&self.edit(volume, &imported)?, &imported, &[])?;
            }
        }
        Ok(())
    }

    /// What was changed outside, by volume, and what can be in no state.
    ///
    /// # Errors
    /// A directory can't be read.
    pub fn edits(&self) -> Result<BTreeMap<String, (Changes, Skipped)>, Failure> {
        let mut edits = BTreeMap::new();
        for volume in self.head()?.state.keys() {
            let status = self.plain.as_ref().map(|plain| plain.status(volume, &Bounds::widest())).transpose()?;
            edits.insert(volume.to_string(), status.unwrap_or_default());
        }
        Ok(edits)
    }
}

/// What a plain directory does not show.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Withheld {
    /// The first paths, in the volume; what is in a folder goes with it.
    pub listed: Vec<String>,
    /// How many more there are.
    pub omitted: u64,
}

impl Session {
    /// What of each volume its plain directory does not show, because people's tools act on it where it stands.
    ///
    /// # Errors
    /// A state can't be read.
    pub fn withheld(&self) -> Result<BTreeMap<String, Withheld>, Failure> {
        let (objects, mut all) = (self.objects(), BTreeMap::new());
        for (volume, root) in self.head()?.state.iter().filter(|_| self.plain.is_some()) {
            let mut withheld = Withheld::default();
            let mut folders = vec![(String::new(), *root)];
            while let Some((above, digest)) = folders.pop() {
                for entry in read_tree(&*objects, &digest).map_err(RunError::from)?.into_entries() {
                    let path = format!("{above}{}", entry.name);
                    match entry.node {
                        _ if is_acted_on(volume.as_str()) || is_acted_on(entry.name.as_str()) => {
                            match withheld.listed.len() < WITHHELD_MAX {
                                true => withheld.listed.push(path),
                                false => withheld.omitted += 1,
                            }
                        }
                        Node::Folder { tree, .. } => folders.push((path + "/", tree)),
                        Node::File { .. } | Node::Link { .. } => {}
                    }
                }
            }
            if withheld != Withheld::default() {
                all.insert(volume.to_string(), withheld);
            }
        }
        Ok(all)
    }
}

impl Edits {
    fn skip(&mut self, volume: &VolumeName, skipped: &Skipped) {
        if *skipped != Skipped::default() {
            self.skipped.insert(volume.to_string(), skipped.clone());
        }
    }
}
