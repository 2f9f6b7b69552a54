//! A guest's deadline, which is kept from outside of its thread, by whoever waits for it: by the engine's epoch while the guest's
//! code runs, and by a flag that every priced step of the host looks at. So whatever goes on there ends.

use crate::program::{NOTICED_AFTER, Program, Work};
use crate::run::RunError;
use hutch_engine::Guest;
use hutch_model::limits::Limit;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Stack beside the guest's own, for the host's functions and for naming state.
const HOST_STACK_BYTES: u64 = 4 * 1024 * 1024;

/// Time between reminders of a deadline.
const TICK: Duration = Duration::from_millis(1);

/// Lets `body` do with `guest` whatever the run needs, on a thread with the stack that the program was loaded for. When the
/// guest's wall time is over, `body` is told to end, and waited for.
pub(crate) fn on_thread<R: Send + 'static>(
    program: &Program,
    guest: Guest,
    body: impl FnOnce(Guest) -> R + Send + 'static,
) -> Result<R, RunError> {
    let wall_time = Duration::from_millis(guest.world.meter.limit(Limit::WallTime));
    let late = guest.world.meter.late();
    let stack_bytes = usize::try_from(program.stack_bytes + HOST_STACK_BYTES).unwrap_or(usize::MAX);
    let running = program.threads.start(stack_bytes, move || body(guest))?;
    program.threads.finish(running, |answer| {
        keep(program, wall_time, answer).or_else(|| {
            late.store(true, Ordering::Release);
            // More than once: a guest that has just begun, or has just been told of another's deadline, counts from an epoch on that
            // may be later than one tick.
            loop {
                match answer.recv_timeout(TICK) {
                    Ok(result) => break Some(result),
                    Err(RecvTimeoutError::Timeout) => program.engine.increment_epoch(),
                    Err(RecvTimeoutError::Disconnected) => break None,
                }
            }
        })
    })
}

/// What comes within the wall time.
fn keep<R>(program: &Program, wall_time: Duration, answer: &Receiver<R>) -> Option<R> {
    let soon = answer.recv_timeout(wall_time.min(NOTICED_AFTER)).ok();
    let rest = wall_time.checked_sub(NOTICED_AFTER).filter(|rest| !rest.is_zero());
    soon.or_else(|| {
        let rest = rest?;
        let _watched = program.watch.as_ref().map(|watch| watch(Work::Run));
        answer.recv_timeout(rest).ok()
    })
}

/// Measures a run.
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "measures the run; nothing that a guest sees depends on it")]
    pub(crate) fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    pub(crate) fn elapsed_us(&self) -> u64 {
        self.0.elapsed().as_micros() as u64
    }
}
