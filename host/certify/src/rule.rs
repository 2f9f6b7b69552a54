//! What a rule is, and what became of it.

use schemars::JsonSchema;
use serde::Serialize;

/// How bad it is to break a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Priority {
    /// An agent breaks without it.
    P0,
    /// An agent works, but badly.
    P1,
    /// Nice to have.
    P2,
}

/// What a rule belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Layer {
    /// The contract of execution.
    #[serde(rename = "core")]
    Core,
    /// Better use by machines.
    #[serde(rename = "recommended")]
    Recommended,
    /// Integration with agents.
    #[serde(rename = "ecosystem")]
    Ecosystem,
}

/// What a command line can be certified as. Each includes the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
pub enum Level {
    /// Every core rule.
    #[serde(rename = "agent-friendly")]
    Friendly,
    /// Every core and recommended rule.
    #[serde(rename = "agent-ready")]
    Ready,
    /// Every rule.
    #[serde(rename = "agent-native")]
    Native,
}

impl Level {
    /// From the lowest.
    pub const ALL: [Level; 3] = [Level::Friendly, Level::Ready, Level::Native];

    /// The name on the command line: `agent-friendly`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Friendly => "agent-friendly",
            Level::Ready => "agent-ready",
            Level::Native => "agent-native",
        }
    }

    /// Whether the level asks for rules of a layer.
    pub const fn includes(self, layer: Layer) -> bool {
        match layer {
            Layer::Core => true,
            Layer::Recommended => !matches!(self, Level::Friendly),
            Layer::Ecosystem => matches!(self, Level::Native),
        }
    }
}

/// One of the 98 rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Rule {
    /// The identifier: `E8`.
    pub id: &'static str,
    /// How bad it is to break it.
    pub priority: Priority,
    /// What it belongs to.
    pub layer: Layer,
    /// What it asks for.
    pub text: &'static str,
    /// What decides it: the calls, or the part of the description or of the files.
    pub decided_by: &'static str,
}

/// What became of a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It is kept, as far as the calls show.
    Pass,
    /// It is broken.
    Fail,
    /// The host sees to it, whatever the application does: kept, and not by the application.
    ByHost,
    /// It asks for nothing here, or another contract takes its place.
    NotApplicable,
    /// It could not be decided. Never counts as kept.
    Unknown,
}

impl Status {
    /// Whether a level can be granted with it.
    pub const fn grants(self) -> bool {
        matches!(self, Status::Pass | Status::ByHost | Status::NotApplicable)
    }

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Pass => "pass",
            Status::Fail => "fail",
            Status::ByHost => "by-host",
            Status::NotApplicable => "not-applicable",
            Status::Unknown => "unknown",
        }
    }
}

/// What became of one rule, and how that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What became of it.
    pub status: Status,
    /// What was seen.
    pub evidence: String,
    /// Why it does not apply, who sees to it, or why it was not decided.
    pub reason: Option<String>,
}

impl Finding {
    /// Kept.
    pub fn pass(evidence: impl Into<String>) -> Finding {
        Finding { status: Status::Pass, evidence: evidence.into(), reason: None }
    }

    /// Broken.
    pub fn fail(evidence: impl Into<String>) -> Finding {
        Finding { status: Status::Fail, evidence: evidence.into(), reason: None }
    }

    /// The host's doing.
    pub fn by_host(reason: impl Into<String>) -> Finding {
        Finding { status: Status::ByHost, evidence: String::new(), reason: Some(reason.into()) }
    }

    /// Asks for nothing here.
    pub fn not_applicable(reason: impl Into<String>) -> Finding {
        Finding { status: Status::NotApplicable, evidence: String::new(), reason: Some(reason.into()) }
    }

    /// Not decided.
    pub fn unknown(reason: impl Into<String>) -> Finding {
        Finding { status: Status::Unknown, evidence: String::new(), reason: Some(reason.into()) }
    }

    /// Kept or broken.
    pub fn of(kept: bool, kept_evidence: impl Into<String>, broken_evidence: impl Into<String>) -> Finding {
        if kept { Finding::pass(kept_evidence) } else { Finding::fail(broken_evidence) }
    }
}
