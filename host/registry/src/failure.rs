//! Why a package can't be pushed or pulled.

use crate::artifact::ArtifactError;
use hutch_model::error_code::ErrorCode;
use std::time::Duration;

/// A push or a pull that came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// No answer came, or none that is HTTP.
    #[error("{host} can't be reached: {reason}")]
    Unreachable {
        /// Who did not answer.
        host: String,
        /// Why, as far as is known.
        reason: String,
    },
    /// The registry does not know the caller.
    #[error("{host} refuses: {reason}")]
    Unauthorized {
        /// The registry.
        host: String,
        /// Why.
        reason: String,
    },
    /// It knows the caller, and does not allow it.
    #[error("{host} does not allow this: {reason}")]
    Denied {
        /// The registry.
        host: String,
        /// Why.
        reason: String,
    },
    /// The registry answers what no registry should.
    #[error("{host} answered {what} in a way that is not followed: {reason}")]
    Answer {
        /// The registry.
        host: String,
        /// What was asked.
        what: String,
        /// What is wrong.
        reason: String,
    },
    /// The registry has no time for it, also after what was waited for it.
    #[error("{host} is busy: {reason}{}", again(*.after))]
    Busy {
        /// The registry.
        host: String,
        /// What it says.
        reason: String,
        /// When to come again, if it says so.
        after: Option<Duration>,
    },
    /// Nothing has this name there.
    #[error("there is no {0}")]
    Missing(String),
    /// The tag names something else.
    #[error("{reference} is there already: it is {found}, and this package would be {pushed}")]
    TagTaken {
        /// The tag, and where.
        reference: String,
        /// What it names.
        found: String,
        /// What it would have named.
        pushed: String,
    },
    /// The tag of a list of signatures names something else.
    #[error("{0} should be the list of signatures, and is something else")]
    ListTaken(String),
    /// Another program wrote the same tag.
    #[error("{0} names something else than was just pushed: another program wrote it too")]
    Raced(String),
    /// Somebody else writes into the folder.
    #[error("another process kept {path} locked for {} ms", .wait.as_millis())]
    Locked {
        /// What is locked.
        path: String,
        /// How long it was waited for.
        wait: Duration,
    },
    /// The artifact is none, or not the one that was announced.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A folder on this machine can't be read or written.
    #[error("{path}: {source}")]
    Folder {
        /// Where.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

fn again(after: Option<Duration>) -> String {
    after.map(|after| format!("; it says to come again in {} s", after.as_secs())).unwrap_or_default()
}

impl RegistryError {
    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            RegistryError::Unreachable { .. } | RegistryError::Answer { .. } | RegistryError::Busy { .. } => {
                ErrorCode::RegistryFailed
            }
            RegistryError::Locked { .. } => ErrorCode::InstanceBusy,
            RegistryError::Unauthorized { .. } => ErrorCode::AuthenticationFailed,
            RegistryError::Denied { .. } => ErrorCode::PermissionDenied,
            RegistryError::Missing(_) => ErrorCode::PackageNotFound,
            RegistryError::TagTaken { .. } | RegistryError::ListTaken(_) => ErrorCode::AlreadyExists,
            RegistryError::Raced(_) => ErrorCode::Conflict,
            RegistryError::Artifact(ArtifactError::Package(error)) => error.code(),
            RegistryError::Artifact(_) => ErrorCode::ArtifactInvalid,
            RegistryError::Folder { source, .. } => match source.kind() {
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => ErrorCode::PackageNotFound,
                std::io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
                _ => ErrorCode::HostFault,
            },
        }
    }
}
