//! WebAssembly 3.0: what of it runs, on the processor and on the interpreter alike, and that what does not is refused by its name.

use crate::support::case::{exited, limited, trapped};
use crate::support::wat_guest::wat;
use crate::support::{limits, parts, run_parts, sandbox, saw};
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::{Ending, Outcome};
use hutch_sandbox::{Backend, Compile, Feature, LoadError, Sandbox};

/// What a module comes to, the same on both engines.
fn outcome(name: &str, module: &str, changed: &[(Limit, u64)]) -> Outcome {
    let interpreted = Sandbox::new(Compile::Here, None).on(Backend::Interpreter64);
    let [native, interpreted] = [sandbox(), &interpreted].map(|sandbox| {
        let program = sandbox.load(&wat(module), &limits(changed)).unwrap_or_else(|error| panic!("{name}: {error}"));
        run_parts(&program, parts(&[], limits(changed))).unwrap_or_else(|error| panic!("{name}: {error}")).outcome
    });
    assert_eq!(native, interpreted, "{name} differs on the interpreter");
    native
}

fn start(fields: &str, body: &str) -> String {
    format!("(module {fields} (func (export \"_start\") (local $n i32) {body}))")
}

#[test]
fn webassembly_3_runs() {
    let fails_unless = |condition: &str| format!("(if (i32.eqz {condition}) (then unreachable))");
    let tag = "(tag $e (param i32)) (tag $other)
               (func $throws (param i32) (throw $e (local.get 0)))
               (func $deep (param i32) (if (local.get 0) (then (call $deep (i32.sub (local.get 0) (i32.const 1)))) (else (call $throws (i32.const 42)))))";
    let caught = "(block $h (result i32) (try_table (catch $e $h) (call $deep (i32.const 100))) (i32.const 0))";
    let again = "(block $h (result i32) (try_table (catch $e $h)
                   (block $r (result exnref) (try_table (catch_all_ref $r) (call $throws (i32.const 7))) unreachable)
                   throw_ref) (i32.const 0))";
    let through = "(block $h (try_table (catch_all $h) (block $o (try_table (catch $other $o) (call $throws (i32.const 1))))) unreachable)";
    let counted = format!(
        "(loop $l (drop {}) (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 10000))))",
        "(block $h (result i32) (try_table (catch $e $h) (call $throws (i32.const 42))) (i32.const 0))"
    );
    let tail = "(func $count (param i32) (result i32) (if (result i32) (local.get 0)
                  (then (return_call $count (i32.sub (local.get 0) (i32.const 1)))) (else (i32.const 1))))
                (type $t (func (param i32) (result i32))) (table 1 funcref) (elem (i32.const 0) $count)";
    let wide = "(memory i64 1 3) (func $grow (result i64) (memory.grow (i64.const 1)))";
    let two = "(memory $a 1) (memory $b 1 2) (data (memory $b) (i32.const 0) \"b\")";
    let relaxed = "(i32.and
        (i32.eq (i32x4.extract_lane 0 (i32x4.relaxed_trunc_f32x4_s (v128.const f32x4 nan 1e20 -1e20 1))) (i32.const 0))
        (i32.and
          (i32.eq (i8x16.extract_lane_u 1 (i8x16.relaxed_swizzle (i8x16.splat (i32.const 9)) (v128.const i8x16 0 77 0 0 0 0 0 0 0 0 0 0 0 0 0 0))) (i32.const 0))
          (f32.eq (f32x4.extract_lane 0 (f32x4.relaxed_madd (f32x4.splat (f32.const 16777217)) (f32x4.splat (f32.const 3)) (f32x4.splat (f32.const 1)))) (f32.const 50331648))))";
    let runs = [
        (
            "an exception through a hundred calls",
            start(tag, &fails_unless(&format!("(i32.eq {caught} (i32.const 42))"))),
        ),
        ("thrown again", start(tag, &fails_unless(&format!("(i32.eq {again} (i32.const 7))")))),
        ("past a handler of another tag", start(tag, through)),
        ("ten thousand exceptions", start(tag, &counted)),
        ("a tail call a million times", start(tail, &fails_unless("(call $count (i32.const 1000000))"))),
        (
            "an indirect tail call",
            start(
                &format!(
                    "{tail} (func $to (result i32) (return_call_indirect (type $t) (i32.const 1000) (i32.const 0)))"
                ),
                &fails_unless("(call $to)"),
            ),
        ),
        (
            "64-bit addresses",
            start(
                wide,
                &format!(
                    "{} {} (i64.store (i64.const 131064) (i64.const 5))",
                    fails_unless("(i64.eq (call $grow) (i64.const 1))"),
                    fails_unless("(i64.eq (memory.size) (i64.const 2))")
                ),
            ),
        ),
        (
            "two memories",
            start(
                two,
                &format!(
                    "(memory.copy $a $b (i32.const 5) (i32.const 0) (i32.const 1)) {}",
                    fails_unless("(i32.eq (i32.load8_u $a (i32.const 5)) (i32.const 98))")
                ),
            ),
        ),
        ("relaxed vectors, in one way", start("", &fails_unless(relaxed))),
    ];
    for (name, module) in runs {
        let outcome = outcome(name, &module, &[]);
        assert_eq!((outcome.ending, outcome.fuel_exact), (exited(0), true), "{name}");
    }
    let ends = [
        ("caught by nobody", start(tag, "(call $throws (i32.const 1))"), vec![], trapped("uncaught_exception")),
        (
            "beyond the end, 64-bit",
            start(wide, "(i64.store (i64.const 0xffffffffffff) (i64.const 5))"),
            vec![],
            trapped("memory_out_of_bounds"),
        ),
        (
            "exceptions without end",
            start(tag, &format!("(loop $l (drop {caught}) (br $l))")),
            vec![(Limit::Fuel, 5_000_000)],
            limited(Limit::Fuel),
        ),
        (
            "exceptions without end, and little memory",
            start(tag, &format!("(loop $l (drop {caught}) (br $l))")),
            vec![(Limit::Memory, 200_000)],
            limited(Limit::Memory),
        ),
    ];
    for (name, module, changed, ending) in ends {
        assert_eq!(outcome(name, &module, &changed).ending, ending, "{name}");
    }
    let huge =
        start("(memory i64 1)", "(if (i64.ne (memory.grow (i64.const 65536)) (i64.const -1)) (then unreachable))");
    let outcome = outcome("more than 4 GiB", &huge, &[(Limit::Memory, 1 << 40)]);
    assert_eq!((outcome.ending, outcome.refused), (Ending::Exited { status: 0 }, vec![Limit::Memory]));
}

#[test]
fn what_is_not_run_is_refused_by_its_name() {
    let start = "(func (export \"_start\"))";
    let module = |fields: &str| format!("(module {fields} {start})");
    let body = |body: &str| format!("(module (memory 1) (func (export \"_start\") {body}))");
    let cases = [
        (module("(type (struct (field i32)))"), "garbage_collection"),
        (module("(type $a (array i8))"), "garbage_collection"),
        (body("(drop (ref.i31 (i32.const 1)))"), "garbage_collection"),
        (module("(rec (type (func)) (type (func)))"), "garbage_collection"),
        (
            module("(type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))"),
            "function_references",
        ),
        (
            module("(func (param funcref) (drop (ref.as_non_null (local.get 0))))"),
            "function_references",
        ),
        (module("(memory 1 1 shared)"), "threads"),
        (body("(drop (i32.atomic.load (i32.const 0)))"), "threads"),
        (module("(memory 1 (pagesize 1))"), "custom_page_sizes"),
        (
            body("(drop (drop (i64.add128 (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1))))"),
            "wide_arithmetic",
        ),
        (module("(type $f (func)) (type $c (cont $f))"), "stack_switching"),
        (module("(tag $t) (func (suspend $t))"), "stack_switching"),
        (body("try end"), "legacy_exceptions"),
        (module("(type (shared (struct)))"), "threads"),
        ("(component (core type $t (func (param i32))) (core func (canon thread.spawn-ref $t)))".to_owned(), "threads"),
        ("(component (type (map string u8)))".to_owned(), "later_components"),
        ("(component (type (list u8 4)))".to_owned(), "later_components"),
        ("(component (import \"v\" (value string)))".to_owned(), "later_components"),
        ("(component (type error-context))".to_owned(), "wasi_0_3"),
        ("(component (core func (canon waitable-set.new)))".to_owned(), "wasi_0_3"),
        ("(component (core func (canon thread.index)))".to_owned(), "wasi_0_3"),
        // Nothing in it waits.
        (
            "(component (import \"wasi:clocks/monotonic-clock@0.3.0\" (instance (export \"now\" (func (result u64))))))".to_owned(),
            "wasi_0_3",
        ),
        ("(component (type (stream u8)))".to_owned(), "wasi_0_3"),
        (
            "(component (core module $m (func (export \"f\") (result i32) i32.const 0)) (core instance $i (instantiate $m))
               (func (export \"f\") async (canon lift (core func $i \"f\"))))"
                .to_owned(),
            "wasi_0_3",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, name) in &cases {
        let error = sandbox().load(&wat(text), &Limits::default()).err();
        if !matches!(&error, Some(LoadError::Lacking { feature, .. }) if feature.name() == *name) {
            wrong.push(format!("{text}: {error:?}"));
        }
        saw("refused");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for feature in Feature::all() {
        assert!(cases.iter().any(|(_, name)| *name == feature.name()), "nothing needs {}", feature.name());
    }
    // Nothing that is missing is taken for a feature.
    for (text, said) in [
        (
            "(module (import \"wasi_unstable\" \"proc_exit\" (func (param i32))) (func (export \"_start\")))",
            "wasi_unstable",
        ),
        ("(module (memory (export \"memory\") i64 1) (func (export \"_start\")))", "64 bits"),
    ] {
        let error = sandbox().load(&wat(text), &Limits::default()).err();
        assert!(matches!(&error, Some(LoadError::Invalid(reason)) if reason.contains(said)), "{text}: {error:?}");
    }
}
