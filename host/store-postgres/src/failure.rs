//! What a server or a connection says, as errors of a store. Nothing of it holds a password: none is ever in what they say.

use crate::wire::WireError;
use hutch_store::StoreError;

/// The error for what went wrong with the store `at`.
pub(crate) fn failed(at: &str, error: WireError) -> StoreError {
    let at = at.to_owned();
    let damaged = |reason: String, at| StoreError::Damaged { at, what: "a table".to_owned(), reason };
    match &error {
        WireError::Refused { state, .. } => match state.as_str() {
            // A lock was not to be had in time; too many are connected, or it is starting; begun again too often.
            "55P03" | "53300" | "57P03" | "40001" | "40P01" => StoreError::Busy { at },
            // Rights, passwords, and a server that takes no writes.
            "42501" | "25006" => StoreError::Denied { at, action: "use the database", source: error.into() },
            state if state.starts_with("28") => {
                StoreError::Denied { at, action: "use the database", source: error.into() }
            }
            // The statements are always the same, so it is the tables that are not those of this store; or what stands there is broken.
            state if state.starts_with("42") || state.starts_with("22") || state.starts_with("23") => {
                damaged(error.to_string(), at)
            }
            "XX001" | "XX002" => damaged(error.to_string(), at),
            _ => StoreError::Failed { at, action: "use the database", source: error.into() },
        },
        WireError::Unexpected(reason) => damaged(reason.to_string(), at),
        WireError::Io(_) => StoreError::Failed { at, action: "reach the database", source: error.into() },
    }
}
