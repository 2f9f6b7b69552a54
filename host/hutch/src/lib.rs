//! The library embedders use: open a package, run it, keep its state.
//!
//! A [`Package`](package::Package) is opened and a [`Call`] is made from what the operator says; [`Host::run`] checks the call
//! against what the package declares, runs the guest over the state of an instance, judges its end and keeps the state, or not, in
//! one transaction with the ledger's entry. Because a run is a pure function, the same parts give previews ([`Host::plan`],
//! [`Host::apply`]), history ([`Session::undo`], [`Session::restore`]) and exact re-execution ([`Host::replay`],
//! [`Host::verify`]).
//!
//! It prints nothing and reads no clock, no environment and no randomness: those are in the call.
//!
//! What follows is the page for builders, on all crates.
#![doc = include_str!("../../README.md")]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod again;
mod answer;
mod bundles;
mod call;
#[cfg(feature = "machine")]
mod carried;
mod describe;
mod document;
#[cfg_attr(not(feature = "machine"), path = "nowhere/edits.rs")]
mod edits;
#[cfg_attr(not(feature = "machine"), path = "nowhere/enclosed.rs")]
mod enclosed;
mod entries;
mod execute;
mod expected;
mod exported;
mod failure;
pub mod find;
#[cfg_attr(not(feature = "machine"), path = "nowhere/grants.rs")]
mod grants;
mod history;
mod host;
#[cfg(feature = "machine")]
pub mod index;
#[cfg(feature = "machine")]
pub mod installed;
mod instance;
#[cfg(feature = "machine")]
pub mod instances;
mod map;
#[cfg_attr(not(feature = "machine"), path = "nowhere/mount.rs")]
mod mount;
mod output_schema;
pub mod package;
mod plan;
mod prepare;
mod requests;
mod risk;
mod run;
mod session;
mod state;
mod turns;

pub use again::Verified;
pub use answer::{Answer, VolumeChange, WITHHELD_MAX};
pub use bundles::TakenIn;
pub use call::{Call, EnvironmentValue};
#[cfg(feature = "machine")]
pub use carried::Taken;
pub use describe::{Described, check_described};
pub use document::DocumentSize;
pub use edits::Edits;
#[cfg(feature = "machine")]
pub use edits::Withheld;
pub use entries::{EntryName, NotAnEntryName};
pub use expected::{argument_violations, asked, usual_output, verdict_by_schema};
pub use exported::Exported;
pub use failure::Failure;
pub use history::Moved;
#[cfg(feature = "machine")]
pub use host::Enclose;
pub use host::{Host, Stores};
pub use instance::Instance;
pub use map::{Job, Mapped};
pub use mount::Mount;
pub use prepare::Validated;
pub use requests::Answered;
pub use risk::{Risk, RiskLevel};
pub use session::Session;
pub use state::{Item, StatePath};
