//! Errors, and the calls that mend them.

pub(crate) mod fault;
pub(crate) mod repair;
