//! A document that was read, and its other forms. Knows no command line.

use std::fmt::Display;
use std::io::Cursor;

use calamine::{Data, DataRef, Range, Reader, Sheets, open_workbook_auto_from_rs};
use hutch_guest::value::invalid;
use hutch_guest::{Choice, Failure, InputFile};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag::Image, Tag::Link, html};

/// Bytes of one document. What is packed in them is bounded by the memory that the host gives.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// Cells of a sheet, the empty ones between those with something in them included: each takes memory.
const CELLS_MAX: u64 = 2 << 20;

hutch_guest::codes! {
    pub(crate) DOCUMENT_INVALID = 2:
        "the document is broken: no spreadsheet although it begins as one, or no text",
        "get the document again, or save it anew in the program that it comes from";
    pub(crate) SHEET_NOT_FOUND = 20: "the document has no sheet of that name, or none at all", "call show --fields sheet for those that it has";
    pub(crate) SHEET_TOO_LARGE = 2:
        "the cells of the sheet lie too far apart, or are too many",
        "take out what stands far from the rest, or save the part that matters as a sheet of its own";
}

/// What a document becomes.
#[derive(Clone, Copy, Choice)]
pub(crate) enum Form {
    Html,
    Markdown,
    Csv,
}

/// Each sheet, or the whole document if it has none, with its text in the form that was asked for.
type Parts = Box<dyn Iterator<Item = Result<(Option<String>, String), Failure>>>;

/// The sheet that is asked for, or all of them, each read when it is its turn. What a file holds is told by its first bytes: a name proves
/// nothing.
pub(crate) fn converted(file: &InputFile, form: Form, sheet: Option<&str>) -> Result<Parts, Failure> {
    let bytes = file.read(DOCUMENT_BYTES_MAX)?;
    if !bytes.starts_with(b"PK\x03\x04") && !bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        let text = String::from_utf8(bytes).map_err(broken(file.path()))?;
        return match (form, sheet) {
            (_, Some(_)) => Err(Failure::new(SHEET_NOT_FOUND, "a text in Markdown has no sheets")),
            (Form::Html, None) => Ok(Box::new(std::iter::once(Ok((None, to_html(&text)))))),
            (form, None) => Err(invalid("--as", &form.to_string(), "html for a text in Markdown")),
        };
    }
    let mut book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(broken(file.path()))?;
    let mut names = book.sheet_names();
    names.retain(|name| sheet.is_none_or(|sheet| sheet == name));
    if names.is_empty() {
        return Err(Failure::new(SHEET_NOT_FOUND, format!("its sheets are called: {}", book.sheet_names().join(", "))));
    }
    Ok(Box::new(names.into_iter().map(move |name| {
        let cells = cells(&mut book, &name)?;
        let text = match form {
            Form::Csv => to_csv(&cells),
            Form::Markdown => to_table(&cells),
            Form::Html => to_html(&to_table(&cells)),
        };
        Ok((Some(name), text))
    })))
}

fn broken<E: Display>(what: &str) -> impl Fn(E) -> Failure {
    move |error| Failure::new(DOCUMENT_INVALID, format!("{what} is broken: {error}"))
}

/// The cells of a sheet, all between the outermost ones. How far they reach is seen before there is memory for them: a file of Excel can
/// have one in the last of 17 thousand million places. What other files hold is bounded by the memory that the host gives.
fn cells(book: &mut Sheets<Cursor<Vec<u8>>>, sheet: &str) -> Result<Range<Data>, Failure> {
    if let Sheets::Xlsx(book) = book {
        let mut cells = book.worksheet_cells_reader(sheet).map_err(broken(sheet))?;
        let (mut rows, mut columns) = (0, 0);
        while let Some(cell) = cells.next_cell().map_err(broken(sheet))? {
            if *cell.get_value() != DataRef::Empty {
                let (row, column) = cell.get_position();
                (rows, columns) = (rows.max(u64::from(row) + 1), columns.max(u64::from(column) + 1));
            }
        }
        if rows * columns > CELLS_MAX {
            let message = format!("{sheet} reaches over {} cells, at most {CELLS_MAX} are read", rows * columns);
            return Err(Failure::new(SHEET_TOO_LARGE, message));
        }
    }
    book.worksheet_range(sheet).map_err(broken(sheet))
}

/// What a stranger wrote is text: HTML in it is shown as it stands there, and an address is one of the web, of mail or of the
/// document itself.
fn to_html(markdown: &str) -> String {
    let harmless = |address: &CowStr<'_>| {
        let scheme = address.split(['/', '?', '#']).next().and_then(|begin| begin.split_once(':'));
        scheme.is_none_or(|(scheme, _)| ["http", "https", "mailto"].contains(&scheme.to_ascii_lowercase().as_str()))
    };
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES;
    let events = Parser::new_ext(markdown, options).map(|mut event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Link { dest_url: ref mut to, .. } | Image { dest_url: ref mut to, .. }) if !harmless(to) => {
            *to = CowStr::Borrowed("#");
            event
        }
        event => event,
    });
    let mut page = String::new();
    html::push_html(&mut page, events);
    page
}

/// A cell as text: dates as ISO 8601 has them, not as the number that a spreadsheet keeps.
fn text(cell: &Data) -> String {
    match cell {
        Data::DateTime(when) if when.is_datetime() => {
            let (year, month, day, hour, minute, second, _) = when.to_ymd_hms_milli();
            let at = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
            at.trim_end_matches("T00:00:00").to_owned()
        }
        cell => cell.to_string(),
    }
}

fn to_csv(cells: &Range<Data>) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in cells.rows() {
        // Memory takes all of it, and the rows of a range are of one length.
        let _ = csv.write_record(row.iter().map(text));
    }
    String::from_utf8_lossy(&csv.into_inner().unwrap_or_default()).into_owned()
}

/// A table of Markdown, with the first row as its head.
fn to_table(cells: &Range<Data>) -> String {
    let plain = |letter: char| match letter {
        '\\' | '|' | '`' | '*' | '_' | '[' | '<' | '&' => format!("\\{letter}"),
        letter if letter.is_control() => " ".to_owned(),
        letter => letter.to_string(),
    };
    let cell = |cell| format!("| {} ", text(cell).chars().map(plain).collect::<String>());
    let mut lines: Vec<String> = cells.rows().map(|row| row.iter().map(cell).collect()).collect();
    if !lines.is_empty() {
        lines.insert(1, "|---".repeat(cells.width()));
    }
    lines.iter().map(|line| format!("{line}|\n")).collect()
}
