//! Granted folders and the record: an intent is written down before the first change, the folders are changed inside the transaction
//! of the record and put back if it is refused; what a run that did not live had begun, `settling` takes back. A plan changes no
//! folder: of what its run wants there, it is written down how that can be told from anything else.

use crate::failure::{Failure, Unkept};
use crate::mount::{Carried, Carry, CarryError, Keeping, KeptName, Known, Mount, Seal, Wishes, keep, staging_name};
use crate::session::Session;
use cap_std::fs::Dir;
use hutch_folder::Hands;
use hutch_model::digest::{Digest, Kind};
use hutch_model::ledger::{EntryKind, FolderRecord, Record, Sealed, SecretKey, VolumeRecord};
use hutch_model::snapshot::{Changes, MemoryObjects, Objects};
use hutch_store::{InstanceLock, StoreError, Transaction};
use std::collections::BTreeMap;

/// One granted folder that a run changes.
pub(crate) struct Granted<'a> {
    pub(crate) name: &'a str,
    pub(crate) mount: &'a Mount,
    pub(crate) change: &'a crate::answer::VolumeChange,
    pub(crate) seen: &'a crate::mount::MountObjects,
    /// What is known of what comes again, by path.
    pub(crate) known: &'a BTreeMap<String, Known>,
}

/// What a run wants changed in granted folders, and nobody has changed yet.
#[derive(Default)]
pub(crate) struct Wished {
    /// As the entry of a plan holds it, by name.
    pub(crate) folders: BTreeMap<String, FolderRecord>,
    /// What the folders would get, by name.
    pub(crate) changes: BTreeMap<String, Changes>,
    /// What they would not get.
    pub(crate) withheld: Vec<String>,
}

impl Wished {
    /// What is wanted of these folders; `all` is everything that can be read of them, before and after.
    ///
    /// # Errors
    /// As for changing them: it is too much, tools act on it, or it may be lost.
    pub(crate) fn of(granted: &[Granted<'_>], all: &dyn Objects) -> Result<Wished, Failure> {
        let mut wished = Wished::default();
        for (one, wishes) in wishes(granted, all)? {
            let source = |digest: &Digest| granted.iter().find_map(|granted| granted.seen.source(digest));
            let (before, after) =
                wishes.names(all, one.seen, &source).map_err(|error| failure(one.mount, CarryError::Object(error)))?;
            let folder = FolderRecord { before: Some(before), after: Some(after), ..folder_record(one, &wishes) };
            wished.folders.insert(one.name.to_owned(), folder);
            wished.take(one, wishes);
        }
        Ok(wished)
    }

    fn take(&mut self, granted: &Granted<'_>, wishes: Wishes) {
        let name = granted.name;
        self.changes.insert(name.to_owned(), wishes.changes);
        self.withheld.extend(wishes.withheld.into_iter().map(|path| format!("{name}/{path}")));
    }
}

/// What became of a record and its folders.
pub(crate) struct Settled {
    pub(crate) sealed: Sealed,
    /// What the folders got, by name.
    pub(crate) changes: BTreeMap<String, Changes>,
    /// What they did not get.
    pub(crate) withheld: Vec<String>,
}

/// Whether the instance of this key changed the folder that an entry tells of.
pub(crate) fn is_own(key: &SecretKey, folder: &FolderRecord) -> bool {
    Seal::of(key, Digest::of(Kind::Mount, &[]), &folder.path, &folder.staging).is_some()
}

impl Session {
    /// Commits `record` together with what a run changes in granted folders: both, or neither. `takes` is the intent of the run whose changes
    /// are taken back by that, if any are.
    ///
    /// # Errors
    /// The record is refused, or a folder can't be changed. The folders are as they were. With the record if nothing is written down
    /// of it yet; with it, [`StoreError::Changed`] is a folder that another run had left half changed, which it is no more: what the
    /// guest was shown of it is not so.
    pub(crate) fn commit_with_folders(
        &self,
        record: &Record,
        objects: &dyn Objects,
        (all, streams): (&dyn Objects, &[&[u8]]),
        (granted, takes): (&[Granted<'_>], Option<u64>),
    ) -> Result<Settled, Unkept> {
        let refused = |failure| (failure, Some(Box::new(Record { kept: false, ..record.clone() })));
        let wanted = wishes(granted, all).map_err(refused)?;
        // Held to the end: who comes meanwhile knows that this run lives.
        let lock = self.dir.as_ref().map(|dir| dir.lock_grants(self.wait)).transpose();
        let lock = lock.map_err(|error| refused(error.into()))?;
        let mut noted = match &lock {
            Some(lock) => self.recover_before(lock, granted).map_err(refused)?,
            None => Vec::new(),
        };
        self.expect_placed(granted.iter().map(|granted| granted.mount)).map_err(refused)?;
        self.expect_head(record).map_err(refused)?;
        let folders = self.folder_records(record, &wanted).map_err(refused)?;
        let intent = Record { kind: EntryKind::Intent, volumes: BTreeMap::new(), kept: false, ..record.clone() };
        let intent = Record { folders: folders.clone(), outcome: None, error: None, owner: None, ..intent };
        let intent = self.store.commit(&intent, &MemoryObjects::default(), &[]);
        let intent = intent.map_err(|error| refused(error.into()))?;
        if let Some(lock) = &lock {
            noted.push(intent.sequence);
            lock.note(&noted);
        }
        let record = Record { folders: folders.clone(), closes: Some(intent.sequence), ..record.clone() };
        let name = KeptName { intent: intent.sequence, takes };
        let settled = self.change_folders((&record, intent.hash, name), objects, (all, streams), &wanted);
        let settled = settled.map_err(|failure| {
            // What could not be put back stays open: the next one to open the instance tries again.
            let closes = record.closes.filter(|_| !matches!(failure, Failure::Mount { left: true, .. }));
            self.note(Record { volumes: BTreeMap::new(), closes, ..record }, failure)
        });
        // As long as something is left in a folder, the next one to open the instance removes it.
        let left = |granted: &Granted<'_>| {
            let staging = folders.get(granted.name).map(|folder| folder.staging.as_str()).unwrap_or_default();
            !matches!(hutch_folder::look(granted.mount.dir(), staging), Ok(None))
        };
        match (&settled, lock) {
            (Err(Failure::Store(StoreError::Uncertain { .. })), _) | (_, None) => {}
            (_, Some(lock)) if !granted.iter().any(left) => {
                noted.pop();
                lock.note(&noted);
            }
            _ => {}
        }
        let sealed = settled.map_err(|failure| (failure, None))?;
        let mut wished = Wished::default();
        wanted.into_iter().for_each(|(granted, wishes)| wished.take(granted, wishes));
        Ok(Settled { sealed, changes: wished.changes, withheld: wished.withheld })
    }

    /// Ends what a run had begun that ended while this one waited for the lock. Answers with the intents of which something is left.
    fn recover_before(&self, lock: &InstanceLock, granted: &[Granted<'_>]) -> Result<Vec<u64>, Failure> {
        let open = self.head()?.open;
        let noted = self.recover_under(lock)?;
        let left = self.head()?.open;
        match (open == left, granted.first()) {
            (false, Some(first)) => Err(StoreError::Changed { at: first.mount.path().display().to_string() }.into()),
            _ => {
                self.expect_settled(&left, granted.iter().map(|granted| granted.mount))?;
                Ok(noted)
            }
        }
    }

    /// Refuses what can't be appended, before there is an intent of it.
    fn expect_head(&self, record: &Record) -> Result<(), Failure> {
        let head = self.head()?;
        let is_other =
            |(name, volume): &(&String, &VolumeRecord)| head.state.get(name.as_str()).copied() != volume.before;
        match record.volumes.iter().find(is_other) {
            Some((name, volume)) => {
                let (expected, found) = (volume.before, head.state.get(name.as_str()).copied());
                Err(StoreError::Conflict { volume: name.clone(), expected, found }.into())
            }
            None => Ok(()),
        }
    }

    /// What the intent says of the folders.
    fn folder_records(
        &self,
        record: &Record,
        wanted: &[(&Granted<'_>, Wishes)],
    ) -> Result<BTreeMap<String, FolderRecord>, Failure> {
        let place = (self.head()?.last.hash, serde_json::to_vec(record).unwrap_or_default());
        let key = self.store.secret_key()?;
        let staging = |name: &str, path: &str| {
            let parts = [place.0.as_bytes(), name.as_bytes(), &place.1];
            staging_name(&key, path, &Digest::of(Kind::Mount, &parts.concat()))
        };
        let folder = |(granted, wishes): &(&Granted<'_>, Wishes)| {
            let folder = folder_record(granted, wishes);
            let staging = staging(granted.name, &folder.path);
            (granted.name.to_owned(), FolderRecord { staging, ..folder })
        };
        Ok(wanted.iter().map(folder).collect())
    }

    fn change_folders(
        &self,
        (record, intent, name): (&Record, Digest, KeptName),
        objects: &dyn Objects,
        (all, streams): (&dyn Objects, &[&[u8]]),
        wanted: &[(&Granted<'_>, Wishes)],
    ) -> Result<Sealed, Failure> {
        let (key, mut staged) = (self.store.secret_key()?, Vec::new());
        for (Granted { name, mount, seen, .. }, wishes) in wanted {
            let folder = record.folders.get(*name);
            let seal = folder.and_then(|folder| Seal::of(&key, intent, &folder.path, &folder.staging));
            let carry = match seal {
                Some(seal) => Carry::stage(mount, all, (wishes, seen), seal, Hands::default()),
                None => Err(CarryError::Changed(String::new())),
            };
            match carry {
                Ok(carry) => staged.push((*mount, carry)),
                Err(error) => {
                    staged.into_iter().for_each(|(_, carry)| carry.drop_staged());
                    return Err(failure(mount, error));
                }
            }
        }
        let keeping = wanted.iter().zip(&staged);
        let keeping = keeping.map(|((Granted { name, mount, .. }, wishes), (_, carry))| Keeping {
            name,
            mount,
            wishes,
            left: carry.left(),
        });
        let kept = self.keep((name, intent, &key), all, &keeping.collect::<Vec<_>>());
        let pending = match self.store.begin(record, objects, streams) {
            Ok(pending) => pending,
            Err(error) => {
                staged.into_iter().for_each(|(_, carry)| carry.drop_staged());
                kept.inspect(|dir| name.drop(dir));
                return Err(error.into());
            }
        };
        let carried = self.carry_out(staged, pending);
        match (&carried, kept) {
            // Whether there is an entry of it shows later.
            (Ok(_) | Err(Failure::Store(StoreError::Uncertain { .. })), Some(dir)) => KeptName::fit(&dir),
            (Err(_), Some(dir)) => name.drop(&dir),
            (_, None) => {}
        }
        carried
    }

    /// Keeps what is about to be replaced and taken away, so that it can be put back later; where it is kept. That it can't be kept ends no
    /// run: then it can't be taken back, which is said when somebody wants that.
    fn keep(
        &self,
        (name, intent, key): (KeptName, Digest, &SecretKey),
        all: &dyn Objects,
        keeping: &[Keeping<'_>],
    ) -> Option<Dir> {
        let dir = self.dir.as_ref()?.undo_folder(true).ok()??;
        let kept = keep(&dir, (name, intent, key), keeping, all);
        matches!(kept, Ok(true)).then_some(dir)
    }

    /// Changes the folders and commits; puts all folders back if either fails.
    fn carry_out(
        &self,
        staged: Vec<(&Mount, Carry<'_>)>,
        pending: Box<dyn Transaction + '_>,
    ) -> Result<Sealed, Failure> {
        let mut carried: Vec<(&Mount, Carried<'_>)> = Vec::new();
        let mut left = staged.into_iter();
        while let Some((mount, carry)) = left.next() {
            match carry.apply() {
                Ok(done) => carried.push((mount, done)),
                Err(error) => {
                    left.for_each(|(_, carry)| carry.drop_staged());
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
}

/// What is wanted of each of these folders.
fn wishes<'g, 'a>(granted: &'g [Granted<'a>], all: &dyn Objects) -> Result<Vec<(&'g Granted<'a>, Wishes)>, Failure> {
    let wishes = |granted: &'g Granted<'a>| match Wishes::of(granted.mount, all, granted.change) {
        Ok(wishes) => Ok((granted, wishes.with_known(granted.known.clone()))),
        Err(error) => Err(failure(granted.mount, error)),
    };
    granted.iter().map(wishes).collect()
}

/// What the ledger says of a folder that a run wants changed so; nothing is on its way in yet.
fn folder_record(Granted { mount, .. }: &Granted<'_>, wishes: &Wishes) -> FolderRecord {
    let Changes { listed: changes, omitted: changes_omitted } = wishes.changes.clone();
    FolderRecord {
        path: mount.real_path(),
        identity: mount.identity(),
        changes,
        changes_omitted,
        withheld: wishes.withheld.len() as u64,
        ..FolderRecord::default()
    }
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

/// Why a granted folder could not be changed, for whoever wanted that.
pub(crate) fn failure(mount: &Mount, error: CarryError) -> Failure {
    use std::io::ErrorKind;
    let changed = matches!(error, CarryError::Changed(_));
    let denied = matches!(&error, CarryError::Io { source, .. }
        if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem | ErrorKind::DirectoryNotEmpty))
        || matches!(
            error,
            CarryError::Withheld(_)
                | CarryError::ActedOn(_)
                | CarryError::Startable(_)
                | CarryError::LedTo { .. }
                | CarryError::NotShown(_)
                | CarryError::Untold(_)
        );
    let path = mount.path().display().to_string();
    match error {
        CarryError::Io { path: below, source } if source.kind() == ErrorKind::CrossesDevices => {
            let reason = format!(
                "{below:?} can't be moved to where it would be kept: it lies in a folder that is mounted in this one, or in a lower layer"
            );
            Failure::Mount { path, reason, changed: false, denied: true, left: false }
        }
        CarryError::Object(error) => StoreError::object(path, &error).into(),
        error => {
            let left = matches!(error, CarryError::Left { .. });
            Failure::Mount { path, reason: error.to_string(), changed, denied, left }
        }
    }
}
