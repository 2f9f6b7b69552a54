//! `hutch gc`: reclaims the space of states, streams and versions of the package that only old entries name.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::output::Output;
use crate::{earlier, repair};
use clap::Args;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_store::Retention;
use serde_json::json;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct GcArguments {
    /// Keep the states and streams of so many entries, counted from the last
    #[arg(long, value_name = "N", default_value_t = 1000)]
    keep: u64,
    /// Keep those of entries made at this instant or later
    #[arg(long, value_name = "INSTANT")]
    newer_than: Option<Instant>,
    #[command(flatten)]
    instance: InstanceArguments,
}

pub(super) fn gc(global: &Global, own: &GcArguments, output: &Output) -> Result<ExitCode, Fault> {
    let session = own.instance.open(global)?;
    let retention = Retention { keep_last: own.keep, newer_than: own.newer_than };
    if !global.yes && !global.dry_run {
        let message = format!("gc drops the states of all but the last {} entries for good", own.keep);
        let report = ErrorReport::new(ErrorCode::ConfirmationRequired, message)
            .suggest("ask the user, then repeat the call with --yes");
        return Err(repair::again(report, &global.line, 0).into());
    }
    let collected = session.collect(&retention)?;
    let slug = own.instance.slug(global)?;
    let versions = earlier::collect(global, &slug, (&own.instance.instance, &session), collected.retained_from)?;
    output.done(Done::changed(None));
    let value = json!({
        "objects": collected.objects,
        "bytes": collected.bytes,
        "retained_from": collected.retained_from,
        "versions": versions,
    });
    output.answer("gc", value, |_| {
        format!("{} objects, {} bytes, {versions} versions", collected.objects, collected.bytes)
    })?;
    Ok(ExitCode::SUCCESS)
}
