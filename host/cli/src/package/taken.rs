//! A package from where a word, a pin or a lock says that it is: a folder or a packed file, a registry, the database of the instances, or
//! what came with the program.

use crate::flags::global::Global;
use crate::package::network::{self, Fetched, NetworkArguments};
use crate::package::shared::{self, Shared};
use crate::package::signed::Signed;
use crate::package::{packages, released};
use crate::refusal::fault::Fault;
use hutch::package::{Checked, Package};
use hutch_model::names::Slug;
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
    /// With this program, at a path.
    Released(Slug, PathBuf),
}

impl Taken {
    /// What a word means.
    pub(crate) fn from(global: &Global, network: &NetworkArguments, word: &Path) -> Result<Taken, Fault> {
        if let Some(slug) = shared::slug(word) {
            return Ok(Taken::Shared(Box::new(Shared::get(global, &slug?)?)));
        }
        if let Some(slug) = released::slug(word) {
            let slug = slug?;
            let path = released::found(&slug)?;
            return Ok(Taken::Released(slug, path));
        }
        match network::reference(word)? {
            Some(reference) => Ok(Taken::Fetched(Box::new(Fetched::get(global, network, &reference)?))),
            None => Ok(Taken::Local(packages::without_links(word))),
        }
    }

    /// Whether a source is named otherwise than by its path.
    pub(crate) fn is_no_path(source: &str) -> bool {
        let word = Path::new(source);
        let is_slug = shared::slug(word).is_some() || released::slug(word).is_some();
        is_slug || network::reference(word).is_ok_and(|found| found.is_some())
    }

    /// The package, checked, and from then on what it was then.
    pub(crate) fn checked(&self) -> Result<Checked, Fault> {
        match self {
            Taken::Local(path) => packages::held(path),
            Taken::Fetched(fetched) => Ok(fetched.checked()),
            Taken::Shared(shared) => shared.checked(),
            Taken::Released(slug, path) => released::checked(slug, path),
        }
    }

    /// What signs it.
    pub(crate) fn signed(&self, global: &Global, package: &Package) -> Result<Signed, Fault> {
        match self {
            Taken::Local(path) | Taken::Released(_, path) => Signed::local(global, package, path),
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
            Taken::Released(slug, _) => released::word(slug),
        }
    }
}
