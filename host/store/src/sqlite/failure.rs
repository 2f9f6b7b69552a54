//! What SQLite says, as errors of a store.

use crate::error::{StoreError, at};
use rusqlite::{Error, ErrorCode as Code};
use std::path::Path;

/// Whether a statement does not fit the tables, or the moment.
pub(crate) fn is_unfit(error: &Error) -> bool {
    match error {
        Error::SqliteFailure(error, _) | Error::SqlInputError { error, .. } => {
            error.extended_code == rusqlite::ffi::SQLITE_ERROR
        }
        _ => false,
    }
}

/// The error for what went wrong with the database at `path`.
pub(crate) fn database(path: &Path, source: Error) -> StoreError {
    let at = at(path);
    match source.sqlite_error_code() {
        Some(Code::DatabaseBusy | Code::DatabaseLocked) => StoreError::Busy { at },
        Some(Code::DatabaseCorrupt | Code::NotADatabase) => {
            StoreError::Damaged { at, what: "the database".to_owned(), reason: source.to_string() }
        }
        Some(Code::ReadOnly | Code::PermissionDenied | Code::AuthorizationForStatementDenied) => {
            StoreError::Denied { at, action: "write the database", source: source.into() }
        }
        // SQLite says no more than that; the system is asked for its reason.
        Some(Code::CannotOpen) => StoreError::io(path, "open the database", reason(path)),
        // The statements are always the same, so it is the tables that are not those of this store.
        Some(Code::Unknown) if is_unfit(&source) => {
            StoreError::Damaged { at, what: "a table".to_owned(), reason: source.to_string() }
        }
        _ => match source {
            // A value of another type than the schema's: somebody else wrote it.
            Error::InvalidColumnType(..) | Error::FromSqlConversionFailure(..) | Error::IntegralValueOutOfRange(..) => {
                StoreError::Damaged { at, what: "a table".to_owned(), reason: source.to_string() }
            }
            source => StoreError::Failed { at, action: "use the database", source: source.into() },
        },
    }
}

/// Why the system would not open a file that SQLite could not open.
fn reason(path: &Path) -> std::io::Error {
    #[expect(clippy::disallowed_methods, reason = "SQLite opens its files by path, so the reason is asked for by path")]
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(path);
    match opened {
        Err(error) => error,
        // The database itself can be opened, so it is the files that belong beside it that can't be made.
        Ok(_) => std::io::Error::new(std::io::ErrorKind::PermissionDenied, "its log can't be opened"),
    }
}
