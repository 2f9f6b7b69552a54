//! Files that a call names, and standard input. Only a bounded number of bytes is read, and only when a command asks for them.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::argv::Value;
use crate::calendar::Expected;
use crate::contract::{Constraints, FailureCode, ValueType};
use crate::failure::Failure;
use crate::value::Argument;

/// There is no file at the path.
pub const FILE_NOT_FOUND: FailureCode = FailureCode {
    code: "FILE_NOT_FOUND",
    exit_status: 20,
    description: "no file is at that path in the folders that the call has",
    fix: "check the path; a folder of the machine is there only if the call grants it: hutch run --mount DIR:NAME",
};
/// The file has too many bytes.
pub const FILE_TOO_LARGE: FailureCode = FailureCode {
    code: "FILE_TOO_LARGE",
    exit_status: 2,
    description: "the file has more bytes than this command reads",
    fix: "give a smaller file, or a part of it",
};
/// The file is there and cannot be read.
pub const FILE_UNREADABLE: FailureCode = FailureCode {
    code: "FILE_UNREADABLE",
    exit_status: 2,
    description: "what is at the path is no file that can be read, or no text where text is expected",
    fix: "give a file, and text in UTF-8 where the command expects text",
};

/// What stands for standard input.
const STANDARD_INPUT: &str = "-";

/// A parameter that is a file to read: one below a folder that the package declares (`resources`) or the call grants
/// (`mounts`), or `-` for standard input. A command that has one can end with `FILE_NOT_FOUND`, `FILE_TOO_LARGE` and `FILE_UNREADABLE`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InputFile(String);

impl InputFile {
    /// The path, as the call has it.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0
    }

    /// All of its bytes, if they are at most so many.
    ///
    /// # Errors
    /// `FILE_NOT_FOUND`, `FILE_TOO_LARGE` or `FILE_UNREADABLE`.
    pub fn read(&self, bytes_max: usize) -> Result<Vec<u8>, Failure> {
        let source: Box<dyn Read> = match self.path() {
            STANDARD_INPUT => Box::new(io::stdin().lock()),
            path => Box::new(File::open(path).map_err(|error| self.failed(&error))?),
        };
        let mut bytes = Vec::new();
        let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
        source.take(most).read_to_end(&mut bytes).map_err(|error| self.failed(&error))?;
        if bytes.len() > bytes_max {
            return Err(Failure::new(FILE_TOO_LARGE, format!("{} has more than {bytes_max} bytes", self.0)));
        }
        Ok(bytes)
    }

    /// The same as text.
    ///
    /// # Errors
    /// The same; `FILE_UNREADABLE` also if it is not UTF-8.
    pub fn read_text(&self, bytes_max: usize) -> Result<String, Failure> {
        String::from_utf8(self.read(bytes_max)?).map_err(|error| {
            let place = error.utf8_error().valid_up_to();
            Failure::new(FILE_UNREADABLE, format!("{} is not UTF-8: after {place} bytes comes none", self.0))
        })
    }

    fn failed(&self, error: &io::Error) -> Failure {
        let path = Path::new(&self.0);
        let folder = path.components().next().filter(|folder| folder.as_os_str() != path);
        // How WASI's C library says that no folder leads there.
        const NOT_CAPABLE: i32 = 76;
        let no_folder = cfg!(target_family = "wasm") && error.raw_os_error() == Some(NOT_CAPABLE);
        match (if no_folder { ErrorKind::NotFound } else { error.kind() }, folder) {
            (ErrorKind::NotFound, Some(folder)) if !Path::new(&folder).is_dir() => {
                let folder = folder.as_os_str().display();
                Failure::new(FILE_NOT_FOUND, format!("{} is not there: this call has no folder {folder}", self.0))
                    .suggest(format!("grant one before the package: hutch run --mount DIR:{folder}"))
            }
            (ErrorKind::NotFound, _) => Failure::new(FILE_NOT_FOUND, format!("{} is not there", self.0)),
            _ => Failure::new(FILE_UNREADABLE, format!("{} cannot be read: {error}", self.0)),
        }
    }
}

impl Argument for InputFile {
    const TYPE: ValueType = ValueType::Path;
    const CONSTRAINTS: Constraints = Constraints { min_length: Some(1), max_length: Some(4096), ..Constraints::NONE };
    const CODES: &'static [FailureCode] = &[FILE_NOT_FOUND, FILE_TOO_LARGE, FILE_UNREADABLE];

    fn of(value: &Value) -> Result<Self, Expected> {
        match value {
            Value::Text(path) => Ok(Self(path.clone())),
            _ => Err("a path"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str, bytes_max: usize) -> Result<Vec<u8>, (&'static str, String)> {
        let file = InputFile(path.to_owned());
        file.read(bytes_max).map_err(|failure| (failure.code.code, failure.suggestion.unwrap_or_default()))
    }

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let whole = std::fs::read("Cargo.toml").unwrap();
        assert_eq!(read("Cargo.toml", whole.len()), Ok(whole.clone()));
        let (code, _) = read("Cargo.toml", whole.len() - 1).unwrap_err();
        assert_eq!(code, "FILE_TOO_LARGE");
        assert_eq!(read("src", 10).unwrap_err().0, "FILE_UNREADABLE");
        assert_eq!(read("src/nothing", 10).unwrap_err(), ("FILE_NOT_FOUND", FILE_NOT_FOUND.fix.to_owned()));
        let (code, suggestion) = read("data/nothing", 10).unwrap_err();
        assert_eq!(
            (code, suggestion.as_str()),
            ("FILE_NOT_FOUND", "grant one before the package: hutch run --mount DIR:data")
        );
    }

    #[test]
    fn text_is_utf8() {
        let path = std::env::temp_dir().join(format!("hutch-guest-input-{}", std::process::id()));
        std::fs::write(&path, b"ab\xff").unwrap();
        let failure = InputFile(path.display().to_string()).read_text(10).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(failure.code.code, "FILE_UNREADABLE");
        assert!(failure.message.ends_with("is not UTF-8: after 2 bytes comes none"), "{}", failure.message);
    }
}
