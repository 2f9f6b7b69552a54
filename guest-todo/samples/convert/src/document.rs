//! A document that was read, and its other forms. Knows no command line.

use std::fmt::Write as _;
use std::io::Cursor;

use calamine::{Data, DataRef, Range, Reader, Sheets, open_workbook_auto_from_rs};
use hutch_guest::{Choice, Failure, InputFile, Row};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Bytes of one document. What is packed in them is bounded by the memory that the host gives.
const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// Cells of a sheet, the empty ones between those with something in them included: each takes memory.
const CELLS_MAX: u64 = 2 << 20;

hutch_guest::codes! {
    pub(crate) DOCUMENT_INVALID = 2:
        "the document is broken: no spreadsheet although it begins as one, or no text",
        "get the document again, or save it anew in the program that it comes from";
    pub(crate) FORM_UNSUITED = 2:
        "a document of this kind has no such form",
        "Markdown has an outline and becomes html; a spreadsheet has sheets and becomes csv, markdown or html";
    pub(crate) SHEET_NOT_FOUND = 20: "the spreadsheet has no sheet of that name", "call sheets for those that it has";
    pub(crate) SHEET_TOO_LARGE = 2:
        "the cells of the sheet lie too far apart, or are too many",
        "take out what stands far from the rest, or save the part that matters as a sheet of its own";
}

/// What a document becomes.
#[derive(Clone, Copy, Choice, PartialEq)]
pub(crate) enum Form {
    Html,
    Markdown,
    Csv,
}

/// A heading of Markdown.
#[derive(Clone, Row)]
pub(crate) struct Heading {
    level: usize,
    line: usize,
    #[row(last)]
    title: String,
}

/// A sheet of a spreadsheet, as far as there is anything in its cells.
#[derive(Clone, Row)]
pub(crate) struct Sheet {
    file: String,
    sheet: String,
    rows: usize,
    columns: usize,
}

pub(crate) enum Document {
    Markdown(String),
    Spreadsheet(Box<Sheets<Cursor<Vec<u8>>>>),
}

impl Document {
    /// What a file holds, by its first bytes: a name proves nothing.
    pub(crate) fn read(file: &InputFile) -> Result<Self, Failure> {
        let bytes = file.read(DOCUMENT_BYTES_MAX)?;
        let invalid = |why: String| Failure::new(DOCUMENT_INVALID, format!("{} is broken: {why}", file.path()));
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"\xd0\xcf\x11\xe0") {
            let book = open_workbook_auto_from_rs(Cursor::new(bytes)).map_err(|error| invalid(error.to_string()))?;
            return Ok(Self::Spreadsheet(Box::new(book)));
        }
        String::from_utf8(bytes).map(Self::Markdown).map_err(|error| invalid(error.to_string()))
    }

    pub(crate) fn into_form(self, form: Form, sheet: Option<&str>) -> Result<String, Failure> {
        match (self, form) {
            (Self::Markdown(text), Form::Html) if sheet.is_none() => Ok(to_html(&text)),
            (Self::Markdown(_), _) => {
                Err(Failure::new(FORM_UNSUITED, "a text in Markdown has no sheets, and becomes html"))
            }
            (Self::Spreadsheet(mut book), form) => {
                let names = book.sheet_names();
                let name = names.iter().find(|name| sheet.is_none_or(|sheet| sheet == *name));
                let name = name.ok_or_else(|| Failure::new(SHEET_NOT_FOUND, format!("it has {}", names.join(", "))))?;
                let cells = cells(&mut book, name)?;
                match form {
                    Form::Csv => to_csv(&cells),
                    Form::Markdown => Ok(to_table(&cells)),
                    Form::Html => Ok(to_html(&to_table(&cells))),
                }
            }
        }
    }

    pub(crate) fn outline(self) -> Result<Vec<Heading>, Failure> {
        let Self::Markdown(text) = self else {
            return Err(Failure::new(FORM_UNSUITED, "a spreadsheet has no headings"));
        };
        let mut headings: Vec<Heading> = Vec::new();
        let (mut within, mut lines, mut counted) = (false, 1, 0);
        for (event, place) in Parser::new_ext(&text, options()).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    lines += text[counted..place.start].matches('\n').count();
                    (within, counted) = (true, place.start);
                    headings.push(Heading { level: level as usize, line: lines, title: String::new() });
                }
                Event::End(TagEnd::Heading(_)) => within = false,
                Event::Text(part) | Event::Code(part) if within => {
                    headings.last_mut().into_iter().for_each(|heading| heading.title.push_str(&part));
                }
                _ => (),
            }
        }
        Ok(headings)
    }

    pub(crate) fn sheets(self, file: &str) -> Result<Vec<Sheet>, Failure> {
        let Self::Spreadsheet(mut book) = self else {
            return Err(Failure::new(FORM_UNSUITED, "a text in Markdown has no sheets"));
        };
        let names = book.sheet_names();
        let sheet = |sheet: String| {
            let (rows, columns) = cells(&mut book, &sheet)?.get_size();
            Ok(Sheet { file: file.to_owned(), sheet, rows, columns })
        };
        names.into_iter().map(sheet).collect()
    }
}

/// The cells of a sheet, all between the outermost ones. How far they reach is seen before there is memory for them: a file of Excel can
/// have one in the last of 17 thousand million places.
fn cells(book: &mut Sheets<Cursor<Vec<u8>>>, sheet: &str) -> Result<Range<Data>, Failure> {
    let invalid = |why: String| Failure::new(DOCUMENT_INVALID, format!("the sheet {sheet} is broken: {why}"));
    macro_rules! reach {
        ($book:expr) => {{
            let mut cells = $book.worksheet_cells_reader(sheet).map_err(|error| invalid(error.to_string()))?;
            let (mut rows, mut columns) = (0, 0);
            while let Some(cell) = cells.next_cell().map_err(|error| invalid(error.to_string()))? {
                if *cell.get_value() != DataRef::Empty {
                    let (row, column) = cell.get_position();
                    (rows, columns) = (row.max(rows), column.max(columns));
                }
            }
            (u64::from(rows) + 1) * (u64::from(columns) + 1)
        }};
    }
    let reach = match book {
        Sheets::Xlsx(book) => reach!(book),
        Sheets::Xlsb(book) => reach!(book),
        // The others were read whole when they were opened, and reach as far as their form lets them.
        Sheets::Xls(_) | Sheets::Ods(_) => 0,
    };
    if reach > CELLS_MAX {
        let message = format!("the sheet {sheet} reaches over {reach} cells, at most {CELLS_MAX} are read");
        return Err(Failure::new(SHEET_TOO_LARGE, message));
    }
    book.worksheet_range(sheet).map_err(|error| invalid(error.to_string()))
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS | Options::ENABLE_FOOTNOTES
}

/// What a stranger wrote is text: HTML in it is shown as it stands there, and an address is one of the web, of mail or of the
/// document itself.
fn to_html(markdown: &str) -> String {
    let harmless = |address: &CowStr<'_>| {
        let scheme = address.split(['/', '?', '#']).next().and_then(|begin| begin.split_once(':'));
        scheme.is_none_or(|(scheme, _)| ["http", "https", "mailto"].contains(&scheme.to_ascii_lowercase().as_str()))
    };
    let events = Parser::new_ext(markdown, options()).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) if !harmless(&dest_url) => {
            Event::Start(Tag::Link { link_type, dest_url: CowStr::Borrowed("#"), title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) if !harmless(&dest_url) => {
            Event::Start(Tag::Image { link_type, dest_url: CowStr::Borrowed("#"), title, id })
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
            let date = format!("{year:04}-{month:02}-{day:02}");
            let time = format!("T{hour:02}:{minute:02}:{second:02}");
            if when.as_f64().fract() == 0.0 { date } else { date + &time }
        }
        cell => cell.to_string(),
    }
}

fn to_csv(cells: &Range<Data>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let written = cells.rows().try_for_each(|row| writer.write_record(row.iter().map(text)));
    let bytes = written
        .map_err(|error| error.to_string())
        .and_then(|()| writer.into_inner().map_err(|error| error.to_string()));
    bytes
        .and_then(|bytes| String::from_utf8(bytes).map_err(|error| error.to_string()))
        .map_err(|why| Failure::new(DOCUMENT_INVALID, why))
}

/// A table of Markdown, with the first row as its head.
fn to_table(cells: &Range<Data>) -> String {
    let mut table = String::new();
    for (index, row) in cells.rows().enumerate() {
        for cell in row {
            let mut plain = String::new();
            for letter in text(cell).chars() {
                match letter {
                    '\\' | '|' | '`' | '*' | '_' | '[' | '<' | '&' => plain.extend(['\\', letter]),
                    letter if letter.is_control() => plain.push(' '),
                    letter => plain.push(letter),
                }
            }
            // Writing to a string cannot fail.
            let _ = write!(table, "| {plain} ");
        }
        table.push_str("|\n");
        if index == 0 {
            table.push_str(&"|---".repeat(row.len()));
            table.push_str("|\n");
        }
    }
    table
}
