//! How long compiling takes beside what the engine alone takes, cold and in this process: with the same settings, and with those that
//! it has by itself. Measures the to-do application, or the components and modules whose files are named; wall time and processor time
//! of all threads, in rounds of all three.
#![allow(clippy::disallowed_methods, reason = "a program of this repository's developers")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a program for the people who measure")]

#[path = "../../../tests/sandbox/support/mod.rs"]
mod support;

use hutch_engine::settings;
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{Backend, Compile, Sandbox};
use std::time::Instant;
use wasmtime::{Config, Engine};

/// Rounds, of which the medians are shown: of what takes long, few.
const fn rounds(bytes: usize) -> usize {
    if bytes < 4 << 20 { 9 } else { 3 }
}

/// Seconds of this process's threads.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("a Linux system");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let ticks: Vec<f64> = fields.split(' ').skip(11).take(2).map(|field| field.parse().expect("a number")).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// Wall time and processor time of some work, in seconds.
fn timed(work: impl FnOnce()) -> [f64; 2] {
    let (start, used) = (Instant::now(), processor_seconds());
    work();
    [start.elapsed().as_secs_f64(), processor_seconds() - used]
}

fn engine_alone(engine: &Engine, bytes: &[u8]) {
    let is_component = bytes.get(4..8) == Some(&[0x0d, 0, 1, 0]);
    let made = if is_component { engine.precompile_component(bytes) } else { engine.precompile_module(bytes) };
    made.expect("an artifact");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(name: &str, bytes: &[u8], is_rows: bool) {
    let mut limits = Limits::default();
    limits.set(Limit::Component, u64::MAX);
    let equal = settings::compiler(Backend::Native).expect("a compiler");
    let stock = Engine::new(&Config::new()).expect("an engine");
    let rounds: Vec<[[f64; 2]; 3]> = (0..rounds(bytes.len()))
        .map(|_| {
            [
                timed(|| engine_alone(&equal, bytes)),
                timed(|| drop(Sandbox::new(Compile::Here, None).load(bytes, &limits).expect("a program"))),
                timed(|| engine_alone(&stock, bytes)),
            ]
        })
        .collect();
    if is_rows {
        let busy = |over: usize| median(rounds.iter().map(|round| round[1][1] / round[over][1]).collect());
        println!(
            "| compiling {name}, cold, equal settings, processors | {:.2} times the engine alone | | | | | 1.3 |",
            busy(0)
        );
        println!(
            "| compiling {name}, cold, with meters, processors | {:.2} times the engine by itself | | | | | 2 |",
            busy(2)
        );
        return;
    }
    println!(
        "{name}, {} bytes: seconds of the wall's clock and of processors, and ratios of the same round",
        bytes.len()
    );
    let rows = [
        "the engine alone, equal settings",
        "hutch, checked, compiled, mapped and linked",
        "the engine alone, its own settings",
    ];
    for (row, what) in rows.into_iter().enumerate() {
        let of = |kind: usize| median(rounds.iter().map(|round| round[row][kind]).collect());
        let ratio = |kind: usize| median(rounds.iter().map(|round| round[row][kind] / round[0][kind]).collect());
        println!("| {what} | {:.2} | {:.2} | {:.2} | {:.2} |", of(0), of(1), ratio(0), ratio(1));
    }
}

fn main() {
    let mut files: Vec<String> = std::env::args().skip(1).collect();
    let is_rows = files.first().is_some_and(|word| word == "--rows");
    if is_rows {
        files.remove(0);
    }
    if files.is_empty() {
        measure("packages/todo", &support::todo_bytes(), is_rows);
    }
    for file in files {
        measure(&file, &std::fs::read(&file).expect("a file"), is_rows);
    }
}
