//! Documents of strangers as HTML, Markdown or CSV: Markdown by pulldown-cmark, spreadsheets by calamine. What is in a document is
//! shown and never run: HTML within Markdown comes out as text, and links lead to the web or nowhere.

mod document;
#[cfg(test)]
mod tests;

use std::path::Path;

use document::{DOCUMENT_INVALID, Document, FORM_UNSUITED, Form, Heading, SHEET_NOT_FOUND, SHEET_TOO_LARGE, Sheet};
use hutch_guest::storage::STATE_UNAVAILABLE;
use hutch_guest::{Call, Changed, Command, Failure, InputFile, One, Page, Reads, Row, Writes};

/// Shows a document in another form: Markdown as HTML, a sheet of a spreadsheet as CSV, as a Markdown table or as HTML.
#[derive(Command)]
#[command(errors(DOCUMENT_INVALID, FORM_UNSUITED, SHEET_NOT_FOUND, SHEET_TOO_LARGE))]
#[example("Markdown as HTML", ["samples/letter.md", "--as", "html"])]
#[example("a sheet as CSV", ["samples/budget.xlsx", "--as", "csv", "--sheet", "Costs"])]
#[example("a sheet that is not there", ["samples/budget.xlsx", "--as", "csv", "--sheet", "Nothing"], 20)]
#[example("Markdown is no table", ["samples/letter.md", "--as", "csv"], 2)]
struct Show {
    /// the document, such as data/letter.md where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
    /// the form to show it in
    #[arg(name = "as", default = "html")]
    form: Form,
    /// name of the sheet, of a spreadsheet; the first one when it is not given
    #[arg(free_text, max_length = 200)]
    sheet: Option<String>,
}

/// A document in another form.
#[derive(Row)]
struct Shown {
    form: Form,
    text: String,
}

impl Reads for Show {
    type State = ();
    type Answer = One<Shown>;

    fn run(self, (): &(), _: &Call) -> Result<One<Shown>, Failure> {
        let text = Document::read(&self.file)?.into_form(self.form, self.sheet.as_deref())?;
        Ok(One(Shown { form: self.form, text }))
    }
}

/// Writes a document in another form into the folder state, in place of a file of that name.
#[derive(Command)]
#[command(write, idempotent)]
#[command(errors(DOCUMENT_INVALID, FORM_UNSUITED, SHEET_NOT_FOUND, SHEET_TOO_LARGE, STATE_UNAVAILABLE))]
#[example("write a page", ["samples/letter.md", "--as", "html", "--to", "letter.html"])]
#[example("see what would be written", ["samples/budget.xlsx", "--as", "markdown", "--to", "budget.md", "--dry-run"])]
#[example("write it", ["samples/budget.xlsx", "--as", "markdown", "--to", "budget.md"])]
#[example("a page of a sheet", ["samples/budget.xlsx", "--sheet", "Notes"])]
struct Write {
    /// the document, such as data/letter.md where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
    /// the form to write it in
    #[arg(name = "as", default = "html")]
    form: Form,
    /// what to call the file: letters, digits, points, dashes and underscores; as the document, the sheet and the form are called when it
    /// is not given, such as budget-Costs.html
    #[arg(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    to: Option<String>,
    /// name of the sheet, of a spreadsheet; the first one when it is not given
    #[arg(free_text, max_length = 200)]
    sheet: Option<String>,
}

/// A file that was written.
#[derive(Row)]
struct Written {
    file: String,
    form: Form,
    bytes: usize,
}

impl Writes for Write {
    type State = ();
    type Row = Written;

    fn run(self, (): &mut (), _: &Call) -> Result<Changed<Written>, Failure> {
        let text = Document::read(&self.file)?.into_form(self.form, self.sheet.as_deref())?;
        let to = self.to.unwrap_or_else(|| {
            let document = Path::new(self.file.path()).file_stem().unwrap_or_default().display();
            let sheet = self.sheet.map(|sheet| format!("-{sheet}")).unwrap_or_default();
            format!("{document}{sheet}.{}", self.form)
        });
        let written = Written { file: format!("state/{to}"), form: self.form, bytes: text.len() };
        Ok(Changed::yes(written).with_file(to, text))
    }
}

/// Shows the headings of a Markdown document with their lines.
#[derive(Command)]
#[command(errors(DOCUMENT_INVALID, FORM_UNSUITED))]
#[example("see what it is about", ["samples/letter.md"])]
struct Outline {
    /// the document, such as data/letter.md where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
}

impl Reads for Outline {
    type State = ();
    type Answer = Page<Heading>;

    fn run(self, (): &(), call: &Call) -> Result<Page<Heading>, Failure> {
        Ok(call.page(&Document::read(&self.file)?.outline()?, Heading::clone))
    }
}

/// Shows the sheets of a spreadsheet with their sizes. The answer is a batch for write, which makes a page of each.
#[derive(Command)]
#[command(errors(DOCUMENT_INVALID, FORM_UNSUITED, SHEET_TOO_LARGE))]
#[example("see what is in it", ["samples/budget.xlsx"])]
struct Sheets {
    /// the spreadsheet, such as data/budget.xlsx where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
}

impl Reads for Sheets {
    type State = ();
    type Answer = Page<Sheet>;

    fn run(self, (): &(), call: &Call) -> Result<Page<Sheet>, Failure> {
        Ok(call.page(&Document::read(&self.file)?.sheets(self.file.path())?, Sheet::clone))
    }
}

hutch_guest::application! {
    /// Converts documents: Markdown and spreadsheets to HTML, Markdown and CSV
    static CONVERT: () = "convert";
    commands: [Show, Write, Outline, Sheets],
    package: "../../../../packages/convert",
    skills: ["convert-usage"],
}

hutch_guest::main!(CONVERT);
