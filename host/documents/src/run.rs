//! A run and a plan.

use crate::bounds::{OUTPUT_MEMORY, STREAM_BYTES, spend};
use crate::diff::{FileDiff, lost};
use crate::memo::remembered_value;
use crate::moved::{Aside, Pinned};
use crate::{Open, is_zero};
use hutch::{Answer, DocumentSize, Host, Risk, RiskLevel};
use hutch_model::digest::Digest;
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_model::outcome::{Outcome, Unreproducible};
use hutch_model::snapshot::PathChange;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunAnswer<'a> {
    #[schemars(extend("enum" = ["exited", "trapped", "limited"]))]
    ending: &'static str,
    ending_detail: Option<&'a str>,
    exit_status: Option<u8>,
    #[schemars(with = "Value")]
    output: Option<Value>,
    stdout: Cow<'a, str>,
    stderr: Cow<'a, str>,
    fuel: u64,
    fuel_exact: bool,
    memory_peak_bytes: u64,
    #[schemars(with = "Vec<String>")]
    refused: &'a [Limit],
    #[schemars(with = "Vec<String>")]
    unreproducible: &'a [Unreproducible],
    profile: &'a str,
    wall_time_us: u64,
    load_time_us: u64,
    compiled: bool,
    kept: bool,
    #[schemars(with = "Open")]
    volumes: BTreeMap<&'a str, VolumeChanged<'a>>,
    #[schemars(with = "Open")]
    mounts: BTreeMap<&'a str, &'a [PathChange]>,
    entry: Option<Pinned>,
    #[schemars(with = "Option<Open>")]
    error: Option<ErrorReport>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    withheld: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    withheld_omitted: Option<u64>,
    #[serde(flatten)]
    aside: Aside,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Open")]
    memo: Option<Value>,
}

/// What a run changed in a volume.
#[derive(Debug, Serialize)]
struct VolumeChanged<'a> {
    before: Digest,
    after: Digest,
    changes: &'a [PathChange],
    #[serde(skip_serializing_if = "is_zero")]
    changes_omitted: u64,
}

/// A plan: what a run came to, of which nothing is kept yet.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlanAnswer<'a> {
    #[serde(flatten)]
    run: RunAnswer<'a>,
    plan_id: Option<String>,
    confirmation: Option<&'a str>,
    risk: RiskAnswer,
    diff: &'a [FileDiff],
}

/// How much there is to lose, and why.
#[derive(Debug, Serialize, JsonSchema)]
struct RiskAnswer {
    #[schemars(with = "String", extend("enum" = ["none", "low", "high"]))]
    level: RiskLevel,
    reasons: Vec<String>,
}

/// What the outputs in one answer have taken by now.
#[derive(Default)]
pub struct Room {
    stream_bytes: u64,
    memory_bytes: u64,
}

impl Room {
    /// The document that a guest printed, if it is one, to be handed on.
    ///
    /// # Errors
    /// It is too large for an answer.
    pub fn document(&mut self, stdout: &[u8]) -> Result<Option<Value>, String> {
        let Ok(size) = DocumentSize::of(stdout) else { return Ok(None) };
        spend(&mut self.memory_bytes, size.memory_bytes, &OUTPUT_MEMORY)?;
        Ok(document::read_to_hand_on(stdout).ok())
    }

    /// The same, where all that the guest printed is in the answer.
    ///
    /// # Errors
    /// It is too large for that.
    pub fn output(&mut self, outcome: &Outcome) -> Result<Option<Value>, String> {
        spend(&mut self.stream_bytes, (outcome.stdout.len() + outcome.stderr.len()) as u64, &STREAM_BYTES)?;
        self.document(&outcome.stdout)
    }
}

/// One document about a run: a [`RunAnswer`].
///
/// # Errors
/// What the guest printed is too large for an answer.
pub fn run_value(answer: &Answer, room: &mut Room) -> Result<Value, ErrorReport> {
    Ok(json!(run_answer(answer, room)?))
}

fn run_answer<'a>(answer: &'a Answer, room: &mut Room) -> Result<RunAnswer<'a>, ErrorReport> {
    let outcome = &answer.outcome;
    let lost = |reason| ErrorReport::new(ErrorCode::AnswerLost, format!("the answer would be too large: {reason}"));
    let output = room.output(outcome).map_err(lost)?;
    let volumes = answer.volumes.iter().map(|(name, volume)| {
        let (changes, changes_omitted) = (volume.changes.listed.as_slice(), volume.changes.omitted);
        let changed = VolumeChanged { before: volume.before, after: volume.after, changes, changes_omitted };
        (name.as_str(), changed)
    });
    let mounts = answer.mounted.iter().map(|(name, mount)| (name.as_str(), mount.changes.listed.as_slice()));
    Ok(RunAnswer {
        ending: outcome.ending.name(),
        ending_detail: outcome.ending.detail(),
        exit_status: outcome.ending.exit_status(),
        output,
        stdout: String::from_utf8_lossy(&outcome.stdout),
        stderr: String::from_utf8_lossy(&outcome.stderr),
        fuel: outcome.fuel,
        fuel_exact: outcome.fuel_exact,
        memory_peak_bytes: outcome.memory_peak_bytes,
        refused: &outcome.refused,
        unreproducible: &outcome.unreproducible,
        profile: &outcome.profile,
        wall_time_us: answer.measured.wall_time_us,
        load_time_us: answer.measured.load_time_us,
        compiled: answer.measured.compiled,
        kept: answer.kept,
        volumes: volumes.collect(),
        mounts: mounts.collect(),
        entry: Some(answer.entry.into()),
        error: answer.bad_end(),
        withheld: &answer.withheld,
        withheld_omitted: (!answer.withheld.is_empty()).then_some(answer.withheld_omitted),
        aside: answer.skipped.iter().collect(),
        memo: answer.memo.as_ref().map(remembered_value),
    })
}

fn kept_answer<'a>(answer: &'a Answer, host: &Host) -> Result<RunAnswer<'a>, ErrorReport> {
    let run = run_answer(answer, &mut Room::default())?;
    Ok(RunAnswer { entry: run.entry.filter(|_| host.keeps()), ..run })
}

/// The same as [`run_value`]; a preview has no entry.
pub fn kept_value(answer: &Answer, host: &Host) -> Result<Value, ErrorReport> {
    Ok(json!(kept_answer(answer, host)?))
}

/// The document about a plan: a [`PlanAnswer`].
pub fn plan_value(
    answer: &Answer,
    host: &Host,
    confirmation: Option<&str>,
    diffs: &[FileDiff],
) -> Result<Value, ErrorReport> {
    let Risk { level, reasons, .. } = Risk::of(answer, confirmation, lost(diffs));
    Ok(json!(PlanAnswer {
        run: kept_answer(answer, host)?,
        plan_id: host.keeps().then(|| answer.entry.hash.to_string()),
        confirmation,
        risk: RiskAnswer { level, reasons },
        diff: diffs,
    }))
}
