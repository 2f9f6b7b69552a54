//! Where the files of a package are: in a folder, or packed into one file. Everything else about packages reads through this and
//! does not know which of the two it is.

#[cfg(feature = "machine")]
use super::directory;
use super::files::{Found, PackageBounds, Walk, problem};
use super::packed::{Bytes, Packed};
use super::{PackageEntry, PackageError, not_a_folder};
#[cfg(feature = "machine")]
use cap_std::fs::Dir;
#[cfg(feature = "machine")]
use hutch_folder::{Stamp, look};
use hutch_model::diagnostic::{Code, Diagnostic, sort};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::names::PackagePath;
use std::io::Cursor;
use std::sync::Arc;
#[cfg(feature = "machine")]
use std::{collections::BTreeMap, fs::File, io, path::Path};

/// The files of a package, wherever they are: the authority to read them and nothing else. Clones share it.
#[derive(Clone, Debug)]
pub struct Source(Arc<Place>);

#[derive(Debug)]
enum Place {
    #[cfg(feature = "machine")]
    Folder(Dir),
    Packed(Packed),
    #[cfg(feature = "machine")]
    Held(Held),
}

/// Files that were read once and have a name by that: what is read of them later is what was read then, or is refused.
#[cfg(feature = "machine")]
#[derive(Debug)]
struct Held {
    source: Source,
    digest: Digest,
    /// Everything that was there; of files the size, and the name of the content.
    seen: BTreeMap<PackagePath, Option<(u64, Digest)>>,
}

#[cfg(feature = "machine")]
impl Held {
    fn look(&self, path: &PackagePath) -> Found {
        match self.seen.get(path) {
            None => Found::Nothing,
            Some(None) => Found::Folder,
            Some(Some((bytes, _))) => Found::File(*bytes),
        }
    }

    fn read(&self, path: &PackagePath, bytes_max: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
        let content = self.source.read(path, bytes_max)?;
        self.check(path, content.as_deref().map(|content| Digest::of(Kind::Package, content)))?;
        Ok(content)
    }

    /// Whether what was found at a path is what was there.
    fn check(&self, path: &PackagePath, found: Option<Digest>) -> Result<(), Diagnostic> {
        match self.seen.get(path).copied().flatten().map(|(_, digest)| digest) == found {
            true => Ok(()),
            false => Err(problem(Code::FileUnreadable, path.as_str(), "the file was changed after it was looked at")),
        }
    }

    /// All that was seen. That nothing was wrong with it then, is why it is held.
    fn walk(&self, root: Option<&PackagePath>) -> Walk {
        let begin = root.map(|root| format!("{root}/")).unwrap_or_default();
        let below = self.seen.iter().filter(|(path, _)| path.as_str().starts_with(&begin));
        let entry = |(path, file): (&PackagePath, &Option<(u64, Digest)>)| PackageEntry {
            path: path.clone(),
            file_bytes: file.map(|(bytes, _)| bytes),
        };
        Walk { entries: below.map(entry).collect(), ..Walk::default() }
    }
}

/// Why there is no source at a path.
#[cfg(feature = "machine")]
#[derive(Debug, thiserror::Error)]
// Exhaustive: it is the package or the system, and nothing else.
pub enum SourceError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is no packed package.
    #[error(transparent)]
    Package(#[from] PackageError),
}

/// The folder at `path`, as the authority to read what is inside and nothing else.
///
/// # Errors
/// The system's refusal.
#[cfg(feature = "machine")]
pub fn open_folder(path: &Path) -> io::Result<Dir> {
    #[expect(clippy::disallowed_methods, reason = "the one place where the path of a folder becomes authority")]
    let opened = Dir::open_ambient_dir(path, cap_std::ambient_authority());
    opened
}

impl Source {
    /// The folder or the packed file at `path`.
    ///
    /// # Errors
    /// The system's refusal, or what is wrong with the packed file.
    #[cfg(feature = "machine")]
    pub fn open(path: &Path, bounds: &PackageBounds) -> Result<Source, SourceError> {
        // Looked at before it is opened: opening a pipe would wait for its other end.
        #[expect(clippy::disallowed_methods, reason = "a package is named by its path")]
        if !std::fs::metadata(path)?.is_file() {
            return Ok(Source::folder(open_folder(path)?));
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the one place where the path of a packed file becomes authority"
        )]
        let file = File::open(path)?;
        Ok(Source::packed(file, bounds)?)
    }

    /// The files of a folder.
    #[cfg(feature = "machine")]
    pub fn folder(dir: Dir) -> Source {
        Source(Arc::new(Place::Folder(dir)))
    }

    /// The files that are packed into `file`, from its beginning. Only names and sizes are read now.
    ///
    /// # Errors
    /// What makes it unfit to hold a package, or a bound that is passed.
    #[cfg(feature = "machine")]
    pub fn packed(file: File, bounds: &PackageBounds) -> Result<Source, PackageError> {
        Ok(Source(Arc::new(Place::Packed(Packed::open(Bytes::File(file), bounds)?))))
    }

    /// The same, of a packed file that is in memory.
    ///
    /// # Errors
    /// As there.
    pub fn packed_in_memory(bytes: Vec<u8>, bounds: &PackageBounds) -> Result<Source, PackageError> {
        Ok(Source(Arc::new(Place::Packed(Packed::open(Bytes::Memory(Cursor::new(bytes)), bounds)?))))
    }

    /// The name of everything here, whether it is a package or not: of every path and every file's content, in the order of the
    /// paths; of folders too, because a guest sees them. No file is understood.
    ///
    /// # Errors
    /// What makes a file unfit to be read, or a bound that is passed.
    pub fn digest(&self, bounds: &PackageBounds) -> Result<Digest, PackageError> {
        match &*self.0 {
            #[cfg(feature = "machine")]
            Place::Held(held) => Ok(held.digest),
            _ => self.read_all(bounds, |_, _| {}),
        }
    }

    /// The same files, which have this name from now on: whoever changes one of them later makes it unreadable, and nothing else.
    ///
    /// # Errors
    /// As for [`digest`](Source::digest).
    #[cfg(feature = "machine")]
    pub fn held(&self, bounds: &PackageBounds) -> Result<Source, PackageError> {
        let mut seen = BTreeMap::new();
        let digest = self.read_all(bounds, |path, content| {
            let file = content.map(|content| (content.len() as u64, Digest::of(Kind::Package, content)));
            seen.insert(path.clone(), file);
        })?;
        Ok(Source(Arc::new(Place::Held(Held { source: self.clone(), digest, seen }))))
    }

    /// Reads every file once, shows each, and names the whole.
    fn read_all(
        &self,
        bounds: &PackageBounds,
        mut show: impl FnMut(&PackagePath, Option<&[u8]>),
    ) -> Result<Digest, PackageError> {
        let mut hasher = Hasher::new(Kind::Package);
        for entry in &self.files(bounds)? {
            hasher.update_part(entry.path.as_str().as_bytes());
            let content = match entry.file_bytes {
                None => None,
                Some(_) => Some(self.read_whole(&entry.path, bounds).map_err(PackageError::one)?),
            };
            // A folder's path ends with what no path of a file has.
            hasher.update_part(if content.is_some() { &b""[..] } else { b"/" });
            content.iter().for_each(|content| hasher.update_part(content));
            show(&entry.path, content.as_deref());
        }
        Ok(hasher.finish())
    }

    /// Everything here, sorted by path. No file is opened.
    pub(crate) fn files(&self, bounds: &PackageBounds) -> Result<Vec<PackageEntry>, PackageError> {
        let mut walk = self.walk(None, bounds);
        sort(&mut walk.problems);
        if walk.problems.is_empty() { Ok(walk.entries) } else { Err(PackageError { diagnostics: walk.problems }) }
    }

    /// What stands at `path`.
    pub(super) fn look(&self, path: &PackagePath) -> Result<Found, Diagnostic> {
        match &*self.0 {
            #[cfg(feature = "machine")]
            Place::Folder(dir) => directory::look(dir, path),
            Place::Packed(packed) => Ok(packed.look(path)),
            #[cfg(feature = "machine")]
            Place::Held(held) => Ok(held.look(path)),
        }
    }

    /// Everything in a folder, sorted by path; nothing if the folder is absent. No file is opened.
    pub(super) fn entries(
        &self,
        folder: &PackagePath,
        bounds: &PackageBounds,
    ) -> Result<Vec<PackageEntry>, PackageError> {
        let refused = |diagnostics| Err(PackageError { diagnostics });
        match self.look(folder) {
            Ok(Found::Nothing) => return Ok(Vec::new()),
            Ok(Found::Folder) => {}
            Ok(Found::File(_)) => return refused(vec![not_a_folder(folder.as_str())]),
            Err(problem) => return refused(vec![problem]),
        }
        let mut walk = self.walk(Some(folder), bounds);
        sort(&mut walk.problems);
        if walk.problems.is_empty() { Ok(walk.entries) } else { refused(walk.problems) }
    }

    /// How the folder or the packed file itself looks.
    #[cfg(feature = "machine")]
    pub(super) fn place(&self) -> Option<Stamp> {
        match &*self.0 {
            Place::Folder(dir) => dir.dir_metadata().ok().map(|metadata| Stamp::of(&metadata)),
            Place::Packed(packed) => packed.stamp(),
            Place::Held(held) => held.source.place(),
        }
    }

    /// The folder, if it is one.
    #[cfg(feature = "machine")]
    pub(super) fn dir(&self) -> Option<&Dir> {
        match &*self.0 {
            Place::Folder(dir) => Some(dir),
            Place::Packed(_) => None,
            Place::Held(held) => held.source.dir(),
        }
    }

    /// Whether it is one file.
    #[cfg(feature = "machine")]
    pub(crate) fn is_packed(&self) -> bool {
        self.dir().is_none()
    }

    /// How what stands at `path` looks, if anything does, a link as a link; for no path, the place itself. `None` if the system does
    /// not say.
    #[cfg(feature = "machine")]
    pub(super) fn stamp(&self, path: &str) -> Option<Option<Stamp>> {
        match self.dir() {
            Some(dir) if !path.is_empty() => look(dir, path).ok(),
            _ => self.place().map(Some),
        }
    }

    /// The content of the file at `path`, or `None` if nothing is there.
    pub(super) fn read(&self, path: &PackagePath, bytes_max: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
        match &*self.0 {
            #[cfg(feature = "machine")]
            Place::Folder(dir) => directory::read(dir, path, bytes_max),
            Place::Packed(packed) => packed.read(path, bytes_max),
            #[cfg(feature = "machine")]
            Place::Held(held) => held.read(path, bytes_max),
        }
    }

    /// A file that is known to be there and that long, piece by piece.
    pub(super) fn read_through(
        &self,
        path: &PackagePath,
        (size, piece_bytes): (u64, u64),
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Diagnostic> {
        #[cfg(feature = "machine")]
        if let Place::Held(held) = &*self.0 {
            let mut hasher = Hasher::new(Kind::Package);
            held.source.read_through(path, (size, piece_bytes), &mut |piece| {
                hasher.update(piece);
                each(piece);
            })?;
            return held.check(path, Some(hasher.finish()));
        }
        let mut at = 0;
        while at < size {
            let piece = self.read_part(path, at, piece_bytes.min(size - at))?;
            each(&piece);
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// A part of a file that is known to be there and that long.
    fn read_part(&self, path: &PackagePath, at: u64, bytes: u64) -> Result<Vec<u8>, Diagnostic> {
        match self.part_now(path, at, bytes)? {
            Some(read) if read.len() as u64 == bytes => Ok(read),
            Some(_) => Err(problem(Code::FileUnreadable, path.as_str(), "the file became shorter")),
            None => Err(problem(Code::FileMissing, path.as_str(), "the file is not there")),
        }
    }

    /// A part of a file as it is now, whatever it was when it was named: of one that became shorter less, of one that is gone nothing.
    pub(super) fn part_now(&self, path: &PackagePath, at: u64, bytes: u64) -> Result<Option<Vec<u8>>, Diagnostic> {
        match &*self.0 {
            #[cfg(feature = "machine")]
            Place::Folder(dir) => directory::read_part(dir, path, at, bytes),
            Place::Packed(packed) => packed.read_part(path, at, bytes),
            #[cfg(feature = "machine")]
            Place::Held(held) => held.source.part_now(path, at, bytes),
        }
    }

    /// The content of a file that is known to be there.
    pub(crate) fn read_whole(&self, path: &PackagePath, bounds: &PackageBounds) -> Result<Vec<u8>, Diagnostic> {
        let content = self.read(path, bounds.total_bytes_max)?;
        content.ok_or_else(|| problem(Code::FileMissing, path.as_str(), "the file is not there"))
    }

    /// Everything below `root`, or everything. No file is opened.
    #[cfg_attr(
        not(feature = "machine"),
        expect(unused_variables, reason = "a packed file was held to them when it was opened")
    )]
    pub(super) fn walk(&self, root: Option<&PackagePath>, bounds: &PackageBounds) -> Walk {
        match &*self.0 {
            #[cfg(feature = "machine")]
            Place::Folder(dir) => directory::walk(dir, root, bounds),
            Place::Packed(packed) => packed.walk(root),
            #[cfg(feature = "machine")]
            Place::Held(held) => held.walk(root),
        }
    }
}
