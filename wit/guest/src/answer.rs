//! What commands answer with, and how an answer is written: as one JSON document or as text for people.

use std::fmt::Write as _;

use serde::Serialize;

use crate::row::Row;
use crate::schema::{Field, Place, Schema};

/// What a command that only reads can answer with: [`One`], [`Rows`] or [`Page`].
pub trait Answer {
    /// One element of `items[]`.
    type Row: Row;
    /// Whether the command comes in pages, and takes `--limit` and `--offset`.
    const PAGED: bool;
    /// The properties of the document between `command` and `count`.
    const OWN: &'static [&'static [Field]];
    /// The form of `items`.
    const ITEMS: &'static Schema;

    /// The answer, with its types forgotten.
    fn outcome(self) -> Outcome;
}

/// One row.
#[derive(Debug)]
pub struct One<R>(pub R);

/// As many rows as there are.
#[derive(Debug)]
pub struct Rows<R>(pub Vec<R>);

/// A part of many rows, and perhaps more that is said about all of them. [`Call::page`](crate::Call::page) makes it.
#[derive(Debug)]
pub struct Page<R, More = ()> {
    pub(crate) rows: Vec<R>,
    pub(crate) total: usize,
    pub(crate) paging: Paging,
    pub(crate) more: Option<More>,
}

/// What a command that may change the state did.
#[derive(Debug)]
pub struct Changed<R> {
    pub(crate) rows: held::Held<R>,
    pub(crate) changed: bool,
    pub(crate) note: Option<String>,
    pub(crate) files: Vec<File>,
}

/// A name in the folder of the state, and bytes.
pub(crate) type File = (String, Vec<u8>);

/// The part of a long answer that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Paging {
    /// At most so many.
    pub limit: usize,
    /// After so many.
    pub offset: usize,
}

impl<R, More> Page<R, More> {
    /// The same rows, and more that is said about all of them: properties beside `items`.
    pub fn with<Other>(self, more: Other) -> Page<R, Other> {
        Page { rows: self.rows, total: self.total, paging: self.paging, more: Some(more) }
    }
}

impl<R> Changed<R> {
    /// The state is another one now; the row shows what the call is about.
    pub fn yes(row: R) -> Self {
        Self { rows: held::one(row), changed: true, note: None, files: Vec::new() }
    }

    /// The same, and a file beside the state: written when all of the call went well, and not for a try. Its name is a plain one,
    /// without folders, or the call is refused with `INVALID_VALUE`; a file that has it already is replaced.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files.push((name.into(), bytes.into()));
        self
    }

    /// Everything is as it was, and why: one line for stderr.
    pub fn no(row: R, note: impl Into<String>) -> Self {
        Self { rows: held::one(row), changed: false, note: Some(note.into()), files: Vec::new() }
    }

    /// The same about other rows.
    pub fn map<Other>(self, row: impl FnMut(R) -> Other) -> Changed<Other> {
        Changed { rows: held::each(self.rows, row), changed: self.changed, note: self.note, files: self.files }
    }
}

const TRUTH: Schema = Schema::Text(r#"{"type":"boolean"}"#);
const CHANGE: &[Field] = &[
    Field::new("changed", &TRUTH),
    Field { required: false, ..Field::new("dryRun", &Schema::Text(r#"{"const":true}"#)) },
];
const COUNT: Schema = Schema::Text(r#"{"type":"integer","minimum":0}"#);
const PAGE: &[Field] = &[
    Field::new("total", &COUNT),
    Field::new("limit", &Schema::Text(r#"{"type":"integer","minimum":1}"#)),
    Field::new("offset", &COUNT),
    Field::new("hasMore", &TRUTH),
];

impl<R: Row> Answer for One<R> {
    type Row = R;
    const PAGED: bool = false;
    const OWN: &'static [&'static [Field]] = &[];
    const ITEMS: &'static Schema = &Schema::List(&Schema::Object(R::FIELDS), Some(1), Some(1));

    fn outcome(self) -> Outcome {
        Outcome::of(vec![self.0])
    }
}

impl<R: Row> Answer for Rows<R> {
    type Row = R;
    const PAGED: bool = false;
    const OWN: &'static [&'static [Field]] = &[];
    const ITEMS: &'static Schema = &Schema::List(&Schema::Object(R::FIELDS), None, None);

    fn outcome(self) -> Outcome {
        Outcome::of(self.0)
    }
}

impl<R: Row, More: Row> Answer for Page<R, More> {
    type Row = R;
    const PAGED: bool = true;
    const OWN: &'static [&'static [Field]] = &[More::FIELDS, PAGE];
    const ITEMS: &'static Schema = &Schema::List(&Schema::Object(R::FIELDS), None, None);

    fn outcome(self) -> Outcome {
        let more = self.more.map(|more| Box::new(vec![more]) as Box<dyn Cells>);
        Outcome { page: Some((self.total, self.paging)), more, ..Outcome::of(self.rows) }
    }
}

impl<R: Row> Answer for Changed<R> {
    type Row = R;
    const PAGED: bool = false;
    const OWN: &'static [&'static [Field]] = &[CHANGE];
    const ITEMS: &'static Schema = &Schema::List(&Schema::Object(R::FIELDS), None, held::max::<R>());

    fn outcome(self) -> Outcome {
        Outcome { changed: Some(self.changed), note: self.note, files: self.files, ..Outcome::of(held::all(self.rows)) }
    }
}

/// Rows of one type, behind which the type is not seen.
pub(crate) trait Cells {
    fn rows(&self) -> usize;
    fn fields(&self) -> &'static [Field];
    fn write(&self, row: usize, field: usize, json: &mut Vec<u8>) -> serde_json::Result<()>;
    fn shown(&self, row: usize, field: usize) -> String;
}

impl<R: Row> Cells for Vec<R> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn fields(&self) -> &'static [Field] {
        R::FIELDS
    }

    fn write(&self, row: usize, field: usize, json: &mut Vec<u8>) -> serde_json::Result<()> {
        self.get(row).map_or(Ok(()), |row| row.write(field, json))
    }

    fn shown(&self, row: usize, field: usize) -> String {
        self.get(row).map_or_else(String::new, |row| row.shown(field))
    }
}

/// An answer whose types are forgotten.
pub struct Outcome {
    /// Whether the state is another one now; `None` for commands that only read.
    pub(crate) changed: Option<bool>,
    /// One line for stderr that matters to no program.
    pub(crate) note: Option<String>,
    /// What to write beside the state.
    pub(crate) files: Vec<File>,
    page: Option<(usize, Paging)>,
    more: Option<Box<dyn Cells>>,
    rows: Vec<Box<dyn Cells>>,
}

impl Outcome {
    fn of<R: Row>(rows: Vec<R>) -> Self {
        Self { changed: None, note: None, files: Vec::new(), page: None, more: None, rows: vec![Box::new(rows)] }
    }

    /// What a batch comes to, of what its entries came to.
    pub(crate) fn of_batch(entries: Vec<Self>) -> Self {
        let total = entries.len();
        let unchanged = entries.iter().filter(|entry| entry.changed != Some(true)).count();
        let note = (unchanged > 0).then(|| format!("{unchanged} of {total} entries changed nothing"));
        let (mut files, mut rows) = (Vec::new(), Vec::new());
        for entry in entries {
            files.extend(entry.files);
            rows.extend(entry.rows);
        }
        Self { changed: Some(unchanged < total), note, files, page: None, more: None, rows }
    }

    fn count(&self) -> usize {
        self.rows.iter().map(|rows| rows.rows()).sum()
    }

    /// Each row, as the rows that it is among and its place there.
    fn each(&self) -> impl Iterator<Item = (&dyn Cells, usize)> {
        self.rows.iter().flat_map(|rows| (0..rows.rows()).map(move |row| (rows.as_ref(), row)))
    }

    /// The JSON document of a command, with these fields in every row, and a newline.
    pub(crate) fn to_json(&self, command: &str, fields: &[usize], dry_run: bool) -> serde_json::Result<String> {
        let mut json = Object::default();
        json.member("ok", &true)?;
        json.member("command", command)?;
        if let Some(changed) = self.changed {
            json.member("changed", &changed)?;
        }
        if dry_run {
            json.member("dryRun", &true)?;
        }
        if let Some(more) = &self.more {
            for (index, field) in more.fields().iter().enumerate() {
                json.name(field.name);
                more.write(0, index, &mut json.bytes)?;
            }
        }
        let count = self.count();
        json.member("count", &count)?;
        if let Some((total, page)) = self.page {
            json.member("total", &total)?;
            json.member("limit", &page.limit)?;
            json.member("offset", &page.offset)?;
            json.member("hasMore", &(page.offset.saturating_add(count) < total))?;
        }
        json.name("items");
        let mut bytes = json.bytes;
        bytes.push(b'[');
        for (index, (rows, row)) in self.each().enumerate() {
            if index > 0 {
                bytes.push(b',');
            }
            let names = rows.fields();
            let mut object = Object { bytes, empty: true };
            for &field in fields {
                object.name(names.get(field).map_or("", |field| field.name));
                rows.write(row, field, &mut object.bytes)?;
            }
            bytes = object.end();
        }
        bytes.extend_from_slice(b"]}\n");
        String::from_utf8(bytes).map_err(<serde_json::Error as serde::ser::Error>::custom)
    }

    /// Text for people: one row as lines `field: value`, several as a table.
    pub(crate) fn to_text(&self, fields: &[usize], dry_run: bool) -> String {
        let mut text = String::new();
        let count = self.count();
        let mut rows = self.each();
        match (self.page, count, rows.next()) {
            (None, 1, Some((rows, row))) => {
                for &field in fields {
                    let name = rows.fields().get(field).map_or("", |field| field.name);
                    // Writing to a string cannot fail.
                    let _ = writeln!(text, "{name}: {}", rows.shown(row, field));
                }
            }
            (_, _, None) => text.push_str("nothing to show\n"),
            (_, _, Some((first, _))) => self.table(&mut text, &columns(first.fields(), fields)),
        }
        if let Some((total, page)) = self.page
            && count < total
        {
            let _ = writeln!(text, "{count} of {total}, after the first {}", page.offset);
        }
        if dry_run {
            text.push_str("dry run: nothing was written\n");
        }
        text
    }

    fn table(&self, text: &mut String, columns: &[(usize, &str)]) {
        let heading = columns.iter().map(|(_, name)| name.to_ascii_uppercase()).collect();
        let cells = self.each().map(|(rows, row)| columns.iter().map(|(field, _)| rows.shown(row, *field)).collect());
        let lines: Vec<Vec<String>> = std::iter::once(heading).chain(cells).collect();
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
}

/// The columns of a table, of the fields that are wanted.
fn columns(fields: &'static [Field], wanted: &[usize]) -> Vec<(usize, &'static str)> {
    let at = |places: &'static [Place]| {
        let wanted = wanted.iter().filter_map(|index| Some((*index, fields.get(*index)?)));
        wanted.filter(move |(_, field)| places.contains(&field.place)).map(|(index, field)| (index, field.name))
    };
    let columns: Vec<_> = at(&[Place::InOrder]).chain(at(&[Place::Last])).collect();
    if columns.is_empty() { at(&[Place::Aside]).collect() } else { columns }
}

/// A JSON object on its way into bytes.
struct Object {
    bytes: Vec<u8>,
    empty: bool,
}

impl Default for Object {
    fn default() -> Self {
        Self { bytes: Vec::with_capacity(1024), empty: true }
    }
}

impl Object {
    /// Begins a member. Names are those of fields: nothing in them is escaped.
    fn name(&mut self, name: &str) {
        self.bytes.extend_from_slice(if self.empty { b"{\"" } else { b",\"" });
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        self.empty = false;
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> serde_json::Result<()> {
        self.name(name);
        serde_json::to_writer(&mut self.bytes, value)
    }

    fn end(mut self) -> Vec<u8> {
        if self.empty {
            self.bytes.push(b'{');
        }
        self.bytes.push(b'}');
        self.bytes
    }
}

/// What a change shows: one row.
#[cfg(not(feature = "folder"))]
mod held {
    pub(crate) type Held<R> = R;

    /// Those of a batch.
    pub(super) const fn max<R: super::Row>() -> Option<u32> {
        let _ = R::FIELDS;
        Some(1000)
    }

    #[inline(always)]
    pub(super) fn one<R>(row: R) -> Held<R> {
        row
    }

    #[inline(always)]
    pub(super) fn each<R, Other>(held: Held<R>, row: impl FnOnce(R) -> Other) -> Held<Other> {
        row(held)
    }

    #[inline(always)]
    pub(super) fn all<R>(held: Held<R>) -> Vec<R> {
        vec![held]
    }
}

/// What a change shows: one row, or one for each edit, whose number has a bound of its own.
#[cfg(feature = "folder")]
mod held {
    pub(crate) type Held<R> = Vec<R>;

    pub(super) const fn max<R: super::Row>() -> Option<u32> {
        R::CHANGED_MAX
    }

    pub(super) fn one<R>(row: R) -> Held<R> {
        vec![row]
    }

    pub(super) fn each<R, Other>(held: Held<R>, row: impl FnMut(R) -> Other) -> Held<Other> {
        held.into_iter().map(row).collect()
    }

    pub(super) fn all<R>(held: Held<R>) -> Vec<R> {
        held
    }
}
