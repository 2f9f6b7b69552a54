//! Answers to lines that are not carried out: `--help`, `--version`, and mistakes. clap's own texts never reach a program; for a
//! person asking for help they do.

use crate::agent::BRIEF;
use crate::description;
use crate::fault::Fault;
use crate::line::CallLine;
use crate::output::{Format, Output};
use crate::repair;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::json;
use std::process::ExitCode;

/// Answers what clap did not parse into a command.
pub(crate) fn answer(line: &CallLine, error: &clap::Error, output: &Output) -> ExitCode {
    let words = line.words();
    let incomplete = matches!(error.kind(), ErrorKind::MissingSubcommand | ErrorKind::MissingRequiredArgument);
    if incomplete && words.host.iter().any(|word| word == "--brief") {
        return brief(output);
    }
    let answered = match error.kind() {
        ErrorKind::DisplayHelp => match output.format {
            Format::Human if !output.shaping.selects() => output.told(error.render().to_string()),
            _ => describe(&words.host, output),
        },
        ErrorKind::DisplayVersion => match output.format {
            Format::Human => output.told(env!("CARGO_PKG_VERSION")),
            Format::Json => output.json(&json!({"name": "hutch", "version": env!("CARGO_PKG_VERSION")})),
        },
        _ => Err(mistake(line, error)),
    };
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => output.fail(&fault),
    }
}

/// Prints the one paragraph of `agent/brief.md` (rule D15).
pub(crate) fn brief(output: &Output) -> ExitCode {
    match output.data(BRIEF) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => output.fail(&fault),
    }
}

/// Describes the command that a line names.
fn describe(words: &[String], output: &Output) -> Result<(), Fault> {
    let mut command = crate::arguments::command();
    command.build();
    let path = path(&command, words);
    output.bare(description::help(&command, &path))
}

/// The words of a line that name a command, as far as they do.
fn path<'w>(root: &clap::Command, words: &'w [String]) -> Vec<&'w str> {
    let mut at = root;
    let mut path = Vec::new();
    for word in words.iter().skip(1) {
        if let Some(inner) = at.find_subcommand(word) {
            at = inner;
            path.push(word.as_str());
            if !inner.has_subcommands() {
                break;
            }
        }
    }
    path
}

/// One sentence about what is wrong, without clap's layout.
fn mistake(line: &CallLine, error: &clap::Error) -> Fault {
    let words = line.words();
    let context = |kind| error.get(kind).map(texts).unwrap_or_default();
    let (argument, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    let command = context(ContextKind::InvalidSubcommand);
    let message = match error.kind() {
        ErrorKind::UnknownArgument => format!("there is no option {argument}"),
        ErrorKind::InvalidSubcommand => format!("there is no command {command}"),
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "a command is missing".to_owned()
        }
        ErrorKind::MissingRequiredArgument => format!("missing: {argument}"),
        ErrorKind::ArgumentConflict => {
            format!("{argument} can't be given together with {}", context(ContextKind::PriorArg))
        }
        ErrorKind::NoEquals | ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("{argument} needs a value")
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("{argument} needs a value"),
        ErrorKind::InvalidValue => format!("{value:?} is not a value of {argument}"),
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
            format!("{value:?} is not a value of {argument}{reason}")
        }
        _ => "the command line can't be read".to_owned(),
    };
    let root = crate::arguments::command();
    // What follows a command that there is not may look like one.
    let known = words.host.iter().position(|word| *word == command).unwrap_or(words.host.len());
    let path = path(&root, words.host.get(..known).unwrap_or_default());
    let mut report = ErrorReport::new(ErrorCode::Usage, message);
    let valid = context(ContextKind::ValidValue);
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let near =
        near_command(&root, &path, &command).or_else(|| near.into_iter().map(context).find(|near| !near.is_empty()));
    if let Some(near) = near {
        report = report.suggest(format!("did you mean {near}?"));
        // Several are separated by commas; one alone can take the place of what was written.
        let wrong = [&command, &value, &argument].into_iter().find(|wrong| words.host.contains(wrong));
        if let Some(wrong) = wrong.filter(|_| !near.contains(", ")) {
            let corrected = line.replacing(wrong, &near);
            report = repair::fixed(report, corrected, "makes the call as it was probably meant", "low");
        }
    } else if !valid.is_empty() {
        report = report.suggest(format!("use one of: {valid}"));
    } else {
        report = report.suggest("ask for --help, which states every parameter");
    }
    for (name, value) in [("argument", argument), ("value", value), ("command", command)] {
        if !value.is_empty() {
            report = report.detail(name, value);
        }
    }
    let help = line.elsewhere(path.into_iter().chain(["--help"]));
    repair::fixed(report, help, "says what can be written there", "none").into()
}

/// The command of those at `path` that differs least from a word, if it is near.
fn near_command(root: &clap::Command, path: &[&str], word: &str) -> Option<String> {
    if word.is_empty() {
        return None;
    }
    let at = path.iter().fold(root, |at, name| at.find_subcommand(name).unwrap_or(at));
    let names = at.get_subcommands().filter(|inner| !inner.is_hide_set()).map(clap::Command::get_name);
    let near = names.min_by_key(|name| strsim::osa_distance(name, word))?;
    (strsim::osa_distance(near, word) <= 2).then(|| near.to_owned())
}

fn texts(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        other => other.to_string(),
    }
}
