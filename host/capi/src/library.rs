//! One library: a host, and what it answers.

use crate::deadline::Calls;
use crate::options::{Opened, Options};
use crate::request::Request;
use hutch_model::document::written;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// A host that answers requests. It may be shared by threads; each request is answered by the thread that makes it.
pub struct Library {
    pub(crate) opened: Arc<Opened>,
    pub(crate) calls: Calls,
}

/// What comes of a request.
#[derive(Debug, Default)]
pub struct Answer {
    /// The exit status that the command line would end with.
    pub status: u8,
    /// One document: `{"ok", "command", "result", …}`, or the host's error object.
    pub json: Vec<u8>,
    /// What the guest wrote to standard output, if one ran.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
}

impl Answer {
    /// A document.
    pub(crate) fn of(status: u8, document: &Value) -> Answer {
        Answer { status, json: written(&document.to_string()).into_owned().into_bytes(), ..Answer::default() }
    }
}

impl From<ErrorReport> for Answer {
    fn from(report: ErrorReport) -> Answer {
        Answer::of(report.code.exit_status(), &serde_json::to_value(&report).unwrap_or_default())
    }
}

/// Does what may break down; a defect that one call shows ends no program.
pub(crate) fn whole<T>(what: impl FnOnce() -> Result<T, ErrorReport>) -> Result<T, ErrorReport> {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|_| {
        let report = ErrorReport::new(ErrorCode::AnswerLost, "the host broke down while it carried out the call");
        Err(report.suggest("look in the ledger whether the call was kept before it is made again"))
    })
}

impl Library {
    /// Opens a library, as options say that are JSON or nothing.
    ///
    /// # Errors
    /// The options are not of the form that `hutch.h` states, or the system gives no randomness.
    pub fn open(options: &[u8]) -> Result<Library, Answer> {
        let opened = whole(|| {
            #[cfg(test)]
            crate::breaking::here("opening");
            Options::read(options)?.open()
        });
        let opened = opened.map_err(Answer::from)?;
        Ok(Library { opened: Arc::new(opened), calls: Calls::default() })
    }

    /// Answers a request. `stdin` is the guest's standard input, where the request has no text for it.
    pub fn call(&self, request: &[u8], stdin: &[u8]) -> Answer {
        let answer = whole(|| self.carry_out(Request::read(request)?, stdin)).unwrap_or_else(Answer::from);
        #[cfg(test)]
        crate::breaking::here("answering");
        answer
    }

    /// Cancels all calls that have this `id`; says how many were under way.
    pub fn cancel(&self, id: &str) -> usize {
        #[cfg(test)]
        crate::breaking::here("cancelling");
        self.calls.cancel(id)
    }
}

#[cfg(test)]
impl Drop for Library {
    fn drop(&mut self) {
        crate::breaking::here("closing");
    }
}
