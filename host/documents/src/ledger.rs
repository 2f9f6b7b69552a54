//! The ledger: pages of it, and entries.

use crate::Open;
use crate::page::{Listed, Page};
use crate::run::Room;
use hutch::{EntryName, Failure, Session};
use hutch_model::digest::Digest;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{Entry, EntryKind, Record, Sealed, StreamRecord};
use hutch_model::outcome::Ending;
use hutch_store::Head;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// An entry in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    sequence: u64,
    #[schemars(with = "String")]
    hash: Digest,
    #[schemars(with = "String")]
    at: Instant,
    #[schemars(with = "String")]
    kind: EntryKind,
    /// What the program calls itself that asked, or the name of its token; none where a line was typed.
    caller: Option<String>,
    #[schemars(with = "Option<String>")]
    follows: Option<Digest>,
    argv: Option<Vec<String>>,
    #[schemars(with = "Option<Open>")]
    ending: Option<Ending>,
    #[schemars(with = "Option<String>")]
    error: Option<ErrorCode>,
    kept: bool,
    /// Whether an instance file brought it: nobody here did that
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    from_elsewhere: bool,
    changes: u64,
}

/// An entry with the bytes that its hash is of.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Stored {
    sequence: u64,
    #[schemars(with = "String")]
    hash: Digest,
    bytes: String,
}

/// One page of the ledger.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Entries {
    /// What each is about.
    Told(Listed<Summary>),
    /// As they are stored.
    Stored(Listed<Stored>),
}

/// An entry with its input and output.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EntryAnswer {
    sequence: u64,
    #[schemars(with = "String")]
    hash: Digest,
    head: String,
    #[schemars(with = "String")]
    previous: Digest,
    /// Whether an instance file brought it: nobody here did that
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    from_elsewhere: bool,
    #[schemars(with = "Open")]
    record: Record,
    #[schemars(with = "Value")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    output_omitted: Option<String>,
    stdout: Option<String>,
    stderr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Bisected")]
    bisect: Option<Bisected>,
    /// What `check --tests` reads from a file
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    test: Option<Value>,
}

/// How an entry was found by what a call answers after it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Bisected {
    /// The entry before it, after which it does not hold
    pub before: u64,
    /// By halving between these: where it holds and then does not again, another entry may be the first
    pub from: u64,
    /// The last one that was looked at
    pub to: u64,
    /// How many runs that took
    pub runs: usize,
    /// What each came to, in their order
    pub tried: Vec<Tried>,
    /// The clock of each
    #[schemars(with = "String")]
    pub now: Instant,
    /// The seed of each
    #[schemars(with = "String")]
    pub seed: Seed,
}

/// What the call came to after an entry.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Tried {
    /// The entry's place
    pub sequence: u64,
    /// Whether the answer is as was asked for
    pub holds: bool,
    /// How the call ended
    pub exit_status: u8,
}

/// One page of the ledger, the last entries first: [`Summary`] of each.
pub fn list_value(session: &Session, page: &Page) -> Result<Value, Failure> {
    let head = session.head()?;
    let total = head.last.sequence;
    let end = total.saturating_sub(u64::from(page.offset));
    let first = end.saturating_sub(u64::from(page.limit)) + 1;
    let mut rows = Vec::new();
    for sealed in session.entries(first) {
        let sealed = sealed?;
        if sealed.sequence > end {
            break;
        }
        rows.push(Summary::of(&head, sealed.hash, sealed.open().map_err(Failure::Entry)?));
    }
    rows.reverse();
    Ok(page.part(rows, total))
}

/// One page of the entries that changed the state, the last first: [`Summary`] of each.
///
/// # Errors
/// The store can't be read.
pub fn changes_value(session: &Session, page: &Page) -> Result<Value, Failure> {
    let (head, mut rows) = (session.head()?, Vec::new());
    for sealed in session.entries(1) {
        let sealed = sealed?;
        if sealed.sequence > head.last.sequence {
            break;
        }
        let entry = sealed.open().map_err(Failure::Entry)?;
        if entry.record.changes_state() {
            rows.push(Summary::of(&head, sealed.hash, entry));
        }
    }
    rows.reverse();
    Ok(page.of(rows))
}

/// The last entries that changed the state, the last first: [`Summary`] of each. No more of the ledger is read than leads to them.
///
/// # Errors
/// The store can't be read.
pub fn last_changes_value(session: &Session, page: &Page) -> Result<Value, Failure> {
    let head = session.head()?;
    let (mut at, mut passed, mut items) = (head.last.sequence, 0, Vec::new());
    while let Some(changed) = session.store().last_change(at)?.filter(|_| items.len() < page.limit as usize) {
        if passed >= page.offset {
            let sealed = session.entry(&EntryName::Sequence(changed))?;
            items.push(Summary::of(&head, sealed.hash, sealed.open().map_err(Failure::Entry)?));
        }
        at = changed.saturating_sub(1);
        passed = passed.saturating_add(1);
    }
    Ok(json!({"items": items, "has_more": session.store().last_change(at)?.is_some()}))
}

/// Items of the list: at most so many behind a place, the first first.
pub fn since(session: &Session, after: u64, limit: u32) -> Result<Vec<Value>, Failure> {
    let (head, mut items) = (session.head()?, Vec::new());
    for sealed in session.entries(after.saturating_add(1)).take(limit as usize) {
        let sealed = sealed?;
        if sealed.sequence > head.last.sequence {
            break;
        }
        items.push(json!(Summary::of(&head, sealed.hash, sealed.open().map_err(Failure::Entry)?)));
    }
    Ok(items)
}

/// One page of the ledger, the first entries first, each with the bytes that its hash is of.
///
/// # Errors
/// The store can't be read.
pub fn stored_value(session: &Session, page: &Page) -> Result<Value, Failure> {
    let mut items = Vec::new();
    for sealed in session.entries(u64::from(page.offset) + 1).take(page.limit as usize) {
        let sealed = sealed?;
        let bytes = String::from_utf8_lossy(&sealed.bytes).into_owned();
        items.push(Stored { sequence: sealed.sequence, hash: sealed.hash, bytes });
    }
    Ok(page.part(items, session.head()?.last.sequence))
}

impl Summary {
    fn of(head: &Head, hash: Digest, entry: Entry) -> Summary {
        let record = entry.record;
        Summary {
            sequence: entry.sequence,
            hash,
            changes: record.changes().map(|(_, listed, omitted)| listed.len() as u64 + omitted).sum(),
            at: record.at,
            kind: record.kind,
            caller: record.caller.map(|caller| caller.name),
            follows: record.follows,
            argv: record.invocation.map(|invocation| invocation.argv),
            ending: record.outcome.map(|outcome| outcome.ending),
            error: record.error,
            kept: record.kept,
            from_elsewhere: !head.is_own(entry.sequence),
        }
    }
}

/// An entry with its input and output: an [`EntryAnswer`].
pub fn entry_value(session: &Session, sealed: &Sealed) -> Result<Value, Failure> {
    Ok(json!(entry_answer(session, sealed)?))
}

/// The same of an entry that was found by runs.
///
/// # Errors
/// As there.
pub fn found_value(session: &Session, sealed: &Sealed, bisected: Bisected) -> Result<Value, Failure> {
    Ok(json!(EntryAnswer { bisect: Some(bisected), ..entry_answer(session, sealed)? }))
}

/// The same with the test that the entry makes.
///
/// # Errors
/// As there.
pub fn tested_value(session: &Session, sealed: &Sealed, test: Value) -> Result<Value, Failure> {
    Ok(json!(EntryAnswer { test: Some(test), ..entry_answer(session, sealed)? }))
}

fn entry_answer(session: &Session, sealed: &Sealed) -> Result<EntryAnswer, Failure> {
    let entry = sealed.open().map_err(Failure::Entry)?;
    let outcome = entry.record.outcome.as_ref();
    let stream = |record: Option<StreamRecord>| -> Result<Option<Vec<u8>>, Failure> {
        match record {
            None => Ok(None),
            Some(record) if record.size == 0 => Ok(Some(Vec::new())),
            Some(record) => Ok(session.store().stream(&record.digest)?.map(|bytes| bytes.to_vec())),
        }
    };
    let text = |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let stdout = stream(outcome.map(|outcome| outcome.stdout))?;
    let stderr = stream(outcome.map(|outcome| outcome.stderr))?;
    let document = stdout.as_ref().map_or(Ok(None), |bytes| Room::default().document(bytes));
    let (output, output_omitted) = match document {
        Ok(output) => (output, None),
        Err(reason) => (None, Some(reason)),
    };
    let (stdout, stderr) = (text(&stdout), text(&stderr));
    Ok(EntryAnswer {
        sequence: entry.sequence,
        hash: sealed.hash,
        head: sealed.pin().to_string(),
        previous: entry.previous,
        from_elsewhere: !session.head()?.is_own(entry.sequence),
        record: entry.record,
        output,
        output_omitted,
        stdout,
        stderr,
        bisect: None,
        test: None,
    })
}
