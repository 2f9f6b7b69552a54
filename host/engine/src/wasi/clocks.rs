//! `wasi:clocks`: both clocks are virtual.

use super::bindings::wasi::clocks::monotonic_clock;
use super::bindings::wasi::clocks::wall_clock::{self, Datetime};
use crate::guest::Guest;
use hutch_world::{Pollable, TICK_NS};
use wasmtime::component::Resource;

/// Splits nanoseconds since 1970.
pub(super) fn datetime(unix_ns: u64) -> Datetime {
    Datetime { seconds: unix_ns / 1_000_000_000, nanoseconds: (unix_ns % 1_000_000_000) as u32 }
}

impl wall_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<Datetime> {
        Ok(datetime(self.enter()?.clock.read_wall_ns()))
    }

    fn resolution(&mut self) -> wasmtime::Result<Datetime> {
        self.enter()?;
        Ok(datetime(TICK_NS))
    }
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.enter()?.clock.read_monotonic_ns())
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        self.enter()?;
        Ok(TICK_NS)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<Pollable>> {
        self.enter()?;
        self.push(Pollable::At { deadline_ns: when })
    }

    fn subscribe_duration(&mut self, duration: u64) -> wasmtime::Result<Resource<Pollable>> {
        let now_ns = self.enter()?.clock.monotonic_ns();
        self.push(Pollable::At { deadline_ns: now_ns.saturating_add(duration) })
    }
}
