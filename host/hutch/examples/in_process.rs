//! What a call costs in a process that stays: `list` of a hundred items and `add`, with the state in memory, and with it in a home;
//! in one thread, in two, and in eight; and what the disk alone takes to make durable what one `add` writes. Prints rows of the table
//! that `tests/speed/run` heads. The first argument names the folder of the home, as on a disk or in memory; a temporary one if
//! there is none. A second one says what alone is to be done, as `memory-list`, so that it can be profiled.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for the people who measure")]

use hutch::package::{Package, PackageBounds, Source};
use hutch::{Call, Host, Instance};
use hutch_model::instant::Instant as ModelInstant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::SecretKey;
use hutch_model::outcome::Verdict;
use hutch_sandbox::{ArtifactCache, Compile, Sandbox, SealKey};
use hutch_store::MemoryStore;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn call(arguments: &[&str]) -> Call {
    let at = ModelInstant::from_unix_ns(1_775_000_000_000_000_000);
    let mut call = Call::new(arguments.iter().copied(), at, Seed([7; 32]));
    call.retries = 1_000;
    call
}

/// One call, in microseconds.
fn run(instance: &Instance<'_>, call: &Call) -> u128 {
    let start = Instant::now();
    let answer = instance.run(call).expect("an answer");
    assert_eq!(answer.verdict, Verdict::Good);
    start.elapsed().as_micros()
}

fn told(what: &str, mut times: Vec<u128>, goal: &str) {
    times.sort_unstable();
    let part = |hundredth: usize| times[(times.len() - 1) * hundredth / 100];
    println!("| in process, {what} | {} us | {} to {} us | | | | {goal} |", part(50), part(10), part(90));
}

/// Calls a second of so many threads at once.
fn rate(instance: &Instance<'_>, call: &Call, threads: u32, each: u32) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..each).for_each(|_| assert!(run(instance, call) > 0)));
        }
    });
    f64::from(threads * each) / start.elapsed().as_secs_f64()
}

/// What another number of threads comes to beside one.
fn told_rate(what: &str, threads: u32, rate: f64, alone: f64, goal: &str) {
    let times = if threads == 1 { String::new() } else { format!(", {:.2} times one", rate / alone) };
    println!("| in process, {what}, {threads} threads | {rate:.0} a second{times} | | | | | {goal} |");
}

/// What `add` writes of the log, in bytes: a dozen pages.
const WRITTEN: usize = 50_000;

/// Appends as much as an `add` and makes it durable, without hutch: the least that a durable call alone can take here.
fn told_syncs(home: &Path) {
    let mut file = std::fs::File::create(home.join("synced")).expect("a file");
    let times = (0..100).map(|_| {
        let start = Instant::now();
        file.write_all(&[7; WRITTEN]).and_then(|()| file.sync_data()).expect("room");
        start.elapsed().as_micros()
    });
    told("nothing but 50 KB written and synced", times.collect(), "");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let home = words.first().map_or_else(|| temporary.path().to_owned(), Into::into);
    let home = tempfile::tempdir_in(home).expect("a home");
    let only = words.get(1).map(String::as_str);
    let bounds = PackageBounds::with_component(64 << 20);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let package = Package::open(&Source::open(&path, &bounds).expect("the package"), bounds).expect("a good package");
    // The same each time, so that a profiler need not wait for the compiler.
    let cache =
        ArtifactCache::open(&std::env::temp_dir().join("hutch-in-process"), || Some(SealKey::new([1; SealKey::BYTES])));
    let host = Host::new(home.path().to_owned(), Sandbox::new(Compile::Here, cache));
    let (add, list) = (call(&["add", "milk"]), call(&["list"]));
    let is_wanted = |what: &str| only.is_none_or(|only| only == what);
    // A new instance for each, with nothing in it: what a call costs follows what it reads.
    let instance = |kind: &str, name: &str| {
        let name = name.parse().expect("a name");
        let opened = match kind {
            "memory" => {
                let store = Arc::new(MemoryStore::new(SecretKey::new([3; 32])));
                host.instance_in(&package, &name, store, add.at)
            }
            _ => host.instance(&package, &name, add.at),
        };
        opened.expect("an instance")
    };
    for (kind, place) in [("memory", "state in memory"), ("home", "state in a home")] {
        let in_memory = kind == "memory";
        let filled = instance(kind, "filled");
        told(&format!("`add`, {place}"), (0..100).map(|_| run(&filled, &add)).collect(), "");
        if is_wanted(&format!("{kind}-list")) {
            let goal = if in_memory { "60 us" } else { "" };
            told(&format!("`list` of 100, {place}"), (0..500).map(|_| run(&filled, &list)).collect(), goal);
            let rates = [1, 2, 8].map(|threads| (threads, rate(&filled, &list, threads, 2_400 / threads)));
            for (threads, rate) in rates {
                let goal = if in_memory && threads == 2 { "1.8 times one" } else { "" };
                told_rate(&format!("`list`, {place}"), threads, rate, rates[0].1, goal);
            }
        }
        if is_wanted(&format!("{kind}-add")) {
            if !in_memory {
                told_syncs(home.path());
            }
            let rates = [1, 2, 8, 32].map(|threads| {
                let empty = instance(kind, &format!("of-{threads}"));
                (threads, rate(&empty, &add, threads, 256 / threads))
            });
            for (threads, rate) in rates {
                let (what, goal) = if in_memory { ("`add`", "") } else { ("durable `add`", "5,000 a second") };
                told_rate(&format!("{what}, {place}"), threads, rate, rates[0].1, goal);
            }
        }
    }
}
