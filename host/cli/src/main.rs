//! The `hutch` program. Parses the command line, calls the library, prints one answer. The only crate that prints; exit statuses
//! leave through `main` alone.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests reach for what they prepare"))]

mod agent;
mod answer;
mod arguments;
mod arguments_guard;
mod batch;
mod commands;
mod description;
mod diff;
mod facts;
mod help;
mod human;
mod invocation;
mod issues;
mod launcher;
mod output;
mod packages;
mod pairs;
mod quote;
mod repair;
mod selection;
mod shaping;
mod surroundings;
mod words;

use arguments::Arguments;
use clap::FromArgMatches;
use output::{Fault, Format, Output};
use shaping::Shaping;
use std::process::ExitCode;
use words::Words;

#[allow(clippy::disallowed_methods, reason = "the program's words are its own")]
fn main() -> ExitCode {
    let words: Vec<String> = match std::env::args_os().map(std::ffi::OsString::into_string).collect() {
        Ok(words) => words,
        Err(word) => {
            let message = format!("the argument {} is not UTF-8", word.display());
            return Output::new(Format::Json, false).fail(&Fault::usage(message));
        }
    };
    let mut command = arguments::command();
    command.build();
    let words = Words::split(words, &command);
    let mut output = Output::new(Format::asked_for(&words.host), words.host.iter().any(|word| word == "--quiet"));
    let parsed = command.try_get_matches_from_mut(words.parsed());
    let parsed = parsed.and_then(|matches| Ok((Arguments::from_arg_matches(&matches)?, matches)));
    match parsed {
        Ok((arguments, matches)) => {
            output.shaping = Shaping::of(&arguments.global);
            output.settle(&arguments.global);
            let judged = pairs::check(&command, &matches).and_then(|()| arguments_guard::check(&command, &matches));
            match judged {
                Ok(()) if arguments.global.brief => help::brief(&output),
                Ok(()) => commands::run(arguments, &output),
                Err(fault) => output.fail(&fault),
            }
        }
        Err(error) => help::answer(&words.host, &error, &output),
    }
}
