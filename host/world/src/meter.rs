//! What a run has used. Fuel of host calls and memory that the host keeps for the guest are counted here; the engine counts
//! instructions and asks here before linear memory grows.

use crate::failure::{Errno, Failure, Stop};
use alloc::vec::Vec;
use hutch_model::limits::{Limit, Limits};

/// Prices of host calls in fuel. What fuel buys was measured with `host/sandbox/examples/prices.rs`, in nanoseconds of wall time
/// for each unit (two shared cores of a cloud machine, 2026-11, medians; alone it is about half): a loop of plain instructions
/// 0.2 to 0.8, float division and roots 2.7 to 5; host calls 0.1 to 3.5, the least with lists of small strings at 4.5. No call may
/// exceed 10, so that 1,000,000,000 units take no more than 10 s. One kind of program does: loads that each wait for the one
/// before and miss every cache take 100 to 270 for the unit that a load costs; the wall clock ends those.
pub mod price {
    /// Any call. Took 70 ns (a clock) to 600 ns (an empty write to a stream); polls, streams, descriptors and their ends
    /// buy 0.5 to 3 ns for a unit.
    pub const CALL: u64 = 200;
    /// Each byte that crosses between guest and host, is copied for it or is filled with zeros: 0.1 to 1.5 ns.
    pub const BYTE: u64 = 1;
    /// Each value of a list that is made for the guest (an argument, a variable: 80 ns), or of arguments that are made for the
    /// host one by one (in calls that are denied: 30 ns).
    pub const ITEM: u64 = 50;
    /// Each random byte: 3 ns at most.
    pub const RANDOM_BYTE: u64 = 4;
    /// Each part of a path: 25 to 200 ns, links included.
    pub const PATH_PART: u64 = 200;
    /// Each entry of a folder that is read from its snapshot.
    pub const ENTRY: u64 = 300;
    /// Each entry of a folder, 5 ns, that is gone past in search of others.
    pub const PASSED_ENTRY: u64 = 4;
    /// Each step from a folder to the one above it.
    pub const STEP: u64 = 10;
    /// Each object of a snapshot that is fetched.
    pub const OBJECT: u64 = 50_000;
}

/// Counters and their limits.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    fuel: u64,
    memory_bytes: u64,
    memory_peak_bytes: u64,
    refused: Vec<Limit>,
    refused_last: Option<Limit>,
}

impl Meter {
    /// Nothing used yet.
    pub fn new(limits: Limits) -> Meter {
        Meter { limits, fuel: 0, memory_bytes: 0, memory_peak_bytes: 0, refused: Vec::new(), refused_last: None }
    }

    /// The value of a limit.
    pub fn limit(&self, limit: Limit) -> u64 {
        self.limits.get(limit)
    }

    /// Charges fuel for work of the host.
    ///
    /// # Errors
    /// [`Limit::Fuel`]: host calls alone have used all of it.
    pub fn spend(&mut self, fuel: u64) -> Result<(), Stop> {
        self.fuel = self.fuel.saturating_add(fuel);
        if self.fuel > self.limit(Limit::Fuel) { Err(Stop::Limit(Limit::Fuel)) } else { Ok(()) }
    }

    /// Fuel charged for work of the host.
    pub fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Counts memory, if there is room for it.
    #[must_use]
    pub fn take_memory(&mut self, bytes: u64) -> bool {
        let sum = self.memory_bytes.saturating_add(bytes);
        if sum > self.limit(Limit::Memory) {
            self.refuse(Limit::Memory);
            return false;
        }
        self.memory_bytes = sum;
        self.memory_peak_bytes = self.memory_peak_bytes.max(sum);
        true
    }

    /// Counts memory for something the guest asked to keep.
    ///
    /// # Errors
    /// [`Errno::InsufficientMemory`], which the guest can handle.
    pub fn take_memory_or_errno(&mut self, bytes: u64) -> Result<(), Failure> {
        if self.take_memory(bytes) { Ok(()) } else { Err(Errno::InsufficientMemory.into()) }
    }

    /// Counts memory for something the host needs to answer at all.
    ///
    /// # Errors
    /// [`Limit::Memory`], which ends the run.
    pub fn take_memory_or_stop(&mut self, bytes: u64) -> Result<(), Stop> {
        if self.take_memory(bytes) { Ok(()) } else { Err(Stop::Limit(Limit::Memory)) }
    }

    /// Gives memory back.
    pub fn return_memory(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.memory_bytes, "more memory returned than taken");
        self.memory_bytes = self.memory_bytes.saturating_sub(bytes);
    }

    /// Memory counted now, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The most memory counted at one time, in bytes.
    pub fn memory_peak_bytes(&self) -> u64 {
        self.memory_peak_bytes
    }

    /// Remembers that this limit refused the guest something.
    pub fn refuse(&mut self, limit: Limit) {
        self.refused_last = Some(limit);
        if let Err(at) = self.refused.binary_search(&limit) {
            self.refused.insert(at, limit);
        }
    }

    /// The limit that refused something most recently.
    pub fn refused_last(&self) -> Option<Limit> {
        self.refused_last
    }

    /// The limits that refused something, in the table's order.
    pub fn refused(&self) -> &[Limit] {
        &self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(limit: Limit, value: u64) -> Meter {
        let mut limits = Limits::default();
        limits.set(limit, value);
        Meter::new(limits)
    }

    #[test]
    fn memory_is_refused_beyond_the_limit_and_remembered() {
        let mut meter = meter(Limit::Memory, 10);
        assert!(meter.take_memory(10));
        assert!(meter.refused().is_empty());
        assert!(!meter.take_memory(1));
        assert_eq!(meter.refused(), [Limit::Memory]);
        meter.return_memory(4);
        assert!(meter.take_memory(3));
        assert_eq!(meter.memory_peak_bytes(), 10);
        assert!(!meter.take_memory(u64::MAX));
    }

    #[test]
    fn fuel_ends_the_run_when_it_is_used_up() {
        let mut meter = meter(Limit::Fuel, 5);
        assert_eq!(meter.spend(5), Ok(()));
        assert_eq!(meter.spend(1), Err(Stop::Limit(Limit::Fuel)));
        assert_eq!(meter.spend(u64::MAX), Err(Stop::Limit(Limit::Fuel)));
    }
}
