//! A package in one file: a tar archive of files and folders and of nothing else. It is never unpacked to a disk: opening it reads
//! the headers and keeps where each file's bytes are, and a file is read from there when it is asked for. So there is no path out,
//! nothing to clean up, and a run of a large package reads no more than a run of its folder.
//!
//! The form is narrower than tar: what [`Package::pack`] writes, and what other programs write that comes to the same. Not compressed, since
//! a compressor's next version would give the same package other bytes; whoever sends the file can compress it on the way.

use super::files::{Found, PackageBounds, PackageEntry, Walk, problem};
use super::{Package, PackageError, Source};
use hutch_model::diagnostic::{Code, Diagnostic, sort};
use hutch_model::names::PackagePath;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
#[cfg(feature = "machine")]
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};
use tar::{Archive, Builder, EntryType, Header};

const BLOCK_BYTES: u64 = 512;
/// An archive ends with two empty blocks.
const END_BYTES: u64 = 2 * BLOCK_BYTES;
/// Programs that write tapes fill up the last record, of 20 blocks, with empty blocks. Where the first of the two that end the archive is the
/// last of a record, all of the next one follows.
const END_BYTES_MAX: u64 = 21 * BLOCK_BYTES;
/// How a diagnostic names the archive itself.
const ARCHIVE: &str = ".";
/// The most problems listed.
pub(super) const PROBLEMS_MAX: usize = 100;
const NAME_CHARACTERS_SHOWN: usize = 80;

/// The bytes of a packed file.
#[derive(Debug)]
pub(super) enum Bytes {
    /// In an open file.
    #[cfg(feature = "machine")]
    File(File),
    /// All of them here.
    Memory(Cursor<Vec<u8>>),
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            #[cfg(feature = "machine")]
            Bytes::File(file) => file.read(into),
            Bytes::Memory(bytes) => bytes.read(into),
        }
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            #[cfg(feature = "machine")]
            Bytes::File(file) => file.seek(to),
            Bytes::Memory(bytes) => bytes.seek(to),
        }
    }
}

/// A packed file, opened.
#[derive(Debug)]
pub(super) struct Packed {
    /// One reader at a time: a read begins with moving the file's position.
    file: Mutex<Bytes>,
    entries: BTreeMap<PackagePath, Entry>,
}

/// What a path names.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// Named by a header of its own, or only by a path that goes through it.
    Folder {
        own: bool,
    },
    File {
        at: u64,
        bytes: u64,
    },
}

impl Entry {
    fn file_bytes(self) -> Option<u64> {
        match self {
            Entry::Folder { .. } => None,
            Entry::File { bytes, .. } => Some(bytes),
        }
    }
}

impl Packed {
    pub(super) fn open(mut file: Bytes, bounds: &PackageBounds) -> Result<Packed, PackageError> {
        let mut index =
            Index { entries: BTreeMap::new(), lower: BTreeMap::new(), total_bytes: 0, problems: Vec::new() };
        if let Err(problem) = index.fill(&mut file, bounds) {
            index.problems.push(problem);
        }
        if index.problems.is_empty() {
            return Ok(Packed { file: Mutex::new(file), entries: index.entries });
        }
        sort(&mut index.problems);
        Err(PackageError { diagnostics: index.problems })
    }

    /// How the file looks.
    #[cfg(feature = "machine")]
    pub(super) fn stamp(&self) -> Option<hutch_folder::Stamp> {
        let bytes = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let Bytes::File(file) = &*bytes else { return None };
        let metadata = cap_std::fs::Metadata::from_file(file).ok()?;
        Some(hutch_folder::Stamp::of(&metadata))
    }

    pub(super) fn look(&self, path: &PackagePath) -> Found {
        match self.entries.get(path) {
            None => Found::Nothing,
            Some(Entry::Folder { .. }) => Found::Folder,
            Some(Entry::File { bytes, .. }) => Found::File(*bytes),
        }
    }

    pub(super) fn read(&self, path: &PackagePath, bytes_max: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
        let Some((at, length)) = self.place(path)? else { return Ok(None) };
        let text = path.as_str();
        if length > bytes_max {
            return Err(problem(Code::FileTooLarge, text, format!("{length} bytes, {bytes_max} allowed")));
        }
        let bytes = self.read_from(text, at, length)?;
        match bytes.len() as u64 == length {
            true => Ok(Some(bytes)),
            false => Err(problem(Code::FileUnreadable, text, "the packed file became shorter")),
        }
    }

    /// So many bytes of a file from a place, or fewer if it ends before.
    pub(super) fn read_part(&self, path: &PackagePath, at: u64, bytes: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
        let Some((first, length)) = self.place(path)? else { return Ok(None) };
        let bytes = bytes.min(length.saturating_sub(at));
        self.read_from(path.as_str(), first.saturating_add(at), bytes).map(Some)
    }

    /// Where a file's content begins, and how long it is.
    fn place(&self, path: &PackagePath) -> Result<Option<(u64, u64)>, Diagnostic> {
        match self.entries.get(path) {
            None => Ok(None),
            Some(Entry::Folder { .. }) => {
                Err(problem(Code::NotAFile, path.as_str(), "expected a file, found a folder"))
            }
            Some(Entry::File { at, bytes }) => Ok(Some((*at, *bytes))),
        }
    }

    fn read_from(&self, path: &str, at: u64, length: u64) -> Result<Vec<u8>, Diagnostic> {
        // A panic elsewhere leaves nothing behind but a position, which is set anew.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| (&mut *file).take(length).read_to_end(&mut bytes));
        read.map_err(|error| unreadable(path, &error))?;
        Ok(bytes)
    }

    pub(super) fn walk(&self, root: Option<&PackagePath>) -> Walk {
        let below = |path: &PackagePath| {
            root.is_none_or(|root| path.as_str().strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/')))
        };
        let entries = self.entries.iter().filter(|(path, _)| below(path));
        let entries = entries.map(|(path, entry)| PackageEntry { path: path.clone(), file_bytes: entry.file_bytes() });
        Walk { entries: entries.collect(), problems: Vec::new() }
    }
}

/// What the headers say so far.
struct Index {
    entries: BTreeMap<PackagePath, Entry>,
    /// Every path by what it is where case does not count.
    lower: BTreeMap<String, PackagePath>,
    total_bytes: u64,
    problems: Vec<Diagnostic>,
}

impl Index {
    /// Reads all headers. An `Err` is what kept the rest from being read.
    fn fill(&mut self, file: &mut Bytes, bounds: &PackageBounds) -> Result<(), Diagnostic> {
        let mut first = Vec::new();
        let read = file.rewind().and_then(|()| file.by_ref().take(BLOCK_BYTES).read_to_end(&mut first));
        read.map_err(|error| unreadable(ARCHIVE, &error))?;
        let archive_bytes = file.seek(SeekFrom::End(0)).and_then(|length| file.rewind().map(|()| length));
        let archive_bytes = archive_bytes.map_err(|error| unreadable(ARCHIVE, &error))?;
        let mut archive = Archive::new(&mut *file);
        let headers = archive.entries_with_seek().map_err(|_| no_archive(&first))?.raw(true);
        let (mut end, mut headers_read, mut long_name) = (0, 0_usize, None);
        for header in headers {
            let mut header =
                header.map_err(|_| if headers_read == 0 { no_archive(&first) } else { broken(headers_read) })?;
            headers_read += 1;
            // A long name takes a header of its own.
            if headers_read / 2 > bounds.entries_max {
                return Err(too_many(bounds));
            }
            let (at, bytes) = (header.raw_file_position(), header.size());
            let padded = bytes.checked_next_multiple_of(BLOCK_BYTES);
            end = padded
                .and_then(|padded| at.checked_add(padded))
                .filter(|end| *end <= archive_bytes)
                .ok_or_else(cut_short)?;
            if header.header().entry_type().is_gnu_longname() && long_name.is_none() {
                long_name = Some(read_long_name(&mut header, bytes, headers_read)?);
                continue;
            }
            let name = long_name.take().unwrap_or_else(|| header.header().path_bytes().into_owned());
            self.take(header.header(), &name, at, bytes, bounds)?;
        }
        if long_name.is_some() {
            return Err(invalid("a long name stands before nothing"));
        }
        check_end(file, end, archive_bytes)
    }

    /// Takes one header. An `Err` is a bound that is passed.
    fn take(
        &mut self,
        header: &Header,
        name: &[u8],
        at: u64,
        bytes: u64,
        bounds: &PackageBounds,
    ) -> Result<(), Diagnostic> {
        let entry = match header.entry_type() {
            EntryType::Regular => Entry::File { at, bytes },
            EntryType::Directory => Entry::Folder { own: true },
            other => return self.note(refused_kind(other, name)),
        };
        if matches!(entry, Entry::Folder { .. }) && bytes != 0 {
            return self.note(invalid(format!("the folder {} has content", shown(name))));
        }
        let path = match path(name, matches!(entry, Entry::Folder { .. })) {
            Ok(path) => path,
            Err(problem) => return self.note(problem),
        };
        self.total_bytes = self.total_bytes.saturating_add(bytes);
        if self.total_bytes > bounds.total_bytes_max {
            let message = format!("more than {} bytes of files", bounds.total_bytes_max);
            return Err(problem(Code::PackageTooLarge, path.as_str(), message));
        }
        let text = path.as_str();
        for (slash, _) in text.match_indices('/') {
            if let Some(Ok(above)) = text.get(..slash).map(PackagePath::parse) {
                self.insert(above, Entry::Folder { own: false })?;
            }
        }
        self.insert(path, entry)?;
        if self.entries.len() > bounds.entries_max { Err(too_many(bounds)) } else { Ok(()) }
    }

    fn insert(&mut self, path: PackagePath, entry: Entry) -> Result<(), Diagnostic> {
        match self.entries.entry(path) {
            Slot::Vacant(slot) => {
                let path = slot.key().clone();
                slot.insert(entry);
                if let Some(other) = self.lower.insert(path.as_str().to_lowercase(), path.clone()) {
                    let message =
                        format!("{:?} and {:?} are one name where case does not count", path.as_str(), other.as_str());
                    return self.note(problem(Code::NameNotPortable, path.as_str(), message));
                }
                Ok(())
            }
            Slot::Occupied(mut slot) => match (*slot.get(), entry) {
                (Entry::Folder { .. }, Entry::Folder { own: false }) => Ok(()),
                (Entry::Folder { own: false }, Entry::Folder { own: true }) => {
                    slot.insert(entry);
                    Ok(())
                }
                (Entry::File { .. }, Entry::Folder { .. }) | (Entry::Folder { .. }, Entry::File { .. }) => {
                    let found =
                        problem(Code::ItemDuplicate, slot.key().as_str(), "the archive holds a file and a folder here");
                    self.note(found)
                }
                _ => {
                    let found = problem(Code::ItemDuplicate, slot.key().as_str(), "the archive holds this twice");
                    self.note(found)
                }
            },
        }
    }

    fn note(&mut self, found: Diagnostic) -> Result<(), Diagnostic> {
        self.problems.push(found);
        if self.problems.len() < PROBLEMS_MAX {
            return Ok(());
        }
        Err(problem(Code::TooManyProblems, ARCHIVE, format!("{PROBLEMS_MAX} problems, and the rest was not read")))
    }
}

fn read_long_name(header: &mut impl Read, bytes: u64, headers_read: usize) -> Result<Vec<u8>, Diagnostic> {
    // A slash behind a folder, and the end.
    let bytes_max = PackagePath::BYTES_MAX as u64 + 2;
    if bytes > bytes_max {
        return Err(problem(
            Code::PathInvalid,
            ARCHIVE,
            format!("a path of {bytes} bytes, {} allowed", PackagePath::BYTES_MAX),
        ));
    }
    let mut name = Vec::new();
    header.take(bytes_max).read_to_end(&mut name).map_err(|_| broken(headers_read))?;
    if name.last() == Some(&0) {
        name.pop();
    }
    Ok(name)
}

/// The path that an entry's name is.
fn path(name: &[u8], is_folder: bool) -> Result<PackagePath, Diagnostic> {
    let refused = |code, why: &str| Err(problem(code, ARCHIVE, format!("{}: {why}", shown(name))));
    let Ok(text) = std::str::from_utf8(name) else {
        return refused(Code::NameNotPortable, "the name is not UTF-8");
    };
    let text = if is_folder { text.strip_suffix('/').unwrap_or(text) } else { text };
    PackagePath::parse(text).or_else(|error| {
        let code = if text.split('/').any(|part| matches!(part, "" | "." | "..")) || text.len() > PackagePath::BYTES_MAX
        {
            Code::PathInvalid
        } else if text.split('/').count() > PackagePath::COMPONENTS_MAX {
            Code::TooDeep
        } else {
            Code::NameNotPortable
        };
        refused(code, &error.to_string())
    })
}

fn refused_kind(kind: EntryType, name: &[u8]) -> Diagnostic {
    let name = shown(name);
    match kind {
        EntryType::Symlink | EntryType::Link => {
            problem(Code::LinkRefused, ARCHIVE, format!("{name} is a link, which a packed package can't hold"))
        }
        EntryType::Char | EntryType::Block | EntryType::Fifo => {
            problem(Code::SpecialFile, ARCHIVE, format!("{name} is a pipe or a device"))
        }
        other => {
            invalid(format!("{name} is an entry of kind {:?}; files and folders are read", char::from(other.as_byte())))
        }
    }
}

/// What follows the last entry is empty, and no less of it than the format asks for: an archive that lost its last entries shows.
fn check_end(file: &mut Bytes, end: u64, archive_bytes: u64) -> Result<(), Diagnostic> {
    let rest = archive_bytes.saturating_sub(end);
    if rest < END_BYTES {
        return Err(cut_short());
    }
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(end)).and_then(|_| file.take(END_BYTES_MAX).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(ARCHIVE, &error))?;
    match rest <= END_BYTES_MAX && bytes.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(invalid("something follows the end of the archive")),
    }
}

fn invalid(message: impl Into<String>) -> Diagnostic {
    problem(Code::ArchiveInvalid, ARCHIVE, message)
}

/// A file that does not begin as an archive does. What it holds may be anybody's and is not repeated: what kind of file it is says enough.
fn no_archive(first: &[u8]) -> Diagnostic {
    let kind = KINDS.iter().find(|(beginning, _)| first.starts_with(beginning)).map(|(_, kind)| kind);
    let kind = kind.copied().unwrap_or(match std::str::from_utf8(first) {
        // The block may end within a character.
        Err(error) if error.error_len().is_some() => "",
        _ => "; it is a text",
    });
    invalid(format!("this is no tar archive{kind}"))
}

/// Beginnings of other files, and what to say of them.
const KINDS: [(&[u8], &str); 8] = [
    (b"\x1f\x8b", "; it is compressed with gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "; it is compressed with zstd: unpack it first"),
    (b"\xfd7zXZ", "; it is compressed with xz: unpack it first"),
    (b"BZh", "; it is compressed with bzip2: unpack it first"),
    (b"PK\x03\x04", "; it is a zip archive: unpack it, and name the folder"),
    (b"\0asm", "; it is a WebAssembly component or module alone: put it into the folder of a package"),
    (b"\x7fELF", "; it is a native program"),
    (b"#!", "; it is a script"),
];

fn broken(headers_read: usize) -> Diagnostic {
    invalid(format!("header {} of the archive is broken", headers_read + 1))
}

fn cut_short() -> Diagnostic {
    invalid("the archive is cut short")
}

fn too_many(bounds: &PackageBounds) -> Diagnostic {
    problem(Code::TooManyFiles, ARCHIVE, format!("more than {} files and folders", bounds.entries_max))
}

fn unreadable(path: &str, error: &io::Error) -> Diagnostic {
    problem(Code::FileUnreadable, path, format!("the system said: {}", error.kind()))
}

/// A name from outside, in quotes, with nothing that a terminal would act on.
fn shown(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let short: String = text.chars().take(NAME_CHARACTERS_SHOWN).collect();
    if short.len() < text.len() { format!("{short:?}…") } else { format!("{short:?}") }
}

/// Why a package can't be packed.
#[derive(Debug, thiserror::Error)]
// Exhaustive: it is the package or the system, and nothing else.
pub enum PackError {
    /// A file of it is unfit to be read, or a bound is passed.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The archive can't be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Writes a packed file. The bytes follow from the paths and contents alone, in the order in which they are given: there are no times,
/// owners or modes of the files that it is made from.
pub struct PackWriter<W: Write>(Builder<W>);

impl<W: Write> PackWriter<W> {
    /// Begins a packed file.
    pub fn new(to: W) -> PackWriter<W> {
        PackWriter(Builder::new(to))
    }

    /// Adds a file, or a folder where there is no content.
    ///
    /// # Errors
    /// The archive can't be written.
    pub fn add(&mut self, path: &PackagePath, content: Option<&[u8]>) -> io::Result<()> {
        let (kind, mode, name) = match content {
            Some(_) => (EntryType::Regular, 0o644, path.to_string()),
            None => (EntryType::Directory, 0o755, format!("{path}/")),
        };
        let content = content.unwrap_or_default();
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(content.len() as u64);
        // Absent is written as nothing, and not every program reads that as zero.
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        self.0.append_data(&mut header, name, content)
    }

    /// Ends it.
    ///
    /// # Errors
    /// The archive can't be written.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner()
    }
}

impl Source {
    /// Writes all files as one, sorted by path.
    ///
    /// # Errors
    /// A file can't be read, or the archive can't be written.
    pub(crate) fn pack(&self, bounds: &PackageBounds, to: &mut dyn Write) -> Result<(), PackError> {
        let mut writer = PackWriter::new(to);
        for entry in self.files(bounds)? {
            let content = match entry.file_bytes {
                Some(_) => Some(self.read_whole(&entry.path, bounds).map_err(PackageError::one)?),
                None => None,
            };
            writer.add(&entry.path, content.as_deref())?;
        }
        writer.finish()?;
        Ok(())
    }
}

impl Package {
    /// Writes the package as one file, sorted by path.
    ///
    /// # Errors
    /// A file can't be read, or the archive can't be written.
    pub fn pack(&self, to: &mut dyn Write) -> Result<(), PackError> {
        self.source.pack(&self.bounds, to)
    }

    /// The same, in memory.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn packed(&self) -> Result<Vec<u8>, PackError> {
        let mut bytes = Vec::new();
        self.pack(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
#[path = "packed_tests.rs"]
mod tests;
