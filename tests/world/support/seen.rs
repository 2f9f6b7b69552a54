//! What a call showed, in terms that both sides share.

use hutch_world::files::Type;
use hutch_world::{Errno, Stop};
use std::collections::BTreeMap;

/// Times before this one were set by an operation; all others are some kind of now, and not compared.
pub(crate) const NOW_NS: u64 = 1_577_836_800_000_000_000;

/// A result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Seen {
    Done,
    Bytes(Vec<u8>),
    Number(u64),
    Text(String),
    Yes(bool),
    Stat(Attributes),
    Entries(Vec<(String, Kind)>),
    Flags {
        read: bool,
        write: bool,
        mutate_directory: bool,
    },
    Failed(Errno),
    Unsupported,
    /// A stream that has ended.
    Closed,
    /// A stream that failed just now.
    StreamFailed(Errno),
    /// The run is over.
    Stopped(Stop),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
}

impl From<Type> for Kind {
    fn from(kind: Type) -> Kind {
        match kind {
            Type::File => Kind::File,
            Type::Folder => Kind::Folder,
            Type::Link => Kind::Link,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attributes {
    pub(crate) kind: Kind,
    pub(crate) links: u64,
    pub(crate) size: u64,
    /// If an operation set it.
    pub(crate) modified_ns: Option<u64>,
    /// If an operation set it.
    pub(crate) accessed_ns: Option<u64>,
}

/// A whole volume, by path. A folder's size and names are left out: they are no content.
pub(crate) type Tree = BTreeMap<String, TreeNode>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TreeNode {
    Folder { modified_ns: Option<u64> },
    Link { target: String, names: u64, modified_ns: Option<u64> },
    File { size: u64, content: Vec<u8>, names: u64, modified_ns: Option<u64> },
}

/// Bytes of a file's start and of its end that a [`Tree`] holds.
pub(crate) const TREE_BYTES: u64 = 300_000;

/// The parts of a file of `size` bytes that a tree holds: offset and length.
pub(crate) fn sampled(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let start = size.min(TREE_BYTES);
    let rest = (size - start).min(TREE_BYTES);
    [(0, start), (size - rest, rest)].into_iter().filter(|(_, length)| *length > 0)
}
