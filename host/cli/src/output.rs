//! Printing: data on standard output, one error on standard error, for programs or for people. Bytes that a guest wrote reach a
//! terminal without their control characters.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::progress;
use crate::shaping::Shaping;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Serialize;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
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
    /// What the call has done by now.
    done: RefCell<Option<Done>>,
}

impl Output {
    pub(crate) fn new(format: Format, quiet: bool) -> Output {
        Output { format, shaping: Shaping::default(), preview: false, quiet, done: RefCell::new(None) }
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
        let text = text.map_err(|error| self.unanswered(answer_lost(&error)))?;
        self.text(&text)
    }

    /// Prints a text for people, and ends its line.
    pub(crate) fn text(&self, text: &str) -> Result<(), Fault> {
        let terminal = io::stdout().is_terminal();
        self.write(&mut io::stdout().lock(), &[&for_terminal(text.trim_end().as_bytes(), terminal), b"\n"])
    }

    /// Remembers what the call has done, for an answer that gets lost from here on. A preview does nothing.
    pub(crate) fn done(&self, done: Done) {
        if !self.preview {
            self.done.replace(Some(done));
        }
    }

    /// There is no answer, whatever the call did: the report says what of that stays.
    pub(crate) fn unanswered(&self, report: ErrorReport) -> Fault {
        match self.done.borrow().as_ref() {
            Some(done) => done.told(report).into(),
            None => report.detail("kept", false).into(),
        }
    }

    /// Writes and flushes. A reader that has gone away wants no more: that is no failure, unless it can't know what was changed.
    pub(crate) fn write(&self, stream: &mut dyn Write, parts: &[&[u8]]) -> Result<(), Fault> {
        progress::make_room();
        let written = parts.iter().try_for_each(|part| stream.write_all(part)).and_then(|()| stream.flush());
        let matters = |error: &io::Error| {
            error.kind() != io::ErrorKind::BrokenPipe || self.done.borrow().as_ref().is_some_and(|done| done.changed)
        };
        match written {
            Err(error) if matters(&error) => Err(self.unanswered(answer_lost(&error))),
            _ => Ok(()),
        }
    }

    /// Prints what a guest wrote: unchanged, unless a person would see it directly.
    pub(crate) fn guest(&self, stdout: &[u8], stderr: &[u8]) -> Result<(), Fault> {
        let (mut out, mut err) = (io::stdout(), io::stderr());
        let (seen_out, seen_err) = (out.is_terminal(), err.is_terminal());
        let remarks = self.write(&mut err, &[&for_terminal(&self.shaping.cleaning.bytes(stderr), seen_err)]);
        // The answer matters more: it is written also where its remarks could not be.
        self.write(&mut out, &[&for_terminal(&self.shaping.cleaning.bytes(stdout), seen_out)]).and(remarks)
    }

    /// Prints a remark on standard error, unless asked to be quiet.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            progress::make_room();
            // One that can't be printed is not worth failing for.
            say(text);
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
        say(&text);
        ExitCode::from(fault.status())
    }
}

/// Writes a line on standard error, if there is anybody to read it.
fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    let text = for_terminal(text.as_bytes(), stderr.is_terminal());
    let _ = stderr.write_all(&text).and_then(|()| stderr.write_all(b"\n"));
}

fn answer_lost(error: &impl std::fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::AnswerLost, format!("the answer can't be written: {error}"))
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
