//! What a run has looked at in a volume, as a tree: its size follows the folders and names, not the lengths of their paths.

use super::Name;

/// What was touched in one folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    /// Whether the folder was listed.
    pub listed: bool,
    /// The names that were looked up in it, there or not, read or changed.
    pub names: Vec<TouchedName>,
}

/// One name that was looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchedName {
    /// The name.
    pub name: Name,
    /// What was touched in it, if it is a folder that was gone into.
    pub below: Option<Touched>,
}
