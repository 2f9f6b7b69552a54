//! One instance of one package, open: its store and its plain directories.

use crate::failure::Failure;
use crate::folder;
use crate::host::Host;
use crate::package::Package;
use crate::preview::Preview;
use crate::run::Executed;
use hutch_model::digest::{Digest, Kind};
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, PackageRecord, Record, Sealed, VolumeRecord};
use hutch_model::limits::{Limit, Limits};
use hutch_model::names::Slug;
use hutch_model::snapshot::{Layered, MemoryObjects, Objects};
use hutch_sandbox::{Touched, TouchedName};
use hutch_store::plain::{Bounds, Imported, Plain, Touch};
use hutch_store::{Head, IfMissing, InstanceName, Place, SqliteStore, Store, StoreError, VolumeName};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// An open instance. All that is done to it is recorded as done at one instant.
pub struct Session {
    pub(crate) store: SqliteStore,
    plain: Plain,
    instance: InstanceName,
    package: PackageRecord,
    at: Instant,
    /// What would be kept; none if it is. See [`Host::previewing`].
    preview: Option<Mutex<Preview>>,
    /// Where the instance stands that a preview had to make.
    _scratch: Option<TempDir>,
}

impl Host {
    /// Opens the instance of a package, and makes it if it is missing: volumes without a state get the content that the package
    /// ships. `at` is the host's clock.
    ///
    /// # Errors
    /// The store can't be opened or written.
    pub fn open(&self, package: &Package, instance: &InstanceName, at: Instant) -> Result<Session, Failure> {
        let mut place = Place::new(self.home(), package.manifest().slug(), instance);
        let mut scratch = None;
        if !self.keeps() && !place.exists() {
            let folder = scratch.insert(
                tempfile::tempdir()
                    .map_err(|error| hutch_sandbox::RunError::Host(format!("no folder for a preview: {error}")))?,
            );
            place = Place::new(folder.path(), package.manifest().slug(), instance);
        }
        let store = SqliteStore::open_within(&place, IfMissing::Create, self.wait())?;
        let session = Session {
            plain: Plain::open(&store)?,
            store,
            instance: instance.clone(),
            package: package_record(package),
            at,
            preview: (!self.keeps()).then(Mutex::default),
            _scratch: scratch,
        };
        session.ensure_volumes(package)?;
        session.preview_edits(&self.limits(package, []))?;
        // What a process that was killed left undone; if it can't be done now either, the next commit says so.
        let _ = session.update_plain();
        Ok(session)
    }

    /// Opens an instance that is there, without its package: for looking at it and for moving between its states.
    ///
    /// # Errors
    /// There is no such instance, or the store can't be opened.
    pub fn open_existing(&self, slug: &Slug, instance: &InstanceName, at: Instant) -> Result<Session, Failure> {
        let store = SqliteStore::open_within(&Place::new(self.home(), slug, instance), IfMissing::Fail, self.wait())?;
        let package = PackageRecord { slug: slug.to_string(), ..PackageRecord::default() };
        let (plain, instance) = (Plain::open(&store)?, instance.clone());
        let preview = (!self.keeps()).then(Mutex::default);
        let session = Session { plain, store, instance, package, at, preview, _scratch: None };
        session.preview_edits(&Limits::default())?;
        Ok(session)
    }
}

impl Session {
    /// The store, for reading.
    pub fn store(&self) -> &dyn Store {
        &self.store
    }

    /// The last entry and the state.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn head(&self) -> Result<Head, Failure> {
        let head = self.store.head()?;
        Ok(match self.preview() {
            Some(preview) => preview.head(head),
            None => head,
        })
    }

    pub(crate) fn objects(&self) -> Arc<dyn Objects> {
        match self.preview() {
            Some(preview) => {
                let stored = [self.store.objects()];
                Arc::new(Layered(preview.layers.iter().cloned().chain(stored).collect()))
            }
            None => self.store.objects(),
        }
    }

    pub(crate) fn preview(&self) -> Option<MutexGuard<'_, Preview>> {
        self.preview.as_ref().map(|preview| preview.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn record(&self, kind: EntryKind) -> Record {
        Record::new(kind, self.at, self.instance.as_str(), self.package.clone())
    }

    /// Whether what is done is kept; see [`Host::previewing`].
    pub fn keeps(&self) -> bool {
        self.preview.is_none()
    }

    /// Commits a record and then brings the plain directories to the state. What those can't follow now, the next command
    /// finishes: the answer says so and the commit stands. A preview answers with the entry that it would have become.
    pub(crate) fn commit(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
    ) -> Result<(Sealed, Option<String>), Failure> {
        let committed = self.commit_after(record, objects, streams, &mut || true)?;
        committed.ok_or_else(|| Failure::Run(hutch_sandbox::RunError::Host("the record was given up".to_owned())))
    }

    /// The same, with `act` done last, and nothing committed if it says no.
    pub(crate) fn commit_after(
        &self,
        record: &Record,
        objects: &dyn Objects,
        streams: &[&[u8]],
        act: &mut dyn FnMut() -> bool,
    ) -> Result<Option<(Sealed, Option<String>)>, Failure> {
        if let Some(mut preview) = self.preview() {
            return Ok(Some((preview.append(self.store.head()?, record, None)?, None)));
        }
        let sealed = self.store.commit_after(record, objects, streams, act)?;
        // Also when nothing changed: another process may have been killed between its commit and this.
        Ok(sealed.map(|sealed| (sealed, self.update_plain())))
    }

    /// Brings the plain directories to the state; says what kept it from that.
    pub(crate) fn update_plain(&self) -> Option<String> {
        if !self.keeps() {
            return None;
        }
        match self.plain.update() {
            Ok(updated) if updated.left.is_empty() => None,
            Ok(updated) => {
                let paths: Vec<String> = updated.left.iter().map(|(volume, path)| format!("{volume}/{path}")).collect();
                Some(format!("changed outside, and left as they are: {}", paths.join(", ")))
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Looks whether what a run touched was changed outside; if so, makes all such edits part of the state.
    pub(crate) fn absorb_edits_seen_by(&self, executed: &Executed, limits: &Limits) -> Result<bool, Failure> {
        for (name, touched) in &executed.touched {
            // Granted folders are touched too, and are nobody's plain directories.
            let (Ok(volume), Some(changed)) = (name.parse::<VolumeName>(), executed.volumes.get(name)) else {
                continue;
            };
            let changes = &changed.changes;
            let (paths, folders) = paths_of(touched);
            let touches = (paths.iter().map(|path| Touch::Path(path)))
                .chain(changes.iter().map(|change| Touch::Path(&change.path)))
                .chain(folders.iter().map(|path| Touch::Folder(path)));
            if !self.plain.check(&volume, touches)?.is_empty() {
                return Ok(self.absorb_edits(limits)?.is_some());
            }
        }
        Ok(false)
    }

    /// Makes what was changed outside part of the state, as an entry of its own. `None` if nothing was.
    ///
    /// # Errors
    /// A directory holds what no state can hold, or more than the limits allow; the store can't be written.
    pub fn absorb_edits(&self, limits: &Limits) -> Result<Option<Sealed>, Failure> {
        if !self.keeps() {
            // A preview took them into account when it began.
            return Ok(None);
        }
        let bounds = bounds(limits);
        for volume in self.head()?.state.keys() {
            let Some(imported) = self.plain.import(volume, &bounds)? else { continue };
            let record = self.edit(volume, &imported)?;
            let (sealed, _) = self.commit(&record, &imported, &[])?;
            return Ok(Some(self.absorb_edits(limits)?.unwrap_or(sealed)));
        }
        Ok(None)
    }

    /// What was changed outside as a record.
    fn edit(&self, volume: &VolumeName, imported: &Imported) -> Result<Record, Failure> {
        let before = self.head()?.state.get(volume).copied();
        let changes = match before {
            Some(before) => imported.changes_from(&*self.objects(), &before).map_err(hutch_sandbox::RunError::from)?,
            None => Vec::new(),
        };
        let volumes = BTreeMap::from([(volume.to_string(), VolumeRecord::new(before, imported.tree(), changes))]);
        Ok(Record { volumes, kept: true, ..self.record(EntryKind::Edit) })
    }

    /// Takes into account what was changed outside, if this is a preview: as absorbing it would.
    fn preview_edits(&self, limits: &Limits) -> Result<(), Failure> {
        if self.keeps() {
            return Ok(());
        }
        for volume in self.store.head()?.state.keys() {
            let Some(imported) = self.plain.look(volume, &bounds(limits))? else { continue };
            let record = self.edit(volume, &imported)?;
            if let Some(mut preview) = self.preview() {
                preview.append(self.store.head()?, &record, Some(Arc::new(imported)))?;
            }
        }
        Ok(())
    }

    /// What was changed outside, by volume.
    ///
    /// # Errors
    /// As for [`absorb_edits`](Session::absorb_edits).
    pub fn edits(&self, limits: &Limits) -> Result<BTreeMap<String, Vec<hutch_model::snapshot::PathChange>>, Failure> {
        let mut edits = BTreeMap::new();
        for volume in self.head()?.state.keys() {
            edits.insert(volume.to_string(), self.plain.status(volume, &bounds(limits))?);
        }
        Ok(edits)
    }

    fn ensure_volumes(&self, package: &Package) -> Result<(), Failure> {
        let known = self.head()?.state;
        let mut objects = MemoryObjects::default();
        let mut volumes = BTreeMap::new();
        for path in package.manifest().volumes() {
            let parsed: Result<VolumeName, _> = path.as_str().parse();
            let name = parsed.map_err(|source| Failure::Volume { name: path.to_string(), source })?;
            if !known.contains_key(&name) {
                let tree = folder::snapshot(package, path, &mut objects)?;
                volumes.insert(name.to_string(), VolumeRecord::new(None, tree, Vec::new()));
            }
        }
        if volumes.is_empty() {
            return Ok(());
        }
        let record = Record { volumes, kept: true, ..self.record(EntryKind::Create) };
        if let Some(mut preview) = self.preview() {
            preview.append(self.store.head()?, &record, Some(Arc::new(objects)))?;
            return Ok(());
        }
        match self.commit(&record, &objects, &[]) {
            // Another process made them first: its content is the same package's.
            Err(Failure::Store(StoreError::Conflict { .. })) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The paths that were looked up, and the folders that were listed.
fn paths_of(touched: &Touched) -> (Vec<String>, Vec<String>) {
    let (mut paths, mut folders) = (Vec::new(), Vec::new());
    let mut pending = vec![(String::new(), touched)];
    while let Some((folder, touched)) = pending.pop() {
        for TouchedName { name, below } in &touched.names {
            let path = if folder.is_empty() { name.to_string() } else { format!("{folder}/{name}") };
            pending.extend(below.as_ref().map(|below| (path.clone(), below)));
            paths.push(path);
        }
        if touched.listed {
            folders.push(folder);
        }
    }
    (paths, folders)
}

pub(crate) fn bounds(limits: &Limits) -> Bounds {
    Bounds {
        files: limits.get(Limit::StateFiles),
        bytes: limits.get(Limit::StateBytes),
        depth: usize::try_from(limits.get(Limit::FolderDepth)).unwrap_or(usize::MAX),
    }
}

fn package_record(package: &Package) -> PackageRecord {
    let manifest = package.manifest();
    PackageRecord {
        slug: manifest.slug().to_string(),
        version: Some(manifest.version().to_string()),
        digest: None,
        component: Some(component_digest(package)),
    }
}

pub(crate) fn component_digest(package: &Package) -> Digest {
    Digest::of(Kind::Component, package.component())
}
