//! How a library is opened.

use crate::loading::Loading;
use crate::request::usage;
use crate::surroundings::{absolute, random};
use hutch::Host;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::SecretKey;
use hutch_sandbox::{ArtifactCache, Backend, Compile, Sandbox, SealKey};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A day: what waits longer is wrong.
const WAIT_MS_MAX: u64 = 24 * 3600 * 1000;

/// `{"home": …}`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    /// The folder of instances and installed packages; in memory if absent.
    #[serde(default)]
    home: Option<PathBuf>,
    /// The folder for compiled code; it is compiled anew in each process if absent. It needs a home, which has the key of its seals.
    #[serde(default)]
    cache: Option<PathBuf>,
    /// The `hutch` program that compiles, as a child with limits of its own; this process if absent.
    #[serde(default)]
    compiler: Option<PathBuf>,
    /// Whether guests are interpreted, where a process must not make machine code.
    #[serde(default)]
    interpreter: bool,
    /// How long a lock that another process holds is waited for.
    #[serde(default)]
    wait_ms: Option<u64>,
}

/// A host as it is asked for, its home and its cache.
pub(crate) struct Opened {
    pub(crate) host: Host,
    pub(crate) home: Option<PathBuf>,
    pub(crate) cache: Option<Arc<ArtifactCache>>,
    pub(crate) loading: Loading,
}

impl Options {
    /// Reads them; no bytes at all ask for nothing.
    pub(crate) fn read(bytes: &[u8]) -> Result<Options, ErrorReport> {
        if bytes.trim_ascii().is_empty() {
            return Ok(Options::default());
        }
        serde_json::from_slice(bytes).map_err(|error| usage(format!("the options are not of a known form: {error}")))
    }

    /// Opens a host. Makes the folder of its cache, and nothing else yet.
    pub(crate) fn open(self) -> Result<Opened, ErrorReport> {
        let home = self.home.as_deref().map(absolute).transpose()?;
        let compile = match &self.compiler {
            Some(program) => Compile::Child {
                program: absolute(program)?,
                arguments: vec!["compile-component".into()],
                key: SealKey::new(random()?),
            },
            None => Compile::Here,
        };
        let cache = match (&self.cache, &home) {
            (Some(folder), Some(home)) => Some(Arc::new(cache(&absolute(folder)?, home.clone())?)),
            (Some(_), None) => return Err(usage("cache needs home, which has the key of its seals")),
            (None, _) => None,
        };
        let backend = if self.interpreter { Backend::Interpreter64 } else { Backend::Native };
        let sandbox = Sandbox::new(compile, None).on(backend);
        let sandbox = match &cache {
            Some(cache) => sandbox.sharing(Arc::clone(cache)),
            None => sandbox,
        };
        let host = match &home {
            Some(home) => Host::new(home.clone(), sandbox),
            None => Host::in_memory(SecretKey::new(random()?), sandbox),
        };
        let host = match self.wait_ms {
            Some(wait_ms) if wait_ms > WAIT_MS_MAX => {
                return Err(usage(format!("wait_ms is {wait_ms}: expected at most {WAIT_MS_MAX}")));
            }
            Some(wait_ms) => host.waiting(Duration::from_millis(wait_ms)),
            None => host,
        };
        let host = match &cache {
            Some(cache) => host.owning(cache.path().to_owned()),
            None => host,
        };
        Ok(Opened { host, home, cache, loading: Loading::default() })
    }
}

fn cache(folder: &Path, home: PathBuf) -> Result<ArtifactCache, ErrorReport> {
    let fresh = random()?;
    let opened = ArtifactCache::open(folder, move || SealKey::kept(&home, Some(fresh)));
    opened.ok_or_else(|| usage(format!("the cache {} can't be made or used", folder.display())))
}
