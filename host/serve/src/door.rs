//! Where calls wait for their turn: queues of bounded length, one for each caller, before a few threads that serve the callers in turn. Who
//! comes when there is no room is told so at once, and who is cancelled leaves at once.

use crate::ask::Ask;
use crate::known::Known;
use crate::reply::Reply;
use crate::room::may_hold;
use crate::serving::Serving;
use crate::who::Principal;
use crate::work::Worker;
use hutch::Failure;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::invocation::InvocationError;
use hutch_model::ledger::{Caller, Request};
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::Stop;
use opentelemetry::Context;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
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
/// The most bytes of answers that are not sent: who has its share of them has nothing more carried out until some are read. What was begun by
/// then may come to more.
const ANSWERS_BYTES_MAX: usize = 128 << 20;

/// Who has less than this that is not sent is answered whatever others have.
const ANSWERED_BYTES: usize = 1 << 20;

/// Who asks.
#[derive(Clone, Default, Debug)]
pub(crate) struct By {
    /// As the ledger is to have it.
    pub(crate) caller: Option<Caller>,
    /// Whose turn it is when it is carried out: callers with the same lane share one. It has no name where there is but one caller.
    pub(crate) lane: Arc<str>,
    /// The name that the request has.
    pub(crate) request: Option<Request>,
}

impl By {
    /// The only caller that there is, who calls itself this.
    pub(crate) fn alone(caller: Option<Caller>) -> By {
        By { caller, ..By::default() }
    }

    /// A caller that was let in, and by which way it came.
    pub(crate) fn of(principal: &Principal, through: &str, request: Option<Request>) -> By {
        let caller = Some(Caller::new(principal.name(), through));
        By { caller, lane: Arc::clone(principal.name()), request }
    }

    /// The same caller as one who only watches: what it looks at so takes nothing from what it has done.
    pub(crate) fn watching(principal: &Principal) -> By {
        By { lane: format!("{} events", principal.name()).into(), ..By::default() }
    }
}

/// Makes what a caller gets of the reply to its call.
type Make = Box<dyn FnOnce(Reply, &Answers<'_>) -> HandOver + Send>;
/// Hands that over. Whoever asked may be gone.
type HandOver = Box<dyn FnOnce() + Send>;

/// A call that waits.
struct Order {
    number: u64,
    ask: Ask,
    by: By,
    stop: Stop,
    make: Make,
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
    /// How many calls of each caller are under way.
    carried: BTreeMap<Arc<str>, usize>,
    /// How many bytes of the answers to each caller are not sent.
    unsent: BTreeMap<Arc<str>, usize>,
    /// The packages whose instance is being opened, which may wait for another process: all but the first call wait here for that, and
    /// keep no worker from others.
    opening: BTreeSet<usize>,
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

    /// The next caller's first that can be carried out now; that caller comes again after all others. Whatever one asks for, a worker is
    /// left to others.
    fn pop(&mut self, is_open: impl Fn(usize) -> bool) -> Option<Order> {
        let fits = |order: &Order| is_open(order.ask.package) || !self.opening.contains(&order.ask.package);
        let has_worker = |name: &str| self.carried.get(name).copied().unwrap_or(0) < workers_for(name);
        let has_room = |name: &str| has_worker(name) && (self.closed || self.may_answer(name));
        let found = self.turns.iter().enumerate().find_map(|(turn, name)| {
            let place = self.lanes.get(name)?.iter().position(fits);
            Some((turn, place.filter(|_| has_room(name.as_ref()))?))
        });
        let (turn, place) = found?;
        let name = self.turns.remove(turn)?;
        let lane = self.lanes.get_mut(&name)?;
        let order = lane.remove(place)?;
        match lane.is_empty() {
            true => drop(self.lanes.remove(&name)),
            false => self.turns.push_back(Arc::clone(&name)),
        }
        self.waiting -= 1;
        *self.carried.entry(name).or_default() += 1;
        if !is_open(order.ask.package) {
            self.opening.insert(order.ask.package);
        }
        Some(order)
    }

    /// Whether so much of what this caller was answered is sent that it may be answered more.
    fn may_answer(&self, lane: &str) -> bool {
        let own = self.unsent.get(lane).copied().unwrap_or(0);
        // What one has beyond its share, because its calls had begun, is nobody else's.
        let share =
            |(name, bytes): (&Arc<str>, &usize)| if **name == *lane { 0 } else { (*bytes).min(ANSWERS_BYTES_MAX / 2) };
        let others = self.unsent.iter().map(share).sum();
        own < ANSWERED_BYTES || may_hold(own, 1, others, ANSWERS_BYTES_MAX)
    }

    /// A call that was taken has ended.
    fn end(&mut self, lane: &Arc<str>, package: usize) {
        if let Some(carried) = self.carried.get_mut(lane) {
            *carried = carried.saturating_sub(1);
            if *carried == 0 {
                self.carried.remove(lane);
            }
        }
        self.opening.remove(&package);
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

/// How many workers one caller may have at once.
fn workers_for(lane: &str) -> usize {
    if lane.is_empty() { WORKERS } else { WORKERS - 1 }
}

/// What callers and threads share.
#[derive(Default)]
struct Hall {
    queue: Mutex<Queue>,
    /// What a call of each package may be.
    limits: Vec<Limits>,
    come: Condvar,
    /// Changes when something was carried out that may have added to a ledger.
    done: watch::Sender<u64>,
}

impl Hall {
    /// What the caller itself says; with the package's own words it may still be too much.
    fn check_size(&self, ask: &Ask) -> Result<(), Failure> {
        let (Some(words), Some(limits)) = (ask.what.words(), self.limits.get(ask.package)) else { return Ok(()) };
        let arguments: usize = words.arguments.iter().map(|argument| argument.len() + 1).sum();
        for (limit, size) in [(Limit::Arguments, arguments), (Limit::Stdin, words.stdin.len())] {
            let (size, limit_value) = (size as u64, limits.get(limit));
            if size > limit_value {
                return Err(InvocationError::TooLarge { limit, size, limit_value }.into());
            }
        }
        Ok(())
    }

    /// So many bytes wait to be sent to a caller.
    fn hold(self: &Arc<Hall>, lane: &Arc<str>, bytes: usize) -> Unsent {
        *self.queue().unsent.entry(Arc::clone(lane)).or_default() += bytes;
        Unsent { hall: Arc::clone(self), lane: Arc::clone(lane), bytes }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What waits may be carried out now that something else has changed.
    fn look_again(&self) {
        // Whoever looked before has begun to wait by now.
        drop(self.queue());
        self.come.notify_all();
    }

    /// Nobody brings more: who carries out calls may end once there are none.
    fn end(&self) {
        let mut queue = self.queue();
        (queue.closed, queue.ended) = (true, true);
        drop(queue);
        self.come.notify_all();
    }
}

/// Where callers come to.
pub(crate) struct Door(Arc<Hall>);

/// Where what a caller is answered is counted until it is sent.
pub(crate) struct Answers<'h> {
    hall: &'h Arc<Hall>,
    lane: &'h Arc<str>,
}

impl Answers<'_> {
    /// So many bytes of it wait from here on.
    pub(crate) fn hold(&self, bytes: usize) -> Unsent {
        self.hall.hold(self.lane, bytes)
    }
}

/// Bytes of an answer that wait to be sent, until this is dropped.
pub(crate) struct Unsent {
    hall: Arc<Hall>,
    lane: Arc<str>,
    bytes: usize,
}

impl Drop for Unsent {
    fn drop(&mut self) {
        let mut queue = self.hall.queue();
        if let Some(own) = queue.unsent.get_mut(&self.lane) {
            *own = own.saturating_sub(self.bytes);
            if *own == 0 {
                queue.unsent.remove(&self.lane);
            }
        }
        drop(queue);
        self.hall.come.notify_all();
    }
}

/// A call that was taken in.
pub(crate) struct Taken<T = Reply> {
    pub(crate) reply: oneshot::Receiver<T>,
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
    /// Takes in a call, if there is room. One that is larger than its package's may be is refused at once: what waits takes memory.
    pub(crate) fn take(&self, ask: Ask, by: By) -> Result<Taken, ErrorReport> {
        self.take_made(ask, by, |reply, _| reply)
    }

    /// The same for a caller that gets what is made of the reply: where calls are carried out, so that what takes long keeps nobody else waiting.
    pub(crate) fn take_made<T: Send + 'static>(
        &self,
        ask: Ask,
        by: By,
        make: impl FnOnce(Reply, &Answers<'_>) -> T + Send + 'static,
    ) -> Result<Taken<T>, ErrorReport> {
        self.0.check_size(&ask).map_err(|failure| failure.report().detail("kept", false))?;
        let ((sender, reply), stop) = (oneshot::channel(), Stop::new());
        let mut queue = self.0.queue();
        if queue.closed {
            let report = ErrorReport::new(ErrorCode::Cancelled, "serving ends, and nothing more is begun");
            return Err(report.detail("kept", false));
        }
        let own = queue.lanes.get(&by.lane).map_or(0, VecDeque::len);
        if own >= WAITING_MAX || !may_hold(own, 1, queue.waiting - own, ALL_WAITING_MAX) {
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
        let make: Make = Box::new(move |reply: Reply, answers: &Answers<'_>| -> HandOver {
            let made = make(reply, answers);
            Box::new(move || drop(sender.send(made)))
        });
        queue.push(Order { number, ask, by, stop: stop.clone(), make, context, came });
        drop(queue);
        self.0.come.notify_one();
        Ok(Taken { reply, stop, number, lane, hall: Arc::clone(&self.0) })
    }

    /// So many bytes wait to be sent to a caller.
    pub(crate) fn hold(&self, lane: &Arc<str>, bytes: usize) -> Unsent {
        self.0.hold(lane, bytes)
    }

    /// How many do.
    #[cfg(test)]
    pub(crate) fn unsent(&self, lane: &str) -> usize {
        self.0.queue().unsent.get(lane).copied().unwrap_or(0)
    }

    /// Takes in nothing more, and stops what was taken in.
    pub(crate) fn close(&self) {
        let mut queue = self.0.queue();
        queue.closed = true;
        queue.stops.values().for_each(Stop::stop);
    }

    /// One behind which nobody carries anything out.
    #[cfg(test)]
    pub(crate) fn unattended() -> Door {
        Door(Arc::default())
    }

    /// Waits for a call, and answers it so.
    #[cfg(test)]
    pub(crate) async fn attend(&self, reply: Reply) {
        loop {
            let order = self.0.queue().pop(|_| true);
            if let Some(order) = order {
                self.0.queue().end(&order.by.lane, order.ask.package);
                (order.make)(reply, &Answers { hall: &self.0, lane: &order.by.lane })();
                // Who waits for something to be done looks again.
                self.0.done.send_modify(|count| *count += 1);
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Changes when something was carried out that may have added to a ledger.
    pub(crate) fn done(&self) -> watch::Receiver<u64> {
        self.0.done.subscribe()
    }

    /// How much is under way: a call whose caller is gone is so too, until it has ended and its entry is written.
    pub(crate) fn load(&self) -> Load {
        let queue = self.0.queue();
        Load { under_way: queue.carried.values().sum(), waiting: queue.waiting }
    }

    /// Whether something is to be carried out, or its answer to be taken.
    pub(crate) fn is_busy(&self) -> bool {
        let queue = self.0.queue();
        !queue.stops.is_empty() || !queue.carried.is_empty()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl<T> Taken<T> {
    /// Ends it: a call that still waits does so no more, and has its answer; one that is under way is stopped, and answers soon.
    pub(crate) fn cancel(&self) {
        self.stop.stop();
        let order = self.hall.queue().take_out(&self.lane, self.number);
        if let Some(order) = order {
            (order.make)(Reply::cancelled(), &Answers { hall: &self.hall, lane: &self.lane })();
        }
    }

    /// Whether it was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.stop.is_stopped()
    }
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        // Nobody waits for it any more; where it has ended, nothing is stopped.
        self.cancel();
        self.hall.queue().stops.remove(&self.number);
    }
}

/// Lets `serve` take in calls, which are carried out until it returns and all that it took in has ended.
pub(crate) fn open<T>(serving: &Serving, serve: impl FnOnce(Arc<Door>) -> T) -> T {
    let operator = || serving.limits.iter().map(|(limit, value)| (*limit, *value));
    let limits = serving.packages.iter().map(|served| serving.host.limits(&served.package, operator())).collect();
    let hall = Arc::new(Hall { limits, ..Hall::default() });
    let opened = Arc::clone(&hall);
    let worker = Worker::new(serving, move || opened.look_again());
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
fn work(serving: &Serving, worker: &Worker<'_>, hall: &Arc<Hall>) {
    loop {
        let mut queue = hall.queue();
        let order = loop {
            match queue.pop(|package| worker.is_open(package)) {
                Some(order) => break order,
                None if queue.ended => return,
                None => queue = hall.come.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(queue);
        let Order { ask, by, stop, make, context, came, .. } = order;
        let package = ask.package;
        let known = Known::begin(serving, &ask, &by, &context, came);
        let done = match stop.is_stopped() {
            true => Reply::cancelled(),
            // A defect that one call shows is no reason to serve nobody any more.
            false => {
                catch_unwind(AssertUnwindSafe(|| worker.carry_out(&ask, &by, &stop))).unwrap_or_else(|_| Reply::lost())
            }
        };
        known.end(&done);
        // It is counted before more is carried out for this caller, who is told where making it broke down.
        let answers = Answers { hall, lane: &by.lane };
        let hand_over = catch_unwind(AssertUnwindSafe(|| make(done, &answers)));
        hall.queue().end(&by.lane, package);
        hall.look_again();
        if let Ok(hand_over) = hand_over {
            hand_over();
        }
        if ask.what.is_recorded() {
            hall.done.send_modify(|count| *count = count.wrapping_add(1));
        }
    }
}

#[cfg(test)]
#[path = "door_tests.rs"]
mod tests;
