//! Documents of strangers as HTML, Markdown or CSV: Markdown by pulldown-cmark, spreadsheets by calamine. What is in a document is
//! shown and never run: HTML within Markdown comes out as text, and links lead to the web or nowhere.

mod document;
#[cfg(test)]
mod tests;

use std::path::Path;

use document::{DOCUMENT_INVALID, Form, SHEET_NOT_FOUND, SHEET_TOO_LARGE, converted};
use hutch_guest::storage::STATE_UNAVAILABLE;
use hutch_guest::{Call, Changed, Command, Failure, InputFile, Page, Reads, Row, Writes};

/// Shows a document in another form: Markdown as HTML, the sheets of a spreadsheet as CSV, as Markdown tables or as HTML. The answer is a
/// batch for write, which makes a file of each.
#[derive(Command)]
#[command(errors(DOCUMENT_INVALID, SHEET_NOT_FOUND, SHEET_TOO_LARGE))]
#[example("Markdown as HTML", ["samples/letter.md", "--as", "html"])]
#[example("see what sheets there are", ["samples/budget.xlsx", "--fields", "sheet"])]
#[example("a sheet as CSV", ["samples/budget.xlsx", "--as", "csv", "--sheet", "Costs"])]
#[example("a sheet that is not there", ["samples/budget.xlsx", "--as", "csv", "--sheet", "Nothing"], 20)]
#[example("Markdown is no table", ["samples/letter.md", "--as", "csv"], 2)]
struct Show {
    /// the document, such as data/letter.md where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
    /// the form to show it in
    #[arg(default = "html")]
    r#as: Form,
    /// name of the sheet, of a spreadsheet; all of them when it is not given
    #[arg(free_text, max_length = 200)]
    sheet: Option<String>,
}

/// A document in another form, or a sheet of it: its text, or the file that holds it now.
#[derive(Row)]
struct Converted {
    file: String,
    sheet: Option<String>,
    r#as: Form,
    bytes: usize,
    #[row(last)]
    text: Option<String>,
}

impl Reads for Show {
    type State = ();
    type Answer = Page<Converted>;

    fn run(self, (): &(), call: &Call) -> Result<Page<Converted>, Failure> {
        let parts = converted(&self.file, self.r#as, self.sheet.as_deref())?;
        call.page_of(parts.map(|part| {
            let (sheet, text) = part?;
            let file = self.file.path().to_owned();
            Ok(Converted { file, sheet, r#as: self.r#as, bytes: text.len(), text: Some(text) })
        }))
    }
}

/// Writes a document, or a sheet of it, in another form into the folder state, in place of a file of that name.
#[derive(Command)]
#[command(write, idempotent, errors(DOCUMENT_INVALID, SHEET_NOT_FOUND, SHEET_TOO_LARGE, STATE_UNAVAILABLE))]
#[example("write a page", ["samples/letter.md", "--as", "html", "--to", "letter.html"])]
#[example("see what would be written", ["samples/budget.xlsx", "--as", "markdown", "--to", "budget.md", "--dry-run"])]
#[example("a page of a sheet", ["samples/budget.xlsx", "--sheet", "Notes"])]
struct Write {
    /// the document, such as data/letter.md where the call grants the folder data, or - for standard input; at most 16 MiB
    #[arg(positional)]
    file: InputFile,
    /// the form to write it in
    #[arg(default = "html")]
    r#as: Form,
    /// what to call the file: letters, digits, points, dashes and underscores; as the document, the sheet that is asked for and the form are
    /// called when it is not given, such as budget-Costs.html
    #[arg(min_length = 1, max_length = 100, pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    to: Option<String>,
    /// name of the sheet, of a spreadsheet; the first one when it is not given
    #[arg(free_text, max_length = 200)]
    sheet: Option<String>,
}

impl Writes for Write {
    type State = ();
    type Row = Converted;

    fn run(self, (): &mut (), _: &Call) -> Result<Changed<Converted>, Failure> {
        let mut parts = converted(&self.file, self.r#as, self.sheet.as_deref())?;
        let (sheet, text) = parts.next().transpose()?.unwrap_or_default();
        let to = self.to.unwrap_or_else(|| {
            let document = Path::new(self.file.path()).file_stem().unwrap_or_default().display();
            let sheet = self.sheet.map(|sheet| format!("-{sheet}")).unwrap_or_default();
            format!("{document}{sheet}.{}", self.r#as)
        });
        let file = format!("state/{to}");
        let written = Converted { file, sheet, r#as: self.r#as, bytes: text.len(), text: None };
        Ok(Changed::yes(written).with_file(to, text))
    }
}

hutch_guest::application! {
    /// Converts documents: Markdown and spreadsheets to HTML, Markdown and CSV
    static CONVERT: () = "convert";
    commands: [Show, Write],
    package: "../../../../packages/convert",
    skills: ["convert-usage"],
}

hutch_guest::main!(CONVERT);
