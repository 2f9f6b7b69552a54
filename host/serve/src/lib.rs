//! One long-lived host behind a protocol's door: packages that the operator chose, each with one instance that stays open, for callers
//! that are programs.
//!
//! What is asked for comes in as the call of a tool (`catalog`) or as a request (`http`), waits its turn in a queue of bounded length
//! (`door`), is carried out by one of a few threads (`work`, and `told` where the answer is the command line's) and comes back as data
//! (`reply`); `telemetry` tells a log and a collector of it. None of that knows a protocol. [`mcp`] is the Model Context Protocol over standard input and output, [`http`] is HTTP; the
//! only places with an async runtime, which is made when serving begins.
//!
//! It knows no command line: which line a person would type, the program says ([`Serving::line`]).
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod ask;
mod catalog;
mod door;
pub mod http;
mod known;
pub mod mcp;
mod names;
mod own_tools;
mod question;
mod reply;
mod room;
mod serving;
mod telemetry;
mod told;
mod who;
mod work;

pub use catalog::Catalog;
pub use serving::{About, Line, ServeError, Served, Serving, Surroundings, TOOLS_BYTES_MAX};
pub use telemetry::{Collected, Sender, Telemetry, Wanted, send_for_another};
