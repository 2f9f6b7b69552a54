//! One row of a table of endings, and what every row must keep to whatever its guest does.

use super::wat_guest::{WatGuest, wat};
use super::{limits, parts, probe, run_parts, sandbox};
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Outcome, Unreproducible};
use hutch_sandbox::Run;

/// A guest.
pub(crate) enum Guest {
    /// The probe with these arguments.
    Probe(Vec<String>),
    /// A component, or a core module of WASI 0.1.
    Bytes(Vec<u8>),
}

/// One guest and how it must end.
pub(crate) struct Case {
    name: String,
    guest: Guest,
    limits: Vec<(Limit, u64)>,
    ending: Ending,
    refused: Vec<Limit>,
    fuel_exact: bool,
    stdout: Option<String>,
}

/// Exits with this status.
pub(crate) fn exited(status: u8) -> Ending {
    Ending::Exited { status }
}

/// Traps, by this name.
pub(crate) fn trapped(trap: &str) -> Ending {
    Ending::Trapped { trap: trap.to_owned() }
}

/// Is ended by this limit.
pub(crate) fn limited(limit: Limit) -> Ending {
    Ending::Limited { limit }
}

impl Case {
    fn new(name: &str, guest: Guest, ending: Ending) -> Case {
        let fuel_exact =
            !matches!(ending, Ending::Trapped { .. } | Ending::Limited { limit: Limit::Stack | Limit::WallTime });
        Case { name: name.to_owned(), guest, limits: vec![], ending, refused: vec![], fuel_exact, stdout: None }
    }

    /// The probe with these words.
    pub(crate) fn probe(words: &str, ending: Ending) -> Case {
        Case::new(words, Guest::Probe(words.split_whitespace().map(str::to_owned).collect()), ending)
    }

    /// A component of one core module.
    pub(crate) fn wat(name: &str, guest: &WatGuest, ending: Ending) -> Case {
        Case::bytes(name, guest.bytes(), ending)
    }

    /// A component whose `run` has this body.
    pub(crate) fn body(name: &str, body: &str, ending: Ending) -> Case {
        Case::wat(name, &WatGuest::body(body), ending)
    }

    /// A whole component or module.
    pub(crate) fn bytes(name: &str, bytes: Vec<u8>, ending: Ending) -> Case {
        Case::new(name, Guest::Bytes(bytes), ending)
    }

    /// Any text: a whole component or module.
    pub(crate) fn text(name: &str, text: &str, ending: Ending) -> Case {
        Case::bytes(name, wat(text), ending)
    }

    /// Under this limit.
    pub(crate) fn under(mut self, limit: Limit, value: u64) -> Case {
        self.limits.push((limit, value));
        self
    }

    /// After it was refused these.
    pub(crate) fn refused(mut self, refused: &[Limit]) -> Case {
        self.refused = refused.to_vec();
        self
    }

    /// With fuel that is a lower bound only: a refusal it did not survive shows as that limit, but it ended in a trap.
    pub(crate) fn inexact(mut self) -> Case {
        self.fuel_exact = false;
        self
    }

    /// With this on standard output.
    pub(crate) fn says(mut self, stdout: &str) -> Case {
        self.stdout = Some(stdout.to_owned());
        self
    }

    /// Runs it.
    pub(crate) fn run(&self) -> Result<Run, String> {
        let limits = limits(&self.limits);
        match &self.guest {
            Guest::Probe(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                run_parts(probe(), parts(&words, limits)).map_err(|error| format!("{error:?}"))
            }
            Guest::Bytes(bytes) => {
                let program = sandbox().load(bytes, &limits).map_err(|error| format!("{error:?}"))?;
                run_parts(&program, parts(&[], limits)).map_err(|error| format!("{error:?}"))
            }
        }
    }

    /// Everything that is not as it must be.
    fn problems(&self) -> Vec<String> {
        let run = match self.run() {
            Ok(run) => run,
            Err(error) => return vec![format!("no outcome: {error}")],
        };
        let outcome = &run.outcome;
        let mut problems = laws(&run, &self.limits);
        if outcome.ending != self.ending {
            let said = String::from_utf8_lossy(&outcome.stderr);
            problems.push(format!("ended with {:?}, not {:?}: {}", outcome.ending, self.ending, said.trim_end()));
        }
        if outcome.refused != self.refused {
            problems.push(format!("was refused {:?}, not {:?}", outcome.refused, self.refused));
        }
        if outcome.fuel_exact != self.fuel_exact {
            problems.push(format!("fuel_exact is {}", outcome.fuel_exact));
        }
        if let Some(stdout) = &self.stdout
            && stdout.as_bytes() != outcome.stdout
        {
            problems.push(format!("said {:?}, not {stdout:?}", String::from_utf8_lossy(&outcome.stdout)));
        }
        problems
    }
}

/// What holds for every outcome.
pub(crate) fn laws(run: &Run, changed: &[(Limit, u64)]) -> Vec<String> {
    let Outcome { ending, stdout, stderr, fuel, unreproducible, memory_peak_bytes, .. } = &run.outcome;
    let limits = limits(changed);
    let mut broken = Vec::new();
    if *ending != exited(0) && (!run.after.volumes.is_empty() || !run.after.objects.is_empty()) {
        broken.push(format!("a bad end left state: {:?}", run.after.volumes));
    }
    let why = match ending {
        Ending::Limited { limit: Limit::WallTime } => vec![Unreproducible::WallTime],
        Ending::Limited { limit: Limit::Stack } => vec![Unreproducible::Stack],
        _ => vec![],
    };
    if *unreproducible != why {
        broken.push(format!("unreproducible is {unreproducible:?}"));
    }
    for (what, used, limit) in [
        ("fuel", *fuel, Limit::Fuel),
        ("memory", *memory_peak_bytes, Limit::Memory),
        ("stdout", stdout.len() as u64, Limit::Stdout),
        ("stderr", stderr.len() as u64, Limit::Stderr),
    ] {
        if used > limits.get(limit) {
            broken.push(format!("used {used} of {what}, more than its limit"));
        }
    }
    broken
}

/// Runs all rows and reports all that fail.
pub(crate) fn check(cases: &[Case]) {
    let mut failed = Vec::new();
    for case in cases {
        failed.extend(case.problems().into_iter().map(|problem| format!("{}: {problem}", case.name)));
    }
    assert!(failed.is_empty(), "{} problems in {} cases:\n{}", failed.len(), cases.len(), failed.join("\n"));
}
