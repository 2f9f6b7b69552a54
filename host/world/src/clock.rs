//! Virtual time. It stands still until something happens: a reading moves it by one tick, a wait moves it to the deadline.

use core::cell::Cell;
use hutch_model::instant::Instant;

/// How far one reading moves the clock, in nanoseconds; also the resolution that both clocks state.
pub const TICK_NS: u64 = 1_000;

/// Wall clock and monotonic clock: one time, two zeros. Where the wall clock started is noted as seen with each look at it, whoever looks:
/// what a run that never does comes to would be the same from any other start.
#[derive(Debug)]
pub struct Clock {
    start: Instant,
    elapsed_ns: u64,
    is_start_seen: Cell<bool>,
}

impl Clock {
    /// A clock at the start of a run.
    pub fn new(start: Instant) -> Clock {
        Clock { start, elapsed_ns: 0, is_start_seen: Cell::new(false) }
    }

    /// When the wall clock started, in nanoseconds since 1970; moves nothing.
    pub fn start_ns(&self) -> u64 {
        self.is_start_seen.set(true);
        self.start.unix_ns()
    }

    /// Whether anything that was shown or kept may follow from when the wall clock started.
    pub fn is_start_seen(&self) -> bool {
        self.is_start_seen.get()
    }

    /// Nanoseconds since the start; moves the clock by a tick.
    pub fn read_monotonic_ns(&mut self) -> u64 {
        let now = self.elapsed_ns;
        self.elapsed_ns = now.saturating_add(TICK_NS);
        now
    }

    /// Nanoseconds since 1970; moves the clock by a tick.
    pub fn read_wall_ns(&mut self) -> u64 {
        self.start_ns().saturating_add(self.read_monotonic_ns())
    }

    /// Nanoseconds since 1970; moves nothing. For time stamps of files.
    pub fn wall_ns(&self) -> u64 {
        self.start_ns().saturating_add(self.elapsed_ns)
    }

    /// Nanoseconds since the start; moves nothing.
    pub fn monotonic_ns(&self) -> u64 {
        self.elapsed_ns
    }

    /// Waits until `deadline_ns` since the start, if that is still ahead.
    pub fn wait_until(&mut self, deadline_ns: u64) {
        self.elapsed_ns = self.elapsed_ns.max(deadline_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_moves_by_readings_and_waits_alone_and_never_back() {
        let mut clock = Clock::new(Instant::from_unix_ns(5_000));
        assert_eq!(clock.read_wall_ns(), 5_000);
        assert_eq!(clock.read_monotonic_ns(), TICK_NS);
        assert_eq!((clock.wall_ns(), clock.wall_ns()), (7_000, 7_000));
        clock.wait_until(3_600_000_000_000);
        assert_eq!(clock.read_monotonic_ns(), 3_600_000_000_000);
        clock.wait_until(1);
        assert_eq!(clock.monotonic_ns(), 3_600_000_000_000 + TICK_NS);
        clock.wait_until(u64::MAX);
        assert_eq!((clock.read_wall_ns(), clock.read_monotonic_ns()), (u64::MAX, u64::MAX));
    }

    #[test]
    fn the_start_is_seen_by_whoever_looks_at_the_wall_clock_and_by_nobody_else() {
        let looked = |look: fn(&mut Clock) -> u64| {
            let mut clock = Clock::new(Instant::from_unix_ns(5_000));
            look(&mut clock);
            clock.is_start_seen()
        };
        assert!(!looked(|clock| {
            clock.wait_until(9_000);
            clock.read_monotonic_ns() + clock.monotonic_ns()
        }));
        assert!(looked(Clock::read_wall_ns));
        assert!(looked(|clock| clock.wall_ns()));
        assert!(looked(|clock| clock.start_ns()));
    }
}
