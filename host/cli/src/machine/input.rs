//! Reading what somebody else has to send: standard input, or a file that may be a pipe or a device. Nobody is waited for longer than
//! `--wait` allows, from one byte to the next: one who sends slowly is served, one who sends nothing and does not end is not.

use crate::refusal::fault::Fault;
use clap::Args;
use hutch_model::digest::{Hasher, Kind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::StreamRecord;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// Where the guest's standard input comes from: one of these, or it is empty.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct InputArguments {
    /// Give the guest standard input; never a terminal
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Or this file
    #[arg(long, value_name = "FILE")]
    pub(crate) stdin_file: Option<PathBuf>,
    /// Or this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) stdin_text: Option<String>,
}

impl InputArguments {
    /// Whether nothing is said of what the guest reads.
    pub(crate) fn is_absent(&self) -> bool {
        !self.stdin && self.stdin_file.is_none() && self.stdin_text.is_none()
    }
}

/// What somebody else sends to standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piped {
    /// Bytes that can be read at once.
    Bytes,
    /// Nothing by now.
    Nothing,
}

impl Piped {
    /// What is sent here, of which nothing is read; none if nobody can send anything: a terminal, nothing, a file that is empty.
    #[cfg(unix)]
    #[expect(clippy::disallowed_methods, reason = "standard input is asked for and not read")]
    pub(crate) fn here() -> Option<Piped> {
        use std::os::{fd::AsFd, unix::fs::FileTypeExt};
        let stdin = io::stdin();
        let found = File::from(stdin.as_fd().try_clone_to_owned().ok()?).metadata().ok()?;
        match found.file_type() {
            kind if kind.is_fifo() => {
                Some(if rustix::io::ioctl_fionread(&stdin).ok()? > 0 { Piped::Bytes } else { Piped::Nothing })
            }
            kind if kind.is_file() && found.len() > 0 => Some(Piped::Bytes),
            _ => None,
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn here() -> Option<Piped> {
        None
    }
}

/// Bytes that are handed on at once.
const PART_BYTES: usize = 64 << 10;

/// Who sends.
#[derive(Debug)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file that the operator named.
    File(PathBuf),
    /// The same, open: it can be read where no path can be followed any more.
    Open(PathBuf, File),
}

/// What the reading thread has to say.
enum Part {
    Bytes(Vec<u8>),
    End,
    Failed(Fault),
}

/// Reads to the end, or one byte more than `bytes_max`. A terminal is refused.
///
/// # Errors
/// Nothing came for `wait`; it can't be opened or read; it is a terminal.
pub(crate) fn read(source: Source, bytes_max: u64, wait: Duration) -> Result<Vec<u8>, Fault> {
    let (name, receiver) = begin(source, bytes_max.saturating_add(1))?;
    collect(&name, wait, |wait| receiver.recv_timeout(wait))
}

/// A file that the operator named, of at most so many bytes: one that has more is refused as a whole.
///
/// # Errors
/// It has more; and as [`read`].
pub(crate) fn whole(path: &Path, bytes_max: u64, wait: Duration) -> Result<Vec<u8>, Fault> {
    let bytes = read(Source::File(path.to_owned()), bytes_max, wait)?;
    match bytes.len() as u64 > bytes_max {
        true => Err(Fault::usage(format!("{} has more than {bytes_max} bytes", path.display()))),
        false => Ok(bytes),
    }
}

/// A file that the caller named, for whoever reads all of it.
#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
pub(crate) fn opened(path: &Path) -> Result<File, Fault> {
    let failed = |error: io::Error| Fault::unreadable(path, &error);
    // Looked at before it is opened: a pipe would be waited for.
    match path.metadata().map_err(failed)?.is_file() {
        true => File::open(path).map_err(failed),
        false => Err(Fault::usage(format!("{} is no file", path.display()))),
    }
}

/// Has a thread read the source to its end, or so many bytes of it.
#[expect(clippy::disallowed_methods, reason = "the caller asked for standard input")]
fn begin(source: Source, bytes_max: u64) -> Result<(String, Receiver<Part>), Fault> {
    if matches!(source, Source::Stdin) && io::stdin().is_terminal() {
        return Err(terminal("standard input"));
    }
    let name = source.name();
    // One part is on its way while the next one is read; who reads stops there when nobody takes it.
    let (sender, receiver) = mpsc::sync_channel(1);
    // Opening a pipe waits for its other end as reading does, and nothing but another thread can give up on either. One that still
    // waits is left behind: it ends with the program.
    let reader = std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let last = source.send(bytes_max, &sender).map_or_else(Part::Failed, |()| Part::End);
        // The receiver may have given up.
        let _ = sender.send(last);
    });
    reader.map_err(|error| Fault::host(format!("no thread to read with: {error}")))?;
    Ok((name, receiver))
}

/// Puts the parts together. Each has the whole of `wait` to come.
fn collect(
    name: &str,
    wait: Duration,
    mut next: impl FnMut(Duration) -> Result<Part, RecvTimeoutError>,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(part) = come(name, wait, bytes.len() as u64, next(wait))? {
        bytes.extend(part);
    }
    Ok(bytes)
}

/// What has come of a part, behind so many bytes; nothing if that was all.
fn come(
    name: &str,
    wait: Duration,
    bytes: u64,
    part: Result<Part, RecvTimeoutError>,
) -> Result<Option<Vec<u8>>, Fault> {
    match part {
        Ok(Part::Bytes(part)) => Ok(Some(part)),
        Ok(Part::End) => Ok(None),
        Ok(Part::Failed(fault)) => Err(fault),
        Err(RecvTimeoutError::Timeout) => {
            let message = format!("{name} brought nothing for {} ms, and was not closed", wait.as_millis());
            let report = ErrorReport::new(ErrorCode::StdinTimeLimit, message);
            Err(report.detail("waited_ms", wait.as_millis() as u64).detail("bytes", bytes).into())
        }
        Err(RecvTimeoutError::Disconnected) => Err(Fault::host(format!("{name} can't be read"))),
    }
}

/// A line of a source that is read line by line.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Line {
    /// Its bytes, without what ends it.
    Whole(Vec<u8>),
    /// It has more bytes than are read of one.
    TooLong,
}

/// The lines of a source as they come, each with the whole of `wait` to come part by part.
pub(crate) struct Lines {
    name: String,
    parts: Receiver<Part>,
    wait: Duration,
    line_bytes_max: usize,
    /// What has come and was not given yet, from `given` on.
    read: Vec<u8>,
    given: usize,
    /// What all that has come is called, and how much it is.
    digest: Hasher,
    bytes: u64,
    ended: bool,
}

impl Lines {
    /// Begins to read; see [`read`].
    pub(crate) fn of(source: Source, line_bytes_max: usize, wait: Duration) -> Result<Lines, Fault> {
        let (name, parts) = begin(source, u64::MAX)?;
        Ok(Lines::from_parts(name, parts, line_bytes_max, wait))
    }

    fn from_parts(name: String, parts: Receiver<Part>, line_bytes_max: usize, wait: Duration) -> Lines {
        let (read, digest) = (Vec::new(), Hasher::new(Kind::Stream));
        Lines { name, parts, wait, line_bytes_max, read, given: 0, digest, bytes: 0, ended: false }
    }

    /// All that has come by now.
    pub(crate) fn stream(&self) -> StreamRecord {
        StreamRecord { digest: self.digest.finish(), size: self.bytes }
    }

    fn take(&mut self, end: usize) -> Line {
        let line = self.read.get(self.given..end).unwrap_or_default();
        match line.len() > self.line_bytes_max {
            true => Line::TooLong,
            false => Line::Whole(line.to_vec()),
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Line, Fault>;

    fn next(&mut self) -> Option<Result<Line, Fault>> {
        let mut looked = self.given;
        loop {
            let rest = self.read.get(looked..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.take(looked + at);
                self.given = looked + at + 1;
                return Some(Ok(line));
            }
            if self.ended {
                let line = (self.given < self.read.len()).then(|| Ok(self.take(self.read.len())));
                self.given = self.read.len();
                return line;
            }
            self.read.drain(..self.given);
            self.given = 0;
            // Of a line that is too long its first bytes are enough to know it.
            self.read.truncate(self.line_bytes_max.saturating_add(1));
            looked = self.read.len();
            match come(&self.name, self.wait, self.bytes, self.parts.recv_timeout(self.wait)) {
                Ok(Some(part)) => {
                    self.bytes += part.len() as u64;
                    self.digest.update(&part);
                    self.read.extend(part);
                }
                Ok(None) => self.ended = true,
                Err(fault) => {
                    self.ended = true;
                    self.read.clear();
                    return Some(Err(fault));
                }
            }
        }
    }
}

impl Source {
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) | Source::Open(path, _) => path.display().to_string(),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the caller asked for standard input, or named the file")]
    fn send(&self, bytes_max: u64, parts: &SyncSender<Part>) -> Result<(), Fault> {
        let mut source: Box<dyn Read> = match self {
            Source::Stdin => Box::new(io::stdin()),
            Source::File(path) => {
                let file = File::open(path).map_err(|error| Fault::unreadable(path, &error))?;
                if file.is_terminal() {
                    return Err(terminal(&self.name()));
                }
                Box::new(file)
            }
            Source::Open(_, file) => Box::new(file),
        };
        let failed = |error: io::Error| match self {
            Source::Stdin => Fault::usage(format!("standard input can't be read: {error}")),
            Source::File(path) | Source::Open(path, _) => Fault::unreadable(path, &error),
        };
        let mut left = bytes_max;
        while left > 0 {
            let mut part = vec![0; PART_BYTES.min(usize::try_from(left).unwrap_or(PART_BYTES))];
            let count = match source.read(&mut part) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(failed)?,
            };
            part.truncate(count);
            if count == 0 || parts.send(Part::Bytes(part)).is_err() {
                break;
            }
            left -= count as u64;
        }
        Ok(())
    }
}

fn terminal(name: &str) -> Fault {
    Fault::new(ErrorCode::StdinTerminal, format!("{name} is a terminal, which hutch never waits for"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_the_whole_budget_to_come() {
        let wait = Duration::from_millis(7);
        let mut asked = Vec::new();
        let mut parts = (0..100).map(|_| Part::Bytes(vec![b'x'])).chain([Part::End]);
        let read = collect("it", wait, |wait| {
            asked.push(wait);
            parts.next().ok_or(RecvTimeoutError::Disconnected)
        });
        assert_eq!(read.unwrap(), [b'x'; 100]);
        assert_eq!(asked, [wait; 101]);
    }

    /// The lines of what comes in these parts, where a line has at most four bytes.
    fn lines(parts: &[&[u8]]) -> Vec<Line> {
        let (sender, receiver) = mpsc::channel();
        parts.iter().for_each(|part| sender.send(Part::Bytes(part.to_vec())).unwrap());
        sender.send(Part::End).unwrap();
        let mut lines = Lines::from_parts("it".to_owned(), receiver, 4, Duration::from_secs(60));
        let given = lines.by_ref().map(Result::unwrap).collect();
        assert_eq!(lines.stream(), StreamRecord::of(&parts.concat()));
        given
    }

    #[test]
    fn lines_are_the_same_however_their_bytes_come() {
        let whole = |text: &str| Line::Whole(text.into());
        for (bytes, expect) in [
            (&b""[..], vec![]),
            (b"\n", vec![whole("")]),
            (b"abcd\nef", vec![whole("abcd"), whole("ef")]),
            (b"ab\n\ncd\n", vec![whole("ab"), whole(""), whole("cd")]),
            (b"abcde\nf\n", vec![Line::TooLong, whole("f")]),
            (b"a\nbcdefghijklm", vec![whole("a"), Line::TooLong]),
        ] {
            assert_eq!(lines(&[bytes]), expect, "{bytes:?}");
            for cut in 0..bytes.len() {
                assert_eq!(lines(&[&bytes[..cut], &bytes[cut..]]), expect, "{bytes:?} at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(lines(&single), expect, "{bytes:?} byte by byte");
        }
    }

    #[test]
    fn one_who_stops_sending_is_given_up_and_what_was_read_is_not_used() {
        let mut parts = [Part::Bytes(vec![b'x'; 3])].into_iter();
        let read = collect("it", Duration::from_millis(7), |_| parts.next().ok_or(RecvTimeoutError::Timeout));
        let fault = read.unwrap_err();
        assert_eq!(fault.report().code, ErrorCode::StdinTimeLimit);
        assert_eq!(fault.report().message, "it brought nothing for 7 ms, and was not closed");
    }
}
