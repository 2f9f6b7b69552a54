//! F: issues about the program, kept by the program.

use super::{Check, absent, each, listed};
use crate::read;
use crate::rule::{Finding, Status};
use crate::survey::{Probe, Purpose, STATUSES, Survey};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("F1", commands),
    ("F2", context),
    ("F3", categories),
    ("F4", stored),
    ("F5", found_again),
    ("F6", statuses),
    ("F7", fields),
    ("F8", every_status),
];

/// The version of a package that an issue must be about.
pub struct Subject<'a> {
    /// Its slug.
    pub slug: &'a str,
    /// Its version.
    pub version: &'a str,
}

/// Holds what a host did with one issue about a package to every rule, and to being about that package.
pub fn of_host(survey: &Survey, subject: &Subject<'_>) -> BTreeMap<&'static str, Finding> {
    let about = issue(survey).map(|issue| issue.get("package").cloned().unwrap_or_default());
    let is_about = |package: &Value| {
        package.get("slug") == Some(&Value::from(subject.slug))
            && package.get("version") == Some(&Value::from(subject.version))
    };
    let judged = CHECKS.iter().map(|(id, check)| match (check(survey), &about) {
        (Finding { status: Status::Pass, .. }, Ok(package)) if !is_about(package) => {
            let package = read::quoted(&package.to_string());
            (*id, Finding::fail(format!("the issue is about {package}, not {} {}", subject.slug, subject.version)))
        }
        (finding, _) => (*id, finding),
    });
    judged.collect()
}

const COMMANDS: [&str; 5] = ["create", "list", "show", "close", "transition"];
const CATEGORIES: [&str; 4] = ["bug", "requirement", "suggestion", "bad-output"];
const FIELDS: [&str; 6] = ["id", "type", "status", "message", "created_at", "updated_at"];

fn described(survey: &Survey) -> Result<(), Finding> {
    if survey.description.commands.is_empty() {
        return Err(absent(survey, false, ""));
    }
    match survey.description.commands.iter().any(|command| command.words.first().is_some_and(|it| it == "issue")) {
        true => Ok(()),
        false => Err(Finding::fail("there is no issue command")),
    }
}

fn commands(survey: &Survey) -> Finding {
    if let Err(finding) = described(survey) {
        return finding;
    }
    let missing = COMMANDS.iter().filter(|word| survey.description.command(&format!("issue {word}")).is_none());
    listed("all five are declared", missing.map(|word| format!("there is no issue {word}")).collect())
}

fn categories(survey: &Survey) -> Finding {
    if let Err(finding) = described(survey) {
        return finding;
    }
    let create = survey.description.command("issue create");
    let choices = create.into_iter().flat_map(|command| &command.parameters).flat_map(|parameter| &parameter.choices);
    let choices: Vec<&str> = choices.map(String::as_str).collect();
    let missing = CATEGORIES.iter().filter(|category| !choices.contains(category));
    listed("all four can be chosen", missing.map(|category| format!("{category} can't be chosen")).collect())
}

fn answered<'s>(
    survey: &'s Survey,
    purposes: &'s [Purpose],
) -> Result<impl Iterator<Item = &'s Probe> + Clone, Finding> {
    described(survey)?;
    let probes = survey.of_purposes(purposes);
    match (probes.clone().next(), survey.facts.may_change) {
        (None, false) => Err(absent(survey, true, "")),
        (None, true) => Err(Finding::fail("no issue could be created")),
        (Some(_), _) => Ok(probes),
    }
}

/// The whole issue: as `issue show` shows it, else as it was created.
fn issue(survey: &Survey) -> Result<Map<String, Value>, Finding> {
    let probes = answered(survey, &[Purpose::IssueShow, Purpose::IssueCreate])?;
    let shown = |purpose| {
        let probe = probes.clone().find(|probe: &&Probe| probe.purpose == purpose)?;
        let answer = read::document(&probe.seen.stdout)?;
        read::object_with(&answer, &["id"]).cloned()
    };
    let found = shown(Purpose::IssueShow).or_else(|| shown(Purpose::IssueCreate));
    found.ok_or_else(|| Finding::fail("no answer holds an issue with an id"))
}

fn has(survey: &Survey, wanted: &[&str]) -> Finding {
    match issue(survey) {
        Err(finding) => finding,
        Ok(issue) => {
            let missing = wanted.iter().filter(|key| !issue.contains_key(**key));
            listed("all are recorded", missing.map(|key| format!("an issue has no {key}")).collect())
        }
    }
}

fn context(survey: &Survey) -> Finding {
    has(survey, &["version", "context", "exit_code"])
}

fn fields(survey: &Survey) -> Finding {
    has(survey, &FIELDS)
}

/// Created in one call, and there in the next.
fn stored(survey: &Survey) -> Finding {
    let created = match answered(survey, &[Purpose::IssueCreate]) {
        Ok(mut probes) => probes.next(),
        Err(finding) => return finding,
    };
    if created.is_some_and(|probe| probe.seen.unchanged() == Some(true)) {
        return Finding::fail("creating an issue changes nothing in the local state");
    }
    let Ok(issue) = issue(survey) else { return Finding::fail("no issue was created") };
    let wanted = issue.get("id").cloned().unwrap_or_default();
    let listed = survey.of_purpose(Purpose::IssueList).any(|probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        read::rows(&answer).is_some_and(|rows| rows.iter().any(|row| row.get("id") == Some(&wanted)))
    });
    Finding::of(listed, "a created issue is in the next listing", "a created issue is not in the next listing")
}

fn found_again(survey: &Survey) -> Finding {
    const WANTED: [Purpose; 2] = [Purpose::IssueList, Purpose::IssueShow];
    let probes = match answered(survey, &WANTED) {
        Ok(probes) => probes,
        Err(finding) => return finding,
    };
    for (purpose, name) in WANTED.iter().zip(["issue list", "issue show"]) {
        if !probes.clone().any(|probe| probe.purpose == *purpose) {
            return Finding::fail(format!("{name} could not be called"));
        }
    }
    each(probes, Finding::unknown(""), |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let found = match probe.purpose {
            Purpose::IssueShow => read::object_with(&answer, &["id"]).is_some(),
            _ => read::rows(&answer).is_some(),
        };
        if found && probe.seen.status == Some(0) { Ok(()) } else { Err("shows nothing".to_owned()) }
    })
}

fn statuses(survey: &Survey) -> Finding {
    let probes = match answered(survey, &[Purpose::IssueMove]) {
        Ok(probes) => probes,
        Err(finding) => return finding,
    };
    let began = issue(survey).ok().and_then(|issue| issue.get("status").cloned());
    if began != Some(Value::from("open")) {
        return Finding::fail(format!(
            "a new issue is {}, not open",
            read::quoted(&began.unwrap_or_default().to_string())
        ));
    }
    let reached: Vec<&str> = probes.clone().map(|probe| probe.about.as_str()).collect();
    if let Some(status) = STATUSES.iter().skip(1).find(|status| !reached.contains(status)) {
        return Finding::fail(format!("no command makes an issue {status}"));
    }
    each(probes, Finding::unknown(""), |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let now = read::object_with(&answer, &["id", "status"]).and_then(|issue| issue.get("status")?.as_str());
        match (probe.seen.status, now) {
            (Some(0), Some(now)) if now == probe.about => Ok(()),
            _ => Err(format!("the issue is {}, not {}", read::named(now.unwrap_or("nothing")), probe.about)),
        }
    })
}

fn every_status(survey: &Survey) -> Finding {
    let probes = match answered(survey, &[Purpose::IssueList]) {
        Ok(probes) => probes,
        Err(finding) => return finding,
    };
    each(probes, Finding::unknown(""), |probe| {
        let answer = read::document(&probe.seen.stdout).unwrap_or_default();
        let rows = read::rows(&answer).ok_or("there is no list")?;
        let good = |row: &Value| row.get("status").and_then(Value::as_str).is_some_and(|it| STATUSES.contains(&it));
        if rows.iter().all(good) { Ok(()) } else { Err("an issue has no status, or one of its own".to_owned()) }
    })
}
