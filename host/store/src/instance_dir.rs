//! Where an instance lies on disk, and the only door from a path to the files there:
//!
//! ```text
//! <home>/instances/<slug>/<instance>/hutch.db      the store, with SQLite's own -wal and -shm beside it
//! <home>/instances/<slug>/<instance>/hutch.mark    says that there is a store, and how far it has come at least
//! <home>/instances/<slug>/<instance>/hutch.new     there while the names of database and log may not be durable
//! <home>/instances/<slug>/<instance>/hutch.plain   what is known of the plain directories; it can be made anew
//! <home>/instances/<slug>/<instance>/hutch.memo    outcomes of calls that may be used again; it can be made anew
//! <home>/instances/<slug>/<instance>/hutch.open    held as long as the store is open, and alone by who replaces the instance
//! <home>/instances/<slug>/<instance>/hutch.lock    held while a plain directory is brought up to date
//! <home>/instances/<slug>/<instance>/hutch.grant   held while granted folders are changed
//! <home>/instances/<slug>/<instance>/hutch.undo/   what runs replaced in granted folders, so that it can be put back
//! <home>/instances/<slug>/<instance>/hutch.tmp/    files on their way into a plain directory, or out of it
//! <home>/instances/<slug>/<instance>/hutch.saved/  what somebody saved in a plain directory while it was on its way
//!                                                  and what stood in the place of hutch.plain and is not ours
//! <home>/instances/<slug>/<instance>/<volume>/     the plain directory of a volume
//! ```
//!
//! What is written here where it stands is a regular file that has no other name: a link leads to somebody else's.

use crate::error::StoreError;
use crate::names::InstanceName;
use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
#[cfg(unix)]
use cap_std::fs::Metadata;
use cap_std::fs::{Dir, OpenOptions};
use hutch_folder::Stamp;
use hutch_model::names::Slug;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At what distance a lock that another process holds is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The most bytes of notes that are read: each of some twenty stands for a folder that could not be cleaned up.
const NOTES_BYTES_MAX: u64 = 64 << 10;

/// The database's log, in the folder.
pub(crate) const LOG: &str = "hutch.db-wal";

/// The folder of one instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InstanceDir(PathBuf);

/// Held while something is done that only one process at a time may do. The system lets go of it when the process ends, however
/// it ends.
#[derive(Debug)]
pub struct InstanceLock(std::fs::File);

impl Drop for InstanceLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a process that another thread is about to start has it open too until it is another program, and who
        // found the lock taken would leave the work to one that does none.
        let _ = self.0.unlock();
    }
}

impl InstanceLock {
    /// What a file is locked by, once it is, until this is dropped.
    pub(crate) fn of(file: std::fs::File) -> InstanceLock {
        InstanceLock(file)
    }

    pub(crate) fn file(&self) -> &std::fs::File {
        &self.0
    }

    /// Notes the intents that are carried out under this lock or left something behind, for whoever comes if the process does not
    /// live; none if all was done. That it can't be noted costs only space that is not reclaimed.
    pub fn note(&self, intents: &[u64]) {
        let text = intents.iter().map(|intent| format!("{intent}\n")).collect::<String>();
        let emptied = self.0.set_len(0).and_then(|()| (&self.0).rewind());
        let _ = emptied.and_then(|()| (&self.0).write_all(text.as_bytes()));
    }

    /// The intents that were noted.
    pub fn noted(&self) -> Vec<u64> {
        let mut text = String::new();
        let read = (&self.0).rewind().and_then(|()| (&self.0).take(NOTES_BYTES_MAX).read_to_string(&mut text));
        match read {
            // What was cut within a line is another number.
            Ok(_) => text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect(),
            Err(_) => Vec::new(),
        }
    }
}

impl InstanceDir {
    /// The folder of `instance` of the package `slug` under `home`. Touches nothing.
    pub fn new(home: &Path, slug: &Slug, instance: &InstanceName) -> InstanceDir {
        InstanceDir(home.join("instances").join(slug.as_str()).join(instance.as_str()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.0.join("hutch.db")
    }

    /// The file of outcomes that may be used again.
    pub(crate) fn memo(&self) -> PathBuf {
        self.0.join("hutch.memo")
    }

    /// The database's log.
    pub(crate) fn log(&self) -> PathBuf {
        self.0.join(LOG)
    }

    /// Whether the database's log is there.
    pub(crate) fn has_log(&self) -> bool {
        #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so they are looked at by path")]
        self.log().symlink_metadata().is_ok()
    }

    /// How one name in the folder looks, where the folder is to be; `None` if nothing has it.
    pub(crate) fn look(&self, name: &str) -> io::Result<Option<Stamp>> {
        #[cfg(unix)]
        {
            #[expect(clippy::disallowed_methods, reason = "asks whether a folder that is open still has its path")]
            let looked = self.0.join(name).symlink_metadata();
            match looked {
                Ok(metadata) => Ok(Some(Stamp::of(&Metadata::from_just_metadata(metadata)))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        }
        // Elsewhere nothing but a handle says which file it is; and a folder in which one is open keeps its name.
        #[cfg(not(unix))]
        {
            let folder = self.open().map_err(io::Error::other)?;
            hutch_folder::look(&folder, name)
        }
    }

    /// Whether there is an instance, or was one, or somebody began to make one: which it is, [`SqliteStore::is_there`](crate::SqliteStore::is_there)
    /// says.
    pub fn exists(&self) -> bool {
        #[expect(clippy::disallowed_methods, reason = "asks for one name below the home, before there is a handle")]
        let there = |name: &str| self.0.join(name).metadata().is_ok_and(|metadata| metadata.is_file());
        there("hutch.mark") || (there("hutch.db") && self.database_bytes() > 0)
    }

    /// The database's size; 0 if there is none.
    pub fn database_bytes(&self) -> u64 {
        #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so they are looked at by path")]
        self.database().metadata().map_or(0, |metadata| metadata.len())
    }

    /// Creates the folder, for its owner only, where it is missing. As long as there is no database, whoever comes makes the way to
    /// it durable: one who made the folders may have been killed before that.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn create(&self) -> Result<(), StoreError> {
        #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way below it")]
        if self.0.is_dir() && self.database_bytes() > 0 {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way below it")]
        let made = hutch_folder::private_folders().recursive(true).create(&self.0);
        made.map_err(|error| StoreError::io(&self.0, "create the folder", error))?;
        // A commit is durable only if the way to it is. The home folder's own way is its maker's.
        self.sync()?;
        match self.0.ancestors().skip(1).take(3).try_for_each(sync_names) {
            // Nobody who may not read a folder made it: this process did before it was out of its reach, or somebody else did.
            Err(StoreError::Denied { .. }) => Ok(()),
            synced => synced,
        }
    }

    /// Makes the names in the folder durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        sync_names(&self.0)
    }

    /// Opens the folder.
    pub(crate) fn open(&self) -> Result<Dir, StoreError> {
        #[expect(clippy::disallowed_methods, reason = "the one place where an instance's path becomes authority")]
        let opened = Dir::open_ambient_dir(&self.0, ambient_authority());
        opened.map_err(|error| StoreError::io(&self.0, "open the folder", error))
    }

    /// The lock on changing granted folders, after waiting at most `wait` for it.
    ///
    /// # Errors
    /// [`StoreError::Busy`], or the system's refusal.
    pub fn lock_grants(&self, wait: Duration) -> Result<InstanceLock, StoreError> {
        lock(&self.open()?, &self.0, "hutch.grant", wait)
    }

    /// The folder of what runs replaced and took away in granted folders, for its owner only; if it is not there, it is made if that is
    /// wanted.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn undo_folder(&self, make: bool) -> Result<Option<Dir>, StoreError> {
        const NAME: &str = "hutch.undo";
        let folder = self.open()?;
        let opened = hutch_folder::open_folder(&folder, NAME).and_then(|opened| match opened {
            None if make => {
                hutch_folder::Hands::default().create_private_folder(&folder, NAME)?;
                hutch_folder::open_folder(&folder, NAME)
            }
            opened => Ok(opened),
        });
        opened.map_err(|error| StoreError::io(self.0.join(NAME), "open the folder", error))
    }

    /// Whether a run noted an intent and did not clear the note: it is at it, or did not live.
    pub fn has_noted_grants(&self) -> bool {
        #[expect(clippy::disallowed_methods, reason = "asks for one name in the instance's folder, whose path this is")]
        self.0.join("hutch.grant").metadata().is_ok_and(|metadata| metadata.len() > 0)
    }

    /// The same, if nobody else holds it.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn try_lock_grants(&self) -> Result<Option<InstanceLock>, StoreError> {
        try_lock(&self.open()?, &self.0, "hutch.grant")
    }
}

/// Makes the names in a folder durable, where folders can be synced.
fn sync_names(folder: &Path) -> Result<(), StoreError> {
    #[cfg(unix)]
    {
        #[expect(
            clippy::disallowed_methods,
            reason = "an instance's folder and the way to it are known by their paths"
        )]
        let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|error| StoreError::io(folder, "sync the folder", error))?;
    }
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

/// Opens a file that is there to be locked, and makes it where it is missing.
pub(crate) fn lock_file(folder: &Dir, name: &str) -> io::Result<(std::fs::File, Stamp)> {
    let mut options = OpenOptions::new();
    // Without waiting: a pipe in its place has nobody at its other end.
    options.read(true).write(true).create(true).nonblock(true).follow(FollowSymlinks::No);
    let file = folder.open_with(name, &options)?;
    let metadata = file.metadata()?;
    // Who holds it may write down there what is under way.
    hutch_folder::check_own(&metadata)?;
    Ok((file.into_std(), Stamp::of(&metadata)))
}

/// A lock, if nobody else holds it.
pub(crate) fn try_lock(folder: &Dir, path: &Path, name: &str) -> Result<Option<InstanceLock>, StoreError> {
    let failed = |error: io::Error| StoreError::io(path.join(name), "lock the folder", error);
    let (file, _) = lock_file(folder, name).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(InstanceLock(file))),
        Err(std::fs::TryLockError::WouldBlock) => Ok(None),
        Err(std::fs::TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// The lock that a file of this name in a folder is, after waiting at most `wait` for it. `path` is where the folder is, for messages.
///
/// # Errors
/// [`StoreError::Busy`], or the system's refusal.
pub fn lock(folder: &Dir, path: &Path, name: &str, wait: Duration) -> Result<InstanceLock, StoreError> {
    let held = wait_for(wait, || try_lock(folder, path, name))?;
    held.ok_or_else(|| StoreError::Busy { at: crate::error::at(&path.join(name)) })
}

/// What others hold, tried again until it can be had or `wait` is over.
///
/// # Errors
/// That of an attempt.
pub fn wait_for<T>(
    wait: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>, StoreError>,
) -> Result<Option<T>, StoreError> {
    #[expect(clippy::disallowed_methods, reason = "how long somebody waits is no time of the day")]
    let begun = Instant::now();
    loop {
        let had = attempt()?;
        let waited = begun.elapsed();
        if had.is_some() || waited >= wait {
            return Ok(had);
        }
        let pause = LOCK_PAUSE.min(wait - waited);
        #[expect(clippy::disallowed_methods, reason = "the system has no lock that is waited for with a limit")]
        std::thread::sleep(pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a process has it that is being started while the lock is held.
    #[test]
    fn a_lock_that_was_let_go_of_is_free_whoever_else_has_its_file_open() {
        let home = tempfile::tempdir().unwrap();
        let dir = InstanceDir::new(home.path(), &Slug::parse("todo").unwrap(), &InstanceName::default());
        dir.create().unwrap();
        let held = dir.try_lock_grants().unwrap().unwrap();
        let inherited = held.file().try_clone().unwrap();
        assert!(dir.try_lock_grants().unwrap().is_none());
        drop(held);
        assert!(dir.try_lock_grants().unwrap().is_some());
        drop(inherited);
    }

    /// What an attempt itself takes is waited, too.
    #[test]
    fn an_attempt_is_not_made_again_after_the_time_to_wait() {
        let (wait, mut made) = (Duration::from_millis(5), 0);
        let had = wait_for(wait, || {
            made += 1;
            let begun = Instant::now();
            while begun.elapsed() < wait {
                std::hint::spin_loop();
            }
            Ok(None::<()>)
        });
        assert!(matches!((had, made), (Ok(None), 1)), "{made}");
    }

    #[test]
    fn notes_are_read_no_further_than_their_bound_and_no_number_in_part() {
        let home = tempfile::tempdir().unwrap();
        let dir = InstanceDir::new(home.path(), &Slug::parse("todo").unwrap(), &InstanceName::default());
        dir.create().unwrap();
        let held = dir.try_lock_grants().unwrap().unwrap();
        held.note(&[7, 12]);
        assert_eq!(held.noted(), [7, 12]);
        let all: Vec<u64> = (100_000..200_000).collect();
        held.note(&all);
        // Seven bytes each, of which the bound cuts one in two.
        let whole = NOTES_BYTES_MAX as usize / 7;
        assert_ne!(NOTES_BYTES_MAX % 7, 0);
        assert_eq!(held.noted(), all[..whole]);
    }
}
