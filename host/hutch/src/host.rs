//! What a process needs to run packages: a sandbox, and the home of all instances.

use crate::failure::Failure;
use crate::package::Package;
use hutch_model::ledger::{Origin, SecretKey};
use hutch_model::limits::{Limit, Limits};
use hutch_model::names::Slug;
#[cfg(feature = "machine")]
use hutch_sandbox::ring::{Role, paths::Left};
use hutch_sandbox::{Program, Sandbox};
use hutch_store::{InstanceName, MemoryStore, Store, StoreError};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
#[cfg(feature = "machine")]
use std::time::Duration;

/// How long a lock that another process holds is waited for, unless the embedder says otherwise.
#[cfg(feature = "machine")]
const WAIT: Duration = Duration::from_secs(10);

/// The stores of instances, where an embedder keeps them: by the slug of the package and the name of the instance.
pub type Stores = dyn Fn(&Slug, &InstanceName) -> Result<Arc<dyn Store>, StoreError> + Send + Sync;

/// Encloses this process before its first guest starts, and does nothing later: given what has to stay within reach, and what it does from then on.
#[cfg(feature = "machine")]
pub type Enclose = dyn Fn(&[Left<'_>], Role) -> Result<(), Failure> + Send + Sync;

/// Where stores are that are in no home.
enum Kept {
    /// With the embedder.
    Elsewhere(Arc<Stores>),
    /// In memory, by package and instance, under a key for secrets.
    InMemory(SecretKey, Mutex<BTreeMap<(String, String), MemoryStore>>),
}

/// Runs packages and keeps their state below one folder, or where its embedder keeps it.
pub struct Host {
    sandbox: Sandbox,
    home: PathBuf,
    keeps: bool,
    adopts: bool,
    #[cfg(feature = "machine")]
    wait: Duration,
    own: Vec<PathBuf>,
    stores: Option<Kept>,
    shares: bool,
    #[cfg(feature = "machine")]
    enclose: Option<Arc<Enclose>>,
}

impl Host {
    /// A host with its home in `home`. Touches nothing yet.
    #[cfg(feature = "machine")]
    pub fn new(home: PathBuf, sandbox: Sandbox) -> Host {
        let own = vec![home.clone()];
        Host { home, own, ..Host::bare(sandbox, None) }
    }

    /// A host whose stores are the embedder's. It has no home, and there are no plain directories.
    pub fn with_stores(stores: Arc<Stores>, sandbox: Sandbox) -> Host {
        Host::bare(sandbox, Some(Kept::Elsewhere(stores)))
    }

    /// A host whose instances are in memory and end with it. Their ledgers hash secrets under `key`.
    pub fn in_memory(key: SecretKey, sandbox: Sandbox) -> Host {
        Host::bare(sandbox, Some(Kept::InMemory(key, Mutex::default())))
    }

    /// The same host with its home, but instances are where other machines keep theirs too: there are no plain directories, and no folder
    /// can be granted for writing, because what a run that was killed left in one would be known to machines that don't have it.
    #[must_use]
    #[cfg(feature = "machine")]
    pub fn sharing(self, stores: Arc<Stores>) -> Host {
        Host { stores: Some(Kept::Elsewhere(stores)), shares: true, ..self }
    }

    /// Whether instances are where other machines keep theirs too.
    pub(crate) fn shares(&self) -> bool {
        self.shares
    }

    fn bare(sandbox: Sandbox, stores: Option<Kept>) -> Host {
        Host {
            sandbox,
            home: PathBuf::new(),
            keeps: true,
            adopts: false,
            #[cfg(feature = "machine")]
            wait: WAIT,
            own: Vec::new(),
            stores,
            shares: false,
            #[cfg(feature = "machine")]
            enclose: None,
        }
    }

    /// What makes programs of components.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// The store of an instance that is in no home, if none are; one in memory is made if it is wanted.
    pub(crate) fn given_store(
        &self,
        slug: &Slug,
        instance: &InstanceName,
        make: bool,
    ) -> Result<Option<Arc<dyn Store>>, StoreError> {
        let (key, stores) = match &self.stores {
            None => return Ok(None),
            Some(Kept::Elsewhere(stores)) => return stores(slug, instance).map(Some),
            Some(Kept::InMemory(key, stores)) => (key, stores),
        };
        // A map of handles is whole at any time.
        let mut stores = stores.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (slug.to_string(), instance.to_string());
        if make {
            stores.entry(name.clone()).or_insert_with(|| MemoryStore::new(key.clone()));
        }
        match stores.get(&name) {
            Some(store) => Ok(Some(Arc::new(store.clone()))),
            None => Err(StoreError::Missing { at: "memory".to_owned(), what: format!("instance {slug}/{instance}") }),
        }
    }

    /// The same host, but whatever is done through it is only previewed: it answers as it would, and nothing is changed, no
    /// record is written, and no granted folder is touched. What was edited in the plain directories is taken into account.
    #[must_use]
    pub fn previewing(self) -> Host {
        Host { keeps: false, ..self }
    }

    /// Whether nothing of what is done is kept; see [`Host::previewing`].
    pub fn previews(&self) -> bool {
        !self.keeps
    }

    /// The same, letting a package use the state of an instance that belongs to another one, from now on.
    #[must_use]
    pub fn adopting(self) -> Host {
        Host { adopts: true, ..self }
    }

    /// The same, with another folder that is the host's own and can't be granted to a guest; the home is one anyhow.
    #[must_use]
    pub fn owning(mut self, folder: PathBuf) -> Host {
        self.own.push(folder);
        self
    }

    /// The same, having the process enclosed before a recorded or a new call's guest starts in it. The folders of earlier runs that ended
    /// half way were seen to by then.
    #[must_use]
    #[cfg(feature = "machine")]
    pub fn enclosed_by(self, enclose: Arc<Enclose>) -> Host {
        Host { enclose: Some(enclose), ..self }
    }

    #[cfg(feature = "machine")]
    pub(crate) fn encloser(&self) -> Option<&Enclose> {
        self.enclose.as_deref()
    }

    /// Whether what is done is kept.
    pub fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether a package may take over what belongs to another one.
    pub(crate) fn adopts(&self) -> bool {
        self.adopts
    }

    /// The folders that can't be granted.
    pub(crate) fn own(&self) -> &[PathBuf] {
        &self.own
    }

    /// The same, waiting at most this long for each lock that another process holds.
    #[must_use]
    #[cfg(feature = "machine")]
    pub fn waiting(self, wait: Duration) -> Host {
        Host { wait, ..self }
    }

    #[cfg(feature = "machine")]
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
        let (digest, bytes) = (package.component_digest(), package.component_bytes());
        self.sandbox.load_known(digest, bytes, limits, || Ok(package.component()?))
    }

    /// An artifact of a package's component for a target, which may be another machine's, as a file for a host without a compiler.
    ///
    /// # Errors
    /// The component can't be compiled, or not for that target.
    #[cfg(feature = "machine")]
    pub fn compile_for(&self, package: &Package, target: &str, limits: &Limits) -> Result<Vec<u8>, Failure> {
        Ok(self.sandbox.compile_for(target, package.component()?, limits)?)
    }

    /// Whether what a package's component was compiled to is kept for later.
    #[cfg(feature = "machine")]
    pub fn is_compiled(&self, package: &Package) -> bool {
        self.sandbox.is_kept(&package.component_digest())
    }

    /// The limits of a run of `package`: what the operator says, else what the package asks for, else the default. What a package
    /// asks for beyond the default was granted when it was installed; to one that is not, it is not granted, but for the size of
    /// the component itself.
    pub fn limits(&self, package: &Package, operator: impl IntoIterator<Item = (Limit, u64)>) -> Limits {
        let installed = package.origin() == Some(&Origin::installed());
        let asked = package.manifest().limits().iter().map(|(limit, value)| {
            let granted = installed || *limit == Limit::Component;
            (*limit, if granted { *value } else { (*value).min(limit.info().default) })
        });
        Limits::granted(asked, operator)
    }
}
