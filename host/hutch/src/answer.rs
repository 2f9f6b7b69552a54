//! What comes of a run: data, and nothing that does anything.

use crate::remembered::Remembered;
use crate::shown::{SHOWN_BYTES_MAX, Shown};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::{Pin, Sealed, VolumeRecord};
use hutch_model::outcome::{Ending, Measured, Outcome, Verdict};
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
    /// Whether the guest asked for standard input, empty or not; of an outcome that is told again nobody knows.
    pub stdin_read: bool,
    /// What a memo had to do with it; none if the call asked for none.
    pub memo: Option<Remembered>,
}

impl Answer {
    /// The exit status of a command that answers as the guest did.
    pub fn status(&self) -> u8 {
        self.verdict.exit_status()
    }

    /// Whether the guest said nothing at all.
    pub fn is_silent(&self) -> bool {
        [&self.outcome.stdout, &self.outcome.stderr].into_iter().all(|bytes| bytes.trim_ascii().is_empty())
    }

    /// The host's report about a guest that ended otherwise than by its own exit, or broke the contract.
    pub fn bad_end(&self) -> Option<ErrorReport> {
        let Verdict::Bad { code, message } = &self.verdict else { return None };
        let mut report = self.measured(ErrorReport::new(*code, message.clone()));
        let outcome = &self.outcome;
        report.details.extend(Shown::streams(&outcome.stdout, &outcome.stderr, SHOWN_BYTES_MAX));
        Some(match &outcome.ending {
            Ending::Limited { limit } => report.detail("limit", limit.name()),
            Ending::Trapped { trap } => report.detail("trap", trap.as_str()),
            _ => report,
        })
    }

    /// The host's report about a guest that ended with a failure of its own.
    pub fn own_failure(&self) -> Option<ErrorReport> {
        let Verdict::Failed { status } = &self.verdict else { return None };
        let said = if self.is_silent() { " and said nothing" } else { "" };
        let message = format!("the guest ended with status {status}{said}, so nothing of what it did is kept");
        Some(self.measured(ErrorReport::new(ErrorCode::GuestFailed, message)))
    }

    /// The host's report about a run that is not good.
    pub fn failure(&self) -> Option<ErrorReport> {
        self.bad_end().or_else(|| self.own_failure())
    }

    /// What is known of a run that did not end well.
    fn measured(&self, report: ErrorReport) -> ErrorReport {
        let outcome = &self.outcome;
        let report = match outcome.ending.exit_status() {
            Some(status) => report.detail("exit_status", status),
            None => report,
        };
        report
            .detail("fuel", outcome.fuel)
            .detail("fuel_exact", outcome.fuel_exact)
            .detail("memory_peak_bytes", outcome.memory_peak_bytes)
            .detail("refused", &outcome.refused)
    }
}

/// What was taken in of what people changed in plain directories.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Edits {
    /// An entry for each volume that was changed.
    pub entries: Vec<Sealed>,
    /// What stands in the directories and can be in no state, by volume.
    pub skipped: BTreeMap<String, Skipped>,
}

/// What became of a volume.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VolumeChange {
    /// Its digest when the guest started.
    pub before: Digest,
    /// Its digest afterwards.
    pub after: Digest,
    /// The paths that differ.
    pub changes: Changes,
}

impl VolumeChange {
    /// Whether an entry says the same of the volume. It may list fewer paths, and counts the others.
    pub(crate) fn is_recorded_as(&self, recorded: &VolumeRecord) -> bool {
        let counted = (recorded.changes.len() as u64).saturating_add(recorded.changes_omitted);
        (recorded.before, recorded.after) == (Some(self.before), self.after)
            && counted == self.changes.count()
            && self.changes.listed.starts_with(&recorded.changes)
    }
}
