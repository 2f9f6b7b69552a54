//! Markdown notes with tags and links, found again by SQLite's full-text search. The struct of a command is its contract, so that
//! this file and `store` are all there is.

mod store;
#[cfg(test)]
mod tests;

use hutch_guest::sqlite::Database;
use hutch_guest::{Call, Changed, Command, Failure, InputFile, One, Page, Reads, Writes};
use store::{Found, NOT_FOUND, NOTE_EXISTS, Note, Notes, QUERY_INVALID};

/// Bytes of one note.
const NOTE_BYTES_MAX: usize = 1 << 20;

/// Writes a note in Markdown, a new one if not told otherwise. #word is a tag, and [[Title]] a link to another note, which need not be
/// there yet.
#[derive(Command)]
#[command(write, errors(NOTE_EXISTS))]
#[example("a note of a file in the package", ["Orchard", "--file", "samples/orchard.md"])]
#[example("one with a tag and a link", ["Cider", "--text", "Press the russets of the [[Orchard]] first. #autumn"])]
#[example("a note is not written over unasked", ["cider", "--text", "Again"], 30)]
#[example("write on", ["Cider", "--append", "--text", "Twelve bottles were made. #cellar"])]
#[example("a folder of the machine must be granted", ["Plan", "--file", "data/plan.md"], 20)]
struct Write {
    /// what to call it, without # | [ and ]; [[TITLE]] in another note leads to it
    #[arg(positional, free_text, min_length = 1, max_length = 200, pattern = r"^[^\[\]|#\s]([^\[\]|#]*[^\[\]|#\s])?$")]
    title: String,
    /// what it says
    #[arg(free_text, max_length = 100_000)]
    text: Option<String>,
    /// the Markdown file that says it, such as data/plan.md where the call grants the folder data, or - for standard input; at most 1 MiB
    file: Option<InputFile>,
    /// put it behind what the note says, as a paragraph of its own
    append: bool,
    /// put it in place of what the note says
    replace: bool,
}

impl Writes for Write {
    type State = Database<Notes>;
    type Row = Note;

    fn run(self, notes: &mut Self::State, call: &Call) -> Result<Changed<Note>, Failure> {
        let text = match (self.text, self.file) {
            (Some(_), Some(_)) => return Err(Failure::contradiction("--text", "--file")),
            (text, None) => text.unwrap_or_default(),
            (None, Some(file)) => file.read_text(NOTE_BYTES_MAX)?,
        };
        let text = match (store::find(notes, &self.title), self.append, self.replace) {
            (_, true, true) => return Err(Failure::contradiction("--append", "--replace")),
            (Ok(note), true, _) => format!("{}\n\n{text}", note.text.trim_end()),
            (Ok(_), _, false) => return Err(Failure::new(NOTE_EXISTS, format!("there is a note {}", self.title))),
            _ => text,
        };
        store::write(notes, &self.title, &text, call.now).map(Changed::yes)
    }
}

/// Shows a note whole: its text, its tags, the notes that it leads to, those that it names and that are not there, and those that lead
/// to it.
#[derive(Command)]
#[command(errors(NOT_FOUND))]
#[example("read a note", ["Cider"])]
struct Show {
    /// the note
    #[arg(positional, free_text)]
    title: String,
}

impl Reads for Show {
    type State = Database<Notes>;
    type Answer = One<Note>;

    fn run(self, notes: &Self::State, _: &Call) -> Result<One<Note>, Failure> {
        store::find(notes, &self.title).map(One)
    }
}

/// Finds notes by their words, the best first, with the place where the words are; without words all, the one that changed last first.
/// All words must be there, whatever their capitals and accents. The language is that of FTS5: "words in quotes" stand together, pres*
/// is a beginning, title:word is in the title, and AND, OR and NOT stand between.
#[derive(Command)]
#[command(errors(QUERY_INVALID))]
#[example("notes with both words", ["russets bottles"])]
#[example("words that stand together, and one that is not wanted", ["\"of the orchard\" NOT bees"])]
#[example("a beginning, among notes with a tag", ["bott*", "--tag", "cellar"])]
#[example("signs stand in quotes", ["e-mail"], 2)]
struct Search {
    /// what to look for
    #[arg(positional, free_text, max_length = 1000, default = "")]
    words: String,
    /// only notes with this tag, such as garden
    #[arg(free_text, max_length = 100, default = "")]
    tag: String,
}

impl Reads for Search {
    type State = Database<Notes>;
    type Answer = Page<Found>;

    fn run(self, notes: &Self::State, call: &Call) -> Result<Self::Answer, Failure> {
        store::search(notes, &self.words, &self.tag, call)
    }
}

/// Takes a note out for good and shows it a last time. Links to it stay, and lead nowhere.
#[derive(Command)]
#[command(delete, errors(NOT_FOUND))]
#[example("not without confirmation", ["Cider"], 30)]
#[example("take it out", ["Cider", "--confirm"])]
#[example("it is gone", ["Cider", "--confirm"], 20)]
struct Remove {
    /// the note
    #[arg(positional, free_text)]
    title: String,
}

impl Writes for Remove {
    type State = Database<Notes>;
    type Row = Note;

    fn run(self, notes: &mut Self::State, _: &Call) -> Result<Changed<Note>, Failure> {
        let note = store::find(notes, &self.title)?;
        notes.execute("DELETE FROM notes WHERE title = ?", [&self.title])?;
        Ok(Changed::yes(note))
    }
}

hutch_guest::application! {
    /// Keeps Markdown notes with tags and links, and finds them by their words
    static NOTES: Database<Notes> = "notes";
    commands: [Write, Show, Search, Remove],
    package: "../../../../packages/notes",
    skills: ["notes-usage"],
}

hutch_guest::main!(NOTES);
