//! What is taken from the machine: the clock, randomness, and the places that requests name. Nothing else in this crate reaches for them.

use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use std::io;
use std::path::{Path, PathBuf};

/// The host's clock.
#[expect(clippy::disallowed_methods, reason = "the one place that asks the clock what time it is")]
pub(crate) fn now() -> Instant {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Instant::from_unix_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Bytes that nobody can guess.
#[expect(clippy::disallowed_methods, reason = "the one place that takes randomness")]
pub(crate) fn random() -> Result<[u8; 32], ErrorReport> {
    let mut bytes = [0; 32];
    let filled = getrandom::fill(&mut bytes);
    filled
        .map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("the system gives no randomness: {error}")))?;
    Ok(bytes)
}

/// A path from the root on.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, ErrorReport> {
    std::path::absolute(path).map_err(|error| unusable(path, &error))
}

/// A path without links, where there is anything; `None` where there is nothing.
#[expect(clippy::disallowed_methods, reason = "the caller named it, and nothing is opened")]
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// A file or folder that the caller named can't be used.
pub(crate) fn unusable(path: &Path, error: &io::Error) -> ErrorReport {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::NotFound,
        io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
        io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory | io::ErrorKind::InvalidInput => ErrorCode::Usage,
        _ => ErrorCode::HostFault,
    };
    ErrorReport::new(code, format!("{}: {error}", path.display()))
}
