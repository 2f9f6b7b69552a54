//! The boundary itself: pointers, strings, lists, handles and `realloc` that break the rules of the canonical ABI, calls that
//! carry too much, and ends that come from inside other calls.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::wat_guest::WatGuest;
use hutch_model::limits::Limit;

const POINTER: &str = "pointer_out_of_bounds";
const LIST: &str = "list_out_of_bounds";
const UNALIGNED: &str = "unaligned_pointer";
const UNKNOWN: &str = "unknown_handle";

/// Imports of the interfaces that these guests call, and their functions.
fn guest(core: &str) -> WatGuest {
    WatGuest {
        imports: "
            (import \"wasi:random/random@0.2.0\" (instance $random
              (export \"get-random-bytes\" (func (param \"len\" u64) (result (list u8))))))
            (import \"wasi:io/error@0.2.0\" (instance $error (export \"error\" (type (sub resource)))))
            (alias export $error \"error\" (type $failed))
            (import \"wasi:io/poll@0.2.0\" (instance $poll
              (export \"pollable\" (type $p (sub resource)))
              (export \"poll\" (func (param \"in\" (list (borrow $p))) (result (list u32))))))
            (alias export $poll \"pollable\" (type $pollable))
            (import \"wasi:clocks/monotonic-clock@0.2.0\" (instance $clock
              (alias outer 1 $pollable (type $p0)) (export \"pollable\" (type $p (eq $p0)))
              (export \"subscribe-duration\" (func (param \"when\" u64) (result (own $p))))))
            (import \"wasi:io/streams@0.2.0\" (instance $streams
              (alias outer 1 $failed (type $e0)) (export \"error\" (type $e (eq $e0)))
              (type $se (variant (case \"last-operation-failed\" (own $e)) (case \"closed\")))
              (export \"stream-error\" (type $stream_error (eq $se)))
              (export \"output-stream\" (type $o (sub resource)))
              (export \"[method]output-stream.write\" (func (param \"self\" (borrow $o)) (param \"contents\" (list u8))
                (result (result (error $stream_error)))))
              (export \"[method]output-stream.blocking-write-and-flush\" (func (param \"self\" (borrow $o))
                (param \"contents\" (list u8)) (result (result (error $stream_error)))))
              (export \"[method]output-stream.write-zeroes\" (func (param \"self\" (borrow $o)) (param \"len\" u64)
                (result (result (error $stream_error)))))))
            (alias export $streams \"output-stream\" (type $output))
            (import \"wasi:cli/stdout@0.2.0\" (instance $stdout
              (alias outer 1 $output (type $o0)) (export \"output-stream\" (type $o (eq $o0)))
              (export \"get-stdout\" (func (result (own $o))))))
            (import \"wasi:cli/exit@0.2.0\" (instance $exit
              (export \"exit\" (func (param \"status\" (result))))))
            (import \"wasi:cli/environment@0.2.0\" (instance $environment
              (export \"get-arguments\" (func (result (list string))))))"
            .to_owned(),
        lowered: vec![
            ("random", "$random \"get-random-bytes\""),
            ("poll", "$poll \"poll\""),
            ("subscribe", "$clock \"subscribe-duration\""),
            ("write", "$streams \"[method]output-stream.write\""),
            ("write-flush", "$streams \"[method]output-stream.blocking-write-and-flush\""),
            ("zeroes", "$streams \"[method]output-stream.write-zeroes\""),
            ("stdout", "$stdout \"get-stdout\""),
            ("exit", "$exit \"exit\""),
            ("arguments", "$environment \"get-arguments\""),
        ],
        made: vec![
            ("drop-pollable", "(canon resource.drop $pollable)"),
            ("drop-output", "(canon resource.drop $output)"),
        ],
        core: format!(
            "(import \"host\" \"random\" (func $random (param i64 i32)))
             (import \"host\" \"poll\" (func $poll (param i32 i32 i32)))
             (import \"host\" \"subscribe\" (func $subscribe (param i64) (result i32)))
             (import \"host\" \"write\" (func $write (param i32 i32 i32 i32)))
             (import \"host\" \"write-flush\" (func $write_flush (param i32 i32 i32 i32)))
             (import \"host\" \"zeroes\" (func $zeroes (param i32 i64 i32)))
             (import \"host\" \"stdout\" (func $stdout (result i32)))
             (import \"host\" \"exit\" (func $exit (param i32)))
             (import \"host\" \"arguments\" (func $arguments (param i32)))
             (import \"host\" \"drop-pollable\" (func $drop_pollable (param i32)))
             (import \"host\" \"drop-output\" (func $drop_output (param i32)))
             {core}"
        ),
        ..WatGuest::default()
    }
}

fn run(body: &str) -> WatGuest {
    guest(&format!("(func (export \"run\") (result i32) (local $h i32) (local $i i32) {body})"))
}

#[test]
fn pointers_and_lengths() {
    let write = |pointer: i64, length: i64| {
        run(&format!(
            "(call $write (call $stdout) (i32.const {pointer}) (i32.const {length}) (i32.const 8)) (i32.const 0)"
        ))
    };
    check(&[
        Case::wat("the last byte", &write(131_071, 1), exited(0)).says("\0"),
        Case::wat("nothing, at the end", &write(131_072, 0), exited(0)).says(""),
        Case::wat("beyond the end", &write(131_072, 1), trapped(LIST)),
        Case::wat("overflowing", &write(-1, -1), trapped(LIST)),
        Case::wat("far too long", &write(0, 0x7fff_ffff), trapped(LIST)),
        Case::wat("result out of bounds", &run("(call $arguments (i32.const -4)) (i32.const 0)"), trapped(POINTER)),
        Case::wat("result not aligned", &run("(call $arguments (i32.const 1)) (i32.const 0)"), trapped(UNALIGNED)),
        Case::wat("result at the end", &run("(call $arguments (i32.const 131068)) (i32.const 0)"), trapped(POINTER)),
    ]);
}

#[test]
fn permits_of_streams() {
    let write = |function: &str, length: u64| {
        let mut guest = run(&format!(
            "(call {function} (call $stdout) (i32.const 0) (i32.const {length}) (i32.const 8)) (i32.load8_u (i32.const 8))"
        ));
        guest.memory = "8".to_owned();
        guest
    };
    let zeroes = |length: u64| {
        run(&format!("(call $zeroes (call $stdout) (i64.const {length}) (i32.const 8)) (i32.load8_u (i32.const 8))"))
    };
    check(&[
        Case::wat("64 KiB", &write("$write", 65_536), exited(0)),
        Case::wat("64 KiB and 1", &write("$write", 65_537), trapped("write_beyond_permit")),
        Case::wat("4 KiB", &write("$write_flush", 4096), exited(0)),
        Case::wat("4 KiB and 1", &write("$write_flush", 4097), trapped("blocking_write_too_long")),
        Case::wat("64 KiB of zeros", &zeroes(65_536), exited(0)).says(&"\0".repeat(65_536)),
        Case::wat("64 KiB of zeros and 1", &zeroes(65_537), trapped("write_beyond_permit")),
        Case::wat("zeros without end", &zeroes(u64::MAX), trapped("write_beyond_permit")),
    ]);
}

#[test]
fn handles() {
    let many = |work: &str| {
        run(&format!(
            "(loop $again {work} (local.set $i (i32.add (local.get $i) (i32.const 1)))
                        (br_if $again (i32.lt_u (local.get $i) (i32.const 100000)))) i32.const 0"
        ))
    };
    let duplicates = |count: u32| {
        let mut guest = run(&format!(
            "(local.set $h (call $subscribe (i64.const 1)))
             (loop $again (i32.store (i32.mul (local.get $i) (i32.const 4)) (local.get $h))
               (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $again (i32.lt_u (local.get $i) (i32.const {count}))))
             (call $poll (i32.const 0) (i32.const {count}) (i32.const 262144)) (i32.const 0)"
        ));
        guest.memory = "100".to_owned();
        guest
    };
    check(&[
        Case::wat(
            "none",
            &run("(call $write (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)) (i32.const 0)"),
            trapped(UNKNOWN),
        ),
        Case::wat(
            "forged",
            &run("(call $write (i32.const 1234) (i32.const 0) (i32.const 1) (i32.const 8)) (i32.const 0)"),
            trapped(UNKNOWN),
        ),
        Case::wat(
            "of another type",
            &run(
                "(call $write (call $subscribe (i64.const 1)) (i32.const 0) (i32.const 1) (i32.const 8)) (i32.const 0)",
            ),
            trapped("handle_of_another_type"),
        ),
        Case::wat(
            "dropped twice",
            &run(
                "(local.set $h (call $stdout)) (call $drop_output (local.get $h)) (call $drop_output (local.get $h)) (i32.const 0)",
            ),
            trapped(UNKNOWN),
        ),
        Case::wat(
            "used after its end",
            &run(
                "(local.set $h (call $stdout)) (call $drop_output (local.get $h)) (call $write (local.get $h) (i32.const 0) (i32.const 1) (i32.const 8)) (i32.const 0)",
            ),
            trapped(UNKNOWN),
        ),
        Case::wat(
            "dropped as another type",
            &run("(call $drop_output (call $subscribe (i64.const 1))) (i32.const 0)"),
            trapped("handle_of_another_type"),
        ),
        Case::wat("made and dropped", &many("(call $drop_pollable (call $subscribe (i64.const 1)))"), exited(0)),
        Case::wat("made and kept", &many("(drop (call $subscribe (i64.const 1)))"), limited(Limit::Handles)),
        Case::wat("streams kept", &many("(drop (call $stdout))"), limited(Limit::Handles)),
        Case::wat("to the limit", &run("(drop (call $stdout)) (drop (call $stdout)) (i32.const 0)"), exited(0))
            .under(Limit::Handles, 2),
        Case::wat(
            "beyond the limit",
            &run("(drop (call $stdout)) (drop (call $stdout)) (i32.const 0)"),
            limited(Limit::Handles),
        )
        .under(Limit::Handles, 1),
        Case::wat(
            "poll of nothing",
            &run("(call $poll (i32.const 0) (i32.const 0) (i32.const 8)) (i32.const 0)"),
            trapped("poll_of_nothing"),
        ),
        Case::wat("poll of one many times", &duplicates(4_000), exited(0)),
        Case::wat("poll of one too many times", &duplicates(5_000), limited(Limit::Handles)),
        Case::wat(
            "poll of a list without end",
            &run("(call $poll (i32.const 0) (i32.const 0x3fffffff) (i32.const 8)) (i32.const 0)"),
            trapped(LIST),
        ),
    ]);
}

#[test]
fn realloc() {
    let with = |realloc: &str| {
        let mut guest = run("(call $random (i64.const 1000) (i32.const 8)) (i32.const 0)");
        guest.realloc = realloc.to_owned();
        guest
    };
    let mut unaligned = run("(call $arguments (i32.const 8)) (i32.const 0)");
    unaligned.realloc = "i32.const 1".to_owned();
    check(&[
        Case::wat("in place", &with("i32.const 0"), exited(0)),
        Case::wat("out of bounds", &with("i32.const -1"), trapped(POINTER)),
        Case::wat("not aligned", &unaligned, trapped(UNALIGNED)),
        Case::wat("too near the end", &with("i32.const 131000"), trapped(POINTER)),
        Case::wat("traps", &with("unreachable"), trapped("unreachable_code_reached")),
        Case::wat("loops", &with("(loop $l (br $l)) unreachable"), limited(Limit::Fuel)).under(Limit::Fuel, 10_000_000),
        Case::wat("loops, by the clock", &with("(loop $l (br $l)) unreachable"), limited(Limit::WallTime))
            .under(Limit::Fuel, u64::MAX)
            .under(Limit::WallTime, 50),
        Case::wat(
            "recurses",
            &with("(drop (call 0 (local.get 0) (local.get 1) (local.get 2) (local.get 3))) (i32.const 0)"),
            limited(Limit::Stack),
        ),
        Case::wat(
            "grows without end",
            &with("(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable"),
            limited(Limit::Memory),
        )
        .refused(&[Limit::Memory])
        .inexact(),
    ]);
}

#[test]
fn too_much_at_once() {
    let random = |length: u64| run(&format!("(call $random (i64.const {length}) (i32.const 8)) (i32.const 0)"));
    let write = |length: u64| {
        let mut guest = run(&format!(
            "(call $write (call $stdout) (i32.const 0) (i32.const {length}) (i32.const 8)) (i32.const 0)"
        ));
        guest.memory = "100".to_owned();
        guest
    };
    let max = Limit::HostCall.info().default;
    check(&[
        Case::wat("random bytes", &random(max), exited(0)),
        Case::wat("one more random byte", &random(max + 1), limited(Limit::HostCall)),
        Case::wat("64 MiB of random bytes", &random(64 << 20), limited(Limit::HostCall)),
        Case::wat("random bytes without end", &random(u64::MAX), limited(Limit::HostCall)),
        Case::wat("4 MiB given", &write(max), trapped("write_beyond_permit")),
        Case::wat("more than 4 MiB given", &write(max + 1), limited(Limit::HostCall)),
    ]);
}

#[test]
fn ends_inside_calls() {
    let exit = |status: u32| run(&format!("(call $exit (i32.const {status})) unreachable"));
    let nested = guest(
        "(func $a (param i32) (if (local.get 0) (then (call $a (i32.sub (local.get 0) (i32.const 1)))) (else (call $exit (i32.const 0)))))
         (func (export \"run\") (result i32) (call $a (i32.const 100)) unreachable)",
    );
    let started =
        guest("(func $s (call $exit (i32.const 0))) (start $s) (func (export \"run\") (result i32) unreachable)");
    // What gives out memory for an answer ends the run instead: its table holds what the guest put there, a call of the host.
    let mut inside = guest(
        "(import \"libc\" \"table\" (table 1 funcref)) (elem (i32.const 0) $exits) (func $exits (call $exit (i32.const 0)))
         (func (export \"run\") (result i32) (call $random (i64.const 8) (i32.const 8)) unreachable)",
    );
    inside.libc = "(table (export \"table\") 1 funcref)".to_owned();
    inside.realloc = "(call_indirect (i32.const 0)) unreachable".to_owned();
    check(&[
        Case::wat("exit from realloc", &inside, trapped("cannot_leave_component")),
        Case::wat("exit with ok", &exit(0), exited(0)),
        Case::wat("exit with err", &exit(1), exited(1)),
        Case::wat("exit with neither", &exit(2), trapped("invalid_discriminant")),
        Case::wat("exit from deep within", &nested, exited(0)),
        Case::wat("exit before run", &started, exited(0)),
    ]);
}
