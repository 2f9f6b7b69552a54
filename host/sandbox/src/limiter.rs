//! Growth of memories and tables. All of it is one sum, whatever instance it belongs to; what is refused is remembered, and what
//! the operating system refuses never reaches the guest, because it could differ on the next machine.

use crate::guest::Guest;
use hutch_model::limits::{Limit, Limits};
use hutch_world::Stop;
use wasmtime::ResourceLimiter;

/// Sums over a guest's tables, and how many parts it may have. Bytes are counted with the world's other memory.
pub(crate) struct Limiter {
    table_elements: u64,
    parts_max: usize,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Limiter {
        let parts_max = usize::try_from(limits.get(Limit::Instances)).unwrap_or(usize::MAX);
        Limiter { table_elements: 0, parts_max }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        Ok(self.world.meter.take_memory((desired - current) as u64))
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(host_refused("memory", &error))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let sum = self.limiter.table_elements.saturating_add((desired - current) as u64);
        if sum > self.world.meter.limit(Limit::Tables) {
            self.world.meter.refuse(Limit::Tables);
            return Ok(false);
        }
        self.limiter.table_elements = sum;
        Ok(true)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(host_refused("table elements", &error))
    }

    fn instances(&self) -> usize {
        self.limiter.parts_max
    }

    fn tables(&self) -> usize {
        self.limiter.parts_max
    }

    fn memories(&self) -> usize {
        self.limiter.parts_max
    }
}

fn host_refused(what: &str, error: &wasmtime::Error) -> wasmtime::Error {
    wasmtime::Error::new(Stop::Fault(format!("the system has no more {what}: {error:#}")))
}
