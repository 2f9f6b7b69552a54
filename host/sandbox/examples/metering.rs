//! What each of the engine's switches costs on code that only computes: kernels, with one switch after another, as ratios to the engine
//! without any; with `--rows` the means alone, as rows of the table that `tests/speed/run` heads. Every round runs each once, and the least of many short ones counts, so that what else the machine does matters little.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::print_stdout, reason = "a program for the people who measure")]

use std::time::Instant;
use wasmtime::{Config, Engine, Instance, Module, Store, TypedFunc};

const ROUNDS: usize = 200;

/// Each is `run: func(param i32) (result i32)`, with a parameter that makes it take about a millisecond.
const KERNELS: [(&str, i32, &str); 6] = [
    (
        "integers",
        600_000,
        "(func (export \"run\") (param $n i32) (result i32) (local $x i32)
           (local.set $x (i32.const 1))
           (loop $l (local.set $x (i32.xor (i32.mul (local.get $x) (i32.const 1664525)) (i32.shr_u (local.get $x) (i32.const 7))))
             (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
           (local.get $x))",
    ),
    (
        "calls",
        23,
        "(func $fib (export \"run\") (param $n i32) (result i32)
           (if (result i32) (i32.lt_u (local.get $n) (i32.const 2)) (then (local.get $n))
             (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1))) (call $fib (i32.sub (local.get $n) (i32.const 2)))))))",
    ),
    (
        "sieve",
        300_000,
        "(memory 32) (func (export \"run\") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $primes i32)
           (memory.fill (i32.const 0) (i32.const 1) (local.get $n))
           (local.set $i (i32.const 2))
           (loop $next
             (if (i32.load8_u (local.get $i)) (then
               (local.set $primes (i32.add (local.get $primes) (i32.const 1)))
               (local.set $j (i32.shl (local.get $i) (i32.const 1)))
               (block $done (loop $strike
                 (br_if $done (i32.ge_u (local.get $j) (local.get $n)))
                 (i32.store8 (local.get $j) (i32.const 0))
                 (local.set $j (i32.add (local.get $j) (local.get $i))) (br $strike)))))
             (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
           (local.get $primes))",
    ),
    (
        "matrix of floats",
        96,
        "(memory 16) (func (export \"run\") (param $n i32) (result i32) (local $i i32) (local $j i32) (local $k i32) (local $sum f64)
           (loop $rows (local.set $j (i32.const 0))
             (loop $columns (local.set $k (i32.const 0)) (local.set $sum (f64.const 0))
               (loop $dot
                 (local.set $sum (f64.add (local.get $sum) (f64.mul
                   (f64.load (i32.shl (i32.add (i32.mul (local.get $i) (local.get $n)) (local.get $k)) (i32.const 3)))
                   (f64.load offset=270336 (i32.shl (i32.add (i32.mul (local.get $k) (local.get $n)) (local.get $j)) (i32.const 3))))))
                 (br_if $dot (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (local.get $n))))
               (f64.store offset=540672 (i32.shl (i32.add (i32.mul (local.get $i) (local.get $n)) (local.get $j)) (i32.const 3)) (local.get $sum))
               (br_if $columns (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
             (br_if $rows (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
           (i32.const 0))",
    ),
    (
        "bytes and branches",
        250_000,
        "(memory 1) (data (i32.const 0) \"{\\22a\\22:[1,22,333,{\\22bcd\\22:null}],\\22e\\22:true} \")
         (func (export \"run\") (param $n i32) (result i32) (local $at i32) (local $byte i32) (local $depth i32) (local $seen i32)
           (loop $l
             (local.set $byte (i32.load8_u (local.get $at)))
             (local.set $at (i32.rem_u (i32.add (local.get $at) (i32.const 1)) (i32.const 41)))
             (if (i32.eq (i32.or (local.get $byte) (i32.const 32)) (i32.const 123)) (then (local.set $depth (i32.add (local.get $depth) (i32.const 1))))
               (else (if (i32.eq (i32.or (local.get $byte) (i32.const 32)) (i32.const 125)) (then (local.set $depth (i32.sub (local.get $depth) (i32.const 1))))
                 (else (if (i32.lt_u (i32.sub (local.get $byte) (i32.const 48)) (i32.const 10)) (then (local.set $seen (i32.add (local.get $seen) (local.get $byte)))))))))
             (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
           (i32.add (local.get $depth) (local.get $seen)))",
    ),
    (
        "copies of 1 KiB",
        30_000,
        "(memory 16) (func (export \"run\") (param $n i32) (result i32)
           (loop $l (memory.copy (i32.shl (i32.and (local.get $n) (i32.const 255)) (i32.const 10)) (i32.const 524288) (i32.const 1024))
             (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
           (i32.load (i32.const 4)))",
    ),
];

#[derive(Clone, Copy, Default)]
struct Switches {
    fuel: bool,
    epoch: bool,
    one_nan: bool,
    checked: bool,
}

const NONE: Switches = Switches { fuel: false, epoch: false, one_nan: false, checked: false };

/// The last is what hutch runs with, and the one before it the same without fuel.
const COLUMNS: [(&str, Switches); 7] = [
    ("none", NONE),
    ("one NaN", Switches { one_nan: true, ..NONE }),
    ("epoch", Switches { epoch: true, ..NONE }),
    ("fuel", Switches { fuel: true, ..NONE }),
    ("bounds", Switches { checked: true, ..NONE }),
    ("no fuel", Switches { epoch: true, one_nan: true, ..NONE }),
    ("hutch", Switches { fuel: true, epoch: true, one_nan: true, ..NONE }),
];

struct Ready {
    store: Store<()>,
    run: TypedFunc<i32, i32>,
}

fn ready(switches: Switches, kernel: &str) -> Ready {
    let mut config = Config::new();
    config.consume_fuel(switches.fuel).epoch_interruption(switches.epoch);
    config.cranelift_nan_canonicalization(switches.one_nan);
    if switches.checked {
        config.signals_based_traps(false).memory_reservation(0).memory_guard_size(0).memory_may_move(true);
    }
    let engine = Engine::new(&config).expect("an engine");
    let text = wat::parse_str(format!("(module {kernel})")).expect("a module");
    let module = Module::new(&engine, text).expect("a module");
    let mut store = Store::new(&engine, ());
    if switches.fuel {
        store.set_fuel(u64::MAX).expect("fuel");
    }
    if switches.epoch {
        store.set_epoch_deadline(1_000_000);
    }
    let instance = Instance::new(&mut store, &module, &[]).expect("an instance");
    let run = instance.get_typed_func(&mut store, "run").expect("a function");
    Ready { store, run }
}

/// The least milliseconds of a kernel, under each of the switches.
fn measure(name: &str, amount: i32, kernel: &str) -> [f64; COLUMNS.len()] {
    let mut all = COLUMNS.map(|(_, switches)| ready(switches, kernel));
    let mut least = [f64::INFINITY; COLUMNS.len()];
    let mut answers = Vec::new();
    for _ in 0..ROUNDS {
        for (ready, least) in all.iter_mut().zip(&mut least) {
            let start = Instant::now();
            answers.push(ready.run.call(&mut ready.store, amount).expect("an answer"));
            *least = least.min(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{name} has more than one answer");
    least
}

fn main() {
    let is_rows = std::env::args().any(|word| word == "--rows");
    let ratios = KERNELS.map(|(name, amount, kernel)| {
        let least = measure(name, amount, kernel);
        (name, least[0], least.map(|ms| ms / least[0]))
    });
    let mean = |column: usize| {
        let logarithms: f64 = ratios.iter().map(|(_, _, ratios)| ratios[column].ln()).sum();
        (logarithms / KERNELS.len() as f64).exp()
    };
    if is_rows {
        for (column, (name, _)) in COLUMNS.iter().enumerate().skip(1) {
            let (what, goal) = match *name {
                "hutch" => ("all meters on: one NaN, epoch, fuel", "1.3"),
                "no fuel" => ("fuel waived: one NaN, epoch", "1.15"),
                name => (name, ""),
            };
            println!("| compute kernels, {what} | {:.2} times the engine unmetered | | | | | {goal} |", mean(column));
        }
        return;
    }
    print!("{:<20} {:>9}", "kernel", "none, ms");
    COLUMNS[1..].iter().for_each(|(name, _)| print!(" {name:>8}"));
    println!();
    for (name, none_ms, ratios) in ratios {
        print!("{name:<20} {none_ms:>9.2}");
        ratios[1..].iter().for_each(|ratio| print!(" {ratio:>8.2}"));
        println!();
    }
    print!("{:<30}", "geometric mean");
    (1..COLUMNS.len()).for_each(|column| print!(" {:>8.2}", mean(column)));
    println!();
}
