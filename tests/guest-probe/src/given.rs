//! Behaviours that show what comes from outside: time, randomness, arguments, environment, stdin; and floating point.

use std::collections::{HashMap, HashSet};
use std::env;
use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::io::{self, Read};
use std::time::{Duration, Instant, SystemTime};

use hutch_guest::argv::Arguments;
use serde_json::{Value, json};

use crate::component::{Observation, fnv1a, hex, size, sizes};
use crate::endings::raw;
use crate::files::{content, failed};
use crate::wasi::clocks::{monotonic_clock, wall_clock};
use crate::wasi::io::poll;
use crate::wasi::random::{insecure, insecure_seed, random};

pub(crate) fn observe(command: &str, arguments: &Arguments) -> Option<Observation> {
    Some(match command {
        "sleep" => size(arguments, "milliseconds").map(|ms| Some(sleep(ms))),
        "poll" => Ok(Some(wait(&sizes(arguments, "milliseconds")))),
        "clock" => Ok(Some(clocks())),
        "random" => size(arguments, "bytes").map(|bytes| Some(randomness(bytes))),
        "env" => {
            let variables: Vec<(String, String)> = env::vars().collect();
            Ok(Some(json!({"variables": variables})))
        }
        "argv0" => Ok(Some(json!({"argv0": env::args().next()}))),
        "stdin" => stdin().map(|bytes| Some(content(&bytes, json!({})))),
        "stdin-echo" => stdin().and_then(|bytes| raw(&bytes)),
        "float-nan" => Ok(Some(nans())),
        _ => return None,
    })
}

fn stdin() -> Result<Vec<u8>, crate::component::Trouble> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(failed("stdin"))?;
    Ok(bytes)
}

fn wall() -> Value {
    let now = wall_clock::now();
    json!({"seconds": now.seconds, "nanoseconds": now.nanoseconds})
}

fn sleep(ms: u64) -> Value {
    let (wall_before, before_ns) = (wall(), monotonic_clock::now());
    std::thread::sleep(Duration::from_millis(ms));
    let (after_ns, wall_after) = (monotonic_clock::now(), wall());
    json!({
        "milliseconds": ms,
        "elapsedNs": after_ns.saturating_sub(before_ns),
        "wallBefore": wall_before,
        "wallAfter": wall_after,
    })
}

/// Rounds of `poll` over timers that start together; a timer that fired is not polled again.
fn wait(timers_ms: &[u64]) -> Value {
    let start_ns = monotonic_clock::now();
    let mut waiting: Vec<(usize, poll::Pollable)> = timers_ms
        .iter()
        .enumerate()
        .map(|(index, ms)| (index, monotonic_clock::subscribe_duration(ms.saturating_mul(1_000_000))))
        .collect();
    let mut rounds = Vec::new();
    while !waiting.is_empty() {
        let pollables: Vec<&poll::Pollable> = waiting.iter().map(|(_, pollable)| pollable).collect();
        let ready: HashSet<u32> = poll::poll(&pollables).into_iter().collect();
        let elapsed_ns = monotonic_clock::now().saturating_sub(start_ns);
        let mut fired = Vec::new();
        let mut place = 0;
        waiting.retain(|(index, _)| {
            let is_ready = ready.contains(&place);
            if is_ready {
                fired.push(*index);
            }
            place += 1;
            !is_ready
        });
        rounds.push(json!({"fired": fired, "elapsedNs": elapsed_ns}));
    }
    json!({"timersMs": timers_ms, "rounds": rounds})
}

fn clocks() -> Value {
    let wall_readings: Vec<Value> = (0..5).map(|_| wall()).collect();
    let monotonic_readings: Vec<u64> = (0..5).map(|_| monotonic_clock::now()).collect();
    let wall_resolution = wall_clock::resolution();
    let since_epoch_ns = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map(|since| since.as_nanos() as u64);
    let start = Instant::now();
    json!({
        "wall": wall_readings,
        "wallResolution": {"seconds": wall_resolution.seconds, "nanoseconds": wall_resolution.nanoseconds},
        "monotonicNs": monotonic_readings,
        "monotonicResolutionNs": monotonic_clock::resolution(),
        "stdSystemTimeNs": since_epoch_ns.ok(),
        "stdInstantElapsedNs": start.elapsed().as_nanos() as u64,
    })
}

fn randomness(bytes: u64) -> Value {
    /// More than that is not printed.
    const SHOWN_BYTES_MAX: usize = 64;
    let told = |drawn: Vec<u8>| json!({"length": drawn.len(), "fnv1a": fnv1a(&drawn), "hex": hex(&drawn[..drawn.len().min(SHOWN_BYTES_MAX)])});
    let (seed_low, seed_high) = insecure_seed::insecure_seed();
    let map: HashMap<u32, ()> = (0..8).map(|key| (key, ())).collect();
    json!({
        "random": told(random::get_random_bytes(bytes)),
        "randomU64": format!("{:016x}", random::get_random_u64()),
        "insecure": told(insecure::get_insecure_random_bytes(bytes)),
        "insecureU64": format!("{:016x}", insecure::get_insecure_random_u64()),
        "insecureSeed": [format!("{seed_low:016x}"), format!("{seed_high:016x}")],
        "stdHash": format!("{:016x}", RandomState::new().hash_one("probe")),
        "stdMapOrder": map.keys().collect::<Vec<_>>(),
    })
}

/// Bits of results that WebAssembly leaves open unless the engine makes NaNs canonical.
fn nans() -> Value {
    let (zero32, zero64) = (black_box(0.0_f32), black_box(0.0_f64));
    let payload32 = black_box(f32::from_bits(0x7fa1_2345));
    let payload64 = black_box(f64::from_bits(0xfff4_5678_9abc_def0));
    let bits32 = |value: f32| format!("{:08x}", black_box(value).to_bits());
    let bits64 = |value: f64| format!("{:016x}", black_box(value).to_bits());
    json!({
        "f32ZeroByZero": bits32(zero32 / zero32),
        "f32RootOfMinusOne": bits32(black_box(-1.0_f32).sqrt()),
        "f32PayloadPlusOne": bits32(payload32 + 1.0),
        "f32InfinityMinusInfinity": bits32(black_box(f32::INFINITY) - black_box(f32::INFINITY)),
        "f64ZeroByZero": bits64(zero64 / zero64),
        "f64RootOfMinusOne": bits64(black_box(-1.0_f64).sqrt()),
        "f64PayloadTimesTwo": bits64(payload64 * 2.0),
        "f64PayloadMinusPayload": bits64(payload64 - black_box(f64::from_bits(0x7ff8_0000_0000_0001))),
        "f64ZeroTimesInfinity": bits64(zero64 * black_box(f64::INFINITY)),
        "f32FromF64Payload": bits32(payload64 as f32),
        "f64FromF32Payload": bits64(f64::from(payload32)),
    })
}
