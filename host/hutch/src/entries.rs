//! Finding entries of the ledger by the names that people and programs use for them.

use crate::failure::Failure;
use crate::session::Session;
use hutch_model::ledger::{ChainError, EntryKind, Leaves, Pin, Record, Sealed, verify_chain};
use hutch_store::{EntryKey, StoreError};
use std::fmt;
use std::str::FromStr;

/// How many entries are read at a time.
const PAGE: u64 = 512;

/// The fewest digits of a hash that name an entry.
const PREFIX_DIGITS_MIN: usize = 6;

/// An entry, as named on a command line: `last`, `@17` for its place, or the beginning of its hash.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EntryName {
    /// The last one.
    Last,
    /// By place, from 1.
    Sequence(u64),
    /// By the first digits of its hash.
    Prefix(String),
}

/// The text names no entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected last, @ and a number, or at least {PREFIX_DIGITS_MIN} digits of an entry's hash")]
pub struct NotAnEntryName;

impl FromStr for EntryName {
    type Err = NotAnEntryName;

    fn from_str(text: &str) -> Result<EntryName, NotAnEntryName> {
        if text == "last" {
            return Ok(EntryName::Last);
        }
        if let Some(digits) = text.strip_prefix('@') {
            return digits.parse().map(EntryName::Sequence).map_err(|_| NotAnEntryName);
        }
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match digits && (PREFIX_DIGITS_MIN..=64).contains(&text.len()) {
            true => Ok(EntryName::Prefix(text.to_owned())),
            false => Err(NotAnEntryName),
        }
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EntryName::Last => f.write_str("last"),
            EntryName::Sequence(sequence) => write!(f, "@{sequence}"),
            EntryName::Prefix(prefix) => f.write_str(prefix),
        }
    }
}

impl Session {
    /// The entry with this name.
    ///
    /// # Errors
    /// There is none, or more than one hash begins so.
    pub fn entry(&self, name: &EntryName) -> Result<Sealed, Failure> {
        let missing = || Failure::NoEntry { name: name.to_string() };
        let sequence = match name {
            EntryName::Last => self.head()?.last.sequence,
            EntryName::Sequence(sequence) => *sequence,
            EntryName::Prefix(prefix) => return self.entry_by_prefix(prefix),
        };
        self.store.entry(sequence)?.ok_or_else(missing)
    }

    /// The last plan that ran here: one that was refused has nothing to apply, and one that came from elsewhere is nobody's here.
    ///
    /// # Errors
    /// The store can't be read.
    pub fn last_plan(&self) -> Result<Option<Sealed>, Failure> {
        let head = self.head()?;
        self.last_with(|sequence, record| {
            record.kind == EntryKind::Plan && record.outcome.is_some() && head.is_own(sequence)
        })
    }

    /// The entry that is meant where one may be named: else it is the last one with a run, if there is any.
    ///
    /// # Errors
    /// There is none of this name, or more than one; or the store can't be read.
    pub fn entry_or_last_run(&self, name: Option<&EntryName>) -> Result<Option<Sealed>, Failure> {
        match name {
            Some(name) => self.entry(name).map(Some),
            None => self.last_with(|_, record| record.outcome.is_some()),
        }
    }

    fn last_with(&self, is_meant: impl Fn(u64, &Record) -> bool) -> Result<Option<Sealed>, Failure> {
        let mut end = self.head()?.last.sequence + 1;
        while end > 1 {
            let begin = end.saturating_sub(PAGE).max(1);
            for sealed in self.store.entries(begin, end - begin)?.into_iter().rev() {
                if is_meant(sealed.sequence, &sealed.open().map_err(Failure::Entry)?.record) {
                    return Ok(Some(sealed));
                }
            }
            end = begin;
        }
        Ok(None)
    }

    fn entry_by_prefix(&self, prefix: &str) -> Result<Sealed, Failure> {
        let mut found = self.store.find(&EntryKey::Prefix(prefix.to_owned()))?;
        match (found.pop(), found.pop()) {
            (Some(_), Some(_)) => Err(Failure::AmbiguousEntry { prefix: prefix.to_owned() }),
            (Some(entry), None) => Ok(entry),
            (None, _) => Err(Failure::NoEntry { name: prefix.to_owned() }),
        }
    }

    /// All entries from a place on, in order, not yet checked.
    pub fn entries(&self, from: u64) -> impl Iterator<Item = Result<Sealed, StoreError>> + '_ {
        let mut next = from.max(1);
        let mut page = Vec::new().into_iter();
        std::iter::from_fn(move || {
            if page.len() == 0 {
                match self.store.entries(next, PAGE) {
                    Ok(read) => page = read.into_iter(),
                    Err(error) => return Some(Err(error)),
                }
            }
            let entry = page.next()?;
            next = entry.sequence.saturating_add(1);
            Some(Ok(entry))
        })
    }

    /// Checks the chain of all entries, that the store's head is its end, and that it holds each of `pins`. Answers with the head.
    ///
    /// # Errors
    /// [`Failure::Chain`] names the first entry that is not as it was written.
    pub fn check_chain(&self, pins: &[Pin]) -> Result<Pin, Failure> {
        self.check_each(pins, |_| ())
    }

    /// The same, and the leaves of the ledger's tree.
    ///
    /// # Errors
    /// As there.
    pub fn leaves(&self, pins: &[Pin]) -> Result<(Pin, Leaves), Failure> {
        let mut leaves = Leaves::default();
        let head = self.check_each(pins, |sealed| leaves.push(&sealed.bytes))?;
        Ok((head, leaves))
    }

    fn check_each(&self, pins: &[Pin], mut each: impl FnMut(&Sealed)) -> Result<Pin, Failure> {
        enum Wrong {
            Chain(ChainError),
            Store(StoreError),
        }
        impl From<ChainError> for Wrong {
            fn from(error: ChainError) -> Wrong {
                Wrong::Chain(error)
            }
        }
        let mut pins = pins.to_vec();
        pins.push(self.store.head()?.last);
        let entries = self.entries(1).map(|entry| entry.inspect(&mut each).map_err(Wrong::Store));
        verify_chain(entries, &pins).map_err(|wrong| match wrong {
            Wrong::Chain(error) => Failure::Chain(error),
            Wrong::Store(error) => Failure::Store(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_entries_are_parsed_once() {
        let cases = [
            ("last", Some(EntryName::Last)),
            ("@17", Some(EntryName::Sequence(17))),
            ("00ff00", Some(EntryName::Prefix("00ff00".to_owned()))),
            ("00ff0", None),
            ("00FF00", None),
            ("@", None),
            ("@-1", None),
            ("", None),
            ("first", None),
        ];
        for (text, expect) in cases {
            assert_eq!(text.parse().ok(), expect, "{text}");
        }
        assert_eq!("a".repeat(65).parse::<EntryName>(), Err(NotAnEntryName));
    }
}
