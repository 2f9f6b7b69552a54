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
    /// How many calls of each caller are under way.
    carried: BTreeMap<Arc<str>, usize>,
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
        let has_room = |name: &str| self.carried.get(name).copied().unwrap_or(0) < workers_for(name);
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
    /// Takes in a call, if there is room. One that is larger than its package's may be is refused at once: what waits takes memory.
    pub(crate) fn take(&self, ask: Ask, by: By) -> Result<Taken, ErrorReport> {
        self.0.check_size(&ask).map_err(|failure| failure.report().detail("kept", false))?;
        let ((reply, answer), stop) = (oneshot::channel(), Stop::new());
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
                let _ = order.reply.send(reply);
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
fn work(serving: &Serving, worker: &Worker<'_>, hall: &Hall) {
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
        let Order { ask, by, stop, reply, context, came, .. } = order;
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
        hall.queue().end(&by.lane, package);
        hall.look_again();
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
        order_of(0, number, lane)
    }

    fn order_of(package: usize, number: u64, lane: &str) -> Order {
        let by = By { lane: lane.into(), ..By::default() };
        let ask = Ask { package, what: What::Verify(None) };
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

    /// The numbers of all that wait, each carried out before the next is taken.
    fn served(queue: &mut Queue) -> Vec<u64> {
        let one = || {
            let order = queue.pop(|_| true)?;
            queue.end(&order.by.lane, order.ask.package);
            Some(order.number)
        };
        std::iter::from_fn(one).collect()
    }

    #[test]
    fn one_caller_never_has_all_workers() {
        let mut queue = Queue::default();
        for number in 0..10 {
            queue.push(order(number, "flood"));
        }
        let taken: Vec<u64> = std::iter::from_fn(|| queue.pop(|_| true)).map(|order| order.number).collect();
        assert_eq!(taken, [0, 1, 2]);
        // There is one for who comes now; and the flood goes on when one of its own has ended.
        queue.push(order(10, "one"));
        assert_eq!(queue.pop(|_| true).map(|order| order.number), Some(10));
        assert!(queue.pop(|_| true).is_none());
        queue.end(&"flood".into(), 0);
        assert_eq!(queue.pop(|_| true).map(|order| order.number), Some(3));
        // Where there is but one caller, nothing is left to others.
        let mut queue = Queue::default();
        for number in 0..10 {
            queue.push(order(number, ""));
        }
        assert_eq!(std::iter::from_fn(|| queue.pop(|_| true)).count(), WORKERS);
    }

    #[test]
    fn calls_of_a_package_that_is_being_opened_keep_no_worker_from_others() {
        let (mut queue, none_is_open) = (Queue::default(), |_: usize| false);
        for (number, lane) in [(0, "a"), (1, "b"), (2, "c")] {
            queue.push(order_of(7, number, lane));
        }
        queue.push(order_of(8, 3, "b"));
        let taken: Vec<u64> = std::iter::from_fn(|| queue.pop(none_is_open)).map(|order| order.number).collect();
        assert_eq!(taken, [0, 3], "the first opens it, and another package is not kept waiting");
        // It could not be opened: the next tries. It is open: all are carried out.
        queue.end(&"a".into(), 7);
        assert_eq!(queue.pop(none_is_open).map(|order| order.number), Some(2));
        assert_eq!(queue.pop(|package| package == 7).map(|order| order.number), Some(1));
        assert_eq!(queue.waiting, 0);
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
        assert_eq!(served(&mut queue), [0, 10, 11, 1, 12, 2, 3, 4, 5, 6, 7, 8, 9]);
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
        assert_eq!((served(&mut queue), queue.waiting), (vec![0, 2], 0));
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
        // Nor do several who fill theirs keep one out who comes then.
        let all = |at: usize| -> Vec<Taken> { std::iter::from_fn(|| take(&format!("flood {at}")).ok()).collect() };
        let full: Vec<Vec<Taken>> = (0..9).map(all).collect();
        assert_eq!(full.iter().map(Vec::len).collect::<Vec<_>>(), [64, 64, 64, 32, 16, 8, 4, 2, 1]);
        assert!(take("one").is_ok());
    }

    #[test]
    fn a_call_whose_caller_is_gone_is_under_way_until_it_has_ended() {
        let door = Door::unattended();
        let taken = door.take(Ask { package: 0, what: What::Verify(None) }, By::default());
        let order = door.0.queue().pop(|_| true).unwrap_or_else(|| panic!("it waits"));
        drop(taken);
        let load = door.load();
        assert_eq!((order.stop.is_stopped(), load.under_way, load.waiting, door.is_busy()), (true, 1, 0, true));
        door.0.queue().end(&order.by.lane, order.ask.package);
        assert_eq!((door.load().under_way, door.is_busy()), (0, false));
    }
}
