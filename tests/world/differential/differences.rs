//! Where the world and the stock host differ on purpose: the table is in `host/world/src/files/differences.md`, and here is how
//! each of its rows is recognised, as narrowly as can be.

use crate::support::operation::Operation;
use crate::support::seen::Seen;

/// The table, as the world's documentation shows it.
pub(crate) const TABLE: &str = include_str!("../../../host/world/src/files/differences.md");

/// How one row shows.
pub(crate) struct Difference {
    /// The row's name.
    pub(crate) name: &'static str,
    /// Whether these two answers differ as the row says.
    pub(crate) covers: fn(&Operation, world: &Seen, reference: &Seen) -> bool,
}

pub(crate) const DIFFERENCES: &[Difference] = &[];

/// The row that covers this disagreement.
pub(crate) fn listed(operation: &Operation, world: &Seen, reference: &Seen) -> Option<usize> {
    DIFFERENCES.iter().position(|difference| (difference.covers)(operation, world, reference))
}
