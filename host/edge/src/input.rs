//! A guest's standard input. Nobody is waited for without end.

use crate::report::usage;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

/// How long input may take to come and to end, unless the caller says otherwise.
pub(crate) const WAIT: Duration = Duration::from_secs(10);

/// Where it comes from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
    Text(String),
}

impl Source {
    /// Reads to the end, or one byte more than `bytes_max`.
    ///
    /// # Errors
    /// It is a terminal, can't be read, or does not end in time.
    pub(crate) fn read(self, bytes_max: u64, wait: Duration) -> Result<Vec<u8>, ErrorReport> {
        let name = match &self {
            Source::Stdin => "standard input".to_owned(),
            Source::File(path) => path.display().to_string(),
            Source::Text(text) => return Ok(text.clone().into_bytes()),
        };
        let (sender, receiver) = mpsc::sync_channel(1);
        // Opening a pipe waits for its other end as reading does, and nothing but another thread can give up on either. One that still
        // waits is left behind: it ends with the program.
        let reader = std::thread::Builder::new().spawn(move || sender.send(self.take(bytes_max.saturating_add(1))));
        reader.map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("no thread to read with: {error}")))?;
        match receiver.recv_timeout(wait) {
            Ok(Ok(Some(bytes))) => Ok(bytes),
            Ok(Ok(None)) => {
                let message = format!("{name} is a terminal, which hutch-edge never waits for");
                Err(ErrorReport::new(ErrorCode::StdinTerminal, message))
            }
            Ok(Err(error)) => {
                let code = match error.kind() {
                    io::ErrorKind::NotFound => ErrorCode::NotFound,
                    io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
                    _ => return Err(usage(format!("{name} can't be read: {error}"))),
                };
                Err(ErrorReport::new(code, format!("{name}: {error}")).suggest("name a file that can be read"))
            }
            Err(_) => {
                let message = format!("{name} was not closed within {} ms", wait.as_millis());
                Err(ErrorReport::new(ErrorCode::StdinTimeLimit, message))
            }
        }
    }

    /// What there is; nothing if it is a terminal.
    #[expect(clippy::disallowed_methods, reason = "the caller asked for standard input, or named the file")]
    fn take(self, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        let source: Box<dyn Read> = match self {
            Source::Stdin if io::stdin().is_terminal() => return Ok(None),
            Source::Stdin => Box::new(io::stdin()),
            Source::File(path) => {
                let file = File::open(path)?;
                if file.is_terminal() {
                    return Ok(None);
                }
                Box::new(file)
            }
            Source::Text(text) => return Ok(Some(text.into_bytes())),
        };
        let mut bytes = Vec::new();
        source.take(bytes_max).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}
