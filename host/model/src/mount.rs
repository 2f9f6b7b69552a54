//! A real folder that an operator grants to a guest: what the guest's world needs of it, and what a run wants changed in it. The
//! guest itself never reaches it: reads go through [`RealFolder`] when they are first needed, changes stay in memory and are
//! carried out, if the guest ends well, by whoever granted the folder.

use crate::snapshot::Name;
use std::collections::BTreeMap;

/// Reads a real folder, and nothing outside it. Paths are names separated by `/`, the folder itself is the empty path; no link is
/// ever followed.
pub trait RealFolder: Send {
    /// What a folder holds: files, folders and links with names that are UTF-8. Everything else (pipes, sockets, devices, other
    /// names) is left out.
    ///
    /// # Errors
    /// It is gone or can't be read; a text for people.
    fn list(&mut self, path: &str) -> Result<Vec<RealEntry>, String>;

    /// Up to `length` bytes of a file from `offset`; fewer only at its end.
    ///
    /// # Errors
    /// It is gone, is no regular file any more, or can't be read.
    fn read(&mut self, path: &str, offset: u64, length: u64) -> Result<Vec<u8>, String>;
}

/// One thing in a real folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RealEntry {
    /// Its name.
    pub name: Name,
    /// Its modification time, in nanoseconds since 1970.
    pub modified_ns: u64,
    /// What it is.
    pub kind: RealKind,
}

/// What a name in a real folder stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RealKind {
    /// A regular file.
    File {
        /// Its length in bytes.
        size: u64,
    },
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// Where it points.
        target: Box<str>,
    },
}

/// What a run wants changed in a real folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MountChanges {
    /// What is gone or replaced: folders with all they hold, parents only.
    pub removed: Vec<String>,
    /// What is new, parents before what they hold.
    pub made: Vec<(String, Made)>,
}

/// Something new at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// A folder.
    Folder,
    /// A symbolic link.
    Link {
        /// Where it points.
        target: Box<str>,
    },
    /// A file.
    File(MadeFile),
}

/// A file's content, as parts over what another file held when the run began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MadeFile {
    /// Its length in bytes.
    pub size: u64,
    /// Its modification time, in nanoseconds since 1970.
    pub modified_ns: u64,
    /// The file that it started from, and how many of its first bytes still show.
    pub base: Option<(String, u64)>,
    /// Bytes over that, by offset; what neither covers is zeros.
    pub written: BTreeMap<u64, Vec<u8>>,
}

impl MountChanges {
    /// Whether nothing is to be done.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.made.is_empty()
    }
}
