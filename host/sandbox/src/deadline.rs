//! A guest's thread, whose stack is ours to size, and its deadline, which is kept from outside of it: by the engine's epoch while
//! the guest's code runs, and by a flag that every priced step of the host looks at. So whatever goes on there ends, and no thread
//! is left behind.

use crate::program::{NOTICED_AFTER, Program, Work};
use crate::run::RunError;
use hutch_engine::Guest;
use hutch_model::limits::Limit;
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Stack beside the guest's own, for the host's functions and for naming state.
const HOST_STACK_BYTES: u64 = 4 * 1024 * 1024;

/// Time between reminders of a deadline.
const TICK: Duration = Duration::from_millis(1);

/// Lets `body` do with `guest` whatever the run needs, on a thread with the stack that the program was loaded for. When the
/// guest's wall time is over, `body` is told to end, and waited for.
pub(crate) fn on_thread<R: Send>(
    program: &Program,
    guest: Guest,
    body: impl FnOnce(Guest) -> R + Send,
) -> Result<R, RunError> {
    let wall_time = Duration::from_millis(guest.world.meter.limit(Limit::WallTime));
    let late = guest.world.meter.late();
    let stack_bytes = usize::try_from(program.stack_bytes + HOST_STACK_BYTES).unwrap_or(usize::MAX);
    std::thread::scope(|scope| {
        // Nothing is ever sent: that the sender is gone says that the body has ended.
        let (running, ended) = mpsc::channel::<Infallible>();
        let thread = std::thread::Builder::new().name("guest".to_owned()).stack_size(stack_bytes);
        let thread = thread.spawn_scoped(scope, move || {
            let _running = running;
            body(guest)
        });
        let thread = thread.map_err(|error| RunError::Host(format!("no thread for the guest: {error}")))?;
        keep(program, wall_time, &late, &ended);
        thread.join().map_err(|_| RunError::Host("the host panicked while it ran a guest".to_owned()))
    })
}

/// Returns when the body has ended; sees to it that it does.
fn keep(program: &Program, wall_time: Duration, late: &AtomicBool, ended: &Receiver<Infallible>) {
    let still_runs_after = |time| matches!(ended.recv_timeout(time), Err(RecvTimeoutError::Timeout));
    if !still_runs_after(wall_time.min(NOTICED_AFTER)) {
        return;
    }
    if let Some(rest) = wall_time.checked_sub(NOTICED_AFTER).filter(|rest| !rest.is_zero()) {
        let _watched = program.watch.as_ref().map(|watch| watch(Work::Run));
        if !still_runs_after(rest) {
            return;
        }
    }
    late.store(true, Ordering::Release);
    // More than once: a guest that has just begun, or has just been told of another's deadline, counts from an epoch on that may
    // be later than one tick.
    while still_runs_after(TICK) {
        program.engine.increment_epoch();
    }
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
