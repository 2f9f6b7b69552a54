//! What a call costs in a process that stays: `list` of a hundred items and `add`, with the state in memory, and with it in a home;
//! in one thread, in two, and in eight. The first argument names the folder of the home, as on a disk or in memory; a temporary one if
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
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

fn call(arguments: &[&str]) -> Call {
    let at = ModelInstant::from_unix_ns(1_775_000_000_000_000_000);
    Call {
        instance: "default".parse().expect("a name"),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        stdin: Vec::new(),
        at,
        clock_start: at,
        seed: Seed([7; 32]),
        environment: BTreeMap::new(),
        mounts: BTreeMap::new(),
        limits: BTreeMap::new(),
        contract: None,
        unchecked: false,
        guard: None,
        confirmed: false,
        retries: 1_000,
        keep_streams: true,
        wall_time_us: None,
    }
}

/// One call, in microseconds.
fn run(instance: &Instance<'_>, call: &Call) -> u128 {
    let start = Instant::now();
    let answer = instance.run(call).expect("an answer");
    assert_eq!(answer.verdict, Verdict::Good);
    start.elapsed().as_micros()
}

fn told(what: &str, mut times: Vec<u128>) {
    times.sort_unstable();
    let part = |hundredth: usize| times[(times.len() - 1) * hundredth / 100];
    println!("{what}: p10 {} p50 {} p90 {} us", part(10), part(50), part(90));
}

/// Calls a second of so many threads at once.
fn rate(what: &str, instance: &Instance<'_>, call: &Call, threads: u32, each: u32) {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..each).for_each(|_| assert!(run(instance, call) > 0)));
        }
    });
    println!("{what}, {threads} threads: {:.0} a second", f64::from(threads * each) / start.elapsed().as_secs_f64());
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
    for kind in ["memory", "home"] {
        let filled = instance(kind, "filled");
        told(&format!("{kind}: add, the first hundred"), (0..100).map(|_| run(&filled, &add)).collect());
        if is_wanted(&format!("{kind}-list")) {
            told(&format!("{kind}: list of 100"), (0..500).map(|_| run(&filled, &list)).collect());
            for threads in [1, 2, 8] {
                rate(&format!("{kind}: list"), &filled, &list, threads, 600 / threads);
            }
        }
        if is_wanted(&format!("{kind}-add")) {
            for threads in [1, 2, 8, 32] {
                let empty = instance(kind, &format!("of-{threads}"));
                rate(&format!("{kind}: the first 128 of add"), &empty, &add, threads, 128 / threads);
            }
        }
    }
}
