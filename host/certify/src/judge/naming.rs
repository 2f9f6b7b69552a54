//! N: names.

use super::{Check, each, listed, says};
use crate::read;
use crate::rule::Finding;
use crate::survey::{Purpose, Survey};
use serde_json::Value;

pub(super) const CHECKS: &[(&str, Check)] =
    &[("N1", consistent), ("N2", kebab_case), ("N3", levels), ("N4", reserved), ("N5", human_help), ("N6", version)];

/// Words that say what is done.
const VERBS: [&str; 26] = [
    "add",
    "apply",
    "cat",
    "check",
    "clear",
    "close",
    "create",
    "delete",
    "diff",
    "export",
    "find",
    "get",
    "import",
    "init",
    "install",
    "list",
    "ls",
    "purge",
    "remove",
    "run",
    "set",
    "show",
    "transition",
    "update",
    "verify",
    "reopen",
];

fn described(survey: &Survey) -> Option<Finding> {
    let nothing = survey.description.commands.is_empty();
    nothing.then(|| Finding::unknown("the program does not describe its commands"))
}

fn consistent(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let is_verb = |word: Option<&String>| word.is_some_and(|word| VERBS.contains(&word.as_str()));
    let (mut verb_first, mut verb_last) = (Vec::new(), Vec::new());
    for command in survey.description.commands.iter().filter(|command| command.words.len() > 1) {
        match (is_verb(command.words.first()), is_verb(command.words.last())) {
            (true, false) => verb_first.push(command.name()),
            (false, true) => verb_last.push(command.name()),
            _ => {}
        }
    }
    // Two commands of the same two words show it whatever the words are.
    let names: Vec<&Vec<String>> = survey.description.commands.iter().map(|command| &command.words).collect();
    let swapped = names.iter().find(|words| match words.as_slice() {
        [first, second] => {
            first != second && names.iter().any(|other| other.as_slice() == [second.clone(), first.clone()])
        }
        _ => false,
    });
    if let Some(words) = swapped {
        return Finding::fail(format!("both orders are there: {}", read::named(&words.join(" "))));
    }
    let kept = verb_first.is_empty() || verb_last.is_empty();
    let shown = |all: &[String]| read::names(all.iter().map(String::as_str));
    Finding::of(
        kept,
        format!("{} commands", survey.description.commands.len()),
        format!("verb first: {}; verb last: {}", shown(&verb_first), shown(&verb_last)),
    )
}

fn kebab_case(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let kebab = |name: &str| {
        let word = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        name.split('-').all(word)
    };
    let flags: Vec<_> = survey.description.all_parameters().filter(|(_, it)| it.position.is_none()).collect();
    let broken = flags.iter().filter(|(_, flag)| !kebab(&flag.name));
    let broken =
        broken.map(|(command, flag)| format!("{}: --{}", read::named(command), read::named(&flag.name))).collect();
    listed(format!("{} flags", flags.len()), broken)
}

fn levels(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let deep = survey.description.commands.iter().filter(|command| command.words.len() > 3);
    let broken =
        deep.map(|command| format!("{} has {} levels", read::named(&command.name()), command.words.len())).collect();
    listed("at most 3 levels", broken)
}

/// The flags that every program has.
const RESERVED: [&str; 9] = ["agent", "human", "brief", "help", "version", "yes", "dry-run", "quiet", "fields"];

fn reserved(survey: &Survey) -> Finding {
    reserved_but(survey, &[])
}

/// The reserved flags, but those that somebody else takes.
pub(super) fn reserved_but(survey: &Survey, elsewhere: &[&str]) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    // What describes the parameters need not be among them: that it was answered is enough.
    let answered = |purpose| survey.of_purpose(purpose).any(|probe| probe.seen.status == Some(0));
    let declared = |name: &str| match name {
        "help" => answered(Purpose::Help),
        "version" => answered(Purpose::Version),
        _ => survey.description.all_parameters().any(|(_, it)| it.name == name),
    };
    let missing = RESERVED
        .iter()
        .filter(|name| !elsewhere.contains(name) && !declared(name))
        .map(|name| format!("--{name} is not declared"));
    listed(format!("{} are declared", RESERVED.len() - elsewhere.len()), missing.collect())
}

fn human_help(survey: &Survey) -> Finding {
    let none = Finding::unknown("--help --human was not called");
    each(survey.of_purpose(Purpose::HelpHuman), none, |probe| {
        let text = says(&String::from_utf8_lossy(&probe.seen.stdout)) && read::document(&probe.seen.stdout).is_none();
        if text && probe.seen.status == Some(0) { Ok(()) } else { Err("prints no text for people".to_owned()) }
    })
}

/// The version that `--version` prints: in JSON, or the first word that looks like one. What follows is of libraries, or the day of a build.
pub(super) fn printed_version(survey: &Survey) -> Option<String> {
    let probe = survey.of_purpose(Purpose::Version).next().filter(|probe| probe.seen.status == Some(0))?;
    if let Some(answer) = read::document(&probe.seen.stdout).filter(|answer| !answer.is_number()) {
        let text = match &answer {
            Value::String(text) => Some(text.as_str()),
            _ => answer.get("version").or_else(|| answer.pointer("/result/version")).and_then(Value::as_str),
        };
        return text.map(str::to_owned);
    }
    let text = String::from_utf8_lossy(&probe.seen.stdout).into_owned();
    let mut words = text.lines().next()?.split_whitespace().map(|word| word.trim_start_matches('v'));
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words
        .clone()
        .find(is_version)
        .or_else(|| words.next_back())
        .map(|word| word.trim_end_matches([',', ';']).to_owned())
}

fn version(survey: &Survey) -> Finding {
    match printed_version(survey) {
        Some(version) if semver::Version::parse(&version).is_ok() => Finding::pass(format!("--version says {version}")),
        Some(version) => {
            Finding::fail(format!("--version says {}, which is no semantic version", read::quoted(&version)))
        }
        None => Finding::fail("--version prints no version"),
    }
}
