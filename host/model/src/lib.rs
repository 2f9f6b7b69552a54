//! Pure data and rules: names, digests, manifest, limits, invocation, outcome, error codes. Does no I/O, reads no clock, uses no
//! randomness and knows no engine.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

pub mod acted_on;
pub mod asks;
pub mod command_line;
pub mod contract;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod error_code;
pub mod error_report;
mod fields;
pub mod front_matter;
pub mod gate;
pub mod guard;
pub mod halving;
pub mod hidden;
pub mod instant;
pub mod invocation;
mod json;
pub mod kept;
pub mod ledger;
pub mod limits;
pub mod lock;
pub mod manifest;
pub mod memo;
pub mod names;
pub mod nearest;
mod node;
pub mod outcome;
pub mod payload;
pub mod redact;
pub mod schedule;
pub mod sha256;
pub mod skill;
pub mod snapshot;
pub mod statement;
pub mod step;
pub mod terminal;
pub mod text;
pub mod trust;
mod yaml;
