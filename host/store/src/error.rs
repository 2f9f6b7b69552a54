//! What can go wrong with a store, each with the place it went wrong at and the host's code for it. Names no engine: a place is a
//! path or an address as text, and what a system said is an error of any kind.

use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::ledger::{ChainError, Contradiction, EntryError, NotCanonical};
use hutch_model::limits::Limit;
use hutch_model::snapshot::{Lack, ObjectError};
use std::error::Error;
#[cfg(feature = "machine")]
use std::{io, path::Path};

/// What a system said.
type Source = Box<dyn Error + Send + Sync>;

/// A store could not do what was asked; unless the variant says otherwise, nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
    /// A bundle has another entry in a place than the store has: each has gone its own way.
    #[error("entry {sequence} is another one here than in the bundle")]
    Forked {
        /// The place.
        sequence: u64,
    },
    /// What was being read from a real folder was changed meanwhile.
    #[error("{at}: was changed by another program while it was in use")]
    Changed {
        /// The path.
        at: String,
    },
    /// Another process held the store for longer than a command waits.
    #[error("{at}: another process kept it locked for too long")]
    Busy {
        /// The store.
        at: String,
    },
    /// The whole instance was to be replaced, and others had it open for longer than a command waits; or it was being replaced.
    #[error("{at}: {} open: a server, or a command that has not ended", holders(.by))]
    InUse {
        /// The instance.
        at: String,
        /// The numbers of the processes, as far as the system says.
        by: Vec<u32>,
    },
    /// What is stored is not what was written.
    #[error("{at}: {what} is damaged: {reason}")]
    Damaged {
        /// The store.
        at: String,
        /// Which part of it: an object, an entry, a table.
        what: String,
        /// How it shows.
        reason: String,
    },
    /// A store was here and is not any more, or not as far as it was.
    #[error("{at}: {reason}")]
    Lost {
        /// The store.
        at: String,
        /// What is missing, and what a person can do.
        reason: String,
    },
    /// A newer version wrote it.
    #[error("{at}: {what}, and this version knows {known}")]
    TooNew {
        /// The store.
        at: String,
        /// What was found.
        what: String,
        /// What this version can read.
        known: String,
    },
    /// What was named is not there, or is not kept any more.
    #[error("{at}: there is no {what}")]
    Missing {
        /// Where it was looked for.
        at: String,
        /// What.
        what: String,
    },
    /// The first entries have no states any more: they go as records alone, and only to where there is nothing yet, with the first one that has them.
    #[error("{at}: the states before entry {kept_from} were dropped, and what had them is its record alone")]
    Dropped {
        /// The store, or the bundle.
        at: String,
        /// The first entry whose states are kept.
        kept_from: u64,
    },
    /// The system refused access.
    #[error("{at}: may not {action}: {source}")]
    Denied {
        /// The file or folder.
        at: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: Source,
    },
    /// A folder holds something that no state can hold, or must not.
    #[error("{at}: {reason}")]
    Refused {
        /// The file, link or folder.
        at: String,
        /// Why.
        reason: String,
    },
    /// A run that did not live has left something in folders that were granted to it, and this instance alone knows of it.
    #[error("{at}: a killed run is not settled, of entry {}; hutch state diff names the folder", listed(.open))]
    Unsettled {
        /// The instance.
        at: String,
        /// The places of the entries that began it.
        open: Vec<u64>,
    },
    /// A folder that was to be empty is not.
    #[error("{at}: the folder is not empty")]
    Occupied {
        /// The folder.
        at: String,
    },
    /// A folder holds more than it may.
    #[error("{at}: more than {allowed} ({})", .limit.name())]
    Limited {
        /// Where the limit was passed.
        at: String,
        /// Which.
        limit: Limit,
        /// Its value.
        allowed: u64,
    },
    /// The system failed.
    #[error("{at}: can't {action}: {source}")]
    Failed {
        /// The file, folder or store.
        at: String,
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: Source,
    },
    /// The system failed while an entry was made durable, and again when that was to be taken back: the next one to open the store
    /// finds the entry, or does not.
    #[error("{at}: can't say whether entry {sequence} is kept: {source}")]
    Uncertain {
        /// The store.
        at: String,
        /// The entry's place.
        sequence: u64,
        /// What the system said.
        source: Source,
    },
    /// The caller's record contradicts itself or the objects that come with it.
    #[error("the record can't be stored: {0}")]
    Record(String),
}

fn shown(state: &Option<Digest>) -> String {
    state.map_or_else(|| "none".to_owned(), |digest| digest.to_string())
}

fn holders(processes: &[u32]) -> String {
    match processes {
        [] => "another process has it".to_owned(),
        [process] => format!("process {process} has it"),
        _ => format!("processes {} have it", listed(processes)),
    }
}

fn listed(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A path as a place.
#[cfg(feature = "machine")]
pub(crate) fn at(path: &Path) -> String {
    path.display().to_string()
}

impl StoreError {
    /// The host's code.
    pub fn code(&self) -> ErrorCode {
        match self {
            StoreError::Conflict { .. }
            | StoreError::Forked { .. }
            | StoreError::Changed { .. }
            | StoreError::Unsettled { .. } => ErrorCode::Conflict,
            StoreError::Busy { .. } | StoreError::InUse { .. } => ErrorCode::InstanceBusy,
            StoreError::Occupied { .. } => ErrorCode::AlreadyExists,
            StoreError::Damaged { .. } | StoreError::Lost { .. } => ErrorCode::StoreDamaged,
            StoreError::TooNew { .. } => ErrorCode::StoreTooNew,
            StoreError::Missing { .. } | StoreError::Dropped { .. } => ErrorCode::NotFound,
            StoreError::Denied { .. } | StoreError::Refused { .. } => ErrorCode::PermissionDenied,
            StoreError::Limited { limit, .. } => limit.info().code,
            StoreError::Uncertain { .. } => ErrorCode::CommitUncertain,
            StoreError::Failed { .. } | StoreError::Record(_) => ErrorCode::HostFault,
        }
    }

    /// The system refused an action at a path.
    #[cfg(feature = "machine")]
    pub fn io(path: impl AsRef<Path>, action: &'static str, source: io::Error) -> StoreError {
        let (at, kind) = (at(path.as_ref()), source.kind());
        let source = Box::new(source);
        match kind {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Denied { at, action, source }
            }
            _ => StoreError::Failed { at, action, source },
        }
    }

    /// What it means that an object of the store `at` can't be had.
    pub fn object(at: impl Into<String>, error: &ObjectError) -> StoreError {
        let (at, what) = (at.into(), format!("{:?} {}", error.kind, error.digest).to_lowercase());
        match &error.lack {
            Lack::Missing | Lack::Damaged(_) => StoreError::Damaged { at, what, reason: error.lack.to_string() },
            Lack::Changed(path) => StoreError::Changed { at: path.clone() },
            Lack::Denied(path) => {
                let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
                StoreError::Denied { at: path.clone(), action: "read", source: Box::new(source) }
            }
            Lack::Unreadable(reason) => {
                StoreError::Failed { at, action: "read an object", source: format!("{what}: {reason}").into() }
            }
        }
    }

    /// An entry in this place, made elsewhere, comes to something else here.
    pub fn other_here(sequence: u64) -> StoreError {
        let (at, what) = ("the bundle".to_owned(), format!("entry {sequence}"));
        StoreError::Damaged { at, what, reason: "does not come to what it says when it is made again here".to_owned() }
    }

    /// An entry of the store `at` can't be read.
    pub fn entry(at: &str, error: &EntryError) -> StoreError {
        let at = at.to_owned();
        match error {
            EntryError::Unknown { sequence, reason } => StoreError::TooNew {
                at,
                what: format!("entry {sequence} says something new ({reason})"),
                known: "less".to_owned(),
            },
            EntryError::Altered { sequence } | EntryError::Malformed { sequence, .. } => {
                StoreError::Damaged { at, what: format!("entry {sequence}"), reason: error.to_string() }
            }
        }
    }

    /// The entries of the store `at` are no chain.
    pub fn chain(at: &str, error: &ChainError) -> StoreError {
        let what = format!("entry {}", error.sequence());
        StoreError::Damaged { at: at.to_owned(), what, reason: error.to_string() }
    }
}

impl From<NotCanonical> for StoreError {
    fn from(error: NotCanonical) -> StoreError {
        StoreError::Record(error.to_string())
    }
}

impl From<Contradiction> for StoreError {
    fn from(contradiction: Contradiction) -> StoreError {
        match contradiction {
            Contradiction::Volume { volume, expected, found } => StoreError::Conflict { volume, expected, found },
            _ => StoreError::Record(contradiction.to_string()),
        }
    }
}
