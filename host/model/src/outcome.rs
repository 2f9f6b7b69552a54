//! How a run ended and what it left. Everything here is a function of component, invocation and state; what the host measured
//! on its own clock is kept apart, in [`Measured`].

use crate::document;
use crate::error_code::ErrorCode;
use crate::limits::Limit;
use serde::{Deserialize, Serialize};

/// How the guest ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// By itself.
    Exited {
        /// 0 to 255; returning an error from `run` is 1.
        status: u8,
    },
    /// On an instruction it may not carry out, or a call that breaks an interface's rules.
    Trapped {
        /// Which: a short stable name, as `unreachable` or `integer_divide_by_zero`.
        trap: String,
    },
    /// By a limit: at once, or because it failed after it was refused more.
    Limited {
        /// Which.
        limit: Limit,
    },
}

/// The guest's end and all it produced but its state: made by [`Outcome::new`], and what is known more is set on it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// How the guest ended.
    pub ending: Ending,
    /// All bytes written to standard output, up to its limit.
    pub stdout: Vec<u8>,
    /// All bytes written to standard error, up to its limit.
    pub stderr: Vec<u8>,
    /// Work done: instructions, from the first of instantiation on, host calls, and naming the state that is left.
    pub fuel: u64,
    /// Whether `fuel` is exact. After a trap or a stop by the clock it is a lower bound.
    pub fuel_exact: bool,
    /// The most that counted against `memory_bytes` at one time.
    pub memory_peak_bytes: u64,
    /// Limits that refused something, in the table's order. A guest can handle a refusal; one that then exits with 0 has.
    pub refused: Vec<Limit>,
    /// Why the same inputs may have another outcome; empty if they can't.
    pub unreproducible: Vec<Unreproducible>,
    /// The engine's version and settings, in words: outcomes are comparable only where these are equal.
    pub profile: String,
}

/// Why an outcome can't be had again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unreproducible {
    /// The host's clock ended the run.
    WallTime,
    /// The guest's stack was used up. How much of it a call takes depends on the processor that its code was compiled for.
    Stack,
    /// The guest could see or change a real folder.
    Mount,
}

/// What the host measured on its own clock: never part of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measured {
    /// From the start of the guest to its end.
    pub wall_time_us: u64,
    /// To have the compiled component: to compile it or to map it.
    pub load_time_us: u64,
    /// Whether it was compiled now.
    pub compiled: bool,
}

/// The standard command contract (seed `agent-applications-cli-runtime`), or its waiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Contract {
    /// Exit status 0 comes with exactly one JSON document on standard output.
    #[default]
    Json,
    /// The same, and the document is of the output schema that the package declares for the command.
    Schema,
    /// Any output: for a call whose answer is for people.
    Any,
}

/// An outcome, judged.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// Exited with 0 and kept the contract: the state is kept.
    Good,
    /// Exited with another status: the guest's own answer, the state is dropped.
    Failed {
        /// The guest's status.
        status: u8,
    },
    /// Ended by something else than its own exit, or broke the contract: the host's answer, the state is dropped.
    Bad {
        /// The host's code for it.
        code: ErrorCode,
        /// What happened.
        message: String,
    },
}

impl Verdict {
    /// Whether a guest's end may be called so. Every other code is of a host that could not do its part.
    pub fn may_be(code: ErrorCode) -> bool {
        let own = [ErrorCode::GuestTrapped, ErrorCode::ContractViolation];
        own.contains(&code) || Limit::ALL.iter().any(|limit| limit.info().code == code)
    }
}

impl Ending {
    /// `exited`, `trapped` or `limited`.
    pub const fn name(&self) -> &'static str {
        match self {
            Ending::Exited { .. } => "exited",
            Ending::Trapped { .. } => "trapped",
            Ending::Limited { .. } => "limited",
        }
    }

    /// Which trap or which limit it was.
    pub fn detail(&self) -> Option<&str> {
        match self {
            Ending::Exited { .. } => None,
            Ending::Trapped { trap } => Some(trap),
            Ending::Limited { limit } => Some(limit.name()),
        }
    }

    /// The status of a guest that ended by itself.
    pub const fn exit_status(&self) -> Option<u8> {
        match self {
            Ending::Exited { status } => Some(*status),
            Ending::Trapped { .. } | Ending::Limited { .. } => None,
        }
    }
}

impl Verdict {
    /// The exit status of a command that answers as the guest did.
    pub const fn exit_status(&self) -> u8 {
        match self {
            Verdict::Good => 0,
            Verdict::Failed { status } => *status,
            Verdict::Bad { code, .. } => code.exit_status(),
        }
    }
}

impl Outcome {
    /// The outcome of a guest that said nothing and did no work.
    pub fn new(ending: Ending, profile: impl Into<String>) -> Outcome {
        Outcome {
            ending,
            stdout: Vec::new(),
            stderr: Vec::new(),
            fuel: 0,
            fuel_exact: true,
            memory_peak_bytes: 0,
            refused: Vec::new(),
            unreproducible: Vec::new(),
            profile: profile.into(),
        }
    }

    /// Judges the outcome.
    pub fn verdict(&self, contract: Contract) -> Verdict {
        match &self.ending {
            Ending::Exited { status: 0 } => match (contract, one_json_document(&self.stdout)) {
                (Contract::Json | Contract::Schema, Err(reason)) => Verdict::Bad {
                    code: ErrorCode::ContractViolation,
                    message: format!("the guest exited with 0, but its standard output {reason}"),
                },
                _ => Verdict::Good,
            },
            Ending::Exited { status } => Verdict::Failed { status: *status },
            Ending::Trapped { trap } => {
                Verdict::Bad { code: ErrorCode::GuestTrapped, message: format!("the guest trapped: {trap}") }
            }
            Ending::Limited { limit } => {
                let info = limit.info();
                Verdict::Bad { code: info.code, message: format!("{} ({})", info.code.meaning(), info.name) }
            }
        }
    }
}

/// Whether `bytes` are exactly one [document].
fn one_json_document(bytes: &[u8]) -> Result<(), String> {
    if bytes.trim_ascii().is_empty() {
        return Err("is empty".to_owned());
    }
    let text = std::str::from_utf8(bytes).map_err(|error| format!("is not UTF-8 at byte {}", error.valid_up_to()))?;
    document::check(text.as_bytes()).map_err(|error| format!("is not one JSON document: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(ending: Ending, stdout: &str) -> Outcome {
        Outcome { stdout: stdout.into(), ..Outcome::new(ending, "") }
    }

    #[test]
    fn exit_0_needs_exactly_one_document() {
        let cases = [
            (r#"{"ok":true}"#, true),
            (" [1]\n", true),
            ("null", true),
            ("", false),
            (" \n", false),
            ("hello", false),
            ("{} {}", false),
            ("{}x", false),
            ("{\"a\":}", false),
            ("\u{feff}{}", false),
        ];
        for (stdout, good) in cases {
            let verdict = outcome(Ending::Exited { status: 0 }, stdout).verdict(Contract::Json);
            assert_eq!(verdict == Verdict::Good, good, "{stdout:?}: {verdict:?}");
            assert_eq!(outcome(Ending::Exited { status: 0 }, stdout).verdict(Contract::Any), Verdict::Good);
        }
        let deep = "[".repeat(100_000);
        assert_ne!(outcome(Ending::Exited { status: 0 }, &deep).verdict(Contract::Json), Verdict::Good);
    }

    #[test]
    fn no_bad_end_is_good() {
        for contract in [Contract::Json, Contract::Any] {
            let failed = outcome(Ending::Exited { status: 20 }, "{}").verdict(contract);
            assert_eq!(failed, Verdict::Failed { status: 20 });
            let trapped = outcome(Ending::Trapped { trap: "unreachable".to_owned() }, "{}").verdict(contract);
            assert!(matches!(trapped, Verdict::Bad { code: ErrorCode::GuestTrapped, .. }));
            for limit in Limit::ALL {
                let verdict = outcome(Ending::Limited { limit: *limit }, "{}").verdict(contract);
                assert!(matches!(verdict, Verdict::Bad { code, .. } if code == limit.info().code));
            }
        }
    }
}
