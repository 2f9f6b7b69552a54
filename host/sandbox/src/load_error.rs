//! Why a component is no program.

use hutch_engine::settings::{self, Backend};
use hutch_model::error_code::ErrorCode;

/// Why a component is no program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The bytes are not a component, or one that needs what this host does not have.
    #[error("the component is not one that this host can run: {0}")]
    Invalid(String),
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
    /// The host's own failure.
    #[error("the component could not be loaded: {0}")]
    Host(String),
}

impl LoadError {
    /// Refuses native code where the processor lacks what it may use.
    pub(crate) fn if_processor_lacks(backend: Backend) -> Result<(), LoadError> {
        let missing = if backend == Backend::Native { settings::missing_features() } else { Vec::new() };
        match missing.is_empty() {
            true => Ok(()),
            false => Err(LoadError::Processor { missing: missing.join(", ") }),
        }
    }

    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            LoadError::Invalid(_) => ErrorCode::ComponentInvalid,
            LoadError::TooMuch(_) => ErrorCode::ComponentLimit,
            LoadError::TooSlow { .. } => ErrorCode::CompileTimeLimit,
            LoadError::Target { .. } | LoadError::Elsewhere { .. } => ErrorCode::TargetUnsupported,
            LoadError::Processor { .. } | LoadError::Host(_) => ErrorCode::HostFault,
        }
    }
}
