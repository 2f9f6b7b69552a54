//! What the files of a package are, wherever they lie. Knows no file's meaning.

use hutch_model::diagnostic::{Code, Diagnostic, Position};
use hutch_model::limits::{Limit, LimitInfo};
use hutch_model::manifest::Manifest;
use hutch_model::names::PackagePath;

/// The most of everything that a package may hold.
#[derive(Clone, Copy, Debug)]
pub struct PackageBounds {
    /// Bytes of the component.
    pub component_bytes_max: u64,
    /// Bytes of the component that the package itself may ask for in its stead; it is not asked if there are none.
    pub component_bytes_asked_max: Option<u64>,
    /// Bytes of all files together.
    pub total_bytes_max: u64,
    /// Files and folders together.
    pub entries_max: usize,
}

/// Bytes of what a package may hold besides its component.
const OTHER_BYTES_MAX: u64 = 1 << 30;

impl Default for PackageBounds {
    /// The bounds for what the package asks for its component, up to the ceiling, else for a component of the default size.
    fn default() -> PackageBounds {
        let LimitInfo { default, ceiling, .. } = Limit::Component.info();
        PackageBounds {
            component_bytes_max: *default,
            component_bytes_asked_max: Some(*ceiling),
            ..PackageBounds::with_component(*ceiling)
        }
    }
}

impl PackageBounds {
    /// The bounds for a component of at most this size, whatever the package asks for: 50,000 files and folders, and 1 GiB of them
    /// besides the component.
    pub fn with_component(component_bytes_max: u64) -> PackageBounds {
        PackageBounds {
            component_bytes_max,
            component_bytes_asked_max: None,
            total_bytes_max: component_bytes_max.saturating_add(OTHER_BYTES_MAX),
            entries_max: 50_000,
        }
    }

    /// The bounds of the package of this manifest, if it may ask.
    pub(super) fn asked_by(self, manifest: &Manifest) -> PackageBounds {
        let Some(max) = self.component_bytes_asked_max else { return self };
        let asked = manifest.limits().get(&Limit::Component).map(|asked| (*asked).min(max));
        let bounds = PackageBounds::with_component(asked.unwrap_or(self.component_bytes_max));
        PackageBounds { entries_max: self.entries_max, ..bounds }
    }
}

/// One file or folder of a package.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
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
    /// The first of them, and that there are more.
    pub(super) problems: Vec<Diagnostic>,
}
