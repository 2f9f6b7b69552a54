//! Threads for guests, whose stacks are ours to size: made when they are needed, and kept for the next run, because making one and
//! unmapping its stack takes longer than handing over to one that waits. None outlives the sandbox and its programs.
//!
//! Guests don't run on the caller's thread: nothing safe says how much of its stack is left, and the first thread's is not
//! there before it is touched, so that a system without memory would end the host's process instead of the run.

use crate::run::RunError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// Threads that are kept while they have nothing to do.
const IDLE_MAX: usize = 16;

/// The largest stack that is kept: what a guest has used of it stays in memory.
const KEPT_STACK_BYTES_MAX: usize = 16 << 20;

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one sandbox.
#[derive(Default)]
pub(crate) struct Threads {
    idle: Mutex<Vec<Worker>>,
}

struct Worker {
    stack_bytes: usize,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// A job that is under way. Its thread can be kept once the answer is there.
pub(crate) struct Running<R> {
    answer: Receiver<std::thread::Result<R>>,
    worker: Worker,
}

impl Threads {
    /// Starts a job on a thread with such a stack.
    pub(crate) fn start<R: Send + 'static>(
        &self,
        stack_bytes: usize,
        job: impl FnOnce() -> R + Send + 'static,
    ) -> Result<Running<R>, RunError> {
        let (done, answer) = mpsc::channel();
        let job = Box::new(move || {
            let _ = done.send(catch_unwind(AssertUnwindSafe(job)));
        });
        let worker = match self.take(stack_bytes) {
            Some(worker) => worker,
            None => Worker::new(stack_bytes)?,
        };
        let sent = worker.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { Ok(Running { answer, worker }) } else { Err(RunError::Host("a thread for guests ended".to_owned())) }
    }

    /// The one that was used last, whose stack is warm.
    fn take(&self, stack_bytes: usize) -> Option<Worker> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let at = idle.iter().rposition(|worker| worker.stack_bytes == stack_bytes)?;
        Some(idle.remove(at))
    }

    /// Waits for the end of a job, and calls `wait` with what says that it came: that may do something about it first.
    pub(crate) fn finish<R>(
        &self,
        running: Running<R>,
        wait: impl FnOnce(&Receiver<std::thread::Result<R>>) -> Option<std::thread::Result<R>>,
    ) -> Result<R, RunError> {
        let Running { answer, worker } = running;
        let answer = wait(&answer);
        // What a panic left behind on a thread is for no other guest.
        if matches!(answer, Some(Ok(_))) && worker.stack_bytes <= KEPT_STACK_BYTES_MAX {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() < IDLE_MAX {
                idle.push(worker);
            }
        }
        let panicked = || RunError::Host("the host panicked while it ran a guest".to_owned());
        answer.ok_or_else(panicked)?.map_err(|_| panicked())
    }
}

impl Worker {
    fn new(stack_bytes: usize) -> Result<Worker, RunError> {
        let (jobs, receiver) = mpsc::channel::<Job>();
        let thread = std::thread::Builder::new().name("guest".to_owned()).stack_size(stack_bytes);
        let thread = thread.spawn(move || receiver.into_iter().for_each(|job| job()));
        let thread = thread.map_err(|error| RunError::Host(format!("no thread for the guest: {error}")))?;
        Ok(Worker { stack_bytes, jobs: Some(jobs), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            // It has caught whatever panicked, and ends now that nothing more can come.
            let _ = thread.join();
        }
    }
}
