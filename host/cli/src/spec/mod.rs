//! What is said of each command, and what follows from it.

pub(crate) mod description;
pub(crate) mod facts;
pub(crate) mod known;
