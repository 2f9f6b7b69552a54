//! The folders of a package that its guest may read.

use super::{Package, PackageBounds, PackageError, Source, folder};
use hutch_model::digest::Digest;
use hutch_model::names::PackagePath;
use hutch_model::snapshot::{MemoryObjects, Objects};
use std::collections::BTreeMap;
use std::sync::Arc;
#[cfg(feature = "machine")]
use {
    hutch_model::digest::Kind, hutch_model::manifest::Manifest, hutch_model::snapshot::ObjectError, std::sync::OnceLock,
};

/// What they hold.
#[derive(Clone)]
pub(crate) struct Resources {
    /// Each, by the name that the guest sees.
    pub(crate) trees: BTreeMap<String, Digest>,
    /// Their content.
    pub(crate) objects: Arc<dyn Objects>,
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resources").field("trees", &self.trees).finish_non_exhaustive()
    }
}

impl Resources {
    /// Reads those of a package.
    pub(super) fn of(package: &Package) -> Result<Resources, PackageError> {
        let (trees, objects) = read(&package.source, &package.bounds, package.manifest.resources())?;
        Ok(Resources { trees, objects: Arc::new(objects) })
    }

    /// Those that are known to be these. They are read when a guest first reads one.
    #[cfg(feature = "machine")]
    pub(super) fn known(
        source: &Source,
        bounds: PackageBounds,
        manifest: &Manifest,
        trees: BTreeMap<String, Digest>,
    ) -> Resources {
        if trees.is_empty() {
            return Resources { trees, objects: Arc::new(MemoryObjects::default()) };
        }
        let (source, folders) = (source.clone(), manifest.resources().to_vec());
        let unread = Unread { source, bounds, folders, trees: trees.clone(), read: OnceLock::new() };
        Resources { trees, objects: Arc::new(unread) }
    }
}

fn read(
    source: &Source,
    bounds: &PackageBounds,
    folders: &[PackagePath],
) -> Result<(BTreeMap<String, Digest>, MemoryObjects), PackageError> {
    let (mut objects, mut trees) = (MemoryObjects::default(), BTreeMap::new());
    for path in folders {
        trees.insert(path.to_string(), folder::read(source, bounds, path, &mut objects)?);
    }
    Ok((trees, objects))
}

/// Resources of which nothing but the names was needed yet.
#[cfg(feature = "machine")]
struct Unread {
    source: Source,
    bounds: PackageBounds,
    folders: Vec<PackagePath>,
    trees: BTreeMap<String, Digest>,
    read: OnceLock<Result<MemoryObjects, String>>,
}

#[cfg(feature = "machine")]
impl Objects for Unread {
    fn get(&self, kind: Kind, digest: &Digest) -> Result<Arc<[u8]>, ObjectError> {
        let read = self.read.get_or_init(|| match read(&self.source, &self.bounds, &self.folders) {
            Ok((trees, objects)) if trees == self.trees => Ok(objects),
            Ok(_) => Err("the package's resources were changed after it was opened".to_owned()),
            Err(error) => Err(error.to_string()),
        });
        match read {
            Ok(objects) => objects.get(kind, digest),
            Err(reason) => Err(ObjectError::unreadable(kind, *digest, reason)),
        }
    }
}
