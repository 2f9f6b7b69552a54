//! Decides each rule from what a survey wrote down. Pure: calls nothing, reads nothing else. One file for each family of rules.

mod application;
mod composability;
mod description;
mod errors;
mod exit;
pub mod feedback;
mod guardrails;
mod input;
mod meta;
mod naming;
mod output;
mod responses;
mod safety;

use crate::describe::Command;
use crate::read;
use crate::rule::{Finding, Rule};
use crate::survey::{Probe, Survey};
use crate::table::RULES;
use crate::target::Contract;
use std::collections::{BTreeMap, BTreeSet};

pub use application::overridable;

/// How one rule is decided.
pub(crate) type Check = fn(&Survey) -> Finding;

/// The checks of every family.
const FAMILIES: [&[(&str, Check)]; 12] = [
    output::CHECKS,
    responses::CHECKS,
    description::CHECKS,
    errors::CHECKS,
    input::CHECKS,
    safety::CHECKS,
    exit::CHECKS,
    composability::CHECKS,
    naming::CHECKS,
    meta::CHECKS,
    feedback::CHECKS,
    guardrails::CHECKS,
];

/// Decides every rule, in the order of the table.
pub fn all(survey: &Survey) -> Vec<(&'static Rule, Finding)> {
    let judged = RULES.iter().map(|rule| {
        let check = FAMILIES.iter().flat_map(|family| family.iter()).find(|(id, _)| *id == rule.id);
        let finding = check.map_or_else(|| Finding::unknown("no check decides it"), |(_, check)| check(survey));
        let finding = match survey.facts.contract {
            Contract::Application => application::overridden(rule.id, survey, finding),
            Contract::CommandLine => finding,
        };
        (rule, finding)
    });
    judged.collect()
}

/// Holds every call to a rule; `none` if there is no such call.
fn each<'s>(
    probes: impl Iterator<Item = &'s Probe>,
    none: Finding,
    check: impl Fn(&'s Probe) -> Result<(), String>,
) -> Finding {
    const SHOWN_MAX: usize = 3;
    let (mut count, mut by_host, mut broken) = (0, 0, Vec::new());
    let mut last = None;
    let mut left_out = BTreeMap::new();
    for probe in probes {
        count += 1;
        by_host += usize::from(probe.seen.by_host);
        last = Some(probe);
        left_out.insert(probe.purpose, probe.left_out);
        if let Err(why) = check(probe) {
            broken.push(format!("{}, {why}", probe.shown()));
        }
    }
    let Some(last) = last else { return none };
    let left_out: usize = left_out.values().sum();
    if broken.is_empty() {
        let seen = format!("{count} calls, the last {}", last.shown());
        return match (left_out, by_host) {
            (0, 0) => Finding::pass(seen),
            (0, _) if by_host == count => Finding {
                evidence: seen,
                ..Finding::by_host("the host answered every one of these calls in the application's place")
            },
            (0, _) => Finding::pass(format!("{seen}; the host answered {by_host} of them")),
            _ => Finding { evidence: seen, ..Finding::unknown(format!("{left_out} more calls were not made")) },
        };
    }
    let shown = broken.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join("; ");
    Finding::fail(format!("{} of {count} calls: {shown}", broken.len()))
}

/// Lists what breaks a rule about the description; nothing listed is kept.
fn listed(kept: impl Into<String>, broken: Vec<String>) -> Finding {
    const SHOWN_MAX: usize = 5;
    if broken.is_empty() {
        return Finding::pass(kept);
    }
    let more = broken.len().saturating_sub(SHOWN_MAX);
    let shown = broken.iter().take(SHOWN_MAX).cloned().collect::<Vec<_>>().join("; ");
    Finding::fail(if more > 0 { format!("{shown}; and {more} more") } else { shown })
}

/// Whether a text says anything: one character, whatever signs stand around it, only fills a place.
fn says(text: &str) -> bool {
    text.chars().filter(|c| c.is_alphanumeric()).nth(1).is_some()
}

/// What all of several say alike that are each about something else; so few that it may be chance are not several.
fn alike<T: Ord>(all: impl IntoIterator<Item = T>) -> Option<T> {
    const SEVERAL: usize = 3;
    let (mut count, mut different) = (0, BTreeSet::new());
    for one in all {
        count += 1;
        different.insert(one);
    }
    if count >= SEVERAL && different.len() == 1 { different.pop_first() } else { None }
}

/// What to say when no call decides a rule: `exists` tells whether there is anything that the rule asks about.
fn absent(survey: &Survey, exists: bool, reason: &str) -> Finding {
    if survey.description.commands.is_empty() {
        return Finding::unknown("the program does not describe its commands, so none was called");
    }
    let left_out: usize = survey.left_out.values().sum();
    match (exists, survey.facts.may_change) {
        (true, _) if left_out > 0 => Finding::unknown(format!("{left_out} calls were not made")),
        (false, _) => Finding::not_applicable(reason),
        (true, false) => Finding::unknown("not called: outside a sandbox only reading commands are"),
        (true, true) => Finding::unknown(match survey.unreached.is_empty() {
            true => "no call that was made decides it".to_owned(),
            false => {
                format!("no valid call was found of: {}", read::names(survey.unreached.iter().map(String::as_str)))
            }
        }),
    }
}

/// What to say when no reading command was called.
fn no_reads(survey: &Survey) -> Finding {
    by_effect(survey, Command::is_reading, "no command only reads")
}

/// What to say when no command with some effect was called: commands that do not say what they do may have it.
fn by_effect(survey: &Survey, has: fn(&Command) -> bool, reason: &str) -> Finding {
    let commands = &survey.description.commands;
    if let (false, Some(silent)) = (commands.iter().any(has), commands.iter().find(|command| command.is_silent())) {
        let name = read::named(&silent.name());
        return Finding::unknown(format!("{name} does not say what it may do, so it was not called for this"));
    }
    absent(survey, commands.iter().any(has), reason)
}

/// Whether a call was refused in an orderly way: by a code and an exit status of its own, and without a trace. Whoever looked for something
/// that is not there, asked who calls, or failed in general did not refuse: the call was under way.
fn refused(probe: &Probe) -> Result<(), String> {
    ended(probe)?;
    if !read::failed(&probe.seen) {
        return Err("was accepted".to_owned());
    }
    if probe.seen.unchanged() == Some(false) {
        return Err("changed the state".to_owned());
    }
    let code = read::told(&probe.seen).and_then(|told| told.code).unwrap_or_default();
    match exit::Kind::is_under_way(&code, probe.seen.status) {
        true if code.is_empty() => Err("was not refused, but failed".to_owned()),
        true => Err(format!("was not refused, but failed: {}", read::named(&code))),
        false => Ok(()),
    }
}

/// Whether a call ended by itself.
fn ended(probe: &Probe) -> Result<(), String> {
    match (probe.seen.timed_out, probe.seen.status) {
        (true, _) => Err("it waited".to_owned()),
        (false, None) => Err("it crashed".to_owned()),
        // What a shell says of a program that a signal ended which no program sends itself: an illegal instruction, an abort, a
        // fault. Others are statuses that programs choose: 129 is a usage error of some.
        (false, Some(132 | 134..=136 | 139)) => Err("it crashed".to_owned()),
        (false, Some(_)) => Ok(()),
    }
}

/// Whether a failure has a code and a message.
fn structured(probe: &Probe) -> Result<(), String> {
    let told = read::told(&probe.seen).ok_or("the error is not structured")?;
    match (told.code, told.message) {
        (Some(_), Some(_)) => Ok(()),
        (None, _) => Err("the error has no code".to_owned()),
        (_, None) => Err("the error has no message".to_owned()),
    }
}

/// Whether the last line asks something: a prompt, not a message.
fn prompts(probe: &Probe) -> bool {
    [&probe.seen.stdout, &probe.seen.stderr].into_iter().any(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let last = text.lines().last().unwrap_or_default();
        let question = last.trim_end();
        !text.ends_with('\n')
            && !read::begins_as_json(question.as_bytes())
            && (question.ends_with(['?', ':', '>']) || question.ends_with("[y/N]") || question.ends_with("(y/n)"))
    })
}

/// The project's files, or why a rule about them is not decided.
fn files(survey: &Survey) -> Result<&crate::target::Files, Finding> {
    survey.facts.files.as_ref().ok_or_else(|| Finding::unknown("the project's files were not given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_one_check() {
        let mut ids: Vec<&str> = FAMILIES.iter().flat_map(|family| family.iter().map(|(id, _)| *id)).collect();
        ids.sort_unstable();
        let mut rules: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        rules.sort_unstable();
        assert_eq!(ids, rules);
    }
}
