//! The one form of an answer: `ok`, `command`, `result`, `rules`, `skills`, `issue` (rules R1 to R3). Every command but a plain `run`
//! answers through [`Output::answer`] or [`Output::list`]; what a caller selects is selected here, for all of them alike.

use crate::answer::output::{Format, Output, answer_lost};
use crate::flags::selection::{self, Page};
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::screen::told::Told;
use hutch_documents::envelope;
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

impl Output {
    /// Answers with what a command found or did, which ends well with that. `human` says the same to people.
    pub(crate) fn answer<T: Into<Told>>(
        &self,
        command: &str,
        result: impl Serialize,
        human: impl FnOnce(&Value) -> T,
    ) -> Result<ExitCode, Fault> {
        self.answer_as(true, command, result, human).map(|()| ExitCode::SUCCESS)
    }

    /// As [`Output::answer`], also for an answer about something that went wrong.
    pub(crate) fn answer_as<T: Into<Told>>(
        &self,
        ok: bool,
        command: &str,
        result: impl Serialize,
        human: impl FnOnce(&Value) -> T,
    ) -> Result<(), Fault> {
        let result = serde_json::to_value(result).map_err(|error| self.unanswered(answer_lost(&error)))?;
        self.answer_value(ok, command, result, human)
    }

    /// The same, of a document that is made already and can be large: it is not copied.
    pub(crate) fn answer_value<T: Into<Told>>(
        &self,
        ok: bool,
        command: &str,
        mut result: Value,
        human: impl FnOnce(&Value) -> T,
    ) -> Result<(), Fault> {
        self.shaping.cleaning.value(&mut result);
        self.keep(&mut result)?;
        if self.format.get() == Format::Human {
            document::spell(&mut result);
        }
        if let Some(path) = &self.shaping.query {
            return self.part(&result, path);
        }
        match self.format.get() {
            Format::Human => self.told(human(&result)),
            Format::Json => {
                let mut answer = envelope(ok, command, result);
                if self.preview.get() {
                    answer["dry_run"] = true.into();
                }
                self.json(&answer)
            }
        }
    }

    /// Answers with one page of a list: what [`hutch_documents::Page`] made. What is no list is the one item.
    pub(crate) fn list(
        &self,
        command: &str,
        mut result: Value,
        page: &Page,
        human: impl FnOnce(&[Value]) -> Told,
    ) -> Result<(), Fault> {
        if page.ndjson && self.shaping.query.is_some() {
            return Err(Fault::usage("--ndjson prints every item, so --query has nothing to choose from"));
        }
        if page.ndjson {
            self.shaping.cleaning.value(&mut result);
            self.keep(&mut result)?;
            return self.lines(items(&result));
        }
        self.answer_value(true, command, result, |result| {
            let items = items(result);
            let told = match result.get("note").and_then(Value::as_str) {
                Some(note) => Told::from(note),
                None => human(items),
            };
            match result.get("has_more") {
                Some(Value::Bool(true)) => {
                    told.and(format!("… more with --offset {}", page.offset as usize + items.len()))
                }
                _ => told,
            }
        })
    }

    /// Answers with data that has no envelope, or with what is selected from it.
    pub(crate) fn bare(&self, mut value: Value) -> Result<(), Fault> {
        self.keep(&mut value)?;
        match &self.shaping.query {
            Some(path) => self.part(&value, path),
            None => self.json(&value),
        }
    }

    /// Answers with what stands at a path of a result.
    fn part(&self, result: &Value, path: &selection::Path) -> Result<(), Fault> {
        let found = path.find(result).ok_or_else(|| {
            let keys = result.as_object().map(|fields| fields.keys().cloned().collect::<Vec<_>>().join(", "));
            let suggestion = format!("paths begin in the result, which has: {}", keys.unwrap_or_default());
            let report = ErrorReport::new(ErrorCode::NotFound, "the answer has nothing at that path");
            self.unanswered(report.suggest(suggestion))
        })?;
        match self.format.get() {
            Format::Human => self.told(human::text_or_json(&found)),
            Format::Json => self.json(&*found),
        }
    }

    /// Keeps the fields that are asked for.
    fn keep(&self, result: &mut Value) -> Result<(), Fault> {
        let kept = selection::keep(result, &self.shaping.fields);
        kept.map_err(|message| self.unanswered(ErrorReport::new(ErrorCode::Usage, message)))
    }

    /// Prints values, one a line.
    pub(crate) fn lines(&self, values: &[Value]) -> Result<(), Fault> {
        match values {
            [] => Ok(()),
            values => {
                self.data(&document::written(&values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")))
            }
        }
    }
}

/// The items of a list; what is no list is the one item.
fn items(result: &Value) -> &[Value] {
    result.get("items").and_then(Value::as_array).map_or(std::slice::from_ref(result), Vec::as_slice)
}
