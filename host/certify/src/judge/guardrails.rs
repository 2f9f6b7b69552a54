//! G: what is refused for what it is.

use super::safety::no_texts;
use super::{Check, absent, each, ended, listed, refused, structured};
use crate::describe::Command;
use crate::read;
use crate::rule::{Finding, Status};
use crate::survey::{BESIDE, Probe, Purpose, Survey, personal};
use crate::target::Outside;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("G1", unknown_flags),
    ("G2", |survey| each(survey.of_purpose(Purpose::Secret), no_texts(survey), refused)),
    ("G3", |survey| each(survey.of_purpose(Purpose::SensitivePath), no_plain_texts(survey), refused)),
    ("G4", permissions),
    ("G5", redaction),
    ("G6", preconditions),
    ("G7", volume),
    ("G8", |survey| each(survey.of_purpose(Purpose::ShellSyntax), no_plain_texts(survey), refused)),
    ("G9", fail_closed),
];

/// Prose is neither a path nor a command, so it is not judged as one.
fn no_plain_texts(survey: &Survey) -> Finding {
    let exists = survey.description.all_parameters().any(|(_, it)| it.is_text() && !it.is_prose());
    absent(survey, exists, "no parameter takes a text but prose")
}

fn unknown_flags(survey: &Survey) -> Finding {
    each(survey.of_purpose(Purpose::UnknownFlag), absent(survey, true, ""), |probe| {
        refused(probe)?;
        match probe.seen.status {
            Some(2) => Ok(()),
            _ => Err("an unknown flag exits with 2".to_owned()),
        }
    })
}

fn permissions(survey: &Survey) -> Finding {
    if let Some(disorder) = &survey.disorder {
        return Finding::fail(disorder.clone());
    }
    if survey.description.commands.is_empty() {
        return absent(survey, false, "");
    }
    let unsaid = survey.description.commands.iter().filter(|command| command.effect.is_none());
    let mut broken: Vec<String> = unsaid
        .map(|command| format!("{} does not say whether it reads, writes or deletes", read::named(&command.name())))
        .collect();
    const READ: [Purpose; 12] = [
        Purpose::Attempt,
        Purpose::Valid,
        Purpose::First,
        Purpose::Again,
        Purpose::MuchLater,
        Purpose::DeclaredEnvironment,
        Purpose::OtherEnvironment,
        Purpose::Human,
        Purpose::Agent,
        Purpose::Quiet,
        Purpose::Fields,
        Purpose::Stream,
    ];
    let reads = survey.of_purposes(&READ).filter(|probe| survey.command(probe).is_some_and(Command::is_reading));
    let liars = reads.filter(|probe| probe.seen.unchanged() == Some(false));
    broken.extend(liars.map(|probe| format!("{}, it changed the state", probe.shown())));
    let judged = listed("every command says what it may do, and reading commands change nothing", broken);
    match (judged.status, survey.facts.outside) {
        (Status::Pass, Some(Outside::Unseen)) => {
            Finding::unknown("nothing here keeps a program from changing something outside of its home, or sees it")
        }
        _ => judged,
    }
}

fn redaction(survey: &Survey) -> Finding {
    let prose = survey.description.all_parameters().any(|(_, it)| it.free_text);
    let offered = survey.description.all_parameters().any(|(_, it)| it.name == "redact");
    if !survey.description.commands.is_empty() && prose && !offered {
        return Finding::fail("there is prose, and no --redact");
    }
    let none = match prose || offered {
        true => Finding::unknown("no answer showed the personal data that was put in"),
        false => absent(survey, false, "no parameter takes prose, so no answer holds personal data"),
    };
    redacted(survey, Purpose::Redacted, none)
}

/// Whether personal data did not come through, and everything else did.
pub(super) fn redacted(survey: &Survey, purpose: Purpose, none: Finding) -> Finding {
    let personal = personal(survey.facts.draws);
    let holds = |probe: &Probe, text: &str| String::from_utf8_lossy(&probe.seen.stdout).contains(text);
    let plainly =
        |probe: &Probe| probe.args.iter().filter(|word| *word != "--redact").cloned().collect::<Vec<String>>();
    let of_call = |redacted: &Probe| {
        let mut plain = survey.of_purpose(Purpose::Personal).filter(|plain| holds(plain, BESIDE));
        plain.find(|plain| plainly(plain) == plainly(redacted)).map(|plain| plain.seen.status)
    };
    let redacted = survey.of_purpose(purpose).filter(|probe| of_call(probe).is_some());
    each(redacted, none, |probe| match of_call(probe) == Some(probe.seen.status) {
        true if holds(probe, &personal) => Err("personal data came through".to_owned()),
        true if !holds(probe, BESIDE) => Err("what is not personal is gone too".to_owned()),
        true => Ok(()),
        false => Err("ended in another way than without".to_owned()),
    })
}

fn preconditions(survey: &Survey) -> Finding {
    let exists = survey.description.all_parameters().any(|(_, it)| it.is_identifier());
    let none = absent(survey, exists, "no command needs anything to be there");
    each(survey.of_purpose(Purpose::Absent), none, |probe| {
        ended(probe)?;
        structured(probe)
    })
}

fn volume(survey: &Survey) -> Finding {
    let batch = survey.description.all_parameters().any(|(_, it)| it.name == "json-input" || it.repeated);
    let none = absent(survey, batch, "no command takes many things at once");
    each(survey.of_purposes(&[Purpose::BatchTooLarge, Purpose::RepeatedTooOften]), none, |probe| {
        refused(probe)?;
        structured(probe)
    })
}

/// What can't be checked is refused as what is wrong is: nothing of it is looked up or done, and it ends in no crash.
fn fail_closed(survey: &Survey) -> Finding {
    const REFUSED: [Purpose; 7] = [
        Purpose::Overflow,
        Purpose::BatchMalformed,
        Purpose::Secret,
        Purpose::Traversal,
        Purpose::ControlCharacter,
        Purpose::WrongType,
        Purpose::ShellSyntax,
    ];
    each(survey.of_purposes(&REFUSED), no_texts(survey), refused)
}
