//! The `hutch` program. Parses the command line, calls the library, prints one answer. The only crate that prints; exit statuses
//! leave through `main` alone.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod answer;
mod answers;
mod arguments;
mod call;
mod commands;
mod complete;
mod feedback;
mod flags;
mod help;
mod line;
mod machine;
mod meant;
mod package;
mod refusal;
mod screen;
mod spec;

use answer::output::{Format, Output};
use arguments::{Arguments, Command};
use clap::FromArgMatches;
use clap::error::ErrorKind;
use flags::shaping::Shaping;
use flags::{arguments_guard, pairs};
use line::call_line::CallLine;
use line::words::Words;
use machine::{progress, ring, stores, surroundings};
use refusal::fault::Fault;
use spec::known;
use std::mem::ManuallyDrop;
use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "the program's words are its own")]
fn main() -> ExitCode {
    hutch_sandbox::outlive_file_limits();
    match complete::answered() {
        Ok(false) => {}
        Ok(true) => return ExitCode::SUCCESS,
        Err(error) => return Output::new(Format::Json, false).fail(&Fault::usage(error.to_string())),
    }
    let words: Vec<String> = match std::env::args_os().map(std::ffi::OsString::into_string).collect() {
        Ok(words) => words,
        Err(word) => {
            let message = format!("the argument {} is not UTF-8", word.display());
            return Output::new(Format::Json, false).fail(&Fault::usage(message));
        }
    };
    let Line { command, words, parsed } = Line::read(help::as_flags(words));
    let line =
        CallLine::new(words.clone(), surroundings::home_variable()).beside(|| arguments::command_for(Some("run")));
    let mut output = Output::new(Format::asked_for(&words.host), words.host.iter().any(|word| word == "--quiet"));
    output.typed = line.text();
    match parsed {
        Ok((mut arguments, matches)) => {
            let home = arguments.global.home.as_ref().map(|home| home.display().to_string());
            arguments.global.line = line.with_home(home);
            output.typed = arguments.global.line.text();
            output.shaping = Shaping::of(&arguments.global);
            let is_greeted = matches.subcommand_name().is_some_and(help::is_greeted);
            output.settle(&arguments.global, is_greeted && !is_document(&matches));
            progress::settle(&arguments.global, pairs::is_refused(&matches, "progress"));
            let judged = surroundings::check_format(&arguments.global, matches!(arguments.command, Command::Doctor(_)))
                .and_then(|()| pairs::check(&command, &matches))
                .and_then(|()| arguments_guard::check(&command, &matches))
                .and_then(|()| known::check(&answers(&arguments, &matches), is_list(&matches), &output.shaping));
            match judged {
                Ok(()) if arguments.global.brief => help::brief(&output),
                Ok(()) => carry_out(arguments, &output),
                Err(fault) => output.fail(&fault),
            }
        }
        Err(error) => {
            // Help is an answer too; what is said about a mistake is none.
            let shaping = match error.kind() {
                ErrorKind::DisplayHelp => Shaping::of_words(&words.host),
                _ => Ok(Shaping::default()),
            };
            match shaping {
                Ok(shaping) => {
                    output.shaping = shaping;
                    help::answer(&line, &error, &output)
                }
                Err(message) => output.fail(&Fault::usage(message)),
            }
        }
    }
}

/// Carries out a command and gives the exit status.
fn carry_out(mut arguments: Arguments, output: &Output) -> ExitCode {
    let needs = arguments.command.needs();
    let asked =
        surroundings::check_open_files().and_then(|()| ring::of(needs, arguments.global.ring, surroundings::ring));
    let ready = asked.and_then(|asked| {
        ring::inherit(needs, asked, arguments.global.line.words(), surroundings::values());
        // Behind the ring nothing can be connected to.
        arguments.global.database = stores::connected(needs.instances, &arguments.global)?;
        arguments.global.ring = asked;
        ring::begin(needs, asked)
    });
    if let Err(fault) = ready {
        return output.fail(&fault);
    }
    let _step = needs.step().map(progress::during);
    let done = arguments.command.carry_out(&arguments.global, output);
    done.unwrap_or_else(|fault| output.fail(&meant::addressed(ring::told(fault), &arguments.global.line)))
}

/// The command whose form of answer a line gets: the preview of a run is a plan.
fn answers(arguments: &Arguments, matches: &clap::ArgMatches) -> String {
    let mut names = Vec::new();
    let mut at = matches;
    while let Some((name, inner)) = at.subcommand() {
        names.push(name);
        at = inner;
    }
    match names.join(" ").as_str() {
        "run" if arguments.global.dry_run => "plan".to_owned(),
        path => path.to_owned(),
    }
}

/// Whether a line asks for a document by name, whoever sees it.
fn is_document(matches: &clap::ArgMatches) -> bool {
    matches.subcommand_matches("run").is_some_and(|run| run.get_flag("envelope"))
        || matches.subcommand_matches("meta").is_some_and(|meta| meta.contains_id("export"))
}

/// Whether a run is asked to make a list of invocations.
fn is_list(matches: &clap::ArgMatches) -> bool {
    matches.subcommand_matches("run").is_some_and(|run| run.get_flag("json_input"))
}

/// A command line and what it was read by.
struct Line {
    /// Never taken apart: the process ends with it, and freeing its thousands of parts costs as much as a fifth of a short call.
    command: ManuallyDrop<clap::Command>,
    words: Words,
    parsed: Result<(Arguments, clap::ArgMatches), clap::Error>,
}

impl Line {
    /// Reads a line by the shape of the command that it names, or by that of all where others have to be known.
    fn read(words: Vec<String>) -> Line {
        let named = arguments::command_for(None).and_then(|all| match Words::command(&words, &all) {
            None => Some(all),
            name => arguments::command_for(name),
        });
        let line = named.map(|command| Line::read_by(command, words.clone()));
        match line {
            Some(line) if line.is_answered() => line,
            _ => Line::read_by(arguments::command(), words),
        }
    }

    /// Whether what it comes to can be said without knowing any other command.
    fn is_answered(&self) -> bool {
        match self.parsed.as_ref().map_err(clap::Error::kind) {
            Ok(_) | Err(ErrorKind::DisplayVersion) => true,
            // Before a command it may be asked for of all.
            Err(ErrorKind::DisplayHelp) => self.words.host.get(1).is_some_and(|word| !word.starts_with('-')),
            Err(_) => self.words.named > 1,
        }
    }

    fn read_by(mut command: clap::Command, words: Vec<String>) -> Line {
        command.build();
        let words = Words::split(words, &command);
        let parsed = command.try_get_matches_from_mut(words.parsed());
        let parsed = parsed.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
        Line { command: ManuallyDrop::new(command), words, parsed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_names_a_command_is_read_by_its_shape_alone_whatever_is_wrong_with_it() {
        let all = arguments::command().get_subcommands().count();
        for (line, made) in [
            ("hutch run --frobnicate", 1),
            ("hutch --frobnicate run", 1),
            ("hutch explain-error", 1),
            ("hutch trust remov todo", 1),
            ("hutch run --help", 1),
            ("hutch --help run", all),
            ("hutch rnu todo", all),
            ("hutch --human", all),
        ] {
            let read = Line::read(line.split_whitespace().map(str::to_owned).collect());
            assert_eq!((read.command.get_subcommands().count(), read.parsed.is_err()), (made, true), "{line}");
        }
    }
}
