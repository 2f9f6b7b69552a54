//! The engine's settings, each with its reason, and their name: the profile. Outcomes are comparable only under one profile.

use hutch_model::digest::{Digest, Hasher, Kind};
use std::hash::Hash;
use std::sync::OnceLock;
use wasmtime::{Config, Engine, OperatorCost, OptLevel, RegallocAlgorithm, WasmBacktraceDetails};

/// Raise it when a change here changes outcomes but not the settings that wasmtime hashes.
const PROFILE_REVISION: u32 = 1;

/// Fuel for `memory.grow`, beside one unit for each page: the system call behind it takes longer than an instruction.
const MEMORY_GROW_FUEL: u8 = 200;

/// Fuel for `table.grow`, beside one unit for each element.
const TABLE_GROW_FUEL: u8 = 200;

/// Fuel for a call: it may be one of the engine's own functions, such as `resource.new`, which takes 35 ns.
const CALL_FUEL: u8 = 8;

/// The compiled-in version of wasmtime; artifacts and outcomes of others are not comparable.
const WASMTIME_VERSION: &str = "48.0.8";

fn config() -> Config {
    let mut config = Config::new();
    // Determinism: work is counted, floats have one NaN, what depends on the processor is off.
    config.consume_fuel(true);
    config.operator_cost(operator_cost());
    config.cranelift_nan_canonicalization(true);
    config.wasm_relaxed_simd(false);
    config.relaxed_simd_deterministic(true);
    // Liveness: a guest can be stopped by the clock.
    config.epoch_interruption(true);
    // Surface: what compilers for wasm32-wasip2 emit by default, and no more.
    config.wasm_memory64(false);
    // Several memories are what a component made of components that hand each other strings is compiled to.
    config.wasm_multi_memory(true);
    config.wasm_tail_call(false);
    config.wasm_custom_page_sizes(false);
    config.wasm_wide_arithmetic(false);
    config.shared_memory(false);
    config.concurrency_support(false);
    // A memory that moved could fail where the next machine's would not.
    config.memory_may_move(false);
    // Names, not backtraces: a trap says which it was. What would describe code addresses is left out of artifacts.
    config.wasm_backtrace_max_frames(None);
    // Said, or the engine asks WASMTIME_BACKTRACE_DETAILS, and with it no artifact would load.
    config.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    config.generate_address_map(false);
    config.native_unwind_info(cfg!(windows));
    config.debug_symbols(false);
    // What data segments cost to lay out is counted then, as every other copy is, on every platform; mapped, it would be counted
    // only where mapping can't be had.
    config.memory_init_cow(false);
    // Code.
    config.cranelift_opt_level(OptLevel::Speed);
    config.cranelift_regalloc_algorithm(RegallocAlgorithm::Backtracking);
    config
}

fn operator_cost() -> OperatorCost {
    let mut cost = OperatorCost::new();
    cost.MemoryGrow = MEMORY_GROW_FUEL;
    cost.variable.memory_grow_per_page = u8::MAX;
    cost.TableGrow = TABLE_GROW_FUEL;
    (cost.Call, cost.CallIndirect) = (CALL_FUEL, CALL_FUEL);
    cost
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
    hasher.update_part(&PROFILE_REVISION.to_le_bytes());
    // These change outcomes, but are not in wasmtime's own hash (it only covers what loading an artifact depends on).
    hasher.update_part(b"nan-canonical speed backtracking");
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
}
