//! Calls that are under way, and what stops them: a deadline, or whoever knows a call's name.

use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_sandbox::Stop;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
struct Going {
    /// What stops each call, with its name and its deadline if it has them.
    calls: BTreeMap<u64, (Stop, Option<String>, Option<Instant>)>,
    next: u64,
    /// Whether a thread looks after the deadlines.
    is_watched: bool,
}

/// The calls of one library.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<(Mutex<Going>, Condvar)>);

/// One call, until it is dropped.
pub(crate) struct Under<'c> {
    calls: &'c Calls,
    number: u64,
    /// Whether it has a deadline or a name.
    stoppable: bool,
    pub(crate) stop: Stop,
}

impl Calls {
    fn going(&self) -> MutexGuard<'_, Going> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call, which ends by itself or is stopped.
    ///
    /// # Errors
    /// The system gives no thread to look after its deadline.
    pub(crate) fn begin(&self, name: Option<String>, deadline_ms: Option<u64>) -> Result<Under<'_>, ErrorReport> {
        let (stop, mut going) = (Stop::new(), self.going());
        let stoppable = name.is_some() || deadline_ms.is_some();
        // What lies beyond all clocks is no deadline.
        let end = deadline_ms.and_then(|ms| clock().checked_add(Duration::from_millis(ms)));
        going.next += 1;
        let number = going.next;
        going.calls.insert(number, (stop.clone(), name, end));
        if deadline_ms == Some(0) {
            stop.stop();
        } else if end.is_some() && !going.is_watched {
            let calls = self.clone();
            let started = std::thread::Builder::new().name("hutch deadlines".to_owned()).spawn(move || calls.watch());
            started.map_err(|error| {
                going.calls.remove(&number);
                ErrorReport::new(ErrorCode::HostFault, format!("no thread for deadlines: {error}"))
            })?;
            going.is_watched = true;
        }
        drop(going);
        self.0.1.notify_all();
        Ok(Under { calls: self, number, stoppable, stop })
    }

    /// Stops all calls of a name; says how many there were.
    pub(crate) fn cancel(&self, name: &str) -> usize {
        let going = self.going();
        let named = going.calls.values().filter(|(_, own, _)| own.as_deref() == Some(name));
        named.inspect(|(stop, ..)| stop.stop()).count()
    }

    /// Stops calls whose deadline has come, until there is none to look after.
    fn watch(&self) {
        let mut going = self.going();
        loop {
            let now = clock();
            for (stop, _, end) in going.calls.values() {
                if end.is_some_and(|end| end <= now) {
                    stop.stop();
                }
            }
            let next = going.calls.values().filter(|(stop, ..)| !stop.is_stopped()).filter_map(|(.., end)| *end).min();
            let Some(next) = next else {
                going.is_watched = false;
                return;
            };
            let wait = next.saturating_duration_since(now);
            going = self.0.1.wait_timeout(going, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Under<'_> {
    /// Whether anything may stop it.
    pub(crate) const fn can_be_stopped(&self) -> bool {
        self.stoppable
    }

    /// Refuses what was stopped: nothing more is done, and nothing of it recorded.
    pub(crate) fn check(&self) -> Result<(), ErrorReport> {
        match self.stop.is_stopped() {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }
}

/// The call was stopped before it did anything.
pub(crate) fn cancelled() -> ErrorReport {
    ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before it did anything").detail("kept", false)
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.calls.going().calls.remove(&self.number);
        self.calls.0.1.notify_all();
    }
}

#[expect(clippy::disallowed_methods, reason = "deadlines are about time; nothing that a guest sees depends on it")]
fn clock() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin<'c>(calls: &'c Calls, name: Option<&str>, deadline_ms: Option<u64>) -> Under<'c> {
        calls.begin(name.map(str::to_owned), deadline_ms).unwrap_or_else(|report| panic!("{}", report.message))
    }

    /// Returns when a call is stopped; what is to stop it ends this.
    fn stopped(under: &Under<'_>) {
        while under.check().is_ok() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_deadline_stops_its_call_and_no_other() {
        let calls = Calls::default();
        let (free, late) = (begin(&calls, None, None), begin(&calls, None, Some(600_000)));
        stopped(&begin(&calls, None, Some(5)));
        // One with a nearer deadline than the thread waits for.
        stopped(&begin(&calls, None, Some(1)));
        assert!(!free.stop.is_stopped() && !late.stop.is_stopped());
        drop((free, late));
        assert!(calls.going().calls.is_empty());
        assert!(begin(&calls, None, Some(0)).check().is_err());
    }

    #[test]
    fn a_name_stops_all_calls_of_that_name() {
        let calls = Calls::default();
        let named = [begin(&calls, Some("a"), None), begin(&calls, Some("a"), Some(600_000))];
        let other = begin(&calls, Some("b"), None);
        assert_eq!((calls.cancel("a"), calls.cancel("c")), (2, 0));
        named.iter().for_each(stopped);
        assert!(!other.stop.is_stopped());
        drop(named);
        assert_eq!(calls.cancel("a"), 0);
    }

    #[test]
    fn the_longest_deadline_stops_nothing_at_once() {
        let calls = Calls::default();
        assert!(!begin(&calls, None, Some(u64::MAX)).stop.is_stopped());
    }
}
