//! The flags that many commands have, and what they ask for.

pub(crate) mod arguments_guard;
pub(crate) mod choice;
pub(crate) mod database;
pub(crate) mod global;
pub(crate) mod pairs;
pub(crate) mod selection;
pub(crate) mod shaping;
