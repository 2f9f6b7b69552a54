//! From a component to code, where the caller is: what is refused, and what is made of the rest. It takes as long as it takes, on the
//! caller's stack, and the compiler may panic: who compiles what is not trusted sees to all three.

use crate::load_error::LoadError;
use crate::one_nan;
use crate::settings::{self, Target};
use crate::shape::{self, Made, Payloads, ShapeError};
use std::borrow::Cow;

/// Code that the compiler made, unchanged. The engine trusts its bytes as they are, so nothing else makes one.
pub struct Compiled {
    code: Vec<u8>,
    made: Made,
}

impl Compiled {
    /// Component instances that instantiating it makes, its own included.
    pub fn component_instances(&self) -> u64 {
        self.made.component_instances
    }

    /// Types of resources that it defines.
    pub fn resources(&self) -> u64 {
        self.made.resources
    }

    /// The larger number of both.
    pub fn made(&self) -> u64 {
        self.component_instances().max(self.resources())
    }

    /// The code alone.
    pub fn into_code(self) -> Vec<u8> {
        self.code
    }
}

/// Compiles a component, or a core module of WASI 0.1.
///
/// # Errors
/// It is neither, is too much, or needs what this host does not have; or there is no compiler for the target.
pub fn compile(target: &Target, component: &[u8]) -> Result<Compiled, LoadError> {
    let (kind, made) = inspected(component)?;
    let engine =
        settings::compiler(target.clone()).map_err(|error| LoadError::Host(format!("no compiler: {error:#}")))?;
    let bytes = one_nan::compiled(component, kind == Payloads::Component).map_err(LoadError::Invalid)?;
    if let Cow::Owned(anew) = &bytes {
        // It is longer than what was looked at.
        inspected(anew)?;
    }
    let code = match kind {
        Payloads::Component => engine.precompile_component(&bytes),
        Payloads::CoreModule => engine.precompile_module(&bytes),
    };
    let code = code.map_err(|error| LoadError::refused(format!("{error:#}")))?;
    Ok(Compiled { code, made })
}

fn inspected(component: &[u8]) -> Result<(Payloads, Made), LoadError> {
    shape::inspect(component).map_err(|error| match error {
        ShapeError::Malformed(_) => LoadError::Invalid(error.to_string()),
        ShapeError::TooMuch { .. } => LoadError::TooMuch(error.to_string()),
    })
}

/// What is compiled in the place of a component or module, for tests that compile it by themselves.
#[doc(hidden)]
pub fn compiled_in_place_of(bytes: &[u8]) -> Cow<'_, [u8]> {
    let kind = shape::inspect(bytes).map(|(kind, _)| kind);
    one_nan::compiled(bytes, kind.is_ok_and(|kind| kind == Payloads::Component)).unwrap_or(Cow::Borrowed(bytes))
}
