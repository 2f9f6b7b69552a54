//! Core instructions, alone: traps by name, loops that nothing but fuel and the clock can end, growth, and bulk work.

use crate::support::again_until;
use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::wat_guest::WatGuest;
use hutch_model::limits::Limit;

const PAGE: u64 = 65_536;

#[test]
fn results_of_run() {
    check(&[
        Case::body("ok", "i32.const 0", exited(0)),
        Case::body("err", "i32.const 1", exited(1)),
        Case::body("neither", "i32.const 2", trapped("invalid_discriminant")),
    ]);
}

#[test]
fn traps_have_their_names() {
    let run = |rest: &str| format!("(func (export \"run\") (result i32) {rest})");
    let cases = [
        ("unreachable_code_reached", run("unreachable")),
        ("integer_division_by_zero", run("(i32.div_u (i32.const 1) (i32.const 0))")),
        ("integer_overflow", run("(i32.div_s (i32.const 0x80000000) (i32.const -1))")),
        ("bad_conversion_to_integer", run("(i32.trunc_f32_s (f32.const nan))")),
        ("integer_overflow", run("(i32.trunc_f32_s (f32.const 1e30))")),
        ("memory_out_of_bounds", run("(i32.load (i32.const -1))")),
        ("memory_out_of_bounds", run("(i64.store offset=4294967295 (i32.const -1) (i64.const 1)) (i32.const 0)")),
        ("memory_out_of_bounds", run("(memory.fill (i32.const 1) (i32.const 0) (i32.const -1)) (i32.const 0)")),
        ("memory_out_of_bounds", run("(memory.copy (i32.const 0) (i32.const -1) (i32.const 2)) (i32.const 0)")),
        ("indirect_call_to_null", format!("(table 1 funcref) {}", run("(call_indirect (result i32) (i32.const 0))"))),
        ("table_out_of_bounds", format!("(table 1 funcref) {}", run("(call_indirect (result i32) (i32.const 1))"))),
        (
            "bad_signature",
            format!("(table funcref (elem $f)) (func $f) {}", run("(call_indirect (result i32) (i32.const 0))")),
        ),
        (
            "table_out_of_bounds",
            format!(
                "(table 1 funcref) (elem $e func) {}",
                run("(table.init $e (i32.const 2) (i32.const 0) (i32.const 0)) (i32.const 0)")
            ),
        ),
        ("unreachable_code_reached", format!("(func $s unreachable) (start $s) {}", run("i32.const 0"))),
        ("memory_out_of_bounds", format!("(data (i32.const 131072) \"x\") {}", run("i32.const 0"))),
    ];
    check(&cases.map(|(trap, core)| Case::wat(&core, &WatGuest::core(&core), trapped(trap))));
}

/// Loops without end, each with another way to spend time.
fn endless() -> Vec<(&'static str, WatGuest)> {
    let around = |work: &str| WatGuest::body(&format!("(loop $again {work} (br $again)) unreachable"));
    let whole = |work: &str| {
        let mut guest = around(work);
        guest.memory = "1024".to_owned();
        guest
    };
    let bytes = 1024 * PAGE;
    let called = "(func $f (param i32) (result i32) (local.get 0)) (func (export \"run\") (result i32)
                  (loop $again (drop (call $f (i32.const 1))) (br $again)) unreachable)";
    let indirect = "(table funcref (elem $f)) (func $f) (func (export \"run\") (result i32)
                    (loop $again (call_indirect (i32.const 0)) (br $again)) unreachable)";
    let table = "(table $t 100000 funcref) (func (export \"run\") (result i32)
                 (loop $again (table.fill $t (i32.const 0) (ref.null func) (i32.const 100000)) (br $again)) unreachable)";
    let copied = "(table $t 100000 funcref) (func (export \"run\") (result i32)
                 (loop $again (table.copy (i32.const 1) (i32.const 0) (i32.const 99999)) (br $again)) unreachable)";
    let starts = "(func $s (loop $again (br $again))) (start $s) (func (export \"run\") (result i32) (i32.const 0))";
    let tables = "(func (export \"run\") (result i32) (local i32)
                  (loop $again (local.set 0 (i32.add (local.get 0) (i32.const 1)))
                    (block (block (block (br_table 0 1 2 (local.get 0)))))
                    (br $again)) unreachable)";
    vec![
        ("nothing", around("")),
        ("divisions", around("(drop (i64.div_u (i64.const -1) (i64.extend_i32_u (memory.size))))")),
        ("roots", around("(f64.store (i32.const 0) (f64.sqrt (f64.load (i32.const 0))))")),
        ("memory.fill of everything", whole(&format!("(memory.fill (i32.const 0) (i32.const 1) (i32.const {bytes}))"))),
        (
            "memory.copy of everything",
            whole(&format!("(memory.copy (i32.const 1) (i32.const 0) (i32.const {}))", bytes - 1)),
        ),
        ("memory.grow by nothing", around("(drop (memory.grow (i32.const 0)))")),
        ("calls", WatGuest::core(called)),
        ("indirect calls", WatGuest::core(indirect)),
        ("table.fill", WatGuest::core(table)),
        ("table.copy", WatGuest::core(copied)),
        ("a start function", WatGuest::core(starts)),
        ("br_table", WatGuest::core(tables)),
    ]
}

#[test]
fn endless_loops_end_by_fuel() {
    let cases = endless()
        .into_iter()
        .map(|(name, guest)| Case::wat(name, &guest, limited(Limit::Fuel)).under(Limit::Fuel, 200_000_000));
    check(&cases.collect::<Vec<_>>());
}

#[test]
fn endless_loops_end_by_the_clock() {
    for (name, guest) in endless() {
        let case =
            Case::wat(name, &guest, limited(Limit::WallTime)).under(Limit::Fuel, u64::MAX).under(Limit::WallTime, 100);
        let run = again_until(|| case.run().expect("an outcome"), |run| run.measured.wall_time_us < 1_000_000);
        assert!(
            run.measured.wall_time_us < 1_000_000,
            "{name} was never stopped before {} us",
            run.measured.wall_time_us
        );
        check(&[case]);
    }
}

#[test]
fn growth() {
    let grow = |pages: u64, then: &str| WatGuest::body(&format!("(memory.grow (i32.const {pages})) {then}"));
    // The template's memory has two pages.
    let limit = |pages: u64| pages * PAGE;
    let or_trap = "i32.const -1 i32.eq if unreachable end i32.const 0";
    let mut declared = WatGuest::body("(i32.eq (memory.grow (i32.const 2)) (i32.const -1)) (i32.eqz)");
    declared.memory = "2 3".to_owned();
    let mut huge = WatGuest::body("i32.const 0");
    huge.memory = "65536".to_owned();
    let table = |elements: u64, then: &str| {
        WatGuest::core(&format!(
            "(table $t 1 funcref) (func (export \"run\") (result i32)
               (table.grow $t (ref.null func) (i32.const {elements})) {then})"
        ))
    };
    let mut far = WatGuest::core(
        "(data (i32.const 0) \"a\") (data (i32.const -1) \"b\")
         (func (export \"run\") (result i32) (i32.ne (i32.load8_u (i32.const -1)) (i32.const 98)))",
    );
    far.memory = "65536".to_owned();
    let refused = "(loop $again (br_if $again (i32.eq (memory.grow (i32.const 9)) (i32.const -1)))) unreachable";
    let many_memories = format!(
        "(component {} (core module $m (func (export \"run\") (result i32) (i32.const 0))) (core instance $main (instantiate $m))
           (func $run (result (result)) (canon lift (core func $main \"run\")))
           (instance $exported (export \"run\" (func $run))) (export \"wasi:cli/run@0.2.0\" (instance $exported)))",
        "(core module (memory 100)) (core instance (instantiate 0))".to_owned()
            + &"(core instance (instantiate 0))".repeat(9)
    );
    check(&[
        Case::wat("grows to the page", &grow(8, or_trap), exited(0)).under(Limit::Memory, limit(10)),
        Case::wat("one page beyond", &grow(9, or_trap), limited(Limit::Memory))
            .under(Limit::Memory, limit(10))
            .refused(&[Limit::Memory])
            .inexact(),
        Case::wat("one page beyond, handled", &grow(9, "drop i32.const 0"), exited(0))
            .under(Limit::Memory, limit(10))
            .refused(&[Limit::Memory]),
        Case::wat("refused, then fails", &grow(9, "drop i32.const 1"), limited(Limit::Memory))
            .under(Limit::Memory, limit(10))
            .refused(&[Limit::Memory]),
        Case::wat("beyond what it declares", &declared, exited(0)),
        Case::wat("4 GiB at the start", &huge, limited(Limit::Memory)).refused(&[Limit::Memory]),
        Case::wat("table to the element", &table(9, or_trap), exited(0)).under(Limit::Tables, 10),
        Case::wat("table beyond", &table(10, or_trap), limited(Limit::Tables))
            .under(Limit::Tables, 10)
            .refused(&[Limit::Tables])
            .inexact(),
        Case::wat("table beyond, handled", &table(10, "drop i32.const 0"), exited(0))
            .under(Limit::Tables, 10)
            .refused(&[Limit::Tables]),
        Case::wat(
            "a table of ten million elements at the start",
            &WatGuest::core("(table 10000000 funcref) (func (export \"run\") (result i32) (i32.const 0))"),
            limited(Limit::Tables),
        )
        .refused(&[Limit::Tables]),
        // Data at both ends of 4 GiB, and nothing between: neither its code nor its memory has what lies there.
        Case::wat("data at the end of 4 GiB", &far, limited(Limit::Memory)).refused(&[Limit::Memory]),
        Case::wat("data at the end of 4 GiB, granted", &far, exited(0)).under(Limit::Memory, 5 << 30),
        Case::wat("refused without end", &WatGuest::body(refused), limited(Limit::Fuel))
            .under(Limit::Memory, limit(10))
            .under(Limit::Fuel, 10_000_000)
            .refused(&[Limit::Memory]),
        // Of two refusals, the later one counts.
        Case::wat(
            "table beyond, then memory beyond",
            &WatGuest::core(
                "(table $t 1 funcref) (func (export \"run\") (result i32) (drop (table.grow $t (ref.null func) (i32.const 100)))
                   (drop (memory.grow (i32.const 100))) unreachable)",
            ),
            limited(Limit::Memory),
        )
        .under(Limit::Memory, limit(10))
        .under(Limit::Tables, 10)
        .refused(&[Limit::Memory, Limit::Tables])
        .inexact(),
        // Memories add up.
        Case::text("ten memories fit", &many_memories, exited(0)).under(Limit::Memory, limit(1000)),
        Case::text("ten memories do not", &many_memories, limited(Limit::Memory))
            .under(Limit::Memory, limit(999))
            .refused(&[Limit::Memory]),
        Case::text("instances fit", &many_memories, exited(0)).under(Limit::Instances, 11),
        Case::text("instances do not", &many_memories, limited(Limit::Instances)).under(Limit::Instances, 10),
    ]);
}

/// What is called after `run`, to give back what it answered, is the guest's code too.
#[test]
fn after_run() {
    let after = |work: &str| {
        format!(
            "(component
               (core module $m (memory 1)
                 (func (export \"run\") (result i32) (i32.const 0)) (func (export \"after\") (param i32) {work}))
               (core instance $i (instantiate $m))
               (func $run (result (result)) (canon lift (core func $i \"run\") (post-return (core func $i \"after\"))))
               (instance $exported (export \"run\" (func $run))) (export \"wasi:cli/run@0.2.0\" (instance $exported)))"
        )
    };
    let recurses = "(call 1 (i32.add (local.get 0) (i32.const 1)))";
    check(&[
        Case::text("nothing", &after(""), exited(0)),
        Case::text("traps", &after("unreachable"), trapped("unreachable_code_reached")),
        Case::text("spins", &after("(loop $l (br $l))"), limited(Limit::Fuel)).under(Limit::Fuel, 10_000_000),
        Case::text("spins, by the clock", &after("(loop $l (br $l))"), limited(Limit::WallTime))
            .under(Limit::Fuel, u64::MAX)
            .under(Limit::WallTime, 50),
        Case::text("recurses", &after(recurses), limited(Limit::Stack)),
        Case::text(
            "grows",
            &after("(if (i32.eq (memory.grow (i32.const 9999)) (i32.const -1)) (then unreachable))"),
            limited(Limit::Memory),
        )
        .refused(&[Limit::Memory])
        .inexact(),
    ]);
}

#[test]
fn stack() {
    let recurse = "(func $f (param i64) (result i64) (i64.add (call $f (local.get 0)) (i64.const 1)))
                   (func (export \"run\") (result i32) (i32.wrap_i64 (call $f (i64.const 0))))";
    let depth = |frames: u64| {
        format!(
            "(func $f (param i32) (result i32) (if (result i32) (local.get 0)
               (then (i32.add (call $f (i32.sub (local.get 0) (i32.const 1))) (i32.const 1))) (else (i32.const 0))))
             (func (export \"run\") (result i32) (drop (call $f (i32.const {frames}))) (i32.const 0))"
        )
    };
    check(&[
        Case::wat("recursion", &WatGuest::core(recurse), limited(Limit::Stack)),
        Case::wat("recursion on a small stack", &WatGuest::core(recurse), limited(Limit::Stack))
            .under(Limit::Stack, 64 * 1024),
        Case::wat("recursion on a large stack", &WatGuest::core(recurse), limited(Limit::Stack))
            .under(Limit::Stack, 8 << 20),
        Case::wat("deep, and back", &WatGuest::core(&depth(1000)), exited(0)),
        Case::wat("too deep for a small stack", &WatGuest::core(&depth(3000)), limited(Limit::Stack))
            .under(Limit::Stack, 16 * 1024),
    ]);
}
