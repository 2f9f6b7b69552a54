//! S: what protects from mistakes.

use super::{Check, absent, by_effect, each, listed, refused};
use crate::describe::{Command, Effect};
use crate::read;
use crate::rule::{Finding, Status};
use crate::survey::{HIDDEN, Probe, Purpose, Survey};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("S1", needs_yes),
    ("S2", names_yes),
    ("S3", dry_run),
    ("S4", no_traversal),
    ("S5", no_update),
    ("S6", marks),
    ("S7", quiet_is_no_yes),
    ("S8", sanitize),
];

fn nothing_destructive(survey: &Survey) -> Finding {
    by_effect(survey, Command::is_destructive, "no command is destructive")
}

fn needs_yes(survey: &Survey) -> Finding {
    // What takes something out is destructive, whatever it says that it is.
    let unmarked = survey.description.commands.iter().filter(|command| !command.is_destructive());
    let taken = unmarked.filter_map(|command| {
        let probe = survey.clears_everything(command).or_else(|| survey.loses_rows(command))?;
        Some(format!("{} takes something out without a confirmation: {}", read::named(&command.name()), probe.shown()))
    });
    let taken: Vec<String> = taken.collect();
    if !taken.is_empty() {
        return listed("", taken);
    }
    // A confirmation is one for what the call names.
    let confirmed = survey.description.commands.iter().filter(|command| command.is_destructive());
    let more = confirmed.filter_map(|command| {
        let probe = survey.loses_rows(command)?;
        Some(format!("{} takes out more than it names: {}", read::named(&command.name()), probe.shown()))
    });
    let more: Vec<String> = more.collect();
    if !more.is_empty() {
        return listed("", more);
    }
    let none = match survey.facts.may_change || !survey.description.commands.iter().any(Command::is_destructive) {
        true => nothing_destructive(survey),
        false => Finding::unknown(
            "outside a sandbox no destructive command is called, so a native program that has one reaches no level",
        ),
    };
    each(survey.of_purpose(Purpose::Unconfirmed), none, refused)
}

fn names_yes(survey: &Survey) -> Finding {
    if survey.of_purpose(Purpose::Unconfirmed).next().is_none() {
        return nothing_destructive(survey);
    }
    let denied = survey.of_purpose(Purpose::Unconfirmed).filter(|probe| refused(probe).is_ok());
    each(denied, Finding::fail("no destructive command is refused without a confirmation"), |probe| {
        let text = [probe.seen.stderr.as_slice(), probe.seen.stdout.as_slice()].concat();
        match String::from_utf8_lossy(&text).contains("--yes") {
            true => Ok(()),
            false => Err("the refusal does not name --yes".to_owned()),
        }
    })
}

fn dry_run(survey: &Survey) -> Finding {
    let changing = survey.description.commands.iter().filter(|command| !command.is_reading());
    // An issue is a note about the program: there is nothing to preview.
    let mut changing = changing.filter(|command| command.words.first().is_none_or(|word| word != "issue")).peekable();
    if changing.peek().is_none() {
        return absent(survey, false, "no command changes anything");
    }
    let lacking: Vec<String> = changing
        .filter(|command| survey.description.parameter(command, "dry-run").is_none())
        .map(|command| format!("{} takes no --dry-run", read::named(&command.name())))
        .collect();
    if !lacking.is_empty() {
        return listed("", lacking);
    }
    // The same call for real, made in the same state: only where it changes something does a preview show anything.
    let begin = |probe: &Probe| (probe.command, probe.seen.state.map(|(before, _)| before));
    let real = |probe: &Probe| survey.of_purpose(Purpose::Quiet).find(|real| begin(real) == begin(probe));
    let changes = |probe: &Probe| real(probe).is_some_and(|real| real.seen.unchanged() == Some(false));
    let judged = each(survey.of_purpose(Purpose::DryRun), absent(survey, true, ""), |probe| {
        match (probe.seen.status, probe.seen.unchanged()) {
            (Some(0), Some(true)) => Ok(()),
            (Some(0), Some(false)) => Err("changed the state".to_owned()),
            (Some(0), None) => Err("what it changed can't be seen".to_owned()),
            _ => Err("failed".to_owned()),
        }
    });
    match judged.status {
        Status::Pass if !survey.of_purpose(Purpose::DryRun).any(changes) => {
            Finding::unknown("no call that was tried with --dry-run changes anything without it")
        }
        _ => judged,
    }
}

pub(super) fn no_texts(survey: &Survey) -> Finding {
    let exists = survey.description.all_parameters().any(|(_, it)| it.is_text());
    absent(survey, exists, "no parameter takes a text")
}

fn no_traversal(survey: &Survey) -> Finding {
    each(survey.of_purposes(&[Purpose::Traversal, Purpose::ControlCharacter]), no_texts(survey), refused)
}

/// Words of a program that updates itself.
const UPDATES: [&str; 4] = ["updating to", "self-update", "downloading update", "installing update"];

fn no_update(survey: &Survey) -> Finding {
    let says = |probe: &&Probe| {
        let text = String::from_utf8_lossy(&probe.seen.stderr).to_lowercase();
        UPDATES.iter().any(|word| text.contains(word))
    };
    if let Some(probe) = survey.probes.iter().find(says) {
        return Finding::fail(format!("{}, {}", probe.shown(), read::shown(&probe.seen.stderr)));
    }
    if survey.facts.component {
        return Finding::by_host("a component can't replace itself");
    }
    match survey.program {
        (Some(before), Some(after)) if before == after => {
            Finding::pass(format!("the program is the same after {} calls", survey.probes.len()))
        }
        (Some(_), Some(_)) => Finding::fail("the program is another one after the calls"),
        _ => Finding::unknown("the program's file can't be seen"),
    }
}

fn marks(survey: &Survey) -> Finding {
    if survey.description.commands.is_empty() {
        return absent(survey, false, "");
    }
    let keys = ["effect", "effects", "permission", "destructive", "confirmationRequired", "requires_confirmation"];
    let broken = survey.description.commands.iter().filter_map(|command| {
        let marked = command.effect == Some(Effect::Delete) || command.confirmed;
        let says = keys.iter().any(|key| command.json.get(*key).is_some());
        let name = read::named(&command.name());
        let clears = survey.clears_everything(command);
        let loses = || survey.loses_rows(command);
        match (says, marked) {
            (false, _) => Some(format!("{name} does not say whether it is destructive")),
            (true, true) => None,
            (true, false) if command.is_named_destructive() => Some(format!("{name} is not marked as destructive")),
            (true, false) => {
                let of = |probe: &Probe, what: &str| {
                    format!("{name} is not marked as destructive, and {what}: {}", probe.shown())
                };
                let clears = clears.map(|probe| of(probe, "left the state as it was before the first call"));
                clears.or_else(|| Some(of(loses()?, "took rows out of a listing that it does not name")))
            }
        }
    });
    listed(format!("{} commands", survey.description.commands.len()), broken.collect())
}

fn quiet_is_no_yes(survey: &Survey) -> Finding {
    let denied = |probe: &&Probe| {
        survey.of_purpose(Purpose::Unconfirmed).any(|plain| plain.command == probe.command && refused(plain).is_ok())
    };
    let none = match survey.of_purpose(Purpose::UnconfirmedQuiet).next() {
        Some(_) => Finding::fail("no destructive command is refused without a confirmation"),
        None => nothing_destructive(survey),
    };
    each(survey.of_purpose(Purpose::UnconfirmedQuiet).filter(denied), none, refused)
}

fn sanitize(survey: &Survey) -> Finding {
    let prose = survey.description.all_parameters().any(|(_, it)| it.free_text);
    let offered = survey.description.all_parameters().any(|(_, it)| it.name == "sanitize");
    if !survey.description.commands.is_empty() && prose && !offered {
        return Finding::fail("there is prose from outside, and no --sanitize");
    }
    sanitized(survey, Purpose::Sanitized, absent(survey, prose || offered, "no parameter takes prose from outside"))
}

/// Whether what hides did not come through.
pub(super) fn sanitized(survey: &Survey, purpose: Purpose, none: Finding) -> Finding {
    let escaped = format!("\\u{:04x}", u32::from(HIDDEN));
    each(survey.of_purpose(purpose), none, |probe| {
        let printed = String::from_utf8_lossy(&probe.seen.stdout).to_lowercase();
        match printed.contains(HIDDEN) || printed.contains(&escaped) {
            true => Err("a hidden character came through".to_owned()),
            false if read::failed(&probe.seen) && read::told(&probe.seen).is_none() => Err("failed".to_owned()),
            false => Ok(()),
        }
    })
}
