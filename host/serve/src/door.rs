//! Where calls wait for their turn: queues of bounded length, one for each caller, before a few threads that serve the callers in turn. Who
//! comes when there is no room is told so at once, and who is cancelled leaves at once.

use crate::ask::Ask;
use crate::known::Known;
use crate::reply::Reply;
use crate::serving::Serving;
use crate::work::Worker;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::{Caller, Request};
use hutch_sandbox::Stop;
use opentelemetry::Context;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant as Moment;

/// Calls that are carried out at once.
const WORKERS: usize = 4;
/// Calls of one caller that wait meanwhile.
const WAITING_MAX: usize = 64;
/// Calls of all callers that wait.
const ALL_WAITING_MAX: usize = 256;

/// Who asks.
#[derive(Clone, Default, Debug)]
pub(crate) struct By {
    /// As the ledger is to have it.
    pub(crate) caller: Option<Caller>,
    /// Whose turn it is when it is carried out: callers with the same lane share one.
    pub(crate) lane: Arc<str>,
    /// The name that the request has.
    pub(crate) request: Option<Request>,
}

/// A call that waits.
struct Order {
    number: u64,
    ask: Ask,
    by: By,
    stop: Stop,
    reply: oneshot::Sender<Reply>,
    /// What it is done for.
    context: Context,
    came: Moment,
}

/// What waits and what is under way.
#[derive(Default)]
struct Queue {
    /// The callers for whom something waits, the next first.
    turns: VecDeque<Arc<str>>,
    lanes: BTreeMap<Arc<str>, VecDeque<Order>>,
    waiting: usize,
    /// What stops each call that waits or is under way.
    stops: BTreeMap<u64, Stop>,
    next: u64,
    /// Whether nothing more is taken in.
    closed: bool,
    /// Whether nobody can bring more.
    ended: bool,
}

impl Queue {
    fn push(&mut self, order: Order) {
        let lane = self.lanes.entry(Arc::clone(&order.by.lane)).or_default();
        if lane.is_empty() {
            self.turns.push_back(Arc::clone(&order.by.lane));
        }
        lane.push_back(order);
        self.waiting += 1;
    }

    /// The next caller's first; that caller comes again after all others.
    fn pop(&mut self) -> Option<Order> {
        let name = self.turns.pop_front()?;
        let lane = self.lanes.get_mut(&name)?;
        let order = lane.pop_front();
        match lane.is_empty() {
            true => drop(self.lanes.remove(&name)),
            false => self.turns.push_back(name),
        }
        self.waiting -= usize::from(order.is_some());
        order
    }

    fn take_out(&mut self, name: &str, number: u64) -> Option<Order> {
        let lane = self.lanes.get_mut(name)?;
        let at = lane.iter().position(|order| order.number == number)?;
        let order = lane.remove(at);
        if lane.is_empty() {
            self.lanes.remove(name);
            self.turns.retain(|turn| &**turn != name);
        }
        self.waiting -= usize::from(order.is_some());
        order
    }
}

/// What callers and threads share.
#[derive(Default)]
struct Hall {
    queue: Mutex<Queue>,
    come: Condvar,
    /// Changes when something was carried out that may have added to a ledger.
    done: watch::Sender<u64>,
}

impl Hall {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody brings more: who carries out calls may end once there are none.
    fn end(&self) {
        let mut queue = self.queue();
        (queue.closed, queue.ended) = (true, true);
        drop(queue);
        self.come.notify_all();
    }
}

impl Load {
    /// Whether anything is to be done.
    pub(crate) const fn is_busy(self) -> bool {
        self.under_way + self.waiting > 0
    }
}

/// Where callers come to.
pub(crate) struct Door(Arc<Hall>);

/// A call that was taken in.
pub(crate) struct Taken {
    pub(crate) reply: oneshot::Receiver<Reply>,
    stop: Stop,
    number: u64,
    lane: Arc<str>,
    hall: Arc<Hall>,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) under_way: usize,
    pub(crate) waiting: usize,
}

impl Door {
    /// Takes in a call, if there is room.
    pub(crate) fn take(&self, ask: Ask, by: By) -> Result<Taken, ErrorReport> {
        let ((reply, answer), stop) = (oneshot::channel(), Stop::new());
        let mut queue = self.0.queue();
        if queue.closed {
            let report = ErrorReport::new(ErrorCode::Cancelled, "serving ends, and nothing more is begun");
            return Err(report.detail("kept", false));
        }
        let own = queue.lanes.get(&by.lane).map_or(0, VecDeque::len);
        if own >= WAITING_MAX || queue.waiting >= ALL_WAITING_MAX {
            let whose = if own >= WAITING_MAX { "of this caller " } else { "" };
            let message = format!(
                "{WORKERS} calls are under way, and {} {whose}wait",
                if own >= WAITING_MAX { own } else { queue.waiting }
            );
            return Err(ErrorReport::new(ErrorCode::ServerBusy, message).detail("kept", false));
        }
        queue.next += 1;
        let (number, lane) = (queue.next, Arc::clone(&by.lane));
        queue.stops.insert(number, stop.clone());
        let (context, came) = (Context::current(), Moment::now());
        queue.push(Order { number, ask, by, stop: stop.clone(), reply, context, came });
        drop(queue);
        self.0.come.notify_one();
        Ok(Taken { reply: answer, stop, number, lane, hall: Arc::clone(&self.0) })
    }

    /// Takes in nothing more, and stops what was taken in.
    pub(crate) fn close(&self) {
        let mut queue = self.0.queue();
        queue.closed = true;
        queue.stops.values().for_each(Stop::stop);
    }

    /// Changes when something was carried out that may have added to a ledger.
    pub(crate) fn done(&self) -> watch::Receiver<u64> {
        self.0.done.subscribe()
    }

    /// How much is under way.
    pub(crate) fn load(&self) -> Load {
        let queue = self.0.queue();
        Load { under_way: queue.stops.len().saturating_sub(queue.waiting), waiting: queue.waiting }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Taken {
    /// Ends it: a call that still waits does so no more, and has its answer; one that is under way is stopped, and answers soon.
    pub(crate) fn cancel(&self) {
        self.stop.stop();
        let order = self.hall.queue().take_out(&self.lane, self.number);
        if let Some(order) = order {
            let _ = order.reply.send(Reply::cancelled());
        }
    }

    /// Whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.is_stopped()
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // Nobody waits for it any more; where it has ended, nothing is stopped.
        self.cancel();
        self.hall.queue().stops.remove(&self.number);
    }
}

/// Lets `serve` take in calls, which are carried out until it returns and all that it took in has ended.
pub(crate) fn open<T>(serving: &Serving, serve: impl FnOnce(Arc<Door>) -> T) -> T {
    let worker = Worker::new(serving);
    let hall = Arc::new(Hall::default());
    let door = Arc::new(Door(Arc::clone(&hall)));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| work(serving, &worker, &hall));
        }
        let done = serve(door);
        // Whatever still holds the door brings nothing more: nobody would be told.
        hall.end();
        done
    })
}

/// Carries out calls until nobody can bring more.
fn work(serving: &Serving, worker: &Worker<'_>, hall: &Hall) {
    loop {
        let mut queue = hall.queue();
        let order = loop {
            match queue.pop() {
                Some(order) => break order,
                None if queue.ended => return,
                None => queue = hall.come.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(queue);
        let Order { ask, by, stop, reply, context, came, .. } = order;
        let known = Known::begin(serving, &ask, &by, &context, came);
        let done = match stop.is_stopped() {
            true => Reply::cancelled(),
            // A defect that one call shows is no reason to serve nobody any more.
            false => {
                catch_unwind(AssertUnwindSafe(|| worker.carry_out(&ask, &by, &stop))).unwrap_or_else(|_| Reply::lost())
            }
        };
        known.end(&done);
        // Whoever asked may be gone.
        let _ = reply.send(done);
        if ask.what.is_recorded() {
            hall.done.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::What;

    fn order(number: u64, lane: &str) -> Order {
        let by = By { lane: lane.into(), ..By::default() };
        let ask = Ask { package: 0, what: What::Verify(None) };
        Order {
            number,
            ask,
            by,
            stop: Stop::new(),
            reply: oneshot::channel().0,
            context: Context::new(),
            came: Moment::now(),
        }
    }

    #[test]
    fn callers_are_served_in_turn_however_much_one_asks_for() {
        let mut queue = Queue::default();
        for number in 0..10 {
            queue.push(order(number, "flood"));
        }
        queue.push(order(10, "one"));
        queue.push(order(11, "two"));
        queue.push(order(12, "one"));
        let served: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|order| order.number).collect();
        assert_eq!(served, [0, 10, 11, 1, 12, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!((queue.waiting, queue.lanes.len(), queue.turns.len()), (0, 0, 0));
    }

    #[test]
    fn what_is_taken_out_leaves_no_turn_behind() {
        let mut queue = Queue::default();
        for number in 0..3 {
            queue.push(order(number, "a"));
        }
        queue.push(order(3, "b"));
        assert!(queue.take_out("b", 3).is_some() && queue.take_out("b", 3).is_none());
        assert!(queue.take_out("a", 1).is_some());
        let served: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|order| order.number).collect();
        assert_eq!((served, queue.waiting), (vec![0, 2], 0));
    }

    #[test]
    fn there_is_room_for_others_where_one_has_filled_its_own() {
        let door = Door(Arc::default());
        let take = |lane: &str| {
            let by = By { lane: lane.into(), ..By::default() };
            door.take(Ask { package: 0, what: What::Verify(None) }, by)
        };
        let mut taken: Vec<Taken> =
            (0..WAITING_MAX).map(|_| take("flood").unwrap_or_else(|_| panic!("room"))).collect();
        let refused = take("flood").map(|_| ()).unwrap_err();
        assert_eq!(refused.code, ErrorCode::ServerBusy);
        assert!(take("one").is_ok());
        // One that is cancelled leaves at once, with an answer.
        let mut last = taken.pop().unwrap_or_else(|| panic!("it was taken"));
        last.cancel();
        assert!(matches!(last.reply.try_recv(), Ok(Reply::Failed { .. })));
        assert!(take("flood").is_ok());
        drop(taken);
        assert_eq!(door.load().waiting, 0);
    }
}
