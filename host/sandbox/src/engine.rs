//! The engine's settings, each with its reason, and their name: the profile. Outcomes are comparable only under one profile.

use crate::{guest, limiter, shape};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::limits::Limit;
use hutch_world::{RULES, price};
use std::hash::Hash;
use std::sync::OnceLock;
use wasmtime::{Config, Engine, OperatorCost, OptLevel, RegallocAlgorithm, WasmBacktraceDetails};

/// The compiled-in version of wasmtime; artifacts and outcomes of others are not comparable.
const WASMTIME_VERSION: &str = "48.0.8";

/// Every setting that is not wasmtime's default, or that outcomes depend on. All of it goes into the profile.
#[derive(Debug)]
struct Settings {
    nan_canonicalization: bool,
    relaxed_simd: bool,
    memory64: bool,
    multi_memory: bool,
    tail_call: bool,
    custom_page_sizes: bool,
    wide_arithmetic: bool,
    shared_memory: bool,
    memory_may_move: bool,
    memory_init_cow: bool,
    opt_level: OptLevel,
    regalloc: RegallocAlgorithm,
    memory_grow_fuel: u8,
    memory_grow_fuel_per_page: u8,
    table_grow_fuel: u8,
    call_fuel: u8,
}

const SETTINGS: Settings = Settings {
    // Determinism: floats have one NaN, what depends on the processor is off.
    nan_canonicalization: true,
    relaxed_simd: false,
    // Surface: what compilers for wasm32-wasip2 emit by default, and no more.
    memory64: false,
    // Several memories are what a component made of components that hand each other strings is compiled to.
    multi_memory: true,
    tail_call: false,
    custom_page_sizes: false,
    wide_arithmetic: false,
    shared_memory: false,
    // A memory that moved could fail where the next machine's would not.
    memory_may_move: false,
    // What data segments cost to lay out is counted then, as every other copy is, on every platform; mapped, it would be counted
    // only where mapping can't be had.
    memory_init_cow: false,
    opt_level: OptLevel::Speed,
    // The other one is not for untrusted code, says its documentation.
    regalloc: RegallocAlgorithm::Backtracking,
    // Fuel for `memory.grow`: the system call behind it takes longer than an instruction.
    memory_grow_fuel: 200,
    memory_grow_fuel_per_page: u8::MAX,
    // Beside one unit for each element.
    table_grow_fuel: 200,
    // A call may be one of the engine's own functions, such as `resource.new`, which takes 60 ns.
    call_fuel: 8,
};

fn config() -> Config {
    let Settings {
        nan_canonicalization,
        relaxed_simd,
        memory64,
        multi_memory,
        tail_call,
        custom_page_sizes,
        wide_arithmetic,
        shared_memory,
        memory_may_move,
        memory_init_cow,
        opt_level,
        regalloc,
        memory_grow_fuel,
        memory_grow_fuel_per_page,
        table_grow_fuel,
        call_fuel,
    } = SETTINGS;
    let mut cost = OperatorCost::new();
    cost.MemoryGrow = memory_grow_fuel;
    cost.variable.memory_grow_per_page = memory_grow_fuel_per_page;
    cost.TableGrow = table_grow_fuel;
    (cost.Call, cost.CallIndirect) = (call_fuel, call_fuel);
    let mut config = Config::new();
    config.consume_fuel(true);
    config.operator_cost(cost);
    // Liveness: a guest can be stopped by the clock.
    config.epoch_interruption(true);
    config.cranelift_nan_canonicalization(nan_canonicalization);
    config.wasm_relaxed_simd(relaxed_simd);
    config.relaxed_simd_deterministic(true);
    config.wasm_memory64(memory64);
    config.wasm_multi_memory(multi_memory);
    config.wasm_tail_call(tail_call);
    config.wasm_custom_page_sizes(custom_page_sizes);
    config.wasm_wide_arithmetic(wide_arithmetic);
    config.shared_memory(shared_memory);
    config.concurrency_support(false);
    config.memory_may_move(memory_may_move);
    config.memory_init_cow(memory_init_cow);
    // Names, not backtraces: a trap says which it was. What would describe code addresses is left out of artifacts.
    config.wasm_backtrace_max_frames(None);
    // Said, or the engine asks WASMTIME_BACKTRACE_DETAILS, and with it no artifact would load.
    config.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config.generate_address_map(false);
    config.native_unwind_info(cfg!(windows));
    config.debug_symbols(false);
    config.cranelift_opt_level(opt_level);
    config.cranelift_regalloc_algorithm(regalloc);
    config
}

/// Sizes that a guest's stack can have: powers of two. Each has an engine of its own, which is kept, so there are few.
const STACK_BYTES_MIN: u64 = 64 * 1024;

/// The stack that a run has for what its limit says: the next larger one there is, or the largest. Equal limits have equal stacks.
pub(crate) fn stack_bytes(limit: u64) -> u64 {
    limit.clamp(STACK_BYTES_MIN, Limit::Stack.info().most).next_power_of_two()
}

/// An engine that runs artifacts and can't make them.
pub(crate) fn runner(stack_bytes: u64) -> wasmtime::Result<Engine> {
    let stack_bytes = usize::try_from(stack_bytes)?;
    let mut config = config();
    config.enable_compiler(false);
    config.max_wasm_stack(stack_bytes);
    // Nothing here is asynchronous; wasmtime refuses to build an engine whose other stacks would be the smaller ones.
    config.async_stack_size(stack_bytes);
    let engine = Engine::new(&config)?;
    PROFILE.get_or_init(|| profile_of(&engine));
    Ok(engine)
}

/// An engine that makes artifacts.
pub(crate) fn compiler() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

/// What makes artifacts beside the engine: another one of these makes other code of the same component.
pub(crate) fn makers() -> Vec<String> {
    let caps = [
        shape::BODY_BYTES_MAX,
        shape::LARGE_BYTES,
        shape::LARGE_SQUARES_MAX,
        shape::LOCALS_MAX,
        shape::FUNCTIONS_MAX,
        shape::PARTS_MAX,
        shape::NESTING_MAX,
        shape::INSTANTIATED_MAX,
    ];
    vec![format!("shape {caps:?}")]
}

/// The name of engine and settings, as `wasmtime-48.0.8-` and 16 hexadecimal digits.
pub fn profile() -> &'static str {
    if PROFILE.get().is_none() {
        // Making an engine sets it; without one nothing runs and no outcome has a profile.
        let _ = runner(1 << 19);
    }
    PROFILE.get_or_init(|| format!("wasmtime-{WASMTIME_VERSION}-none"))
}

static PROFILE: OnceLock<String> = OnceLock::new();

/// The name that an engine gives itself: [`profile`] without another engine made for it.
fn profile_of(engine: &Engine) -> String {
    let mut stable = StableHasher(Hasher::new(Kind::Profile));
    engine.precompile_compatibility_hash().hash(&mut stable);
    let compatibility = std::hash::Hasher::finish(&stable);
    let mut hasher = Hasher::new(Kind::Profile);
    hasher.update_part(WASMTIME_VERSION.as_bytes());
    hasher.update_part(&compatibility.to_le_bytes());
    // These change outcomes, but are not in wasmtime's own hash, which covers only what loading an artifact depends on.
    hasher.update_part(format!("{SETTINGS:?}").as_bytes());
    makers().iter().for_each(|maker| hasher.update_part(maker.as_bytes()));
    let own = [("stack_bytes_min", STACK_BYTES_MIN)];
    for (name, value) in price::ALL.iter().chain(RULES).chain(guest::RULES).chain(limiter::RULES).chain(&own) {
        hasher.update_part(name.as_bytes());
        hasher.update_part(&value.to_le_bytes());
    }
    format!("wasmtime-{WASMTIME_VERSION}-{}", &short(&hasher.finish()))
}

fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(16).collect()
}

/// A `std` hasher whose result is the same in every process.
struct StableHasher(Hasher);

impl std::hash::Hasher for StableHasher {
    fn finish(&self) -> u64 {
        let digest = self.0.finish();
        digest.as_bytes().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update_part(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_does_not_depend_on_the_stack() {
        let of = |stack_bytes| profile_of(&runner(stack_bytes).unwrap());
        assert_eq!(of(64 << 10), of(8 << 20));
        assert_eq!(of(64 << 10), profile());
    }

    #[test]
    fn stacks_have_few_sizes_and_none_is_smaller_than_asked() {
        let most = Limit::Stack.info().most;
        let mut sizes = std::collections::BTreeSet::new();
        for limit in (0..=most).step_by(12_345).chain([0, 1, most - 1, most, u64::MAX]) {
            let size = stack_bytes(limit);
            assert!(
                size >= limit.min(most) && size < limit.saturating_mul(2).max(STACK_BYTES_MIN + 1),
                "{size} for {limit}"
            );
            sizes.insert(size);
        }
        assert_eq!(sizes.len(), 11);
    }

    /// The version that is written down here is the one that is built.
    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let lock = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
        let lock = std::fs::read_to_string(lock).unwrap();
        let version = format!("name = \"wasmtime\"\nversion = \"{WASMTIME_VERSION}\"\n");
        assert!(lock.contains(&version), "wasmtime is not {WASMTIME_VERSION}");
    }
}
