//! Where the application contract takes the place of a rule: an application's answers pass through the host untouched, and the host
//! says what the rule asks for. Each replacement is a row of the project's table of decisions, and holds only if the application
//! keeps what the contract asks for instead.

use super::errors::failures;
use super::{Check, each, says};
use crate::read;
use crate::rule::{Finding, Status};
use crate::survey::{Purpose, Survey};
use serde_json::Value;

struct Replacement {
    rules: &'static [&'static str],
    /// Whether the host does in the rule's place what it asks for; if not, the contract asks for something else.
    by_host: bool,
    row: &'static str,
    instead: &'static str,
    /// What the application contract asks for in the rule's place.
    holds: Check,
}

const REPLACEMENTS: &[Replacement] = &[
    Replacement {
        rules: &["E1"],
        by_host: false,
        row: "stream of error JSON; error shape",
        instead: "an application tells its failures on its own stdout, as {\"ok\":false,\"error\":{…}} or {\"error\":true,…}, and \
                  the host passes them through; what the host reports is E1 on stderr",
        holds: told_on_either,
    },
    Replacement {
        rules: &["E2"],
        by_host: false,
        row: "stream of error JSON",
        instead: "an application tells its failures on its own stdout, and the host passes them through; what the host reports \
                  leaves stdout empty",
        holds: told_on_one,
    },
    Replacement {
        rules: &["R1", "R2", "R3"],
        by_host: true,
        row: "envelope on every response",
        instead: "`run` is transparent, so an application's bytes are the answer; `run --envelope` and every other command of the \
                  host carry rules, skills and issue",
        // The envelope holds the answer as a document.
        holds: super::output::json_by_default,
    },
    Replacement {
        rules: &["N4"],
        by_host: false,
        row: "confirmation",
        instead: "--yes is the host's flag, before the package: it opens the host's gate, and the application's own confirmation \
                  is the application's argument; the other reserved flags are there",
        holds: |survey| super::naming::reserved_but(survey, &["yes"]),
    },
    Replacement {
        rules: &["O9"],
        by_host: false,
        row: "one document",
        instead: "an application that ends with 0 prints exactly one JSON document; what is long comes in pages",
        holds: pages,
    },
    Replacement {
        rules: &["S8"],
        by_host: true,
        row: "the host cleans",
        instead: "`hutch run --sanitize` takes hidden characters out of every application's answer, so that none needs to be trusted \
                  with it",
        holds: |survey| super::safety::sanitized(survey, Purpose::HostSanitized, nothing_cleaned()),
    },
    Replacement {
        rules: &["G5"],
        by_host: true,
        row: "the host cleans",
        instead: "`hutch run --redact` takes personal data out of every application's answer, so that none needs to be trusted with it",
        holds: |survey| super::guardrails::redacted(survey, Purpose::HostRedacted, nothing_cleaned()),
    },
    Replacement {
        rules: &["D14", "D18"],
        by_host: false,
        row: "skills",
        instead: "an application's skills are skills/NAME/SKILL.md, as the application contract says, and `hutch show PACKAGE --skill \
                  NAME` gives them",
        holds: skills,
    },
    Replacement {
        rules: &["M2"],
        by_host: true,
        row: "tools",
        instead: "`hutch meta PACKAGE --export mcp` makes the tools of the application's contract",
        holds: tools,
    },
    Replacement {
        rules: &["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"],
        by_host: true,
        row: "feedback",
        instead: "`hutch issue create --package` takes feedback on every application, with its version, the call and the exit status out \
                  of the ledger; the application says so in its --help",
        holds: feedback,
    },
];

/// The rules that it can take the place of.
pub fn overridable() -> impl Iterator<Item = &'static str> {
    REPLACEMENTS.iter().flat_map(|replacement| replacement.rules).copied()
}

/// The finding under the application contract.
pub(super) fn overridden(id: &str, survey: &Survey, finding: Finding) -> Finding {
    let Some(replacement) = REPLACEMENTS.iter().find(|replacement| replacement.rules.contains(&id)) else {
        return finding;
    };
    if finding.status == Status::Pass {
        return finding;
    }
    let held = match ((replacement.holds)(survey), survey.facts.host_feedback.get(id)) {
        // What the host did counts, and not only that it is said to.
        (Finding { status: Status::Pass, evidence, .. }, Some(done)) => {
            Finding { evidence: format!("{}; {evidence}", done.evidence), ..done.clone() }
        }
        (held, _) => held,
    };
    match held.status {
        Status::Pass | Status::ByHost => {
            let reason = format!("decision \"{}\": {}", replacement.row, replacement.instead);
            let replaced = if replacement.by_host { Finding::by_host(reason) } else { Finding::not_applicable(reason) };
            Finding { evidence: held.evidence, ..replaced }
        }
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

fn nothing_cleaned() -> Finding {
    Finding::unknown("no answer showed what was to be taken out")
}

/// A listing in pages; without any listing there is nothing long.
fn pages(survey: &Survey) -> Finding {
    let paged = super::output::pagination(survey);
    match paged.status {
        Status::NotApplicable => Finding::pass("no command lists anything"),
        _ => paged,
    }
}

fn skills(survey: &Survey) -> Finding {
    let files = match super::files(survey) {
        Ok(files) => files,
        Err(finding) => return finding,
    };
    let skills = files.0.iter().filter(|(path, _)| path.starts_with("skills/") && path.ends_with("/SKILL.md"));
    let skills: Vec<_> = skills.collect();
    if skills.is_empty() {
        return Finding::fail("there is no skills/NAME/SKILL.md");
    }
    let lacking = skills.iter().flat_map(|(path, text)| {
        let empty = (!says(read::without_front_matter(text))).then_some("text");
        let missing = ["name", "description"].into_iter().filter(|key| read::front_matter(text, key).is_none());
        let missing = missing.chain(empty);
        missing.map(move |key| format!("{} has no {key} in it", read::quoted(path)))
    });
    super::listed(format!("{} skills", skills.len()), lacking.collect())
}

fn tools(survey: &Survey) -> Finding {
    let tools = &survey.facts.host_tools;
    let commands = survey.description.commands.len();
    let whole = |tool: &&Value| tool["name"].is_string() && tool["inputSchema"].is_object();
    Finding::of(
        commands > 0 && tools.iter().filter(whole).count() == commands,
        format!("{} tools", tools.len()),
        format!("{} tools of {commands} commands", tools.len()),
    )
}

fn feedback(survey: &Survey) -> Finding {
    let said = survey.help.as_ref().and_then(|help| help.get("issue")?.as_str()).unwrap_or_default();
    Finding::of(
        said.contains("hutch issue create"),
        format!("--help says: {}", read::quoted(said)),
        "the issue in --help does not name `hutch issue create`",
    )
}
