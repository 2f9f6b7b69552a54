//! What runs left behind in granted folders because they did not live, or because something else stands in the way: ended by whoever opens the
//! instance next, named as long as that can't be done, and let go of by whoever says so.

use crate::failure::Failure;
use crate::mount::{Mount, Seal, Staged, left_at, recover};
use crate::session::Session;
use hutch_folder::Hands;
use hutch_model::error_code::ErrorCode;
use hutch_model::invocation::Access;
use hutch_model::ledger::{EntryKind, FolderRecord, Record, Sealed, SecretKey};
use hutch_model::snapshot::MemoryObjects;
use hutch_store::{InstanceLock, StoreError, wait_for};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// A run that may have left something in granted folders.
struct Left {
    intent: Sealed,
    /// Those that it was about to change.
    folders: BTreeMap<String, FolderRecord>,
    /// Whether the ledger says what came of it: then nothing is to be put back.
    is_closed: bool,
}

impl Left {
    /// The folders that hold what is left.
    fn places(&self) -> Vec<String> {
        let may_be = |folder: &&FolderRecord| !(self.is_closed && is_clear(folder));
        self.folders.values().filter(may_be).map(left_in).collect()
    }
}

impl Session {
    /// Refuses a granted folder that a run left half changed, of this instance or of any other: what a guest made of it would stand on
    /// what nobody wanted. What a run that lives is placing there is waited for.
    ///
    /// # Errors
    /// [`Failure::Mount`], which names the folder that holds what was there before; [`StoreError::Busy`], if that run lives; or the
    /// store can't be read.
    pub(crate) fn check_settled<'m>(&self, mounts: impl IntoIterator<Item = &'m Mount>) -> Result<(), Failure> {
        let mounts: Vec<&Mount> = mounts.into_iter().collect();
        if !mounts.is_empty() && !self.head()?.open.is_empty() {
            let lock = self.dir.as_ref().map(|dir| dir.try_lock_grants()).transpose()?;
            if let Some(Some(lock)) = &lock
                && self.keeps()
            {
                drop(self.recover_under(lock)?);
            }
            // Whoever holds the lock lives, and has placed nothing yet, or is waited for below.
            if !matches!(lock, Some(None)) {
                self.expect_settled(&self.head()?.open, mounts.iter().copied())?;
            }
        }
        self.expect_placed(mounts)
    }

    /// Refuses a granted folder in which, or above which, a run of whichever instance has begun to place what it changed, and has not
    /// ended. As long as it lives, that is waited for.
    ///
    /// # Errors
    /// As above.
    pub(crate) fn expect_placed<'m>(&self, mounts: impl IntoIterator<Item = &'m Mount>) -> Result<(), Failure> {
        let staged = |mount: &'m Mount| mount.staged().into_iter().map(move |staged| (mount, staged));
        let around: Vec<(&Mount, Staged)> = mounts.into_iter().flat_map(staged).collect();
        let mut live = None;
        // `None` as long as one of them lives, and none is left.
        let left = wait_for(self.wait, || {
            live = None;
            for (mount, staged) in &around {
                match staged.is_live() {
                    Some(true) => live = Some(staged),
                    Some(false) => return Ok(Some(Some((mount, staged)))),
                    None => {}
                }
            }
            Ok(live.is_none().then_some(None))
        })?;
        match (left, live) {
            (Some(Some((mount, left))), _) => {
                let folder = mount.path().display().to_string();
                Err(Failure::staged(folder, left.path()))
            }
            (None, Some(staged)) => Err(StoreError::Busy { at: staged.path().to_owned() }.into()),
            _ => Ok(()),
        }
    }

    pub(crate) fn expect_settled<'m>(
        &self,
        open: &BTreeSet<u64>,
        mounts: impl Iterator<Item = &'m Mount>,
    ) -> Result<(), Failure> {
        let mounts: Vec<&Mount> = mounts.collect();
        for sequence in open {
            let Some(sealed) = self.store.entry(*sequence)? else { continue };
            for folder in sealed.open().map_err(Failure::Entry)?.record.folders.into_values() {
                if let Some(mount) = mounts.iter().find(|mount| mount.overlaps(Path::new(&folder.path))) {
                    let staging = left_in(&folder);
                    let reason =
                        format!("an earlier run left it half changed, and what was there before is in {staging}");
                    let path = mount.path().display().to_string();
                    return Err(Failure::Mount { path, reason, changed: true, denied: false, left: true });
                }
            }
        }
        Ok(())
    }

    /// Ends what runs had begun in granted folders that did not live. What can't be ended now is left for the next opening; it says so
    /// in [`unsettled`](Session::unsettled).
    pub(crate) fn recover(&self) -> Result<(), Failure> {
        let Some(dir) = self.dir.as_ref().filter(|_| self.keeps()) else { return Ok(()) };
        if self.head()?.open.is_empty() && !dir.has_noted_grants() {
            return Ok(());
        }
        // Whoever holds the lock is at it, or lives.
        match dir.try_lock_grants()? {
            Some(lock) => self.recover_under(&lock).map(drop),
            None => Ok(()),
        }
    }

    /// The same under the lock. Answers with the intents that were recorded, and of which something is left in a folder.
    pub(crate) fn recover_under(&self, lock: &InstanceLock) -> Result<Vec<u64>, Failure> {
        let (open, key) = (self.head()?.open, self.store.secret_key()?);
        let (noted, mut left) = (lock.noted(), Vec::new());
        // Those that were recorded, and did not live to remove what they had kept aside, or could not.
        for noted in noted.iter().filter(|noted| !open.contains(noted)) {
            if let Some(sealed) = self.store.entry(*noted)?
                && !end(&key, &sealed, true)?
            {
                left.push(*noted);
            }
        }
        for sequence in open {
            let Some(sealed) = self.store.entry(sequence)? else { continue };
            if !end(&key, &sealed, false)? {
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
        if left != noted {
            lock.note(&left);
        }
        Ok(left)
    }

    /// Runs that may have left something. Those of which the ledger says what came of them are known under the lock alone.
    fn left(&self, lock: Option<&InstanceLock>) -> Result<Vec<Left>, Failure> {
        let open = self.head()?.open;
        let mut noted = lock.map(InstanceLock::noted).unwrap_or_default();
        noted.retain(|noted| !open.contains(noted));
        let (open, closed) = (open.into_iter().map(|open| (open, false)), noted.into_iter().map(|noted| (noted, true)));
        let mut left = Vec::new();
        for (sequence, is_closed) in open.chain(closed) {
            if let Some(intent) = self.store.entry(sequence)? {
                let folders = intent.open().map_err(Failure::Entry)?.record.folders;
                left.push(Left { intent, folders, is_closed });
            }
        }
        Ok(left)
    }

    /// The lock on granted folders, if runs noted something under it and none of them is at it.
    fn noting(&self) -> Result<Option<InstanceLock>, Failure> {
        let dir = self.dir.as_ref().filter(|dir| dir.has_noted_grants());
        Ok(dir.map(|dir| dir.try_lock_grants()).transpose()?.flatten())
    }

    /// Lets go of runs that could not be ended: what they have left in these folders, as [`unsettled`](Session::unsettled) names them, is
    /// put back and removed no more, and stays where it is. Where the ledger does not say yet what came of the run, that is written down.
    /// What a run of another instance has left is let go of by its path: from then on it keeps no run from the folder around it.
    ///
    /// # Errors
    /// No such run has left one of them, or it has left another one too ([`Failure::Path`]), and nothing is let go of; another process is
    /// at work in granted folders; the store fails, or the system refuses.
    pub fn let_go(&self, folders: &[String]) -> Result<(), Failure> {
        if folders.is_empty() {
            return Ok(());
        }
        let lock = match &self.dir {
            Some(dir) if self.keeps() => Some(dir.lock_grants(self.wait)?),
            _ => self.noting()?,
        };
        let refused = |path: &str, reason: &str| Failure::Path { path: path.to_owned(), reason: reason.to_owned() };
        let (mut unknown, mut gone, mut others) = (folders.iter().collect::<BTreeSet<_>>(), Vec::new(), Vec::new());
        for left in self.left(lock.as_ref())? {
            let places = left.places();
            if !places.iter().any(|place| folders.contains(place)) {
                continue;
            }
            if let Some(other) = places.iter().find(|place| !folders.contains(place)) {
                return Err(refused(other, "the same run has left this folder: name it too"));
            }
            unknown.retain(|folder| !places.contains(folder));
            gone.push(left);
        }
        for folder in unknown {
            let Some(staging) = left_at(Path::new(folder)) else {
                return Err(refused(folder, "no run has left that; hutch state diff names what there is"));
            };
            others.push((folder, staging));
        }
        for (folder, staging) in others.iter().filter(|_| self.keeps()) {
            staging.let_go().map_err(|error| {
                let (path, kind, reason) = ((*folder).clone(), error.kind(), error.to_string());
                let denied = matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
                Failure::Mount { path, reason, changed: false, denied, left: false }
            })?;
        }
        // First: what is noted and not open is taken for what a run needs no more.
        if let Some(lock) = lock.as_ref().filter(|_| self.keeps()) {
            let mut noted = lock.noted();
            noted.retain(|noted| gone.iter().all(|left| left.intent.sequence != *noted));
            lock.note(&noted);
        }
        // Where that can't be said, the folder around it is refused once more, and this is asked again.
        for place in gone.iter().flat_map(Left::places).filter(|_| self.keeps()) {
            if let Some(staging) = left_at(Path::new(&place)) {
                let _ = staging.let_go();
            }
        }
        for Left { intent, folders, .. } in gone.into_iter().filter(|left| !left.is_closed) {
            // What nobody could end.
            let (closes, follows, error) = (Some(intent.sequence), Some(intent.hash), Some(ErrorCode::Conflict));
            let record = Record { closes, follows, folders, error, ..self.record(EntryKind::Recover) };
            self.store.commit(&record, &MemoryObjects::default(), &[])?;
        }
        Ok(())
    }

    /// The folders that hold what runs have left in granted ones. What a run that did not live had moved aside, because its folder is not
    /// there now or something else stands where that has to go; and what can't be removed of a run that is in the ledger, because
    /// somebody has put something beside it.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn unsettled(&self) -> Result<Vec<String>, Failure> {
        let lock = self.noting()?;
        Ok(self.left(lock.as_ref())?.iter().flat_map(Left::places).collect())
    }
}

/// The folder that holds what a run moved aside.
fn left_in(folder: &FolderRecord) -> String {
    format!("{}/{}", folder.path, folder.staging)
}

/// Ends what a run had begun in the folders of its intent; whether all of it is ended. An entry may have come from elsewhere: of what it
/// says, nothing is done that is not sealed with the key of this instance.
fn end(key: &SecretKey, intent: &Sealed, recorded: bool) -> Result<bool, Failure> {
    let (hash, intent) = (intent.hash, intent.open().map_err(Failure::Entry)?.record);
    let mut all = true;
    for folder in intent.folders.values() {
        all &= end_in(folder, Seal::of(key, hash, &folder.path, &folder.staging), recorded);
    }
    Ok(all)
}

fn end_in(folder: &FolderRecord, seal: Option<Seal>, recorded: bool) -> bool {
    let Ok(mount) = Mount::open(Path::new(&folder.path), Access::ReadWrite) else { return false };
    match (hutch_folder::look(mount.dir(), &folder.staging), seal) {
        (Ok(Some(_)), Some(seal)) => recover(mount.dir(), &seal, recorded, &Hands::default()).is_ok(),
        (Ok(None), _) => is_same(&mount, folder),
        _ => false,
    }
}

/// Whether nothing is left in a folder of a run.
fn is_clear(folder: &FolderRecord) -> bool {
    Mount::open(Path::new(&folder.path), Access::ReadWrite).is_ok_and(|mount| {
        matches!(hutch_folder::look(mount.dir(), &folder.staging), Ok(None)) && is_same(&mount, folder)
    })
}

/// Whether no other folder has the name by now: the one that was changed may come back.
fn is_same(mount: &Mount, folder: &FolderRecord) -> bool {
    mount.identity().0 == folder.identity.0
}
