//! The instances that a home holds, and whether all that is kept of one is what was written. Runs nothing and changes nothing.

use crate::failure::Failure;
use cap_fs_ext::DirExt;
use hutch_model::error_code::ErrorCode;
use hutch_model::names::Slug;
use hutch_store::{Damage, IfMissing, InstanceDir, InstanceName, Opening, SqliteStore, Stats, Store};
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
            if dir.exists() {
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

/// What may be missing.
fn absent<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}
