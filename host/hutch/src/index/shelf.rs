//! The folder of an index: written whole beside its place, and then put there. One that is there is replaced if all that it holds is an
//! index of ours: the two folders change places, so a reader finds the old one or the new one. What is not ours is left alone.

use super::{INDEX_BYTES_MAX, INDEX_FILE, Index, NotAnIndex};
use cap_std::fs::Dir;
use hutch_folder::{Hands, Listing, list_at_most, look, open_file, open_folder};
use hutch_model::error_code::ErrorCode;
use std::collections::BTreeMap;
use std::io::{self, Read};

/// Files by their paths in the folder.
type Files = BTreeMap<String, Vec<u8>>;

const PAGES: &str = "packages";
/// How many names are read of a folder that may be anybody's, beyond those that an index has.
const NAMES_MAX: usize = 1;

/// An index that was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// The place is taken by what hutch did not write.
    #[error("{place} is there already, and is no index that can be replaced: {reason}")]
    Taken {
        /// The folder that was named.
        place: String,
        /// Why it is not ours.
        reason: String,
    },
    /// It has more than a reader takes.
    #[error("the index of these packages can't be read: {0}")]
    Unfit(#[from] NotAnIndex),
    /// The system refuses.
    #[error("{path}: {source}")]
    Io {
        /// Where.
        path: String,
        /// Why.
        source: io::Error,
    },
}

impl ShelfError {
    /// The code to report it with.
    pub fn code(&self) -> ErrorCode {
        match self {
            ShelfError::Taken { .. } => ErrorCode::AlreadyExists,
            ShelfError::Unfit(_) => ErrorCode::Usage,
            ShelfError::Io { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
                _ => ErrorCode::HostFault,
            },
        }
    }
}

/// A place for an index.
#[derive(Debug)]
pub struct Shelf<'p> {
    parent: &'p Dir,
    name: &'p str,
    hands: Hands,
}

impl<'p> Shelf<'p> {
    /// The folder of this name in another.
    pub fn new(parent: &'p Dir, name: &'p str) -> Shelf<'p> {
        Shelf { parent, name, hands: Hands::default() }
    }

    /// Whether the index that is there would be another one, or the first.
    ///
    /// # Errors
    /// Something else is there, or can't be read; or nobody could read the index.
    pub fn would_change(&self, index: &Index) -> Result<bool, ShelfError> {
        let files = files(index)?;
        Ok(self.held()?.is_none_or(|held| held != files))
    }

    /// Writes an index. Whether another one, or none, was there.
    ///
    /// # Errors
    /// As above, or the system's refusal; then what was there is there.
    pub fn write(&self, index: &Index) -> Result<bool, ShelfError> {
        let files = files(index)?;
        let held = self.held()?;
        if held.as_ref() == Some(&files) {
            return Ok(false);
        }
        let aside = self.free().map_err(|source| self.failed(source))?;
        if let Err(error) = self.fill(&aside, &files) {
            self.clear(&aside);
            return Err(self.failed(error));
        }
        match held {
            None => self.place(&aside)?,
            Some(_) => self.exchange(&aside)?,
        }
        #[cfg(unix)]
        self.hands.sync_folder(self.parent).map_err(|error| self.failed(error))?;
        Ok(true)
    }

    fn place(&self, aside: &str) -> Result<(), ShelfError> {
        self.hands.place((self.parent, aside), (self.parent, self.name)).map_err(|error| {
            self.clear(aside);
            match error.kind() {
                io::ErrorKind::AlreadyExists => self.taken("it came while the index was made"),
                _ => self.failed(error),
            }
        })
    }

    fn exchange(&self, aside: &str) -> Result<(), ShelfError> {
        let (new, there) = ((self.parent, aside), (self.parent, self.name));
        if let Err(error) = self.hands.swap(new, there) {
            self.clear(aside);
            return Err(self.failed(error));
        }
        // What came out is about to be removed, and may be what somebody put there meanwhile.
        let found = self.at(aside);
        if found.is_err() {
            // If that fails, it stays aside.
            self.hands.swap(new, there).map_err(|source| ShelfError::Io { path: aside.to_owned(), source })?;
        }
        self.clear(aside);
        found.map(drop)
    }

    /// Removes what is of no more use. Only space is lost if it stays.
    fn clear(&self, aside: &str) {
        let _ = self.parent.remove_dir_all(aside);
    }

    /// A folder beside the place, with the files in it, durable.
    fn fill(&self, aside: &str, files: &Files) -> io::Result<()> {
        self.hands.create_folder(self.parent, aside)?;
        let top = self.parent.open_dir(aside)?;
        self.hands.create_folder(&top, PAGES)?;
        let pages = top.open_dir(PAGES)?;
        for (path, bytes) in files {
            let (folder, name) = match path.split_once('/') {
                Some((_, name)) => (&pages, name),
                None => (&top, path.as_str()),
            };
            let file = self.hands.create_file(folder, name)?;
            self.hands.write(&file, bytes)?;
            self.hands.sync(&file)?;
        }
        #[cfg(unix)]
        for folder in [&pages, &top] {
            self.hands.sync_folder(folder)?;
        }
        Ok(())
    }

    /// The files of the index that is there; `None` if nothing is.
    fn held(&self) -> Result<Option<Files>, ShelfError> {
        match look(self.parent, self.name).map_err(|error| self.failed(error))? {
            None => Ok(None),
            Some(_) => self.at(self.name).map(Some),
        }
    }

    /// The files of the index in a folder, as they are. A folder in which anything else stands is none.
    fn at(&self, name: &str) -> Result<Files, ShelfError> {
        let failed = |error: io::Error| self.failed(error);
        let top = open_folder(self.parent, name).map_err(failed)?;
        let top = top.ok_or_else(|| self.taken("it is no folder"))?;
        let document = read(&top, INDEX_FILE).map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => self.failed(error),
            _ => self.taken(&format!("{INDEX_FILE}: {error}")),
        })?;
        let index = Index::parse(&document).map_err(|error| self.taken(&format!("{INDEX_FILE}: {error}")))?;
        let known = index.files();
        let mut held = Files::new();
        let pages = open_folder(&top, PAGES).map_err(failed)?;
        for (folder, under) in [(Some(&top), ""), (pages.as_ref(), "packages/")] {
            let Some(folder) = folder else { continue };
            let Listing { names, not_text } = list_at_most(folder, known.len() + 1 + NAMES_MAX).map_err(failed)?;
            for name in names {
                let path = format!("{under}{name}");
                if path == PAGES && pages.is_some() {
                    continue;
                }
                if !known.contains_key(&path) {
                    return Err(self.taken(&format!("it holds {path:?}, which is not of the index")));
                }
                let bytes = read(folder, &name).map_err(|error| self.taken(&format!("{path}: {error}")))?;
                held.insert(path, bytes);
            }
            if let Some(name) = not_text.first() {
                return Err(self.taken(&format!("it holds {name:?}, which is not of the index")));
            }
        }
        Ok(held)
    }

    /// A name beside the place that nothing has.
    fn free(&self) -> io::Result<String> {
        let own = std::process::id();
        for number in 0_u32.. {
            let name = format!(".{}.{own}-{number}", self.name);
            if look(self.parent, &name)?.is_none() {
                return Ok(name);
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn taken(&self, reason: &str) -> ShelfError {
        ShelfError::Taken { place: self.name.to_owned(), reason: reason.to_owned() }
    }

    fn failed(&self, source: io::Error) -> ShelfError {
        ShelfError::Io { path: self.name.to_owned(), source }
    }
}

/// What is written of an index, if it can be read again.
fn files(index: &Index) -> Result<Files, NotAnIndex> {
    index.searchable()?;
    let files = index.files();
    match files.get(INDEX_FILE).is_some_and(|bytes| bytes.len() as u64 <= INDEX_BYTES_MAX) {
        true => Ok(files),
        false => Err(NotAnIndex::Oversize),
    }
}

/// A file, up to one byte more than an index may have.
fn read(folder: &Dir, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(folder, name)?.take(INDEX_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "shelf_tests.rs"]
mod tests;
