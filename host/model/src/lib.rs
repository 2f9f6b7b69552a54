//! Pure data and rules: names, digests, manifest, limits, invocation, outcome, error codes. Does no I/O, reads no clock, uses no
//! randomness and knows no engine.

pub mod digest;
pub mod error_code;
pub mod error_report;
pub mod instant;
pub mod invocation;
pub mod limits;
pub mod outcome;
pub mod snapshot;
