//! Why a component is no program.

use crate::feature::Feature;
use crate::settings::{self, Backend};
use hutch_model::error_code::ErrorCode;

/// Why a component is no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes are not a component, or one that imports what this host does not have.
    #[error("the component is not one that this host can run: {0}")]
    Invalid(String),
    /// It needs what this host does not run.
    #[error(
        "the component is not one that this host can run: it needs {feature}, which this host does not have: {said}"
    )]
    Lacking {
        /// What it needs.
        feature: Feature,
        /// In the engine's own words.
        said: String,
    },
    /// It is larger, or has more parts, than a component may have.
    #[error("the component is too large: {0}")]
    TooMuch(String),
    /// Compiling it took too long.
    #[error("the component was not compiled within {time_ms} ms")]
    TooSlow {
        /// The limit.
        time_ms: u64,
    },
    /// Code is made for processors that have more.
    #[error("this processor lacks {missing}, which the host's code for guests needs")]
    Processor {
        /// What it lacks.
        missing: String,
    },
    /// It was to be compiled for something that the compiler does not have.
    #[error("the compiler makes no code for {name:?}; it has {}", .has.join(", "))]
    Target {
        /// What was asked for.
        name: String,
        /// What there is.
        has: Vec<String>,
    },
    /// Its code was made for another host.
    #[error("the artifact is for {target}, and this host needs one for {}", .has.join(" or "))]
    Elsewhere {
        /// What it was made for.
        target: String,
        /// What this host runs.
        has: Vec<String>,
    },
    /// It is compiled behind a ring or not at all, and there is none.
    #[error("a ring is required around the compiler, and {0}")]
    Unenclosed(&'static str),
    /// The host's own failure.
    #[error("the component could not be loaded: {0}")]
    Host(String),
}

impl LoadError {
    /// The reason for a refusal: a feature that this host does not have, by its name, or the engine's own words.
    #[cfg(any(feature = "compiler", feature = "runtime"))]
    pub(crate) fn refused(said: String) -> LoadError {
        match Feature::meant_by(&said) {
            Some(feature) => LoadError::Lacking { feature, said },
            None => LoadError::Invalid(said),
        }
    }

    /// Refuses native code where the processor lacks what it may use.
    ///
    /// # Errors
    /// It does; what it lacks is named.
    pub fn if_processor_lacks(backend: Backend) -> Result<(), LoadError> {
        let missing = if backend == Backend::Native { settings::missing_features() } else { Vec::new() };
        match missing.is_empty() {
            true => Ok(()),
            false => Err(LoadError::Processor { missing: missing.join(", ") }),
        }
    }

    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            LoadError::Invalid(_) | LoadError::Lacking { .. } => ErrorCode::ComponentInvalid,
            LoadError::TooMuch(_) => ErrorCode::ComponentLimit,
            LoadError::TooSlow { .. } => ErrorCode::CompileTimeLimit,
            LoadError::Target { .. } | LoadError::Elsewhere { .. } => ErrorCode::TargetUnsupported,
            LoadError::Unenclosed(_) => ErrorCode::RingRequired,
            LoadError::Processor { .. } | LoadError::Host(_) => ErrorCode::HostFault,
        }
    }
}
