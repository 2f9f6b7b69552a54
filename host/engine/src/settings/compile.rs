//! How code is compiled: all of it goes into the build key.

use super::{Backend, SEMANTICS, config, features};
use wasmtime::{Engine, OptLevel, RegallocAlgorithm};

pub(super) const OPT_LEVEL: OptLevel = OptLevel::Speed;
/// The other one is not for untrusted code, says its documentation.
pub(super) const REGALLOC: RegallocAlgorithm = RegallocAlgorithm::Backtracking;

/// Processors and systems that code may be made for elsewhere, where the compiler has them.
const ELSEWHERE: [&str; 4] =
    ["aarch64-unknown-linux-gnu", "riscv64gc-unknown-linux-gnu", "s390x-unknown-linux-gnu", "x86_64-unknown-linux-gnu"];

/// What artifacts are made for: a backend of this machine, or a processor and system elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub(super) backend: Backend,
    pub(super) name: String,
}

impl From<Backend> for Target {
    fn from(backend: Backend) -> Target {
        Target { backend, name: backend.name() }
    }
}

impl Target {
    /// The target of this name, if this program's compiler has it.
    #[must_use]
    pub fn named(name: &str) -> Option<Target> {
        Target::candidates().find(|target| target.name == name).filter(|target| compiler(target.clone()).is_ok())
    }

    /// All that this program's compiler has: this machine's own is the first.
    #[must_use]
    pub fn all() -> Vec<Target> {
        Target::candidates().filter(|target| compiler(target.clone()).is_ok()).collect()
    }

    fn candidates() -> impl Iterator<Item = Target> {
        let here = [Backend::Native, Backend::Interpreter64, Backend::Interpreter32].map(Target::from);
        let native = here[0].name.clone();
        let elsewhere = ELSEWHERE.into_iter().filter(move |name| *name != native);
        let elsewhere = elsewhere.map(|name| Target { backend: Backend::Native, name: name.to_owned() });
        here.into_iter().chain(elsewhere)
    }

    /// What it is called: a processor and system as compilers write them, `pulley64` or `pulley32`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its code may use beyond the least that its architecture has.
    pub(super) fn features(&self) -> &'static [(&'static str, &'static str)] {
        features(self.name.split('-').next().unwrap_or_default())
    }
}

/// An engine that makes artifacts.
///
/// # Errors
/// The engine can't be had, for want of memory for example, or the compiler does not have this target.
pub fn compiler(target: impl Into<Target>) -> wasmtime::Result<Engine> {
    compiler_with(target, &[])
}

/// The same, whose code may use these features too, by the compiler's names: no artifact of hutch's is made so. Tests ask with it
/// whether the processor shows.
///
/// # Errors
/// As of [`compiler`], or the architecture has no such feature.
#[doc(hidden)]
#[allow(unsafe_code, reason = "features are declared that not every processor has; loading looks for them")]
pub fn compiler_with(target: impl Into<Target>, more: &[&str]) -> wasmtime::Result<Engine> {
    let target = target.into();
    let mut config = config(target.backend)?;
    config.cranelift_nan_canonicalization(SEMANTICS.nan_canonicalization);
    config.cranelift_opt_level(OPT_LEVEL);
    config.cranelift_regalloc_algorithm(REGALLOC);
    // Said, or the compiler asks the processor what it has.
    config.target(&target.name)?;
    for feature in target.features().iter().map(|(feature, _)| feature).chain(more) {
        // SAFETY: the flag is one of the compiler's for this architecture, and an artifact that has it is refused by wasmtime on a
        // processor that does not.
        unsafe { config.cranelift_flag_enable(feature) };
    }
    Engine::new(&config)
}
