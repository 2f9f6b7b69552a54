//! What a run wants changed in a granted folder, staged so that it can be carried out, and taken back until the last moment.
//!
//! Staging writes all new content into a folder below the granted one, one for each file system, and the journal that says what is to
//! be done. Only then anything is moved ([`Carried`]).

use super::acting;
use super::carried::Carried;
use super::journal::{Journal, Made, Operation, What};
use super::objects::{MountObjects, open_below};
#[cfg(unix)]
use super::rights::{self, Origins};
use super::{Mount, STAGING, Seal};
use crate::answer::VolumeChange;
use cap_std::fs::Dir;
#[cfg(unix)]
use cap_std::fs::MetadataExt;
#[cfg(unix)]
use hutch_folder::open_folder;
use hutch_folder::{Hands, Stamp, look, stays_inside};
use hutch_model::snapshot::{Changes, Entry, Node, ObjectError, Objects, compare, read_file};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;

/// The most bytes of paths that one run may change in one granted folder.
const PATH_BYTES_MAX: usize = 64 << 20;

/// So many files are made durable one by one; if there are more, the rest with their whole file system at once. Where a system has no way
/// to do that, all one by one.
const SYNCED_EACH_MAX: usize = if cfg!(target_os = "linux") { 32 } else { usize::MAX };

/// Why a granted folder could not be changed. It is as it was, unless the error says otherwise.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CarryError {
    /// Another program changed what the run was about to change.
    #[error("{0:?} was changed by another program meanwhile")]
    Changed(String),
    /// The run wants what the folder can't get, and also wants something gone, which may be the same.
    #[error("{0:?} can't be in a granted folder, and the run also removed something there: it may have been moved")]
    Withheld(String),
    /// Tools act on it, and the operator did not grant that.
    #[error("tools act on {0:?}, which only a folder that is granted with :rwx lets a run change")]
    ActedOn(String),
    /// Somebody may start it, and the operator did not grant that.
    #[error("{0:?} may be started as a program, and only a folder that is granted with :rwx lets a run change such")]
    Startable(String),
    /// Tools act on it for where it is or what leads to it, and the operator did not grant that.
    #[error(
        "tools act on {path:?} because of {by:?}, and only a folder that is granted with :rwx lets a run change it"
    )]
    LedTo {
        /// The path below the granted folder.
        path: String,
        /// What they act on by its name.
        by: String,
    },
    /// Something stands there that a run is not shown.
    #[error(
        "something is at {0:?} that no run is shown: a pipe, a socket, a device, a link that leads out of the folder, or what is hutch's own"
    )]
    NotShown(String),
    /// It can't be told what tools act on.
    #[error(
        "what links lead tools to can't be told, so only in a folder that is granted with :rwx a run changes anything: {0}"
    )]
    Untold(String),
    /// An object can't be had.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The path below the granted folder.
        path: String,
        /// What it said.
        source: io::Error,
    },
    /// It could not be taken back either: what is missing is in the staging folder.
    #[error("{failed}; it could not be taken back: {left}; what was there before is in {staging}")]
    Left {
        /// What failed first.
        failed: String,
        /// What then.
        left: String,
        /// The folder that holds what was there.
        staging: String,
    },
}

/// One change, as the snapshots have it.
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) was: Option<Entry>,
    pub(super) is: Option<Entry>,
}

/// All that a run wants changed in one granted folder, and what of that the folder does not get.
pub(crate) struct Wishes {
    pub(super) wanted: Vec<Wanted>,
    /// What is known of what comes, by path; what is not in it gets what the system gives it.
    known: BTreeMap<String, Known>,
    /// What the folder gets, as the ledger and the answer list it.
    pub(crate) changes: Changes,
    /// Links that could leave the folder, and names that are the host's own.
    pub(crate) withheld: Vec<String>,
}

impl Wishes {
    /// What `change` comes to.
    ///
    /// # Errors
    /// An object can't be had; it is too much; tools act on it; or what can't be had could have been moved there, so that it would be
    /// nowhere.
    pub(crate) fn of(mount: &Mount, objects: &dyn Objects, change: &VolumeChange) -> Result<Wishes, CarryError> {
        let (mut wanted, mut withheld, mut bytes) = (Vec::new(), BTreeSet::new(), 0);
        let mut refused = None;
        compare(objects, &change.before, &change.after, &mut |difference| {
            let path = difference.path;
            bytes += path.len();
            if bytes > PATH_BYTES_MAX {
                return;
            }
            let depth = path.bytes().filter(|byte| *byte == b'/').count();
            let leaves = |entry: &&Entry| match &entry.node {
                Node::Link { target } => !stays_inside(depth, target),
                _ => false,
            };
            let reserved = path.split('/').any(|name| name.starts_with(STAGING));
            if reserved || difference.is.as_ref().is_some_and(leaves) {
                withheld.insert(path.to_owned());
            }
            if !reserved {
                if refused.is_none() {
                    refused = acting::refused(mount, path, (difference.was, difference.is));
                }
                let is = difference.is.filter(|entry| !leaves(entry)).cloned();
                wanted.push(Wanted { path: path.to_owned(), was: difference.was.cloned(), is });
            }
        })?;
        if bytes > PATH_BYTES_MAX {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "the run changed too many paths at once");
            return Err(CarryError::Io { path: String::new(), source });
        }
        if let Some(refused) = refused {
            return Err(refused);
        }
        acting::check_led_to(mount, &wanted)?;
        if let Some(first) = withheld.first()
            && wanted.iter().any(|wanted| wanted.was.is_some() && wanted.is.is_none())
        {
            return Err(CarryError::Withheld(first.clone()));
        }
        let mut changes = change.changes.clone();
        changes.listed.retain(|change| !withheld.contains(&change.path));
        let unlisted = (withheld.len() + changes.listed.len()).saturating_sub(change.changes.listed.len());
        changes.omitted = changes.omitted.saturating_sub(unlisted as u64);
        Ok(Wishes { wanted, known: BTreeMap::new(), changes, withheld: withheld.into_iter().collect() })
    }

    /// The same, where what comes again may be used by those who might use it before.
    pub(crate) fn with_known(self, known: BTreeMap<String, Known>) -> Wishes {
        Wishes { known, ..self }
    }
}

/// What is known of something that comes.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Who may do what with it.
    pub(crate) mode: u32,
    /// Of a folder that is moved: where it was before that.
    pub(crate) from: Option<String>,
}

/// All that is to be changed in one granted folder, staged.
pub(crate) struct Carry<'a> {
    mount: &'a Mount,
    hands: Hands,
    journal: Journal,
    seal: Seal,
    /// The journal as it was written, which is locked until all is done.
    held: Option<File>,
    /// Files that were written.
    files: usize,
    /// What is known of what was staged, by path.
    left: BTreeMap<String, Known>,
}

impl<'a> Carry<'a> {
    /// Stages what is wanted. `seen` is how everything looked that the run was shown; `seal` names the folder.
    ///
    /// # Errors
    /// The system refuses, an object can't be had, or the folder is not any more what the run was shown. Nothing was changed, and
    /// nothing is left behind.
    pub(crate) fn stage(
        mount: &'a Mount,
        objects: &dyn Objects,
        (wishes, seen): (&Wishes, &MountObjects),
        seal: Seal,
        hands: Hands,
    ) -> Result<Carry<'a>, CarryError> {
        let mut carry = Carry::new(mount, seal, hands);
        carry.stage_all(objects, wishes, seen).inspect_err(|_| carry.clear())?;
        Ok(carry)
    }

    fn new(mount: &'a Mount, seal: Seal, hands: Hands) -> Carry<'a> {
        let journal = Journal::new(seal.staging());
        Carry { mount, hands, journal, seal, held: None, files: 0, left: BTreeMap::new() }
    }

    /// Stages, and if that fails leaves everything as it stands, as a process that ends there does.
    #[cfg(test)]
    pub(super) fn stage_and_stop(
        mount: &'a Mount,
        objects: &dyn Objects,
        (wishes, seen): (&Wishes, &MountObjects),
        seal: Seal,
        hands: Hands,
    ) -> Result<Carry<'a>, CarryError> {
        let mut carry = Carry::new(mount, seal, hands);
        carry.stage_all(objects, wishes, seen).map(|()| carry)
    }

    /// Carries out, and if that fails leaves everything as it stands. Whether nothing failed.
    #[cfg(test)]
    pub(super) fn apply_and_stop(self) -> bool {
        let Carry { mount, hands, journal, held, .. } = self;
        Carried { mount, journal, hands, held }.apply_all().is_ok()
    }

    fn stage_all(
        &mut self,
        objects: &dyn Objects,
        Wishes { wanted, known, .. }: &Wishes,
        seen: &MountObjects,
    ) -> Result<(), CarryError> {
        // Folders that go, each with its operation and its number.
        let mut removed = BTreeMap::new();
        // Parents come before what they hold, so backwards they come after it.
        for wanted in wanted.iter().rev() {
            let (Some(was), is) = (&wanted.was, &wanted.is) else { continue };
            let both_in_place = is.as_ref().is_some_and(|is| !is_folder(was) && !is_folder(is));
            let stays = is.as_ref().is_some_and(|is| is_folder(was) && is_folder(is));
            if !both_in_place && !stays {
                let stamp = self.seen(seen, &wanted.path)?;
                let what =
                    if is_folder(was) { What::RemoveFolder { inode: stamp.inode } } else { What::Remove(stamp.into()) };
                let number = self.add(&wanted.path, what)?;
                if is_folder(was) {
                    removed.insert(wanted.path.as_str(), (number, stamp.inode));
                }
            }
        }
        #[cfg(unix)]
        let origins = Origins::of(self.mount, wanted, seen).map_err(io_at(""))?;
        #[cfg(not(unix))]
        let origins = &();
        for Wanted { path, was, is } in wanted {
            let Some(is) = is else { continue };
            let replaced = was.as_ref().filter(|was| !is_folder(was) && !is_folder(is));
            let (before, mode) = (known.get(path), known.get(path).map(|known| known.mode));
            match (was, replaced) {
                (Some(was), _) if was.node == is.node || (is_folder(was) && is_folder(is)) => {}
                (_, Some(_)) => {
                    let stamp = self.seen(seen, path)?;
                    self.check_may_write(path)?;
                    let number = self.add(path, What::Replace { made: Made::default(), was: stamp.into() })?;
                    self.write((objects, seen, &origins), number, (path, is, true), mode)?;
                }
                _ if is_folder(is) && self.move_folder((before, &origins), path, &mut removed)? => {}
                _ => {
                    let number = self.add(path, What::Place(Made::default()))?;
                    self.write((objects, seen, &origins), number, (path, is, false), mode)?;
                }
            }
        }
        for Wanted { path, was, is } in wanted.iter().rev() {
            if let (Some(was), Some(is)) = (was, is)
                && was.modified_ns != is.modified_ns
                && (was.node == is.node || is_folder(is) && is_folder(was))
            {
                let seen = if is_folder(is) { None } else { Some(self.seen(seen, path)?.into()) };
                self.add(path, What::Time { was_ns: was.modified_ns, is_ns: is.modified_ns, seen })?;
            }
        }
        #[cfg(target_os = "linux")]
        if self.files > SYNCED_EACH_MAX {
            for staging in self.journal.all_staging(self.mount.dir()).map_err(io_at(""))? {
                self.hands.sync_file_system(&staging).map_err(io_at(""))?;
            }
        }
        self.held = self.journal.write(self.mount.dir(), &self.seal, &self.hands).map_err(io_at(""))?;
        Ok(())
    }

    /// Lets a folder that went be the one that comes at `path`, if it was moved there: it stays what it is, whose and for whom, with what it gives on
    /// to what is made in it. Nothing else could give it that again behind the rings. Whether that is so.
    #[cfg(unix)]
    fn move_folder(
        &mut self,
        (before, origins): (Option<&Known>, &Origins<'_>),
        path: &str,
        removed: &mut BTreeMap<&str, (usize, u64)>,
    ) -> Result<bool, CarryError> {
        let Some(from) = before.and_then(|before| before.from.as_deref()).or_else(|| origins.moved(path)) else {
            return Ok(false);
        };
        let Some((number, inode)) = removed.get(from).copied() else { return Ok(false) };
        let staging = self.journal.staging_for(self.mount.dir(), path, &self.hands).map_err(io_at(path))?;
        // Nothing is moved from one file system to another.
        if self.journal.operations.get(number).is_none_or(|operation| operation.staging != staging) {
            return Ok(false);
        }
        removed.remove(from);
        let what = What::MoveFolder { removed: number, inode };
        self.journal.operations.push(Operation { path: path.to_owned(), staging, what });
        let mode = mode_of(self.mount, from)?.unwrap_or_default() & 0o777;
        self.left.insert(path.to_owned(), Known { mode, from: Some(from.to_owned()) });
        Ok(true)
    }

    /// Where a folder comes from is not known there.
    #[cfg(not(unix))]
    fn move_folder(
        &mut self,
        _: (Option<&Known>, &Origins<'_>),
        _: &str,
        _: &mut BTreeMap<&str, (usize, u64)>,
    ) -> Result<bool, CarryError> {
        Ok(false)
    }

    /// How something looked that the run was shown. What it was not shown, it can't change.
    fn seen(&self, seen: &MountObjects, path: &str) -> Result<Stamp, CarryError> {
        seen.stamp(path).ok_or_else(|| CarryError::Changed(path.to_owned()))
    }

    /// Refuses another content where the user may not change the file: to give its name to another file takes no such right.
    fn check_may_write(&self, path: &str) -> Result<(), CarryError> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = open_below(self.mount.dir(), above).map_err(io_at(path))?;
        folder.map_or(Ok(()), |folder| hutch_folder::check_may_write(&folder, name)).map_err(io_at(path))
    }

    /// Adds an operation, in the staging folder of the file system that its place is on.
    fn add(&mut self, path: &str, what: What) -> Result<usize, CarryError> {
        let staging = self.journal.staging_for(self.mount.dir(), path, &self.hands).map_err(io_at(path))?;
        self.journal.operations.push(Operation { path: path.to_owned(), staging, what });
        Ok(self.journal.operations.len() - 1)
    }

    /// Writes what comes into the staging folder.
    fn write(
        &mut self,
        (objects, seen, origins): (&dyn Objects, &MountObjects, &Origins<'_>),
        number: usize,
        (path, is, replaces): (&str, &Entry, bool),
        known: Option<u32>,
    ) -> Result<(), CarryError> {
        let (Some(folder), name) = (self.staging_of(number)?, Operation::new_name(number)) else { return Ok(()) };
        let failed = io_at(path);
        match &is.node {
            Node::Folder { .. } => {
                self.hands.create_folder(&folder, &name).map_err(&failed)?;
                #[cfg(unix)]
                {
                    let made = open_folder(&folder, &name)
                        .map_err(&failed)?
                        .ok_or_else(|| CarryError::Changed(path.to_owned()))?;
                    let open = made.open(".").map_err(&failed)?.into_std();
                    let settled =
                        rights::settle((&self.hands, &open), (self.mount, seen, origins), (path, is, replaces), known);
                    let mode = settled.map_err(failed)?;
                    self.left.insert(path.to_owned(), Known { mode, from: None });
                }
            }
            Node::Link { target } => {
                self.hands.create_link(&folder, &name, target).map_err(&failed)?;
                self.hands.set_modified(&folder, &name, is.modified_ns).map_err(failed)?;
            }
            Node::File { size, content } => {
                // Nobody else gets into the folder that it is staged in.
                let file = self.hands.create_file(&folder, &name).map_err(io_at(path))?;
                read_file(objects, content, *size, &mut |bytes| self.hands.write(&file, bytes).map_err(io_at(path)))?;
                #[cfg(unix)]
                {
                    let settled =
                        rights::settle((&self.hands, &file), (self.mount, seen, origins), (path, is, replaces), known);
                    let mode = settled.map_err(io_at(path))?;
                    self.left.insert(path.to_owned(), Known { mode, from: None });
                }
                self.hands.set_file_modified(&file, is.modified_ns).map_err(&failed)?;
                self.files += 1;
                if self.files <= SYNCED_EACH_MAX {
                    self.hands.sync(&file).map_err(failed)?;
                }
            }
        }
        let stamp = look(&folder, &name).map_err(io_at(path))?;
        let staged = stamp.ok_or_else(|| CarryError::Changed(path.to_owned()))?.into();
        let operation = self.journal.operations.get_mut(number);
        if let Some(Operation { what: What::Place(made) | What::Replace { made, .. }, .. }) = operation {
            *made = staged;
        }
        Ok(())
    }

    fn staging_of(&self, number: usize) -> Result<Option<Dir>, CarryError> {
        let operation = self.journal.operations.get(number);
        let open = |operation: &Operation| self.journal.open_staging(self.mount.dir(), operation.staging);
        operation.map(open).transpose().map_err(io_at("")).map(Option::flatten)
    }

    /// What is known of what comes, by path, as far as that is other than it was.
    pub(crate) fn left(&self) -> &BTreeMap<String, Known> {
        &self.left
    }

    /// Does it. What was there is kept aside.
    ///
    /// # Errors
    /// The system refuses, or somebody changed something meanwhile. All was taken back, unless the error says otherwise.
    pub(crate) fn apply(self) -> Result<Carried<'a>, CarryError> {
        let Carry { mount, hands, journal, held, .. } = self;
        let carried = Carried { mount, journal, hands, held };
        match carried.apply_all() {
            Ok(()) => Ok(carried),
            Err(error) => Err(carried.give_up(error)),
        }
    }

    /// Removes what was staged; nothing was changed. What can't be removed now, [`recover`](super::recover) removes.
    pub(crate) fn drop_staged(self) {
        self.clear();
    }

    fn clear(&self) {
        let _ = self.journal.clear(self.mount.dir(), false, &self.hands);
    }
}

/// Nobody says there who may do what.
#[cfg(not(unix))]
type Origins<'o> = &'o ();

pub(super) fn is_folder(entry: &Entry) -> bool {
    matches!(entry.node, Node::Folder { .. })
}

/// Who may do what with a file or folder, and whether it is a file. Not opened: somebody may start what not everybody may read.
#[cfg(unix)]
pub(super) fn mode(mount: &Mount, path: &str) -> io::Result<Option<(u32, bool)>> {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some(folder) = open_below(mount.dir(), above)? else { return Ok(None) };
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        metadata => {
            let metadata = Some(metadata?).filter(|metadata| metadata.is_file() || metadata.is_dir());
            Ok(metadata.map(|metadata| (MetadataExt::mode(&metadata), metadata.is_file())))
        }
    }
}

/// Who may do what with it alone.
pub(crate) fn mode_of(mount: &Mount, path: &str) -> Result<Option<u32>, CarryError> {
    Ok(mode(mount, path).map_err(io_at(path))?.map(|(mode, _)| mode))
}

/// Nobody says there.
#[cfg(not(unix))]
pub(super) fn mode(_: &Mount, _: &str) -> io::Result<Option<(u32, bool)>> {
    Ok(None)
}

pub(super) fn io_at(path: &str) -> impl Fn(io::Error) -> CarryError + use<> {
    let path = path.to_owned();
    move |source| CarryError::Io { path: path.clone(), source }
}
