//! A package from where a word, a pin or a lock says that it is: a folder or a packed file, a registry, or the database of the instances.

use crate::flags::global::Global;
use crate::package::network::{self, Fetched, NetworkArguments};
use crate::package::packages;
use crate::package::shared::{self, Shared};
use crate::package::signed::Signed;
use crate::refusal::fault::Fault;
use hutch::package::{Checked, Package};
use std::path::{Path, PathBuf};

/// A package that was read or is about to be.
#[derive(Debug)]
pub(crate) enum Taken {
    /// On this machine, at a path without links.
    Local(PathBuf),
    /// From a registry.
    Fetched(Box<Fetched>),
    /// From the database.
    Shared(Box<Shared>),
}

impl Taken {
    /// What a word means.
    pub(crate) fn from(global: &Global, network: &NetworkArguments, word: &Path) -> Result<Taken, Fault> {
        if let Some(slug) = shared::slug(word) {
            return Ok(Taken::Shared(Box::new(Shared::get(global, &slug?)?)));
        }
        match network::reference(word)? {
            Some(reference) => Ok(Taken::Fetched(Box::new(Fetched::get(global, network, &reference)?))),
            None => Ok(Taken::Local(packages::without_links(word))),
        }
    }

    /// Whether a source is not on this machine.
    pub(crate) fn is_remote(source: &str) -> bool {
        let word = Path::new(source);
        shared::slug(word).is_some() || network::reference(word).is_ok_and(|found| found.is_some())
    }

    /// The package, checked, and from then on what it was then.
    pub(crate) fn checked(&self) -> Result<Checked, Fault> {
        match self {
            Taken::Local(path) => packages::held(path),
            Taken::Fetched(fetched) => Ok(fetched.checked()),
            Taken::Shared(shared) => shared.checked(),
        }
    }

    /// What signs it.
    pub(crate) fn signed(&self, global: &Global, package: &Package) -> Result<Signed, Fault> {
        match self {
            Taken::Local(path) => Signed::local(global, package, path),
            Taken::Fetched(fetched) => Signed::fetched(global, fetched, package),
            Taken::Shared(shared) => shared.signed(global, package),
        }
    }

    /// What a pin says of where it came from.
    pub(crate) fn source(&self) -> String {
        match self {
            Taken::Local(path) => path.display().to_string(),
            Taken::Fetched(fetched) => network::settled(&fetched.reference).to_string(),
            Taken::Shared(shared) => shared.word(),
        }
    }
}
