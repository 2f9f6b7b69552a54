//! Where the lines of a job go, and what an earlier try has written there.

use crate::answer::output::Output;
use crate::call::mapped::{ANSWER_BYTES_MAX, Asked, written};
use crate::machine::{new_file, surroundings};
use crate::refusal::fault::Fault;
use hutch::Job;
use hutch_documents::run::Room;
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::invocation::Seed;
use hutch_model::ledger::StreamRecord;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// How many lines of an earlier try are made again beside the last one.
const SAMPLE: usize = 8;

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
            _ => Some(Resumed::of(path, file.try_clone().map_err(|error| failed(&error))?)?),
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
        let text = written(line);
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
    /// The last one.
    last: Option<Again>,
    /// Some of those before it: which, nobody knows who wrote the file.
    drawn: Seed,
    sample: BTreeMap<[u8; 32], Again>,
}

/// A line, to be held against what its call comes to when it is made again.
struct Again {
    line: u64,
    digest: Digest,
    asked: Asked,
}

/// What is read of a line. All else that one may have is passed over.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held<'l> {
    #[serde(borrow)]
    id: Option<&'l RawValue>,
    key: Option<Digest>,
    status: u8,
    #[serde(default, rename = "unreproducible")]
    _unreproducible: IgnoredAny,
    #[serde(default, rename = "after")]
    _after: IgnoredAny,
    #[serde(default, rename = "error")]
    _error: IgnoredAny,
    #[serde(default, rename = "fuel")]
    _fuel: IgnoredAny,
    #[serde(default, rename = "output")]
    _output: IgnoredAny,
    #[serde(default, rename = "stderr")]
    _stderr: IgnoredAny,
    #[serde(default, rename = "stdout")]
    _stdout: IgnoredAny,
}

impl Held<'_> {
    /// Whether it has this id, which is null where it is left out.
    fn is_called(&self, id: &Value) -> bool {
        let Some(own) = self.id else { return id.is_null() };
        document::read_within(own.get().as_bytes(), ANSWER_BYTES_MAX).is_ok_and(|own| own == *id)
    }
}

impl Resumed {
    fn of(path: &Path, file: File) -> Result<Resumed, Fault> {
        let drawn = surroundings::random_seed()?;
        let (path, reader, digest) = (path.to_owned(), BufReader::new(file), Hasher::new(Kind::Stream));
        Ok(Resumed { path, reader, digest, bytes: 0, lines: 0, last: None, drawn, sample: BTreeMap::new() })
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

    /// Holds a line against the call in its place, by its id, its key and its form; says whether that call did not end well.
    pub(crate) fn hold(&mut self, line: &[u8], job: &Job<'_>, asked: Asked) -> Result<bool, Fault> {
        let key = match asked.call.as_ref().map(|call| job.key(call)) {
            Ok(Ok(key)) => Some(key),
            Err(_) => None,
            Ok(Err(failure)) if failure.is_refusal() => None,
            Ok(Err(failure)) => return Err(failure.into()),
        };
        let held: Option<Held<'_>> = std::str::from_utf8(line).ok().and_then(|line| serde_json::from_str(line).ok());
        let Some(held) = held.filter(|held| held.key == key && held.is_called(&asked.id)) else {
            return Err(self.is_another("is not what that call comes to"));
        };
        let again = Again { line: self.lines, digest: Digest::of(Kind::Stream, line), asked };
        if let Some(before) = self.last.replace(again) {
            let rank = self.drawn.of_call(format!("line {}", before.line).as_bytes());
            self.sample.insert(rank.0, before);
        }
        if self.sample.len() > SAMPLE {
            self.sample.pop_last();
        }
        Ok(held.status != 0)
    }

    /// Holds the last line and the sample against what their calls come to when they are made again, byte for byte. One that depends on the
    /// host now is left as it is: what the line says of that decides nothing.
    pub(crate) fn check(&mut self, make: impl Fn(Asked) -> Result<Value, Fault>) -> Result<(), Fault> {
        for again in std::mem::take(&mut self.sample).into_values().chain(self.last.take()) {
            let (id, made) = (again.asked.id.clone(), make(again.asked)?);
            let is_it = Digest::of(Kind::Stream, written(&made).as_bytes()) == again.digest;
            if !is_it && made["unreproducible"].is_null() {
                return Err(self.unlike(again.line, "is not what that call comes to").detail("id", id).into());
            }
        }
        Ok(())
    }

    /// The file is of another job.
    pub(crate) fn is_another(&self, why: &str) -> Fault {
        self.unlike(self.lines, why).into()
    }

    fn unlike(&self, line: u64, why: &str) -> ErrorReport {
        let path = self.path.display();
        let message = format!("line {line} of {path} {why}, so it is another job's, or was changed");
        let suggestion =
            "give the very lines, package, state, flags, --now and --seed that it was begun with, or name a new file";
        ErrorReport::new(ErrorCode::Conflict, message).suggest(suggestion).detail("line", line)
    }
}
