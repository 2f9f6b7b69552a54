//! `hutch reach`, for hutch itself: the process that reaches what one behind rings can't. See `machine/reach.rs`.

use crate::flags::global::Global;
use crate::machine::reach::Reached;
use crate::machine::{bucket, collector, stores};
use crate::refusal::fault::Fault;
use clap::Args;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ReachArguments {
    /// What is reached
    #[arg(value_name = "WHAT")]
    what: Reached,
}

pub(crate) fn reach(global: &Global, own: &ReachArguments) -> Result<ExitCode, Fault> {
    match own.what {
        Reached::Bucket => bucket::serve(global),
        Reached::Database => stores::connect_for_another(global),
        Reached::Collector => collector::send_for_another(),
    }
}
