//! A guest's deadline, which is kept from outside of its thread, by whoever waits for it: by the engine's epoch while the guest's
//! code runs, and by a flag that every priced step of the host looks at. So whatever goes on there ends.

use crate::loaded::Program;
use crate::run::RunError;
use crate::stop::Stop;
use crate::threads::Threads;
use hutch_engine::Guest;
use hutch_model::limits::Limit;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Stack beside the guest's own, for the host's functions and for naming state.
const HOST_STACK_BYTES: u64 = 4 * 1024 * 1024;

/// Work that a person may want to know of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Work {
    /// A component is compiled.
    Compile,
    /// A guest runs, and has for [`NOTICED_AFTER`].
    Run,
}

/// How long a guest runs unnoticed. Nearly all end before, and cost nothing for being watched.
pub const NOTICED_AFTER: Duration = Duration::from_secs(1);

/// Is told of work as it begins. What it answers with is dropped when that work ends.
pub type Watch = Arc<dyn Fn(Work) -> Box<dyn Any> + Send + Sync>;

/// What a program's runs have beside it. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Keeper {
    pub(crate) watch: Option<Watch>,
    pub(crate) threads: Arc<Threads>,
    /// What stops its runs before their end.
    pub(crate) stop: Option<Stop>,
    /// What the host has taken of the wall time already.
    pub(crate) spent: Duration,
}

impl Keeper {
    pub(crate) fn spent_us(&self) -> u64 {
        u64::try_from(self.spent.as_micros()).unwrap_or(u64::MAX)
    }
}

/// Time between reminders of a deadline.
const TICK: Duration = Duration::from_millis(1);

/// The longest time after which it is seen that a run is to be stopped.
const STOP_SEEN_AFTER: Duration = Duration::from_millis(10);

/// Lets `body` do with `guest` whatever the run needs, on a thread with the stack that the program was loaded for. When the
/// guest's wall time is over, `body` is told to end, and waited for.
pub(crate) fn on_thread<R: Send + 'static>(
    program: &Program,
    guest: Guest,
    body: impl FnOnce(Guest) -> R + Send + 'static,
) -> Result<R, RunError> {
    if is_stopped(program) {
        return Err(RunError::Stopped);
    }
    let wall_time = Duration::from_millis(guest.world.meter.limit(Limit::WallTime));
    let wall_time = wall_time.saturating_sub(program.keeper.spent);
    let late = guest.world.meter.late();
    // A guest that is through before anybody looks is late all the same.
    late.store(wall_time.is_zero(), Ordering::Release);
    let stack_bytes = usize::try_from(program.stack_bytes + HOST_STACK_BYTES).unwrap_or(usize::MAX);
    let running = program.keeper.threads.start(stack_bytes, move || body(guest))?;
    let mut stopped = false;
    let finished = program.keeper.threads.finish(running, |answer| {
        keep(program, wall_time, answer).or_else(|| {
            stopped = is_stopped(program);
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
    });
    // What it came to after it was told to end is not what it would have come to.
    if stopped { finished.and(Err(RunError::Stopped)) } else { finished }
}

fn is_stopped(program: &Program) -> bool {
    program.keeper.stop.as_ref().is_some_and(Stop::is_stopped)
}

/// What comes within the wall time, unless the run is stopped before.
fn keep<R>(program: &Program, wall_time: Duration, answer: &Receiver<R>) -> Option<R> {
    let soon = unstopped(program, wall_time.min(NOTICED_AFTER), answer);
    let rest = wall_time.checked_sub(NOTICED_AFTER).filter(|rest| !rest.is_zero() && !is_stopped(program));
    soon.or_else(|| {
        let rest = rest?;
        let _watched = program.keeper.watch.as_ref().map(|watch| watch(Work::Run));
        unstopped(program, rest, answer)
    })
}

/// What comes within a time. Where something may stop the run, that is looked for from time to time.
fn unstopped<R>(program: &Program, time: Duration, answer: &Receiver<R>) -> Option<R> {
    if program.keeper.stop.is_none() {
        return answer.recv_timeout(time).ok();
    }
    let waited = Stopwatch::start();
    while !is_stopped(program) {
        let left = time.saturating_sub(Duration::from_micros(waited.elapsed_us()));
        match answer.recv_timeout(left.min(STOP_SEEN_AFTER)) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) if !left.is_zero() => {}
            Err(_) => return None,
        }
    }
    None
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
