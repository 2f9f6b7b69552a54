//! What was done and what is there, as JSON: the documents that the command line, a server and other programs answer with, made in one
//! place, so that they are the same everywhere.
//!
//! Each function makes one `result`, of a type whose schema is derived from it; [`envelope`] puts it into what is around every answer. They are described by
//! `hutch meta`, and their sizes are bounded ([`bounds`]). It prints nothing, and knows no command line and no protocol.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

pub mod agent;
pub mod bounds;
pub mod diff;
pub mod ledger;
pub mod memo;
pub mod moved;
mod page;
pub mod proved;
pub mod run;
pub mod state;
pub mod verified;

pub use page::{Listed, NAMED_MAX, Noted, Page, there_is};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Whose words the texts of an object are: data, and no instructions of the host's. Its `rules` are the host's wherever they stand.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Whoever made the package.
    Package,
}

/// An object of which nothing more is said.
pub type Open = Map<String, Value>;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What is around every answer: `ok`, the command and its result, and what an agent needs to know (rules R1 to R3).
pub fn envelope(ok: bool, command: &str, result: Value) -> Value {
    json!({
        "ok": ok,
        "command": command,
        "result": result,
        "rules": agent::rules(),
        "skills": agent::skills(),
        "issue": agent::ISSUE,
    })
}
