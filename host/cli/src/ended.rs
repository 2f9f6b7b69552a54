//! How a run ended, as documents for programs and as words for people. Prints nothing.

use crate::bounds::{OUTPUT_MEMORY, STREAM_BYTES, spend};
use crate::commands::undo::{add_omitted, add_skipped};
use crate::guest;
use hutch::{Answer, DocumentSize, Host};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::outcome::{Ending, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The host's report about a run that is not good.
/// A person is told elsewhere what the guest said.
pub(crate) fn failure_of(answer: &Answer, person: bool) -> Option<ErrorReport> {
    let failed = || if person { unsaid(answer, true) } else { answer.own_failure() };
    answer.bad_end().or_else(failed)
}

/// The host's report about a guest that ended with a failure of its own, if whoever asked would not learn it from the guest: it said
/// nothing, or a person asked, who is told everything alike.
pub(crate) fn unsaid(answer: &Answer, person: bool) -> Option<ErrorReport> {
    let report = answer.own_failure().filter(|_| person || answer.is_silent())?;
    Some(report.suggest(match answer.is_silent() {
        true => "it gives no reason: hutch meta says what it expects, and hutch state ls what it found",
        false => "mend what the application says, then make the call again",
    }))
}

/// What a guest said before it ended badly, for people: its own message first.
pub(crate) fn said(answer: &Answer) -> String {
    let outcome = &answer.outcome;
    let own = guest::error(&outcome.stdout, &outcome.stderr);
    let streams = [("standard output", &outcome.stdout, false), ("standard error", &outcome.stderr, true)];
    // A stream that holds the message and nothing else has been shown by it.
    let told = |on_stderr| own.as_ref().is_some_and(|own| own.alone && own.on_stderr == on_stderr);
    let parts = streams.into_iter().filter(|(_, bytes, on_stderr)| !bytes.trim_ascii().is_empty() && !told(*on_stderr));
    let parts = parts.map(|(name, bytes, _)| {
        format!("the guest's {name}:\n  {}", Answer::shown(bytes).trim_end().replace('\n', "\n  "))
    });
    own.iter().map(guest::Said::for_people).chain(parts).collect::<Vec<_>>().join("\n")
}

/// The same as [`run_value`]; a preview has no entry.
pub(crate) fn kept_value(answer: &Answer, host: &Host) -> Result<Value, ErrorReport> {
    let mut value = run_value(answer, &mut Room::default())?;
    if !host.keeps() {
        value["entry"] = Value::Null;
    }
    Ok(value)
}

/// What the outputs in one answer have taken by now.
#[derive(Default)]
pub(crate) struct Room {
    stream_bytes: u64,
    memory_bytes: u64,
}

impl Room {
    /// The document that a guest printed, if it is one.
    ///
    /// # Errors
    /// It is too large for an answer.
    pub(crate) fn document(&mut self, stdout: &[u8]) -> Result<Option<Value>, String> {
        let Ok(size) = DocumentSize::of(stdout) else { return Ok(None) };
        spend(&mut self.memory_bytes, size.memory_bytes, &OUTPUT_MEMORY)?;
        Ok(serde_json::from_slice(stdout).ok())
    }

    /// The same, where all that the guest printed is in the answer.
    ///
    /// # Errors
    /// It is too large for that.
    pub(crate) fn output(&mut self, outcome: &Outcome) -> Result<Option<Value>, String> {
        spend(&mut self.stream_bytes, (outcome.stdout.len() + outcome.stderr.len()) as u64, &STREAM_BYTES)?;
        self.document(&outcome.stdout)
    }
}

/// One document about a run.
///
/// # Errors
/// What the guest printed is too large for an answer.
pub(crate) fn run_value(answer: &Answer, room: &mut Room) -> Result<Value, ErrorReport> {
    let outcome = &answer.outcome;
    let lost = |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer would be too large: {reason}"));
    let output = room.output(outcome).map_err(lost)?;
    let (ending, detail) = match &outcome.ending {
        Ending::Exited { .. } => ("exited", Value::Null),
        Ending::Trapped { trap } => ("trapped", trap.as_str().into()),
        Ending::Limited { limit } => ("limited", limit.name().into()),
    };
    let exit_status = match outcome.ending {
        Ending::Exited { status } => Some(status),
        _ => None,
    };
    let volumes: BTreeMap<_, _> = answer
        .volumes
        .iter()
        .map(|(name, volume)| {
            let (changes, omitted) = (&volume.changes.listed, volume.changes.omitted);
            let mut value = json!({ "before": volume.before, "after": volume.after, "changes": changes });
            add_omitted(&mut value, omitted);
            (name, value)
        })
        .collect();
    let mut value = json!({
        "ending": ending,
        "ending_detail": detail,
        "exit_status": exit_status,
        "output": output,
        "stdout": String::from_utf8_lossy(&outcome.stdout),
        "stderr": String::from_utf8_lossy(&outcome.stderr),
        "fuel": outcome.fuel,
        "fuel_exact": outcome.fuel_exact,
        "memory_peak_bytes": outcome.memory_peak_bytes,
        "refused": outcome.refused,
        "unreproducible": outcome.unreproducible,
        "profile": outcome.profile,
        "wall_time_us": answer.measured.wall_time_us,
        "load_time_us": answer.measured.load_time_us,
        "compiled": answer.measured.compiled,
        "kept": answer.kept,
        "volumes": volumes,
        "mounts": answer.mounted.iter().map(|(name, mount)| (name, &mount.changes.listed)).collect::<BTreeMap<_, _>>(),
        "entry": { "sequence": answer.entry.sequence, "hash": answer.entry.hash },
        "error": answer.bad_end(),
    });
    if !answer.withheld.is_empty() {
        value["withheld"] = json!(answer.withheld);
        value["withheld_omitted"] = answer.withheld_omitted.into();
    }
    add_skipped(&mut value, &answer.skipped);
    Ok(value)
}
