//! Outcomes of calls, kept beside an instance to be used again. It may lose any of them at any time and believes none: whoever asks judges
//! what is found. Nothing that an instance is made of is here.

use crate::error::StoreError;
use hutch_model::digest::Digest;

/// The most bytes that the outcomes of one instance take. What was kept first goes first.
pub const MEMO_BYTES_MAX: u64 = 256 << 20;

/// What stands under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The key.
    pub key: Digest,
    /// What was kept under it, by whoever may write there.
    pub value: Vec<u8>,
    /// The role that kept it, as a database says; none where there are no roles.
    pub role: Option<String>,
    /// The instance beside which it is kept, as package and name, if that is another one.
    pub instance: Option<String>,
}

/// How much a memo holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoStats {
    /// Outcomes.
    pub outcomes: u64,
    /// The bytes that they take.
    pub bytes: u64,
}

/// The outcomes of one instance, and for reading those of others that whoever keeps them lets take each other's place. Calls may come from
/// any number of threads and processes.
pub trait Memo: Send + Sync {
    /// What is kept under these keys, of this instance before that of others; nothing of what is longer than [`KEPT_BYTES_MAX`](hutch_model::memo::KEPT_BYTES_MAX).
    ///
    /// # Errors
    /// It can't be read.
    fn get(&self, keys: &[Digest]) -> Result<Vec<Found>, StoreError>;

    /// Keeps a value in place of what was under its key.
    ///
    /// # Errors
    /// It can't be written, or not by this process ([`StoreError::Denied`]).
    fn put(&self, key: &Digest, value: &[u8]) -> Result<(), StoreError>;

    /// Drops what is kept under a key, whichever instance it is kept beside.
    ///
    /// # Errors
    /// As for [`put`](Memo::put).
    fn remove(&self, key: &Digest) -> Result<(), StoreError>;

    /// Drops all that is kept beside this instance.
    ///
    /// # Errors
    /// As for [`put`](Memo::put).
    fn clear(&self) -> Result<(), StoreError>;

    /// How much there is.
    ///
    /// # Errors
    /// It can't be read.
    fn stats(&self) -> Result<MemoStats, StoreError>;
}
