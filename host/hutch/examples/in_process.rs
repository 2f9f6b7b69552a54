//! What a call costs in a process that stays: `list` of a hundred items and a durable `add`, in one thread and in two. The first
//! argument names the folder of the home, as on a disk or in memory; a temporary one if there is none.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for the people who measure")]

use hutch::package::{Package, PackageBounds, Source};
use hutch::{Call, Host};
use hutch_model::instant::Instant as ModelInstant;
use hutch_model::invocation::Seed;
use hutch_model::outcome::{Contract, Verdict};
use hutch_sandbox::{Compile, Sandbox};
use std::collections::BTreeMap;
use std::path::Path;
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
        contract: Contract::Json,
        unchecked: false,
        guard: None,
        confirmed: false,
        retries: 8,
        keep_streams: true,
        wall_time_us: None,
    }
}

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let home = std::env::args().nth(1).map_or_else(|| temporary.path().to_owned(), Into::into);
    let home = tempfile::tempdir_in(home).expect("a home");
    let bounds = PackageBounds::with_component(64 << 20);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages/todo");
    let package = Package::open(&Source::open(&path, &bounds).expect("the package"), bounds).expect("a good package");
    let host = Host::new(home.path().to_owned(), Sandbox::new(Compile::Here, None));
    let add = call(&["add", "milk"]);
    let instance = host.instance(&package, &add.instance, add.at).expect("an instance");
    let run = |call: &Call| {
        let start = Instant::now();
        let answer = instance.run(call).expect("an answer");
        assert_eq!(answer.verdict, Verdict::Good);
        start.elapsed().as_micros()
    };
    let told = |what: &str, mut times: Vec<u128>| {
        times.sort_unstable();
        let part = |hundredth: usize| times[(times.len() - 1) * hundredth / 100];
        println!("{what}: p10 {} p50 {} p90 {} us", part(10), part(50), part(90));
    };
    run(&add);
    told("add, durable", (0..99).map(|_| run(&add)).collect());
    let list = call(&["list"]);
    told("list of 100", (0..500).map(|_| run(&list)).collect());
    for threads in [1, 2] {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| (0..300).for_each(|_| assert!(run(&list) > 0)));
            }
        });
        let calls = 300.0 * f64::from(threads);
        println!("{threads} threads: {:.0} lists a second", calls / start.elapsed().as_secs_f64());
    }
}
