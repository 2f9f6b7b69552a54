//! Growth of memories and tables. All of it is one sum, whatever instance it belongs to, and counts with the world's other memory;
//! what is refused is remembered, and what the operating system refuses never reaches the guest, because it could differ on the next
//! machine.

use crate::guest::Guest;
use crate::rules::{ELEMENT_BYTES, ONE_MEMORY_BYTES};
use hutch_model::limits::{Limit, Limits};
use hutch_world::Stop;
use wasmtime::ResourceLimiter;

/// Sums over a guest's tables and memories, and how many parts it may have.
pub(crate) struct Limiter {
    table_elements: u64,
    parts_max: usize,
    /// What was counted as memory here.
    bytes: u64,
}

impl Limiter {
    pub(crate) fn new(limits: &Limits) -> Limiter {
        let parts_max = usize::try_from(limits.get(Limit::Instances)).unwrap_or(usize::MAX);
        Limiter { table_elements: 0, parts_max, bytes: 0 }
    }

    /// What was counted as memory, once the memories and tables are gone.
    pub(crate) fn take_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

impl Guest {
    fn grow(&mut self, bytes: u64) -> bool {
        let grown = self.world.meter.take_memory(bytes);
        self.limiter.bytes += if grown { bytes } else { 0 };
        grown
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        if desired as u64 > ONE_MEMORY_BYTES {
            self.world.meter.refuse(Limit::Memory);
            return Ok(false);
        }
        Ok(self.grow((desired - current) as u64))
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
        if !self.grow(((desired - current) as u64).saturating_mul(ELEMENT_BYTES)) {
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
