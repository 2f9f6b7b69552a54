//! Programs where there is no compiler: all of them are made of code that is given.

use crate::deadline::{Keeper, Stopwatch};
use crate::given::Given;
use crate::loaded::Program;
use hutch_engine::LoadError;
use hutch_engine::settings::{self, Backend};
use hutch_model::digest::Digest;
use hutch_model::limits::{Limit, Limits};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use wasmtime::Engine;

/// Makes programs of what it is given.
pub struct Sandbox {
    backend: Backend,
    given: Given,
    keeper: Keeper,
    ready: Mutex<Ready>,
}

#[derive(Default)]
struct Ready {
    /// Engines by stack size.
    engines: BTreeMap<u64, Engine>,
    programs: Vec<Program>,
}

impl Sandbox {
    /// A sandbox that has been given nothing yet, and compiles nothing.
    pub fn of_artifacts(backend: Backend) -> Sandbox {
        Sandbox { backend, given: Given::default(), keeper: Keeper::default(), ready: Mutex::default() }
    }

    fn ready(&self) -> MutexGuard<'_, Ready> {
        // Nothing is changed in more than one step.
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it the code of a component, and says of which.
    ///
    /// # Errors
    /// It is no artifact, or one for another kind of host.
    ///
    /// # Safety
    /// Its bytes are run as they are: they must be what a compiler of hutch made, and nobody may have changed them since. That their own
    /// digest holds says nothing of who made them.
    #[allow(unsafe_code, reason = "whoever calls this vouches for machine code")]
    pub unsafe fn give(&self, artifact: Vec<u8>) -> Result<Digest, LoadError> {
        let component = self.given.take(self.backend, artifact)?;
        self.ready().programs.retain(|program| program.digest != component);
        Ok(component)
    }

    /// Whether it was given the code of a component.
    pub fn has(&self, component: &Digest) -> bool {
        self.given.has(component)
    }

    /// The program of a component of which digest and length are known. The component itself is not read.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load_known<'c, E: From<LoadError>>(
        &self,
        digest: Digest,
        bytes: u64,
        limits: &Limits,
        _: impl FnOnce() -> Result<&'c [u8], E>,
    ) -> Result<Program, E> {
        let start = Stopwatch::start();
        let max = limits.get(Limit::Component);
        if bytes > max {
            return Err(LoadError::TooMuch(format!("it has {bytes} bytes, more than {max}")).into());
        }
        let stack_bytes = settings::stack_bytes(limits.get(Limit::Stack));
        let program = self.load(digest, stack_bytes)?;
        Ok(Program { load_time_us: start.elapsed_us(), ..program })
    }

    fn load(&self, digest: Digest, stack_bytes: u64) -> Result<Program, LoadError> {
        let mut ready = self.ready();
        let is_it = |program: &&Program| program.digest == digest && program.stack_bytes == stack_bytes;
        if let Some(program) = ready.programs.iter().find(is_it) {
            return Ok(program.clone());
        }
        let host = |error: wasmtime::Error| LoadError::Host(format!("{error:#}"));
        let engine = match ready.engines.get(&stack_bytes) {
            Some(engine) => engine.clone(),
            None => {
                LoadError::if_processor_lacks(self.backend)?;
                settings::runner(self.backend, stack_bytes, None).map_err(host)?
            }
        };
        let (code, made) = self.given.code(&engine, &digest)?;
        let linked = code.link(&engine)?;
        ready.engines.insert(stack_bytes, engine.clone());
        let keeper = self.keeper.clone();
        let program = Program { engine, linked, stack_bytes, made, load_time_us: 0, compiled: false, keeper, digest };
        ready.programs.push(program.clone());
        Ok(program)
    }
}
