//! One to-do item and the values it is made of, each read by one constructor.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::calendar::{Due, Expected, Instant};

/// Unicode scalar values in a title.
pub const TITLE_CHARS_MAX: usize = 200;
/// Unicode scalar values in a description.
pub const DETAILS_CHARS_MAX: usize = 4000;
/// Reminders that one item can have.
pub const REMINDERS_MAX: usize = 32;

/// The identifier of an item: `td_` and a number from 1, of at least four digits. Never given twice.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Id(u64);

impl Id {
    /// The first one.
    pub const FIRST: Self = Self(1);

    /// The one after this; `None` after 2^64-1.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }

    /// Reads the one form in which an identifier is written.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        let number = text.strip_prefix("td_").and_then(|digits| digits.parse().ok()).filter(|number| *number > 0);
        number.map(Self).filter(|id| id.to_string() == text).ok_or("an id such as td_0001")
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "td_{:04}", self.0)
    }
}

/// What is to be done: 1 to 200 characters, not all of them white space, none a control character or line separator.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Title(String);

impl Title {
    /// Takes a text as it is: nothing is trimmed or normalised.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        if text.trim().is_empty() {
            return Err("a title with at least one visible character");
        }
        if text.chars().nth(TITLE_CHARS_MAX).is_some() {
            return Err("a title of at most 200 characters");
        }
        one_line(text).map(Self)
    }
}

/// More about an item: up to 4000 characters, none a control character or line separator; empty when there is no more.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Details(String);

impl Details {
    /// Takes a text as it is.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        if text.chars().nth(DETAILS_CHARS_MAX).is_some() {
            return Err("a description of at most 4000 characters");
        }
        one_line(text).map(Self)
    }
}

fn one_line(text: &str) -> Result<String, Expected> {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    if text.contains(breaks) { Err("a text without control characters and line breaks") } else { Ok(text.to_owned()) }
}

impl fmt::Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Details {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether an item is still to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It is.
    Open,
    /// It is done.
    Completed,
}

impl Status {
    /// As in arguments and output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Completed => "completed",
        }
    }
}

/// One item, as the state file holds it. Its status is not stored: it follows from `completed_at`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Item {
    /// Its identifier.
    pub id: Id,
    /// What is to be done.
    pub title: Title,
    /// More about it.
    pub description: Details,
    /// By when.
    pub due_at: Option<Due>,
    /// When it was added.
    pub created_at: Instant,
    /// When it last changed.
    pub updated_at: Instant,
    /// When it was completed; `None` while it is open.
    pub completed_at: Option<Instant>,
    /// When a scheduler should remind of it, in order.
    pub reminders: BTreeSet<Instant>,
}

impl Item {
    /// Whether it is still to be done.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.completed_at.is_some() { Status::Completed } else { Status::Open }
    }
}

crate::json_text::as_json_text!(Id, Title, Details);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_one_form() {
        for text in ["td_0001", "td_0042", "td_9999", "td_10000", "td_18446744073709551615"] {
            assert_eq!(Id::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "td_",
            "td_0",
            "td_0000",
            "td_1",
            "td_001",
            "td_00001",
            "td_-001",
            "td_+001",
            "TD_0001",
            "0001",
            "td_0001 ",
            " td_0001",
            "td_00a1",
            "td-0001",
            "td_18446744073709551616",
            "td_000\u{661}",
        ] {
            assert!(Id::parse(text).is_err(), "{text:?}");
        }
        assert_eq!(Id::parse("td_9999").unwrap().next().unwrap().to_string(), "td_10000");
        assert_eq!(Id(u64::MAX).next(), None);
    }

    #[test]
    fn titles_are_kept_as_they_are() {
        for text in ["x", " x ", "Milch & Eier; 3 €", "買い物 🛒", "e\u{301}", "- milk", &"ß".repeat(TITLE_CHARS_MAX)]
        {
            assert_eq!(Title::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            " ",
            "\u{3000}\u{a0}",
            "a\nb",
            "a\tb",
            "a\0",
            "\u{7f}",
            "\u{9b}31m",
            "\u{1b}[31m",
            "a\u{2028}b",
            &"ß".repeat(TITLE_CHARS_MAX + 1),
        ] {
            assert!(Title::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn details_may_be_empty() {
        assert_eq!(Details::parse("").unwrap(), Details::default());
        assert!(Details::parse(&"x".repeat(DETAILS_CHARS_MAX)).is_ok());
        assert!(Details::parse(&"x".repeat(DETAILS_CHARS_MAX + 1)).is_err());
        assert!(Details::parse("a\r\nb").is_err());
    }
}
