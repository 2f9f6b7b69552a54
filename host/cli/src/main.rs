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

use arguments::Arguments;
use clap::Parser;
use output::{Fault, Format, Output};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = match std::env::args_os().map(std::ffi::OsString::into_string).collect() {
        Ok(words) => words,
        Err(word) => {
            let message = format!("the argument {} is not UTF-8", word.display());
            return Output::new(Format::Json, false).fail(&Fault::usage(message));
        }
    };
    let format = Format::asked_for(&words);
    let output = Output::new(format, words.iter().any(|word| word == "--quiet"));
    match Arguments::try_parse_from(&words) {
        Ok(arguments) => commands::run(arguments, &output),
        Err(error) => help::answer(&words, &error, &output),
    }
}
