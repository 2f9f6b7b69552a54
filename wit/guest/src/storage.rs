//! The state file and others beside it: in their directory, or in memory for tests. The only module that writes files.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::contract::FailureCode;
use crate::failure::Failure;

/// The state directory cannot be used.
pub const STATE_UNAVAILABLE: FailureCode = FailureCode {
    code: "STATE_UNAVAILABLE",
    exit_status: 1,
    description: "the directory state, or the file in it, could not be read or written; the old state is untouched",
    fix: "let the application run where the directory state exists and can be written, with room for its file twice over",
};

/// What a file beside the state may be called.
pub(crate) const PLAIN_NAME: &str =
    "a name of up to 100 ASCII letters, digits, points, dashes and underscores that begins with a letter or digit";

/// Whether it is one that leads nowhere else.
pub(crate) fn is_plain(name: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_alphanumeric() || b".-_".contains(&letter);
    name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.len() <= 100 && name.bytes().all(plain)
}

/// Where the bytes of a state are between calls.
pub trait Storage {
    /// The bytes; `None` if they were never written.
    ///
    /// # Errors
    /// `STATE_UNAVAILABLE`.
    fn read(&self) -> Result<Option<Vec<u8>>, Failure>;

    /// Puts new bytes in their place: whenever this ends, all of the old bytes are there or all of the new.
    ///
    /// # Errors
    /// `STATE_UNAVAILABLE`; the old bytes are still there then.
    fn replace(&self, bytes: &[u8]) -> Result<(), Failure>;

    /// Puts a file of that name beside the state, in place of one that is there.
    ///
    /// # Errors
    /// `STATE_UNAVAILABLE`.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Failure>;
}

/// A file in a directory that must exist.
#[derive(Debug)]
pub struct StateFile {
    directory: PathBuf,
    name: String,
}

impl StateFile {
    /// The one of that name in that directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self { directory: directory.into(), name: name.into() }
    }
}

impl Storage for StateFile {
    /// Fails also when the directory does not exist: an empty state would be a lie then.
    fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.directory.join(&self.name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound && self.directory.is_dir() => Ok(None),
            Err(error) => Err(unavailable("read", &path, &error)),
        }
    }

    fn replace(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.put(&self.name, bytes)
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.directory.join(name);
        let unfinished = self.directory.join(format!("{name}.new"));
        let written = write_through(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|error| {
            // If even that fails, the next call writes over it.
            let _ = fs::remove_file(&unfinished);
            unavailable("written", &path, &error)
        })
    }
}

/// Bytes in memory.
#[derive(Debug, Default)]
pub struct Memory {
    state: RefCell<Option<Vec<u8>>>,
    files: RefCell<BTreeMap<String, Vec<u8>>>,
}

impl Memory {
    /// Memory that holds these bytes already.
    #[must_use]
    pub fn of(bytes: impl Into<Vec<u8>>) -> Self {
        Self { state: RefCell::new(Some(bytes.into())), ..Self::default() }
    }

    /// The files beside the state, by name.
    #[must_use]
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.files.borrow().clone()
    }
}

impl Storage for Memory {
    fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(self.state.borrow().clone())
    }

    fn replace(&self, bytes: &[u8]) -> Result<(), Failure> {
        *self.state.borrow_mut() = Some(bytes.to_vec());
        Ok(())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.files.borrow_mut().insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }
}

fn write_through(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn unavailable(done: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(STATE_UNAVAILABLE, format!("{} cannot be {done}: {error}", path.display()))
}
