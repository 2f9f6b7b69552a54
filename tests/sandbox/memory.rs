//! What a run can make the host use. Every greedy behaviour runs in a process of its own, which says how far its resident memory
//! rose above what it was before the run: never more than twice `memory_bytes` (what was written is held once more while the
//! volume's new objects are made), the output that was captured, and [`BESIDE_BYTES`].
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test program with a main of its own")]

mod support;

use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{ArtifactCache, Compile, Sandbox};
use std::path::Path;
use std::process::Command;
use support::{KEY, limits, parts, probe_bytes, run_parts};

const MIB: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 64 * MIB;
const STDOUT_BYTES: u64 = 24 * MIB;
const STDERR_BYTES: u64 = 4 * MIB;

/// Stacks, tables, one call's worth of bytes on both sides, and what the allocator keeps.
const BESIDE_BYTES: u64 = 32 * MIB;

/// The probe's words, and whether the run is so greedy that it must show: a measurement that sees nothing proves nothing.
const BEHAVIOURS: [(&str, bool); 26] = [
    ("empty", false),
    ("grow-memory", false),
    ("grow-and-touch", false),
    ("grow-and-touch 60000000", false),
    ("grow-table", false),
    ("stdout 24000000", true),
    ("stdout 900000000", true),
    ("stderr 900000000", false),
    ("big-host-calls random --bytes 4194304 --count 20", false),
    ("big-host-calls read --bytes 8000000 --count 5", true),
    ("big-host-calls write --bytes 8000000 --count 5", true),
    ("write-file state/f 30000000", true),
    ("write-file state/f 60000000", false),
    ("write-chunked state/f 50000000 65536", true),
    ("write-chunked state/f 80000000 65536", false),
    ("write-chunked state/f 1000000 10", false),
    ("truncate state/missing 1000000000", false),
    ("write-files 40000", true),
    ("open-handles 4000", false),
    ("open-handles 100000", false),
    ("deep-dirs 200", false),
    ("hostcall-spin --count 1000000", false),
    ("recurse --stack calls", false),
    ("recurse --stack memory", false),
    ("random 4000000", true),
    ("poll 1000", false),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, cache, words] = &arguments[..]
        && role == "child"
    {
        return child(Path::new(cache), words);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(folder.path(), KEY));
    sandbox.load(&probe_bytes(), &Limits::default()).expect("the probe");
    let program = std::env::current_exe().expect("a path");
    let mut failed = Vec::new();
    for (words, shows) in BEHAVIOURS {
        let output = Command::new(&program).arg("child").arg(folder.path()).arg(words).output().expect("a child");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rose, counted, captured] = numbers[..] else {
            panic!("{words}: {said} {}", String::from_utf8_lossy(&output.stderr));
        };
        let allowed = 2 * MEMORY_BYTES.min(counted) + 2 * captured + BESIDE_BYTES;
        println!("{:6.1} MiB of {:6.1}, {:6.1} counted: {words}", mib(rose), mib(allowed), mib(counted));
        if rose > allowed
            || (shows && rose < 8 * MIB)
            || allowed > 2 * (MEMORY_BYTES + STDOUT_BYTES + STDERR_BYTES) + BESIDE_BYTES
        {
            failed.push(words);
        }
    }
    assert!(failed.is_empty(), "{failed:?} used more memory than they may, or none");
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Runs the probe, and says in bytes how far resident memory rose, what the outcome counted, and what was captured.
fn child(cache: &Path, words: &str) {
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(cache, KEY));
    let limits = limits(&[
        (Limit::Memory, MEMORY_BYTES),
        (Limit::Stdout, STDOUT_BYTES),
        (Limit::Stderr, STDERR_BYTES),
        (Limit::WallTime, 60_000),
    ]);
    let program = sandbox.load(&probe_bytes(), &limits).expect("the probe");
    let before = resident("VmRSS:");
    let run = run_parts(&program, parts(&words.split(' ').collect::<Vec<_>>(), limits)).expect("an outcome");
    assert!(!run.measured.compiled, "compiling shows in the measurement");
    let rose = resident("VmHWM:").saturating_sub(before);
    let captured = run.outcome.stdout.len() + run.outcome.stderr.len();
    println!("{rose} {} {captured}", run.outcome.memory_peak_bytes);
}

fn resident(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the status");
    let kilobytes = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kilobytes * 1024
}
