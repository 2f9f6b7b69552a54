//! Printing: data on standard output, one error on standard error, for programs or for people. Bytes that a guest wrote reach a
//! terminal without their control characters.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::arguments::Global;
use crate::progress;
use crate::shaping::Shaping;
use hutch::Failure;
use hutch::installed::InstalledError;
use hutch::package::PackageError;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// For whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// Programs.
    Json,
    /// People.
    Human,
}

impl Format {
    /// What the host's part of the command line asks for, told before it is parsed: also a line that can't be parsed is answered
    /// in it. HUTCH_FORMAT says what holds without a flag.
    pub(crate) fn asked_for(words: &[String]) -> Format {
        let last = words.iter().rev().find(|word| *word == "--human" || *word == "--agent");
        match last.map(String::as_str) {
            Some("--human") => Format::Human,
            Some(_) => Format::Json,
            None if std::env::var("HUTCH_FORMAT").as_deref() == Ok("human") => Format::Human,
            None => Format::Json,
        }
    }
}

/// Where answers go.
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) shaping: Shaping,
    /// Whether answers are about what would be done.
    pub(crate) preview: bool,
    quiet: bool,
}

/// A failure to report. It decides the exit status.
#[derive(Debug)]
pub(crate) struct Fault(Box<ErrorReport>);

impl Fault {
    /// A failure with its code's own suggestion.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Fault {
        ErrorReport::new(code, message).into()
    }

    /// There is no package at a path.
    pub(crate) fn no_package(path: &Path, reason: &str) -> Fault {
        Fault::new(ErrorCode::PackageNotFound, format!("{}: {reason}", path.display()))
    }

    /// A mistake on the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Fault {
        ErrorReport::new(ErrorCode::Usage, message).into()
    }

    /// The host's own failure.
    pub(crate) fn host(message: impl Into<String>) -> Fault {
        ErrorReport::new(ErrorCode::HostFault, message).into()
    }

    /// A file or folder that the operator named can't be opened or written. Who named the wrong kind of thing can name another;
    /// what else the system refuses is the host's failure.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Fault {
        use io::ErrorKind::{InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
        let (code, suggestion) = match error.kind() {
            io::ErrorKind::NotFound => (ErrorCode::NotFound, "name one that is there"),
            io::ErrorKind::PermissionDenied => (ErrorCode::PermissionDenied, "name one that you may use"),
            NotADirectory => (ErrorCode::Usage, "name a folder"),
            IsADirectory | InvalidInput | InvalidFilename => (ErrorCode::Usage, "name a file"),
            _ => (ErrorCode::HostFault, ErrorCode::HostFault.fix()),
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).suggest(suggestion).into()
    }

    /// A file that the operator named can't be read, whatever the reason: another one may be.
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Fault {
        let code = match error.kind() {
            io::ErrorKind::NotFound => ErrorCode::NotFound,
            io::ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
            _ => ErrorCode::Usage,
        };
        ErrorReport::new(code, format!("{}: {error}", path.display())).suggest("name a file that can be read").into()
    }

    /// The report.
    pub(crate) fn report(&self) -> &ErrorReport {
        &self.0
    }
}

impl From<ErrorReport> for Fault {
    fn from(report: ErrorReport) -> Fault {
        Fault(Box::new(report))
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        failure.report().into()
    }
}

impl From<InstalledError> for Fault {
    fn from(error: InstalledError) -> Fault {
        match error {
            InstalledError::Package(error) => error.into(),
            error => ErrorReport::new(error.code(), error.to_string()).into(),
        }
    }
}

impl From<PackageError> for Fault {
    fn from(error: PackageError) -> Fault {
        Failure::from(error).into()
    }
}

impl Output {
    pub(crate) fn new(format: Format, quiet: bool) -> Output {
        Output { format, shaping: Shaping::default(), preview: false, quiet }
    }

    /// For whom, and how loud, now that the line is parsed: a guest's own words no longer count.
    pub(crate) fn settle(&mut self, global: &Global) {
        let words = [("--human", global.human), ("--agent", global.agent)];
        let words: Vec<String> =
            words.into_iter().filter(|(_, given)| *given).map(|(word, _)| word.to_owned()).collect();
        self.format = Format::asked_for(&words);
        self.quiet = global.quiet;
        self.preview = global.dry_run;
    }

    /// Prints one JSON document: compact in a pipe, indented on a terminal.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Fault> {
        let text = match io::stdout().is_terminal() {
            true => serde_json::to_string_pretty(value),
            false => serde_json::to_string(value),
        };
        let text = text.map_err(|error| Fault::host(format!("the answer is no JSON: {error}")))?;
        self.text(&text)
    }

    /// Prints a text for people, and ends its line.
    pub(crate) fn text(&self, text: &str) -> Result<(), Fault> {
        let terminal = io::stdout().is_terminal();
        write_all(&mut io::stdout().lock(), &[&for_terminal(text.trim_end().as_bytes(), terminal), b"\n"])
    }

    /// Prints what a guest wrote: unchanged, unless a person would see it directly.
    pub(crate) fn guest(&self, stdout: &[u8], stderr: &[u8]) -> Result<(), Fault> {
        let (mut out, mut err) = (io::stdout(), io::stderr());
        let (seen_out, seen_err) = (out.is_terminal(), err.is_terminal());
        write_all(&mut err, &[&for_terminal(&self.shaping.cleaning.bytes(stderr), seen_err)])?;
        write_all(&mut out, &[&for_terminal(&self.shaping.cleaning.bytes(stdout), seen_out)])
    }

    /// Prints a remark on standard error, unless asked to be quiet.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            progress::make_room();
            // A remark that can't be printed is not worth failing for.
            let _ = write_all(
                &mut io::stderr().lock(),
                &[&for_terminal(text.as_bytes(), io::stderr().is_terminal()), b"\n"],
            );
        }
    }

    /// Remarks that plain directories do not show the state yet.
    pub(crate) fn behind(&self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.remark(&format!("the state is kept, but a plain directory does not show it yet: {reason}"));
        }
    }

    /// Reports a failure on standard error, and gives its exit status.
    pub(crate) fn fail(&self, fault: &Fault) -> ExitCode {
        let report = fault.report();
        let text = match self.format {
            Format::Human => {
                let mut text = format!("error: {} [{}]\n  {}", report.message, report.code, report.suggestion);
                for fix in &report.fixes {
                    text.push_str(&format!("\n  try: {} ({})", fix.cmd, fix.effect));
                }
                text
            }
            Format::Json => serde_json::to_string(report).unwrap_or_else(|error| error.to_string()),
        };
        progress::make_room();
        // With standard error closed there is nobody to tell; the status still says it.
        let _ =
            write_all(&mut io::stderr().lock(), &[&for_terminal(text.as_bytes(), io::stderr().is_terminal()), b"\n"]);
        ExitCode::from(report.code.exit_status())
    }
}

/// Writes and flushes. A reader that has gone away wants no more: that is no failure.
fn write_all(stream: &mut dyn Write, parts: &[&[u8]]) -> Result<(), Fault> {
    progress::make_room();
    let written = parts.iter().try_for_each(|part| stream.write_all(part)).and_then(|()| stream.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Fault::host(format!("the answer can't be written: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Without control characters, which could rewrite what a person sees.
fn for_terminal(bytes: &[u8], terminal: bool) -> Cow<'_, [u8]> {
    if !terminal {
        return Cow::Borrowed(bytes);
    }
    let visible = |letter: char| match letter {
        '\n' | '\t' => letter,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    };
    Cow::Owned(String::from_utf8_lossy(bytes).chars().map(visible).collect::<String>().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters_and_a_pipe_gets_every_byte() {
        let wild = "a\x1b[2J\x07\r\u{202e}b\n\tc\u{9b}".as_bytes();
        assert_eq!(for_terminal(wild, false), wild);
        let shown = String::from_utf8(for_terminal(wild, true).into_owned()).unwrap();
        assert_eq!(shown, "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b\n\tc\u{fffd}");
    }
}
