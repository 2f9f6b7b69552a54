//! Modules that nobody thought of come to the same on both engines, and in code for the baseline and for all that this processor has: what they leave in memory, what they return, how they end, the work
//! and the peak of memory. HUTCH_GENERATED says how many.

use crate::support::processor::Full;
use crate::support::{limits, parts, run_parts, sandbox};
use arbitrary::Unstructured;
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::{Ending, Outcome, Unreproducible};
use hutch_sandbox::{Backend, Compile, LoadError, Sandbox};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::collections::BTreeMap;
use wasm_smith::{Config, Module};

/// What all of them import and export.
const SHAPE: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "clock_time_get" (func (param i32 i64 i32) (result i32)))
    (func (export "integers") (param i32 i64) (result i64) unreachable)
    (func (export "floats") (param f32 f64) (result f64) unreachable)
    (func (export "vectors") (param v128) (result v128) unreachable)
    (memory (export "memory") 1 64))"#;

/// Calls what is exported, keeps what it returns in memory, and prints the first page. The function `fd_write` is the first.
const START: &str = r#"
    (func (export "_start")
        (i64.store (i32.const 1024) (call $integers (i32.const 7) (i64.const -9)))
        (f64.store (i32.const 1032) (call $floats (f32.const 1.5) (f64.const -2.25)))
        (v128.store (i32.const 1040) (call $vectors (v128.const i32x4 1 2 3 0x80000000)))
        (i32.store (i32.const 0) (i32.const 16)) (i32.store (i32.const 4) (i32.const 65520))
        (drop (call 0 (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"#;

/// A module made of the random bytes of a seed; half of them never trap of themselves.
fn module(seed: u64) -> String {
    let mut bytes = vec![0; 16 * 1024];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    let config = Config {
        module_shape: Some(wat::parse_str(SHAPE).expect("the shape is a module")),
        allow_start_export: false,
        disallow_traps: seed.is_multiple_of(2),
        gc_enabled: false,
        max_instructions: 300,
        max_memories: 2,
        max_memory32_bytes: 64 << 16,
        max_memory64_bytes: 64 << 16,
        max_table_elements: 1000,
        memory_max_size_required: true,
        threads_enabled: false,
        ..Config::default()
    };
    let made = Module::new(config, &mut Unstructured::new(&bytes)).expect("bytes make a module").to_bytes();
    let mut text = wasmprinter::print_bytes(&made).expect("what is made can be printed");
    let mut start = START.to_owned();
    for name in ["integers", "floats", "vectors"] {
        let (_, after) = text.split_once(&format!("(export \"{name}\" (func ")).expect("it is exported");
        let index = after.split(')').next().expect("an index");
        start = start.replace(&format!("${name}"), index);
    }
    text.truncate(text.rfind(')').expect("the end of the module"));
    format!("{text}{start})")
}

/// What it comes to, or why it is refused.
fn observed(sandbox: &Sandbox, bytes: &[u8], limits: &Limits) -> Result<Outcome, LoadError> {
    let program = sandbox.load(bytes, limits)?;
    Ok(run_parts(&program, parts(&[], limits.clone())).expect("no failure of the host").outcome)
}

/// How deep a stack goes is an engine's own, and such ends are marked.
fn comparable(observed: Result<Outcome, LoadError>) -> Result<Outcome, String> {
    let mut outcome = observed.map_err(|error| error.to_string())?;
    if outcome.unreproducible == [Unreproducible::Stack] {
        (outcome.fuel, outcome.memory_peak_bytes) = (0, 0);
    }
    Ok(outcome)
}

#[test]
fn generated_modules_come_to_the_same_on_both_engines() {
    let count = crate::support::generated(300);
    let interpreter = Sandbox::new(Compile::Here, None).on(Backend::Interpreter64);
    let limits = limits(&[(Limit::Fuel, 500_000)]);
    let full = Full::new();
    let mut ends = BTreeMap::new();
    for seed in 0..count {
        let text = module(seed);
        let bytes = wat::parse_str(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let [native, interpreted] =
            [sandbox(), &interpreter].map(|engine| comparable(observed(engine, &bytes, &limits)));
        assert_eq!(native, interpreted, "seed {seed} differs on the interpreter");
        if let Some(full) = &full {
            let full = full.with(&bytes).and_then(|(sandbox, _)| observed(sandbox, &bytes, &limits));
            assert_eq!(native, comparable(full), "seed {seed} differs on all that the processor has");
        }
        let end = match native {
            Ok(Outcome { ending: Ending::Exited { .. }, stdout, .. }) if stdout.len() == 65_520 => {
                "printed its memory".to_owned()
            }
            Ok(outcome) => format!("{:?}", outcome.ending),
            Err(error) => error,
        };
        *ends.entry(end).or_insert(0_u64) += 1;
    }
    println!("{ends:#?}");
    assert!(
        ends.get("printed its memory").is_some_and(|&whole| whole >= count / 16),
        "few are compared whole: {ends:#?}"
    );
}
