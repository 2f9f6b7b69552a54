//! `hutch gc`: reclaims the space of states, streams and versions of the package that only old entries name.

use super::instance::InstanceArguments;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{GcAnswer, GcMemo};
use crate::flags::global::Global;
use crate::package::earlier;
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use clap::Args;
use hutch::{Failure, Session};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_store::{MemoStats, Retention};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// Keep the states and streams of so many entries, counted from the last
    #[arg(long, value_name = "N", default_value_t = 1000)]
    keep: u64,
    /// Keep those of entries made at this instant or later
    #[arg(long, value_name = "INSTANT")]
    newer_than: Option<Instant>,
    /// Drop the outcomes that --memo keeps too
    #[arg(long)]
    memo: bool,
    /// Let go too of what a run has left in this folder, as state diff or an error names it: it is put back no more; may be repeated
    #[arg(long, value_name = "FOLDER")]
    unsettled: Vec<String>,
    #[command(flatten)]
    instance: InstanceArguments,
}

pub(crate) fn gc(global: &Global, own: &GcArguments, output: &Output) -> Result<ExitCode, Fault> {
    let session = own.instance.open(global)?;
    let retention = Retention { keep_last: own.keep, newer_than: own.newer_than };
    if !global.yes && !global.dry_run {
        let mut message = format!("gc drops the states of all but the last {} entries for good", own.keep);
        for folder in &own.unsettled {
            message.push_str(&format!("; what a run left in {folder} stays there, and is put back no more"));
        }
        let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
            .suggest("ask the user, then repeat the call with --yes");
        return Err(repair::again(report, &global.line, 0).into());
    }
    session.let_go(&own.unsettled)?;
    let collected = session.collect(&retention)?;
    let memo = remembered(&session, own.memo && !global.dry_run);
    // One that can't be read is in nobody's way, unless it is to be dropped.
    let memo = if own.memo { memo? } else { memo.unwrap_or_default() };
    let slug = own.instance.slug(global)?;
    let versions = earlier::collect(global, &slug, (&own.instance.instance, &session), collected.retained_from)?;
    output.done(Done::changed(None));
    let value = GcAnswer {
        objects: collected.objects,
        bytes: collected.bytes,
        retained_from: collected.retained_from,
        versions,
        memo: GcMemo { outcomes: memo.outcomes, bytes: memo.bytes, dropped: own.memo },
        unsettled: own.unsettled.clone(),
    };
    output.answer("gc", value, |_| {
        format!("{} objects, {} bytes, {versions} versions", collected.objects, collected.bytes)
    })
}

/// What the outcomes take that are kept to be used again, before they are dropped.
fn remembered(session: &Session, drops: bool) -> Result<MemoStats, Failure> {
    let Some(memo) = session.store().memo(false)? else { return Ok(MemoStats::default()) };
    let stats = memo.stats()?;
    if drops {
        memo.clear()?;
    }
    Ok(stats)
}
