//! What a unit of fuel buys: nanoseconds of wall time for each unit, for plain instructions and for each class of host call.
//! The prices in `hutch_world::price` are set by these numbers. Run with `cargo run --release -p hutch-sandbox --example prices`.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a program for the people who set prices")]

#[path = "../../../tests/sandbox/support/mod.rs"]
mod support;

use hutch_model::limits::Limit;
use support::wasi_text::wasi;
use support::wat_guest::WatGuest;
use support::{limits, parts, run_parts, sandbox};

/// Nanoseconds for a unit of fuel beyond which a price is too low.
const NS_PER_FUEL_MAX: f64 = 10.0;

fn instructions() -> Vec<(&'static str, WatGuest)> {
    let around = |memory: &str, work: &str| {
        let mut guest =
            WatGuest::body(&format!("(local $i i32) (local $f f64) (loop $again {work} (br $again)) unreachable"));
        guest.memory = memory.to_owned();
        guest
    };
    // A walk through 64 MiB, each step to a place that the last one names: a million places, one in each cache line.
    let chase = format!(
        "(local $i i32) (local $at i32)
         (loop $fill (i32.store (i32.shl (local.get $i) (i32.const 6)) (i32.shl (i32.and (i32.add (i32.mul (local.get $i) (i32.const 1664525)) (i32.const 1013904223)) (i32.const 0xfffff)) (i32.const 6)))
           (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 0x100000))))
         (loop $again (local.set $at {}) (br $again)) unreachable",
        "(i32.load ".repeat(64) + "(local.get $at)" + &")".repeat(64)
    );
    let mut chase = WatGuest::body(&chase);
    chase.memory = "1024".to_owned();
    vec![
        ("an empty loop", around("1", "")),
        ("integer division", around("1", "(drop (i64.div_u (i64.const -1) (i64.extend_i32_u (memory.size))))")),
        ("square roots", around("1", "(local.set $f (f64.sqrt (f64.sqrt (f64.sqrt (f64.sqrt (local.get $f))))))")),
        (
            "float division",
            around(
                "1",
                "(local.set $f (f64.div (f64.div (f64.div (local.get $f) (f64.const 3)) (f64.const 7)) (f64.const 1.1)))",
            ),
        ),
        ("memory.fill 64 MiB", around("1024", "(memory.fill (i32.const 0) (i32.const 1) (i32.const 67108864))")),
        ("memory.fill 1 B", around("1", "(memory.fill (i32.const 0) (i32.const 1) (i32.const 1))")),
        ("memory.copy 64 MiB", around("1024", "(memory.copy (i32.const 1) (i32.const 0) (i32.const 67108863))")),
        ("memory.copy 1 B", around("1", "(memory.copy (i32.const 1) (i32.const 0) (i32.const 1))")),
        ("memory.grow 0", around("1", "(drop (memory.grow (i32.const 0)))")),
        ("memory.grow refused", around("1 1", "(drop (memory.grow (i32.const 1)))")),
        ("a chain of loads, 64 MiB", chase),
    ]
}

fn canonical() -> Vec<(&'static str, WatGuest)> {
    let mut resource = WatGuest::core(
        "(import \"host\" \"new\" (func $new (param i32) (result i32))) (import \"host\" \"drop\" (func $drop (param i32)))
         (func (export \"run\") (result i32) (loop $again (call $drop (call $new (i32.const 1))) (br $again)) unreachable)",
    );
    resource.imports = "(type $own (resource (rep i32)))".to_owned();
    resource.made = vec![("new", "(canon resource.new $own)"), ("drop", "(canon resource.drop $own)")];
    vec![("resource.new and drop", resource)]
}

fn host_calls() -> Vec<(&'static str, WatGuest)> {
    let root = "(global.get $root)";
    // Paths at 1024: "f", then "d", then "l"; a long one at 8192.
    let names = "(i32.store8 (i32.const 1024) (i32.const 102)) (i32.store8 (i32.const 1025) (i32.const 100)) (i32.store8 (i32.const 1026) (i32.const 108))";
    let file = format!(
        "{names} (call $open {root} (i32.const 0) (i32.const 1024) (i32.const 1) (i32.const 1) (i32.const 3) (i32.const 8))
         (local.set $h (i32.load (i32.const 12)))"
    );
    let dots = format!(
        "{names} (loop $fill (i32.store16 (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 2))) (i32.const 0x2f2e))
           (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2047))))
         (i32.store8 (i32.const 12286) (i32.const 102)) (local.set $i (i32.const 0))"
    );
    // A link to itself through as long a target as there may be.
    let link = format!(
        "{dots} (i32.store8 (i32.const 12286) (i32.const 108))
         (call $symlink {root} (i32.const 8192) (i32.const 4095) (i32.const 1026) (i32.const 1) (i32.const 8))"
    );
    // A folder "d" with 5,000 files of four letters.
    let full = format!(
        "{names} (call $make-folder {root} (i32.const 1025) (i32.const 1) (i32.const 8)) (i32.store16 (i32.const 2048) (i32.const 0x2f64))
         (loop $fill
           (i32.store (i32.const 2050) (i32.add (i32.const 0x61616161) (i32.or (i32.and (local.get $i) (i32.const 15))
             (i32.or (i32.shl (i32.and (local.get $i) (i32.const 0xf0)) (i32.const 4)) (i32.shl (i32.and (local.get $i) (i32.const 0xff00)) (i32.const 8))))))
           (call $open {root} (i32.const 0) (i32.const 2048) (i32.const 6) (i32.const 1) (i32.const 3) (i32.const 8))
           (call $drop-descriptor (i32.load (i32.const 12)))
           (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4000))))
         (i32.store8 (i32.const 2049) (i32.const 101)) (local.set $i (i32.const 0))"
    );
    let pollables = "(loop $fill (i32.store (i32.mul (local.get $i) (i32.const 4)) (call $subscribe (i64.const 0)))
                       (br_if $fill (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2000))))";
    let name = |at: u32| format!("(i32.const {at}) (i32.const 1)");
    let to = |old: u32, new: u32| format!("(call $rename {root} {} {root} {} (i32.const 8))", name(old), name(new));
    let offset = "(i64.mul (i64.extend_i32_u (i32.and (local.get $i) (i32.const 0x3ff))) (i64.const 65536))";
    let calls: Vec<(&'static str, String, String)> = vec![
        ("monotonic-clock.now", String::new(), "(drop (call $now))".into()),
        ("get-random-u64", String::new(), "(drop (call $random-u64))".into()),
        ("get-random-bytes 0", String::new(), "(call $random (i64.const 0) (i32.const 8))".into()),
        ("get-random-bytes 64 KiB", String::new(), "(call $random (i64.const 65536) (i32.const 8))".into()),
        ("get-random-bytes 4 MiB", String::new(), "(call $random (i64.const 4194304) (i32.const 8))".into()),
        ("get-arguments, many", String::new(), "(call $arguments (i32.const 8))".into()),
        ("get-environment, many", String::new(), "(call $environment (i32.const 8))".into()),
        ("get-stdout", String::new(), "(br_if $again (i32.gt_u (call $stdout) (i32.const 60000))) ".into()),
        ("get-directories", String::new(), "(call $preopens (i32.const 8)) (call $drop-descriptor (i32.load (i32.load (i32.const 8))))".into()),
        ("subscribe and drop", String::new(), "(call $drop-pollable (call $subscribe (i64.const 1)))".into()),
        ("pollable.ready", "(local.set $h (call $subscribe (i64.const 1)))".into(), "(drop (call $ready (local.get $h)))".into()),
        ("poll of 1", "(i32.store (i32.const 0) (call $subscribe (i64.const 0)))".into(), "(call $poll (i32.const 0) (i32.const 1) (i32.const 16384))".into()),
        ("poll of 2000", pollables.into(), "(call $poll (i32.const 0) (i32.const 2000) (i32.const 16384))".into()),
        ("check-write", "(local.set $h (call $stdout))".into(), "(call $check-write (local.get $h) (i32.const 8))".into()),
        ("stream write 0", "(local.set $h (call $stdout))".into(), "(call $stream-write (local.get $h) (i32.const 0) (i32.const 0) (i32.const 8))".into()),
        ("stream write 64 KiB", "(local.set $h (call $stdout))".into(), "(call $stream-write (local.get $h) (i32.const 0) (i32.const 65536) (i32.const 8))".into()),
        ("write-zeroes 64 KiB", "(local.set $h (call $stdout))".into(), "(call $zeroes (local.get $h) (i64.const 65536) (i32.const 8))".into()),
        ("write 1 B, same place", file.clone(), "(call $write (local.get $h) (i32.const 0) (i32.const 1) (i64.const 0) (i32.const 8))".into()),
        ("write 1 B at a chunk's end", file.clone(), format!("(call $write (local.get $h) (i32.const 0) (i32.const 1) (i64.add {offset} (i64.const 65535)) (i32.const 8)) (if (i32.eqz (i32.and (local.get $i) (i32.const 0x3ff))) (then (call $set-size (local.get $h) (i64.const 0) (i32.const 8))))")),
        ("write 64 KiB, same place", file.clone(), "(call $write (local.get $h) (i32.const 0) (i32.const 65536) (i64.const 0) (i32.const 8))".into()),
        ("write 64 KiB across chunks", file.clone(), format!("(call $write (local.get $h) (i32.const 0) (i32.const 65536) (i64.add {offset} (i64.const 1)) (i32.const 8)) (if (i32.eqz (i32.and (local.get $i) (i32.const 0x3ff))) (then (call $set-size (local.get $h) (i64.const 0) (i32.const 8))))")),
        ("set-size 0 and 1 GiB", file.clone(), "(call $set-size (local.get $h) (i64.const 0) (i32.const 8)) (call $set-size (local.get $h) (i64.const 1073741824) (i32.const 8))".into()),
        ("read 1 B", format!("{file} (call $set-size (local.get $h) (i64.const 67108864) (i32.const 8))"), format!("(call $read (local.get $h) (i64.const 1) {offset} (i32.const 8))")),
        ("read 64 KiB of a hole", format!("{file} (call $set-size (local.get $h) (i64.const 67108864) (i32.const 8))"), format!("(call $read (local.get $h) (i64.const 65536) {offset} (i32.const 8))")),
        ("read 64 KiB written", format!("{file} (call $write (local.get $h) (i32.const 0) (i32.const 65536) (i64.const 0) (i32.const 8))"), "(call $read (local.get $h) (i64.const 65536) (i64.const 0) (i32.const 8))".into()),
        ("read at the end", file.clone(), "(call $read (local.get $h) (i64.const 65536) (i64.const 0) (i32.const 8))".into()),
        ("open and drop", file.clone(), format!("(call $open {root} (i32.const 0) {} (i32.const 0) (i32.const 1) (i32.const 8)) (call $drop-descriptor (i32.load (i32.const 12)))", name(1024))),
        ("create, drop, unlink", file.clone(), format!("(call $open {root} (i32.const 0) {} (i32.const 1) (i32.const 3) (i32.const 8)) (call $drop-descriptor (i32.load (i32.const 12))) (call $unlink {root} {} (i32.const 8))", name(1025), name(1025))),
        ("stat-at", file.clone(), format!("(call $stat-at {root} (i32.const 0) {} (i32.const 8))", name(1024))),
        ("stat-at, 2048 parts", format!("{file} {dots}"), format!("(call $stat-at {root} (i32.const 0) (i32.const 8192) (i32.const 4095) (i32.const 8))")),
        ("stat-at through 40 long links", link.clone(), format!("(call $stat-at {root} (i32.const 1) {} (i32.const 8))", name(1026))),
        ("readlink-at, 4 KiB", link, format!("(call $readlink {root} {} (i32.const 8))", name(1026))),
        ("rename of a file", file, format!("{} {}", to(1024, 1025), to(1025, 1024))),
        ("rename of a full folder", full.clone(), format!("{} {}", to(1025, 1026), to(1026, 1025))),
        ("read-directory, first entry", full, format!("(call $open {root} (i32.const 0) {} (i32.const 0) (i32.const 1) (i32.const 8)) (local.set $h (i32.load (i32.const 12))) (call $list (local.get $h) (i32.const 8)) (call $entry (i32.load (i32.const 12)) (i32.const 32)) (call $drop-entries (i32.load (i32.const 12))) (call $drop-descriptor (local.get $h))", name(1025))),
    ];
    let mut guests: Vec<_> = calls.iter().map(|(name, before, repeated)| (*name, wasi(before, repeated))).collect();
    guests.extend([("denied call, 50,000 values", denied(50_000)), ("denied call", denied(0))]);
    guests
}

/// A call of an interface that is only there to say no, with a list.
fn denied(length: u32) -> WatGuest {
    let mut guest = WatGuest::core(&format!(
        "(import \"host\" \"f\" (func $f (param i32 i32) (result i32)))
         (func (export \"run\") (result i32) (loop $again (drop (call $f (i32.const 0) (i32.const {length}))) (br $again)) unreachable)"
    ));
    guest.imports =
        "(import \"wasi:http/a@0.2.0\" (instance $http (export \"f\" (func (param \"l\" (list u8)) (result bool)))))"
            .to_owned();
    guest.lowered = vec![("f", "$http \"f\"")];
    guest
}

/// The least of three measurements: other work on the machine only adds.
fn ns_per_fuel(guest: &WatGuest) -> f64 {
    (0..3).map(|_| measure(guest)).fold(f64::INFINITY, f64::min)
}

/// Runs it twice with different fuel, and divides the differences.
fn measure(guest: &WatGuest) -> f64 {
    let bytes = guest.bytes();
    let mut points = Vec::new();
    for fuel in [4_000_000, 44_000_000] {
        let limits = limits(&[
            (Limit::Fuel, fuel),
            (Limit::WallTime, 60_000),
            (Limit::Stdout, 256 << 20),
            (Limit::Handles, 65_000),
            (Limit::Memory, 1 << 30),
        ]);
        let program = sandbox().load(&bytes, &limits).expect("a program");
        let mut parts = parts(&[], limits);
        parts.argv.extend((0..100_000).map(|_| "a".to_owned()));
        parts.environment.extend((0..5_000).map(|number| (format!("{number:x}"), String::new())));
        let run = run_parts(&program, parts).expect("an outcome");
        let ended = &run.outcome.ending;
        let by_fuel = format!("{ended:?}").contains("Fuel");
        if !by_fuel {
            println!(
                "  (ended with {ended:?} {:?} after {} fuel, {} us)",
                run.outcome.refused, run.outcome.fuel, run.measured.wall_time_us
            );
            return run.measured.wall_time_us as f64 * 1000.0 / run.outcome.fuel as f64;
        }
        points.push((run.outcome.fuel as f64, run.measured.wall_time_us as f64 * 1000.0));
    }
    (points[1].1 - points[0].1) / (points[1].0 - points[0].0)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut too_cheap = 0;
    for (what, guests) in
        [("instructions", instructions()), ("canonical built-ins", canonical()), ("host calls", host_calls())]
    {
        println!("{what}: ns per fuel");
        for (name, guest) in guests {
            if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
                continue;
            }
            let ns = ns_per_fuel(&guest);
            too_cheap += usize::from(ns > NS_PER_FUEL_MAX);
            println!("{ns:8.3}  {name}{}", if ns > NS_PER_FUEL_MAX { "   TOO CHEAP" } else { "" });
        }
    }
    println!("{too_cheap} prices are too low");
}
