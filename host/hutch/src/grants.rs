//! Granted folders and the record: an intent is written down before the first change, the folders are changed inside the transaction
//! of the record and put back if it is refused, and what a run that did not live had begun is taken back by the next one to open the
//! instance.

use crate::failure::Failure;
use crate::mount::{Carried, Carry, CarryError, Mount, recover};
use crate::session::Session;
use hutch_folder::Hands;
use hutch_model::digest::{Digest, Kind};
use hutch_model::invocation::Access;
use hutch_model::ledger::{EntryKind, FolderRecord, Record, Sealed};
use hutch_model::snapshot::{Changes, MemoryObjects, Objects};
use hutch_store::{StoreError, Transaction};
use std::collections::BTreeMap;
use std::path::Path;

/// One granted folder that a run changes.
pub(crate) struct Granted<'a> {
    pub(crate) name: &'a str,
    pub(crate) mount: &'a Mount,
    pub(crate) change: &'a crate::answer::VolumeChange,
    pub(crate) seen: &'a crate::mount::MountObjects,
}

/// What became of a record and its folders.
pub(crate) struct Settled {
    pub(crate) sealed: Sealed,
    pub(crate) withheld: Vec<String>,
}

impl Session {
    /// Commits `record` together with what a run changes in granted folders: both, or neither.
    ///
    /// # Errors
    /// The record is refused, or a folder can't be changed. The folders are as they were, and the ledger says what was to be.
    pub(crate) fn commit_with_folders(
        &self,
        record: &Record,
        objects: &dyn Objects,
        (all, streams): (&dyn Objects, &[&[u8]]),
        granted: &[Granted<'_>],
    ) -> Result<Settled, Failure> {
        // Held to the end: who comes meanwhile knows that this run lives.
        let lock = self.dir.as_ref().map(|dir| dir.lock_grants(self.wait)).transpose()?;
        let folders: BTreeMap<String, FolderRecord> = self.folder_records(record, granted)?;
        let intent = Record { kind: EntryKind::Intent, volumes: BTreeMap::new(), kept: false, ..record.clone() };
        let intent = Record { folders: folders.clone(), outcome: None, error: None, owner: None, ..intent };
        let intent = self.store.commit(&intent, &MemoryObjects::default(), &[])?;
        if let Some(lock) = &lock {
            lock.note(intent.sequence);
        }
        let record = Record { folders: folders.clone(), closes: Some(intent.sequence), ..record.clone() };
        let settled = self.change_folders(&record, objects, (all, streams), granted);
        if let Err(failure) = &settled {
            // What could not be put back stays open: the next one to open the instance tries again.
            let closes = record.closes.filter(|_| !matches!(failure, Failure::Mount { left: true, .. }));
            self.note(Record { volumes: BTreeMap::new(), closes, ..record }, failure);
        }
        // As long as something is left in a folder, the next one to open the instance removes it.
        let left = |granted: &Granted<'_>| {
            let staging = folders.get(granted.name).map(|folder| folder.staging.as_str()).unwrap_or_default();
            !matches!(hutch_folder::look(granted.mount.dir(), staging), Ok(None))
        };
        match (&settled, lock) {
            (Err(Failure::Store(StoreError::Uncertain { .. })), _) | (_, None) => {}
            (_, Some(lock)) if !granted.iter().any(left) => lock.clear(),
            _ => {}
        }
        settled
    }

    /// What the intent says of the folders.
    fn folder_records(
        &self,
        record: &Record,
        granted: &[Granted<'_>],
    ) -> Result<BTreeMap<String, FolderRecord>, Failure> {
        let place = (self.head()?.last.hash, serde_json::to_vec(record).unwrap_or_default());
        let staging = |name: &str| {
            let parts = [place.0.as_bytes(), name.as_bytes(), &place.1];
            crate::mount::staging_name(&Digest::of(Kind::Mount, &parts.concat()))
        };
        let mut records = BTreeMap::new();
        for Granted { name, mount, change, .. } in granted {
            let Changes { listed: changes, omitted: changes_omitted } = change.changes.clone();
            let staging = staging(name);
            let folder =
                FolderRecord { path: mount.real_path(), identity: mount.identity(), changes, changes_omitted, staging };
            records.insert((*name).to_owned(), folder);
        }
        Ok(records)
    }

    fn change_folders(
        &self,
        record: &Record,
        objects: &dyn Objects,
        (all, streams): (&dyn Objects, &[&[u8]]),
        granted: &[Granted<'_>],
    ) -> Result<Settled, Failure> {
        let mut staged = Vec::new();
        for Granted { name, mount, change, seen } in granted {
            let staging = record.folders.get(*name).map(|folder| folder.staging.as_str()).unwrap_or_default();
            match Carry::stage(mount, all, (change, seen), staging, Hands::default()) {
                Ok(carry) => staged.push((*name, *mount, carry)),
                Err(error) => {
                    staged.into_iter().for_each(|(_, _, carry)| carry.drop_staged());
                    return Err(failure(mount, error));
                }
            }
        }
        let withheld = |(name, _, carry): &(&str, &Mount, Carry<'_>)| {
            carry.withheld().iter().map(|path| format!("{name}/{path}")).collect::<Vec<_>>()
        };
        let withheld: Vec<String> = staged.iter().flat_map(withheld).collect();
        let pending = match self.store.begin(record, objects, streams) {
            Ok(pending) => pending,
            Err(error) => {
                staged.into_iter().for_each(|(_, _, carry)| carry.drop_staged());
                return Err(error.into());
            }
        };
        let sealed = self.carry_out(staged, pending)?;
        Ok(Settled { sealed, withheld })
    }

    /// Changes the folders and commits; puts all folders back if either fails.
    fn carry_out(
        &self,
        staged: Vec<(&str, &Mount, Carry<'_>)>,
        pending: Box<dyn Transaction + '_>,
    ) -> Result<Sealed, Failure> {
        let mut carried: Vec<(&Mount, Carried<'_>)> = Vec::new();
        let mut left = staged.into_iter();
        while let Some((_, mount, carry)) = left.next() {
            match carry.apply() {
                Ok(done) => carried.push((mount, done)),
                Err(error) => {
                    left.for_each(|(_, _, carry)| carry.drop_staged());
                    return Err(put_back(carried, failure(mount, error)));
                }
            }
        }
        match pending.commit() {
            Ok(sealed) => {
                carried.into_iter().for_each(|(_, carried)| carried.finish());
                Ok(sealed)
            }
            // Whether there is an entry shows at the next opening, and so whether the folders are put back.
            Err(error @ StoreError::Uncertain { .. }) => Err(error.into()),
            Err(error) => Err(put_back(carried, error.into())),
        }
    }

    /// Ends what runs had begun in granted folders that did not live. What can't be ended now is left for the next opening; it says so
    /// in [`unsettled`](Session::unsettled).
    pub(crate) fn recover(&self) -> Result<(), Failure> {
        let Some(dir) = self.dir.as_ref().filter(|_| self.keeps()) else { return Ok(()) };
        if self.head()?.open.is_empty() && !dir.has_noted_grants() {
            return Ok(());
        }
        // Whoever holds the lock is at it, or lives.
        let Some(lock) = dir.try_lock_grants()? else { return Ok(()) };
        let open = self.head()?.open;
        let mut all = true;
        // One that was recorded, and did not live to remove what it had kept aside, or could not.
        if let Some(noted) = lock.noted().filter(|noted| !open.contains(noted))
            && let Some(sealed) = self.store.entry(noted)?
        {
            all = end(&sealed, true)?;
        }
        for sequence in open {
            let Some(sealed) = self.store.entry(sequence)? else { continue };
            if !end(&sealed, false)? {
                all = false;
                continue;
            }
            let folders = sealed.open().map_err(Failure::Entry)?.record.folders;
            let follows = Some(sealed.hash);
            let record = Record { closes: Some(sequence), follows, folders, ..self.record(EntryKind::Recover) };
            match self.store.commit(&record, &MemoryObjects::default(), &[]) {
                // Another process was faster.
                Ok(_) | Err(StoreError::Record(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if all {
            lock.clear();
        }
        Ok(())
    }

    /// The granted folders in which a run that did not live may have left something, each with the folder that holds what it moved
    /// aside: they are not there now, or something else stands where it has to go.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn unsettled(&self) -> Result<Vec<String>, Failure> {
        let mut unsettled = Vec::new();
        for sequence in self.head()?.open {
            let Some(sealed) = self.store.entry(sequence)? else { continue };
            let intent = sealed.open().map_err(Failure::Entry)?.record;
            unsettled.extend(intent.folders.into_values().map(|folder| format!("{}/{}", folder.path, folder.staging)));
        }
        Ok(unsettled)
    }
}

/// Ends what a run had begun in the folders of its intent; whether all of it is ended.
fn end(intent: &Sealed, recorded: bool) -> Result<bool, Failure> {
    let intent = intent.open().map_err(Failure::Entry)?.record;
    let mut all = true;
    for folder in intent.folders.values() {
        let mount = Mount::open(Path::new(&folder.path), Access::ReadWrite);
        // Another folder may have its name by now; the one that was changed may come back.
        let same = mount.ok().filter(|mount| mount.identity() == folder.identity);
        all &= same.is_some_and(|mount| recover(mount.dir(), &folder.staging, recorded).is_ok());
    }
    Ok(all)
}

fn put_back(carried: Vec<(&Mount, Carried<'_>)>, failed: Failure) -> Failure {
    let mut failed = failed;
    for (mount, carried) in carried.into_iter().rev() {
        let error = carried.give_up(CarryError::Changed(String::new()));
        if matches!(error, CarryError::Left { .. }) {
            failed = failure(mount, error);
        }
    }
    failed
}

fn failure(mount: &Mount, error: CarryError) -> Failure {
    use std::io::ErrorKind;
    let changed = matches!(error, CarryError::Changed(_));
    let denied = matches!(&error, CarryError::Io { source, .. }
        if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::DirectoryNotEmpty));
    let path = mount.path().display().to_string();
    match error {
        CarryError::Object(error) => StoreError::object(path, &error).into(),
        error => {
            let left = matches!(error, CarryError::Left { .. });
            Failure::Mount { path, reason: error.to_string(), changed, denied, left }
        }
    }
}
