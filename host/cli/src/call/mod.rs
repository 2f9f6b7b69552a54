//! One call of a guest, from words to outcome.

pub(crate) mod asked;
pub(crate) mod batch;
pub(crate) mod ended;
pub(crate) mod guest;
pub(crate) mod invocation;
pub(crate) mod mapped;
pub(crate) mod memo;
pub(crate) mod resumed;
pub(crate) mod trial;
