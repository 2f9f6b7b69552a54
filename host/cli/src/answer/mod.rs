//! An answer on its way out: shaped, cleaned, printed.

pub(crate) mod done;
pub(crate) mod envelope;
pub(crate) mod output;
