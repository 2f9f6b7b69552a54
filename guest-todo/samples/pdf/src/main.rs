//! PDF files of strangers: what they are, the text on their pages, and files of some of their pages, by the crate `lopdf`. The struct of a
//! command is its contract, so that this file, `pdf` and `text` are all there is.

mod pdf;
#[cfg(test)]
mod tests;
mod text;

use hutch_guest::argv::Value;
use hutch_guest::folder::{EDITS_CONFLICT, EDITS_TOO_MANY, Edits, Entry, FOLDER_DENIED, Folder, Kind};
use hutch_guest::value::{Argument, invalid};
use hutch_guest::{Call, Changed, Command, Failure, InputFile, Page, Reads, Row, Writes, input::FILE_NOT_FOUND};
use pdf::{PDF_ENCRYPTED, PDF_INVALID, PDF_TOO_LARGE, Pdf, made};

/// Bytes of the files that one call reads.
const FILES_BYTES_MAX: usize = 32 << 20;
/// Bytes of content that one call looks through for text.
const CONTENT_BYTES_MAX: usize = 16 << 20;

/// A page, by its number: width and height of what is seen of it, in points of which 72 are an inch, before it is turned by so many degrees.
#[derive(Row)]
struct Sheet {
    file: String,
    pages: String,
    size: Vec<f64>,
    turned: i64,
}

/// What a file says about itself.
#[derive(Row)]
struct About {
    version: String,
    title: Option<String>,
    author: Option<String>,
    subject: Option<String>,
    keywords: Option<String>,
    creator: Option<String>,
    producer: Option<String>,
    created: Option<String>,
    modified: Option<String>,
}

/// Shows what a PDF file says about itself, such as title, author and dates, and how large its pages are.
#[derive(Command)]
#[command(errors(PDF_INVALID, PDF_ENCRYPTED, PDF_TOO_LARGE))]
#[example("what a file is", ["practice/letter.pdf"])]
#[example("what is broken", ["practice/broken.pdf"], 2)]
#[example("a folder of the machine must be granted", ["data/letter.pdf"], 20)]
struct Show {
    /// the file, such as data/letter.pdf where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
}

impl Reads for Show {
    type State = Edits;
    type Answer = Page<Sheet, About>;

    fn run(self, _: &Edits, call: &Call) -> Result<Self::Answer, Failure> {
        let pdf = Pdf::read(&self.file.read(FILES_BYTES_MAX)?)?;
        let [title, author, subject, keywords, creator, producer, created, modified] =
            ["Title", "Author", "Subject", "Keywords", "Creator", "Producer", "CreationDate", "ModDate"]
                .map(|it| pdf.says(it));
        let version = pdf.document.version.clone();
        let turned = |page| pdf.of_page(page, b"Rotate").and_then(|it| it.as_i64().ok()).unwrap_or(0);
        let sheet = |page: &usize| {
            let (file, pages) = (self.file.path().to_owned(), (page + 1).to_string());
            Sheet { file, pages, size: pdf.size(*page), turned: turned(*page) }
        };
        let pages: Vec<_> = (0..pdf.pages.len()).collect();
        let about = About { version, title, author, subject, keywords, creator, producer, created, modified };
        Ok(call.page(&pages, sheet).with(about))
    }
}

/// The text of a page.
#[derive(Row)]
struct Words {
    page: usize,
    text: String,
}

/// Shows the text of the pages, in the order in which it is drawn, with an end of line where the next line begins. A picture of a text has none.
#[derive(Command)]
#[command(errors(PDF_INVALID, PDF_ENCRYPTED, PDF_TOO_LARGE))]
#[example("all of it", ["practice/letter.pdf"])]
#[example("of one page", ["practice/letter.pdf", "--pages", "2"])]
#[example("a page that is not there", ["practice/letter.pdf", "--pages", "9"], 2)]
struct Text {
    /// the file, such as data/letter.pdf where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
    /// which pages, such as 2, 1-3,7 or 5-; all if it is not given
    #[arg(max_length = 200, pattern = "^[0-9]+(-[0-9]*)?(,[0-9]+(-[0-9]*)?)*$", default = "1-")]
    pages: String,
}

impl Reads for Text {
    type State = Edits;
    type Answer = Page<Words>;

    fn run(self, _: &Edits, call: &Call) -> Result<Page<Words>, Failure> {
        let (pdf, mut bytes_left) = (Pdf::read(&self.file.read(FILES_BYTES_MAX)?)?, CONTENT_BYTES_MAX);
        let pages = chosen(&self.pages, &pdf)?;
        let words = |page| Ok(Words { page: page + 1, text: text::of(&pdf, page, &mut bytes_left)? });
        call.page(&pages, |page| *page).try_map(words)
    }
}

/// Files that were written, and how many pages they have together.
#[derive(Row)]
struct Written {
    files: Vec<String>,
    pages: usize,
}

/// Writes some pages of a file into another one, or into several of so many pages each. What the file says about itself does not come along.
#[derive(Command)]
#[command(write, errors(PDF_INVALID, PDF_ENCRYPTED, PDF_TOO_LARGE, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("two pages", ["practice/letter.pdf", "practice/part.pdf", "--pages", "2-3"])]
#[example("a file of each page", ["practice/letter.pdf", "practice/page.pdf", "--every", "1"])]
#[example("see what would be written", ["practice/letter.pdf", "practice/turned.pdf", "--pages", "3,2,1", "--dry-run"])]
#[example("what is there already", ["practice/letter.pdf", "practice/notes.pdf"], 30)]
struct Split {
    /// the file, such as data/letter.pdf where the call grants the folder data, or - for standard input; at most 32 MiB
    #[arg(positional)]
    file: InputFile,
    /// the new file, such as data/part.pdf where the call grants data to be changed; of several each has its number: data/part-1.pdf; if it is not given, that of the file with the pages behind: data/letter-2.pdf
    #[arg(positional)]
    to: Option<Folder>,
    /// which pages in which order, such as 2, 1-3,7 or 5-; all if it is not given
    #[arg(max_length = 200, pattern = "^[0-9]+(-[0-9]*)?(,[0-9]+(-[0-9]*)?)*$", default = "1-")]
    pages: String,
    /// how many pages a file gets; all in one if it is not given
    #[arg(minimum = 1)]
    every: Option<usize>,
    /// write over files that are there
    replace: bool,
}

impl Writes for Split {
    type State = Edits;
    type Row = Written;

    fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Written>, Failure> {
        let pdf = Pdf::read(&self.file.read(FILES_BYTES_MAX)?)?;
        let pages = chosen(&self.pages, &pdf)?;
        let parts: Vec<_> = pages.chunks(self.every.unwrap_or(pages.len())).map(|part| vec![(&pdf, part)]).collect();
        let named = format!("{}-{}.pdf", self.file.path().trim_end_matches(".pdf"), self.pages.trim_end_matches('-'));
        let to = self.to.map_or_else(|| Folder::parse(&named).map_err(|it| invalid("to", &named, it)), Ok)?;
        written(edits, &to, self.replace, &parts)
    }
}

/// Writes the pages of several files into one, file after file. What they say about themselves does not come along.
#[derive(Command)]
#[command(write, errors(PDF_INVALID, PDF_ENCRYPTED, PDF_TOO_LARGE, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("two files", ["practice/all.pdf", "practice/letter.pdf", "practice/notes.pdf"])]
#[example("see what a folder would be", ["practice/folder.pdf", "practice/n*.pdf", "--dry-run"])]
#[example("what is encrypted", ["practice/more.pdf", "practice/locked.pdf"], 2)]
struct Merge {
    /// the new file, such as data/all.pdf where the call grants the folder data to be changed
    #[arg(positional)]
    to: Folder,
    /// the files in their order, or patterns of names such as data/scans/*.pdf, which go by the bytes of their paths; at most 32 MiB together
    #[arg(positional, required)]
    files: Vec<Folder>,
    /// write over a file that is there
    replace: bool,
}

impl Writes for Merge {
    type State = Edits;
    type Row = Written;

    fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Written>, Failure> {
        let (mut pdfs, mut bytes_left) = (Vec::new(), FILES_BYTES_MAX);
        for file in self.files.iter().map(Folder::files).collect::<Result<Vec<_>, _>>()?.concat() {
            let input =
                InputFile::of(&Value::Text(file.path.clone())).map_err(|it| invalid("files", &file.path, it))?;
            let bytes = input.read(bytes_left)?;
            bytes_left -= bytes.len();
            let named = |it: Failure| Failure { message: format!("{}: {}", file.path, it.message), ..it };
            pdfs.push(Pdf::read(&bytes).map_err(named)?);
        }
        let all: Vec<Vec<usize>> = pdfs.iter().map(|it| (0..it.pages.len()).collect()).collect();
        let parts = pdfs.iter().zip(all.iter().map(Vec::as_slice)).collect();
        written(edits, &self.to, self.replace, &[parts])
    }
}

/// The places of the pages that a text such as 1-3,7 names, in that order.
fn chosen(text: &str, pdf: &Pdf) -> Result<Vec<usize>, Failure> {
    let mut chosen = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last = if last.is_empty() { Ok(pdf.pages.len()) } else { last.parse() };
        match (first.parse::<usize>(), last) {
            (Ok(first @ 1..), Ok(last)) if (first..=pdf.pages.len()).contains(&last) => chosen.extend(first - 1..last),
            _ => return Err(invalid("pages", part, &format!("pages from 1 to {}", pdf.pages.len()))),
        }
    }
    Ok(chosen)
}

/// Puts down a file for each of these parts, none in place of one that is there or comes of the same batch, unless that is asked for.
fn written(
    edits: &mut Edits,
    to: &Folder,
    replace: bool,
    parts: &[Vec<(&Pdf, &[usize])>],
) -> Result<Changed<Written>, Failure> {
    let wrong = || invalid("to", to.text(), "one file whose name ends in .pdf, such as data/part.pdf");
    let name = to.text().strip_suffix(".pdf").filter(|it| !it.contains(['*', '?'])).ok_or_else(wrong)?;
    let (mut row, digits) = (Written { files: Vec::new(), pages: 0 }, parts.len().to_string().len());
    for (at, part) in parts.iter().enumerate() {
        let number = if parts.len() > 1 { format!("-{:0digits$}", at + 1) } else { String::new() };
        let file = Entry { path: format!("{name}{number}.pdf"), kind: Kind::File, bytes: None };
        match edits.rewrite(&file, 0, |text| (0, text.to_owned())) {
            Err(absent) if absent.code == FILE_NOT_FOUND => {}
            Err(other) => return Err(other),
            Ok(_) if replace => {}
            Ok(_) => {
                let there = Failure::new(EDITS_CONFLICT, format!("{} is there already", file.path));
                return Err(there.suggest("give another name, or --replace"));
            }
        }
        row.pages += part.iter().map(|(_, pages)| pages.len()).sum::<usize>();
        edits.write(&file, made(part)?)?;
        row.files.push(file.path);
    }
    Ok(Changed::yes(row))
}

hutch_guest::application! {
    /// Shows PDF files and their text, and splits and merges them
    static PDF: Edits = "pdf";
    commands: [Show, Text, Split, Merge],
    package: "../../../../packages/pdf",
    skills: ["pdf-usage"],
}

hutch_guest::main!(PDF);
