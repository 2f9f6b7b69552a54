//! Where a package is that a caller named, and the folders of a home.

use crate::refusal::fault::Fault;
use hutch::installed::Pin;
use std::path::{Path, PathBuf};

/// A package, found.
#[derive(Debug)]
pub(crate) enum Place {
    /// A folder or a packed file that the caller named.
    Local {
        /// As it was named.
        named: PathBuf,
        /// Where it is, without links. The rules are asked about this path, and this one is opened: what is named may lead elsewhere
        /// in between.
        path: PathBuf,
    },
    /// Below the home, pinned.
    Installed(Box<Pin>),
}

impl Place {
    /// What is at a path.
    pub(crate) fn local(named: &Path) -> Place {
        Place::Local { named: named.to_owned(), path: without_links(named) }
    }

    /// What to write for PACKAGE to mean it.
    pub(crate) fn word(&self) -> String {
        match self {
            Place::Local { named, .. } => named.display().to_string(),
            Place::Installed(pin) => pin.slug.clone(),
        }
    }
}

/// A path as it is whatever links lead there; what is not there yet may come. Rules and pins mean this one.
#[expect(clippy::disallowed_methods, reason = "nothing is opened")]
pub(crate) fn without_links(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// Makes a folder of the home, and the home, where they are missing: whatever the umask lets, nobody else may enter what is made.
pub(crate) fn make_private(folder: &Path) -> Result<(), Fault> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    #[expect(clippy::disallowed_methods, reason = "the home is a path, and this makes the way to it")]
    builder.create(folder).map_err(|error| Fault::file(folder, &error))
}
