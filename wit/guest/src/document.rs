//! The state of an application as one typed value, and the bytes that it is kept as.

use crate::contract::FailureCode;

/// The state file cannot be read.
pub const STATE_CORRUPT: FailureCode = FailureCode {
    code: "STATE_CORRUPT",
    exit_status: 1,
    description: "the state file is not one of this application; it is left as it is",
    fix: "go back to an earlier state of the volume, or mend the file by hand at the place that the message names",
};

/// The state of an application. A command gets the whole of it; what a command leaves is kept if, and only if, the command
/// succeeded and says that something changed.
///
/// The derive of this name keeps a type that has `serde`'s traits as readable JSON; [`Table`](crate::table::Table) is many
/// items in one file; `sqlite::Database` (feature `sqlite`) a database; `()` is no state.
pub trait Document: Default + Sized + 'static {
    /// The name of the file in the directory `state`; `None` for an application that keeps nothing.
    const FILE: Option<&'static str>;

    /// Reads the bytes of a state.
    ///
    /// # Errors
    /// What is wrong with them, and where.
    fn decode(bytes: &[u8]) -> Result<Self, String>;

    /// The bytes of this state, which ends with them.
    ///
    /// # Errors
    /// When a value has no form in them.
    fn encode(self) -> serde_json::Result<Vec<u8>>;

    /// Does what is to be done beside that, after a call that changed something; for a try only checks it.
    ///
    /// # Errors
    /// Of a command that changes something, one of those that it declares.
    #[cfg(feature = "folder")]
    fn carry_out(&mut self, _dry_run: bool) -> Result<(), crate::failure::Failure> {
        Ok(())
    }
}

impl Document for () {
    const FILE: Option<&'static str> = None;

    fn decode(_: &[u8]) -> Result<Self, String> {
        Ok(())
    }

    fn encode(self) -> serde_json::Result<Vec<u8>> {
        Ok(Vec::new())
    }
}
