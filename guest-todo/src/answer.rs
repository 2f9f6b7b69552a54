//! Answers of commands, as one JSON document or as text for people. Prints nothing itself.

use std::fmt::Write as _;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

use crate::calendar::{Due, Instant};
use crate::item::Item;
use crate::request::Page;

/// What a command has to say.
#[derive(Debug)]
pub struct Answer {
    /// Name of the command.
    pub command: &'static str,
    /// Whether the list is another one now; `None` for commands that only read.
    pub changed: Option<bool>,
    /// Whether it was only tried, so that the list is as before whatever `changed` says.
    pub dry_run: bool,
    /// For `due`: the instant asked about, and the earliest moment not before it.
    pub until: Option<(Instant, Option<Instant>)>,
    /// For commands that page: how many there are in all, and the page asked for.
    pub page: Option<(usize, Page)>,
    /// What is shown.
    pub rows: Vec<Row>,
    /// One line for stderr that matters to no program.
    pub note: Option<String>,
}

/// The cells of one element of `items[]`, in the order of the fields of its kind.
pub type Row = Vec<(&'static str, Cell)>;

/// One value that is shown.
#[derive(Clone, Debug)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A moment, or none.
    Instant(Option<Instant>),
    /// A due date, or none.
    Due(Option<Due>),
    /// Several moments.
    Instants(Vec<Instant>),
}

/// An item as a row of `ITEM_FIELDS`.
#[must_use]
pub fn item_row(item: &Item) -> Row {
    vec![
        ("id", Cell::Text(item.id.to_string())),
        ("title", Cell::Text(item.title.to_string())),
        ("description", Cell::Text(item.description.to_string())),
        ("status", Cell::Text(item.status().name().to_owned())),
        ("dueAt", Cell::Due(item.due_at)),
        ("createdAt", Cell::Instant(Some(item.created_at))),
        ("updatedAt", Cell::Instant(Some(item.updated_at))),
        ("completedAt", Cell::Instant(item.completed_at)),
        ("reminders", Cell::Instants(item.reminders.iter().copied().collect())),
    ]
}

/// One moment of an item as a row of `MOMENT_FIELDS`.
#[must_use]
pub fn moment_row(kind: &'static str, at: Instant, item: &Item) -> Row {
    vec![
        ("kind", Cell::Text(kind.to_owned())),
        ("at", Cell::Instant(Some(at))),
        ("id", Cell::Text(item.id.to_string())),
        ("title", Cell::Text(item.title.to_string())),
        ("status", Cell::Text(item.status().name().to_owned())),
        ("dueAt", Cell::Due(item.due_at)),
    ]
}

impl Answer {
    /// Leaves only these fields in every row.
    pub fn keep(&mut self, fields: &[&str]) {
        for row in &mut self.rows {
            row.retain(|(name, _)| fields.contains(name));
        }
    }

    /// Text for people: one row as lines `field: value`, several as a table.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        match (self.page, self.rows.as_slice()) {
            (None, [row]) => {
                for (name, cell) in row {
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{name}: {}", cell.to_text());
                }
            }
            (_, []) => text.push_str("nothing to show\n"),
            (_, rows) => table(&mut text, rows),
        }
        if let Some((total, page)) = self.page
            && self.rows.len() < total
        {
            let _ = writeln!(text, "{} of {total}, after the first {}", self.rows.len(), page.offset);
        }
        if self.dry_run {
            text.push_str("dry run: nothing was written\n");
        }
        text
    }
}

/// Columns that tell little at a glance are left out of tables.
const NOT_IN_TABLES: [&str; 5] = ["description", "createdAt", "updatedAt", "completedAt", "reminders"];

fn table(text: &mut String, rows: &[Row]) {
    let Some(first) = rows.first() else { return };
    let mut columns: Vec<usize> = (0..first.len())
        .filter(|column| !first.get(*column).is_some_and(|(name, _)| NOT_IN_TABLES.contains(name)))
        .collect();
    if columns.is_empty() {
        columns = (0..first.len()).collect();
    }
    // The title is as long as people made it, so it comes last.
    let is_title = |column: &usize| first.get(*column).is_some_and(|(name, _)| *name == "title");
    if let Some(title) = columns.iter().position(is_title) {
        columns[title..].rotate_left(1);
    }
    let heading =
        columns.iter().map(|column| first.get(*column).map_or("", |(name, _)| *name).to_ascii_uppercase()).collect();
    let cells = |row: &Row| {
        columns.iter().map(|column| row.get(*column).map_or_else(String::new, |(_, cell)| cell.to_text())).collect()
    };
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    for line in &lines {
        let mut padded = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let _ = write!(padded, "{cell:width$}  ");
        }
        text.push_str(padded.trim_end());
        text.push('\n');
    }
}

impl Cell {
    fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Instant(instant) => instant.map_or_else(|| "-".to_owned(), |instant| instant.to_string()),
            Self::Due(due) => due.map_or_else(|| "-".to_owned(), |due| due.to_string()),
            Self::Instants(instants) if instants.is_empty() => "-".to_owned(),
            Self::Instants(instants) => instants.iter().map(Instant::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut document = serializer.serialize_map(None)?;
        document.serialize_entry("ok", &true)?;
        document.serialize_entry("command", self.command)?;
        if let Some(changed) = self.changed {
            document.serialize_entry("changed", &changed)?;
        }
        if self.dry_run {
            document.serialize_entry("dryRun", &true)?;
        }
        if let Some((before, next)) = self.until {
            document.serialize_entry("before", &before)?;
            document.serialize_entry("next", &next)?;
        }
        document.serialize_entry("count", &self.rows.len())?;
        if let Some((total, page)) = self.page {
            document.serialize_entry("total", &total)?;
            document.serialize_entry("limit", &page.limit)?;
            document.serialize_entry("offset", &page.offset)?;
            document.serialize_entry("hasMore", &(page.offset.saturating_add(self.rows.len()) < total))?;
        }
        let rows: Vec<Cells<'_>> = self.rows.iter().map(Cells).collect();
        document.serialize_entry("items", &rows)?;
        document.end()
    }
}

/// A row as a JSON object.
struct Cells<'a>(&'a Row);

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Row", self.0.len())?;
        for (name, cell) in self.0 {
            match cell {
                Cell::Text(text) => object.serialize_field(name, text)?,
                Cell::Instant(instant) => object.serialize_field(name, instant)?,
                Cell::Due(due) => object.serialize_field(name, due)?,
                Cell::Instants(instants) => object.serialize_field(name, instants)?,
            }
        }
        object.end()
    }
}
