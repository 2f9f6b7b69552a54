//! What the host can't get is the host's failure: a run for which the system has no address space, no data or no memory ends as
//! [`RunError`], or with its process, or as it does where there is plenty, and never as something that the guest did.
//!
//! Each run is a process of its own. What can't be swept: an allocation of Rust's own that fails ends the process, so for those
//! there is nothing to record, which is the point; and what the system refuses only under memory pressure it cannot be asked to.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test program with a main of its own")]

mod support;

use hutch_model::limits::Limits;
use hutch_sandbox::{ArtifactCache, Compile, RunError, Sandbox};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use support::{KEY, parts, probe_bytes, run_parts};

/// Fails the allocation whose turn it is.
struct Failing;

/// Allocations until the one that fails; counts only while a run is under way.
static LEFT: AtomicU64 = AtomicU64::new(u64::MAX);

impl Failing {
    fn fails(&self) -> bool {
        LEFT.load(Ordering::Relaxed) != u64::MAX && LEFT.fetch_sub(1, Ordering::Relaxed) == 0
    }
}

#[allow(unsafe_code, reason = "an allocator is unsafe to write")]
// SAFETY: everything is passed on to the system's allocator, or answered with null, which means that there is no memory.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `alloc`.
        if self.fails() { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        if self.fails() { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        if self.fails() { std::ptr::null_mut() } else { unsafe { System.realloc(pointer, layout, size) } }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// What a run needs memory for in every way there is: instances, growth, files, their names.
const WORDS: [&str; 2] = ["write-chunked state/f 300000 1000", "grow-and-touch 9000000"];

const KIB: u64 = 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, cache, words, what, amount] = &arguments[..]
        && role == "child"
    {
        return child(Path::new(cache), words, what, amount.parse().expect("an amount"));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(folder.path(), || Some(KEY)));
    sandbox.load(&probe_bytes(), &Limits::default()).expect("the probe");
    support::side_by_side(WORDS, |words| {
        let reference = run(folder.path(), words, "nothing", 0).expect("an end");
        assert!(reference.starts_with("outcome Exited { status: 0 }"), "{words}: {reference}");
        // Up to what the largest reservation takes, and through it in steps of what the smaller ones do.
        let bytes: Vec<u64> = (0..48).map(|step| step * 192 * KIB).collect();
        let more = std::iter::successors(Some(10 * 1024 * KIB), |bytes| Some(bytes + bytes / 3)).take(26);
        let bytes: Vec<u64> = bytes.into_iter().chain(more).collect();
        sweep(folder.path(), words, "address-space", &bytes, &reference);
        sweep(folder.path(), words, "data", &bytes, &reference);
        let allocations: u64 = run(folder.path(), words, "count", 0).expect("a count").parse().expect("a number");
        // Spread over the whole run.
        let turns: Vec<u64> = (0..allocations).step_by(1 + allocations as usize / 250).collect();
        sweep(folder.path(), words, "allocation", &turns, &reference);
    });
}

/// Runs with each of these amounts. Panics unless the host's failures are told as its own, and some were seen.
fn sweep(cache: &Path, words: &str, what: &str, amounts: &[u64], reference: &str) {
    let (mut faults, mut ended, mut equal) = (0, 0, 0);
    for amount in amounts {
        match run(cache, words, what, *amount) {
            None => ended += 1,
            Some(said) if said.starts_with("fault ") => faults += 1,
            Some(said) if said == reference => equal += 1,
            Some(said) => panic!("{words} with {amount} of {what} came to {said}, not {reference}"),
        }
    }
    println!("{what}: {faults} host faults, {ended} ends of the process, {equal} as with plenty: {words}");
    assert!(faults + ended > 0, "nothing of {what} was ever refused");
    assert!(what == "allocation" || (faults > 0 && equal > 0), "{faults} faults and {equal} good ends with {what}");
}

/// What a run in a process of its own says; `None` if the process was ended for want of memory.
fn run(cache: &Path, words: &str, what: &str, amount: u64) -> Option<String> {
    let program = std::env::current_exe().expect("a path");
    let mut command = Command::new(program);
    command.arg("child").arg(cache).args([words, what, &amount.to_string()]).env("RUST_BACKTRACE", "0");
    let output = command.output().expect("a child");
    if output.status.success() {
        return Some(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let for_memory =
        said.contains("memory allocation") || said.contains("OutOfMemory") || said.contains("out of memory");
    assert!(
        output.status.signal() == Some(6) && for_memory,
        "{words} with {amount} of {what}: {}: {said}",
        output.status
    );
    None
}

fn child(cache: &Path, words: &str, what: &str, amount: u64) {
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(cache, || Some(KEY)));
    let program = sandbox.load(&probe_bytes(), &Limits::default()).expect("the probe");
    allow(Resource::Core, 0);
    let parts = parts(&words.split(' ').collect::<Vec<_>>(), Limits::default());
    match what {
        "address-space" => allow(Resource::As, used("VmSize:") + amount),
        "data" => allow(Resource::Data, used("VmData:") + amount),
        "allocation" => LEFT.store(amount, Ordering::Relaxed),
        "count" => LEFT.store(u64::MAX - 1, Ordering::Relaxed),
        _ => {}
    }
    let run = run_parts(&program, parts);
    let left = LEFT.swap(u64::MAX, Ordering::Relaxed);
    allow(Resource::As, u64::MAX);
    allow(Resource::Data, u64::MAX);
    match run {
        _ if what == "count" => println!("{}", u64::MAX - 1 - left),
        Ok(run) => println!(
            "outcome {:?} {:?}",
            run.outcome.ending,
            (run.outcome.fuel, run.outcome.memory_peak_bytes, run.after.volumes)
        ),
        Err(RunError::Host(text)) => println!("fault {text}"),
        Err(error) => panic!("{error}"),
    }
}

/// Limits what this process may have from now on; what was inherited can't be passed.
fn allow(resource: Resource, bytes: u64) {
    let maximum = getrlimit(resource).maximum;
    let current = maximum.map_or(bytes, |maximum| maximum.min(bytes));
    setrlimit(resource, Rlimit { current: (current != u64::MAX).then_some(current), maximum }).expect("a limit");
}

/// What the system counts of this process, in bytes.
fn used(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the status");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * KIB
}
