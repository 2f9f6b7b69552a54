//! The engine's settings, each with its reason, and their names. The [`profile`] is what outcomes depend on: those of equal profiles are
//! comparable, wherever they were run. The [`build_key`] is what an artifact depends on beside the component: those of equal keys are
//! interchangeable, whichever machine made them.

use crate::rules;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::limits::Limit;
use hutch_world::{RULES, price};
#[cfg(feature = "runtime")]
use std::sync::Arc;
use std::sync::OnceLock;
use wasmtime::{Collector, Config, Engine, OperatorCost, WasmBacktraceDetails};

/// The compiled-in version of wasmtime; artifacts and outcomes of others are not comparable.
const WASMTIME_VERSION: &str = "48.0.8";

/// What runs the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// The processor.
    Native,
    /// The interpreter, where addresses have 64 bits.
    Interpreter64,
    /// The interpreter, where addresses have 32 bits.
    Interpreter32,
}

/// What a guest can notice: the same on every backend. All of it goes into the profile.
#[derive(Debug)]
struct Semantics {
    #[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "it is in the code: what makes code reads it"))]
    nan_canonicalization: bool,
    relaxed_simd: bool,
    relaxed_simd_deterministic: bool,
    memory64: bool,
    multi_memory: bool,
    tail_call: bool,
    exceptions: bool,
    function_references: bool,
    gc: bool,
    custom_page_sizes: bool,
    wide_arithmetic: bool,
    shared_memory: bool,
    stack_switching: bool,
    concurrency: bool,
    fuel: bool,
    epochs: bool,
    collector: Collector,
    memory_images: bool,
    memory_grow_fuel: u8,
    memory_grow_fuel_per_page: u8,
    table_grow_fuel: u8,
    call_fuel: u8,
    throw_fuel: u8,
    fused_fuel: u8,
    #[allow(dead_code, reason = "it is in the code, by what is compiled in the component's place")]
    fused_nan_canonicalization: bool,
    stack_bytes_min: u64,
}

const SEMANTICS: Semantics = Semantics {
    // Determinism: floats have one NaN, and what processors do in their own ways is done in one.
    nan_canonicalization: true,
    relaxed_simd: true,
    relaxed_simd_deterministic: true,
    // WebAssembly 3.0, as today's compilers emit it.
    memory64: true,
    multi_memory: true,
    tail_call: true,
    exceptions: true,
    // Collecting garbage takes time that no instruction pays for.
    function_references: false,
    gc: false,
    // Not in the standard, or not deterministic.
    custom_page_sizes: false,
    wide_arithmetic: false,
    shared_memory: false,
    stack_switching: false,
    concurrency: false,
    // Work is counted, and for liveness a guest can be stopped by the clock too.
    fuel: true,
    epochs: true,
    // For exceptions, which it keeps until the run ends: what each takes is counted as memory, and no collecting takes time.
    collector: Collector::Null,
    // What data segments cost to lay out is counted then, as every other copy is, on every platform; mapped, it would be counted
    // only where mapping can be had.
    memory_images: false,
    // Fuel for `memory.grow`: the system call behind it takes longer than an instruction.
    memory_grow_fuel: 200,
    memory_grow_fuel_per_page: u8::MAX,
    // Beside one unit for each element.
    table_grow_fuel: 200,
    // A call may be one of the engine's own functions, such as `resource.new`, which takes 60 ns.
    call_fuel: 8,
    // Beside the calls that it leaves, which were paid for when they were made.
    throw_fuel: u8::MAX,
    // Multiplying and adding at once (`relaxed_madd`): where the baseline has no instruction for it, a function of the engine's.
    fused_fuel: 16,
    // The engine leaves what that function makes of NaNs; `one_nan` sees to it.
    fused_nan_canonicalization: true,
    stack_bytes_min: 64 * 1024,
};

/// What is done with memory on one backend; no guest can notice.
#[derive(Debug)]
struct Memory {
    /// A memory that moved could fail where the next machine's would not; where there is no address space to reserve, it must.
    may_move: bool,
    reservation: u64,
    reservation_for_growth: u64,
    guard_bytes: u64,
    /// Whether an access out of bounds is found by the processor.
    signals_based_traps: bool,
}

/// What artifacts hold beside code. Names, not backtraces: a trap says which it was, and what would describe code addresses is left out.
#[derive(Debug)]
struct Description {
    address_map: bool,
    unwind_info: bool,
    debug_symbols: bool,
}

const DESCRIPTION: Description = Description { address_map: false, unwind_info: cfg!(windows), debug_symbols: false };

const RESERVED: Memory = Memory {
    may_move: false,
    reservation: 1 << 32,
    reservation_for_growth: 2 << 30,
    guard_bytes: 32 << 20,
    signals_based_traps: true,
};

const CHECKED: Memory = Memory {
    may_move: true,
    reservation: 0,
    reservation_for_growth: 1 << 20,
    guard_bytes: 0,
    signals_based_traps: false,
};

/// What native code may use beyond the least that its architecture has: the level that is called x86-64-v2, which every processor has
/// that was made since 2009. Never what the processor at hand has, so that code does not depend on where it was compiled. Each by
/// the compiler's name, and by the one that processors are asked by.
const X86_64_FEATURES: &[(&str, &str)] = &[
    ("has_sse3", "sse3"),
    ("has_ssse3", "ssse3"),
    ("has_cmpxchg16b", "cmpxchg16b"),
    ("has_sse41", "sse4.1"),
    ("has_sse42", "sse4.2"),
    ("has_popcnt", "popcnt"),
];

const fn features(architecture: &str) -> &'static [(&'static str, &'static str)] {
    match architecture.as_bytes() {
        b"x86_64" => X86_64_FEATURES,
        _ => &[],
    }
}

impl Backend {
    const fn memory(self) -> &'static Memory {
        match self {
            Backend::Native => &RESERVED,
            Backend::Interpreter64 | Backend::Interpreter32 => &CHECKED,
        }
    }

    /// What it is called, and for native code also what it is compiled for.
    pub fn name(self) -> String {
        match self {
            Backend::Native => {
                let system = match std::env::consts::OS {
                    "macos" => "apple-darwin",
                    "windows" => "pc-windows-msvc",
                    _ => "unknown-linux-gnu",
                };
                format!("{}-{system}", std::env::consts::ARCH)
            }
            Backend::Interpreter64 => "pulley64".to_owned(),
            Backend::Interpreter32 => "pulley32".to_owned(),
        }
    }
}

/// What native code may use and this processor does not have: none may run here then.
#[must_use]
pub fn missing_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let has = |name: &str| match name {
        "sse3" => std::is_x86_feature_detected!("sse3"),
        "ssse3" => std::is_x86_feature_detected!("ssse3"),
        "cmpxchg16b" => std::is_x86_feature_detected!("cmpxchg16b"),
        "sse4.1" => std::is_x86_feature_detected!("sse4.1"),
        "sse4.2" => std::is_x86_feature_detected!("sse4.2"),
        "popcnt" => std::is_x86_feature_detected!("popcnt"),
        _ => false,
    };
    #[cfg(not(target_arch = "x86_64"))]
    let has = |_: &str| false;
    features(std::env::consts::ARCH).iter().map(|(_, name)| *name).filter(|name| !has(name)).collect()
}

fn config(backend: Backend) -> wasmtime::Result<Config> {
    let Semantics {
        nan_canonicalization: _,
        relaxed_simd,
        relaxed_simd_deterministic,
        memory64,
        multi_memory,
        tail_call,
        exceptions,
        function_references,
        gc,
        custom_page_sizes,
        wide_arithmetic,
        shared_memory,
        stack_switching,
        concurrency,
        fuel,
        epochs,
        collector,
        memory_images,
        memory_grow_fuel,
        memory_grow_fuel_per_page,
        table_grow_fuel,
        call_fuel,
        throw_fuel,
        fused_fuel,
        fused_nan_canonicalization: _,
        stack_bytes_min: _,
    } = SEMANTICS;
    let mut cost = OperatorCost::new();
    cost.MemoryGrow = memory_grow_fuel;
    cost.variable.memory_grow_per_page = memory_grow_fuel_per_page;
    cost.TableGrow = table_grow_fuel;
    (cost.Call, cost.CallIndirect) = (call_fuel, call_fuel);
    (cost.ReturnCall, cost.ReturnCallIndirect) = (call_fuel, call_fuel);
    (cost.Throw, cost.ThrowRef) = (throw_fuel, throw_fuel);
    (cost.F32x4RelaxedMadd, cost.F32x4RelaxedNmadd) = (fused_fuel, fused_fuel);
    (cost.F64x2RelaxedMadd, cost.F64x2RelaxedNmadd) = (fused_fuel, fused_fuel);
    let mut config = Config::new();
    config.consume_fuel(fuel);
    config.operator_cost(cost);
    config.epoch_interruption(epochs);
    config.wasm_relaxed_simd(relaxed_simd);
    config.relaxed_simd_deterministic(relaxed_simd_deterministic);
    config.wasm_memory64(memory64);
    config.wasm_multi_memory(multi_memory);
    config.wasm_tail_call(tail_call);
    config.wasm_exceptions(exceptions);
    config.wasm_function_references(function_references);
    config.wasm_gc(gc);
    config.collector(collector);
    config.wasm_custom_page_sizes(custom_page_sizes);
    config.wasm_wide_arithmetic(wide_arithmetic);
    config.shared_memory(shared_memory);
    config.wasm_stack_switching(stack_switching);
    config.concurrency_support(concurrency);
    let Memory { may_move, reservation, reservation_for_growth, guard_bytes, signals_based_traps } = *backend.memory();
    config.memory_may_move(may_move);
    config.memory_reservation(reservation);
    config.memory_reservation_for_growth(reservation_for_growth);
    config.memory_guard_size(guard_bytes);
    config.signals_based_traps(signals_based_traps);
    config.memory_init_cow(memory_images);
    let Description { address_map, unwind_info, debug_symbols } = DESCRIPTION;
    config.generate_address_map(address_map);
    config.native_unwind_info(unwind_info);
    config.debug_symbols(debug_symbols);
    config.wasm_backtrace_max_frames(None);
    // Said, or the engine asks WASMTIME_BACKTRACE_DETAILS, and with it no artifact would load.
    config.wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if backend != Backend::Native {
        config.target(&backend.name())?;
    }
    Ok(config)
}

/// The stack that a run has for what its limit says, a power of two: each size has an engine of its own, which is kept, so there are
/// few. It is the next larger one there is, or the largest. Equal limits have equal stacks.
#[must_use]
pub fn stack_bytes(limit: u64) -> u64 {
    limit.clamp(SEMANTICS.stack_bytes_min, Limit::Stack.info().most).next_power_of_two()
}

/// An engine that runs artifacts and can't make them. Its guests have their memory from `memories`, or from the system.
///
/// # Errors
/// The engine can't be had, for want of memory for example.
#[cfg(feature = "runtime")]
pub fn runner(
    backend: Backend,
    stack_bytes: u64,
    memories: Option<Arc<dyn wasmtime::MemoryCreator>>,
) -> wasmtime::Result<Engine> {
    let stack_bytes = usize::try_from(stack_bytes)?;
    let mut config = config(backend)?;
    if let Some(memories) = memories {
        config.with_host_memory(memories);
    }
    config.max_wasm_stack(stack_bytes);
    #[cfg(feature = "compiler")]
    config.enable_compiler(false);
    // Nothing here is asynchronous; wasmtime refuses to build an engine whose other stacks would be the smaller ones.
    #[cfg(feature = "machine")]
    config.async_stack_size(stack_bytes);
    Engine::new(&config)
}

#[cfg(feature = "compiler")]
mod compile;
#[cfg(feature = "compiler")]
pub use compile::{Target, compiler, compiler_with};

/// What artifacts for a target depend on beside the component and what is refused before it is compiled.
#[cfg(feature = "compiler")]
#[must_use]
pub fn build_key(target: impl Into<Target>) -> String {
    let target = target.into();
    let mut hasher = Hasher::new(Kind::Profile);
    hasher.update_part(profile().as_bytes());
    hasher.update_part(target.name.as_bytes());
    let (memory, features) = (target.backend.memory(), target.features());
    hasher.update_part(format!("{memory:?} {features:?} {:?} {:?}", compile::OPT_LEVEL, compile::REGALLOC).as_bytes());
    hasher.update_part(format!("{DESCRIPTION:?}").as_bytes());
    short(&hasher.finish())
}

/// The name of what outcomes depend on, as `wasmtime-48.0.8-` and 16 hexadecimal digits: version, semantics and prices.
pub fn profile() -> &'static str {
    static PROFILE: OnceLock<String> = OnceLock::new();
    PROFILE.get_or_init(|| {
        let mut hasher = Hasher::new(Kind::Profile);
        hasher.update_part(WASMTIME_VERSION.as_bytes());
        hasher.update_part(format!("{SEMANTICS:?}").as_bytes());
        for rules in [price::ALL, RULES, rules::ALL] {
            for (name, value) in rules {
                hasher.update_part(name.as_bytes());
                hasher.update_part(&value.to_le_bytes());
            }
        }
        format!("wasmtime-{WASMTIME_VERSION}-{}", short(&hasher.finish()))
    })
}

fn short(digest: &Digest) -> String {
    digest.to_string().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What native code may use is what is written down here, and nothing that was found on this processor.
    #[cfg(feature = "machine")]
    #[test]
    fn nothing_is_asked_of_the_processor_when_code_is_made_for_it() {
        let module = b"\0asm\x01\0\0\0";
        let artifact = compiler(Backend::Native).unwrap().precompile_module(module).unwrap();
        let flag = |name: &str| artifact.windows(name.len()).position(|bytes| bytes == name.as_bytes());
        // Flags stand by name, each with a tag and its value: 1 for a truth, then 0 or 1.
        let is_set = |name: &str| flag(name).map(|at| artifact[at + name.len() + 1] == 1);
        for (name, _) in features(std::env::consts::ARCH) {
            assert_eq!(is_set(name), Some(true), "{name}");
        }
        if cfg!(target_arch = "x86_64") {
            for name in ["has_avx", "has_avx2", "has_fma", "has_bmi1", "has_bmi2", "has_lzcnt", "has_avx512f"] {
                assert_eq!(is_set(name), Some(false), "{name}");
            }
        }
        assert!(missing_features().is_empty());
    }

    #[cfg(feature = "machine")]
    #[test]
    fn artifacts_have_other_names_where_they_differ_and_outcomes_do_not() {
        let keys = [Backend::Native, Backend::Interpreter64, Backend::Interpreter32].map(build_key);
        assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2], "{keys:?}");
        assert!(profile().starts_with("wasmtime-48.0.8-"));
    }

    /// A setting that is written down where it is made would be in no name.
    #[test]
    fn what_the_engine_is_told_is_in_a_name() {
        // How backtraces look, which nobody sees.
        const SEEN_BY_NOBODY: [&str; 2] = ["wasm_backtrace_max_frames", "wasm_backtrace_details"];
        // A compiler's other half, which has to be told what the runner is.
        const NO_SETTING: [&str; 1] = ["enable_compiler"];
        let own = include_str!("settings.rs").split("#[cfg(test)]\nmod tests").next().unwrap();
        let source = [own, include_str!("settings/compile.rs")].concat();
        let told = source.lines().filter_map(|line| line.trim().strip_prefix("config.")?.split_once('('));
        let mut settings = 0;
        for (name, given) in told {
            let is_name = given.starts_with(|letter: char| letter == '&' || letter.is_ascii_lowercase())
                && !given.starts_with("true")
                && !given.starts_with("false")
                && !given.contains("cfg!");
            let is_constant = ["SEMANTICS.", "OPT_LEVEL)", "REGALLOC)"].iter().any(|name| given.starts_with(name));
            let is_exempt = SEEN_BY_NOBODY.contains(&name) || NO_SETTING.contains(&name);
            assert!(is_name || is_constant || is_exempt, "{name}({given}");
            settings += 1;
        }
        assert!(settings > 30, "only {settings} settings were found");
    }

    /// What is said to be there makes code, and what is not there is known by no name.
    #[cfg(feature = "machine")]
    #[test]
    fn targets_are_those_that_the_compiler_has() {
        let all = Target::all();
        assert_eq!(all[0], Target::from(Backend::Native));
        let names: Vec<&str> = all.iter().map(Target::name).collect();
        assert!(names.contains(&"pulley64") && names.contains(&"pulley32"), "{names:?}");
        let mut keys = std::collections::BTreeSet::new();
        for target in &all {
            assert_eq!(Target::named(target.name()).as_ref(), Some(target));
            assert!(compiler(target.clone()).unwrap().precompile_module(b"\0asm\x01\0\0\0").is_ok(), "{target:?}");
            keys.insert(build_key(target.clone()));
        }
        assert_eq!(keys.len(), all.len(), "two targets have one key");
        for name in ["", "mips-unknown-linux-gnu", "x86_64", "pulley"] {
            assert_eq!(Target::named(name), None);
        }
    }

    #[test]
    fn stacks_have_few_sizes_and_none_is_smaller_than_asked() {
        let most = Limit::Stack.info().most;
        let mut sizes = std::collections::BTreeSet::new();
        for limit in (0..=most).step_by(12_345).chain([0, 1, most - 1, most, u64::MAX]) {
            let size = stack_bytes(limit);
            assert!(
                size >= limit.min(most) && size < limit.saturating_mul(2).max(SEMANTICS.stack_bytes_min + 1),
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
