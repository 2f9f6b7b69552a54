//! A component that is ready to run, whoever compiled it.

use crate::deadline::Keeper;
use hutch_engine::Linked;
use hutch_model::digest::Digest;
use wasmtime::Engine;

/// A compiled and linked component. Clones share it.
#[derive(Clone)]
pub struct Program {
    pub(crate) engine: Engine,
    pub(crate) linked: Linked,
    pub(crate) stack_bytes: u64,
    /// Component instances or resource types that instantiating it makes, whichever are more.
    pub(crate) made: u64,
    pub(crate) load_time_us: u64,
    pub(crate) compiled: bool,
    pub(crate) keeper: Keeper,
    pub(crate) digest: Digest,
}

impl Program {
    /// The digest of the component's bytes, as given.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What it took to have it, in microseconds.
    pub fn load_time_us(&self) -> u64 {
        self.load_time_us
    }

    /// Whether it was compiled now: neither found compiled nor given.
    pub fn is_fresh(&self) -> bool {
        self.compiled
    }
}
