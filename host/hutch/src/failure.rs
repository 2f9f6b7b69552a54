//! Why there is no answer from a guest. Each has a code, and facts that a program can act on.

use crate::package::PackageError;
use hutch_model::contract::ArgumentViolation;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::guard::GuardViolation;
use hutch_model::invocation::InvocationError;
use hutch_sandbox::{DescribeError, LoadError, RunError};
use hutch_store::{StoreError, StoreNameError};

/// A call that could not be carried out. No guest ran, or what it did was dropped.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The package breaks the rules.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The component can't be run.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The arguments or another input can't reach a guest.
    #[error(transparent)]
    Invocation(#[from] InvocationError),
    /// An argument breaks a guardrail.
    #[error("{0}")]
    Guard(GuardViolation),
    /// The user has not confirmed.
    #[error("{reason}")]
    Confirmation {
        /// Which command, and who wants it confirmed.
        reason: String,
    },
    /// The arguments break the contract of the package.
    #[error("{}", .violations.iter().map(|violation| violation.message.as_str()).collect::<Vec<_>>().join("; "))]
    Arguments {
        /// Each of them; at least one.
        violations: Vec<ArgumentViolation>,
    },
    /// The answer was to be held to its schema, and there is none.
    #[error("no output schema is declared for this call")]
    NoSchema,
    /// A value was given for an environment name that the package does not ask for.
    #[error("the package does not ask for the environment name {name:?}")]
    Environment {
        /// The name.
        name: String,
    },
    /// The package declares a volume that no store can keep.
    #[error("the volume {name:?} can't be kept: {source}")]
    Volume {
        /// The declared name.
        name: String,
        /// Why.
        source: StoreNameError,
    },
    /// The store failed, or the state changed meanwhile.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The component's description can't be had.
    #[error(transparent)]
    Describe(#[from] DescribeError),
    /// The host failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Failure {
    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            Failure::Package(error) => error.code(),
            Failure::Load(error) => error.code(),
            Failure::Invocation(InvocationError::TooLarge { limit, .. }) => limit.info().code,
            Failure::Invocation(_) => ErrorCode::Usage,
            Failure::Guard(_) => ErrorCode::ArgumentRefused,
            Failure::Confirmation { .. } => ErrorCode::ConfirmationRequired,
            Failure::Arguments { .. } => ErrorCode::ArgumentInvalid,
            Failure::NoSchema => ErrorCode::Usage,
            Failure::Environment { .. } => ErrorCode::PermissionDenied,
            Failure::Volume { .. } => ErrorCode::PackageInvalid,
            Failure::Store(error) => error.code(),
            Failure::Describe(DescribeError::Guest(_)) => ErrorCode::ComponentInvalid,
            Failure::Describe(DescribeError::Host(_)) | Failure::Run(_) => ErrorCode::HostFault,
        }
    }

    /// The report, with the facts that the failure has.
    pub fn report(&self) -> ErrorReport {
        let report = ErrorReport::new(self.code(), self.to_string());
        match self {
            Failure::Package(error) => {
                report.detail("diagnostics", serde_json::to_value(error.diagnostics()).unwrap_or_default())
            }
            Failure::Invocation(InvocationError::TooLarge { limit, size, limit_value }) => {
                report.detail("limit", limit.name()).detail("limit_value", *limit_value).detail("size", *size)
            }
            Failure::Guard(violation) => {
                report.detail("rule", violation.rule.id()).detail("argument", violation.index as u64 + 1)
            }
            Failure::Arguments { violations } => {
                report.detail("violations", serde_json::to_value(violations).unwrap_or_default())
            }
            Failure::NoSchema => report.suggest("name a declared command, or leave --contract schema out"),
            Failure::Environment { name } => report.detail("name", name.as_str()),
            Failure::Store(StoreError::Conflict { volume, .. }) => report.detail("volume", volume.as_str()),
            _ => report,
        }
    }
}
