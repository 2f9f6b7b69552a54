//! What the engine keeps for one running guest, and the way from a host call's failure to the guest or to the end of the run.

use crate::limiter::Limiter;
use hutch_model::invocation::Invocation;
use hutch_model::limits::Limit;
use hutch_world::{Errno, Stop, World, price};
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

/// The data of a guest's store.
pub(crate) struct Guest {
    pub(crate) world: World,
    pub(crate) invocation: Invocation,
    pub(crate) limiter: Limiter,
    /// Descriptors, streams, pollables and errors that the guest holds.
    pub(crate) table: ResourceTable,
}

/// What `wasi:io/error` stands for: the error of a file's stream.
#[allow(unreachable_pub, reason = "generated code re-exports it")]
pub struct Failed(pub(crate) Errno);

/// What the terminal interfaces would hand out. There is no terminal.
#[allow(unreachable_pub, reason = "generated code re-exports it")]
pub enum Terminal {}

impl Guest {
    pub(crate) fn new(world: World, invocation: Invocation) -> Guest {
        let limits = invocation.limits();
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.get(Limit::Handles)).unwrap_or(usize::MAX));
        let limiter = Limiter::new(limits);
        Guest { world, invocation, limiter, table }
    }

    /// Every host call begins here: it is charged for.
    pub(crate) fn enter(&mut self) -> Result<&mut World, Stop> {
        self.world.meter.spend(price::CALL)?;
        Ok(&mut self.world)
    }

    /// Every host call that takes a path or another text begins here.
    pub(crate) fn enter_with(&mut self, text: &str) -> Result<&mut World, Stop> {
        self.world.meter.spend(price::CALL + text.len() as u64 * price::BYTE)?;
        Ok(&mut self.world)
    }

    /// Hands a new resource to the guest.
    pub(crate) fn push<T: Send + 'static>(&mut self, resource: T) -> wasmtime::Result<Resource<T>> {
        self.table.push(resource).map_err(|error| match error {
            ResourceTableError::Full => wasmtime::Error::new(Stop::Limit(Limit::Handles)),
            other => wasmtime::Error::new(other),
        })
    }
}
