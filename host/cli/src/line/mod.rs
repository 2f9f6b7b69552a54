//! The words that were typed, and lines to be typed.

pub(crate) mod call_line;
pub(crate) mod quote;
pub(crate) mod words;
