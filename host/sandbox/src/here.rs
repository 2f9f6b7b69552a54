//! Where there are no threads and no clock, a guest runs where its caller is. Its deadline is whoever ends all of this.

use crate::loaded::Program;
use crate::run::RunError;
use hutch_engine::Guest;

/// Lets `body` do with `guest` whatever the run needs.
pub(crate) fn on_thread<R>(_: &Program, guest: Guest, body: impl FnOnce(Guest) -> R) -> Result<R, RunError> {
    Ok(body(guest))
}

/// What keeps a deadline: nothing does.
#[derive(Clone, Default)]
pub(crate) struct Keeper;

impl Keeper {
    pub(crate) fn spent_us(&self) -> u64 {
        0
    }
}

/// Measures nothing.
pub(crate) struct Stopwatch;

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch
    }

    pub(crate) fn elapsed_us(&self) -> u64 {
        0
    }
}
