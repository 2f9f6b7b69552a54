//! Issues, and what is reported of them.

pub(crate) mod issues;
pub(crate) mod report_link;
