//! What the engine keeps for one running guest, and the way from a host call's failure to the guest or to the end of the run.

use crate::limiter::Limiter;
use crate::rules::HANDLE_BYTES;
use crate::wasi_0_1::Descriptors;
use hutch_model::invocation::Invocation;
use hutch_model::limits::Limit;
use hutch_world::{Errno, Stop, World, price};
use wasmtime::Memory;
use wasmtime::component::{Resource, ResourceTable, ResourceTableError};

/// The data of a guest's store: its world, and what the engine keeps for it.
pub struct Guest {
    /// The computer that it sees.
    pub world: World,
    pub(crate) invocation: Invocation,
    pub(crate) limiter: Limiter,
    /// Descriptors, streams, pollables and errors that the guest holds.
    pub(crate) table: ResourceTable,
    handles: u64,
    /// What the numbers stand for that a guest of WASI 0.1 has.
    pub(crate) descriptors: Descriptors,
    /// The memory of such a guest, once a call has needed it.
    pub(crate) memory: Option<Memory>,
}

/// What `wasi:io/error` stands for: the error of a file's stream.
#[allow(unreachable_pub, reason = "generated code re-exports it")]
pub struct Failed(pub(crate) Errno);

/// What the terminal interfaces would hand out. There is no terminal.
#[allow(unreachable_pub, reason = "generated code re-exports it")]
pub enum Terminal {}

impl Guest {
    /// A guest that has not begun.
    pub fn new(world: World, invocation: Invocation) -> Guest {
        let limits = invocation.limits();
        let mut table = ResourceTable::new();
        table.set_max_capacity(usize::try_from(limits.get(Limit::Handles)).unwrap_or(usize::MAX));
        let limiter = Limiter::new(limits);
        let descriptors = Descriptors::default();
        Guest { world, invocation, limiter, table, handles: 0, descriptors, memory: None }
    }

    /// Opens what a guest of WASI 0.1 finds open.
    pub(crate) fn open_descriptors(&mut self) -> Result<(), Stop> {
        let names: Vec<&str> = self.invocation.preopens().keys().map(String::as_str).collect();
        self.descriptors = Descriptors::new(&mut self.world, &names)?;
        Ok(())
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

    /// The same for two of them.
    pub(crate) fn enter_with_both(&mut self, one: &str, other: &str) -> Result<&mut World, Stop> {
        self.world.meter.spend(price::CALL + (one.len() + other.len()) as u64 * price::BYTE)?;
        Ok(&mut self.world)
    }

    /// Hands a new resource to the guest.
    pub(crate) fn push<T: Send + 'static>(&mut self, resource: T) -> wasmtime::Result<Resource<T>> {
        let resource = self.table.push(resource).map_err(|error| match error {
            ResourceTableError::Full => wasmtime::Error::new(Stop::Limit(Limit::Handles)),
            other => wasmtime::Error::new(other),
        })?;
        self.world.meter.take_memory_or_stop(HANDLE_BYTES)?;
        self.handles += 1;
        Ok(resource)
    }

    /// Takes a resource back from the guest.
    pub(crate) fn take_back<T: 'static>(&mut self, resource: Resource<T>) -> wasmtime::Result<T> {
        let resource = self.table.delete(resource)?;
        self.handles -= 1;
        self.world.meter.return_memory(HANDLE_BYTES);
        Ok(resource)
    }

    /// Lets go of everything that only a running guest needs: its memories are gone, and its handles go now.
    pub(crate) fn let_go(&mut self) {
        self.table = ResourceTable::new();
        let descriptors = std::mem::take(&mut self.descriptors);
        let handles = std::mem::take(&mut self.handles) + descriptors.count();
        let bytes = self.limiter.take_bytes() + handles * HANDLE_BYTES + descriptors.listed_bytes();
        self.world.meter.return_memory(bytes);
    }
}
