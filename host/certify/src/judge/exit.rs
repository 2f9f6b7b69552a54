//! X: exit statuses.

use super::errors::failures;
use super::{Check, absent, each, listed};
use crate::read;
use crate::rule::Finding;
use crate::survey::{Purpose, Survey};
use std::collections::BTreeMap;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("X1", success),
    ("X2", general),
    ("X3", usage),
    ("X4", |survey| of_kind(survey, Kind::Authentication)),
    ("X5", |survey| of_kind(survey, Kind::Permission)),
    ("X6", |survey| of_kind(survey, Kind::NotFound)),
    ("X7", |survey| of_kind(survey, Kind::Conflict)),
    ("X8", agree),
    ("X9", no_failure_with_0),
];

/// What a code is about, told by its words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Authentication,
    Permission,
    NotFound,
    Conflict,
    General,
}

impl Kind {
    pub(super) fn of(code: &str) -> Option<Kind> {
        let code = code.to_ascii_uppercase().replace('-', "_");
        let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
        let words: Vec<&str> = code.split('_').collect();
        // What is not there is a word of the call: a usage error.
        let of_usage = ["COMMAND", "SUBCOMMAND", "FLAG", "OPTION", "ARGUMENT", "PARAMETER"];
        if of_usage.iter().any(|word| words.contains(word)) {
            None
        } else if words.contains(&"AUTH")
            || has(&[
                "AUTHENTICAT",
                "UNAUTHORIZED",
                "LOGIN",
                "LOGGED_IN",
                "CREDENTIAL",
                "TOKEN_EXPIRED",
                "TOKEN_INVALID",
            ])
        {
            Some(Kind::Authentication)
        } else if has(&["PERMISSION", "FORBIDDEN", "DENIED", "NOT_ALLOWED"]) {
            Some(Kind::Permission)
        } else if has(&["NOT_FOUND", "NO_SUCH"]) {
            Some(Kind::NotFound)
        } else if has(&["CONFLICT", "PRECONDITION", "CONFIRMATION", "ALREADY", "DUPLICATE", "LOCKED", "BUSY"]) {
            Some(Kind::Conflict)
        } else if has(&["GENERAL", "INTERNAL_ERROR", "UNEXPECTED_ERROR"]) || code == "ERROR" || code == "FAILED" {
            Some(Kind::General)
        } else {
            None
        }
    }

    fn of_status(status: Option<u8>) -> Option<Kind> {
        const ALL: [Kind; 5] = [Kind::Authentication, Kind::Permission, Kind::NotFound, Kind::Conflict, Kind::General];
        ALL.into_iter().find(|kind| Some(kind.status()) == status)
    }

    /// Whether a call that fails so, by its code or by its status, was under way: it asked who calls, looked for something, or failed in
    /// general.
    pub(super) fn is_under_way(code: &str, status: Option<u8>) -> bool {
        let under_way = |kind: Kind| matches!(kind, Kind::Authentication | Kind::NotFound | Kind::General);
        [Kind::of(code), Kind::of_status(status)].into_iter().flatten().any(under_way)
    }

    const fn status(self) -> u8 {
        match self {
            Kind::Authentication => 10,
            Kind::Permission => 11,
            Kind::NotFound => 20,
            Kind::Conflict => 30,
            Kind::General => 1,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Kind::Authentication => "authentication",
            Kind::Permission => "permission",
            Kind::NotFound => "something that is not there",
            Kind::Conflict => "a conflict or precondition",
            Kind::General => "no special kind",
        }
    }
}

/// Every code that is declared, stored or seen, with every status that it comes with.
pub(super) fn codes(survey: &Survey) -> BTreeMap<String, Vec<u8>> {
    let mut codes: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let declared = survey.description.errors.iter().map(|(code, status)| (code.clone(), *status));
    let stored = survey.facts.stored_codes.iter().map(|(code, status)| (code.clone(), Some(*status)));
    let seen = failures(survey).filter_map(|probe| Some((read::told(&probe.seen)?.code?, probe.seen.status)));
    for (code, status) in declared.chain(stored).chain(seen) {
        let statuses = codes.entry(code).or_default();
        statuses.extend(status.filter(|status| *status != 0 && !statuses.contains(status)));
    }
    codes
}

fn success(survey: &Survey) -> Finding {
    // A call that is good on one day is good on another one, unless who calls must come again by then.
    let later = survey.of_purpose(Purpose::MuchLater).filter(|probe| {
        let code = read::told(&probe.seen).and_then(|told| told.code).unwrap_or_default();
        survey.first(probe).is_some_and(|first| first.seen.status == Some(0))
            && Kind::of(&code) != Some(Kind::Authentication)
    });
    let calls = survey.of_purpose(Purpose::Valid).chain(later);
    each(calls, absent(survey, true, ""), |probe| match (probe.seen.status, probe.purpose) {
        (Some(0), _) => Ok(()),
        (_, Purpose::MuchLater) => Err("it was good on another day".to_owned()),
        _ => Err("it did what was asked".to_owned()),
    })
}

/// The statuses between those of the table are nobody's; from 40 on they are a program's own.
fn general(survey: &Survey) -> Finding {
    let codes = codes(survey);
    let unassigned = |status: &&u8| matches!(**status, 3..=9 | 12..=19 | 21..=29 | 31..=39);
    let mut broken = Vec::new();
    let mut general = 0;
    for (code, statuses) in &codes {
        let shown = read::named(code);
        if Kind::of(code) == Some(Kind::General) {
            general += 1;
            broken.extend(statuses.iter().filter(|it| **it != 1).map(|it| format!("{shown} comes with {it}, not 1")));
        } else if let Some(status) = statuses.iter().find(unassigned) {
            broken.push(format!("{shown} comes with {status}, which means nothing; 1 is the general status"));
        }
        general += usize::from(statuses.contains(&1));
    }
    match (broken.is_empty(), general) {
        (true, 0) if codes.is_empty() => Finding::unknown("there are no codes"),
        (true, 0) => Finding::not_applicable("every failure is of a kind with its own status"),
        _ => listed("general failures exit with 1", broken),
    }
}

fn usage(survey: &Survey) -> Finding {
    const MISTAKES: [Purpose; 5] = [
        Purpose::MissingRequired,
        Purpose::UnknownCommand,
        Purpose::UnknownFlag,
        Purpose::ExtraArgument,
        Purpose::WrongType,
    ];
    let failed = survey.of_purposes(&MISTAKES).filter(|probe| read::failed(&probe.seen));
    each(failed, absent(survey, true, ""), |probe| match probe.seen.status {
        Some(2) => Ok(()),
        _ => Err("a usage error exits with 2".to_owned()),
    })
}

fn of_kind(survey: &Survey, kind: Kind) -> Finding {
    let codes = codes(survey);
    let mut broken = Vec::new();
    let mut count = 0;
    for (code, statuses) in codes.iter().filter(|(code, _)| Kind::of(code) == Some(kind)) {
        count += 1;
        let wrong = statuses.iter().filter(|status| **status != kind.status());
        broken.extend(wrong.map(|status| format!("{} comes with {status}, not {}", read::named(code), kind.status())));
    }
    // A conflict has many names; the others have their own status alone.
    if kind != Kind::Conflict {
        let foreign = codes.iter().filter(|(code, it)| Kind::of(code) != Some(kind) && it.contains(&kind.status()));
        broken.extend(foreign.map(|(code, _)| format!("{} comes with {}", read::named(code), kind.status())));
    }
    if count == 0 && broken.is_empty() {
        return match codes.is_empty() {
            true => Finding::unknown("there are no codes"),
            false => Finding::not_applicable(format!("no error code is about {}", kind.name())),
        };
    }
    listed(format!("{count} codes come with {}", kind.status()), broken)
}

fn agree(survey: &Survey) -> Finding {
    let codes = codes(survey);
    if codes.is_empty() {
        return Finding::unknown("there are no codes");
    }
    let several = codes.iter().filter(|(_, statuses)| statuses.len() > 1);
    let mut broken: Vec<String> =
        several.map(|(code, statuses)| format!("{} comes with {statuses:?}", read::named(code))).collect();
    for probe in survey.of_purpose(Purpose::FailingExample) {
        if probe.seen.status != probe.about.parse().ok() && read::failed(&probe.seen) {
            broken.push(format!("{}, the description says {}", probe.shown(), probe.about));
        }
    }
    listed(format!("{} codes", codes.len()), broken)
}

fn no_failure_with_0(survey: &Survey) -> Finding {
    each(survey.probes.iter().filter(|probe| probe.seen.status == Some(0)), absent(survey, true, ""), |probe| {
        let told = read::told(&probe.seen);
        // Text for people may quote a failure.
        let quoted =
            |told: &read::Told| !told.on_stderr && !told.alone && probe.args.iter().any(|word| word == "--human");
        match told.filter(|told| !quoted(told)) {
            Some(told) => Err(format!("it tells the failure {}", read::named(&told.code.unwrap_or_default()))),
            None => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_of_their_kinds() {
        for (code, kind) in [
            ("AUTH_EXPIRED", Some(Kind::Authentication)),
            ("AUTHOR_UNKNOWN", None),
            ("PERMISSION_DENIED", Some(Kind::Permission)),
            ("PACKAGE_NOT_FOUND", Some(Kind::NotFound)),
            ("CONFIRMATION_REQUIRED", Some(Kind::Conflict)),
            ("internal-error", Some(Kind::General)),
            ("UNAUTHORIZED", Some(Kind::Authentication)),
            ("NOT_LOGGED_IN", Some(Kind::Authentication)),
            ("DENIED", Some(Kind::Permission)),
            ("DUPLICATE_TITLE", Some(Kind::Conflict)),
            ("LOCKED", Some(Kind::Conflict)),
            ("COMMAND_NOT_FOUND", None),
            ("OPTION_CONFLICT", None),
            ("USAGE", None),
        ] {
            assert_eq!(Kind::of(code), kind, "{code}");
        }
    }
}
