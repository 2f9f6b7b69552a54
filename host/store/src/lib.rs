//! Everything durable: the volumes and the ledger of an instance behind one door, and the plain directories in which people see the
//! volumes. Knows no guest, no engine and no package.
//!
//! - [`Store`] says what is promised; [`SqliteStore`] and [`MemoryStore`] keep it, the latter also over another store, for
//!   previews.
//! - [`InstanceDir`] says where an instance lies; [`plain`] brings its directories up to date and notices what others changed
//!   there.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

// The tests of both kinds share their helpers.
#[cfg(test)]
extern crate self as hutch_store;
#[cfg(test)]
#[path = "../tests/common/mod.rs"]
mod common;

mod absorb;
mod admitted;
mod audit;
pub mod bundle;
mod error;
#[cfg(feature = "machine")]
mod hold;
#[cfg(feature = "machine")]
mod instance_dir;
pub mod log;
#[cfg(feature = "machine")]
mod mark;
mod memo;
mod memory;
mod names;
#[cfg(feature = "machine")]
pub mod plain;
mod reach;
mod retention;
#[cfg(feature = "machine")]
mod rooting;
mod skipped;
#[cfg(feature = "machine")]
mod sqlite;
mod store;
mod transition;

/// What stores are made of, for crates that keep one elsewhere.
pub mod keeping {
    pub use crate::absorb::{Shelf, absorb};
    pub use crate::admitted::{Admitted, admitted, admitted_text};
    pub use crate::audit::{Audit, Findings, Moves};
    pub use crate::reach::{Source, reach};
    pub use crate::retention::{retained_from, states};
    pub use crate::transition::{Advance, Transition, streams};
}

pub use error::StoreError;
#[cfg(feature = "machine")]
pub use instance_dir::{InstanceDir, InstanceLock, lock, wait_for};
pub use memo::{Found, MEMO_BYTES_MAX, Memo, MemoStats};
pub use memory::MemoryStore;
pub use names::{InstanceName, StoreNameError, VolumeName};
pub use skipped::Skipped;
#[cfg(feature = "machine")]
pub use sqlite::{IfMissing, Opening, SqliteStore};
pub use store::{Collected, DAMAGES_MAX, Damage, EntryKey, Head, Retention, State, Stats, Store, Transaction};
