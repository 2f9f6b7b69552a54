//! What can be asked for of a package.

use hutch::EntryName;
use hutch::find::KnownCommand;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Something that the host is to do.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// Of which package, by its place among those that are served.
    pub(crate) package: usize,
    pub(crate) what: What,
}

impl Ask {
    /// Commands by what they do: of no package, so that it waits for none to be opened.
    pub(crate) fn find(text: String, among: Arc<[KnownCommand]>) -> Ask {
        Ask { package: usize::MAX, what: What::Find { text, among } }
    }
}

/// What is to be done.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// A call for real; one that asks for a confirmation becomes a plan and a question.
    Run(Words),
    /// A call of which only the record is kept.
    Plan(Words),
    /// What a plan said, for real. `confirmed` is set where a person has been asked, and nowhere else.
    Apply { plan: EntryName, confirmed: bool, answer: Form },
    /// Back to an earlier state.
    Undo(Back),
    /// An entry's run again, compared; the last one with a run if none is named.
    Verify(Option<EntryName>),
    /// Entries, the last first.
    History { before: Option<u64>, limit: u64 },
    /// Commands by what they do. Looking for them takes time, if no run.
    Find { text: String, among: Arc<[KnownCommand]> },
    /// Something that is answered as the program's command line answers it.
    Told(Tell),
}

/// What is answered with the documents of the command line.
#[derive(Clone, Debug)]
pub(crate) enum Tell {
    /// A call for real; one that asks for a confirmation becomes a plan and a question.
    Run(Words),
    /// A call of which nothing is kept, no entry either: nobody is asked to confirm it.
    Look(Words),
    /// A call of which only the record is kept.
    Plan(Words),
    /// What a plan said, for real. `confirmed` is set where the token is that of a person who may say so, and nowhere else.
    Apply { plan: EntryName, confirmed: bool },
    /// Back to an earlier state.
    Undo(Back),
    /// An entry's run again, compared; the last one with a run if none is named.
    Verify(Option<EntryName>),
    /// Entries, the last first.
    Ledger { limit: u32, offset: u32 },
    /// Entries that changed the state, the last first.
    Changes { limit: u32, offset: u32 },
    /// An entry, with its input and output.
    Entry(EntryName),
    /// What the state is.
    State,
    /// The entries before which going back takes something back.
    Standing,
    /// What a folder of the state holds that an entry left, or of the current one; all volumes if no path is named.
    Files { at: Option<EntryName>, path: Option<String>, limit: u32, offset: u32 },
    /// A file of such a state.
    File { at: Option<EntryName>, path: String },
    /// What waits for a person.
    Questions,
    /// Nobody is to be asked about this plan any more.
    Decline(String),
    /// The entries behind a place, the first first: all where that is one of another ledger, none where no place is named.
    Since { after: Option<Mark>, limit: u32 },
}

/// So many digits of a hash tell ledgers apart.
const MARK_DIGITS: usize = 16;

/// Up to where a ledger was told: the last entry's place, 0 if nothing was, and the first digits of its hash, by which the ledger is known.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Mark {
    pub(crate) sequence: u64,
    pub(crate) digits: String,
}

impl Mark {
    /// That of an entry, by its place and its hash.
    pub(crate) fn of(entry: &Value) -> Option<Mark> {
        let digits = entry["hash"].as_str()?.get(..MARK_DIGITS)?.to_owned();
        Some(Mark { sequence: entry["sequence"].as_u64()?, digits })
    }

    /// One that was written down as `PLACE:DIGITS`; what is written in another way is of no ledger.
    pub(crate) fn written(text: &str) -> Mark {
        let (place, digits) = text.split_once(':').unwrap_or_default();
        let is_whole = digits.len() == MARK_DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let sequence = place.parse::<u64>().ok().filter(|_| is_whole);
        sequence.map(|sequence| Mark { sequence, digits: digits.to_owned() }).unwrap_or_default()
    }
}

impl What {
    /// What it is, in a word; none for what the server asks of itself, and for what is of no package.
    pub(crate) const fn word(&self) -> Option<&'static str> {
        Some(match self {
            What::Run(_) | What::Told(Tell::Run(_) | Tell::Look(_)) => "run",
            What::Plan(_) | What::Told(Tell::Plan(_)) => "plan",
            What::Apply { .. } | What::Told(Tell::Apply { .. }) => "apply",
            What::Undo(_) | What::Told(Tell::Undo(_)) => "undo",
            What::Verify(_) | What::Told(Tell::Verify(_)) => "verify",
            What::History { .. } | What::Told(Tell::Ledger { .. } | Tell::Changes { .. }) => "history",
            What::Told(Tell::Entry(_)) => "entry",
            What::Told(Tell::State) => "state",
            What::Told(Tell::Files { .. } | Tell::File { .. }) => "files",
            What::Told(Tell::Decline(_)) => "decline",
            What::Find { .. } | What::Told(Tell::Questions | Tell::Standing | Tell::Since { .. }) => return None,
        })
    }

    /// The words of the call that it is, if it is one.
    pub(crate) const fn words(&self) -> Option<&Words> {
        match self {
            What::Run(words)
            | What::Plan(words)
            | What::Told(Tell::Run(words) | Tell::Look(words) | Tell::Plan(words)) => Some(words),
            _ => None,
        }
    }

    /// Whether the ledger may have one entry more by it.
    pub(crate) const fn is_recorded(&self) -> bool {
        !matches!(
            self,
            What::Verify(_)
                | What::History { .. }
                | What::Find { .. }
                | What::Told(
                    Tell::Look(_)
                        | Tell::Verify(_)
                        | Tell::Ledger { .. }
                        | Tell::Changes { .. }
                        | Tell::Entry(_)
                        | Tell::State
                        | Tell::Standing
                        | Tell::Files { .. }
                        | Tell::File { .. }
                        | Tell::Questions
                        | Tell::Decline(_)
                        | Tell::Since { .. }
                )
        )
    }
}

/// The form of the answer to what is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize)]
pub(crate) enum Form {
    /// What the command answers.
    Bare,
    /// That, in a document about the call.
    Told,
}

/// A call's arguments, and what stands on its standard input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    pub(crate) arguments: Vec<String>,
    pub(crate) stdin: Vec<u8>,
    /// The guest's clock at the start; the host's if absent.
    pub(crate) now: Option<Instant>,
    /// The guest's seed; a random one if absent.
    pub(crate) seed: Option<Seed>,
}

/// How far back.
#[derive(Clone, Debug)]
pub(crate) enum Back {
    /// Before the last so many changes.
    Count(u64),
    /// Forward again over so many changes that were taken back.
    Forward(u64),
    /// Before this entry.
    Entry(EntryName),
}

impl Back {
    /// What is asked for by its parts.
    pub(crate) fn of(entry: Option<EntryName>, count: Option<u64>, redo: bool) -> Result<Back, String> {
        match (entry, count.unwrap_or(1)) {
            (Some(_), _) if count.is_some() || redo => {
                Err("count and redo contradict entry: give entry alone".to_owned())
            }
            (Some(name), _) => Ok(Back::Entry(name)),
            (None, count @ 1..=9999) if redo => Ok(Back::Forward(count)),
            (None, count @ 1..=9999) => Ok(Back::Count(count)),
            (None, count) => Err(format!("count: expected a number from 1 to 9999, found {count}")),
        }
    }
}

/// A command of a package, named by the fields of a tool that can call any.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Called {
    pub(crate) package: Option<String>,
    pub(crate) command: String,
    #[serde(default)]
    pub(crate) arguments: Map<String, Value>,
    #[serde(default)]
    pub(crate) stdin: String,
}

/// The fields of the tools that are about what was done.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct About {
    pub(crate) package: Option<String>,
    pub(crate) plan: Option<String>,
    pub(crate) entry: Option<String>,
    pub(crate) count: Option<u64>,
    pub(crate) redo: bool,
    pub(crate) before: Option<u64>,
    pub(crate) limit: Option<u64>,
    pub(crate) text: Option<String>,
    pub(crate) command: Option<String>,
}

/// The fields of a tool's call.
pub(crate) fn fields<T: DeserializeOwned>(given: &Map<String, Value>) -> Result<T, ErrorReport> {
    serde_json::from_value(Value::Object(given.clone())).map_err(|error| invalid(error.to_string()))
}

/// The name of an entry.
pub(crate) fn entry(text: &str) -> Result<EntryName, ErrorReport> {
    text.parse().map_err(|error| invalid(format!("{text:?} names no entry: {error}")))
}

/// A call that is not of the form which its tool's schema says.
pub(crate) fn invalid(message: impl Into<String>) -> ErrorReport {
    let suggestion = "correct the fields as the tool's input schema says";
    ErrorReport::new(ErrorCode::ArgumentInvalid, message).suggest(suggestion)
}
