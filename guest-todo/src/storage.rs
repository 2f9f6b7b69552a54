//! The state file on disk: the only module that touches files.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::contract::FailureCode;
use crate::failure::Failure;

/// The state directory cannot be used.
pub const STATE_UNAVAILABLE: FailureCode = FailureCode {
    code: "STATE_UNAVAILABLE",
    exit_status: 1,
    description: "the directory state, or the file todos.json in it, could not be read or written; the old list is untouched",
    fix: "let the application run where the directory state exists and can be written, with room for the list twice over",
};

/// The file `todos.json` in a directory that must exist.
#[derive(Debug)]
pub struct StateFile {
    directory: PathBuf,
}

impl StateFile {
    /// The one in that directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Its bytes; `None` if it was never written.
    ///
    /// # Errors
    /// `STATE_UNAVAILABLE`, also when the directory does not exist: an empty list would be a lie then.
    pub fn read(&self) -> Result<Option<Vec<u8>>, Failure> {
        let path = self.directory.join("todos.json");
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound && self.directory.is_dir() => Ok(None),
            Err(error) => Err(unavailable("read", &path, &error)),
        }
    }

    /// Puts new bytes in its place: at any moment the file holds all of the old bytes or all of the new.
    ///
    /// # Errors
    /// `STATE_UNAVAILABLE`; the old bytes are still there then.
    pub fn replace(&self, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.directory.join("todos.json");
        let unfinished = self.directory.join("todos.json.new");
        let written = write_through(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(|error| {
            // If even that fails, the next call writes over it.
            let _ = fs::remove_file(&unfinished);
            unavailable("written", &path, &error)
        })
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
