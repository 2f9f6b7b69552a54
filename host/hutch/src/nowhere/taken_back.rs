//! Where there are no real folders, no run changed one.

use crate::failure::Failure;
use crate::grants::Settled;
use crate::mount::Mount;
use crate::session::Session;
use hutch_model::ledger::Record;
use std::collections::BTreeMap;

/// A run that changed real folders: there is none.
pub(crate) struct FolderMove {
    pub(crate) sequence: u64,
    pub(crate) change: u64,
    none: Mount,
}

#[derive(Default)]
pub(crate) struct FolderMoves {
    pub(crate) back: Vec<FolderMove>,
    pub(crate) forward: Vec<FolderMove>,
}

impl FolderMove {
    pub(crate) fn is_run(&self) -> bool {
        match self.none {}
    }
}

impl Session {
    #[expect(clippy::unnecessary_wraps, reason = "as where there are such folders")]
    pub(crate) fn folder_moves(&self) -> Result<FolderMoves, Failure> {
        Ok(FolderMoves::default())
    }

    pub(crate) fn drop_kept_before(&self, _: u64) {}

    pub(crate) fn commit_taking_back(
        &self,
        _: Record,
        change: &FolderMove,
        _: &BTreeMap<String, Mount>,
    ) -> Result<Settled, Failure> {
        match change.none {}
    }
}
