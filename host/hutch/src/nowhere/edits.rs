//! Where there are no plain directories, nobody edits any.

use crate::execute::Executed;
use crate::failure::Failure;
use crate::session::Session;
use hutch_model::ledger::Sealed;
use hutch_store::Skipped;
use std::collections::BTreeMap;

/// What was taken in: nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Edits {
    /// An entry for each volume that was changed.
    pub entries: Vec<Sealed>,
    /// What stands in the directories and can be in no state, by volume.
    pub skipped: BTreeMap<String, Skipped>,
}

impl Session {
    pub(crate) fn is_edited(&self, _: &Executed) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Takes nothing in.
    ///
    /// # Errors
    /// None.
    pub fn absorb_edits(&self) -> Result<Edits, Failure> {
        Ok(Edits::default())
    }

    pub(crate) fn preview_edits(&self) -> Result<(), Failure> {
        Ok(())
    }
}
