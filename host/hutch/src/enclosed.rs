//! What a process has to reach after its first guest has started, in one place: the folder of the instance, what the operator granted, and
//! the package. Everything else was opened before, and whoever owns the process may take it away.

use crate::failure::Failure;
use crate::host::Host;
use crate::mount::Mount;
use crate::package::{Package, open_folder};
use crate::session::Session;
use hutch_model::invocation::Access;
use hutch_model::limits::Limit;
use hutch_sandbox::ring::Role;
use hutch_sandbox::ring::paths::{Left, May};
use hutch_store::{InstanceDir, InstanceName};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

fn unopened(dir: &InstanceDir, error: &io::Error) -> Failure {
    Failure::Unenclosed { reason: format!("{}: {error}", dir.path().display()), missing: false }
}

/// A granted folder, as far as its guest may go in it.
fn granted(mount: &Mount) -> Left<'_> {
    let may = match mount.access() {
        Access::ReadOnly => May::Read,
        Access::ReadWrite => May::Write,
    };
    (mount.dir(), may)
}

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
        let instance = session
            .and_then(|session| session.dir.as_ref())
            .map(|dir| open_folder(dir.path()).map_err(|error| unopened(dir, &error)));
        let instance = instance.transpose()?;
        let mut left: Vec<Left<'_>> = Vec::new();
        left.extend(instance.iter().map(|folder| (folder, May::Write)));
        // A packed file is open, and needs no path.
        left.extend(package.folder().map(|folder| (folder, May::Read)));
        left.extend(mounts.values().map(granted));
        enclose(&left, Role::Runs)
    }

    /// The same, for guests that come from nowhere but this package and leave nothing.
    ///
    /// # Errors
    /// It can't be enclosed as its owner wants it.
    pub fn enclose_alone(&self, package: &Package) -> Result<(), Failure> {
        self.enclose(package, None, &BTreeMap::new())
    }

    /// Has this process enclosed before it serves calls of these packages on instances of this name, with these folders granted, if its owner
    /// wants that: their programs are there by then, for as long as this host is, and no other thread is. The folder of an instance that is not
    /// there yet is made, and empty; what other machines share has none here.
    ///
    /// # Errors
    /// It can't be enclosed as its owner wants it; a folder can't be made or opened.
    pub fn enclose_serving<'p>(
        &self,
        packages: impl IntoIterator<Item = &'p Package>,
        instance: &InstanceName,
        limits: &BTreeMap<Limit, u64>,
        mounts: impl IntoIterator<Item = &'p Mount>,
    ) -> Result<(), Failure> {
        let Some(enclose) = self.encloser() else { return Ok(()) };
        let (mut served, mut instances) = (Vec::new(), Vec::new());
        for package in packages {
            let limits = self.limits(package, limits.iter().map(|(limit, value)| (*limit, *value)));
            // What is wrong with it is said when it is called; nothing is compiled again by then.
            match self.load(package, &limits) {
                Ok(program) => self.sandbox().hold(package.component_digest(), &limits, Ok(program)),
                Err(Failure::Load(refusal)) => self.sandbox().hold(package.component_digest(), &limits, Err(refusal)),
                Err(_) => {}
            }
            served.extend(package.folder());
            if self.shares() {
                continue;
            }
            let dir = InstanceDir::new(self.home(), package.manifest().slug(), instance);
            if self.keeps() {
                dir.create()?;
            }
            match open_folder(dir.path()) {
                Err(error) if error.kind() == ErrorKind::NotFound && !self.keeps() => {}
                opened => instances.push(opened.map_err(|error| unopened(&dir, &error))?),
            }
        }
        let mounts: Vec<&Mount> = mounts.into_iter().collect();
        let mut left: Vec<Left<'_>> = instances.iter().map(|folder| (folder, May::Write)).collect();
        left.extend(served.iter().map(|folder| (*folder, May::Read)));
        left.extend(mounts.iter().map(|mount| granted(mount)));
        enclose(&left, Role::Serves)
    }
}
