//! What this program reaches elsewhere while rings are up. That needs sockets at any time, and rings refuse them: so this program starts itself
//! once more, before the rings are up, as the process that has the sockets and does nothing else. It ends when nobody asks any more.

use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use clap::ValueEnum;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What is reached.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Reached {
    /// The bucket that HUTCH_STORE names
    Bucket,
    /// The database that HUTCH_STORE names
    Database,
    /// The collector that OTEL_EXPORTER_OTLP_ENDPOINT names
    Collector,
}

/// The process that reaches it, with these as standard input and output. Each wait of it is at most so long.
#[expect(
    clippy::disallowed_methods,
    reason = "this program starts itself: what has the sockets must be another process"
)]
pub(crate) fn started(what: Reached, wait: Duration, (input, output): (Stdio, Stdio)) -> Result<Child, Fault> {
    let name = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let failed = |error: std::io::Error| Fault::host(format!("can't start what reaches the {name}: {error}"));
    let mut command = Command::new(surroundings::program().map_err(failed)?);
    command.arg("--wait").arg(format!("{}ms", wait.as_millis())).args(["reach", &name]);
    // What a person can get wrong about words for people is not its business.
    command.env_remove("HUTCH_FORMAT");
    // A terminal's interrupt is for this process, which says when it is done.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.stdin(input).stdout(output).stderr(Stdio::null()).spawn().map_err(failed)
}
