//! Many processes on one instance, some of them killed at random instants. Whatever happened, the state is one that was committed,
//! the ledger's chain is whole, and what was acknowledged is there.
//!
//! `HUTCH_CRASH_RUNS` and `HUTCH_WRITES` say how much; the defaults are those of CI.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

mod common;

use common::Home;
use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

fn count(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// A small generator: the campaign prints its seed and does the same again with it.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn whatever_is_killed_nothing_acknowledged_is_lost() {
    let runs = count("HUTCH_CRASH_RUNS", 60);
    let seed = count("HUTCH_CRASH_SEED", 0x5eed_1234_5678_9abc);
    println!("{runs} runs, HUTCH_CRASH_SEED={seed}");
    let mut dice = Dice(seed);
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "first"]);
    let (mut acknowledged, mut killed) = (BTreeSet::from(["first".to_owned()]), 0);
    let mut asked = acknowledged.clone();
    for run in 0..runs {
        // Two writers at once, each killed after some part of the time that a run takes.
        let titles = [format!("item {run} a"), format!("item {run} b")];
        let start = |title: &String| -> Child {
            let mut command = home.command(&["run", "--wait", "10min", "--retry", "20", "packages/todo", "add", title]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program does not start")
        };
        let mut children: Vec<Child> = titles.iter().map(start).collect();
        asked.extend(titles.iter().cloned());
        for (child, title) in children.iter_mut().zip(&titles) {
            let deadline = Instant::now() + Duration::from_micros(dice.roll(30_000));
            let status = loop {
                match child.try_wait().expect("the child can't be waited for") {
                    Some(status) => break Some(status),
                    None if Instant::now() >= deadline => break None,
                    None => std::hint::spin_loop(),
                }
            };
            match status {
                Some(status) if status.success() => {
                    acknowledged.insert(title.clone());
                }
                Some(status) => panic!("{title}: {status}"),
                None => {
                    child.kill().expect("the child can't be killed");
                    if child.wait().expect("the child can't be waited for").success() {
                        acknowledged.insert(title.clone());
                    } else {
                        killed += 1;
                    }
                }
            }
        }
        if run % 20 == 19 {
            check(&home, &acknowledged, &asked);
        }
    }
    check(&home, &acknowledged, &asked);
    let verified = home.json(&["verify", "packages/todo", "--all"]);
    assert_eq!((verified["differ"].as_u64(), verified["not_reproducible"].as_u64()), (Some(0), Some(0)));
    println!("{} writers, {killed} killed, {} acknowledged", 2 * runs, acknowledged.len());
    assert!(runs < 20 || killed > 0, "nobody was killed: the campaign shows nothing");
}

fn check(home: &Home, acknowledged: &BTreeSet<String>, asked: &BTreeSet<String>) {
    let titles = home.titles();
    let found: BTreeSet<String> = titles.iter().cloned().collect();
    assert_eq!(found.len(), titles.len(), "an item is there twice");
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert!(found.is_subset(asked), "there is what nobody asked for");
    home.json(&["verify", "--chain", "todo"]);
    home.json(&["doctor", "todo"]);
    let stored = home.run(&["state", "cat", "--raw", "todo", "state/todos.json"]).stdout;
    let plain = std::fs::read_to_string(home.plain().join("todos.json")).expect("the plain directory is empty");
    assert_eq!(plain, stored, "the plain directory does not show the state");
}

#[test]
fn eight_processes_at_once_lose_nothing() {
    let writes = count("HUTCH_WRITES", 80);
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "first"]);
    std::thread::scope(|scope| {
        for process in 0..8 {
            let home = &home;
            scope.spawn(move || {
                for write in 0..writes / 8 {
                    let title = format!("{process} {write}");
                    home.json(&["run", "--wait", "10min", "--retry", "1000", "packages/todo", "add", &title]);
                }
            });
        }
    });
    let list = home.json(&["run", "packages/todo", "list", "--limit", "10000"]);
    let items = list["items"].as_array().expect("no items");
    let ids: BTreeSet<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    assert_eq!(ids.len() as u64, writes / 8 * 8 + 1);
    let last = home.json(&["ledger", "show", "todo"])["sequence"].as_u64();
    // The first state, one entry for each add, and one for the list.
    assert_eq!(last, Some(1 + writes / 8 * 8 + 1 + 1));
    home.json(&["verify", "--chain", "todo"]);
}
