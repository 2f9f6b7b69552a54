//! What a process has to reach after its first guest has started, in one place: the folder of the instance, what the operator granted, and
//! the package. Everything else was opened before, and whoever owns the process may take it away.

use crate::failure::Failure;
use crate::host::Host;
use crate::mount::Mount;
use crate::package::{Package, open_folder};
use crate::session::Session;
use hutch_model::invocation::Access;
use hutch_sandbox::ring::paths::{Left, May};
use std::collections::BTreeMap;

impl Host {
    /// Has this process enclosed, if its owner wants that: the program is there, and the guest has not started.
    pub(crate) fn enclose(
        &self,
        package: &Package,
        session: Option<&Session>,
        mounts: &BTreeMap<String, Mount>,
    ) -> Result<(), Failure> {
        let Some(enclose) = self.encloser() else { return Ok(()) };
        // What is only previewed may have no folder.
        let instance = session.and_then(|session| session.dir.as_ref()).map(|dir| {
            let fault =
                |error| Failure::Unenclosed { reason: format!("{}: {error}", dir.path().display()), missing: false };
            open_folder(dir.path()).map_err(fault)
        });
        let instance = instance.transpose()?;
        let mut left: Vec<Left<'_>> = Vec::new();
        left.extend(instance.iter().map(|folder| (folder, May::Write)));
        // A packed file is open, and needs no path.
        left.extend(package.folder().map(|folder| (folder, May::Read)));
        left.extend(mounts.values().map(|mount| {
            let may = match mount.access() {
                Access::ReadOnly => May::Read,
                Access::ReadWrite => May::Write,
            };
            (mount.dir(), may)
        }));
        enclose(&left)
    }

    /// The same, for guests that come from nowhere but this package and leave nothing.
    ///
    /// # Errors
    /// It can't be enclosed as its owner wants it.
    pub fn enclose_alone(&self, package: &Package) -> Result<(), Failure> {
        self.enclose(package, None, &BTreeMap::new())
    }
}
