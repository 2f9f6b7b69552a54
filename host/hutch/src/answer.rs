//! What comes of a run: data, and nothing that does anything.

use hutch_model::digest::Digest;
use hutch_model::ledger::Pin;
use hutch_model::outcome::{Measured, Outcome, Verdict};
use hutch_model::snapshot::{Changes, Layered};
use hutch_store::Skipped;
use std::collections::BTreeMap;

/// The most paths that are named of those that folders do not get.
pub const WITHHELD_MAX: usize = 100;

/// A guest's end, judged and recorded.
#[non_exhaustive]
pub struct Answer {
    /// How it ended and what it said.
    pub outcome: Outcome,
    /// What that means.
    pub verdict: Verdict,
    /// Whether the state it left was kept.
    pub kept: bool,
    /// Each read-write volume, by name, as the guest left it if its end was good.
    pub volumes: BTreeMap<String, VolumeChange>,
    /// Each granted folder that the guest might change, by name.
    pub mounted: BTreeMap<String, VolumeChange>,
    /// Paths that a granted folder did not get, the folder's name first: links that could leave it, and names that are the host's. And those
    /// that a plain directory does not show, because people's tools act on them. At most [`WITHHELD_MAX`].
    pub withheld: Vec<String>,
    /// How many more such paths there are.
    pub withheld_omitted: u64,
    /// What the volumes hold, before and after.
    pub objects: Layered,
    /// What the host's clock says.
    pub measured: Measured,
    /// The ledger's entry.
    pub entry: Pin,
    /// Why the plain directories do not show the state yet, if they don't.
    pub behind: Option<String>,
    /// What stands in plain directories and can be in no state, by volume, if they were looked through.
    pub skipped: BTreeMap<String, Skipped>,
}

/// What became of a volume.
#[derive(Debug, Clone)]
pub struct VolumeChange {
    /// Its digest when the guest started.
    pub before: Digest,
    /// Its digest afterwards.
    pub after: Digest,
    /// The paths that differ.
    pub changes: Changes,
}
