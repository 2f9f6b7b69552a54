//! Files of a granted folder: found, searched, summed, and edited many at once by a list that is whole before the first is touched. The
//! struct of a command is its contract, so that this file and `pattern` are all there is.

mod pattern;
#[cfg(test)]
mod tests;

use hutch_guest::folder::{EDITS_CONFLICT, EDITS_TOO_MANY, Edited, Edits, Entry, FOLDER_DENIED, Folder, Kind};
use hutch_guest::{Call, Changed, Command, Failure, Page, Reads, Row, Writes};
use pattern::{PATTERN_INVALID, Pattern, REPLACEMENT_INVALID};
use sha2::{Digest, Sha256};

/// Bytes of a file that is searched or in which something is replaced.
const TEXT_BYTES_MAX: u64 = 16 << 20;

/// Finds files, folders and links by a pattern of their paths, by what they are, and by size. Links are never followed.
#[derive(Command)]
#[example("all that is in a folder", ["practice"])]
#[example("texts of some length, wherever they are", ["practice/**/*.txt", "--kind", "file", "--min-bytes", "60"])]
#[example("a folder of the machine must be granted", ["data/**/*.jpg"], 20)]
struct Find {
    /// a folder or a pattern, such as data, data/photos or data/**/*.jpg: * and ? stand for letters of a name, ** for any folders
    #[arg(positional)]
    path: Folder,
    /// only what is this
    kind: Option<Kind>,
    /// only files of at least so many bytes
    min_bytes: Option<u64>,
    /// only files of at most so many bytes
    max_bytes: Option<u64>,
}

impl Reads for Find {
    type State = Edits;
    type Answer = Page<Entry>;

    fn run(self, _: &Edits, call: &Call) -> Result<Page<Entry>, Failure> {
        let mut found = self.path.entries()?;
        found.retain(|entry| self.kind.is_none_or(|kind| kind == entry.kind));
        if self.min_bytes.or(self.max_bytes).is_some() {
            let sizes = self.min_bytes.or(Some(0))..=self.max_bytes.or(Some(u64::MAX));
            found = found.into_iter().map(Entry::measured).collect::<Result<_, _>>()?;
            found.retain(|entry| sizes.contains(&entry.bytes));
        }
        call.page(&found, Entry::clone).try_map(Entry::measured)
    }
}

/// A line in which something was found, or the part of it around that.
#[derive(Row)]
struct Match {
    path: String,
    line: usize,
    column: usize,
    text: String,
}

/// How many files were not looked through.
#[derive(Row)]
struct Searched {
    skipped: usize,
}

/// Searches the lines of text files for a regular expression, and shows each line that has it. Files that are no UTF-8 or have more than
/// 16 MiB are skipped and counted.
#[derive(Command)]
#[command(errors(PATTERN_INVALID))]
#[example("lines with a mail address in them", ["practice", "[a-z.]+@[a-z.]+"])]
#[example("in upper case or lower", ["practice/**/*.txt", "(?i)tea"])]
#[example("what is no regular expression", ["practice", "tea("], 2)]
struct Search {
    /// which files: data, data/notes, data/**/*.md, or - for standard input
    #[arg(positional)]
    path: Folder,
    /// a regular expression of the crate regex, without look-around and back-references; with (?i) before it upper case and lower are alike
    #[arg(positional, free_text, min_length = 1, max_length = 10_000)]
    pattern: String,
    /// take the pattern for a text as it is
    literal: bool,
}

impl Reads for Search {
    type State = Edits;
    type Answer = Page<Match, Searched>;

    fn run(self, _: &Edits, call: &Call) -> Result<Self::Answer, Failure> {
        let pattern = Pattern::new(&self.pattern, "", self.literal)?;
        let (mut skipped, mut found) = (0, Vec::new());
        for file in self.path.files()? {
            let text = file.text(TEXT_BYTES_MAX)?;
            skipped += usize::from(text.is_none());
            let row = |(line, column, text)| Match { path: file.path.clone(), line, column, text };
            found.extend(pattern.lines(&text.unwrap_or_default()).map(row));
        }
        Ok(call.page_of(found.into_iter().map(Ok))?.with(Searched { skipped }))
    }
}

/// The sum of a file.
#[derive(Row)]
struct Sum {
    path: String,
    bytes: u64,
    sha256: String,
}

/// Computes the SHA-256 checksum of each file. Only the files of the page are read, so that many take several calls.
#[derive(Command)]
#[example("of all files in a folder", ["practice"])]
struct Checksum {
    /// which files: data, data/photos, data/**/*.jpg, or - for standard input
    #[arg(positional)]
    path: Folder,
}

impl Reads for Checksum {
    type State = Edits;
    type Answer = Page<Sum>;

    fn run(self, _: &Edits, call: &Call) -> Result<Page<Sum>, Failure> {
        call.page(&self.path.files()?, Entry::clone).try_map(|file| {
            let mut sum = Sha256::new();
            let bytes = file.pieces(|piece| sum.update(piece))?;
            Ok(Sum { path: file.path, bytes, sha256: format!("{:x}", sum.finalize()) })
        })
    }
}

/// Replaces what a regular expression matches in many text files at once: in all of them or in none. Files that are no UTF-8 or have more
/// than 16 MiB are skipped, and the answer names them.
#[derive(Command)]
#[command(write, errors(PATTERN_INVALID, REPLACEMENT_INVALID, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("one word for another", ["practice/**/*.txt", "colour", "color"])]
#[example("see what would be done, with a part of what was there", ["practice", "([0-9]+) g", "${1} grams", "--dry-run"])]
#[example("a group that is not there", ["practice", "[0-9]+ g", "${1} grams"], 2)]
struct Replace {
    /// which files: data, data/notes, data/**/*.md
    #[arg(positional)]
    path: Folder,
    /// a regular expression as in search; ^ and $ are at the ends of each line
    #[arg(positional, free_text, min_length = 1, max_length = 10_000)]
    pattern: String,
    /// what comes in its place: ${1} is what the first group matched, ${name} a named one, $$ a dollar sign
    #[arg(positional, free_text, max_length = 10_000)]
    replacement: String,
    /// take pattern and replacement for texts as they are
    literal: bool,
}

impl Writes for Replace {
    type State = Edits;
    type Row = Edited;

    fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Edited>, Failure> {
        let pattern = Pattern::new(&self.pattern, &self.replacement, self.literal)?;
        let files = self.path.files()?;
        let edited = files.iter().map(|file| edits.rewrite(file, TEXT_BYTES_MAX, |text| pattern.replaced(text)));
        Changed::each(edited.filter_map(Result::transpose))
    }
}

/// Renames many files at once, by a regular expression for their names: all of them or none. Files may take each other's names, and none that
/// stays is overwritten.
#[derive(Command)]
#[command(write, errors(PATTERN_INVALID, REPLACEMENT_INVALID, EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("the year to the front", ["practice/**/*.txt", "^(.*)-(2026)", "${2}-${1}"])]
#[example("see where files would go", ["practice/*.txt", "^", "old/", "--dry-run"])]
#[example("two files of one name", ["practice/letters/*.txt", "^.*[.]txt", "same.txt"], 30)]
struct Rename {
    /// which files: data, data/photos, data/**/*.jpg
    #[arg(positional)]
    path: Folder,
    /// a regular expression for the name of a file, without the folders before it
    #[arg(positional, free_text, min_length = 1, max_length = 10_000)]
    pattern: String,
    /// what comes in place of each match, as in replace; where it has a / the file goes into a folder below its own
    #[arg(positional, free_text, max_length = 10_000)]
    replacement: String,
}

impl Writes for Rename {
    type State = Edits;
    type Row = Edited;

    fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Edited>, Failure> {
        let pattern = Pattern::new(&self.pattern, &self.replacement, false)?;
        let named = self.path.files()?.into_iter().map(|file| (pattern.replaced(file.name()).1, file));
        let others = named.filter(|(name, file)| name != file.name());
        Changed::each(others.map(|(name, file)| edits.rename(&file, &name)))
    }
}

/// Removes files by a pattern of their paths: all of them or none. Folders and links stay.
#[derive(Command)]
#[command(delete, errors(EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
#[example("all drafts", ["practice/**/*.bak", "--confirm"])]
#[example("see what would be removed", ["practice", "--dry-run", "--confirm"])]
struct Remove {
    /// which files: data/old, data/**/*.bak
    #[arg(positional)]
    path: Folder,
}

impl Writes for Remove {
    type State = Edits;
    type Row = Edited;

    fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Edited>, Failure> {
        Changed::each(self.path.files()?.iter().map(|file| edits.remove(file)))
    }
}

hutch_guest::application! {
    /// Finds, searches, sums and edits many files of a folder at once
    static FILES: Edits = "files";
    commands: [Find, Search, Checksum, Replace, Rename, Remove],
    package: "../../../../packages/files",
    skills: ["files-usage"],
}

hutch_guest::main!(FILES);
