//! Code that was made elsewhere, for who does not compile: an artifact for each component, given by whoever vouches for it.

use hutch_engine::settings::Backend;
use hutch_engine::{Code, LoadError, artifact_header, read_artifact};
use hutch_model::digest::Digest;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wasmtime::component::Component;
use wasmtime::{Engine, Module, Precompiled};

/// Artifacts by the component that they were made from.
#[derive(Default)]
pub(crate) struct Given(Mutex<BTreeMap<Digest, Arc<[u8]>>>);

impl Given {
    fn artifacts(&self) -> MutexGuard<'_, BTreeMap<Digest, Arc<[u8]>>> {
        // Nothing is changed in more than one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an artifact for a backend, and says of which component it is.
    pub(crate) fn take(&self, backend: Backend, artifact: Vec<u8>) -> Result<Digest, LoadError> {
        let (header, _) = read_artifact(&artifact)?;
        if header.target != backend.name() {
            return Err(LoadError::Elsewhere { target: header.target, has: vec![backend.name()] });
        }
        self.artifacts().insert(header.component, artifact.into());
        Ok(header.component)
    }

    /// Whether there is the artifact of a component.
    #[cfg_attr(feature = "machine", allow(dead_code, reason = "a machine compiles what it was not given"))]
    pub(crate) fn has(&self, component: &Digest) -> bool {
        self.artifacts().contains_key(component)
    }

    /// The code of a component, and what instantiating it makes: component instances or resource types, whichever are more.
    pub(crate) fn code(&self, engine: &Engine, component: &Digest) -> Result<(Code, u64), LoadError> {
        let artifact = self.artifacts().get(component).cloned().ok_or_else(|| {
            LoadError::Host(format!("this host has no compiler, and was given no artifact of component {component}"))
        })?;
        // It was whole when it was taken.
        let (header, code) = artifact_header(&artifact)?;
        let code = loaded(engine, code).map_err(|error| LoadError::Host(format!("{error:#}")))?;
        code.check_denied(engine).map_err(LoadError::Invalid)?;
        Ok((code, header.made))
    }
}

#[allow(unsafe_code, reason = "wasmtime trusts compiled code; this is where that trust is given")]
fn loaded(runner: &Engine, code: &[u8]) -> wasmtime::Result<Code> {
    // SAFETY: whoever gave the artifact vouches for it, as `Sandbox::give` asks; its digest held, and the engine checks that it was made by
    // its own version under its own settings.
    unsafe {
        match Engine::detect_precompiled(code) {
            Some(Precompiled::Module) => Ok(Code::Module(Module::deserialize(runner, code)?)),
            _ => Ok(Code::Component(Component::deserialize(runner, code)?)),
        }
    }
}
