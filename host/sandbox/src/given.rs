//! Programs where there is no compiler: the code of each component is given, as an artifact that was made elsewhere.

use crate::artifact::read_artifact;
use crate::load_error::LoadError;
use hutch_engine::settings::{self, Backend};
use hutch_engine::{Code, Linked};
use hutch_model::digest::Digest;
use hutch_model::limits::{Limit, Limits};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};

/// Makes programs of what it is given.
pub struct Sandbox {
    backend: Backend,
    given: Mutex<Given>,
}

#[derive(Default)]
struct Given {
    /// Artifacts by the component that they were made from.
    artifacts: BTreeMap<Digest, Arc<[u8]>>,
    /// Engines by stack size.
    engines: BTreeMap<u64, Engine>,
    programs: Vec<Program>,
}

/// A compiled and linked component. Clones share it.
#[derive(Clone)]
pub struct Program {
    pub(crate) engine: Engine,
    pub(crate) linked: Linked,
    pub(crate) stack_bytes: u64,
    /// Component instances or resource types that instantiating it makes, whichever are more.
    pub(crate) made: u64,
    pub(crate) load_time_us: u64,
    pub(crate) compiled: bool,
    digest: Digest,
}

impl Sandbox {
    /// A sandbox that has been given nothing yet.
    pub fn new(backend: Backend) -> Sandbox {
        Sandbox { backend, given: Mutex::default() }
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        // Nothing is changed in more than one step.
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives it the code of a component, and says of which. The code is believed to be what a compiler of hutch made of it.
    ///
    /// # Errors
    /// It is no artifact, or one for another kind of host.
    pub fn give(&self, artifact: Vec<u8>) -> Result<Digest, LoadError> {
        let (header, _) = read_artifact(&artifact)?;
        if header.target != self.backend.name() {
            let (has, needs) = (header.target, self.backend.name());
            return Err(LoadError::Invalid(format!("the artifact is for {has}, and this host needs one for {needs}")));
        }
        let mut given = self.given();
        given.programs.retain(|program| program.digest != header.component);
        given.artifacts.insert(header.component, artifact.into());
        Ok(header.component)
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
        let max = limits.get(Limit::Component);
        if bytes > max {
            return Err(LoadError::TooMuch(format!("it has {bytes} bytes, more than {max}")).into());
        }
        let stack_bytes = settings::stack_bytes(limits.get(Limit::Stack));
        Ok(self.load(digest, stack_bytes)?)
    }

    fn load(&self, digest: Digest, stack_bytes: u64) -> Result<Program, LoadError> {
        let mut given = self.given();
        let is_it = |program: &&Program| program.digest == digest && program.stack_bytes == stack_bytes;
        if let Some(program) = given.programs.iter().find(is_it) {
            return Ok(program.clone());
        }
        let host = |error: wasmtime::Error| LoadError::Host(format!("{error:#}"));
        let artifact = given.artifacts.get(&digest).cloned().ok_or_else(|| {
            LoadError::Host(format!("this host has no compiler, and was given no artifact of component {digest}"))
        })?;
        let engine = match given.engines.get(&stack_bytes) {
            Some(engine) => engine.clone(),
            None => settings::runner(self.backend, stack_bytes).map_err(host)?,
        };
        let (header, code) = read_artifact(&artifact)?;
        let code = loaded(&engine, code).map_err(host)?;
        code.check_denied(&engine).map_err(LoadError::Invalid)?;
        let linked = code.link(&engine).map_err(|error| match error.is::<wasmtime::OutOfMemory>() {
            true => host(error),
            false => LoadError::Invalid(format!("{error:#}")),
        })?;
        given.engines.insert(stack_bytes, engine.clone());
        let made = header.made;
        let program = Program { engine, linked, stack_bytes, made, load_time_us: 0, compiled: false, digest };
        given.programs.push(program.clone());
        Ok(program)
    }
}

#[allow(unsafe_code, reason = "wasmtime trusts compiled code; this is where that trust is given")]
fn loaded(runner: &Engine, code: &[u8]) -> wasmtime::Result<Code> {
    // SAFETY: whoever gave the artifact vouches for it (`Sandbox::give`); its digest held, and the engine checks that it was made by
    // its own version under its own settings.
    unsafe {
        match Engine::detect_precompiled(code) {
            Some(Precompiled::Module) => Ok(Code::Module(Module::deserialize(runner, code)?)),
            _ => Ok(Code::Component(Component::deserialize(runner, code)?)),
        }
    }
}

impl Program {
    /// The digest of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}
