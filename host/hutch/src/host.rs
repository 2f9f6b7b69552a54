//! What a process needs to run packages: a sandbox, and the home of all instances.

use crate::failure::Failure;
use crate::package::Package;
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{Program, Sandbox};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Runs packages and keeps their state below one folder.
pub struct Host {
    sandbox: Sandbox,
    home: PathBuf,
    wait: Duration,
}

/// How long a lock that another process holds is waited for, unless the embedder says otherwise.
const WAIT: Duration = Duration::from_secs(10);

impl Host {
    /// A host with its home in `home`. Touches nothing yet.
    pub fn new(home: PathBuf, sandbox: Sandbox) -> Host {
        Host { sandbox, home, wait: WAIT }
    }

    /// The same, waiting at most this long for each lock that another process holds.
    pub fn waiting(self, wait: Duration) -> Host {
        Host { wait, ..self }
    }

    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Where instances are kept.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The program of a package, compiled or found compiled.
    ///
    /// # Errors
    /// The component can't be run.
    pub fn load(&self, package: &Package, limits: &Limits) -> Result<Program, Failure> {
        Ok(self.sandbox.load(package.component(), limits)?)
    }

    /// The limits of a run of `package`: what the operator says, else what the package asks for, else the default.
    pub fn limits(&self, package: &Package, operator: impl IntoIterator<Item = (Limit, u64)>) -> Limits {
        Limits::granted(package.manifest().limits().iter().map(|(limit, value)| (*limit, *value)), operator)
    }
}
