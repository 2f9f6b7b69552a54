//! What a memo had to do with a call, and with many: data, and nothing that asks one.

use hutch_model::digest::Digest;
use hutch_model::ledger::{MemoCounts, MemoRecord, MemoUse};

/// What a memo had to do with a call that asked for one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Remembered {
    /// An outcome was there; what became of it.
    Found(MemoRecord),
    /// None was there, and this call's is now, under this key.
    Kept(Digest),
    /// None was there, and none is now; why.
    LeftOut(String),
}

impl Remembered {
    /// Whether no guest ran.
    pub fn is_reused(&self) -> bool {
        self.record().is_some_and(|found| found.used == MemoUse::Reused)
    }

    /// What the ledger says of it; nothing if there was no outcome.
    pub fn record(&self) -> Option<&MemoRecord> {
        match self {
            Remembered::Found(found) => Some(found),
            Remembered::Kept(_) | Remembered::LeftOut(_) => None,
        }
    }
}

/// What a memo had to do with many calls.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MemoTally {
    /// Outcomes that were there.
    pub found: MemoCounts,
    /// Outcomes that were not, and are now.
    pub kept: u64,
    /// Calls of which nothing is kept.
    pub left_out: u64,
    /// The first outcomes that guests came to others than, at most [`FINDINGS_MAX`].
    pub findings: Vec<MemoRecord>,
    /// Why nothing could be found or kept, or not all; none if nothing went wrong.
    pub trouble: Option<String>,
}

/// The most findings that are named.
pub const FINDINGS_MAX: usize = 20;

impl MemoTally {
    /// Counts one more call.
    pub(crate) fn add(&mut self, remembered: &Remembered) {
        match remembered {
            Remembered::Kept(_) => self.kept += 1,
            Remembered::LeftOut(_) => self.left_out += 1,
            Remembered::Found(found) => match found.used {
                MemoUse::Reused => self.found.reused += 1,
                MemoUse::Equal => self.found.equal += 1,
                MemoUse::Differs => {
                    self.found.differ += 1;
                    if self.findings.len() < FINDINGS_MAX {
                        self.findings.push(found.clone());
                    }
                }
            },
        }
    }
}
