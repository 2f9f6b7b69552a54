//! Where a package is that a caller named, and the folders of a home.

use crate::refusal::fault::Fault;
use hutch::installed::Pin;
use std::fs::DirBuilder;
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

/// Makes a folder, and the way to it, where they are missing: whatever the umask lets, nobody else may enter what is made.
#[expect(clippy::disallowed_methods, reason = "the caller or the home names the folder, and this makes the way to it")]
pub(crate) fn make_private(folder: &Path) -> Result<(), Fault> {
    private_folders().recursive(true).create(folder).map_err(|error| Fault::file(folder, &error))
}

/// What makes folders that nobody else may enter.
pub(crate) fn private_folders() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no modes"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}
