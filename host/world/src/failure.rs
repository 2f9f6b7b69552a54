//! How a call of the guest can fail: with an error that the guest sees and handles, or so that the run ends.

use alloc::string::String;
use hutch_model::limits::Limit;
use hutch_model::snapshot::{Lack, ObjectError};

/// An error that the guest sees, by the names of POSIX and of `wasi:filesystem`'s `error-code`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Errno {
    /// Not for this user to read (EACCES).
    Access,
    /// Not a descriptor for this (EBADF).
    BadDescriptor,
    /// In use (EBUSY).
    Busy,
    /// Between two volumes (EXDEV).
    CrossDevice,
    /// It exists (EEXIST).
    Exist,
    /// Longer than a file may be (EFBIG).
    FileTooLarge,
    /// No memory left for it (ENOMEM).
    InsufficientMemory,
    /// No space or no place for another file (ENOSPC).
    InsufficientSpace,
    /// A value that makes no sense here (EINVAL).
    Invalid,
    /// A folder where none may be (EISDIR).
    IsDirectory,
    /// Too many symbolic links (ELOOP).
    Loop,
    /// A name or path too long, or too deep (ENAMETOOLONG).
    NameTooLong,
    /// No such file (ENOENT).
    NoEntry,
    /// Not a folder (ENOTDIR).
    NotDirectory,
    /// A folder that holds something (ENOTEMPTY).
    NotEmpty,
    /// Never allowed: leaving the volume is (EPERM).
    NotPermitted,
    /// A value that can't be represented (EOVERFLOW).
    Overflow,
    /// Only reading is granted (EROFS).
    ReadOnly,
    /// Too many names for one file (EMLINK).
    TooManyLinks,
}

/// Why a run ends within a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The guest asked to exit with this status.
    Exit(u8),
    /// A limit that a guest can't handle itself.
    Limit(Limit),
    /// The deadline is over.
    Late,
    /// The call breaks a rule of its interface; the short name of the rule.
    Trap(&'static str),
    /// The host can't go on.
    Fault(String),
    /// A part of a volume can't be had, or is not what it should be.
    State(ObjectError),
}

impl Stop {
    /// The error that the guest sees and handles, if a call ends so: what the system does not let the user read in a granted folder.
    ///
    /// # Errors
    /// The run ends.
    pub fn errno(self) -> Result<Errno, Stop> {
        match self {
            Stop::State(ObjectError { lack: Lack::Denied(_), .. }) => Ok(Errno::Access),
            stop => Err(stop),
        }
    }
}

/// Either.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The guest goes on with this error.
    Errno(Errno),
    /// The run ends.
    Stop(Stop),
}

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno)
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Failure {
        Failure::Stop(stop)
    }
}

impl From<ObjectError> for Stop {
    fn from(error: ObjectError) -> Stop {
        Stop::State(error)
    }
}

impl From<ObjectError> for Failure {
    fn from(error: ObjectError) -> Failure {
        Failure::Stop(error.into())
    }
}

impl core::fmt::Display for Stop {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Stop::Exit(status) => write!(f, "exit with {status}"),
            Stop::Limit(limit) => write!(f, "limit {}", limit.name()),
            Stop::Late => write!(f, "the deadline is over"),
            Stop::Trap(rule) => write!(f, "trap: {rule}"),
            Stop::Fault(reason) => write!(f, "host fault: {reason}"),
            Stop::State(error) => write!(f, "host fault: {error}"),
        }
    }
}

impl core::error::Error for Stop {}
