//! The guardrails for the host's own parameters (rules G2, G3, G8, S4): strict, and there is no flag that waives them. What is
//! declared as text for people may hold shell syntax, and a path of the caller's own may lead upwards: the caller may go there anyhow,
//! and no guest gets it. The guest's arguments are judged by the library, as their package says, and a command that builds a package is the caller's own.

use crate::refusal::fault::Fault;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::guard::{self, Rule};
use hutch_model::manifest::Guard;

/// How often one flag may be given (rule G7).
const VALUES_MAX: usize = 256;

/// What belongs to a guest: the trailing words, and what it reads.
pub(crate) const GUEST: [&str; 2] = ["arguments", "stdin_text"];

/// The caller's own command that builds a package.
const BUILD: &str = "build";

/// Judges every value on the line. A value that can't be read as text is refused: nobody has judged it.
pub(crate) fn check(command: &Command, matches: &ArgMatches) -> Result<(), Fault> {
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        if GUEST.contains(&id) || id == BUILD || !matches.try_contains_id(id).unwrap_or(false) {
            continue;
        }
        // What nobody wrote needs no judgement.
        if matches.value_source(id) == Some(ValueSource::DefaultValue) {
            continue;
        }
        let Ok(Some(values)) = matches.try_get_raw(id) else { continue };
        if values.len() > VALUES_MAX {
            let name = parameter_name(argument);
            return Err(Fault::usage(format!(
                "{name} is given {} times; at most {VALUES_MAX} are taken",
                values.len()
            )));
        }
        for value in values {
            let policy = if is_prose(argument) { Guard::Text } else { Guard::Strict };
            match value.to_str() {
                Some(text) => guard::check(&[judged(argument, text)], policy, None, None)
                    .map_err(|violation| refused(argument, violation.rule, violation.what))?,
                None => return Err(refused(argument, Rule::TraversalAndControl, "is not text")),
            }
        }
    }
    match matches.subcommand() {
        Some((name, matches)) => command.find_subcommand(name).map_or_else(
            // A command that the description does not know: nobody can judge its values.
            || Err(Fault::usage("the command line can't be judged")),
            |inner| check(inner, matches),
        ),
        None => Ok(()),
    }
}

/// How the files of keys and certificates end that the host reads.
const KEY_ENDINGS: [&str; 2] = [".pem", ".key"];

/// Whether a value is prose: its name on the line says so, as `TEXT` or `NAME=TEXT`.
pub(crate) fn is_prose(argument: &Arg) -> bool {
    argument.get_value_names().is_some_and(|names| names.iter().any(|name| name.ends_with("TEXT")))
}

/// Whether a value is a path of the caller's own: its name on the line says so, as `DIR`, `PACKAGE` or `DIR:NAME`.
pub(crate) fn is_path(argument: &Arg) -> bool {
    const PATHS: [&str; 6] = ["DIR", "FILE", "KEYFILE", "PACKAGE", "REF", "SOURCE"];
    let named = |name: &str| PATHS.contains(&name.split(':').next().unwrap_or(name));
    argument.get_value_names().is_some_and(|names| names.iter().any(|name| named(name)))
}

/// Whether a value names a file with a key or a certificate, which the host itself reads or makes.
pub(crate) fn is_key_file(argument: &Arg) -> bool {
    argument.get_value_names().is_some_and(|names| names.iter().any(|name| name == "KEYFILE"))
}

/// What of a value is judged: in a path not the steps upwards, and in what leads through an answer each name, which is no file's.
fn judged(argument: &Arg, text: &str) -> String {
    if ["query", "bisect"].contains(&argument.get_id().as_str()) {
        return text.replace('.', " ");
    }
    // A key or a certificate, which the host itself reads: what else is sensitive, its name says that it is this.
    let text = match is_key_file(argument) {
        true => KEY_ENDINGS.iter().find_map(|ending| text.strip_suffix(ending)).unwrap_or(text),
        false => text,
    };
    match is_path(argument) {
        true => text.split('/').map(|step| if step == ".." { "." } else { step }).collect::<Vec<_>>().join("/"),
        false => text.to_owned(),
    }
}

fn refused(argument: &Arg, rule: Rule, what: &str) -> Fault {
    let name = parameter_name(argument);
    let suggestion = match rule {
        Rule::Secrets => "pass secrets with --secret NAME, from the environment",
        Rule::SensitivePaths => "copy what is needed to a file of another name",
        Rule::ShellMetacharacters => "no shell reads it: leave shell syntax out",
        Rule::TraversalAndControl => {
            "write the path without .. and without control characters, from the root if need be"
        }
        _ => "leave out what the rule refuses",
    };
    ErrorReport::new(ErrorCode::ArgumentRefused, format!("{name} {what} (rule {})", rule.id()))
        .suggest(suggestion)
        .detail("rule", rule.id())
        .detail("argument", name)
        .into()
}

/// A parameter as it is written: `--human`, `PACKAGE`.
pub(crate) fn parameter_name(argument: &Arg) -> String {
    match (argument.get_long(), value_name(argument)) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(name)) => name,
        (None, None) => argument.get_id().to_string(),
    }
}

pub(crate) fn value_name(argument: &Arg) -> Option<String> {
    argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string)
}
