//! Whether arguments keep what a contract declares, before a guest starts: by the form that `wit/hutch.wit` describes. Judges text
//! alone; each violation says how the argument is written rightly, where that is known.

use super::check::is_of_type;
use super::constraints::{Broken, Compiled};
use super::hosted::{self, About, Asked};
use super::{Command, Contract, Parameter, ValueType};
use crate::diagnostic::{shown, shown_name, shown_sentence};
use crate::nearest::nearest;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::{mem, ptr};

/// The flag of a call that takes its parameters from standard input instead (rule I3).
pub(super) const BATCH: &str = "json-input";

/// The flag of every command whose answer has only the fields that it names (rule N4).
const FIELDS: &str = "fields";

/// What kind of rule an argument breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ViolationKind {
    /// No command has that name.
    UnknownCommand,
    /// No parameter has that name.
    UnknownFlag,
    /// A required parameter is not there.
    Missing,
    /// A flag without the value that it takes.
    MissingValue,
    /// A flag that takes no value, with one.
    UnexpectedValue,
    /// More bare arguments than there are positions.
    UnexpectedArgument,
    /// A parameter that may be given once, given again.
    Repeated,
    /// Not of the declared type.
    WrongType,
    /// None of the declared choices.
    NotAChoice,
    /// Less than the declared minimum, or more than the maximum.
    OutOfRange,
    /// Of fewer characters than declared, or more.
    WrongLength,
    /// Not of the declared pattern.
    NotOfPattern,
}

/// One argument that breaks a contract.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ArgumentViolation {
    /// The rule.
    pub kind: ViolationKind,
    /// The parameter as it is written: `--due-at`, `TITLE`. `None` where no parameter is meant.
    pub parameter: Option<String>,
    /// Which argument, from 0; `None` for one that is not there.
    pub index: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What to write in place of the argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// The command that arguments call, read as the contract says.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReadArguments<'c> {
    /// The command; `None` if none is named.
    pub command: Option<&'c Command>,
    /// What the call asks about the application (`--help`, `--version`, `--brief`) and not for a command's answer. Whoever answers it
    /// judges the rest of such a call.
    pub about: Option<About>,
    /// Whether the answer is another than the declared one: for people, or with fields selected.
    pub shaped: bool,
    /// Whether the answer is for people, and so no JSON: `--human`, where the contract has it and no later `--no-human` takes it back.
    pub for_people: bool,
    /// What is asked of the host, by flags that the contract does not declare.
    pub asked: Asked,
    /// The rules that are broken, in the order of the arguments; reading ends with the hundredth.
    pub violations: Vec<ArgumentViolation>,
}

impl Contract {
    /// Reads the arguments of a call, which stand after the program's name.
    pub fn read_arguments(&self, arguments: &[String]) -> ReadArguments<'_> {
        let mut reader = Reader {
            contract: self,
            command: None,
            flags: flags(&self.parameters).collect(),
            bare: Vec::new(),
            choices: BTreeMap::new(),
            given: BTreeMap::new(),
            switched: BTreeMap::new(),
            compiled: BTreeMap::new(),
            asked: Asked::default(),
            violations: Vec::new(),
            about: None,
            for_people: false,
            selects: false,
        };
        reader.read(arguments);
        let Reader { command, asked, mut violations, about, for_people, selects, .. } = reader;
        let about = asked.about.or(about);
        if about.is_some() {
            violations.clear();
        }
        let is_selected = selects || !asked.fields.is_empty() || asked.query.is_some();
        ReadArguments {
            command,
            about,
            shaped: for_people || asked.human == Some(true) || is_selected,
            for_people,
            asked,
            violations,
        }
    }
}

/// The most violations that are said of one call.
const VIOLATIONS_MAX: usize = 100;

/// The most names of what there is, flags, commands or choices, that are said to who used another one.
const NAMED_MAX: usize = 20;

/// The most violations of one call that are told what was probably meant: it is looked for among all names that there are.
const MEANT_MAX: usize = 8;

struct Reader<'c> {
    contract: &'c Contract,
    command: Option<&'c Command>,
    /// The flags that the command has, or all of them have, by name: no word is held against each of them.
    flags: BTreeMap<&'c str, &'c Parameter>,
    /// The parameters of the command that are written bare, in their order.
    bare: Vec<&'c Parameter>,
    /// The choices of parameters that have a value, by name.
    choices: BTreeMap<&'c str, BTreeSet<&'c str>>,
    /// How often each parameter is given, by name.
    given: BTreeMap<&'c str, usize>,
    /// Where each switch is given since it was last taken back, by name.
    switched: BTreeMap<&'c str, Vec<usize>>,
    /// The patterns of parameters that have a value, by name.
    compiled: BTreeMap<&'c str, Compiled>,
    asked: Asked,
    violations: Vec<ArgumentViolation>,
    /// What a switch that the contract declares asks about the application, as its name says by custom (rule N4).
    about: Option<About>,
    /// The same of answers for people: the later of the switch and its opposite counts.
    for_people: bool,
    /// Whether the flag of every command is given that selects fields.
    selects: bool,
}

impl<'c> Reader<'c> {
    fn violation(
        &mut self,
        kind: ViolationKind,
        parameter: Option<&Parameter>,
        index: Option<usize>,
        message: String,
        instead: Option<String>,
    ) {
        let parameter = parameter.map(Parameter::written);
        self.violations.push(ArgumentViolation { kind, parameter, index, message, instead });
    }

    fn read(&mut self, arguments: &[String]) {
        if let Some(unread) = self.read_to(arguments) {
            let rest = arguments.iter().enumerate().skip(unread);
            rest.take_while(|(_, word)| *word != "--").for_each(|(at, word)| self.passed_over(word, at));
        }
    }

    /// What a word says of the whole call behind the place where reading ended.
    fn passed_over(&mut self, word: &str, at: usize) {
        let Some(name) = word.strip_prefix("--") else { return };
        match (self.declared(name), About::named(name)) {
            (Some(parameter), _) => self.switch(parameter),
            (None, Some(about)) => {
                self.asked.about = Some(about);
                self.asked.places.insert(at);
            }
            (None, None) => {}
        }
    }

    /// The flag of this name that the command has, or all of them have.
    fn declared(&self, name: &str) -> Option<&'c Parameter> {
        self.flags.get(name).copied()
    }

    /// The name that a misspelt one most likely stands for, for the first few violations.
    fn meant<'k>(&self, word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        if self.violations.len() < MEANT_MAX { nearest(word, known) } else { None }
    }

    /// Takes a declared switch for what its name means by custom. A parameter of that name which takes a value is something else: a version
    /// to look for, a text to search.
    fn switch(&mut self, parameter: &Parameter) {
        match parameter.name.as_str() {
            _ if parameter.takes_value() => {}
            "human" => self.for_people = true,
            "no-human" => self.for_people = false,
            name => self.about = About::named(name).or(self.about),
        }
    }

    /// Reads the arguments, and gives the place where reading ended before their end.
    fn read_to(&mut self, arguments: &[String]) -> Option<usize> {
        let mut at = 0;
        // Global parameters may stand before the command.
        while let Some(word) = arguments.get(at).filter(|word| is_flag(word)) {
            at = self.flag(word, at, arguments);
            if self.violations.len() >= VIOLATIONS_MAX {
                return Some(at);
            }
        }
        let first = arguments.get(at)?;
        let words = arguments.get(at..).unwrap_or_default();
        let called = self.contract.commands.iter().filter(|command| starts_with(words, &command.name));
        let Some(command) = called.max_by_key(|command| command.name.len()) else {
            self.unknown_command(first, words, at);
            return Some(at);
        };
        self.command = Some(command);
        self.flags.extend(flags(&command.parameters));
        self.bare = command.parameters.iter().filter(|parameter| parameter.position.is_some()).collect();
        at += command.name.split(' ').count();
        let mut position = 0;
        let mut only_positional = false;
        while let Some(word) = arguments.get(at) {
            if self.violations.len() >= VIOLATIONS_MAX {
                return if only_positional { None } else { Some(at) };
            }
            if word == "--" && !only_positional {
                only_positional = true;
                at += 1;
            } else if is_flag(word) && !only_positional {
                at = self.flag(word, at, arguments);
            } else {
                self.positional(command, position, word, at);
                position += 1;
                at += 1;
            }
        }
        // A batch on standard input holds the parameters of each of its calls (rule I3), and is judged where it is read.
        if self.asked.batch
            || self.given.contains_key(BATCH) && self.declared(BATCH).is_some_and(|own| !own.takes_value())
        {
            return None;
        }
        for parameter in command.parameters.iter().chain(&self.contract.parameters) {
            if parameter.required && !self.given.contains_key(parameter.name.as_str()) {
                let message = format!("{} is missing: {}", parameter.written(), shown_sentence(&parameter.description));
                self.violation(ViolationKind::Missing, Some(parameter), None, message, None);
            }
        }
        None
    }

    fn unknown_command(&mut self, first: &str, words: &[String], at: usize) {
        let names: Vec<&str> = self.contract.commands.iter().map(|command| command.name.as_str()).collect();
        let second = words.get(1).map(|second| format!("{first} {second}"));
        let near = second.as_deref().and_then(|both| nearest(both, names.iter().copied().filter(|n| n.contains(' '))));
        let near = near.or_else(|| nearest(first, names.iter().copied()));
        // One word in place of several can't be written as one argument.
        let instead = near.filter(|near| !near.contains(' ')).map(str::to_owned);
        let hint = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("commands are {}", named(names.into_iter(), str::to_owned)),
        };
        let message = format!("there is no command {}; {hint}", shown(first));
        self.violation(ViolationKind::UnknownCommand, None, Some(at), message, instead);
    }

    /// Reads a flag and its value, and gives the place of what follows.
    fn flag(&mut self, word: &str, at: usize, arguments: &[String]) -> usize {
        let flag = word.trim_start_matches('-');
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let Some(parameter) = self.declared(name).filter(|_| word.starts_with("--")) else {
            if let Some(next) = self.hosted(word, at, arguments) {
                return next;
            }
            // What an application takes for a confirmation is its own affair: the host's stands before the package.
            if word == "--yes" {
                return at + 1;
            }
            let own = self.command.map(|command| command.parameters.as_slice()).unwrap_or_default();
            let known: Vec<&str> = flags(own).chain(flags(&self.contract.parameters)).map(|(name, _)| name).collect();
            let near = self.meant(name, known.iter().copied());
            self.unknown_flag(word, near, value, at, &known);
            // What follows is read as that of the flag which was probably meant, or the call corrected by one word would seem wrong.
            return match near.and_then(|near| self.declared(near)) {
                Some(meant) => self.flag_value(meant, value, at, arguments),
                None => at + 1,
            };
        };
        if value.is_none() && !parameter.takes_value() {
            self.switch(parameter);
            self.switched.entry(&parameter.name).or_default().push(at);
        }
        self.flag_value(parameter, value, at, arguments)
    }

    /// Reads a flag that the host answers, and gives the place of what follows; nothing if it is none.
    fn hosted(&mut self, word: &str, at: usize, arguments: &[String]) -> Option<usize> {
        let flag = word.strip_prefix("--")?;
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        if value.is_none() && self.asked.switch(name) {
            self.asked.places.insert(at);
            return Some(at + 1);
        }
        if let Some(switch) = name.strip_prefix("no-").filter(|_| value.is_none()) {
            let switch = self.declared(switch).filter(|own| !own.takes_value())?;
            // The later word counts: of both, the application gets none. What was taken back is not looked at again, however often there is
            // more to take back.
            let before = self.switched.get_mut(switch.name.as_str()).map(mem::take);
            self.asked.places.extend(before.unwrap_or_default());
            self.asked.places.insert(at);
            self.given.remove(switch.name.as_str());
            self.for_people &= switch.name != "human";
            return Some(at + 1);
        }
        if !hosted::is_valued(name) {
            return None;
        }
        let next = arguments.get(at + 1).filter(|next| !is_flag(next));
        match (value, next) {
            (Some(value), _) => self.asked.take(name, value, at..at + 1),
            (None, Some(next)) => {
                self.asked.take(name, next, at..at + 2);
                return Some(at + 2);
            }
            // Nobody's, so that whoever reads what is left finds it too.
            (None, None) => {
                let message = format!("--{name} needs a value");
                self.violation(ViolationKind::MissingValue, None, Some(at), message, None);
            }
        }
        Some(at + 1)
    }

    /// Reads the value of a flag, or that it has none, and gives the place of what follows.
    fn flag_value(&mut self, parameter: &'c Parameter, value: Option<&str>, at: usize, arguments: &[String]) -> usize {
        let next = arguments.get(at + 1);
        match (parameter.takes_value(), value) {
            (false, Some(_)) => {
                let message = format!("{} takes no value", parameter.written());
                self.violation(
                    ViolationKind::UnexpectedValue,
                    Some(parameter),
                    Some(at),
                    message,
                    Some(parameter.written()),
                );
                at + 1
            }
            (false, None) => self.take(parameter, at).map_or(at + 1, |()| at + 1),
            (true, Some(value)) => {
                self.value(parameter, value, at, true);
                at + 1
            }
            (true, None) => match next {
                // What begins with a dash is taken as a value only if it is one: a negative number.
                Some(value) if !is_flag(value) || is_of_number(parameter, value) => {
                    self.value(parameter, value, at + 1, false);
                    at + 2
                }
                _ => {
                    let described = shown_sentence(&parameter.description);
                    let message = format!("{} needs a value: {described}", parameter.written());
                    self.violation(ViolationKind::MissingValue, Some(parameter), Some(at), message, None);
                    at + 1
                }
            },
        }
    }

    fn unknown_flag(&mut self, word: &str, near: Option<&str>, value: Option<&str>, at: usize, known: &[&str]) {
        let instead = near.map(|near| value.map_or_else(|| format!("--{near}"), |value| format!("--{near}={value}")));
        let hint = match (near, known) {
            (Some(near), _) => format!("did you mean --{near}?"),
            (None, []) => "there are none here".to_owned(),
            (None, known) => format!("flags here are {}", named(known.iter().copied(), |name| format!("--{name}"))),
        };
        let written = word.split_once('=').map_or(word, |(name, _)| name);
        let message = format!("there is no flag {}; {hint}", shown(written));
        self.violation(ViolationKind::UnknownFlag, None, Some(at), message, instead);
    }

    fn positional(&mut self, command: &'c Command, position: usize, value: &str, at: usize) {
        let found = self.bare.get(position).or_else(|| self.bare.last().filter(|last| last.repeated));
        match found.copied() {
            Some(parameter) => self.value(parameter, value, at, false),
            None => {
                let message = format!("{} is one argument too many for {}", shown(value), command.name);
                self.violation(ViolationKind::UnexpectedArgument, None, Some(at), message, None);
            }
        }
    }

    fn take(&mut self, parameter: &'c Parameter, at: usize) -> Option<()> {
        let times = self.given.entry(&parameter.name).or_default();
        *times += 1;
        if *times > 1 && !parameter.repeated {
            let message = format!("{} may be given once", parameter.written());
            self.violation(ViolationKind::Repeated, Some(parameter), Some(at), message, None);
            return None;
        }
        Some(())
    }

    fn value(&mut self, parameter: &'c Parameter, value: &str, at: usize, joined: bool) {
        // A command's own parameter of that name is something of its own.
        let is_of_all = self.contract.parameters.as_ptr_range().contains(&ptr::from_ref(parameter));
        self.selects |= is_of_all && parameter.name == FIELDS;
        if self.take(parameter, at).is_none() {
            return;
        }
        let whole =
            |instead: &str| if joined { format!("{}={instead}", parameter.written()) } else { instead.to_owned() };
        let choices = || parameter.choices.iter().map(String::as_str);
        let known = self.choices.entry(&parameter.name).or_insert_with(|| choices().collect());
        if !known.is_empty() && !known.contains(value) {
            let instead = self.meant(value, choices()).map(whole);
            let choices = named(choices(), shown_name);
            let message = format!("{}: {} is none of {choices}", parameter.written(), shown(value));
            self.violation(ViolationKind::NotAChoice, Some(parameter), Some(at), message, instead);
        } else if !is_of_type(value, parameter.value_type) {
            let message = format!("{}: expected {}, found {}", parameter.written(), parameter.value_type, shown(value));
            self.violation(ViolationKind::WrongType, Some(parameter), Some(at), message, None);
        } else if let Some(constraints) = &parameter.constraints
            && let compiled = self.compiled.entry(&parameter.name).or_default()
            && let Some((broken, message)) = constraints.broken(value, parameter.value_type, compiled)
        {
            let kind = match broken {
                Broken::Range => ViolationKind::OutOfRange,
                Broken::Length => ViolationKind::WrongLength,
                Broken::Pattern => ViolationKind::NotOfPattern,
            };
            let message = format!("{}: {message}", parameter.written());
            self.violation(kind, Some(parameter), Some(at), message, None);
        }
    }
}

/// The first few of some names, and how many more there are.
fn named<'n>(mut names: impl Iterator<Item = &'n str>, said: impl Fn(&str) -> String) -> String {
    let first = names.by_ref().take(NAMED_MAX).map(said).collect::<Vec<_>>().join(", ");
    match names.count() {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// Those of some parameters that are written with their names, by them.
fn flags(parameters: &[Parameter]) -> impl Iterator<Item = (&str, &Parameter)> {
    let flags = parameters.iter().filter(|parameter| parameter.position.is_none());
    flags.map(|parameter| (parameter.name.as_str(), parameter))
}

fn is_flag(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

fn is_of_number(parameter: &Parameter, value: &str) -> bool {
    matches!(parameter.value_type, ValueType::Integer | ValueType::Number) && is_of_type(value, parameter.value_type)
}

fn starts_with(words: &[String], name: &str) -> bool {
    let mut words = words.iter();
    name.split(' ').all(|part| words.next().is_some_and(|word| word == part))
}

impl Parameter {
    /// As it is written in a call: `--due-at`, `TITLE`.
    pub fn written(&self) -> String {
        match self.position {
            Some(_) => self.name.to_uppercase(),
            None => format!("--{}", self.name),
        }
    }
}

impl std::fmt::Display for ValueType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ValueType::String => "a text",
            ValueType::Integer => "a whole number",
            ValueType::Number => "a number",
            ValueType::Boolean => "true or false",
            ValueType::Date => "a date such as 2026-04-05",
            ValueType::Instant => "an instant such as 2026-04-05T17:00:00Z",
            ValueType::DateOrInstant => "a date such as 2026-04-05 or an instant such as 2026-04-05T17:00:00Z",
            ValueType::Path => "a path",
        })
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
