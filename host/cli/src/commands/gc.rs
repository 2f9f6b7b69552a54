//! `hutch gc`: reclaims the space of states and streams that only old entries name.

use super::instance::InstanceArguments;
use crate::arguments::Global;
use crate::output::{Fault, Output};
use clap::Args;
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
        return Err(Fault::new(hutch_model::error_code::ErrorCode::ConfirmationRequired, message));
    }
    let collected = session.collect(&retention)?;
    let value = json!({
        "objects": collected.objects,
        "bytes": collected.bytes,
        "retained_from": collected.retained_from,
    });
    output.answer("gc", value, |_| format!("{} objects, {} bytes", collected.objects, collected.bytes))?;
    Ok(ExitCode::SUCCESS)
}
