//! E: how failures are told.

use super::{Check, absent, each, prompts, says};
use crate::read::{self, Form};
use crate::rule::Finding;
use crate::survey::{Probe, Purpose, Survey};
use std::collections::BTreeSet;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("E1", on_stderr),
    ("E2", nothing_on_stdout),
    ("E3", valid_json),
    ("E4", code),
    ("E5", message),
    ("E6", suggestion),
    ("E7", never_asks),
    ("E8", stable_codes),
];

/// The calls that failed and were to be answered for programs.
pub(super) fn failures(survey: &Survey) -> impl Iterator<Item = &Probe> + Clone {
    survey.failures().filter(|probe| {
        let human = probe.args.iter().any(|word| word == "--human");
        // What is passed through is somebody else's failure, unless it is told on standard error.
        let passed = probe.args.first().is_some_and(|word| survey.facts.pass_through.contains(word));
        !(human || probe.seen.timed_out || passed && probe.seen.stderr.is_empty())
    })
}

pub(super) fn no_failure() -> Finding {
    Finding::unknown("no call failed")
}

fn on_stderr(survey: &Survey) -> Finding {
    each(failures(survey), no_failure(), |probe| match read::told(&probe.seen) {
        None => Err(format!("no structured error: {}{}", shown(&probe.seen.stderr), shown(&probe.seen.stdout))),
        Some(told) if !told.on_stderr => Err("the error is on stdout".to_owned()),
        Some(told) if told.form != Form::Flat => Err("the error is not {\"error\":true,…}".to_owned()),
        Some(_) => Ok(()),
    })
}

fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() { String::new() } else { read::shown(bytes) }
}

fn nothing_on_stdout(survey: &Survey) -> Finding {
    each(failures(survey), no_failure(), |probe| match probe.seen.stdout.is_empty() {
        true => Ok(()),
        false => Err(format!("stdout holds {}", read::shown(&probe.seen.stdout))),
    })
}

fn of_told(survey: &Survey, check: impl Fn(read::Told) -> Result<(), String>) -> Finding {
    each(failures(survey), no_failure(), |probe| check(read::told(&probe.seen).ok_or("no structured error")?))
}

fn valid_json(survey: &Survey) -> Finding {
    of_told(survey, |told| match told.alone {
        true => Ok(()),
        false => Err("other text stands beside the error's JSON".to_owned()),
    })
}

/// How many different mistakes one text can't be about.
const DIFFERENT: usize = 3;

/// What every failure says in the same words, though they are of different kinds.
fn same_for_all(survey: &Survey, part: impl Fn(read::Told) -> Option<String>) -> Option<String> {
    let said = || failures(survey).filter_map(|probe| Some((probe.purpose, part(read::told(&probe.seen)?)?)));
    let kinds: BTreeSet<Purpose> = said().map(|(purpose, _)| purpose).collect();
    let texts: BTreeSet<String> = said().map(|(_, text)| text).collect();
    let mut texts = texts.into_iter();
    match (kinds.len() >= DIFFERENT, texts.next(), texts.next()) {
        (true, Some(only), None) => Some(only),
        _ => None,
    }
}

fn code(survey: &Survey) -> Finding {
    if let Some(code) = same_for_all(survey, |told| told.code) {
        return Finding::fail(format!("every failure has the code {}, so it tells nothing", read::named(&code)));
    }
    of_told(survey, |told| match told.code {
        Some(code) if is_code(&code) => Ok(()),
        Some(code) => Err(format!("the code {} is not one word", read::quoted(&code))),
        None => Err("the error has no code".to_owned()),
    })
}

fn is_code(code: &str) -> bool {
    !code.is_empty() && code.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// A text is a message too: that it stands in no JSON is E1's matter.
fn message(survey: &Survey) -> Finding {
    if let Some(message) = same_for_all(survey, |told| told.message) {
        return Finding::fail(format!("every failure has the message {}, so it tells nothing", read::quoted(&message)));
    }
    each(failures(survey), no_failure(), |probe| {
        let Some(told) = read::told(&probe.seen) else {
            return match probe.seen.stderr.trim_ascii().is_empty() {
                true => Err("there is no message".to_owned()),
                false => Ok(()),
            };
        };
        match told.message.as_deref().map(str::trim) {
            Some(message) if says(message) && Some(message) != told.code.as_deref() => Ok(()),
            _ => Err("the error has no message".to_owned()),
        }
    })
}

fn suggestion(survey: &Survey) -> Finding {
    of_told(survey, |told| match told.suggestion.is_some_and(|text| says(&text)) {
        true => Ok(()),
        false => Err("the error has no suggestion".to_owned()),
    })
}

/// Nothing asks, nothing waits, and answers that wait on standard input change nothing.
fn never_asks(survey: &Survey) -> Finding {
    let mistakes = survey
        .probes
        .iter()
        .filter(|probe| matches!(probe.purpose, Purpose::MissingAnswered) || read::failed(&probe.seen));
    each(mistakes, no_failure(), |probe| {
        if probe.seen.timed_out {
            return Err("it waited".to_owned());
        }
        if prompts(probe) {
            return Err(format!("it asks: {}", read::shown(&probe.seen.stderr)));
        }
        let plain = survey.of_purpose(Purpose::MissingRequired).find(|plain| plain.command == probe.command);
        match (probe.purpose, plain) {
            (Purpose::MissingAnswered, Some(plain))
                if (plain.seen.status, &plain.seen.stdout) != (probe.seen.status, &probe.seen.stdout) =>
            {
                Err("it reads answers from standard input".to_owned())
            }
            _ => Ok(()),
        }
    })
}

fn stable_codes(survey: &Survey) -> Finding {
    let declared: Vec<&str> = survey.description.errors.iter().map(|(code, _)| code.as_str()).collect();
    let stored: Vec<&str> = survey.facts.stored_codes.iter().map(|(code, _)| code.as_str()).collect();
    if declared.is_empty() && stored.is_empty() {
        return Finding::unknown("there is no stored list of codes, and --help lists no errors");
    }
    if let Some(gone) = stored.iter().find(|code| !declared.is_empty() && !declared.contains(code)) {
        return Finding::fail(format!("the stored code {} is not declared any more", read::named(gone)));
    }
    let host: Vec<&str> = survey.facts.host_codes.iter().map(|(code, _)| code.as_str()).collect();
    let code = |probe: &Probe| read::told(&probe.seen).and_then(|told| told.code);
    let coded = failures(survey).filter(|probe| code(probe).is_some());
    each(coded, absent(survey, true, ""), |probe| {
        let found = code(probe).unwrap_or_default();
        if ![&declared, &stored, &host].iter().any(|codes| codes.contains(&found.as_str())) {
            return Err(format!("the code {} is in no stored list", read::named(&found)));
        }
        let first = survey.of_purpose(Purpose::MissingRequired).find(|first| first.args == probe.args);
        match first.and_then(code) {
            Some(first) if probe.purpose == Purpose::MissingAgain && first != found => {
                Err(format!("the same call had the code {} before", read::named(&first)))
            }
            _ => Ok(()),
        }
    })
}
