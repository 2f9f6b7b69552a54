//! What can go wrong with a store, each with the path it went wrong at and the host's code for it.

use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{ChainError, EntryError, NotCanonical};
use hutch_model::limits::Limit;
use hutch_model::snapshot::ObjectError;
use std::io;
use std::path::{Path, PathBuf};

/// A store could not do what was asked; unless the variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The state is not the one that the record starts from.
    #[error("volume {volume} has changed: expected state {}, found {}", shown(.expected), shown(.found))]
    Conflict {
        /// The volume.
        volume: String,
        /// What the record says was there.
        expected: Option<Digest>,
        /// What is there.
        found: Option<Digest>,
    },
    /// Another process held the store for longer than a command waits.
    #[error("{}: another process kept it locked for too long", .path.display())]
    Busy {
        /// The database.
        path: PathBuf,
    },
    /// What is stored is not what was written.
    #[error("{}: {what} is damaged: {reason}", .path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// Which part of it: an object, an entry, a table.
        what: String,
        /// How it shows.
        reason: String,
    },
    /// A newer version wrote it.
    #[error("{}: {what}, and this version knows {known}", .path.display())]
    TooNew {
        /// The database.
        path: PathBuf,
        /// What was found.
        what: String,
        /// What this version can read.
        known: String,
    },
    /// What was named is not there, or is not kept any more.
    #[error("{}: there is no {what}", .path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
        /// What.
        what: String,
    },
    /// The system refused access.
    #[error("{}: may not {action}: {source}", .path.display())]
    Denied {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A folder holds something that no state can hold, or must not.
    #[error("{}: {reason}", .path.display())]
    Refused {
        /// The file, link or folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A folder holds more than it may.
    #[error("{}: more than {allowed} ({})", .path.display(), .limit.name())]
    Limited {
        /// Where the limit was passed.
        path: PathBuf,
        /// Which.
        limit: Limit,
        /// Its value.
        allowed: u64,
    },
    /// The system failed.
    #[error("{}: can't {action}: {source}", .path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The database engine failed.
    #[error("{}: {source}", .path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// The caller's record contradicts itself or the objects that come with it.
    #[error("the record can't be stored: {0}")]
    Record(String),
}

fn shown(state: &Option<Digest>) -> String {
    state.map_or_else(|| "none".to_owned(), |digest| digest.to_string())
}

impl StoreError {
    /// The host's code.
    pub fn code(&self) -> ErrorCode {
        match self {
            StoreError::Conflict { .. } => ErrorCode::Conflict,
            StoreError::Busy { .. } => ErrorCode::InstanceBusy,
            StoreError::Damaged { .. } => ErrorCode::StoreDamaged,
            StoreError::TooNew { .. } => ErrorCode::StoreTooNew,
            StoreError::Missing { .. } => ErrorCode::NotFound,
            StoreError::Denied { .. } | StoreError::Refused { .. } => ErrorCode::PermissionDenied,
            StoreError::Limited { limit, .. } => limit.info().code,
            StoreError::Io { .. } | StoreError::Database { .. } | StoreError::Record(_) => ErrorCode::HostFault,
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, action: &'static str, source: io::Error) -> StoreError {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Denied { path, action, source }
            }
            _ => StoreError::Io { path, action, source },
        }
    }

    pub(crate) fn object(path: &Path, error: &ObjectError) -> StoreError {
        let what = format!("{:?} {}", error.kind, error.digest).to_lowercase();
        StoreError::Damaged { path: path.to_owned(), what, reason: error.reason.clone() }
    }

    pub(crate) fn entry(path: &Path, error: &EntryError) -> StoreError {
        let path = path.to_owned();
        match error {
            EntryError::Unknown { sequence, reason } => StoreError::TooNew {
                path,
                what: format!("entry {sequence} says something new ({reason})"),
                known: "less".to_owned(),
            },
            EntryError::Altered { sequence } | EntryError::Malformed { sequence, .. } => {
                StoreError::Damaged { path, what: format!("entry {sequence}"), reason: error.to_string() }
            }
        }
    }

    pub(crate) fn chain(path: &Path, error: &ChainError) -> StoreError {
        let what = format!("entry {}", error.sequence());
        StoreError::Damaged { path: path.to_owned(), what, reason: error.to_string() }
    }

    pub(crate) fn database(path: &Path, source: rusqlite::Error) -> StoreError {
        use rusqlite::ErrorCode as Code;
        let path = path.to_owned();
        let denied = |kind| io::Error::new(kind, source.to_string());
        match source.sqlite_error_code() {
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Busy { path },
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
                StoreError::Damaged { path, what: "the database".to_owned(), reason: source.to_string() }
            }
            Some(
                Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen | Code::AuthorizationForStatementDenied,
            ) => {
                let source = denied(io::ErrorKind::PermissionDenied);
                StoreError::Denied { path, action: "write the database", source }
            }
            _ => match source {
                // A value of another type than the schema's: somebody else wrote it.
                rusqlite::Error::InvalidColumnType(..)
                | rusqlite::Error::FromSqlConversionFailure(..)
                | rusqlite::Error::IntegralValueOutOfRange(..) => {
                    StoreError::Damaged { path, what: "a table".to_owned(), reason: source.to_string() }
                }
                source => StoreError::Database { path, source },
            },
        }
    }
}

impl From<NotCanonical> for StoreError {
    fn from(error: NotCanonical) -> StoreError {
        StoreError::Record(error.to_string())
    }
}
