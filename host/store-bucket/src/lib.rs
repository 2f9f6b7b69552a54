//! Instances in a bucket that many machines share, S3 or what speaks its protocol: what is committed is whole or not there, nothing is lost
//! or done twice, the ledger is one chain. The only crate that knows S3. Reads no environment and no clock: addresses, credentials, randomness
//! and the time are handed in.
//!
//! A bucket has no locks and no transactions, but it can put an object only where there is none. So an entry's name is its place, and a commit
//! is one such put: what a state is made of is put before it, under digests, where it is nothing to anybody until an entry names it. Whoever
//! finds the place taken takes that entry in, holds the record against it, and tries the next one. Where the answer to the put is lost, the
//! place is read: an entry names its writer. What is there is never changed and never taken away.
//!
//! A bucket that takes no notice of the condition would lose entries in silence, so it is [proved](Bucket::prove) before an instance is made.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod address;
mod bucket;
#[cfg(test)]
#[path = "../../store/tests/contract/cases.rs"]
mod cases;
mod check;
mod client;
#[cfg(test)]
#[path = "../../store/tests/common/mod.rs"]
mod common;
#[cfg(test)]
mod faults;
mod frame;
mod instance;
#[cfg(test)]
mod kinds;
mod listing;
mod objects;
mod sign;
mod transaction;
mod wire;

pub use address::{Address, AddressError};
pub use bucket::{Bucket, Known};
pub use client::{Credentials, Opening};
pub use instance::BucketStore;
pub use wire::serve;
