//! What a process needs to run packages: a sandbox, and the home of all instances.

use crate::failure::Failure;
use crate::package::Package;
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{Program, Sandbox};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a lock that another process holds is waited for, unless the embedder says otherwise.
const WAIT: Duration = Duration::from_secs(10);

/// Runs packages and keeps their state below one folder.
pub struct Host {
    sandbox: Sandbox,
    home: PathBuf,
    keeps: bool,
    wait: Duration,
}

impl Host {
    /// A host with its home in `home`. Touches nothing yet.
    pub fn new(home: PathBuf, sandbox: Sandbox) -> Host {
        Host { sandbox, home, keeps: true, wait: WAIT }
    }

    /// The same host, but whatever is done through it is only previewed: it answers as it would, and nothing is changed, no
    /// record is written, and no granted folder is touched. What was edited in the plain directories is left out of account.
    #[must_use]
    pub fn previewing(self) -> Host {
        Host { keeps: false, ..self }
    }

    /// Whether what is done is kept.
    pub fn keeps(&self) -> bool {
        self.keeps
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
