//! The instances that a home holds: whether all that is kept of one is what was written, and whole ones copied, renamed and taken away.
//! Runs nothing.

use crate::failure::Failure;
use crate::host::Host;
use cap_fs_ext::DirExt;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::names::Slug;
use hutch_store::{Damage, Head, IfMissing, InstanceDir, InstanceName, Opening, SqliteStore, Stats, Store, StoreError};
use std::io;
use std::path::Path;
use std::time::Duration;

/// An instance that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The package.
    pub slug: Slug,
    /// Its name.
    pub name: InstanceName,
    /// Bytes of its database.
    pub bytes: u64,
}

/// What looking through an instance found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What is not as it was written; nothing in a sound instance.
    pub damages: Vec<Damage>,
    /// How much there is; nothing where that can't be counted.
    pub stats: Option<Stats>,
}

/// The instances below a home, by package and name. What has no name of an instance is none.
///
/// # Errors
/// A folder can't be read.
pub fn of(home: &Path) -> io::Result<Vec<Instance>> {
    all(home, |dir| SqliteStore::is_there(dir, Duration::ZERO))
}

/// What is left of instances whose making was cut off: nothing was ever kept there. Those that somebody has open are not among them.
/// [`Host::purge_instance`] takes one away; this only looks.
///
/// # Errors
/// A folder can't be read.
pub fn begun(home: &Path) -> io::Result<Vec<Instance>> {
    all(home, SqliteStore::is_left)
}

fn all(home: &Path, is_one: impl Fn(&InstanceDir) -> bool) -> io::Result<Vec<Instance>> {
    let mut found = Vec::new();
    let Some(folder) = absent(crate::package::open_folder(home))? else { return Ok(found) };
    let Some(packages) = absent(folder.open_dir_nofollow("instances"))? else { return Ok(found) };
    for package in packages.entries()? {
        let package = package?;
        let Some(slug) = package.file_name().to_str().and_then(|name| Slug::parse(name).ok()) else { continue };
        if !package.file_type()?.is_dir() {
            continue;
        }
        for instance in package.open_dir()?.entries()? {
            let instance = instance?;
            let name = instance.file_name().to_str().and_then(|name| name.parse::<InstanceName>().ok());
            let Some(name) = name.filter(|_| instance.file_type().is_ok_and(|kind| kind.is_dir())) else { continue };
            let dir = InstanceDir::new(home, &slug, &name);
            if is_one(&dir) {
                found.push(Instance { slug: slug.clone(), name, bytes: dir.database_bytes() });
            }
        }
    }
    found.sort_by(|a, b| (a.slug.as_str(), a.name.as_str()).cmp(&(b.slug.as_str(), b.name.as_str())));
    Ok(found)
}

/// Looks through all that is kept of an instance: each object and stream, the ledger, and that it leads to the state.
///
/// # Errors
/// There is no such instance, or the store can't be read. That it is damaged is no error.
pub fn check(home: &Path, slug: &Slug, instance: &InstanceName, wait: Duration) -> Result<Checked, Failure> {
    let dir = InstanceDir::new(home, slug, instance);
    let checked = SqliteStore::open(&dir, &Opening { if_missing: IfMissing::Fail, wait })
        .and_then(|store| Ok(Checked { damages: store.check()?, stats: store.stats().ok() }));
    match checked {
        Err(error) if error.code() == ErrorCode::StoreDamaged => {
            let damage = Damage { what: "the store".to_owned(), reason: error.to_string() };
            Ok(Checked { damages: vec![damage], stats: None })
        }
        checked => Ok(checked?),
    }
}

/// Where an instance stands. It is not looked through, and what a person wrote into its plain folders is not in it.
///
/// # Errors
/// The store can't be read, or is damaged.
pub fn head(home: &Path, instance: &Instance, wait: Duration) -> Result<Head, Failure> {
    let dir = InstanceDir::new(home, &instance.slug, &instance.name);
    Ok(SqliteStore::open(&dir, &Opening { if_missing: IfMissing::Fail, wait })?.head()?)
}

impl Host {
    /// Copies an instance with its whole ledger, under another name. Edits in its plain directories are recorded first. Says why the plain
    /// directories of the copy do not show its state yet, if they don't. A preview only looks whether it could be done.
    ///
    /// # Errors
    /// There is no such instance, or one of the new name; a run that was killed is not settled yet; the store fails.
    pub fn copy_instance(
        &self,
        slug: &Slug,
        from: &InstanceName,
        to: &InstanceName,
        at: Instant,
    ) -> Result<Option<String>, Failure> {
        let session = self.open_existing(slug, from, at)?;
        session.absorb_edits()?;
        let target = self.free(slug, to)?;
        if !self.keeps() {
            return Ok(None);
        }
        self.store_of(slug, from)?.copy_to(&target)?;
        // It is kept, whatever keeps the plain directories from being made: the next call makes them.
        let shown = self.open_existing(slug, to, at).map(|session| session.update_plain());
        Ok(shown.unwrap_or_else(|failure| Some(failure.to_string())))
    }

    /// Gives an instance another name. A preview only looks whether it could be done.
    ///
    /// # Errors
    /// There is no such instance, or one of the new name; somebody has it open ([`StoreError::InUse`]), a server, or a session of this very
    /// process; the store fails.
    pub fn rename_instance(&self, slug: &Slug, from: &InstanceName, to: &InstanceName) -> Result<(), Failure> {
        let store = self.store_of(slug, from)?;
        let target = self.free(slug, to)?;
        if self.keeps() {
            store.rename_to(&target)?;
        }
        Ok(())
    }

    /// Takes an instance away: its state, its ledger, and its plain directories; or what is left of one that was only [`begun`]. What a run has
    /// left in a granted folder ([`unsettled`](crate::Session::unsettled)) stays there, and nobody knows of it any more. A preview only looks
    /// whether it could be done.
    ///
    /// # Errors
    /// There is no such instance; somebody has it open ([`StoreError::InUse`]), a server, or a session of this very process; the store fails.
    pub fn purge_instance(&self, slug: &Slug, instance: &InstanceName) -> Result<(), Failure> {
        let (dir, wait) = (InstanceDir::new(self.home(), slug, instance), self.wait());
        if SqliteStore::is_begun(&dir, wait) && (!self.keeps() || SqliteStore::purge_begun(&dir, wait)?) {
            return Ok(());
        }
        let store = self.store_of(slug, instance)?;
        if self.keeps() {
            store.purge()?;
        }
        Ok(())
    }

    pub(crate) fn store_of(&self, slug: &Slug, instance: &InstanceName) -> Result<SqliteStore, Failure> {
        let dir = InstanceDir::new(self.home(), slug, instance);
        Ok(SqliteStore::open(&dir, &Opening { if_missing: IfMissing::Fail, wait: self.wait() })?)
    }

    fn free(&self, slug: &Slug, name: &InstanceName) -> Result<InstanceDir, Failure> {
        let dir = InstanceDir::new(self.home(), slug, name);
        match dir.exists() {
            true => Err(StoreError::Occupied { at: dir.path().display().to_string() }.into()),
            false => Ok(dir),
        }
    }
}

/// What may be missing.
fn absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
