//! Outcomes that are used again, on the command line: the two flags that ask for it, and what is told of it.

use crate::answer::output::Output;
use clap::Args;
use hutch::Remembered;
use hutch_documents::memo::finding;
use std::num::NonZeroU32;

/// How many outcomes that are found there are for each that is run and compared.
const SAMPLE: u32 = 64;

/// Whether outcomes are used again.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MemoArguments {
    /// Reuse an equal call's outcome
    #[arg(long)]
    memo: bool,
    /// Run one in N of those; else 64
    #[arg(long, value_name = "N", requires = "memo", value_parser = clap::value_parser!(u32).range(1..))]
    recheck: Option<u32>,
}

impl MemoArguments {
    /// What a call says of it.
    pub(crate) fn sample(self) -> Option<NonZeroU32> {
        NonZeroU32::new(self.recheck.unwrap_or(SAMPLE)).filter(|_| self.memo)
    }
}

/// Remarks that an outcome was kept which is not what its call comes to: somebody wrote it who should not have, or two hosts differ.
pub(crate) fn tell(output: &Output, remembered: Option<&Remembered>) {
    if let Some(finding) = remembered.and_then(Remembered::record).and_then(finding) {
        output.remark(&finding);
    }
}
