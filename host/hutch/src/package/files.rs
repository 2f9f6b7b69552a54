//! What the files of a package are, wherever they lie. Knows no file's meaning.

use hutch_model::diagnostic::{Code, Diagnostic, Position};
use hutch_model::names::PackagePath;

/// The most of everything that a package may hold.
#[derive(Clone, Copy, Debug)]
pub struct PackageBounds {
    /// Bytes of the component.
    pub component_bytes_max: u64,
    /// Bytes of all files together.
    pub total_bytes_max: u64,
    /// Files and folders together.
    pub entries_max: usize,
}

impl PackageBounds {
    /// The bounds for a component of at most this size: 50,000 files and folders, and 1 GiB of them besides the component.
    pub fn with_component(component_bytes_max: u64) -> PackageBounds {
        PackageBounds {
            component_bytes_max,
            total_bytes_max: component_bytes_max.saturating_add(1 << 30),
            entries_max: 50_000,
        }
    }
}

/// One file or folder of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackageEntry {
    /// Where it is, from the root of the package.
    pub path: PackagePath,
    /// Its size, if it is a file.
    pub file_bytes: Option<u64>,
}

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Nothing,
    Folder,
    File(u64),
}

/// A problem at the path itself.
pub(super) fn problem(code: Code, path: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(code, path, Position::START, message)
}

/// What is found on a walk.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Files and folders, sorted by path.
    pub(super) entries: Vec<PackageEntry>,
    pub(super) problems: Vec<Diagnostic>,
}
