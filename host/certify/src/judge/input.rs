//! I: how arguments are taken.

use super::{Check, absent, each, listed, no_reads, prompts, refused, structured};
use crate::read;
use crate::rule::Finding;
use crate::survey::{MODES, Probe, Purpose, Survey};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("I1", long_names),
    ("I2", positional),
    ("I3", batches),
    ("I4", missing),
    ("I5", wrong_type),
    ("I6", negated),
    ("I7", arrays),
    ("I8", no_implicit_state),
    ("I9", authentication),
];

fn described(survey: &Survey) -> Option<Finding> {
    let nothing = survey.description.commands.is_empty();
    nothing.then(|| Finding::unknown("the program does not describe its commands"))
}

fn long_names(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let flags: Vec<_> = survey.description.all_parameters().filter(|(_, it)| it.position.is_none()).collect();
    let short = flags.iter().filter(|(_, flag)| flag.name.chars().count() < 2 || flag.name.starts_with('-'));
    let broken = short
        .map(|(command, flag)| format!("{}: {} is no long name", read::named(command), read::quoted(&flag.name)))
        .collect();
    listed(format!("{} flags", flags.len()), broken)
}

fn positional(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let mut broken = Vec::new();
    for command in &survey.description.commands {
        let positional = command.positional();
        for (at, pair) in positional.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let name = read::named(&command.name());
            if before.position == after.position {
                let (before, after) = (read::named(&before.name), read::named(&after.name));
                broken.push(format!("{name}: {before} and {after} share a place"));
            }
            if before.repeated || (!before.required && after.required) {
                broken.push(format!("{name}: what stands at place {} is not certain", at + 1));
            }
        }
    }
    if !broken.is_empty() {
        return listed("", broken);
    }
    let none = Finding::pass("every place has one meaning");
    each(survey.of_purpose(Purpose::ExtraArgument), none, refused)
}

fn changing(survey: &Survey) -> bool {
    survey.description.commands.iter().any(|command| !command.is_reading() && !command.is_destructive())
}

fn batches(survey: &Survey) -> Finding {
    let takes = |command: &crate::describe::Command| survey.description.parameter(command, "json-input").is_some();
    let offered = survey.description.commands.iter().any(takes);
    if !offered && changing(survey) {
        return Finding::fail("no command takes --json-input");
    }
    let mut tried: Vec<Option<usize>> = survey.of_purpose(Purpose::Batch).map(|probe| probe.command).collect();
    tried.dedup();
    if tried.is_empty() {
        return absent(survey, offered, "no command changes anything");
    }
    let taken = |command: &Option<usize>| {
        survey.of_purpose(Purpose::Batch).any(|probe| probe.command == *command && probe.seen.status == Some(0))
    };
    let of = |purpose, command: &Option<usize>| {
        let mut calls = survey.of_purpose(purpose).filter(|probe| probe.seen.status == Some(0));
        calls.find(|probe| probe.command == *command)
    };
    let changed = |probe: &Probe| probe.seen.unchanged() == Some(false);
    let idle = |command: &Option<usize>| {
        let alone = of(Purpose::BatchAlone, command).is_some_and(changed);
        let by_batch = |probe: &Probe| probe.command == *command && probe.seen.status == Some(0) && changed(probe);
        alone && taken(command) && !survey.of_purpose(Purpose::Batch).any(by_batch)
    };
    // Where each of two entries changes something, both change something else than the first.
    let halved = |command: &Option<usize>| {
        let after = |probe: &Probe| probe.seen.state.map(|(_, after)| after);
        let one = of(Purpose::Batch, command).filter(|probe| changed(probe));
        let other = of(Purpose::BatchOther, command).filter(|probe| changed(probe));
        let (Some(one), Some(_), Some(two)) = (one, other, of(Purpose::BatchOfTwo, command)) else { return false };
        after(one) == after(two)
    };
    let name = |command: &Option<usize>| survey.description.commands.get((*command)?).map(|command| command.name());
    let broken = tried.iter().filter_map(|command| {
        let what = match (taken(command), idle(command), halved(command)) {
            (false, ..) => "took a batch of one in no known form",
            (_, true, _) => "took a batch, and did nothing",
            (.., true) => "took a batch of two, and did one of it",
            _ => return None,
        };
        Some(format!("{} {what}", read::named(&name(command)?)))
    });
    listed(format!("{} commands took a batch", tried.len()), broken.collect())
}

fn missing(survey: &Survey) -> Finding {
    let commands = survey.description.commands.iter();
    let exists = commands.flat_map(|command| &command.parameters).any(|parameter| parameter.required);
    let none = absent(survey, exists, "no command has a required parameter");
    let mistakes = survey.of_purposes(&[Purpose::MissingRequired, Purpose::MissingValue]);
    each(mistakes, none, |probe| {
        refused(probe)?;
        structured(probe)?;
        match (probe.purpose, probe.seen.status) {
            _ if prompts(probe) => Err("it asks".to_owned()),
            (Purpose::MissingValue, status) if status != Some(2) => Err("a usage error exits with 2".to_owned()),
            _ => Ok(()),
        }
    })
}

fn wrong_type(survey: &Survey) -> Finding {
    let typed = survey.description.all_parameters().any(|(_, it)| !it.is_text() && !it.is_switch());
    let none = absent(survey, typed, "every value may be any text");
    each(survey.of_purpose(Purpose::WrongType), none, |probe| {
        refused(probe)?;
        structured(probe)?;
        match probe.seen.status {
            Some(2) => Ok(()),
            _ => Err("a usage error exits with 2".to_owned()),
        }
    })
}

fn negated(survey: &Survey) -> Finding {
    let own = |command: &crate::describe::Command| {
        let mut switches = command.parameters.iter().filter(|it| it.is_switch());
        switches.any(|it| !MODES.contains(&it.name.as_str()) && !it.name.starts_with("no-"))
    };
    let exists = survey.description.commands.iter().any(own);
    let none = absent(survey, exists, "there are no switches but those that every program has");
    each(survey.of_purpose(Purpose::Negated), none, |probe| match probe.seen.status {
        Some(0) => Ok(()),
        _ => Err(format!("--no-{} is refused", read::named(&probe.about))),
    })
}

/// One of the two ways is enough. Where one value alone is refused, it is the value that is wrong, and nothing is known.
fn arrays(survey: &Survey) -> Finding {
    let exists = survey.description.all_parameters().any(|(_, it)| it.repeated && it.position.is_none());
    let none = absent(survey, exists, "no flag takes several values");
    let taken = |purpose, probe: &Probe| {
        let mut same = survey.of_purpose(purpose);
        same.any(|other| (other.command, &other.about) == (probe.command, &probe.about) && other.seen.status == Some(0))
    };
    let decided = survey.of_purpose(Purpose::Repeated).filter(|probe| taken(Purpose::Single, probe));
    let none = match survey.of_purpose(Purpose::Single).next() {
        Some(single) => Finding::unknown(format!("no flag took even one value that was tried: {}", single.shown())),
        None => none,
    };
    let shows = |probe: &Probe, value: &str| String::from_utf8_lossy(&probe.seen.stdout).contains(value);
    each(decided, none, |probe| {
        if !taken(Purpose::Repeated, probe) {
            return Err(format!("--{} can't be given several values", read::named(&probe.about)));
        }
        // Where the answer shows one value, it shows both.
        let same = |other: &&Probe| (other.command, &other.about) == (probe.command, &probe.about);
        let single = survey.of_purpose(Purpose::Single).find(same);
        let first = single.and_then(|single| value_of(single).filter(|value| shows(single, value)));
        let values = survey.of_purpose(Purpose::Repeated).filter(same).flat_map(values_of);
        let (Some(first), Some(second)) = (first, values.clone().find(|value| Some(*value) != first)) else {
            return Ok(());
        };
        let mut several = survey.of_purpose(Purpose::Repeated).filter(same);
        match several.any(|probe| probe.seen.status == Some(0) && shows(probe, first) && shows(probe, second)) {
            true => Ok(()),
            false => Err(format!("of several values of --{} one is kept", read::named(&probe.about))),
        }
    })
}

/// The values that a call gives the parameter which it is about.
fn values_of(probe: &Probe) -> impl Iterator<Item = &str> + Clone {
    let flag = format!("--{}", probe.about);
    probe.args.windows(2).filter(move |two| two[0] == flag && !two[1].contains(',')).map(|two| two[1].as_str())
}

fn value_of(probe: &Probe) -> Option<&str> {
    values_of(probe).next()
}

/// What changes by itself is C7's matter.
fn no_implicit_state(survey: &Survey) -> Finding {
    if survey.facts.component {
        let declared = match survey.facts.environment.is_empty() {
            true => "none is declared".to_owned(),
            false => format!("declared are {}", read::names(survey.facts.environment.iter().map(String::as_str))),
        };
        let host = "no file but the package's own and no variable that is not declared reaches a component";
        return Finding::by_host(format!("{host}; {declared}"));
    }
    each(survey.of_purpose(Purpose::OtherEnvironment), no_reads(survey), |probe| {
        let first = survey.first(probe).map(|first| &first.seen.stdout);
        let again = survey.of_purpose(Purpose::Again).find(|again| again.command == probe.command);
        let stable = again.is_some_and(|again| Some(&again.seen.stdout) == first);
        if stable && Some(&probe.seen.stdout) != first {
            return Err("the answer depends on the environment".to_owned());
        }
        Ok(())
    })
}

/// Words in the names of parameters that carry credentials.
const CREDENTIALS: [&str; 6] = ["token", "api-key", "password", "secret", "credential", "auth"];

fn authentication(survey: &Survey) -> Finding {
    if let Some(finding) = described(survey) {
        return finding;
    }
    let codes = super::exit::codes(survey);
    let fails = codes.iter().any(|(code, _)| super::exit::Kind::of(code) == Some(super::exit::Kind::Authentication));
    if !fails {
        return Finding::not_applicable("nothing needs authentication: there is no such error code");
    }
    let carries = |name: &str| CREDENTIALS.iter().any(|word| name.contains(word));
    let flag = survey.description.all_parameters().find(|(_, it)| carries(&it.name));
    let Some((command, flag)) = flag else {
        return Finding::fail("authentication can fail, but no parameter carries a credential");
    };
    let asked = survey.probes.iter().find(|probe| {
        let told = read::told(&probe.seen).and_then(|told| told.code).unwrap_or_default();
        super::exit::Kind::of(&told) == Some(super::exit::Kind::Authentication)
            && (probe.seen.timed_out || prompts(probe))
    });
    match asked {
        Some(probe) => Finding::fail(format!("{}, it asks", probe.shown())),
        None => {
            Finding::pass(format!("{} takes --{}, and nothing asks", read::named(&command), read::named(&flag.name)))
        }
    }
}
