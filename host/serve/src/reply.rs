//! What comes of something that was asked for, as data. Knows no protocol.

use crate::question::Question;
use hutch::{Answer, SHOWN_BYTES_MAX, Shown};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::ledger::Pin;
use hutch_model::outcome::Verdict;
use serde_json::{Map, Value, json};

/// The most memory that a guest's document may take here.
const DOCUMENT_MEMORY_MAX: u64 = 64 << 20;

/// What is answered.
#[derive(Debug)]
pub(crate) enum Reply {
    /// A document, and what is known of the call.
    Done { document: Value, facts: Facts },
    /// It came to nothing, or was refused.
    Failed { report: Box<ErrorReport>, facts: Facts },
    /// A person is to be asked first.
    Ask(Question),
}

/// What is known of a call besides its answer: the ledger's entry, what it took, the state that it left.
pub(crate) type Facts = Map<String, Value>;

impl Reply {
    pub(crate) fn done(document: Value) -> Reply {
        Reply::Done { document, facts: Facts::new() }
    }

    pub(crate) fn failed(report: ErrorReport) -> Reply {
        Reply::Failed { report: Box::new(report), facts: Facts::new() }
    }

    /// Of a call that is not carried out any more.
    pub(crate) fn cancelled() -> Reply {
        Reply::failed(cancelled())
    }

    /// Of a call whose thread broke down.
    pub(crate) fn lost() -> Reply {
        Reply::failed(lost())
    }

    /// What a guest answered.
    pub(crate) fn of(answer: &Answer) -> Reply {
        Reply::made(answer, |document| document)
    }

    /// The same, in a document of the host's.
    pub(crate) fn made(answer: &Answer, make: impl FnOnce(Value) -> Value) -> Reply {
        let facts = facts(answer);
        if let Some(report) = failure(answer) {
            return Reply::Failed { report: Box::new(report), facts };
        }
        match document(&answer.outcome.stdout) {
            Ok(document) => Reply::Done { document: make(document), facts },
            Err(reason) => {
                let report = ErrorReport::new(ErrorCode::AnswerLost, reason).detail("kept", answer.kept);
                Reply::Failed { report: Box::new(report), facts }
            }
        }
    }
}

/// A call is not carried out any more.
pub(crate) fn cancelled() -> ErrorReport {
    ErrorReport::new(ErrorCode::Cancelled, "the call was cancelled before it began").detail("kept", false)
}

/// The thread of a call broke down: nobody knows here how far it came.
pub(crate) fn lost() -> ErrorReport {
    let report = ErrorReport::new(ErrorCode::AnswerLost, "the host broke down while it carried out the call");
    report.suggest("look in the ledger whether the call was kept before it is made again")
}

/// What is known of a call.
pub(crate) fn facts(answer: &Answer) -> Facts {
    let states = answer.volumes.iter();
    let states: Map<String, Value> =
        states.map(|(name, one)| (name.clone(), json!({"before": one.before, "after": one.after}))).collect();
    let mut facts = entry_facts(&answer.entry);
    facts.insert("hutch/fuel".to_owned(), answer.outcome.fuel.into());
    facts.insert("hutch/kept".to_owned(), answer.kept.into());
    facts.insert("hutch/state".to_owned(), states.into());
    facts
}

/// The ledger's entry, and nothing else.
pub(crate) fn entry_facts(entry: &Pin) -> Facts {
    Facts::from_iter([("hutch/entry".to_owned(), json!({"sequence": entry.sequence, "hash": entry.hash}))])
}

/// Why a run is no success, with what the guest says of it.
pub(crate) fn failure(answer: &Answer) -> Option<ErrorReport> {
    let mut report = answer.failure()?;
    let outcome = &answer.outcome;
    if matches!(answer.verdict, Verdict::Failed { .. }) {
        let streams = [&outcome.stdout, &outcome.stderr];
        let said = streams.into_iter().filter(|bytes| !bytes.trim_ascii().is_empty()).map(|bytes| said(bytes));
        report.details.insert("said".to_owned(), said.collect::<Vec<_>>().into());
        let mut lengths = Shown::streams(&outcome.stdout, &outcome.stderr, SHOWN_BYTES_MAX);
        lengths.retain(|name, _| name.ends_with("_bytes"));
        report.details.extend(lengths);
        report.suggestion = "mend what the application says in details.said, then make the call again".to_owned();
    }
    Some(report.detail("kept", answer.kept))
}

/// A stream of a guest that failed: its document, if it is one, or as much of its text as is shown.
fn said(bytes: &[u8]) -> Value {
    let short = bytes.len() <= SHOWN_BYTES_MAX;
    let document = short.then(|| document(bytes).ok()).flatten();
    document.unwrap_or_else(|| Shown::of(bytes, SHOWN_BYTES_MAX).text.into())
}

/// The one document that a guest printed.
fn document(bytes: &[u8]) -> Result<Value, String> {
    hutch_model::document::read_to_hand_on_within(bytes, DOCUMENT_MEMORY_MAX)
        .map_err(|unread| format!("the answer can't be shown: {unread}"))
}
