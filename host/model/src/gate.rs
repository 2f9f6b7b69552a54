//! Which command an invocation calls, and whether a person must confirm it first. Decides before the guest starts, by
//! arguments alone; knows nothing about how a person is asked.
//!
//! The gate is closed by default: an invocation passes unconfirmed only if the command that it calls is certain and is not
//! on the list, or if no word of it can be the name of a command on the list. Where the arguments can be read in two ways
//! (a flag that nobody declared may or may not take the next word), every reading counts.

use crate::contract::{Contract, Parameter};
use crate::diagnostic::shown;
use crate::manifest::Manifest;
use crate::names::CommandPath;
use std::collections::BTreeSet;

/// What the gate says about one invocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// The command that is called, if it is certain.
    pub command: Option<CommandPath>,
    /// Why a person must confirm, if one must: lower case, names the command.
    pub confirmation: Option<String>,
}

/// What is declared about the commands of one package.
#[derive(Clone, Debug)]
pub struct Gate<'d> {
    leading: &'d [String],
    commands: BTreeSet<&'d str>,
    confirmed: BTreeSet<&'d str>,
    contract: Option<&'d Contract>,
}

impl<'d> Gate<'d> {
    /// The gate of a package. What either the manifest or the contract wants confirmed is confirmed.
    pub fn new(manifest: &'d Manifest, contract: Option<&'d Contract>) -> Gate<'d> {
        Gate::of(manifest.entry().arguments(), manifest.commands(), manifest.confirmation_required(), contract)
    }

    fn of(
        leading: &'d [String],
        commands: &'d [CommandPath],
        confirmed: &'d [CommandPath],
        contract: Option<&'d Contract>,
    ) -> Gate<'d> {
        let described = contract.map(|contract| contract.commands.as_slice()).unwrap_or_default();
        let confirmed: BTreeSet<&str> = confirmed
            .iter()
            .map(CommandPath::as_str)
            .chain(
                described.iter().filter(|command| command.confirmation_required).map(|command| command.name.as_str()),
            )
            .collect();
        let commands = commands
            .iter()
            .map(CommandPath::as_str)
            .chain(described.iter().map(|command| command.name.as_str()))
            .chain(confirmed.iter().copied())
            .collect();
        Gate { leading, commands, confirmed, contract }
    }

    /// Decides about an invocation with these arguments, which stand after the leading ones of the entry command.
    pub fn decide(&self, arguments: &[String]) -> Decision {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut decision = match self.start(&words) {
            Start::Words(at) => self.read(words.get(at..).unwrap_or_default()),
            Start::Uncertain => self.uncertain("", &words),
        };
        // Leading arguments that are themselves the beginning of a command: commands may be counted from there.
        let leading: Vec<&str> = self.leading.iter().map(String::as_str).collect();
        let begins_command =
            leading.iter().find(|word| !word.starts_with('-')).is_some_and(|word| self.extends("", word));
        if decision.confirmation.is_none() && begins_command {
            let all: Vec<&str> = leading.iter().chain(&words).copied().collect();
            let other = self.read(&all);
            if other.confirmation.is_some() {
                decision = other;
            }
        }
        decision
    }

    /// Where commands begin, after what the last leading argument takes.
    fn start(&self, words: &[&str]) -> Start {
        let Some(last) = self.leading.last().filter(|last| last.starts_with('-')) else { return Start::Words(0) };
        match self.flag("", last) {
            Flag::Alone => Start::Words(0),
            Flag::TakesNext if words.first().is_some_and(|word| !word.starts_with('-')) => Start::Words(1),
            Flag::TakesNext | Flag::Unknown => Start::Uncertain,
        }
    }

    /// Reads words from where a command may begin.
    fn read(&self, words: &[&str]) -> Decision {
        let mut path = String::new();
        let mut rest = words;
        while let [word, after @ ..] = rest {
            if self.commands.contains(path.as_str()) && !self.is_extended(&path) {
                break;
            }
            if word.starts_with('-') && word.len() > 1 {
                rest = match (self.flag(&path, word), after) {
                    (Flag::Alone, after) => after,
                    (Flag::TakesNext, [value, after @ ..]) if !value.starts_with('-') => after,
                    (Flag::TakesNext, []) => after,
                    (Flag::TakesNext | Flag::Unknown, _) => return self.uncertain(&path, rest),
                };
            } else if self.extends(&path, word) {
                path = joined(&path, word);
                rest = after;
            } else if self.commands.contains(path.as_str()) && self.called_by(&path, &[word]).is_none() {
                break;
            } else {
                return self.uncertain(&path, rest);
            }
        }
        if !self.commands.contains(path.as_str()) {
            // Words that only begin a command, or none at all: nothing on the list is called.
            return Decision { command: None, confirmation: None };
        }
        let confirmation = self.ancestry(&path).map(|name| format!("{} needs a confirmation", shown(name)));
        Decision { command: CommandPath::parse(&path).ok(), confirmation }
    }

    /// Whether a person must confirm a command that is called by its name alone.
    pub fn is_confirmed(&self, command: &str) -> bool {
        self.ancestry(command).is_some()
    }

    /// The command on the list that `path` calls: itself, or one that it begins with and that may take the rest as values.
    fn ancestry(&self, path: &str) -> Option<&'d str> {
        let takes_words = |name: &str| match self.contract.and_then(|contract| contract.command(name)) {
            Some(command) => command.parameters.iter().any(|parameter| parameter.position.is_some()),
            None => true,
        };
        let begins = path.match_indices(' ').filter_map(|(end, _)| path.get(..end));
        let begun = begins.filter_map(|name| self.confirmed.get(name).copied()).find(|name| takes_words(name));
        begun.or_else(|| self.confirmed.get(path).copied())
    }

    /// Some reading of `rest` after `path` may call any command that a word of it names.
    fn uncertain(&self, path: &str, rest: &[&str]) -> Decision {
        let reason = self.ancestry(path).map(|name| format!("{} needs a confirmation", shown(name)));
        let reason = reason.or_else(|| {
            let name = shown(self.called_by(path, rest)?);
            Some(format!("the command is not certain, and may be {name}, which needs a confirmation"))
        });
        Decision { command: None, confirmation: reason }
    }

    /// A command on the list that begins with `path` and whose other words occur among `words`, in their order: without
    /// them, no reading of `words` calls it.
    fn called_by(&self, path: &str, words: &[&str]) -> Option<&'d str> {
        let mut names = self.confirmed.iter().copied().filter(|name| is_within(name, path)).peekable();
        names.peek()?;
        // Once for all names: there may be many, and the words may be long.
        let parts: Vec<String> = words.iter().flat_map(|argument| parts(argument)).collect();
        names.find(|name| {
            let mut wanted = name.get(path.len()..).unwrap_or_default().split(' ').filter(|word| !word.is_empty());
            let mut parts = parts.iter();
            wanted.all(|word| parts.any(|part| abbreviates(part, word)))
        })
    }

    /// Whether `word` after `path` is a command or the beginning of one.
    fn extends(&self, path: &str, word: &str) -> bool {
        let longer = joined(path, word);
        !word.is_empty()
            && !word.contains(' ')
            && self.commands.iter().any(|name| *name == longer || is_within(name, &longer))
    }

    fn is_extended(&self, path: &str) -> bool {
        self.commands.iter().any(|name| is_within(name, path))
    }

    /// What a word that begins with `-` means after `path`.
    fn flag(&self, path: &str, word: &str) -> Flag {
        let Some((contract, name)) = self.contract.zip(word.strip_prefix("--")) else { return Flag::Unknown };
        let (name, has_value) = match name.split_once('=') {
            Some((name, _)) => (name, true),
            None => (name, false),
        };
        let own = contract.command(path).map(|command| command.parameters.as_slice()).unwrap_or_default();
        let named = |parameter: &&Parameter| parameter.position.is_none() && parameter.name == name;
        match contract.parameters.iter().chain(own).find(named) {
            Some(parameter) if has_value || !parameter.takes_value() => Flag::Alone,
            Some(_) => Flag::TakesNext,
            None => Flag::Unknown,
        }
    }
}

enum Start {
    Words(usize),
    Uncertain,
}

enum Flag {
    Alone,
    TakesNext,
    Unknown,
}

fn joined(path: &str, word: &str) -> String {
    if path.is_empty() { word.to_owned() } else { format!("{path} {word}") }
}

/// Whether `name` is a longer command that begins with the words of `path`.
fn is_within(name: &str, path: &str) -> bool {
    path.is_empty() || name.strip_prefix(path).is_some_and(|rest| rest.starts_with(' '))
}

/// What some program might take for a command word in one argument: the argument itself, a flag's name, its value
/// (`--remove`, `--do=remove`), or one of several words.
fn parts(argument: &str) -> impl Iterator<Item = String> {
    argument.split(|c: char| c == '=' || c.is_whitespace()).map(|part| part.trim_start_matches('-').to_lowercase())
}

/// Whether `part` is `word`, in any case, or its beginning: some programs take commands abbreviated.
fn abbreviates(part: &str, word: &str) -> bool {
    !part.is_empty() && word.to_lowercase().starts_with(part)
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
