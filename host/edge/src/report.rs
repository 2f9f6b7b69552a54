//! What is printed: a guest's own bytes, or one error as `hutch` prints it. The only module that prints.

use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::terminal::neutral;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// How something ended: with a status, or with a failure that is still to be told.
pub(crate) type Done = Result<ExitCode, ErrorReport>;

/// A mistake of whoever called.
pub(crate) fn usage(message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(ErrorCode::Usage, message)
}

/// A failure of the library.
pub(crate) fn of(failure: impl Into<hutch::Failure>) -> ErrorReport {
    failure.into().report()
}

/// Says an error on standard error, and gives its exit status: the guest's, if it has one.
pub(crate) fn tell(report: &ErrorReport, status: Option<u8>) -> ExitCode {
    let text = serde_json::to_string(report).unwrap_or_else(|error| error.to_string());
    let mut stderr = io::stderr();
    let line = [text.as_bytes(), b"\n"].concat();
    let seen = stderr.is_terminal();
    // With standard error closed there is nobody to tell; the status still says it.
    let _ = write(&mut stderr, &line, seen);
    ExitCode::from(status.unwrap_or_else(|| report.code.exit_status()))
}

/// Prints standard output and standard error: unchanged, unless a person would see it directly.
///
/// # Errors
/// It could not be written to the end.
pub(crate) fn print(stdout: &[u8], stderr: &[u8]) -> Result<(), ErrorReport> {
    let (mut out, mut err) = (io::stdout(), io::stderr());
    let (seen_out, seen_err) = (out.is_terminal(), err.is_terminal());
    let remarks = write(&mut err, stderr, seen_err);
    // The answer matters more: it is written also where its remarks could not be.
    write(&mut out, stdout, seen_out)
        .and(remarks)
        .map_err(|error| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer can't be written: {error}")))
}

fn write(stream: &mut dyn Write, bytes: &[u8], seen: bool) -> io::Result<()> {
    let bytes = match seen {
        true => Cow::Owned(neutral(&String::from_utf8_lossy(bytes)).into_owned().into_bytes()),
        false => Cow::Borrowed(bytes),
    };
    stream.write_all(&bytes).and_then(|()| stream.flush())
}
