//! The library embedders use: open a package, run it, keep its state.
//!
//! A [`Package`](package::Package) is opened and a [`Call`] is made from what the operator says; [`Host::run`] checks the call
//! against what the package declares, runs the guest over the state of an instance, judges its end and keeps the state, or not, in
//! one transaction with the ledger's entry. It prints nothing and reads no clock, no environment and no randomness: those are in
//! the call.

mod call;
mod describe;
mod failure;
mod folder;
mod host;
pub mod package;
mod run;

pub use call::{Call, EnvironmentValue};
pub use describe::{Described, check_described};
pub use failure::Failure;
pub use folder::snapshot as folder_snapshot;
pub use host::Host;
pub use run::{Answer, VolumeChange};
