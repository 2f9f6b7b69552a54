//! C: how a program works with others.

use super::{Check, absent, each, no_reads};
use crate::describe::Command;
use crate::read;
use crate::rule::Finding;
use crate::survey::{Probe, Purpose, Survey};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("C1", data_only),
    ("C2", no_logs),
    ("C3", pipes),
    ("C4", quiet),
    ("C5", chains),
    ("C6", never_waits),
    ("C7", same_result),
];

fn any(survey: &Survey) -> Finding {
    absent(survey, true, "")
}

fn data_only(survey: &Survey) -> Finding {
    let json = survey.of_purpose(Purpose::Valid).filter(|probe| read::first_document(&probe.seen.stdout).is_some());
    each(json, any(survey), |probe| match read::first_document(&probe.seen.stdout) {
        Some((_, true)) => Err("something follows the document".to_owned()),
        _ => Ok(()),
    })
}

/// Words that begin lines of logs.
const LOG_WORDS: [&str; 10] =
    ["info", "warn", "warning", "debug", "trace", "notice", "note:", "[info]", "[warn]", "progress"];

fn no_logs(survey: &Survey) -> Finding {
    each(survey.of_purpose(Purpose::Valid), any(survey), |probe| {
        // One document is the answer, whatever its keys are called.
        if read::document(&probe.seen.stdout).is_some() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&probe.seen.stdout).into_owned();
        let is_log = |line: &&str| {
            let lower = line.trim_start().to_lowercase();
            let json = hutch_model::document::read(lower.as_bytes()).ok();
            let entry = json.is_some_and(|json| json.get("level").is_some() || json.get("progress").is_some());
            entry || LOG_WORDS.iter().any(|word| lower.split([' ', ':']).next() == Some(word.trim_end_matches(':')))
        };
        match text.lines().find(is_log) {
            Some(line) => Err(format!("stdout has a log line: {}", read::shown(line.as_bytes()))),
            None => Ok(()),
        }
    })
}

fn pipes(survey: &Survey) -> Finding {
    each(survey.of_purpose(Purpose::Valid), any(survey), |probe| {
        let text = std::str::from_utf8(&probe.seen.stdout).map_err(|_| "stdout is not UTF-8")?;
        if text.contains('\u{1b}') {
            return Err("stdout has escape sequences".to_owned());
        }
        if text.starts_with('\u{feff}') {
            return Err("stdout begins with a byte order mark".to_owned());
        }
        if text.ends_with('\n') { Ok(()) } else { Err("the last line does not end".to_owned()) }
    })
}

fn quiet(survey: &Survey) -> Finding {
    let answers = |probe: &Probe| survey.valid(probe).is_some_and(|valid| !valid.seen.stdout.is_empty());
    each(survey.of_purpose(Purpose::Quiet), any(survey), |probe| {
        match (probe.seen.status, probe.seen.stderr.is_empty()) {
            (Some(0), true) if probe.seen.stdout.is_empty() && answers(probe) => {
                Err("the answer is silenced too".to_owned())
            }
            (Some(0), true) => Ok(()),
            (Some(0), false) => Err(format!("stderr has {}", read::shown(&probe.seen.stderr))),
            _ => Err(format!("failed: {}{}", read::shown(&probe.seen.stderr), read::shown(&probe.seen.stdout))),
        }
    })
}

fn chains(survey: &Survey) -> Finding {
    let takes = |command: &&Command| survey.description.parameter(command, "json-input").is_some();
    let mut changing = survey.description.commands.iter().filter(|command| !command.is_reading());
    let offered = changing.clone().any(|command| takes(&command));
    if !offered && changing.any(|it| !it.is_destructive()) {
        return Finding::fail("no command takes --json-input");
    }
    let mut chained = survey.of_purpose(Purpose::BatchChained).peekable();
    if chained.peek().is_none() {
        return absent(survey, offered, "no command that changes anything takes a batch");
    }
    match chained.clone().find(|probe| probe.seen.status == Some(0)) {
        Some(probe) => Finding::pass(format!("a listing on standard input: {}", probe.shown())),
        None => each(chained, any(survey), |_| Err("a listing was refused".to_owned())),
    }
}

fn never_waits(survey: &Survey) -> Finding {
    each(survey.of_purpose(Purpose::HeldOpen), no_reads(survey), |probe| match probe.seen.timed_out {
        true => Err("it waits for standard input".to_owned()),
        false if super::prompts(probe) => Err("it asks".to_owned()),
        false => Ok(()),
    })
}

fn same_result(survey: &Survey) -> Finding {
    let again = survey.of_purpose(Purpose::Again).filter(|probe| probe.command.is_some());
    let answer = |purpose, command| {
        let mut of = survey.of_purpose(purpose);
        of.find(|probe| probe.command == command).map(|probe| (&probe.seen.stdout, probe.seen.status))
    };
    each(again, no_reads(survey), |probe| {
        let first = survey.first(probe).map(|first| (&first.seen.stdout, first.seen.status));
        let timed = answer(Purpose::TimedFirst, probe.command);
        let same = first == Some((&probe.seen.stdout, probe.seen.status));
        match same || timed.is_some() && timed == answer(Purpose::TimedAgain, probe.command) {
            true => Ok(()),
            false => Err("the answer is another one than before".to_owned()),
        }
    })
}
