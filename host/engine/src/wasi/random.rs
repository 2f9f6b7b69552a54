//! `wasi:random`: three streams of one seed.

use super::bindings::wasi::random::{insecure, insecure_seed, random};
use crate::guest::Guest;
use hutch_model::limits::Limit;
use hutch_world::{Random, Stop, price};
use rand_core::Rng;

impl Guest {
    fn random_bytes(&mut self, length: u64, fill: impl FnOnce(&mut Random, &mut [u8])) -> wasmtime::Result<Vec<u8>> {
        let meter = &mut self.enter()?.meter;
        if length > meter.limit(Limit::HostCall) {
            return Err(Stop::Limit(Limit::HostCall).into());
        }
        meter.spend(length.saturating_mul(price::RANDOM_BYTE))?;
        let mut bytes = vec![0; length as usize];
        fill(&mut self.world.random, &mut bytes);
        Ok(bytes)
    }
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(length, |random, bytes| random.secure().fill_bytes(bytes))
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.enter()?.random.secure().next_u64())
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(length, |random, bytes| random.insecure().fill_bytes(bytes))
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        Ok(self.enter()?.random.insecure().next_u64())
    }
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok(self.enter()?.random.insecure_seed())
    }
}
