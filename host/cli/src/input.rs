//! Reading what somebody else has to send: standard input, or a file that may be a pipe or a device. Nobody is waited for longer than
//! `--wait` allows, from one byte to the next: one who sends slowly is served, one who sends nothing and does not end is not.

use crate::fault::Fault;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::Duration;

/// Bytes that are handed on at once.
const PART_BYTES: usize = 64 << 10;

/// Who sends.
#[derive(Debug)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file that the operator named.
    File(PathBuf),
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
#[expect(clippy::disallowed_methods, reason = "the caller asked for standard input")]
pub(crate) fn read(source: Source, bytes_max: u64, wait: Duration) -> Result<Vec<u8>, Fault> {
    if matches!(source, Source::Stdin) && io::stdin().is_terminal() {
        return Err(terminal("standard input"));
    }
    let name = source.name();
    // One part is on its way while the next one is read; who reads stops there when nobody takes it.
    let (sender, receiver) = mpsc::sync_channel(1);
    // Opening a pipe waits for its other end as reading does, and nothing but another thread can give up on either. One that still
    // waits is left behind: it ends with the program.
    let reader = std::thread::Builder::new().name("input".to_owned()).spawn(move || {
        let last = source.send(bytes_max.saturating_add(1), &sender).map_or_else(Part::Failed, |()| Part::End);
        // The receiver may have given up.
        let _ = sender.send(last);
    });
    reader.map_err(|error| Fault::host(format!("no thread to read with: {error}")))?;
    collect(&name, wait, |wait| receiver.recv_timeout(wait))
}

/// Puts the parts together. Each has the whole of `wait` to come.
fn collect(
    name: &str,
    wait: Duration,
    mut next: impl FnMut(Duration) -> Result<Part, RecvTimeoutError>,
) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    loop {
        match next(wait) {
            Ok(Part::Bytes(part)) => bytes.extend(part),
            Ok(Part::End) => return Ok(bytes),
            Ok(Part::Failed(fault)) => return Err(fault),
            Err(RecvTimeoutError::Timeout) => {
                let message = format!("{name} brought nothing for {} ms, and was not closed", wait.as_millis());
                let report = ErrorReport::new(ErrorCode::StdinTimeLimit, message);
                return Err(report.detail("waited_ms", wait.as_millis() as u64).detail("bytes", bytes.len()).into());
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Fault::host(format!("{name} can't be read"))),
        }
    }
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
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
        };
        let failed = |error: io::Error| match self {
            Source::Stdin => Fault::usage(format!("standard input can't be read: {error}")),
            Source::File(path) => Fault::unreadable(path, &error),
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

    #[test]
    fn one_who_stops_sending_is_given_up_and_what_was_read_is_not_used() {
        let mut parts = [Part::Bytes(vec![b'x'; 3])].into_iter();
        let read = collect("it", Duration::from_millis(7), |_| parts.next().ok_or(RecvTimeoutError::Timeout));
        let fault = read.unwrap_err();
        assert_eq!(fault.report().code, ErrorCode::StdinTimeLimit);
        assert_eq!(fault.report().message, "it brought nothing for 7 ms, and was not closed");
    }
}
