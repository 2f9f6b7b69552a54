//! A line that asks for a call, and the line that answers it. Calls are made by some threads at once.

use crate::answers::MapLine;
use crate::machine::input::Line;
use crate::refusal::fault::Fault;
use hutch::{Call, Job, Mapped};
use hutch_documents::run::Room;
use hutch_model::digest::Digest;
use hutch_model::document::{self, DocumentSize};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::outcome::Verdict;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// The most bytes of a line that asks.
pub(crate) const LINE_BYTES_MAX: usize = 16 << 20;
/// The most memory that one takes as values.
const VALUE_BYTES_MAX: u64 = 64 << 20;
/// More than a line that answers has: what a guest printed, of at most 16 MiB, takes six times as much where all of it is escaped.
pub(crate) const ANSWER_BYTES_MAX: u64 = 256 << 20;

/// A line, read.
pub(crate) struct Asked {
    /// What the caller calls it.
    pub(crate) id: Value,
    /// The call; or why the line is none.
    pub(crate) call: Result<Box<Call>, ErrorReport>,
}

/// As the caller writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    id: Id,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    stdin: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Id {
    Text(String),
    Number(i64),
}

/// The call that a line asks for, which has the rest in common with all others. Its seed follows from its id.
pub(crate) fn asked(line: Line, common: &Call) -> Asked {
    let no_call = |message: String| Asked {
        id: Value::Null,
        call: Err(ErrorReport::new(ErrorCode::Usage, message)
            .suggest("write it as {\"id\":\"1\",\"arguments\":[\"list\"]}; stdin may stand beside them")),
    };
    let bytes = match line {
        Line::Whole(bytes) => bytes,
        Line::TooLong => return no_call(format!("a line has at most {LINE_BYTES_MAX} bytes")),
    };
    let takes = DocumentSize::of(&bytes).map(|size| size.memory_bytes);
    let written: Written = match takes.map(|takes| (takes <= VALUE_BYTES_MAX).then(|| serde_json::from_slice(&bytes))) {
        Ok(Some(Ok(written))) => written,
        Ok(None) => {
            return no_call(format!("the line takes more than {VALUE_BYTES_MAX} bytes of memory when it is read"));
        }
        Ok(Some(Err(error))) | Err(error) => return no_call(format!("the line is no call: {error}")),
    };
    let id = match written.id {
        Id::Text(text) => Value::from(text),
        Id::Number(number) => Value::from(number),
    };
    let mut call = common.clone();
    call.seed = common.seed.of_call(id.to_string().as_bytes());
    call.arguments.extend(written.arguments);
    call.stdin = written.stdin.into_bytes();
    Asked { id, call: Ok(Box::new(call)) }
}

/// A line that answers, and why it does not answer well, if so.
pub(crate) type Answered = (Value, Option<ErrorReport>);

/// Makes the call of a line. That it is refused or fails is an answer too.
///
/// # Errors
/// The host or the store failed: no other call would fare better.
pub(crate) fn answered(job: &Job<'_>, asked: Asked) -> Result<Answered, Fault> {
    let Asked { id, call } = asked;
    let refused = |report: ErrorReport, key: Option<Digest>| {
        let line = json!({"id": id, "key": key, "status": report.code.exit_status(), "error": report});
        Ok((line, Some(report)))
    };
    let call = match call {
        Ok(call) => call,
        Err(report) => return refused(report, None),
    };
    let mapped = match job.run(&call) {
        Ok(mapped) => mapped,
        Err(failure) if failure.is_refusal() => return refused(failure.report(), None),
        Err(failure) => return Err(failure.into()),
    };
    told(&id, &mapped).or_else(|report| refused(report, Some(mapped.key)))
}

/// A line as it is written.
pub(crate) fn written(line: &Value) -> String {
    document::written(&line.to_string()).into_owned() + "\n"
}

/// What a call came to, as a line.
fn told(id: &Value, mapped: &Mapped) -> Result<Answered, ErrorReport> {
    let outcome = &mapped.outcome;
    let lost = |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the line would be too large: {reason}"));
    let document = Room::default().output(outcome).map_err(lost)?;
    let status = mapped.verdict.exit_status();
    let (error, failed) = match &mapped.verdict {
        Verdict::Good => (None, None),
        Verdict::Bad { code, message } => {
            let report = ErrorReport::new(*code, message.clone());
            (Some(json!(report)), Some(report))
        }
        _ => (None, Some(ErrorReport::new(ErrorCode::GuestFailed, format!("the guest ended with status {status}")))),
    };
    let text = |bytes: &[u8]| (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned());
    let line = MapLine {
        id: id.clone(),
        key: Some(mapped.key),
        status,
        fuel: Some(outcome.fuel),
        stdout: if document.is_some() { None } else { text(&outcome.stdout) },
        output: document,
        stderr: text(&outcome.stderr),
        error,
        after: mapped.after.clone(),
        unreproducible: outcome.unreproducible.clone(),
    };
    Ok((json!(line), failed))
}

/// Answers lines on so many threads, and hands on what they come to: in the order of the lines, or as it comes. As many lines are
/// on their way at once as keeps the threads busy, and no more. Ends early when `each` says so (`false`) or fails.
pub(crate) fn answers<T: Send, A: Send>(
    lines: impl Iterator<Item = Result<T, Fault>> + Send,
    threads: usize,
    ordered: bool,
    answer: &(impl Fn(T) -> Result<A, Fault> + Sync),
    mut each: impl FnMut(A) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    type Ending<A> = Result<A, Fault>;
    // Lines on their way to a thread, each with where its answer goes; and where answers come from, in the order of the lines. Where the order
    // does not matter, all answers come from one place.
    let (to_threads, lines_left) = sync_channel::<(T, SyncSender<Ending<A>>)>(threads);
    let lines_left = Mutex::new(lines_left);
    let (to_order, order) = sync_channel::<Receiver<Ending<A>>>(if ordered { threads * 4 } else { 1 });
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = lines_left.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((line, to)) = next else { break };
                    // Nobody may want it any more.
                    let _ = to.send(answer(line));
                }
            });
        }
        scope.spawn(move || {
            let (to_all, all) = sync_channel(threads * 4);
            if !ordered && to_order.send(all).is_err() {
                return;
            }
            for line in lines {
                let to = match ordered {
                    true => {
                        let (to, from) = sync_channel(1);
                        if to_order.send(from).is_err() {
                            return;
                        }
                        to
                    }
                    false => to_all.clone(),
                };
                let sent = match line {
                    Ok(line) => to_threads.send((line, to)).is_ok(),
                    Err(fault) => to.send(Err(fault)).is_ok(),
                };
                if !sent {
                    return;
                }
            }
        });
        for from in order {
            for ending in from {
                if !each(ending?)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    })
}
