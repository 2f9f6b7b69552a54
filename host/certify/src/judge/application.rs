//! Where the application contract takes the place of a rule: an application's answers pass through the host untouched, and the host
//! says what the rule asks for. Each replacement is a row of the project's table of decisions, and holds only if the application
//! keeps what the contract asks for instead.

use super::errors::failures;
use super::{Check, each};
use crate::read;
use crate::rule::{Finding, Status};
use crate::survey::Survey;

struct Replacement {
    rules: &'static [&'static str],
    row: &'static str,
    instead: &'static str,
    /// What the application contract asks for in the rule's place.
    holds: Check,
}

const REPLACEMENTS: &[Replacement] = &[
    Replacement {
        rules: &["E1"],
        row: "stream of error JSON; error shape",
        instead: "an application tells its failures on its own stdout, as {\"ok\":false,\"error\":{…}} or {\"error\":true,…}, and \
                  the host passes them through; what the host reports is E1 on stderr",
        holds: told_on_either,
    },
    Replacement {
        rules: &["E2"],
        row: "stream of error JSON",
        instead: "an application tells its failures on its own stdout, and the host passes them through; what the host reports \
                  leaves stdout empty",
        holds: told_on_one,
    },
    Replacement {
        rules: &["R1", "R2", "R3"],
        row: "envelope on every response",
        instead: "`run` is transparent, so an application's bytes are the answer; `run --envelope` and every other command of the \
                  host carry rules, skills and issue",
        holds: |_| Finding::pass("the host adds the envelope"),
    },
    Replacement {
        rules: &["N4"],
        row: "confirmation",
        instead: "--yes is the host's flag, before the package: it opens the host's gate, and the application's own confirmation \
                  is the application's argument; the other reserved flags are there",
        holds: |survey| super::naming::reserved_but(survey, &["yes"]),
    },
];

/// The finding under the application contract.
pub(super) fn overridden(id: &str, survey: &Survey, finding: Finding) -> Finding {
    let Some(replacement) = REPLACEMENTS.iter().find(|replacement| replacement.rules.contains(&id)) else {
        return finding;
    };
    if finding.status == Status::Pass {
        return finding;
    }
    let held = (replacement.holds)(survey);
    match held.status {
        Status::Pass => Finding {
            evidence: held.evidence,
            ..Finding::not_applicable(format!("decision \"{}\": {}", replacement.row, replacement.instead))
        },
        _ => held,
    }
}

fn told_on_either(survey: &Survey) -> Finding {
    each(failures(survey), super::errors::no_failure(), |probe| match read::told(&probe.seen) {
        Some(told) if told.form != read::Form::Other => Ok(()),
        Some(_) => Err("the error has neither of the two forms".to_owned()),
        None => Err("no structured error".to_owned()),
    })
}

fn told_on_one(survey: &Survey) -> Finding {
    each(failures(survey), super::errors::no_failure(), |probe| match read::told(&probe.seen) {
        Some(told) if told.on_stderr && !probe.seen.stdout.is_empty() => {
            Err("the error is on stderr, and stdout holds something too".to_owned())
        }
        Some(_) => Ok(()),
        None => Err("no structured error".to_owned()),
    })
}
