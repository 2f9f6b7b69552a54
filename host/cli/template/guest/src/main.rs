//! An application for hutch: one command that answers with JSON. Replace `greet`; keep the form of the answers.

use serde_json::{Value, json};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match answer(&words) {
        Ok(value) => {
            println!("{value}");
            ExitCode::SUCCESS
        }
        Err((code, message)) => {
            println!("{}", json!({"ok": false, "error": {"code": code, "message": message}}));
            ExitCode::FAILURE
        }
    }
}

/// What a command line asks for, or the code and the message of a failure.
fn answer(words: &[&str]) -> Result<Value, (&'static str, String)> {
    match words {
        ["--help", ..] => Ok(json!({"ok": true, "command": "help", "help": "greet NAME [--shout]"})),
        ["greet", rest @ ..] => {
            let shout = rest.contains(&"--shout");
            let names: Vec<&&str> = rest.iter().filter(|word| **word != "--shout" && **word != "--").collect();
            let [name] = names[..] else {
                return Err(("USAGE", "greet takes one name".to_owned()));
            };
            let greeting = format!("Hello, {name}!");
            let greeting = if shout { greeting.to_uppercase() } else { greeting };
            Ok(json!({"ok": true, "command": "greet", "greeting": greeting}))
        }
        _ => Err(("USAGE", "the command is greet".to_owned())),
    }
}
