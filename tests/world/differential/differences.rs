//! Where the world and the stock host differ on purpose: the table is in `host/world/src/files/differences.md`, and here is how
//! each of its rows is recognised, as narrowly as can be.

use crate::support::operation::{OpenFlags, Operation, Time};
use crate::support::seen::{Attributes, Kind, Seen};
use hutch_world::Errno;

/// The table, as the world's documentation shows it.
const TABLE: &str = include_str!("../../../host/world/src/files/differences.md");

/// How one row shows.
pub(super) struct Difference {
    /// The row's name.
    pub(super) name: &'static str,
    /// Whether it shows on every Linux, or only with some kernels or mount options.
    pub(super) everywhere: bool,
    rule: Rule,
}

enum Rule {
    /// Where Linux answers the third, the world answers what this makes of it, if anything; the second is the world's answer.
    Answer(fn(&Operation, &Seen, &Seen) -> Option<Seen>),
    /// Where Linux answers the second, it has to be asked this instead.
    Instead(fn(&Operation, &Seen) -> Option<Operation>),
}

pub(super) const DIFFERENCES: &[Difference] = &[
    Difference {
        name: "synchronised-writes",
        everywhere: true,
        rule: Rule::Instead(|operation, linux| match operation {
            Operation::Open { into, base, path, flags } if flags.has('s') && *linux == Seen::Unsupported => {
                let flags = OpenFlags(flags.0.replace('s', ""));
                Some(Operation::Open { into: *into, base: *base, path: path.clone(), flags })
            }
            _ => None,
        }),
    },
    Difference {
        name: "remove-folder-slash",
        everywhere: true,
        rule: Rule::Instead(|operation, _| match operation {
            Operation::RemoveFolder { base, path } if path.ends_with('/') => {
                let path = path.trim_end_matches('/').to_owned();
                (!path.is_empty()).then_some(Operation::RemoveFolder { base: *base, path })
            }
            _ => None,
        }),
    },
    Difference {
        name: "single-part-slash",
        everywhere: true,
        // With `./` before it, it has two parts.
        rule: Rule::Instead(|operation, _| match operation {
            Operation::StatAt { base, path, follow: false } if is_one_part_with_more(path) => {
                Some(Operation::StatAt { base: *base, path: format!("./{path}"), follow: false })
            }
            Operation::SameAt { slot, base, path, follow: false } if is_one_part_with_more(path) => {
                Some(Operation::SameAt { slot: *slot, base: *base, path: format!("./{path}"), follow: false })
            }
            _ => None,
        }),
    },
    Difference {
        name: "folder-attributes",
        everywhere: true,
        rule: Rule::Answer(|_, _, linux| match linux {
            Seen::Stat(found @ Attributes { kind: Kind::Folder, .. }) => {
                Some(Seen::Stat(Attributes { links: found.links.min(1), size: 0, ..found.clone() }))
            }
            _ => None,
        }),
    },
    Difference {
        name: "access-time",
        everywhere: false,
        rule: Rule::Answer(|_, world, linux| match (world, linux) {
            (Seen::Stat(Attributes { accessed_ns: accessed_ns @ Some(_), .. }), Seen::Stat(found)) => {
                let read = found.accessed_ns.is_none();
                read.then(|| Seen::Stat(Attributes { accessed_ns: *accessed_ns, ..found.clone() }))
            }
            _ => None,
        }),
    },
    Difference {
        name: "mutate-directory",
        everywhere: true,
        rule: Rule::Answer(|_, world, linux| {
            let asked = Seen::Flags { read: true, write: false, mutate_directory: true };
            let opened = Seen::Flags { read: true, write: false, mutate_directory: false };
            (*world == asked && *linux == opened).then_some(asked)
        }),
    },
    Difference {
        name: "read-only",
        everywhere: true,
        rule: Rule::Answer(|_, _, linux| {
            (*linux == Seen::Failed(Errno::NotPermitted)).then_some(Seen::Failed(Errno::ReadOnly))
        }),
    },
    Difference {
        name: "nothing-to-set",
        everywhere: true,
        rule: Rule::Answer(|operation, world, linux| match operation {
            Operation::SetTimesAt { follow: false, accessed: Time::Keep, modified: Time::Keep, .. } => {
                let missing = [Errno::NoEntry, Errno::NameTooLong].map(Seen::Failed).contains(world);
                (missing && *linux == Seen::Done).then(|| world.clone())
            }
            _ => None,
        }),
    },
    Difference {
        name: "nul",
        everywhere: true,
        rule: Rule::Answer(|operation, _, linux| {
            let nul = operation.paths().iter().any(|path| path.contains('\0'));
            (nul && matches!(linux, Seen::Failed(_))).then_some(Seen::Failed(Errno::Invalid))
        }),
    },
    Difference {
        name: "links-then-outside",
        everywhere: false,
        rule: Rule::Answer(|operation, world, linux| {
            let outside = Seen::Failed(Errno::NotPermitted);
            let late = !operation.paths().is_empty() && *linux == Seen::Failed(Errno::Loop);
            (late && *world == outside).then_some(outside)
        }),
    },
];

/// Applies the rows to a disagreement: which explain it, or what Linux says at last. `ask` does an operation on Linux.
pub(super) fn explain(
    operation: &Operation,
    world: &Seen,
    mut linux: Seen,
    mut ask: impl FnMut(&Operation) -> Seen,
) -> Result<Vec<usize>, Seen> {
    let mut rows = Vec::new();
    let mut operation = operation.clone();
    for (row, difference) in DIFFERENCES.iter().enumerate() {
        match difference.rule {
            Rule::Instead(instead) => {
                let Some(other) = instead(&operation, &linux) else { continue };
                linux = ask(&other);
                operation = other;
            }
            Rule::Answer(answer) => {
                let Some(explained) = answer(&operation, world, &linux) else { continue };
                linux = explained;
            }
        }
        rows.push(row);
        if linux == *world {
            return Ok(rows);
        }
    }
    Err(linux)
}

/// A name with slashes and dots after it that don't lead elsewhere.
fn is_one_part_with_more(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let first = parts.next().is_some_and(|part| part != "." && part != "..");
    first && !path.starts_with('/') && path.contains('/') && parts.all(|part| part == ".")
}

#[test]
fn the_table_has_a_row_for_each_difference_that_is_recognised() {
    let rows: Vec<&str> = TABLE.lines().skip(2).map(|line| line.split('`').nth(1).expect("a name")).collect();
    let names: Vec<&str> = DIFFERENCES.iter().map(|difference| difference.name).collect();
    assert_eq!(rows, names);
    for row in TABLE.lines() {
        assert_eq!(row.matches('|').count(), 6, "a row has five columns: {row}");
    }
}
