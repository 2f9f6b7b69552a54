//! Where the world and the stock host differ on purpose: the table is in `host/world/src/files/differences.md`, and here is how
//! each of its rows is recognised, as narrowly as can be.

use crate::support::operation::{OpenFlags, Operation};
use crate::support::seen::{Attributes, Kind, Seen};

/// The table, as the world's documentation shows it.
pub(crate) const TABLE: &str = include_str!("../../../host/world/src/files/differences.md");

/// How one row shows.
pub(crate) struct Difference {
    /// The row's name.
    pub(crate) name: &'static str,
    /// Whether these two answers differ as the row says.
    pub(crate) covers: fn(&Operation, world: &Seen, linux: &Seen) -> bool,
    /// What Linux has to be asked instead, and must answer like the world, where the world did something and Linux did not.
    pub(crate) instead: Option<fn(&Operation) -> Operation>,
}

pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "folder-attributes",
        covers: |_, world, linux| match (world, linux) {
            (Seen::Stat(world), Seen::Stat(linux)) => {
                let plain = Attributes { links: 1, size: 0, ..linux.clone() };
                world.kind == Kind::Folder && *world == plain
            }
            _ => false,
        },
        instead: None,
    },
    Difference {
        name: "synchronised-writes",
        covers: |operation, world, linux| {
            matches!(operation, Operation::Open { flags, .. } if flags.has('s'))
                && *linux == Seen::Unsupported
                && *world != Seen::Unsupported
        },
        instead: Some(|operation| match operation {
            Operation::Open { into, base, path, flags } => {
                let flags = OpenFlags(flags.0.replace('s', ""));
                Operation::Open { into: *into, base: *base, path: path.clone(), flags }
            }
            other => other.clone(),
        }),
    },
    Difference {
        name: "mutate-directory",
        covers: |_, world, linux| match (world, linux) {
            (
                Seen::Flags { read: true, write: false, mutate_directory: true },
                Seen::Flags { read: true, write: false, mutate_directory: false },
            ) => true,
            _ => false,
        },
        instead: None,
    },
];

/// The row that covers this disagreement.
pub(crate) fn listed(operation: &Operation, world: &Seen, linux: &Seen) -> Option<usize> {
    DIFFERENCES.iter().position(|difference| (difference.covers)(operation, world, linux))
}
