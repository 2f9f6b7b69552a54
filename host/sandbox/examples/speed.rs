//! Where the time of a run goes: loading (compiling, from the cache) and running the to-do application, in microseconds. With an
//! argument it does one load from that cache folder and one run, for measuring whole processes.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a program for the people who measure")]

#[path = "../../../tests/sandbox/support/mod.rs"]
mod support;

use hutch_model::limits::Limits;
use hutch_sandbox::{ArtifactCache, Compile, Sandbox};
use std::path::Path;
use std::time::Instant;
use support::{KEY, parts, run_parts, todo_bytes};

fn once(cache: &Path, bytes: &[u8]) -> [u128; 3] {
    let start = Instant::now();
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(cache, || Some(KEY)));
    let opened = start.elapsed();
    let program = sandbox.load(bytes, &Limits::default()).expect("a program");
    let loaded = start.elapsed();
    run_parts(&program, parts(&["list"], Limits::default())).expect("an outcome");
    [opened, loaded - opened, start.elapsed() - loaded].map(|time| time.as_micros())
}

fn main() {
    let bytes = todo_bytes();
    if let Some(cache) = std::env::args().nth(1) {
        println!("open, load, run: {:?} us", once(Path::new(&cache), &bytes));
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!("compile: {:?} us", once(folder.path(), &bytes));
    println!("first from the cache: {:?} us", once(folder.path(), &bytes));
    let mut times: Vec<[u128; 3]> = (0..300).map(|_| once(folder.path(), &bytes)).collect();
    for (at, what) in ["open the cache", "load from the cache", "run"].into_iter().enumerate() {
        times.sort_by_key(|time| time[at]);
        println!("{what}: least {} p50 {} p99 {} us", times[0][at], times[150][at], times[297][at]);
    }
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(folder.path(), || Some(KEY)));
    let program = sandbox.load(&bytes, &Limits::default()).expect("a program");
    let mut runs: Vec<u128> = (0..500)
        .map(|_| {
            let start = Instant::now();
            run_parts(&program, parts(&["list"], Limits::default())).expect("an outcome");
            start.elapsed().as_micros()
        })
        .collect();
    runs.sort_unstable();
    println!("run of a loaded program: least {} p50 {} p99 {} us", runs[0], runs[250], runs[495]);
}
