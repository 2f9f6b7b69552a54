//! What every command takes, and what the program found before it began.

use crate::flags::database::Connected;
use crate::flags::selection::Path;
use crate::line::call_line::CallLine;
use clap::{Args, ValueEnum};
use hutch_model::limits::Unit;
use std::path::PathBuf;
use std::time::Duration;

/// What every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Options of every command")]
pub(crate) struct Global {
    /// Answer in JSON, the default
    #[arg(long, global = true, conflicts_with = "human")]
    pub(crate) agent: bool,
    /// Answer in text
    #[arg(long, global = true)]
    pub(crate) human: bool,
    /// Print what this is
    #[arg(long, global = true)]
    pub(crate) brief: bool,
    /// Confirm what destroys or grants
    #[arg(long, global = true)]
    pub(crate) yes: bool,
    /// Say what would be done
    #[arg(long, global = true)]
    pub(crate) dry_run: bool,
    /// Only errors on standard error
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Say what takes long
    #[arg(long, global = true)]
    pub(crate) progress: bool,
    /// Keep these fields
    #[arg(long, global = true, value_name = "NAME", value_delimiter = ',')]
    pub(crate) fields: Vec<String>,
    /// Print one value, as items[0].id
    #[arg(long, global = true, value_name = "PATH")]
    pub(crate) query: Option<Path>,
    /// Replace hidden characters
    #[arg(long, global = true)]
    pub(crate) sanitize: bool,
    /// Replace personal data and secrets
    #[arg(long, global = true)]
    pub(crate) redact: bool,
    /// Longest wait for input or a lock
    #[arg(long, global = true, value_name = "DURATION", default_value = "10s", value_parser = parse_wait)]
    pub(crate) wait: Duration,
    /// Home folder; else HUTCH_HOME
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Rings around a run
    #[arg(long, global = true, value_name = "WHEN")]
    pub(crate) ring: Option<Ring>,
    /// The database that instances are in, if they are not in the home.
    #[arg(skip)]
    pub(crate) database: Option<Connected>,
    /// The line itself, for calls that mend it.
    #[arg(skip)]
    pub(crate) line: CallLine,
}

/// When there are rings around a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ring {
    /// Always: nothing runs where they are not whole.
    Required,
    /// As far as the system has them.
    Auto,
    /// Never. The one around the compiler stays.
    Off,
}

/// The longest that `--wait` takes.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

fn parse_wait(text: &str) -> Result<Duration, String> {
    let wait = Unit::Milliseconds.parse(text).map(Duration::from_millis).filter(|wait| *wait <= WAIT_MAX);
    wait.ok_or_else(|| format!("expected {} of at most 24h", Unit::Milliseconds.expected()))
}
