//! Real folders that the operator grants. Each is opened once, and everything below goes through that handle without following a
//! link, so nothing outside it is reached, whatever a guest or another process puts there meanwhile.
//!
//! A guest sees one as it sees a volume: as a tree of objects (`objects`). What the run wants changed is carried out after its good
//! end: new content is staged in a folder below the granted one (`carry`), changes places with what it replaces, and what was there
//! is kept aside until the record is durable (`carried`). A journal in the staging folder says what was to be done (`journal`), so that a run
//! whose process did not live is taken back whole.

mod acting;
#[cfg(test)]
mod acting_tests;
mod back;
mod carried;
mod carry;
mod folders;
mod journal;
mod kept;
mod objects;
#[cfg(unix)]
mod rights;
#[cfg(test)]
mod rights_tests;
mod same;
mod seal;
#[cfg(test)]
mod settling_tests;
mod staged;
#[cfg(test)]
mod tests;

pub(crate) use carried::Carried;
pub(crate) use carry::{Carry, CarryError, Known, Wishes, mode_of};
pub(crate) use journal::recover;
pub(crate) use kept::{Keeping, Kept, KeptChange, KeptFolder, KeptForm, KeptName, KeptThing, keep};
pub(crate) use objects::MountObjects;
pub(crate) use seal::{Seal, staging_name};
pub(crate) use staged::{Staged, left_at};

use acting::Acting;
use cap_std::fs::Dir;
use hutch_folder::{Form, Stamp, look, open_folder};
use hutch_model::invocation::Access;
use hutch_model::ledger::MountRecord;
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of staging folders begin so. A guest sees none of them and can make none.
pub(crate) const STAGING: &str = ".hutch-";

/// A granted folder.
#[derive(Clone, Debug)]
pub struct Mount {
    dir: Arc<Dir>,
    /// Where it is, as the operator said.
    path: PathBuf,
    /// Where it is, without links.
    real_path: PathBuf,
    /// What the guest may do.
    access: Access,
    /// Whether it may change what tools act on, too.
    acted_on: bool,
    /// What leads tools to it, or to what is in it, from where it stands.
    above: Acting,
    /// What is not shown in it.
    hidden: Arc<HashSet<Identity>>,
}

/// The number of a file system, and of a folder on it: two with equal ones are one folder, wherever it shows.
pub(crate) type Identity = (u64, u64);

fn identity(dir: &Dir) -> Option<Identity> {
    let Stamp { inode, device, .. } = Stamp::of(&dir.dir_metadata().ok()?);
    Some((device, inode))
}

/// Those of the host's own folders and of what is in them, as deep as what it keeps of an instance or a package lies.
fn own_identities(own: &[PathBuf]) -> HashSet<Identity> {
    let mut found = HashSet::new();
    let opened = |folder: &PathBuf| Some((crate::package::open_folder(folder).ok()?, 0));
    let mut due: Vec<(Dir, usize)> = own.iter().filter_map(opened).collect();
    while let Some((dir, depth)) = due.pop() {
        found.extend(identity(&dir));
        let left = OWN_NAMES_MAX.saturating_sub(found.len());
        for name in hutch_folder::list_at_most(&dir, left).unwrap_or_default().names {
            let Ok(Some(stamp)) = look(&dir, &name) else { continue };
            found.insert((stamp.device, stamp.inode));
            if stamp.form == Form::Folder && depth < OWN_DEPTH {
                due.extend(open_folder(&dir, &name).ok().flatten().map(|folder| (folder, depth + 1)));
            }
        }
    }
    found
}

/// Those of a folder and of all that it is in, by its path.
fn identities_above(folder: &Path) -> impl Iterator<Item = Identity> {
    folder.ancestors().filter_map(|above| identity(&crate::package::open_folder(above).ok()?))
}

/// So much of the host's own is looked at, to know it elsewhere: down to `instances/SLUG/NAME/state`.
const OWN_NAMES_MAX: usize = 1 << 20;
const OWN_DEPTH: usize = 3;

impl Mount {
    /// Opens a folder for a guest.
    ///
    /// # Errors
    /// It is no folder, or can't be opened; or its path, without links, is no UTF-8, and it is to be changed.
    pub fn open(path: &Path, access: Access) -> io::Result<Mount> {
        let dir = Arc::new(crate::package::open_folder(path)?);
        #[expect(clippy::disallowed_methods, reason = "a granted folder is held against the home, which is a path too")]
        let real_path = path.canonicalize()?;
        // What a run changed there is found again by what the ledger says, which is text.
        if access == Access::ReadWrite && real_path.to_str().is_none() {
            let reason = format!(
                "{} is no text, and nothing is changed where that could not be written down",
                real_path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let above = if access == Access::ReadWrite { Acting::above(path, &real_path) } else { Acting::default() };
        let hidden = Arc::default();
        Ok(Mount { dir, path: path.to_owned(), real_path, access, acted_on: false, above, hidden })
    }

    /// The same, where the guest may also change what [tools act on](hutch_model::acted_on), and files that can be started.
    #[must_use]
    pub fn with_acted_on(self) -> Mount {
        Mount { acted_on: true, ..self }
    }

    /// Where it is, as the operator said.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the guest may do with it.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Whether `folder` lies in it, or it in `folder`. One that is not there yet lies where it will be made.
    pub(crate) fn overlaps(&self, folder: &Path) -> bool {
        let real = folder.ancestors().find_map(|there| {
            #[expect(
                clippy::disallowed_methods,
                reason = "a granted folder is held against the home, which is a path too"
            )]
            let real = there.canonicalize().ok()?;
            Some(real.join(folder.strip_prefix(there).ok()?))
        });
        real.is_some_and(|folder| folder.starts_with(&self.real_path) || self.real_path.starts_with(&folder))
    }

    /// Whether it is, holds, or lies in a folder of the host's own, by path or, where one folder shows at two places, by what it is.
    pub(crate) fn is_hosts(&self, own: &[PathBuf]) -> bool {
        let is_or_lies_in = || {
            let own = own_identities(own);
            identities_above(&self.real_path).chain(identity(&self.dir)).any(|folder| own.contains(&folder))
        };
        let holds =
            || identity(&self.dir).is_some_and(|it| own.iter().any(|own| identities_above(own).any(|id| id == it)));
        own.iter().any(|own| self.overlaps(own)) || is_or_lies_in() || holds()
    }

    /// The same, where the host's own folders are not shown to a guest, if they show in it.
    #[must_use]
    pub(crate) fn without(self, own: &[PathBuf]) -> Mount {
        Mount { hidden: own_identities(own).into(), ..self }
    }

    /// Whether this is one of the host's own folders or files, which no run is shown.
    fn hides(&self, stamp: &Stamp) -> bool {
        self.hidden.contains(&(stamp.device, stamp.inode))
    }

    /// What has tools act on all of it, where that was not granted.
    pub(crate) fn is_acted_on_by(&self) -> Option<&str> {
        self.above.by_all().filter(|_| self.access == Access::ReadWrite && !self.acted_on)
    }

    /// What the ledger says of it.
    pub fn record(&self) -> MountRecord {
        MountRecord { path: self.path.to_string_lossy().into_owned(), access: self.access, acted_on: self.acted_on }
    }

    /// What runs that did not end, whosever they are, have begun to place around it.
    pub(crate) fn staged(&self) -> Vec<Staged> {
        staged::around(&self.dir, &self.real_path)
    }

    /// Where it is, without links: what the ledger says, so that it is found again.
    pub(crate) fn real_path(&self) -> String {
        self.real_path.to_string_lossy().into_owned()
    }

    /// How much an entry takes at most that says where it is, and that something in it was changed.
    pub(crate) fn recorded_bytes(&self) -> usize {
        // Numbers, digests and the names of fields.
        const AROUND_BYTES: usize = 400;
        let written = |path: &Path| serde_json::Value::from(path.to_string_lossy()).to_string().len();
        written(&self.path) + written(&self.real_path) + AROUND_BYTES
    }

    /// Its number and that of its file system. They tell that it is another folder, never that it is the same.
    pub(crate) fn identity(&self) -> (u64, u64) {
        identity(&self.dir).map_or((0, 0), |(device, inode)| (inode, device))
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// The folder as a tree, and what reads it for a guest that may have so much memory. `name` is the guest's: it tells the handles of
    /// two folders apart.
    pub(crate) fn objects(&self, name: &str, memory_bytes: u64) -> Arc<MountObjects> {
        let hidden = self.hidden.clone();
        Arc::new(MountObjects::new((self.dir.clone(), hidden), self.path.clone(), name, memory_bytes))
    }
}
