//! What is tested: something that answers calls. Knows no rule.

mod home;
mod orphans;
#[cfg(feature = "package")]
mod package;
mod process;

pub use orphans::adopt;
#[cfg(feature = "package")]
pub use package::{Hosting, PackageTarget};
pub use process::{ProcessTarget, Ring, Tested};

use crate::draw::Draws;
use crate::rule::Finding;
use hutch_model::digest::Digest;
use hutch_model::redact::Cleaning;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest for all calls of a target, of which a package is two: those after it are counted, and not made. Thousands of calls take a minute, and on a machine that is
/// busy elsewhere many times as long.
const TOTAL_TIME: Duration = Duration::from_secs(1800);

/// What standard input holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Stdin {
    /// Nothing: it ends at once.
    #[default]
    Empty,
    /// These bytes, then its end.
    Bytes(Vec<u8>),
    /// Nothing, and it stays open: whoever reads it waits.
    HeldOpen,
}

/// The state that a call begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Start {
    /// As it was before the first call.
    Initial,
    /// As the last call that was kept left it.
    #[default]
    Current,
}

/// What a call finds that no argument says: the time, and what chance gives. For a native program every call is later than the one
/// before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Moment {
    /// The same time and the same chance.
    #[default]
    Same,
    /// Seconds later, by another chance.
    Later,
    /// A day to twenty years later, each time by another chance.
    MuchLater,
    /// Days to twenty years earlier, each time later than before and by another chance.
    Earlier,
}

/// Everything about a call but its arguments.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// What standard input holds.
    pub stdin: Stdin,
    /// The state to begin with.
    pub start: Start,
    /// Whether later calls begin with the state that this one leaves.
    pub keep: bool,
    /// Whether a host that asks for confirmations is told that there is one.
    pub confirmed: bool,
    /// What a host that stands before the target is asked to take out of its answer.
    pub cleaning: Cleaning,
    /// The environment besides what the target always has.
    pub environment: Vec<(String, String)>,
    /// When it happens.
    pub moment: Moment,
}

impl Options {
    /// When it happens, where that can be chosen: what is kept was done on other days than the one on which it is looked at.
    pub fn when(&self) -> Moment {
        match (self.keep, self.moment) {
            (true, Moment::Same) => Moment::Earlier,
            (_, moment) => moment,
        }
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Observation {
    /// Everything on standard output.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
    /// The exit status; `None` if it ended otherwise: killed, trapped, or over a limit.
    pub status: Option<u8>,
    /// Whether it was ended because it took too long.
    pub timed_out: bool,
    /// The state at its start, and at its end; `None` where the state can't be seen.
    pub state: Option<(Digest, Digest)>,
    /// Whether a host that stands before the target answered in its place.
    pub by_host: bool,
}

impl Observation {
    /// Whether it left the state as it was; `None` where that can't be seen.
    pub fn unchanged(&self) -> Option<bool> {
        self.state.map(|(before, after)| before == after)
    }
}

/// Under which contract a target is judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contract {
    /// The 98 rules as they stand.
    CommandLine,
    /// The application contract, where the host stands before the application.
    Application,
}

/// What becomes of what a native program changes outside of its home.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// The system refuses it.
    Refused,
    /// Nothing keeps it from that, and nobody sees it.
    Unseen,
}

/// Files of the target's project, by path from its root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Files(pub BTreeMap<String, String>);

impl Files {
    /// The files below a folder that end with `.md`, with their names.
    pub fn markdown<'f>(&'f self, folder: &'f str) -> impl Iterator<Item = (&'f str, &'f str)> {
        self.0.iter().filter_map(move |(path, text)| {
            let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".md")?;
            (!name.contains('/')).then_some((name, text.as_str()))
        })
    }
}

/// What is known of a target before it is called.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What a report calls it.
    pub name: String,
    /// Under which contract it is judged.
    pub contract: Contract,
    /// Whether it is a component: it can't replace itself, finds no terminal, and of the environment only what it declares.
    pub component: bool,
    /// The environment variables that it declares.
    pub environment: Vec<String>,
    /// Whether what it does stays inside: if not, only calls that should change nothing are made.
    pub sandboxed: bool,
    /// Whether changing and destructive calls may be made.
    pub may_change: bool,
    /// What becomes of what it changes outside of its home, where it does not keep inside by itself.
    pub outside: Option<Outside>,
    /// What calls of it are made with.
    pub draws: Draws,
    /// The files of its project, if they can be seen.
    pub files: Option<Files>,
    /// A description stored beside the program: where the program's own is missing, and to hold it against.
    pub stored_description: Option<Value>,
    /// The stored list of error codes and their exit statuses; empty if there is none.
    pub stored_codes: Vec<(String, u8)>,
    /// The codes of a host that stands before the target and may answer in its place.
    pub host_codes: Vec<(String, u8)>,
    /// The tools that a host makes of the target's contract for the Model Context Protocol.
    pub host_tools: Vec<Value>,
    /// What became of the rules about feedback where a host took an issue about the target; empty if none was made.
    pub host_feedback: BTreeMap<&'static str, Finding>,
    /// Commands whose answer is somebody else's, passed through: no envelope around it.
    pub pass_through: Vec<String>,
    /// Parameters whose values are somebody else's, passed through: judged by whoever takes them.
    pub forwarded: Vec<String>,
    /// Parameters that name a path of the caller's own, who may go there anyhow: it may lead upwards.
    pub own_paths: Vec<String>,
    /// Parameters that name a file with a key or a certificate, which the target itself reads or makes: it may be called so.
    pub key_files: Vec<String>,
    /// Commands that are not called at all.
    pub not_called: Vec<String>,
    /// Values for parameters, by name: what no type tells.
    pub samples: BTreeMap<String, String>,
    /// The most calls of all. Those after it are counted, and not made.
    pub calls_max: usize,
}

impl Facts {
    /// A sandboxed command line of which nothing else is known.
    pub fn sandboxed(name: impl Into<String>) -> Facts {
        Facts {
            name: name.into(),
            contract: Contract::CommandLine,
            component: false,
            environment: Vec::new(),
            sandboxed: true,
            may_change: true,
            outside: None,
            draws: Draws::default(),
            files: None,
            stored_description: None,
            stored_codes: Vec::new(),
            host_codes: Vec::new(),
            host_tools: Vec::new(),
            pass_through: Vec::new(),
            host_feedback: BTreeMap::new(),
            forwarded: Vec::new(),
            own_paths: Vec::new(),
            key_files: Vec::new(),
            not_called: Vec::new(),
            samples: BTreeMap::new(),
            calls_max: 20_000,
        }
    }
}

/// Why a target can't be called at all: never the target's own answer.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The program can't be started.
    #[error("{program} can't be started: {reason}")]
    Start {
        /// Which.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// The host failed.
    #[error("{0}")]
    Host(String),
}

/// Something that answers calls.
pub trait Target {
    /// What is known of it.
    fn facts(&self) -> &Facts;

    /// Makes one call.
    ///
    /// # Errors
    /// The call could not be made. Every end of the target itself is an observation.
    fn invoke(&mut self, args: &[String], options: &Options) -> Result<Observation, TargetError>;

    /// Whether there is time for more calls.
    fn has_time(&self) -> bool {
        true
    }

    /// What it left that can't be put in order, if anything: evidence against it, and it is called no more.
    fn disorder(&self) -> Option<&str> {
        None
    }

    /// The name of the program as it is now, if it can be seen: a program that updates itself gets another.
    ///
    /// # Errors
    /// The program can't be read.
    fn program(&mut self) -> Result<Option<Digest>, TargetError>;
}
