//! The answers to `--help`, `--version` and `--brief`, made from the tables and what is written for agents. Knows no
//! application.

use std::fmt::Write as _;

use serde::Serialize;

use crate::argv::Arguments;
use crate::contract::{Command, Description, JSON_FORM, Parameter};
use crate::guidance::Guidance;

/// What `--help` shows: the description, whole or of the commands asked about, in the keys of `schemas/commands.json`, and
/// the guidance for agents.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Help {
    ok: bool,
    help: String,
    schema: &'static str,
    #[serde(flatten)]
    description: Description,
    #[serde(flatten)]
    guidance: Guidance,
}

impl Help {
    /// For the command of a call, or for those that begin with the words of the call, or for all.
    #[must_use]
    pub fn new(description: &'static Description, arguments: &Arguments, guidance: Guidance) -> Self {
        let begin = arguments.unmatched.join(" ") + " ";
        let group = description.commands.chunk_by(|one, next| first_word(one) == first_word(next));
        let begins = |commands: &&[Command]| commands.iter().any(|command| command.name.starts_with(&begin));
        let commands = match arguments.command {
            Some(command) => std::slice::from_ref(command),
            None => group.into_iter().find(begins).unwrap_or(description.commands),
        };
        let description = Description { commands, ..*description };
        Self { ok: true, help: synopsis(&description), schema: JSON_FORM, description, guidance }
    }

    /// Text for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Description { name, version, summary, parameters, commands, errors } = self.description;
        let mut text = format!("{name} {version}: {summary}\n\n{}\n", self.help);
        for command in commands {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}\n    {}", usage(command), command.description);
            for parameter in command.parameters {
                let _ = writeln!(text, "      {}", line(parameter));
            }
        }
        text.push_str("\nwith every command\n");
        for parameter in parameters {
            let _ = writeln!(text, "      {}", line(parameter));
        }
        text.push_str("\nfailures, by exit status\n");
        let shown = |code: &str| match commands {
            [command] => command.errors.iter().any(|error| error.code == code),
            _ => true,
        };
        for error in errors.iter().filter(|error| shown(error.code)) {
            let _ = writeln!(text, "      {:>2}  {}: {}", error.exit_status, error.code, error.description);
        }
        let _ = writeln!(text, "\n{}", self.guidance.issue);
        text
    }
}

fn first_word(command: &Command) -> &'static str {
    command.name.split(' ').next().unwrap_or(command.name)
}

/// One line on how to call what is described.
fn synopsis(description: &Description) -> String {
    match description.commands {
        [command] => format!("usage: {} {}", description.name, usage(command)),
        commands => {
            let names: Vec<&str> = commands.iter().map(|command| command.name).collect();
            format!("usage: {} COMMAND [ARGUMENT]... [--FLAG]...; commands: {}", description.name, names.join(", "))
        }
    }
}

/// `remove ID [--confirm]`
fn usage(command: &Command) -> String {
    let mut usage = command.name.to_owned();
    for parameter in command.parameters {
        let dots = if parameter.repeated { "..." } else { "" };
        let _ = match parameter.required {
            true => write!(usage, " {}{dots}", form(parameter)),
            false => write!(usage, " [{}]{dots}", form(parameter)),
        };
    }
    usage
}

/// `ID`, `--confirm`, `--status open|completed|all`, `--limit INTEGER`
fn form(parameter: &Parameter) -> String {
    if parameter.position.is_some() {
        return parameter.name.to_ascii_uppercase();
    }
    if parameter.is_flag() {
        return format!("--{}", parameter.name);
    }
    if parameter.choices.is_empty() {
        // The derived name of the type, as in the JSON form.
        let kind = serde_json::to_string(&parameter.value_type).unwrap_or_default();
        format!("--{} {}", parameter.name, kind.trim_matches('"').to_ascii_uppercase())
    } else {
        format!("--{} {}", parameter.name, parameter.choices.join("|"))
    }
}

/// `--limit INTEGER: how many to show at most (default: 100)`
fn line(parameter: &Parameter) -> String {
    let default = parameter.default.map(|default| format!(" (default: {default})")).unwrap_or_default();
    format!("{}: {}{default}", form(parameter), parameter.description)
}

/// What `--version` shows.
#[derive(Serialize)]
pub struct Version {
    ok: bool,
    name: &'static str,
    version: &'static str,
}

impl Version {
    /// Of an application.
    #[must_use]
    pub fn new(description: &Description) -> Self {
        Self { ok: true, name: description.name, version: description.version }
    }

    /// Text for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{} {}\n", self.name, self.version)
    }
}

/// What `--brief` shows.
#[derive(Serialize)]
pub struct Brief {
    ok: bool,
    brief: &'static str,
}

impl Brief {
    /// The one paragraph on an application.
    #[must_use]
    pub(crate) fn new(brief: &'static str) -> Self {
        Self { ok: true, brief: brief.trim_ascii_end() }
    }

    /// Text for people.
    #[must_use]
    pub fn to_text(&self) -> String {
        format!("{}\n", self.brief)
    }
}
