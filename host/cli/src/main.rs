//! The `hutch` program. Parses the command line, calls the library, prints one answer. The only crate that prints; exit statuses
//! leave through `main` alone.

mod arguments;
mod commands;
mod diff;
mod help;
mod invocation;
mod output;
mod query;
mod surroundings;
mod words;

use arguments::Arguments;
use clap::{CommandFactory, Parser};
use output::{Fault, Format, Output};
use std::process::ExitCode;
use words::Words;

fn main() -> ExitCode {
    let words: Vec<String> = match std::env::args_os().map(std::ffi::OsString::into_string).collect() {
        Ok(words) => words,
        Err(word) => {
            let message = format!("the argument {} is not UTF-8", word.display());
            return Output::new(Format::Json, false).fail(&Fault::usage(message));
        }
    };
    let mut command = Arguments::command();
    command.build();
    let words = Words::split(words, &command);
    let format = Format::asked_for(&words.host);
    let output = Output::new(format, words.host.iter().any(|word| word == "--quiet"));
    match Arguments::try_parse_from(words.parsed()) {
        Ok(arguments) => commands::run(arguments, &output),
        Err(error) => help::answer(&words.host, &error, &output),
    }
}
