//! Folders that a call grants, and what is to be done to their files (feature `folder`): walked in the order of bytes without following
//! links, and changed by a list that is whole and checked before the first file is touched.
//!
//! ```
//! use hutch_guest::folder::{EDITS_CONFLICT, EDITS_TOO_MANY, Edited, Edits, FOLDER_DENIED, Folder};
//! use hutch_guest::{Call, Changed, Command, Failure, Writes};
//!
//! /// Puts .old behind the names of files.
//! #[derive(Command)]
//! #[command(write, errors(EDITS_CONFLICT, EDITS_TOO_MANY, FOLDER_DENIED))]
//! struct Age {
//!     /// which files, such as data/**/*.txt
//!     #[arg(positional)]
//!     files: Folder,
//! }
//!
//! impl Writes for Age {
//!     type State = Edits;
//!     type Row = Edited;
//!     fn run(self, edits: &mut Edits, _: &Call) -> Result<Changed<Edited>, Failure> {
//!         let files = self.files.files()?;
//!         Changed::each(files.iter().map(|file| edits.rename(file, &format!("{}.old", file.name()))))
//!     }
//! }
//!
//! hutch_guest::application! {
//!     /// Ages files
//!     static AGES: Edits = "ages";
//!     commands: [Age]
//! }
//!
//! let folder = std::env::temp_dir().join(format!("hutch-guest-ages-{}", std::process::id()));
//! std::fs::create_dir_all(&folder).unwrap();
//! std::fs::write(folder.join("a.txt"), "a").unwrap();
//! let ages = hutch_guest::testing::Harness::new(&AGES);
//! let aged = ages.ok(&["age", &format!("{}/*.txt", folder.display())]);
//! assert!(aged["items"][0]["to"].as_str().unwrap().ends_with("/a.txt.old"));
//! assert!(folder.join("a.txt.old").exists() && !folder.join("a.txt").exists());
//! std::fs::remove_dir_all(folder).unwrap();
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::answer::{Changed, Page};
use crate::argv::Value;
use crate::calendar::Expected;
use crate::contract::{Constraints, FailureCode, ValueType};
use crate::document::Document;
use crate::failure::Failure;
use crate::input::{FILE_NOT_FOUND, FILE_UNREADABLE};
use crate::value::Argument;

/// Files and folders that one walk looks at.
pub const ENTRIES_MAX: usize = 200_000;
/// Files that one call edits.
pub const EDITS_MAX: usize = 10_000;
/// Bytes that one call writes.
pub const WRITTEN_BYTES_MAX: usize = 64 << 20;
const NAME_BYTES_MAX: usize = 255;
/// What stands for standard input.
const STANDARD_INPUT: &str = "-";
const ANY_FOLDERS: &str = "**";
const WILD: [char; 2] = ['*', '?'];

crate::codes! {
    pub FOLDER_TOO_LARGE = 2:
        "there are more files and folders than one call looks at",
        "name a folder further down, or the part of the names that the files have in common";
    pub FOLDER_DENIED = 11:
        "the folder is there to read only, or the file system refused the change; nothing was done",
        "grant the folder to be changed: hutch run --mount DIR:NAME:rw";
    pub EDITS_CONFLICT = 30:
        "two edits meet, or something is there already where a file is to go; nothing was done",
        "look at the list with --dry-run, then give other names or fewer files";
    pub EDITS_TOO_MANY = 2:
        "the call would edit more than 10000 files, or write more than 67108864 bytes; nothing was done",
        "take fewer files at a time, by a folder further down or a longer pattern";
}

/// A parameter that is a folder, or a part of what is in one, as `data`, `data/photos`, `data/**/*.jpg`: `*` is any letters of a name, `?` is
/// one, and `**` any folders. A folder alone stands for everything below it, a file for itself. A name that begins with a dot is found only
/// where the pattern has the dot. Links are seen and never followed. `-` is standard input, as a file that can be read. A command that has one can end with `FILE_NOT_FOUND`, `FILE_UNREADABLE` and
/// `FOLDER_TOO_LARGE`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Folder {
    text: String,
    root: String,
    pattern: Vec<String>,
}

/// What something in a folder is.
#[derive(Clone, Copy, Debug, Eq, PartialEq, hutch_guest_derive::Choice)]
pub enum Kind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A link to something else, or a thing of a rarer kind.
    Link,
}

/// Something in a folder.
#[derive(Clone, Debug, Eq, PartialEq, hutch_guest_derive::Row)]
pub struct Entry {
    /// Where it is, beginning with the name of the folder that was granted.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// How large it is: of a file, once it was [measured](Entry::measured).
    pub bytes: Option<u64>,
}

/// What an edit does to its file.
#[derive(Clone, Copy, Debug, Eq, PartialEq, hutch_guest_derive::Choice)]
pub enum Does {
    /// It gets other content.
    Write,
    /// It gets another path.
    Rename,
    /// It goes.
    Remove,
    /// Nothing, as it is not what the command edits.
    Skip,
}

/// An edit, as an answer shows it.
#[derive(Clone, Debug, Eq, PartialEq, hutch_guest_derive::Row)]
#[row(any_number)]
pub struct Edited {
    /// The file.
    pub path: String,
    /// What becomes of it.
    pub edit: Does,
    /// Where it goes.
    pub to: Option<String>,
    /// In how many places it is another one.
    pub places: Option<usize>,
}

/// Edits of files in granted folders: the state of an application that keeps nothing else. A command puts them down, and they are carried
/// out when all of the call went well, and not for a try. Each entry of a batch sees the folder as it is, but for what is written into
/// files, which the next one reads. The host takes back what a call did that ended badly; natively nothing does.
#[derive(Debug, Default)]
pub struct Edits {
    edits: BTreeMap<String, Edit>,
    written_bytes: usize,
}

#[derive(Debug)]
enum Edit {
    Write(Vec<u8>),
    Rename(String),
    Remove,
}

impl Folder {
    /// Reads a path with or without wildcards.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, Expected> {
        const EXPECTED: Expected = "a folder and perhaps a pattern, such as data/photos/**/*.jpg, without . and ..";
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
        let (literal, pattern) =
            parts.split_at(parts.iter().position(|part| part.contains(WILD)).unwrap_or(parts.len()));
        let strange = |part: &&str| matches!(*part, "." | "..") || part.contains(char::is_control);
        // `**` beside itself would say nothing more.
        let doubled = pattern.windows(2).any(|pair| pair == [ANY_FOLDERS; 2]);
        if literal.is_empty() || parts.iter().any(strange) || doubled {
            return Err(EXPECTED);
        }
        let start = if text.starts_with('/') { "/" } else { "" };
        // What is below a folder, and not the folder itself.
        let below = pattern.last().is_none_or(|last| *last == ANY_FOLDERS);
        let whole = [ANY_FOLDERS].into_iter().filter(|_| pattern.is_empty());
        let pattern = whole.chain(pattern.iter().copied()).chain(below.then_some("*"));
        let pattern = pattern.map(str::to_owned).collect();
        Ok(Self { text: text.to_owned(), root: format!("{start}{}", literal.join("/")), pattern })
    }

    /// As the call has it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The files that it stands for, by the bytes of their paths.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `FILE_UNREADABLE` or `FOLDER_TOO_LARGE`.
    pub fn files(&self) -> Result<Vec<Entry>, Failure> {
        let mut found = self.entries()?;
        found.retain(|entry| entry.kind == Kind::File);
        Ok(found)
    }

    /// All that it stands for, by the bytes of their paths.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `FILE_UNREADABLE` or `FOLDER_TOO_LARGE`.
    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        if self.root == STANDARD_INPUT {
            return Ok(vec![Entry { path: self.root.clone(), kind: Kind::File, bytes: None }]);
        }
        let mut kind = Kind::Folder;
        // Each step of the way is looked at, so that no link leads anywhere else.
        for (end, _) in self.root.match_indices('/').skip_while(|(end, _)| *end == 0).chain([(self.root.len(), "")]) {
            let path = &self.root[..end];
            kind = Kind::of(fs::symlink_metadata(path).map_err(|error| failed(path, &error))?.file_type());
            if kind == Kind::Link {
                return Err(Failure::new(FILE_UNREADABLE, format!("{path} is a link, and links are not followed")));
            }
        }
        let mut found = Vec::new();
        if kind == Kind::Folder {
            self.walk(&mut found)?;
        } else if !self.text.contains(WILD) {
            found.push(Entry { path: self.root.clone(), kind, bytes: None });
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(found)
    }

    fn walk(&self, found: &mut Vec<Entry>) -> Result<(), Failure> {
        let (mut open, mut seen) = (vec![(self.root.clone(), self.reached([0]))], 0);
        while let Some((folder, places)) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, &error))? {
                let unreadable = |error: io::Error| failed(&folder, &error);
                let entry = entry.map_err(unreadable)?;
                seen += 1;
                if seen > ENTRIES_MAX {
                    let message = format!("{} has more than {ENTRIES_MAX} files and folders", self.root);
                    return Err(Failure::new(FOLDER_TOO_LARGE, message));
                }
                let name = entry.file_name().into_string();
                let name = name.map_err(|_| unreadable(io::Error::other("a name in it is not UTF-8")))?;
                let next = self.after(&places, &name);
                if next.is_empty() {
                    continue;
                }
                let kind = Kind::of(entry.file_type().map_err(unreadable)?);
                let path = format!("{folder}/{name}");
                if next.contains(&self.pattern.len()) {
                    found.push(Entry { path: path.clone(), kind, bytes: None });
                }
                if kind == Kind::Folder && next.first().is_some_and(|place| *place < self.pattern.len()) {
                    open.push((path, next));
                }
            }
        }
        Ok(())
    }

    /// The places in the pattern before which a path can stand, with those that are there because `**` may stand for nothing.
    fn reached(&self, places: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        for place in places {
            reached.insert(place);
            if self.pattern.get(place).is_some_and(|part| part == ANY_FOLDERS) {
                reached.insert(place + 1);
            }
        }
        reached
    }

    /// Those behind this name.
    fn after(&self, places: &BTreeSet<usize>, name: &str) -> BTreeSet<usize> {
        let next = places.iter().filter_map(|place| match self.pattern.get(*place)?.as_str() {
            ANY_FOLDERS => (!name.starts_with('.')).then_some(*place),
            part => fits(part, name).then_some(place + 1),
        });
        self.reached(next)
    }
}

/// Whether a name is one of those that a part of a pattern stands for.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, letters): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    // Where the last `*` is, and how far what it stands for goes.
    let (mut at, mut place, mut star) = (0, 0, None);
    if name.starts_with('.') && pattern.first() != Some(&'.') {
        return false;
    }
    while let Some(letter) = letters.get(at) {
        match pattern.get(place) {
            Some('*') => {
                star = Some((place, at));
                place += 1;
            }
            Some(part) if *part == '?' || part == letter => (at, place) = (at + 1, place + 1),
            _ => match star {
                Some((before, end)) => {
                    star = Some((before, end + 1));
                    (at, place) = (end + 1, before + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(place).all(|part| *part == '*')
}

impl Kind {
    fn of(kind: FileType) -> Self {
        match kind {
            kind if kind.is_dir() => Self::Folder,
            kind if kind.is_file() => Self::File,
            _ => Self::Link,
        }
    }
}

impl Entry {
    /// The name at the end of its path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The same with its size, if it is a file. Each costs a call, so that only those are measured that are asked for or shown.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND` or `FILE_UNREADABLE`.
    pub fn measured(mut self) -> Result<Self, Failure> {
        if self.kind == Kind::File && self.bytes.is_none() && self.path != STANDARD_INPUT {
            let metadata = fs::symlink_metadata(&self.path).map_err(|error| failed(&self.path, &error))?;
            self.bytes = Some(metadata.len());
        }
        Ok(self)
    }

    fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self.path.as_str() {
            STANDARD_INPUT => Box::new(io::stdin().lock()),
            path => Box::new(File::open(path)?),
        })
    }

    /// Its content, piece by piece, whose lengths come to what is returned.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND` or `FILE_UNREADABLE`.
    pub fn pieces(&self, mut each: impl FnMut(&[u8])) -> Result<u64, Failure> {
        let failed = |error: io::Error| failed(&self.path, &error);
        let (mut file, mut piece, mut bytes) = (self.open().map_err(failed)?, vec![0; 64 << 10], 0);
        loop {
            let read = file.read(&mut piece).map_err(failed)?;
            let Some(content) = piece.get(..read).filter(|content| !content.is_empty()) else { return Ok(bytes) };
            each(content);
            bytes += u64::try_from(read).unwrap_or(u64::MAX);
        }
    }

    /// Its content, if it is a text in UTF-8 of at most so many bytes.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND` or `FILE_UNREADABLE`.
    pub fn text(&self, bytes_max: u64) -> Result<Option<String>, Failure> {
        let failed = |error: io::Error| failed(&self.path, &error);
        let (file, mut bytes) = (self.open().map_err(failed)?, Vec::new());
        file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        let fits = u64::try_from(bytes.len()).is_ok_and(|read| read <= bytes_max);
        Ok(String::from_utf8(bytes).ok().filter(|_| fits))
    }
}

impl Edits {
    /// Another text for a file, and in how many places it is another one; `None` if it is the same. A file that is no text in UTF-8 or has
    /// more bytes is skipped.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `FILE_UNREADABLE`, `EDITS_CONFLICT` or `EDITS_TOO_MANY`.
    pub fn rewrite(
        &mut self,
        file: &Entry,
        bytes_max: u64,
        with: impl FnOnce(&str) -> (usize, String),
    ) -> Result<Option<Edited>, Failure> {
        let text = match self.edits.get(&file.path) {
            Some(Edit::Write(bytes)) => String::from_utf8(bytes.clone()).ok(),
            _ => file.text(bytes_max)?,
        };
        let Some(text) = text else { return Ok(Some(Self::shown(file, Does::Skip))) };
        let (places, rewritten) = with(&text);
        if rewritten == text {
            return Ok(None);
        }
        let edited = self.write(file, rewritten)?;
        Ok(Some(Edited { places: Some(places), ..edited }))
    }

    /// Other content for a file.
    ///
    /// # Errors
    /// `EDITS_CONFLICT` or `EDITS_TOO_MANY`.
    pub fn write(&mut self, file: &Entry, bytes: impl Into<Vec<u8>>) -> Result<Edited, Failure> {
        if let Some(Edit::Write(earlier)) = self.edits.get(&file.path) {
            self.written_bytes -= earlier.len();
            self.edits.remove(&file.path);
        }
        self.put(file, Edit::Write(bytes.into()))?;
        Ok(Self::shown(file, Does::Write))
    }

    /// Another name for a file, or a path below its folder, where folders on the way are made. Files may take each other's places.
    ///
    /// # Errors
    /// `EDITS_CONFLICT` or `EDITS_TOO_MANY`.
    pub fn rename(&mut self, file: &Entry, to: &str) -> Result<Edited, Failure> {
        let plain = |part: &str| {
            let alone =
                matches!(part, "" | "." | "..") || part.contains(|letter| letter == '\\' || char::is_control(letter));
            !alone && part.len() <= NAME_BYTES_MAX
        };
        if !to.split('/').all(plain) {
            let message = format!("{} would become {to:?}, which is no plain name or path of such", file.path);
            return Err(Failure::new(EDITS_CONFLICT, message));
        }
        let folder = file.path.rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let to = format!("{}{to}", folder.unwrap_or_default());
        self.put(file, Edit::Rename(to.clone()))?;
        Ok(Edited { to: Some(to), ..Self::shown(file, Does::Rename) })
    }

    /// No file any more.
    ///
    /// # Errors
    /// `EDITS_CONFLICT` or `EDITS_TOO_MANY`.
    pub fn remove(&mut self, file: &Entry) -> Result<Edited, Failure> {
        self.put(file, Edit::Remove)?;
        Ok(Self::shown(file, Does::Remove))
    }

    fn shown(file: &Entry, edit: Does) -> Edited {
        Edited { path: file.path.clone(), edit, to: None, places: None }
    }

    fn put(&mut self, Entry { path, kind, .. }: &Entry, edit: Edit) -> Result<(), Failure> {
        if *kind != Kind::File || path == STANDARD_INPUT {
            return Err(Failure::new(EDITS_CONFLICT, format!("{path} is no file of a folder, and no other is edited")));
        }
        if let Edit::Write(bytes) = &edit {
            self.written_bytes += bytes.len();
        }
        if self.edits.insert(path.clone(), edit).is_some() {
            return Err(Failure::new(EDITS_CONFLICT, format!("{path} is edited twice")));
        }
        if self.edits.len() > EDITS_MAX || self.written_bytes > WRITTEN_BYTES_MAX {
            let message = format!(
                "the edits up to {path} are more than {EDITS_MAX}, or write more than {WRITTEN_BYTES_MAX} bytes"
            );
            return Err(Failure::new(EDITS_TOO_MANY, message));
        }
        Ok(())
    }

    /// Where each file goes that gets another path.
    fn renames(&self) -> impl Iterator<Item = (&str, &str)> {
        self.edits.iter().filter_map(|(from, edit)| match edit {
            Edit::Rename(to) => Some((from.as_str(), to.as_str())),
            _ => None,
        })
    }

    /// That no file takes the place of one that stays, and that no two go to one.
    fn check(&self) -> Result<(), Failure> {
        let mut taken = BTreeMap::new();
        let conflict = |message: String| Err(Failure::new(EDITS_CONFLICT, message));
        for (from, to) in self.renames() {
            if let Some(other) = taken.insert(to, from) {
                return conflict(format!("{other} and {from} would both become {to}"));
            }
            let leaves = matches!(self.edits.get(to), Some(Edit::Rename(_) | Edit::Remove));
            if !leaves && fs::symlink_metadata(to).is_ok() {
                return conflict(format!("{from} would become {to}, which is there already"));
            }
        }
        for (to, from) in &taken {
            for (end, _) in to.match_indices('/').filter(|(end, _)| *end > 0) {
                let folder = &to[..end];
                let other = fs::symlink_metadata(folder).is_ok_and(|it| !it.is_dir());
                if other || taken.contains_key(folder) {
                    return conflict(format!("{from} would become {to}, and {folder} is no folder"));
                }
            }
        }
        Ok(())
    }
}

/// Nothing is kept: what a call puts down is done at its end.
impl Document for Edits {
    const FILE: Option<&'static str> = None;

    fn decode(_: &[u8]) -> Result<Self, String> {
        Ok(Self::default())
    }

    fn encode(self) -> serde_json::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn carry_out(&mut self, dry_run: bool) -> Result<(), Failure> {
        self.check()?;
        if dry_run {
            return Ok(());
        }
        let unwritable = |path: &str, error: &io::Error| {
            let granted = path.split('/').next().unwrap_or_default();
            Failure::new(FOLDER_DENIED, format!("{path} could not be changed: {error}")).suggest(format!(
                "grant the folder to be changed, before the package: hutch run --mount DIR:{granted}:rw"
            ))
        };
        for (path, edit) in &self.edits {
            match edit {
                Edit::Write(bytes) => fs::write(path, bytes),
                Edit::Remove => fs::remove_file(path),
                Edit::Rename(_) => Ok(()),
            }
            .map_err(|error| unwritable(path, &error))?;
        }
        // What stands where another file goes steps aside first, so that files can take each other's places.
        let targets: BTreeSet<&str> = self.renames().map(|(_, to)| to).collect();
        let mut renames = Vec::new();
        for (from, to) in self.renames() {
            let mut now = from.to_owned();
            if targets.contains(from) {
                let free = |name: &String| !targets.contains(name.as_str()) && fs::symlink_metadata(name).is_err();
                now = (0..).map(|number: u32| format!("{from}.{number}")).find(free).unwrap_or(now);
                fs::rename(from, &now).map_err(|error| unwritable(from, &error))?;
            }
            renames.push((now, to));
        }
        for (now, to) in renames {
            let folder = Path::new(to).parent().unwrap_or(Path::new(""));
            let made = if folder.is_dir() { Ok(()) } else { fs::create_dir_all(folder) };
            made.and_then(|()| fs::rename(now, to)).map_err(|error| unwritable(to, &error))?;
        }
        Ok(())
    }
}

impl Changed<Edited> {
    /// These edits. It is a change if there is one among them that is not skipped.
    ///
    /// # Errors
    /// The first that comes.
    pub fn each(edited: impl IntoIterator<Item = Result<Edited, Failure>>) -> Result<Self, Failure> {
        let rows = edited.into_iter().collect::<Result<Vec<_>, _>>()?;
        let changed = rows.iter().any(|it| it.edit != Does::Skip);
        let note = (!changed).then(|| "there is nothing to edit".to_owned());
        Ok(Self { rows, changed, note, files: Vec::new() })
    }
}

impl<R> Page<R> {
    /// The same with other rows, which are made of no more than is shown.
    ///
    /// # Errors
    /// The first that comes.
    pub fn try_map<Other>(self, row: impl FnMut(R) -> Result<Other, Failure>) -> Result<Page<Other>, Failure> {
        let rows = self.rows.into_iter().map(row).collect::<Result<_, _>>()?;
        Ok(Page { rows, total: self.total, paging: self.paging, more: self.more })
    }
}

/// Why something cannot be read, and what to grant if that is missing.
fn failed(path: &str, error: &io::Error) -> Failure {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    if !path.starts_with('/') && !Path::new(first).is_dir() {
        return Failure::new(FILE_NOT_FOUND, format!("{path} is not there: this call has no folder {first}"))
            .suggest(format!("grant one before the package: hutch run --mount DIR:{first}"));
    }
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Failure::new(FILE_NOT_FOUND, format!("{path} is not there")),
        _ => Failure::new(FILE_UNREADABLE, format!("{path} cannot be read: {error}")),
    }
}

impl Argument for Folder {
    const TYPE: ValueType = ValueType::Path;
    const CONSTRAINTS: Constraints = Constraints { min_length: Some(1), max_length: Some(4096), ..Constraints::NONE };
    const CODES: &'static [FailureCode] = &[FILE_NOT_FOUND, FILE_UNREADABLE, FOLDER_TOO_LARGE];

    fn of(value: &Value) -> Result<Self, Expected> {
        match value {
            Value::Text(path) => Self::parse(path),
            _ => Err("a path"),
        }
    }
}
