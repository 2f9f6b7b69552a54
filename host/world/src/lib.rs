//! The virtual computer that a guest sees: files, clock, randomness, streams, quotas.
//!
//! A [`World`] is made from an [`Invocation`] and the digests of its volumes, answers what WASI asks, and is taken apart into
//! the volumes' next digests. It does no I/O of its own: bytes of volumes come through [`Objects`], everything else is in the
//! invocation. Equal inputs give equal answers, in the same order, for the same price in fuel.
//!
//! It knows no engine and no WASI binding: names here are those of files and clocks, and `sandbox` translates.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]
#![no_std]

extern crate alloc;

mod clock;
mod failure;
pub mod files;
mod meter;
mod poll;
mod random;
mod streams;

pub use clock::{Clock, TICK_NS};
pub use failure::{Errno, Failure, Stop};
pub use files::{Descriptor, FolderStream, SLOT_BYTES as NAME_MEMORY_BYTES};
pub use meter::{Meter, price};
pub use poll::Pollable;
pub use random::Random;
pub use streams::{Input, Output, STREAM_BYTES, StreamFailure};

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use files::FileSystem;
use hutch_model::digest::Digest;
use hutch_model::invocation::Invocation;
use hutch_model::snapshot::{ObjectError, Objects, PART_ENTRIES, PARTS};

/// Whatever of this world's arithmetic a guest or an outcome can show, beside [`price::ALL`]: what is counted for what, and how far
/// things go. Outcomes are comparable only where all of it is equal.
pub const RULES: &[(&str, u64)] = &[
    ("tick_ns", TICK_NS),
    ("stream_bytes", STREAM_BYTES),
    ("node_bytes", files::NODE_BYTES),
    ("slot_bytes", files::SLOT_BYTES),
    ("part_entries", PART_ENTRIES as u64),
    ("parts", PARTS as u64),
    ("part_bytes", files::PART_BYTES),
    ("missed_names", files::MISSED_NAMES as u64),
    ("cached_objects", files::CACHED_OBJECTS as u64),
    ("buffer_bytes_min", files::BUFFER_BYTES_MIN as u64),
    ("path_bytes_max", files::PATH_BYTES_MAX as u64),
    ("hops_max", files::HOPS_MAX as u64),
    ("object_bytes", files::OBJECT_BYTES),
    ("entry_bytes_max", files::ENTRY_BYTES_MAX as u64),
];

/// Everything outside a guest's own memory.
pub struct World {
    /// What is used, and what may be.
    pub meter: Meter,
    /// Both clocks.
    pub clock: Clock,
    /// All randomness.
    pub random: Random,
    files: FileSystem,
    /// For standard input.
    invocation: Invocation,
    stdin_at: usize,
    is_stdin_read: bool,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl World {
    /// The world at the start of a run. `state` names the content of each preopened folder; one that it does not name is empty.
    ///
    /// # Errors
    /// The top folder of a volume can't be read.
    pub fn new(
        invocation: &Invocation,
        state: &BTreeMap<String, Digest>,
        objects: Arc<dyn Objects>,
    ) -> Result<World, ObjectError> {
        Ok(World {
            meter: Meter::new(invocation.limits().clone()),
            clock: Clock::new(invocation.clock_start()),
            random: Random::new(invocation.seed()),
            files: FileSystem::new(invocation, state, objects)?,
            invocation: invocation.clone(),
            stdin_at: 0,
            is_stdin_read: false,
            stdout: Vec::new(),
            stderr: Vec::new(),
        })
    }

    /// Takes the captured standard output and error out.
    pub fn take_output(&mut self) -> (Vec<u8>, Vec<u8>) {
        (core::mem::take(&mut self.stdout), core::mem::take(&mut self.stderr))
    }
}
