//! Where the lines of a job go, and what an earlier try has written there.

use crate::answer::output::Output;
use crate::call::mapped::{ANSWER_BYTES_MAX, Asked};
use crate::machine::new_file;
use crate::refusal::fault::Fault;
use hutch::Job;
use hutch_documents::run::Room;
use hutch_model::digest::{Hasher, Kind};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::StreamRecord;
use serde_json::{Value, json};
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

enum To {
    /// Standard output, line by line.
    Stdout,
    /// The one answer, which has room for so much.
    Answer(Vec<Value>, Room),
    File(PathBuf, File),
    /// The file would be there, but for a preview.
    Nowhere,
}

/// Where lines go, and what has gone there.
pub(crate) struct Destination {
    to: To,
    digest: Hasher,
    bytes: u64,
    resumed: u64,
}

impl Destination {
    fn new(to: To) -> Destination {
        Destination { to, digest: Hasher::new(Kind::Stream), bytes: 0, resumed: 0 }
    }

    /// Standard output.
    pub(crate) fn lines() -> Destination {
        Destination::new(To::Stdout)
    }

    /// The answer.
    pub(crate) fn answer() -> Destination {
        Destination::new(To::Answer(Vec::new(), Room::default()))
    }

    /// Makes the file, or opens one that has nothing in it, or one that is to be gone on with: what that one has must be held against the
    /// calls before anything is written.
    #[expect(clippy::disallowed_methods, reason = "the caller named the file")]
    pub(crate) fn file(path: &Path, resume: bool, dry_run: bool) -> Result<(Destination, Option<Resumed>), Fault> {
        let failed = |error: &io::Error| Fault::file(path, error);
        let bytes = match path.metadata() {
            Ok(found) if !found.is_file() || (found.len() > 0 && !resume) => return Err(new_file::is_another(path)),
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                new_file::preview(path, &[])?;
                0
            }
            Err(error) => return Err(failed(&error)),
        };
        if dry_run && bytes == 0 {
            return Ok((Destination::new(To::Nowhere), None));
        }
        let file = locked(path, dry_run)?;
        let existing = match bytes {
            0 => None,
            _ => Some(Resumed::of(path, file.try_clone().map_err(|error| failed(&error))?)),
        };
        let to = if dry_run { To::Nowhere } else { To::File(path.to_owned(), file) };
        Ok((Destination::new(to), existing))
    }

    /// Goes on behind the lines that are there. What stands behind them is half a line.
    pub(crate) fn go_on(&mut self, existing: Resumed) -> Result<(), Fault> {
        (self.digest, self.bytes, self.resumed) = (existing.digest, existing.bytes, existing.lines);
        let To::File(path, file) = &mut self.to else { return Ok(()) };
        let cut = file.set_len(self.bytes).and_then(|()| file.seek(SeekFrom::Start(self.bytes)));
        cut.map(drop).map_err(|error| Fault::file(path, &error))
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: &Value, output: &Output) -> Result<(), Fault> {
        let text = document::written(&line.to_string()).into_owned() + "\n";
        match &mut self.to {
            To::File(path, file) => file.write_all(text.as_bytes()).map_err(|error| Fault::file(path, &error))?,
            To::Stdout => output.lines(std::slice::from_ref(line))?,
            To::Answer(lines, room) => lines.extend(room.document(text.as_bytes()).map_err(|reason| {
                let message = format!("the answer would be too large: {reason}");
                let suggestion = "write the lines to a file with --output, or print them with --ndjson";
                ErrorReport::new(ErrorCode::AnswerLost, message).suggest(suggestion).detail("kept", false)
            })?),
            To::Nowhere => {}
        }
        self.digest.update(text.as_bytes());
        self.bytes += text.len() as u64;
        Ok(())
    }

    /// Sees to it that a file stays.
    pub(crate) fn finish(&mut self) -> Result<(), Fault> {
        match &self.to {
            To::File(path, file) => file.sync_all().map_err(|error| Fault::file(path, &error)),
            To::Stdout | To::Answer(..) | To::Nowhere => Ok(()),
        }
    }

    /// All lines.
    pub(crate) fn stream(&self) -> StreamRecord {
        StreamRecord { digest: self.digest.finish(), size: self.bytes }
    }

    /// Those that are in the answer, if they are.
    pub(crate) fn items(self) -> Option<Vec<Value>> {
        match self.to {
            To::Answer(lines, _) => Some(lines),
            To::Stdout | To::File(..) | To::Nowhere => None,
        }
    }

    /// How many of them were there.
    pub(crate) fn resumed(&self) -> u64 {
        self.resumed
    }
}

/// Opens a file that no other job writes to.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn locked(path: &Path, dry_run: bool) -> Result<File, Fault> {
    let file = File::options().read(true).write(!dry_run).create(!dry_run).truncate(false).open(path);
    let file = file.map_err(|error| Fault::file(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let message = format!("another job writes to {}", path.display());
            Err(Fault::new(ErrorCode::Conflict, message).suggest("let it end, or name another file"))
        }
        Err(TryLockError::Error(error)) => Err(Fault::file(path, &error)),
    }
}

/// The lines of an earlier try, one after the other.
pub(crate) struct Resumed {
    path: PathBuf,
    reader: BufReader<File>,
    digest: Hasher,
    bytes: u64,
    lines: u64,
}

impl Resumed {
    fn of(path: &Path, file: File) -> Resumed {
        let (path, reader) = (path.to_owned(), BufReader::new(file));
        Resumed { path, reader, digest: Hasher::new(Kind::Stream), bytes: 0, lines: 0 }
    }

    /// The next whole line.
    pub(crate) fn next_line(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line);
        read.map_err(|error| Fault::unreadable(&self.path, &error))?;
        if line.len() as u64 == ANSWER_BYTES_MAX {
            self.lines += 1;
            return Err(self.is_another("is longer than any answer"));
        }
        if line.last() != Some(&b'\n') {
            return Ok(None);
        }
        self.digest.update(&line);
        self.bytes += line.len() as u64;
        self.lines += 1;
        Ok(Some(line))
    }

    /// Holds a line against the call in its place; says whether that call did not end well.
    pub(crate) fn is_failure_of(&self, line: &[u8], job: &Job<'_>, asked: &Asked) -> Result<bool, Fault> {
        let key = match asked.call.as_ref().map(|call| job.key(call)) {
            Ok(Ok(key)) => json!(key),
            Err(_) => Value::Null,
            Ok(Err(failure)) if failure.is_refusal() => Value::Null,
            Ok(Err(failure)) => return Err(failure.into()),
        };
        let line = document::read(line).unwrap_or_default();
        match line["key"] == key && line["id"] == asked.id && line["status"].is_u64() {
            true => Ok(line["status"] != 0),
            false => Err(self.is_another("is not what that call comes to")),
        }
    }

    /// The file is of another job.
    pub(crate) fn is_another(&self, why: &str) -> Fault {
        let message = format!("line {} of {} {why}, so it is another job's", self.lines, self.path.display());
        let suggestion =
            "give the very lines, package, state, --now and --seed that it was begun with, or name a new file";
        ErrorReport::new(ErrorCode::Conflict, message).suggest(suggestion).detail("line", self.lines).into()
    }
}
