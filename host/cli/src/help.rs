//! Answers to lines that are not carried out: `--help`, `--version`, and mistakes. clap's own texts never reach a program; for a
//! person asking for help they do.

use crate::answer::output::{Format, Output};
use crate::complete;
use crate::line::call_line::CallLine;
use crate::line::words::{self, Words};
use crate::meant::{self, Meant};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::spec::description;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use hutch_documents::agent::BRIEF;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::nearest::nearest;
use serde_json::json;
use std::io::IsTerminal;
use std::process::ExitCode;

/// What a person is shown who calls the program alone.
const GREETING: &str = "\
hutch runs command-line applications that somebody else wrote, without trusting them.

  hutch catalog DIR            the packages in a folder
  hutch find --in DIR WORDS    the commands that do what the words say
  hutch meta PACKAGE           the commands of a package
  hutch run PACKAGE COMMAND    run one; its state is kept
  hutch plan PACKAGE COMMAND   see what it would change, then hutch apply PACKAGE last
  hutch undo PACKAGE           take the last change back
  hutch init DIR               begin a package of your own

hutch help lists all commands, and hutch help COMMAND says all about one.";

/// Whether the greeting names a command: who was led to it reads what it answers.
pub(crate) fn is_greeted(command: &str) -> bool {
    GREETING.split("hutch ").skip(1).any(|line| line.split_whitespace().next() == Some(command))
}

/// Where this word stands in the place of a command.
fn place_of(word: &str, words: &[String]) -> Option<usize> {
    if !words.iter().any(|one| one == word) {
        return None;
    }
    let all = crate::arguments::command_for(None)?;
    let named = Words::command(words, &all).filter(|name| *name == word)?.as_ptr();
    words.iter().position(|one| one.as_ptr() == named)
}

/// `help` where a command stands asks what `--help` asks, and `redo` what `undo --redo` does.
pub(crate) fn as_flags(words: Vec<String>) -> Vec<String> {
    let mut words = as_flag(words);
    if let Some(at) = place_of("redo", &words) {
        words.splice(at..=at, ["undo".to_owned(), "--redo".to_owned()]);
    }
    words
}

fn as_flag(mut words: Vec<String>) -> Vec<String> {
    let Some(at) = place_of("help", &words) else { return words };
    words.remove(at);
    let shape = crate::arguments::command_of(&words);
    let rest = words.split_off(at);
    let named = named_until(&shape, rest.iter());
    // A word that is no command is read as one, and so refused.
    let named = named.max(usize::from(rest.first().is_some_and(|word| !word.starts_with('-'))));
    let (names, rest) = rest.split_at(named.min(rest.len()));
    words.extend(names.iter().cloned().chain(["--help".to_owned()]).chain(rest.iter().cloned()));
    words
}

/// Answers what clap did not parse into a command.
pub(crate) fn answer(line: &CallLine, error: &clap::Error, output: &Output) -> ExitCode {
    let words = line.words();
    let incomplete = matches!(error.kind(), ErrorKind::MissingSubcommand | ErrorKind::MissingRequiredArgument);
    if incomplete && words.host.iter().any(|word| word == "--brief") {
        return brief(output);
    }
    let answered = match error.kind() {
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            if words.named == 1 && (output.format.get() == Format::Human || is_seen()) =>
        {
            output.told(GREETING)
        }
        ErrorKind::DisplayHelp => match output.format.get() {
            // Who sees it directly reads it, unless it is asked for as data.
            format if !output.shaping.selects() && (format == Format::Human || is_seen() && !words.asks("--agent")) => {
                output.told(error.render().to_string())
            }
            _ => describe(&words.host, output),
        },
        ErrorKind::DisplayVersion => match output.format.get() {
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

/// What a call does that has the word in it that was meant.
const MEANT: &str = "makes the call as it was probably meant";

/// Whether a person sees standard output directly.
fn is_seen() -> bool {
    std::io::stdout().is_terminal()
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
    let mut command = crate::arguments::command_of(words);
    command.build();
    let path = path(&command, words);
    output.bare(description::help(&command, &path))
}

/// The words of a line that name a command, as far as they do.
fn path<'w>(root: &clap::Command, words: &'w [String]) -> Vec<&'w str> {
    named(root, words.iter().skip(1)).into_iter().map(|(_, word)| word).collect()
}

/// How many words there are up to the last that names a command.
fn named_until<'w>(root: &clap::Command, words: impl Iterator<Item = &'w String>) -> usize {
    named(root, words).last().map_or(0, |(at, _)| at + 1)
}

fn named<'w>(root: &clap::Command, words: impl Iterator<Item = &'w String>) -> Vec<(usize, &'w str)> {
    let mut at = root;
    let mut found = Vec::new();
    let mut rest = words.enumerate();
    while let Some((place, word)) = rest.next() {
        if words::takes_value(at, word) {
            rest.next();
        } else if let Some(inner) = at.find_subcommand(word) {
            at = inner;
            found.push((place, word.as_str()));
            if !inner.has_subcommands() {
                break;
            }
        }
    }
    found
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
        ErrorKind::MissingRequiredArgument => format!("missing: {}", argument.replace("...", "")),
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
    // What follows a command that there is not may look like one.
    let known = words.host.iter().position(|word| *word == command).unwrap_or(words.host.len());
    let known = words.host.get(..known).unwrap_or_default();
    let root = crate::arguments::command_of(known);
    let path = path(&root, known);
    let mut report = ErrorReport::new(ErrorCode::Usage, message);
    let valid = context(ContextKind::ValidValue);
    let meant = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let at = path.iter().fold(&root, |at, name| at.find_subcommand(name).unwrap_or(at));
            let names = at.get_subcommands().filter(|inner| !inner.is_hide_set()).map(clap::Command::get_name);
            meant::meant(&path, &command, names, line, complete::flag(&words.host, "--home"))
        }
        _ => None,
    };
    let near = match error.kind() {
        ErrorKind::UnknownArgument => near_flag(&root, &path, &argument),
        ErrorKind::InvalidValue => {
            nearest(&value, valid.split(", ").filter(|known| !known.is_empty())).map(str::to_owned)
        }
        _ => None,
    };
    let wrong = [&command, &value, &argument].into_iter().find(|wrong| words.host.contains(wrong));
    let taken = meant::value(&argument, &value).map(|value| vec![value]);
    let option = meant::option(&argument).map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    // What confirms is confirmed by whoever types it, and by nobody who guesses.
    let risk = if near.as_deref() == Some("--yes") { "high" } else { line.risk("low") };
    let mut help = path.clone();
    let commands = meant.as_ref().map(|meant| meant.words.clone()).unwrap_or_default();
    if let Some(Meant { words, risk, line: made, .. }) = meant {
        report = report.suggest(format!("did you mean {}?", words.join(" ")));
        // What can't be made of the line is said by the help of what was meant.
        if made.is_none() && !commands.iter().any(|word| word.starts_with('-')) {
            help.extend(commands.iter().map(String::as_str));
        }
        report = repair::fixed(report, made, MEANT, line.risk(risk));
    } else if let Some(near) = near {
        report = report.suggest(format!("did you mean {near}?"));
        let corrected = wrong.and_then(|wrong| line.replacing(wrong, &[&near]));
        report = repair::fixed(report, corrected, MEANT, risk);
    } else if let Some((wrong, words)) = wrong.zip(taken.or(option)) {
        report = report.suggest(match words.as_slice() {
            [] => "leave it out: answers are JSON unless --human asks for text".to_owned(),
            words => format!("did you mean {}?", words.join(" ")),
        });
        let corrected = line.replacing(wrong, &words.iter().map(String::as_str).collect::<Vec<_>>());
        report = repair::fixed(report, corrected, MEANT, risk);
    } else if let Some(said) = meant::elsewhere(&command).filter(|_| path.is_empty()) {
        report = report.suggest(said);
    } else if !valid.is_empty() {
        report = report.suggest(format!("use one of: {valid}"));
    } else {
        report = report.suggest("ask for --help, which states every parameter");
        if error.kind() == ErrorKind::MissingRequiredArgument && argument.contains("<PACKAGE>") {
            report = repair::fixed(report, line.elsewhere(["catalog"]), "lists what there is", "none");
        }
    }
    for (name, value) in [("argument", argument), ("value", value), ("command", command)] {
        if !value.is_empty() {
            report = report.detail(name, value);
        }
    }
    let help = line.elsewhere(help.into_iter().chain(["--help"]));
    repair::fixed(report, help, "says what can be written there", "none").into()
}

/// The flag of the command at `path` that a word most likely stands for.
fn near_flag(root: &clap::Command, path: &[&str], word: &str) -> Option<String> {
    let at = path.iter().fold(root, |at, name| at.find_subcommand(name).unwrap_or(at));
    let shared = root.get_arguments().filter(|argument| argument.is_global_set());
    let known = at.get_arguments().chain(shared).filter_map(clap::Arg::get_long);
    nearest(word.strip_prefix("--")?, known).map(|name| format!("--{name}"))
}

fn texts(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(texts) => texts.join(", "),
        ContextValue::StyledStr(text) => text.to_string(),
        other => other.to_string(),
    }
}
