//! Whether a sequence of stored entries is the one that was written. Works on bytes and hashes alone, so it holds for entries
//! of versions to come.
//!
//! A whole chain shows that nothing *within* it was changed. Whoever can write the store can still cut its tail, or
//! rewrite everything from some entry on: against that, a [`Pin`] is kept elsewhere.

use super::{EntryError, Sealed, origin};
use crate::digest::Digest;
use std::fmt;
use std::str::FromStr;

/// An entry known from elsewhere: the chain must hold it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pin {
    /// Its place.
    pub sequence: u64,
    /// Its hash.
    pub hash: Digest,
}

impl fmt::Display for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.sequence, self.hash)
    }
}

/// The text is no pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a number, a colon and a hash, as head of ledger show")]
pub struct NotAPin;

impl FromStr for Pin {
    type Err = NotAPin;

    fn from_str(text: &str) -> Result<Pin, NotAPin> {
        let (sequence, hash) = text.split_once(':').ok_or(NotAPin)?;
        let pin = Pin { sequence: sequence.parse().map_err(|_| NotAPin)?, hash: hash.parse().map_err(|_| NotAPin)? };
        // One pin has one text.
        if pin.to_string() == text { Ok(pin) } else { Err(NotAPin) }
    }
}

/// Where a chain is not the one that was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// An entry's bytes or hash were changed, or it is no entry.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// There is no entry in this place.
    #[error("entry {sequence} was removed: entry {found} follows in its place")]
    Removed {
        /// The first place that has none.
        sequence: u64,
        /// What was found instead.
        found: u64,
    },
    /// An entry comes after one that it should precede, or twice.
    #[error("entry {sequence} is out of order: expected entry {expected}")]
    OutOfOrder {
        /// The place it belongs to.
        sequence: u64,
        /// The place that was due.
        expected: u64,
    },
    /// An entry matches its own hash, but not the hash that the next one or the pin remembers.
    #[error("entry {sequence} was replaced: its hash is not the one that was remembered")]
    Replaced {
        /// Its place.
        sequence: u64,
    },
    /// The chain ends early.
    #[error("entries from {sequence} on were cut off")]
    Cut {
        /// The first missing place.
        sequence: u64,
    },
}

impl ChainError {
    /// The place of the first entry that is wrong or missing.
    pub fn sequence(&self) -> u64 {
        match self {
            ChainError::Entry(
                EntryError::Altered { sequence }
                | EntryError::Malformed { sequence, .. }
                | EntryError::Unknown { sequence, .. },
            )
            | ChainError::Removed { sequence, .. }
            | ChainError::OutOfOrder { sequence, .. }
            | ChainError::Replaced { sequence }
            | ChainError::Cut { sequence } => *sequence,
        }
    }
}

/// A check under way: the entries up to here are linked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chain(Pin);

impl Default for Chain {
    fn default() -> Chain {
        Chain::after(Pin { sequence: 0, hash: origin() })
    }
}

impl Chain {
    /// Goes on from an entry that is trusted, without what is before it.
    pub const fn after(entry: Pin) -> Chain {
        Chain(entry)
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// It is not the one that was written there.
    pub fn take(&mut self, entry: &Sealed) -> Result<(), ChainError> {
        let Pin { sequence: last, hash } = self.0;
        let expected = last.saturating_add(1);
        if entry.sequence > expected {
            return Err(ChainError::Removed { sequence: expected, found: entry.sequence });
        }
        if entry.sequence < expected {
            return Err(ChainError::OutOfOrder { sequence: entry.sequence, expected });
        }
        let place = entry.place()?;
        if place.sequence != expected {
            return Err(ChainError::OutOfOrder { sequence: place.sequence, expected });
        }
        if place.previous != hash {
            // The link is right if this entry is: the one before was changed together with its hash.
            return Err(ChainError::Replaced { sequence: last.max(1) });
        }
        self.0 = Pin { sequence: expected, hash: entry.hash };
        Ok(())
    }

    /// The last entry taken; place 0 if there is none.
    pub const fn head(&self) -> Pin {
        self.0
    }
}

/// Checks all entries from the first on, in order, and that each of `pins` is among them: the head that the store
/// remembers, and those that people wrote down. Answers with the head.
///
/// # Errors
/// The first thing that is not as it was written, or what reading an entry gave.
pub fn verify_chain<E: From<ChainError>>(
    entries: impl IntoIterator<Item = Result<Sealed, E>>,
    pins: &[Pin],
) -> Result<Pin, E> {
    let mut chain = Chain::default();
    let agrees = |head: Pin| {
        let wrong = pins.iter().any(|pin| pin.sequence == head.sequence && pin.hash != head.hash);
        if wrong { Err(ChainError::Replaced { sequence: head.sequence }) } else { Ok(()) }
    };
    agrees(chain.head())?;
    for entry in entries {
        chain.take(&entry?)?;
        agrees(chain.head())?;
    }
    let head = chain.head();
    match pins.iter().any(|pin| pin.sequence > head.sequence) {
        true => Err(ChainError::Cut { sequence: head.sequence.saturating_add(1) }.into()),
        false => Ok(head),
    }
}
