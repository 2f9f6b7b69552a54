//! A run can be stopped from outside: whoever has a [`Stop`] ends what it was given to, wherever that is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the runs that it was given to, from any thread, once and for all. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that has not stopped anything yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Ends them: none of them comes to an outcome from now on, and none starts.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether they are to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
