//! Who is carried out next, what callers hold, and what an answer may take.

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
        make: Box::new(|_: Reply, _: &Answers<'_>| -> HandOver { Box::new(|| ()) }),
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
    let mut taken: Vec<Taken> = (0..WAITING_MAX).map(|_| take("flood").unwrap_or_else(|_| panic!("room"))).collect();
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

#[test]
fn nothing_more_is_carried_out_for_who_reads_no_answers() {
    let (door, lane) = (Door::unattended(), |name: &str| Arc::<str>::from(name));
    for (number, name) in ["one", "two", "", "one"].into_iter().enumerate() {
        door.0.queue().push(order(number as u64, name));
    }
    let pop = || door.0.queue().pop(|_| true).map(|order| order.number);
    let held = [ANSWERS_BYTES_MAX / 2 - 1, 1].map(|bytes| door.hold(&lane("one"), bytes));
    let other = door.hold(&lane("two"), ANSWERS_BYTES_MAX / 4);
    assert_eq!([pop(), pop()], [Some(2), None], "two have their share");
    drop(other);
    assert_eq!([pop(), pop()], [Some(1), None]);
    // Who has little is answered whatever others have, and what one has beyond its share takes nothing from anybody.
    let all = ["three", "four"].map(|name| door.hold(&lane(name), 3 * ANSWERS_BYTES_MAX));
    drop(held);
    let little = door.hold(&lane("one"), ANSWERED_BYTES - 1);
    assert_eq!(pop(), Some(0));
    let more = door.hold(&lane("one"), 1);
    assert_eq!(pop(), None);
    let [three, _four] = all;
    drop(three);
    assert_eq!(pop(), Some(3));
    drop((little, more, _four));
    assert!(door.0.queue().unsent.is_empty());
    // What is stopped is answered all the same.
    let _held = door.hold(&lane("one"), ANSWERS_BYTES_MAX);
    door.0.queue().push(order(4, "one"));
    assert_eq!(pop(), None);
    door.close();
    assert_eq!(pop(), Some(4));
}

#[test]
fn what_a_caller_gets_is_made_and_counted_where_its_call_is_carried_out() {
    let door = Door::unattended();
    let by = By { lane: "one".into(), ..By::default() };
    let ask = Ask { package: 0, what: What::Verify(None) };
    let taken = door.take_made(ask, by, |_, answers| (std::thread::current().id(), answers.hold(7)));
    let mut taken = taken.unwrap_or_else(|_| panic!("room"));
    let carried = std::thread::scope(|scope| {
        let carry = || {
            let order = door.0.queue().pop(|_| true).unwrap_or_else(|| panic!("it waits"));
            let answers = Answers { hall: &door.0, lane: &order.by.lane };
            (order.make)(Reply::cancelled(), &answers)();
            std::thread::current().id()
        };
        scope.spawn(carry).join().unwrap()
    });
    let (made, unsent) = taken.reply.try_recv().unwrap();
    assert_eq!((made, door.unsent("one")), (carried, 7));
    drop(unsent);
    assert_eq!(door.unsent("one"), 0);
}
