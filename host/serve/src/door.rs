//! Where calls wait for their turn: a queue of bounded length before a few threads. Who comes when it is full is told so at once.

use crate::ask::Ask;
use crate::reply::Reply;
use crate::serving::Serving;
use crate::work::Worker;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Caller;
use hutch_sandbox::Stop;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// Calls that are carried out at once.
const WORKERS: usize = 4;
/// Calls that wait while so many are carried out.
const WAITING_MAX: usize = 64;

/// A call in the queue.
pub(crate) struct Order {
    ask: Ask,
    caller: Option<Caller>,
    stop: Stop,
    reply: oneshot::Sender<Reply>,
}

/// Where callers come to.
pub(crate) struct Door {
    orders: SyncSender<Order>,
    /// What stops each call that waits or is under way.
    stops: Arc<Mutex<BTreeMap<u64, Stop>>>,
    next: AtomicU64,
    closed: AtomicBool,
}

/// A call that was taken in.
pub(crate) struct Taken {
    pub(crate) reply: oneshot::Receiver<Reply>,
    /// Ends it.
    pub(crate) stop: Stop,
    number: u64,
    stops: Arc<Mutex<BTreeMap<u64, Stop>>>,
}

impl Door {
    /// Takes in a call, if there is room.
    pub(crate) fn take(&self, ask: Ask, caller: Option<Caller>) -> Result<Taken, ErrorReport> {
        let ((reply, answer), stop) = (oneshot::channel(), Stop::new());
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.stops).insert(number, stop.clone());
        let taken = Taken { reply: answer, stop: stop.clone(), number, stops: Arc::clone(&self.stops) };
        // Between the first look and here it may have been closed, and then nobody would stop this one.
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        match self.orders.try_send(Order { ask, caller, stop, reply }) {
            Ok(()) => Ok(taken),
            Err(TrySendError::Disconnected(_)) => Err(closed()),
            Err(TrySendError::Full(_)) => {
                let message = format!("{WORKERS} calls are under way, and {WAITING_MAX} wait");
                Err(ErrorReport::new(ErrorCode::ServerBusy, message).detail("kept", false))
            }
        }
    }

    /// Takes in nothing more, and stops what was taken in.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        lock(&self.stops).values().for_each(Stop::stop);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        lock(&self.stops).remove(&self.number);
        // Nobody waits for it any more; where it has ended, nothing is stopped.
        self.stop.stop();
    }
}

fn closed() -> ErrorReport {
    ErrorReport::new(ErrorCode::Cancelled, "serving ends, and nothing more is begun").detail("kept", false)
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets `serve` take in calls, which are carried out until it returns and all that it took in has ended.
pub(crate) fn open<T>(serving: &Serving, serve: impl FnOnce(Door) -> T) -> T {
    let worker = Worker::new(serving);
    let (orders, taken) = sync_channel(WAITING_MAX);
    let taken = Mutex::new(taken);
    let door = Door { orders, stops: Arc::default(), next: AtomicU64::new(0), closed: AtomicBool::new(false) };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(&worker, &taken));
        }
        serve(door)
    })
}

/// Carries out calls until nobody can bring more.
fn work(worker: &Worker<'_>, taken: &Mutex<Receiver<Order>>) {
    loop {
        let next = lock(taken).recv();
        let Ok(Order { ask, caller, stop, reply }) = next else { return };
        let done = if stop.is_stopped() { Reply::cancelled() } else { worker.carry_out(&ask, caller, &stop) };
        // Whoever asked may be gone.
        let _ = reply.send(done);
    }
}
