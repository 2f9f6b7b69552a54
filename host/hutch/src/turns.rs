//! Turns of those in this process who change one instance: each runs on what the one before has left, instead of all on the same and
//! all but one in vain. Turns are a courtesy: without one a run is as right, and may conflict.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Whose turn it is.
#[derive(Default)]
pub(crate) struct Turns {
    taken: Mutex<bool>,
    free: Condvar,
    calls: AtomicUsize,
}

/// A call that is under way, until it is dropped.
pub(crate) struct Going<'t>(&'t Turns);

/// One's turn, until it is dropped.
pub(crate) struct Turn<'t>(&'t Turns);

impl Turns {
    /// A call begins.
    pub(crate) fn begin(&self) -> Going<'_> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Going(self)
    }

    /// Whether more than one call is under way: then one may go on while another is made durable.
    pub(crate) fn are_shared(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > 1
    }

    /// One's turn; none if it does not come within this time.
    pub(crate) fn take(&self, wait: Duration) -> Option<Turn<'_>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody asks the clock who need not wait: not every place has one.
        if !*taken {
            *taken = true;
            return Some(Turn(self));
        }
        let waited = self.free.wait_timeout_while(taken, wait, |taken| *taken);
        let (mut taken, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() && *taken {
            return None;
        }
        *taken = true;
        Some(Turn(self))
    }
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_turn_at_a_time_and_nobody_waits_for_ever() {
        let turns = Turns::default();
        let turn = turns.take(Duration::ZERO);
        assert!(turn.is_some());
        assert!(turns.take(Duration::from_millis(1)).is_none());
        drop(turn);
        let counted = Mutex::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let turn = turns.take(Duration::from_secs(60)).expect("a turn");
                    *counted.try_lock().expect("nobody else's turn") += 1;
                    drop(turn);
                });
            }
        });
        assert_eq!(counted.into_inner().expect("no panic"), 8);
    }

    #[test]
    fn turns_are_shared_while_two_calls_are_under_way() {
        let turns = Turns::default();
        let one = turns.begin();
        assert!(!turns.are_shared());
        let two = turns.begin();
        assert!(turns.are_shared());
        drop(one);
        assert!(!turns.are_shared());
        drop(two);
    }
}
