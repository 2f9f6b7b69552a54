//! What a run can make the host use. Every greedy guest runs in a process of its own, which says how far its resident memory rose above
//! what it was before the run, naming of the state and all: never more than twice `memory_bytes` and 32 MiB, and the output that was
//! captured once more than it is long. And when it has ended, one thread is kept, until the sandbox goes.
//!
//! Guests are the probe's behaviours, and ones that are made here: names by depth by files, chunks written here and there, links,
//! tables, handles, denied answers, components in components.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, clippy::panic, reason = "a test program with a main of its own")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a test program with a main of its own")]

mod support;

use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{ArtifactCache, Compile, Sandbox, compile_from_stdin};
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use support::wasi_text::wasi;
use support::wat_guest::{WatGuest, wat};
use support::{KEY, limits, parts, probe_bytes, run_parts, side_by_side};

const MIB: u64 = 1 << 20;
const MEMORY_BYTES: u64 = 64 * MIB;
const STDOUT_BYTES: u64 = 24 * MIB;
const STDERR_BYTES: u64 = 4 * MIB;

/// Stacks, one call's worth of bytes on both sides, and what the allocator keeps.
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

/// A guest in which everything lies `depth` folders deep, under names of `letters` letters: `files` files, of which each is written
/// to in `chunks` places, four bytes in each. It ends well, so that all of it is named.
fn tree(depth: u32, letters: u32, files: u32, chunks: u32) -> WatGuest {
    // The name of a folder lies at 1024, that of a file at 2048: its number in letters, and then `letters` more.
    let before = format!(
        "(memory.fill (i32.const 1024) (i32.const 97) (i32.const 1024)) (memory.fill (i32.const 2048) (i32.const 98) (i32.const 1024))
         (local.set $h (global.get $root))
         (loop $deeper
           (if (i32.lt_u (local.get $i) (i32.const {depth})) (then
             (call $make-folder (local.get $h) (i32.const 1024) (i32.const {letters}) (i32.const 8))
             (call $open (local.get $h) (i32.const 0) (i32.const 1024) (i32.const {letters}) (i32.const 2) (i32.const 33) (i32.const 8))
             (if (i32.load8_u (i32.const 8)) (then (local.set $i (i32.const {depth}))) (else (local.set $h (i32.load (i32.const 12)))))
             (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $deeper))))
         (local.set $i (i32.const 0))"
    );
    let digit = |shift: u32, at: u32| {
        format!(
            "(i32.store8 (i32.const {at}) (i32.add (i32.const 97) (i32.and (i32.shr_u (local.get $i) (i32.const {shift})) (i32.const 15))))"
        )
    };
    let digits: String = (0..6).map(|at| digit(4 * at, 2048 + at)).collect();
    let repeated = format!(
        "(if (i32.ge_u (local.get $i) (i32.const {files})) (then (return (i32.const 0)))) {digits}
         (call $open (local.get $h) (i32.const 0) (i32.const 2048) (i32.const {letters}) (i32.const 1) (i32.const 3) (i32.const 8))
         (if (i32.load8_u (i32.const 8)) (then (return (i32.const 0))))
         (global.set $file (i32.load (i32.const 12)))
         (local.set $n (i64.const 0))
         (loop $write
           (if (i64.lt_u (local.get $n) (i64.const {chunks})) (then
             (i64.store (i32.const 32) (i64.add (i64.extend_i32_u (local.get $i)) (local.get $n)))
             (call $write (global.get $file) (i32.const 32) (i32.const 4) (i64.mul (local.get $n) (i64.const 65536)) (i32.const 40))
             (if (i32.load8_u (i32.const 40)) (then (return (i32.const 0))))
             (local.set $n (i64.add (local.get $n) (i64.const 1))) (br $write))))
         (call $drop-descriptor (global.get $file))"
    );
    let mut guest = wasi(&before, &repeated);
    guest.core += "(global $file (mut i32) (i32.const 0))";
    guest
}

/// Guests by what they are greedy for, and whether that must show.
fn made() -> Vec<(String, Vec<u8>, bool)> {
    let mut made = Vec::new();
    for (depth, letters, files, chunks, shows) in [
        (0, 6, 200_000, 0, true),
        (0, 255, 200_000, 0, true),
        (100, 6, 100_000, 0, true),
        (100, 39, 100_000, 0, true),
        (15, 255, 50_000, 0, true),
        (120, 255, 20_000, 0, false),
        (0, 6, 1, 100_000, true),
        (0, 6, 100_000, 1, true),
        (0, 6, 100, 1_000, true),
        (14, 255, 1_000, 3, true),
    ] {
        let name = format!("{files} files of {chunks} chunks, {depth} deep, {letters} letters");
        made.push((name, tree(depth, letters, files, chunks).bytes(), shows));
    }
    let links = "(call $symlink (global.get $root) (i32.const 65536) (i32.const 4000) (i32.const 1024) (i32.const 8) (i32.const 8))
                 (if (i32.load8_u (i32.const 8)) (then (return (i32.const 0))))";
    let number: String = (0..8)
        .map(|at| {
            format!(
                "(i32.store8 (i32.const {}) (i32.add (i32.const 97) (i32.and (i32.shr_u (local.get $i) (i32.const {})) (i32.const 15))))",
                1024 + at,
                4 * at
            )
        })
        .collect();
    let before = "(memory.fill (i32.const 65536) (i32.const 97) (i32.const 4096))";
    made.push(("links with long targets".to_owned(), wasi(before, &format!("{number} {links}")).bytes(), true));
    let missed = "(call $stat-at (global.get $root) (i32.const 0) (i32.const 1024) (i32.const 255) (i32.const 8))
                  (if (i32.gt_u (local.get $i) (i32.const 20000)) (then (return (i32.const 0))))";
    let before = "(memory.fill (i32.const 1024) (i32.const 97) (i32.const 1024))";
    made.push(("names that are not there".to_owned(), wasi(before, &format!("{number} {missed}")).bytes(), false));
    let pollables = "(drop (call $subscribe (i64.const 1)))
                     (if (i32.gt_u (local.get $i) (i32.const 65000)) (then (return (i32.const 0))))";
    made.push(("handles".to_owned(), wasi("", pollables).bytes(), false));
    let tables = "(table $a 1 funcref) (table $b 1 funcref) (func (export \"run\") (result i32) (local i32)
        (loop $again (br_if $again (i32.ne (table.grow $a (ref.func $f) (i32.const 10000)) (i32.const -1))))
        (loop $again (br_if $again (i32.ne (table.grow $b (ref.func $f) (i32.const 100)) (i32.const -1)))) (i32.const 0))
        (func $f) (elem declare func $f)";
    made.push(("tables".to_owned(), WatGuest::core(tables).bytes(), true));
    made.push((
        "a denied answer of many values".to_owned(),
        denied("(tuple $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t $t)"),
        false,
    ));
    let parts: String = (0..98).map(|_| "(instance (instantiate $c))").collect();
    made.push((
        "components in components".to_owned(),
        wat(&format!(
            "(component (component $c (type (resource (rep i32)))) {parts}
               (core module $m (memory 100) (func (export \"run\") (result i32) (i32.const 0))) (core instance $main (instantiate $m))
               (func $run (result (result)) (canon lift (core func $main \"run\")))
               (instance $exported (export \"run\" (func $run))) (export \"wasi:cli/run@0.2.0\" (instance $exported)))"
        )),
        false,
    ));
    made
}

/// Calls a denied function with an answer of this type again and again.
fn denied(ty: &str) -> Vec<u8> {
    let wide = "u8 ".repeat(1_000);
    let mut guest = WatGuest::core(
        "(import \"host\" \"f\" (func $f (param i32))) (func (export \"run\") (result i32) (local i32)
           (loop $again (call $f (i32.const 16))
             (br_if $again (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 100)))) (i32.const 0))",
    );
    guest.imports = format!(
        "(import \"wasi:http/a@0.2.0\" (instance $http (type $t (tuple {wide})) (export \"f\" (func (result {ty})))))"
    );
    guest.lowered = vec![("f", "$http \"f\"")];
    guest.bytes()
}

/// What they all run under. The handles are as many as a package can ask for.
fn greedy_limits() -> Limits {
    limits(&[
        (Limit::Memory, MEMORY_BYTES),
        (Limit::Stdout, STDOUT_BYTES),
        (Limit::Stderr, STDERR_BYTES),
        (Limit::Handles, Limit::Handles.info().ceiling),
        (Limit::Tables, Limit::Tables.info().ceiling),
        (Limit::FolderDepth, Limit::FolderDepth.info().ceiling),
        (Limit::StateBytes, Limit::StateBytes.info().ceiling),
        (Limit::FileBytes, Limit::FileBytes.info().ceiling),
        (Limit::WallTime, Limit::WallTime.info().ceiling),
    ])
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [role, cache, component, words] = &arguments[..]
        && role == "child"
    {
        return child(Path::new(cache), Path::new(component), words);
    }
    match &arguments[..] {
        [role] if role == "compile" => return compile_from_stdin().expect("pipes"),
        [role, cache, component] if role == "first" => return first(Path::new(cache), Path::new(component)),
        _ => {}
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    long_code_stays_where_it_is(folder.path());
    let cache = folder.path().join("cache");
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(&cache, || Some(KEY)));
    let mut guests: Vec<(String, Vec<u8>, &str, bool)> =
        BEHAVIOURS.map(|(words, shows)| (words.to_owned(), probe_bytes(), words, shows)).to_vec();
    guests.extend(made().into_iter().map(|(name, bytes, shows)| (name, bytes, "", shows)));
    let program = std::env::current_exe().expect("a path");
    let failed = Mutex::new(Vec::new());
    side_by_side(guests.into_iter().enumerate(), |(number, (name, bytes, words, shows))| {
        let component = folder.path().join(format!("component-{number}"));
        std::fs::write(&component, &bytes).expect("a component");
        sandbox.load(&bytes, &greedy_limits()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let output =
            Command::new(&program).arg("child").arg(&cache).arg(&component).arg(words).output().expect("a child");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [rose, counted, captured] = numbers[..] else {
            panic!("{name}: {said} {}", String::from_utf8_lossy(&output.stderr));
        };
        let allowed = 2 * MEMORY_BYTES.min(counted) + 2 * captured + BESIDE_BYTES;
        println!("{:6.1} MiB of {:6.1}, {:6.1} counted: {name}", mib(rose), mib(allowed), mib(counted));
        if rose > allowed || counted > MEMORY_BYTES || (shows && rose < 8 * MIB) {
            failed.lock().expect("names").push(name);
        }
    });
    let failed = failed.into_inner().expect("names");
    assert!(failed.is_empty(), "{failed:?} used more memory than they may, or none");
}

/// A component that holds this much data is compiled to more, of which nothing is held in memory: not when it is new, and not when the seal of
/// what is kept of it is looked at.
fn long_code_stays_where_it_is(folder: &Path) {
    const DATA_BYTES: usize = 48 << 20;
    let section = |id: u8, content: &[u8]| [&[id][..], &leb(content.len()), content].concat();
    // Bytes that are all alike would be none in a file with holes.
    let data: Vec<u8> = (0..DATA_BYTES).map(|at| (at % 251) as u8).collect();
    let data = [&[1, 1][..], &leb(data.len()), &data].concat();
    let module = [&b"\0asm\x01\0\0\0"[..], &section(12, &[1]), &section(11, &data)].concat();
    let component = folder.join("long");
    std::fs::write(&component, [probe_bytes(), section(1, &module)].concat()).expect("a component");
    let (cache, program) = (folder.join("first"), std::env::current_exe().expect("a path"));
    for what in ["new", "young", "known"] {
        let output = Command::new(&program).arg("first").arg(&cache).arg(&component).output().expect("a child");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let rose: u64 = said.trim().parse().unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        println!("{:6.1} MiB of {:6.1}: {what} code of {} MiB of data", mib(rose), mib(BESIDE_BYTES), DATA_BYTES >> 20);
        assert!(rose <= BESIDE_BYTES, "{what}");
        let kept = std::fs::read_dir(&cache).expect("a cache").map(|entry| entry.expect("an entry").metadata());
        let kept: u64 = kept.map(|metadata| metadata.expect("there").len()).sum();
        assert!(kept > DATA_BYTES as u64, "{kept} bytes are kept");
    }
}

fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            bytes.push(low);
            return bytes;
        }
        bytes.push(low | 0x80);
    }
}

/// Loads a component, and says in bytes how far resident memory rose.
fn first(cache: &Path, component: &Path) {
    let program = std::env::current_exe().expect("a path");
    let compile = Compile::Child { program, arguments: vec!["compile".into()], key: KEY };
    let sandbox = Sandbox::new(compile, ArtifactCache::open(cache, || Some(KEY)));
    let bytes = std::fs::read(component).expect("a component");
    let before = status("VmRSS:");
    let program = sandbox.load(&bytes, &limits(&[])).expect("a program");
    println!("{}", (status("VmHWM:") * 1024).saturating_sub(before * 1024));
    let run = run_parts(&program, parts(&["empty"], limits(&[]))).expect("an outcome");
    assert_eq!(run.outcome.ending.name(), "exited");
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}

/// Runs the guest, and says in bytes how far resident memory rose, what the outcome counted, and what was captured.
fn child(cache: &Path, component: &Path, words: &str) {
    let sandbox = Sandbox::new(Compile::Here, ArtifactCache::open(cache, || Some(KEY)));
    let bytes = std::fs::read(component).expect("a component");
    let program = sandbox.load(&bytes, &greedy_limits()).expect("a program");
    drop(bytes);
    let words: Vec<&str> = words.split(' ').filter(|word| !word.is_empty()).collect();
    let before = status("VmRSS:");
    let run = run_parts(&program, parts(&words, greedy_limits())).expect("an outcome");
    assert!(!run.measured.compiled, "compiling shows in the measurement");
    let rose = (status("VmHWM:") * 1024).saturating_sub(before * 1024);
    // Its thread is kept for the next run, and ends with the last that could run something there.
    assert_eq!(status("Threads:"), 2, "a run has one thread");
    drop((program, sandbox));
    // Who waits for a thread may go on a moment before the system has stopped counting it.
    let alone = (0..1_000_000).any(|_| {
        std::thread::yield_now();
        status("Threads:") == 1
    });
    assert!(alone, "a thread outlives its sandbox");
    let captured = run.outcome.stdout.len() + run.outcome.stderr.len();
    println!("{rose} {} {captured}", run.outcome.memory_peak_bytes);
    eprintln!("{:?} {:?}", run.outcome.ending, run.outcome.refused);
}

/// A number of this process's status, kilobytes or threads.
fn status(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a Linux system");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("a line of the status");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}
