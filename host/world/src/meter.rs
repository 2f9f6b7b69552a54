//! What a run has used. There is one counter of fuel: the engine takes instructions out of it, and tells this meter what is left
//! when a host call begins; the meter takes the host's work out of that, and the engine goes on with the rest. Memory that the
//! host keeps for the guest is counted here, and linear memory too: the engine asks before it grows.

use crate::failure::{Errno, Failure, Stop};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, Ordering};
use hutch_model::limits::{Limit, Limits};

/// Prices of host calls in fuel. What fuel buys was measured with `host/sandbox/examples/prices.rs`, in nanoseconds of wall time
/// for each unit (two shared cores of a cloud machine, 2026-11, medians; alone it is about half): a loop of plain instructions
/// 0.2 to 0.8, float division and roots 2.7 to 5; host calls 0.1 to 3.5, the least with lists of small strings at 4.5. No call may
/// exceed 10, so that 1,000,000,000 units take no more than 10 s. One kind of program does: loads that each wait for the one
/// before and miss every cache take 100 to 270 for the unit that a load costs; the wall clock ends those.
pub mod price {
    macro_rules! prices {
        ($($(#[doc = $doc:literal])+ $name:ident = $price:literal;)+) => {
            $($(#[doc = $doc])+ pub const $name: u64 = $price;)+

            /// All of them, by name.
            pub const ALL: &[(&str, u64)] = &[$((stringify!($name), $name)),+];
        };
    }

    prices! {
        /// Any call. Took 70 ns (a clock) to 600 ns (an empty write to a stream); polls, streams, descriptors and their ends
        /// buy 0.5 to 3 ns for a unit.
        CALL = 200;
        /// Each byte that crosses between guest and host, is copied for it or is filled with zeros: 0.1 to 1.5 ns.
        BYTE = 1;
        /// Each value of a list that is made for the guest (an argument, a variable: 80 ns), or of arguments that are made for the
        /// host one by one (in calls that are denied: 30 ns).
        ITEM = 50;
        /// Each random byte: 3 ns at most.
        RANDOM_BYTE = 4;
        /// Each part of a path: 25 to 200 ns, links included.
        PATH_PART = 200;
        /// Each entry of a folder that is read from its snapshot.
        ENTRY = 300;
        /// Each entry of a folder, 5 ns, that is gone past in search of others.
        PASSED_ENTRY = 4;
        /// Each step from a folder to the one above it.
        STEP = 10;
        /// Each object of a snapshot that is fetched.
        OBJECT = 50_000;
        /// Each entry of a folder that is named when the run ends.
        NAMED_ENTRY = 150;
        /// Each object that is named then, beside its bytes.
        NAMED_OBJECT = 1_000;
    }
}

/// Counters and their limits.
#[derive(Debug)]
pub struct Meter {
    limits: Limits,
    fuel_left: u64,
    /// Set from outside when the deadline is over.
    late: Arc<AtomicBool>,
    memory_bytes: u64,
    memory_peak_bytes: u64,
    refused: Vec<Limit>,
    refused_last: Option<Limit>,
}

impl Meter {
    /// Nothing used yet.
    pub fn new(limits: Limits) -> Meter {
        let fuel_left = limits.get(Limit::Fuel);
        Meter {
            limits,
            fuel_left,
            late: Arc::default(),
            memory_bytes: 0,
            memory_peak_bytes: 0,
            refused: Vec::new(),
            refused_last: None,
        }
    }

    /// What to set when the deadline is over: the next work of the host that has a price ends the run.
    pub fn late(&self) -> Arc<AtomicBool> {
        self.late.clone()
    }

    /// The value of a limit.
    pub fn limit(&self, limit: Limit) -> u64 {
        self.limits.get(limit)
    }

    /// Charges fuel for work of the host that is about to be done.
    ///
    /// # Errors
    /// [`Limit::Fuel`]: there is not more than that left, as the engine has it too. Or the deadline is over.
    pub fn spend(&mut self, fuel: u64) -> Result<(), Stop> {
        if self.late.load(Ordering::Relaxed) {
            return Err(Stop::Late);
        }
        self.fuel_left = self.fuel_left.saturating_sub(fuel);
        if self.fuel_left == 0 { Err(Stop::Limit(Limit::Fuel)) } else { Ok(()) }
    }

    /// Fuel that instructions and the host's work may still use.
    pub fn fuel_left(&self) -> u64 {
        self.fuel_left
    }

    /// Takes over what the engine has left.
    pub fn set_fuel_left(&mut self, fuel: u64) {
        self.fuel_left = fuel;
    }

    /// Fuel that instructions and the host's work have used.
    pub fn fuel(&self) -> u64 {
        self.limit(Limit::Fuel).saturating_sub(self.fuel_left)
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
        assert_eq!((meter.spend(4), meter.fuel(), meter.fuel_left()), (Ok(()), 4, 1));
        assert_eq!(meter.spend(1), Err(Stop::Limit(Limit::Fuel)));
        assert_eq!(meter.spend(u64::MAX), Err(Stop::Limit(Limit::Fuel)));
        assert_eq!((meter.fuel(), meter.fuel_left()), (5, 0));
    }

    #[test]
    fn nothing_is_begun_after_the_deadline() {
        let mut meter = meter(Limit::Fuel, 5);
        assert_eq!(meter.spend(1), Ok(()));
        meter.late().store(true, Ordering::Relaxed);
        assert_eq!((meter.spend(1), meter.fuel()), (Err(Stop::Late), 1));
    }
}
