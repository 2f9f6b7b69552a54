//! The host where there is no machine: in a browser tab, a worker, Node. A module for `wasm32-unknown-unknown` that imports nothing: it
//! has no clock, no randomness, no files and no network to give away; the instant, the seed and every byte come with a request.
//!
//! [`Tab::answer`] takes a [`Request`] as JSON, with one attachment of bytes, and gives an answer of the same form. All it does it does by
//! the crates that the native host is made of, so a ledger's entries are the same bytes. `door` is the C-like interface to it.

#[cfg(target_family = "wasm")]
mod blocks;
#[cfg(target_family = "wasm")]
mod door;
mod request;
mod shown;
mod tab;

pub use request::Request;
pub use tab::{Answer, Tab};
