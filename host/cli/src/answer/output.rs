//! Printing: data on standard output, one error on standard error, for programs or for people. Bytes that a guest wrote reach a
//! terminal without their control characters.

use crate::answer::done::Done;
use crate::flags::global::Global;
use crate::flags::shaping::Shaping;
use crate::machine::progress;
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::screen::pager;
use crate::screen::told::{Screen, Told};
use crate::screen::tone::Tone;
use console::Term;
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::redact::Cleaning;
use hutch_model::terminal::neutral;
use hutch_model::terminal::one_line;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
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
            None if surroundings::format().as_deref() == Some("human") => Format::Human,
            None => Format::Json,
        }
    }
}

/// Where answers go.
pub(crate) struct Output {
    /// Whom answers are for: what a guest's arguments ask of the host can change it.
    pub(crate) format: Cell<Format>,
    pub(crate) shaping: Shaping,
    /// The line that is carried out, if it can be written: it mends no failure of its own.
    pub(crate) typed: Option<String>,
    /// Whether answers are about what would be done.
    pub(crate) preview: Cell<bool>,
    quiet: bool,
    /// Whether an answer may be paged: one that others follow is not.
    paged: Cell<bool>,
    /// Whether what was written last had no reader any more.
    unread: Cell<bool>,
    /// What the call has done by now.
    done: RefCell<Option<Done>>,
}

impl Output {
    pub(crate) fn new(format: Format, quiet: bool) -> Output {
        Output {
            format: Cell::new(format),
            shaping: Shaping::default(),
            typed: None,
            preview: Cell::new(false),
            quiet,
            paged: Cell::new(true),
            unread: Cell::new(false),
            done: RefCell::new(None),
        }
    }

    /// For whom, and how loud, now that the line is parsed: a guest's own words no longer count. What is for reading is text where it is seen, unless
    /// a part of it is asked for.
    pub(crate) fn settle(&mut self, global: &Global, is_for_reading: bool) {
        let words = [("--human", global.human), ("--agent", global.agent)];
        let words: Vec<String> =
            words.into_iter().filter(|(_, given)| *given).map(|(word, _)| word.to_owned()).collect();
        let is_said = !words.is_empty() || surroundings::format().is_some_and(|format| !format.is_empty());
        let is_seen = io::stdout().is_terminal() && io::stderr().is_terminal();
        let is_text = is_for_reading && is_seen && !is_said && !self.shaping.selects();
        self.format.set(if is_text { Format::Human } else { Format::asked_for(&words) });
        self.quiet = global.quiet;
        self.preview.set(global.dry_run);
    }

    /// Prints one JSON document: compact in a pipe, indented on a terminal. What nobody would see in it is escaped.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), Fault> {
        let text = json_for(value, io::stdout().is_terminal());
        let text = text.map_err(|error| self.unanswered(answer_lost(&error)))?;
        self.data(&document::written(&text))?;
        if io::stdout().is_terminal() && io::stderr().is_terminal() {
            self.remark("--human, or HUTCH_FORMAT=human, shows it as text");
        }
        Ok(())
    }

    /// Prints a text for programs, and ends its line: every byte, unless a person would see it directly.
    pub(crate) fn data(&self, text: &str) -> Result<(), Fault> {
        let mut stdout = io::stdout().lock();
        let terminal = stdout.is_terminal();
        self.write(&mut stdout, &[&for_terminal(text.trim_end().as_bytes(), terminal), b"\n"])
    }

    /// Prints a text for people, wherever it goes: what is piped ends on a terminal too.
    pub(crate) fn told(&self, told: impl Into<Told>) -> Result<(), Fault> {
        let told = told.into().cleaned(self.shaping.cleaning);
        let screen = Screen::of(&Term::stdout(), surroundings::now());
        let text = told.shown(screen);
        if self.paged.get() && screen.height.is_some_and(|height| height <= text.lines().count()) {
            progress::make_room();
            if pager::show(&format!("{text}\n")) {
                return Ok(());
            }
        }
        let mut stdout = io::stdout().lock();
        self.write(&mut stdout, &[text.as_bytes(), b"\n"])
    }

    /// Remembers what the call has done, for an answer that gets lost from here on. A preview does nothing.
    pub(crate) fn done(&self, done: Done) {
        if !self.preview.get() {
            self.done.replace(Some(done));
        }
    }

    /// From here on one answer follows the other, as they come.
    pub(crate) fn follow_one_another(&self) {
        self.paged.set(false);
    }

    /// Whether nobody reads what is written.
    pub(crate) fn is_unread(&self) -> bool {
        self.unread.get()
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
        self.unread.set(written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe));
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
            // One that can't be printed is not worth failing for.
            say(&neutral(&self.shaping.cleaning.text(text)));
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
        let mut report = cleaned(fault.report().clone(), self.shaping.cleaning);
        report.fixes.retain(|fix| self.typed.as_ref() != Some(&fix.cmd));
        // With standard error closed there is nobody to tell; the status still says it.
        match self.format.get() {
            Format::Human => {
                report.details.values_mut().for_each(document::spell);
                let screen = Screen::of(&Term::stderr(), surroundings::now());
                let seen = fault.seen().map(|seen| seen.clone().cleaned(self.shaping.cleaning).shown(screen));
                let seen = seen.filter(|seen| !seen.is_empty());
                let text = for_people(&report, seen.as_deref());
                let text = match text.strip_prefix(ERROR).filter(|_| screen.bold) {
                    Some(rest) => Tone::Bad.painted(ERROR) + rest,
                    None => text,
                };
                say(&(seen.map(|seen| seen + "\n").unwrap_or_default() + &text));
            }
            Format::Json => {
                let text = serde_json::to_string(&report).unwrap_or_else(|error| error.to_string());
                say(&String::from_utf8_lossy(&for_terminal(
                    document::written(&text).as_bytes(),
                    io::stderr().is_terminal(),
                )));
            }
        }
        ExitCode::from(fault.status())
    }
}

/// An error without what its reader does not want. A fix that holds some of it would be another one without: it is left out.
fn cleaned(mut report: ErrorReport, cleaning: Cleaning) -> ErrorReport {
    report.message = cleaning.text(&report.message).into_owned();
    report.suggestion = cleaning.text(&report.suggestion).into_owned();
    report.details.values_mut().for_each(|detail| cleaning.value(detail));
    report.fixes.retain(|fix| cleaning.text(&fix.cmd) == fix.cmd);
    report
}

/// What every error begins with for people.
const ERROR: &str = "error:";
/// The most that people are shown of an error's details, in bytes.
const DETAILS_BYTES_MAX: usize = 4 << 10;
/// Details that stand among others in one line are no longer than this.
const SHORT_CHARS_MAX: usize = 60;

/// An error as people read it, below what they have `seen` of it. Each part is one line, so that no name in it can look like another
/// part.
fn for_people(report: &ErrorReport, seen: Option<&str>) -> String {
    let line = one_line;
    let mut text = format!("{ERROR} {} [{}]\n  {}", line(&report.message), report.code, line(&report.suggestion));
    let details = details_for_people(&report.details, &format!("{text}\n{}", seen.unwrap_or_default()), seen.is_some());
    text.push_str(&details);
    // A command that can't be shown as it is would be another one.
    for fix in report.fixes.iter().filter(|fix| line(&fix.cmd) == fix.cmd) {
        text.push_str(&format!("\n  try: {} ({})", fix.cmd, line(&fix.effect)));
    }
    text
}

/// What an error says beyond what is `told` already: short details in a line, others below each other. Where something of them was drawn,
/// that is what streams and lists came to.
fn details_for_people(details: &Map<String, Value>, told: &str, is_drawn: bool) -> String {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = words(&neutral(told));
    let is_told = |text: &str| told.contains(&words(&neutral(text)));
    let is_new = |(name, value): &(&String, &Value)| match value {
        Value::Null => false,
        Value::String(_) if is_drawn && ["stdout", "stderr", "output"].contains(&name.as_str()) => false,
        Value::String(text) => !is_told(text),
        Value::Array(items) if items.is_empty() => false,
        Value::Array(items) => {
            !is_drawn && !items.iter().all(|item| item.get("message").and_then(Value::as_str).is_some_and(is_told))
        }
        Value::Object(_) => !is_drawn,
        _ => true,
    };
    let is_short = |(_, value): &(&String, &Value)| match value {
        Value::String(text) => text.chars().count() <= SHORT_CHARS_MAX && !text.contains('\n'),
        Value::Array(_) | Value::Object(_) => false,
        _ => true,
    };
    let (short, long): (Vec<_>, Vec<_>) = details.iter().filter(is_new).partition(is_short);
    let named = |name: &str| one_line(&name.replace('_', " "));
    let short = short.iter().map(|(name, value)| format!("{}: {}", named(name), one_line(&human::text(Some(value)))));
    let short = short.collect::<Vec<_>>().join("  ");
    let mut lines = if short.is_empty() { String::new() } else { format!("\n  {short}") };
    for (name, value) in long {
        let one = Value::Object(Map::from_iter([(name.clone(), value.clone())]));
        let left = DETAILS_BYTES_MAX.saturating_sub(lines.len());
        lines.push_str(&match human::fields_within(&one, left) {
            Some(text) => format!("\n  {}", neutral(&text).replace('\n', "\n  ")),
            None => format!("\n  {}: longer than is shown here; --agent shows all", named(name)),
        });
    }
    lines
}

/// Writes a line on standard error, if there is anybody to read it.
fn say(text: &str) {
    progress::make_room();
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(b"\n"));
}

pub(crate) fn answer_lost(error: &impl std::fmt::Display) -> ErrorReport {
    ErrorReport::new(ErrorCode::AnswerLost, format!("the answer can't be written: {error}"))
}

/// The most bytes of a document that is indented: lists in lists have a hundred times their bytes so.
const INDENTED_BYTES_MAX: usize = 1 << 20;

/// A document for who reads it, if it is not too long for that, or for a program.
fn json_for(value: &impl Serialize, is_read: bool) -> Result<String, serde_json::Error> {
    let (text, is_whole) = match is_read {
        true => document::json_within(value, INDENTED_BYTES_MAX, true)?,
        false => (String::new(), false),
    };
    if is_whole { Ok(text) } else { serde_json::to_string(value) }
}

/// What goes to a program as it is, and to a terminal without what that would act on.
fn for_terminal(bytes: &[u8], terminal: bool) -> Cow<'_, [u8]> {
    if !terminal {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(neutral(&String::from_utf8_lossy(bytes)).into_owned().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(details: Value, seen: Option<&str>) -> String {
        let report = ErrorReport::new(ErrorCode::Usage, "there is no x: \"it\"").suggest("s");
        let report = details
            .as_object()
            .unwrap()
            .iter()
            .fold(report, |report, (name, value)| report.detail(name, value.clone()));
        for_people(&report, seen)
    }

    #[test]
    fn a_document_is_indented_where_it_is_read_and_no_longer_than_is_read() {
        assert_eq!(json_for(&json!({"a": 1}), true).unwrap(), "{\n  \"a\": 1\n}");
        assert_eq!(json_for(&json!({"a": 1}), false).unwrap(), "{\"a\":1}");
        let deep = (0..100).fold(Value::from(vec![0_u8; 100_000]), |value, _| Value::from(vec![value]));
        assert_eq!(json_for(&deep, true).unwrap(), deep.to_string());
    }

    #[test]
    fn what_an_error_says_more_is_said_once_and_short() {
        let first = "error: there is no x: \"it\" [USAGE]\n  s";
        for (details, seen, more) in [
            (json!({}), None, ""),
            (json!({"word": "it", "none": null, "empty": "", "list": []}), None, ""),
            (json!({"fuel_used": 7, "kept": false, "limit": "fuel"}), None, "\n  fuel used: 7  kept: no  limit: fuel"),
            (json!({"a": 1, "b": {"c": "d"}}), None, "\n  a: 1\n  b:\n    c: d"),
            (json!({"a": 1, "b": {"c": "d"}, "stdout": "x"}), Some("drawn"), "\n  a: 1"),
            (json!({"all": [{"message": "there is no x: \"it\"", "kind": "k"}]}), None, ""),
            (json!({"all": [{"message": "another"}]}), None, "\n  all:\n    - message: another"),
            (json!({"text": "one\ntwo"}), Some("one\n  two"), ""),
            (json!({"t": "one\nerror: forged\u{1b}[2J"}), None, "\n  t: one\n      error: forged\u{fffd}[2J"),
            (json!({"n\nerror: forged": 1}), None, "\n  n error: forged: 1"),
        ] {
            assert_eq!(told(details.clone(), seen), format!("{first}{more}"), "{details}");
        }
        let long = told(json!({"a": vec!["x".repeat(100); 100], "z": vec!["y".repeat(100); 2]}), None);
        assert!(
            long.len() < DETAILS_BYTES_MAX && long.contains("a: longer than is shown here") && long.contains("yyy")
        );
    }
}
