//! Where an instance lies on disk, and the only door from a path to the files there:
//!
//! ```text
//! <home>/instances/<slug>/<instance>/hutch.db      the store, with SQLite's own -wal and -shm beside it
//! <home>/instances/<slug>/<instance>/hutch.lock    held while a plain directory is brought up to date
//! <home>/instances/<slug>/<instance>/hutch.tmp/    files on their way into a plain directory
//! <home>/instances/<slug>/<instance>/<volume>/     the plain directory of a volume
//! ```

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::error::StoreError;
use crate::names::InstanceName;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use hutch_model::names::Slug;
use std::path::{Path, PathBuf};

/// The folder of one instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place(PathBuf);

impl Place {
    /// The folder of `instance` of the package `slug` under `home`. Touches nothing.
    pub fn new(home: &Path, slug: &Slug, instance: &InstanceName) -> Place {
        Place(home.join("instances").join(slug.as_str()).join(instance.as_str()))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// The database file.
    pub fn database(&self) -> PathBuf {
        self.0.join("hutch.db")
    }

    /// Whether there is an instance. A database without content is one whose making was cut off.
    pub fn exists(&self) -> bool {
        self.database().metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
    }

    /// Creates the folder, for its owner only, where it is missing.
    pub(crate) fn create(&self) -> Result<(), StoreError> {
        if self.0.is_dir() {
            return Ok(());
        }
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.0).map_err(|error| StoreError::io(&self.0, "create the folder", error))?;
        // A commit is durable only if the way to it is. The home folder's own way is its maker's.
        #[cfg(unix)]
        for folder in self.0.ancestors().skip(1).take(3) {
            let synced = std::fs::File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(|error| StoreError::io(folder, "sync the folder", error))?;
        }
        Ok(())
    }

    /// Opens the folder.
    pub(crate) fn open(&self) -> Result<Dir, StoreError> {
        Dir::open_ambient_dir(&self.0, ambient_authority())
            .map_err(|error| StoreError::io(&self.0, "open the folder", error))
    }
}
