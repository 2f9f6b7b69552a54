//! What an entry says of a memo, where one had to do with it. Knows nothing of how an outcome is kept: see [`memo`](crate::memo).

use super::EntryKind;
use crate::digest::Digest;
use crate::instant::Instant;
use serde::{Deserialize, Serialize};

/// Who made an outcome that was kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Maker {
    /// When, on its host's clock: the entry of what made it says the same.
    pub at: Instant,
    /// What it was made for: a run, or one of many calls.
    pub kind: EntryKind,
    /// The role that put it into a database, as the database says; none elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The instance, as package and name, that it was made in and is kept beside, as the store says; none if that is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// What became of an outcome that was there already.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
// Exhaustive: what differs must not be counted among what is equal.
pub enum MemoUse {
    /// It took the place of a run: no guest started.
    Reused,
    /// The guest ran all the same, and came to the same.
    Equal,
    /// The guest ran all the same and came to something else, which is what the entry says; the outcome that was kept is dropped.
    Differs,
}

/// An outcome that was kept for an equal call. An entry without one is of a run for which nothing was kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemoRecord {
    /// What became of it.
    pub used: MemoUse,
    /// What it was kept under.
    pub key: Digest,
    /// Who made it.
    pub made: Maker,
    /// What differs: `ending`, `stdout`, `stderr`, `fuel`, `memory_peak_bytes`, `refused`, `seen` or a volume.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

/// The same, counted over many calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct MemoCounts {
    /// Outcomes that took the place of a run.
    pub reused: u64,
    /// Those whose guests ran all the same, and came to the same.
    pub equal: u64,
    /// Those whose guests came to something else.
    pub differ: u64,
}
