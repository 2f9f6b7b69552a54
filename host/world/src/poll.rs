//! Waiting. Streams of files and captured output are always ready, so the only thing to wait for is time, and time is virtual.

use crate::World;
use crate::failure::Stop;
use crate::meter::price;
use alloc::vec::Vec;

/// Something that becomes ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pollable {
    /// It is.
    Ready,
    /// It is when the monotonic clock has reached this many nanoseconds.
    At {
        /// The deadline.
        deadline_ns: u64,
    },
}

impl Pollable {
    fn ready_at_ns(self) -> u64 {
        match self {
            Pollable::Ready => 0,
            Pollable::At { deadline_ns } => deadline_ns,
        }
    }
}

impl World {
    /// Whether it is ready now; does not wait.
    pub fn is_ready(&self, pollable: Pollable) -> bool {
        pollable.ready_at_ns() <= self.clock.monotonic_ns()
    }

    /// Waits until at least one is ready, and says which are, by their places in the list. Time moves to the earliest deadline
    /// and no further.
    ///
    /// # Errors
    /// An empty list traps, as the interface says; or fuel is used up.
    pub fn poll(&mut self, list: &[Pollable]) -> Result<Vec<u32>, Stop> {
        self.meter.spend((list.len() as u64).saturating_mul(price::BYTE * 32))?;
        let Some(earliest_ns) = list.iter().map(|pollable| pollable.ready_at_ns()).min() else {
            return Err(Stop::Trap("poll_of_nothing"));
        };
        self.clock.wait_until(earliest_ns);
        let ready = (0u32..).zip(list).filter(|(_, pollable)| self.is_ready(**pollable)).map(|(at, _)| at);
        Ok(ready.collect())
    }
}
