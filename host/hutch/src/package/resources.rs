//! The folders of a package that its guest may read.

use super::{Package, PackageError, folder};
use hutch_model::digest::Digest;
use hutch_model::snapshot::MemoryObjects;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What they hold.
#[derive(Debug, Clone)]
pub(crate) struct Resources {
    /// Each, by the name that the guest sees.
    pub(crate) trees: BTreeMap<String, Digest>,
    /// Their content.
    pub(crate) objects: Arc<MemoryObjects>,
}

impl Resources {
    /// Reads those of a package.
    pub(crate) fn of(package: &Package) -> Result<Resources, PackageError> {
        let (mut objects, mut trees) = (MemoryObjects::default(), BTreeMap::new());
        for path in package.manifest().resources() {
            trees.insert(path.to_string(), folder::snapshot(package, path, &mut objects)?);
        }
        Ok(Resources { trees, objects: Arc::new(objects) })
    }
}
