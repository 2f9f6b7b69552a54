//! One to-do item and the values it is made of, each read by one constructor; and what is shown of it.

use std::collections::BTreeSet;
use std::fmt;

use hutch_guest::calendar::{Due, Expected, Instant};
use hutch_guest::table::{self, Table};
use hutch_guest::{Choice, Row};
use serde::{Deserialize, Serialize};

/// Unicode scalar values in a title.
pub const TITLE_CHARS_MAX: u32 = 200;
/// Unicode scalar values in a description.
pub const DETAILS_CHARS_MAX: u32 = 4000;
/// Reminders that one item can have.
pub const REMINDERS_MAX: usize = 32;

hutch_guest::id!(pub Id, "td_");

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
        one_line(text, TITLE_CHARS_MAX, "a title of at most 200 characters").map(Self)
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
        one_line(text, DETAILS_CHARS_MAX, "a description of at most 4000 characters").map(Self)
    }
}

fn one_line(text: &str, chars_max: u32, shorter: Expected) -> Result<String, Expected> {
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    if text.chars().nth(chars_max as usize).is_some() {
        return Err(shorter);
    }
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

hutch_guest::text_value!(Title, min_length = 1, max_length = TITLE_CHARS_MAX);
hutch_guest::text_value!(Details, max_length = DETAILS_CHARS_MAX);

/// Whether an item is still to be done.
#[derive(Clone, Copy, Choice, Debug, Eq, PartialEq)]
pub enum Status {
    /// It is.
    Open,
    /// It is done.
    Completed,
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

/// The list.
pub type TodoList = Table<Item>;

impl table::Item for Item {
    type Id = Id;
    const FILE: &'static str = "todos.json";

    fn id(&self) -> Id {
        self.id
    }

    fn check(&self) -> Result<(), String> {
        let few = self.reminders.len() <= REMINDERS_MAX;
        few.then_some(()).ok_or_else(|| format!("{} has more than {REMINDERS_MAX} reminders", self.id))
    }
}

impl Item {
    /// Whether it is still to be done.
    #[must_use]
    pub fn status(&self) -> Status {
        if self.completed_at.is_some() { Status::Completed } else { Status::Open }
    }

    /// What is shown of it.
    #[must_use]
    pub fn row(&self) -> ItemRow {
        let status = self.status();
        let Self { id, title, description, due_at, created_at, updated_at, completed_at, reminders } = self.clone();
        ItemRow { id, title, description, status, due_at, created_at, updated_at, completed_at, reminders }
    }
}

/// An item as `items[]` shows it.
#[derive(Row)]
pub struct ItemRow {
    id: Id,
    #[row(last)]
    title: Title,
    #[row(aside)]
    description: Details,
    status: Status,
    due_at: Option<Due>,
    #[row(aside)]
    created_at: Instant,
    #[row(aside)]
    updated_at: Instant,
    #[row(aside)]
    completed_at: Option<Instant>,
    #[row(aside)]
    reminders: BTreeSet<Instant>,
}

/// Why an item has a moment.
#[derive(Clone, Copy, Choice, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// It is due then.
    Due,
    /// A scheduler should remind of it then.
    Reminder,
}

/// A moment at which something about an item is to be done.
pub struct Moment<'a> {
    /// When.
    pub at: Instant,
    /// Why.
    pub kind: Kind,
    /// The item.
    pub item: &'a Item,
}

impl Moment<'_> {
    /// By time; at the same time by item, what is due before the reminder of it. No two moments of a list are equal in this.
    #[must_use]
    pub fn order(&self) -> (Instant, Id, Kind) {
        (self.at, self.item.id, self.kind)
    }

    /// What is shown of it.
    #[must_use]
    pub fn row(&self) -> MomentRow {
        let Self { at, kind, item } = *self;
        MomentRow { kind, at, id: item.id, title: item.title.clone(), status: item.status(), due_at: item.due_at }
    }
}

/// A moment as `items[]` shows it.
#[derive(Row)]
pub struct MomentRow {
    kind: Kind,
    at: Instant,
    id: Id,
    #[row(last)]
    title: Title,
    status: Status,
    due_at: Option<Due>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_kept_as_they_are() {
        let (longest, longer) = ("ß".repeat(TITLE_CHARS_MAX as usize), "ß".repeat(TITLE_CHARS_MAX as usize + 1));
        for text in ["x", " x ", "Milch & Eier; 3 €", "買い物 🛒", "e\u{301}", "- milk", &longest] {
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
            &longer,
        ] {
            assert!(Title::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn details_may_be_empty() {
        assert_eq!(Details::parse("").unwrap(), Details::default());
        assert!(Details::parse(&"x".repeat(DETAILS_CHARS_MAX as usize)).is_ok());
        assert!(Details::parse(&"x".repeat(DETAILS_CHARS_MAX as usize + 1)).is_err());
        assert!(Details::parse("a\r\nb").is_err());
    }
}
