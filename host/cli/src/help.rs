//! Answers to lines that are not carried out: `--help`, `--version`, and mistakes. clap's own texts never reach a program; for a
//! person asking for help they do.

use crate::arguments::Arguments;
use crate::output::{Fault, Format, Output};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgAction, Command, CommandFactory};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Answers what clap did not parse into a command.
pub(crate) fn answer(words: &[String], error: &clap::Error, output: &Output) -> ExitCode {
    let answered = match error.kind() {
        ErrorKind::DisplayHelp => match output.format {
            Format::Human => output.text(&error.render().to_string()),
            Format::Json => output.json(&describe(words)),
        },
        ErrorKind::DisplayVersion => match output.format {
            Format::Human => output.text(env!("CARGO_PKG_VERSION")),
            Format::Json => output.json(&json!({"name": "hutch", "version": env!("CARGO_PKG_VERSION")})),
        },
        _ => Err(mistake(error)),
    };
    match answered {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => output.fail(&fault),
    }
}

/// One sentence about what is wrong, without clap's layout.
fn mistake(error: &clap::Error) -> Fault {
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
    let mut report = ErrorReport::new(ErrorCode::Usage, message);
    let valid = context(ContextKind::ValidValue);
    let near = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    if let Some(near) = near.into_iter().map(context).find(|near| !near.is_empty()) {
        report = report.suggest(format!("did you mean {near}?"));
    } else if !valid.is_empty() {
        report = report.suggest(format!("use one of: {valid}"));
    } else {
        report = report.suggest("see hutch --help");
    }
    for (name, value) in [("argument", argument), ("value", value), ("command", command)] {
        if !value.is_empty() {
            report = report.detail(name, value);
        }
    }
    report.into()
}

fn texts(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        other => other.to_string(),
    }
}

/// The command that a line names, described.
fn describe(words: &[String]) -> Value {
    let mut command = Arguments::command();
    command.build();
    let mut at = &command;
    for word in words.iter().skip(1) {
        if let Some(inner) = at.find_subcommand(word) {
            at = inner;
        }
    }
    let mut described = describe_command(at);
    if let Some(fields) = described.as_object_mut() {
        fields.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        fields.insert(
            "commands".to_owned(),
            at.get_subcommands().filter(|inner| !inner.is_hide_set()).map(describe_command).collect(),
        );
    }
    described
}

fn describe_command(command: &Command) -> Value {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let parameters = command.get_arguments().filter(|argument| !argument.is_hide_set()).map(|argument| {
        let flag = matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::Help | ArgAction::Version);
        let choices: Vec<String> = match flag {
            true => Vec::new(),
            false => argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
        };
        let defaults: Vec<String> =
            argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
        json!({
            "name": argument.get_long().map_or_else(|| argument.get_id().to_string(), |long| format!("--{long}")),
            "type": if flag { "boolean" } else if choices.is_empty() { "string" } else { "enum" },
            "value": argument.get_value_names().filter(|_| !flag).and_then(<[_]>::first).map(ToString::to_string),
            "required": argument.is_required_set(),
            "repeated": matches!(argument.get_action(), ArgAction::Append),
            "default": defaults.first().filter(|_| !flag),
            "choices": choices,
            "help": argument.get_help().map(ToString::to_string).unwrap_or_default(),
        })
    });
    json!({ "name": command.get_name(), "help": about, "parameters": parameters.collect::<Vec<_>>() })
}
