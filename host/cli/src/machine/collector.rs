//! The collector that OpenTelemetry's variables name, as another process sends to it: see [`reach`](crate::machine::reach).

use crate::machine::reach::{self, Reached};
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use hutch_serve::Sender;
use std::process::{ExitCode, Stdio};
use std::time::Duration;

/// Who sends, for a process that makes no sockets.
pub(crate) fn sender(wait: Duration) -> Result<Sender, Fault> {
    let mut child = reach::started(Reached::Collector, wait, (Stdio::piped(), Stdio::piped()))?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(answers), Some(asks)) => Ok(Sender::new(answers, asks)),
        _ => Err(Fault::host("what reaches the collector has no pipes")),
    }
}

/// Sends for another process, to the collectors that the environment names and to nobody else.
#[expect(clippy::disallowed_methods, reason = "whoever started this one asks through it")]
pub(crate) fn send_for_another() -> Result<ExitCode, Fault> {
    let served =
        hutch_serve::send_for_another(&surroundings::collectors(), std::io::stdin().lock(), std::io::stdout().lock());
    served.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
}
