//! Arguments read against the tables of a description, as the head of `wit/hutch.wit` says they are written.
//!
//! What comes out is typed: whoever uses an `Arguments` does not look at text for its form again. Knows no application.

use std::collections::BTreeMap;
use std::fmt;

use crate::calendar::{Date, Due, Instant};
use crate::contract::{Command, Constraints, Description, Parameter, ValueType};
use crate::failure::{
    Failure, INVALID_VALUE, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, UNKNOWN_COMMAND, UNKNOWN_FLAG, nearest,
};

/// The flag of a command that takes its parameters from standard input instead: with it none is missing.
pub const BATCH: &str = "json-input";

/// One value, of the type that its parameter declares.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `string` or `path`.
    Text(String),
    /// `integer`.
    Integer(i64),
    /// `number`.
    Number(f64),
    /// `boolean`; a flag that is there is true, and its opposite `--no-…` makes it false.
    Boolean(bool),
    /// `date`.
    Date(Date),
    /// `instant`.
    Instant(Instant),
    /// `date-or-instant`.
    Due(Due),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(integer) => integer.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Boolean(truth) => truth.fmt(f),
            Self::Date(date) => date.fmt(f),
            Self::Instant(instant) => instant.fmt(f),
            Self::Due(due) => due.fmt(f),
        }
    }
}

/// A call: at most one command, and the values it was given.
#[derive(Debug)]
pub struct Arguments {
    /// The command; `None` when the arguments name none, or only the first of a command's words.
    pub command: Option<&'static Command>,
    /// What was written where a command's words go, when that names no command.
    pub unmatched: Vec<String>,
    values: BTreeMap<&'static str, Vec<Value>>,
    defaults: Vec<&'static str>,
    missing: Option<Failure>,
}

impl Arguments {
    /// The values of a parameter, in the order given; its default if none was.
    #[must_use]
    pub fn all(&self, name: &str) -> &[Value] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether the call gives a parameter, which has a value too if it has a default.
    #[must_use]
    pub fn gives(&self, name: &str) -> bool {
        self.values.contains_key(name) && !self.defaults.contains(&name)
    }

    /// The value of a parameter that is not repeated.
    #[must_use]
    pub fn one(&self, name: &str) -> Option<&Value> {
        self.all(name).first()
    }

    /// Whether a flag was given, and not its opposite.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        matches!(self.one(name), Some(Value::Boolean(true)))
    }

    /// The text of a `string` or `path` parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.one(name).and_then(|value| match value {
            Value::Text(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// The value of an `integer` parameter.
    #[must_use]
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.one(name).and_then(|value| match value {
            Value::Integer(integer) => Some(*integer),
            _ => None,
        })
    }

    /// The command, with every required argument there, or a batch in their place.
    ///
    /// Apart from `parse`, because `--help` wants to know the command but not its arguments.
    ///
    /// # Errors
    /// `UNKNOWN_COMMAND` or `MISSING_ARGUMENT`.
    pub fn complete(&self, description: &Description) -> Result<&'static Command, Failure> {
        let Some(command) = self.command else {
            return Err(no_command(description, &self.unmatched));
        };
        match &self.missing {
            Some(missing) if !self.flag(BATCH) => Err(missing.clone()),
            _ => Ok(command),
        }
    }
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// `UNKNOWN_FLAG`, `MISSING_ARGUMENT` (a flag without its value), `UNEXPECTED_ARGUMENT` or `INVALID_VALUE`, for the
/// first argument that is wrong.
pub fn parse(description: &'static Description, args: &[String]) -> Result<Arguments, Failure> {
    let mut reader = Reader { description, command: None, words: Vec::new(), positional: 0, values: BTreeMap::new() };
    let mut rest = args.iter();
    let mut only_positional = false;
    while let Some(arg) = rest.next() {
        if only_positional || !looks_like_flag(arg) {
            reader.bare(arg)?;
        } else if arg == "--" {
            only_positional = true;
        } else {
            reader.flag(arg, &mut rest)?;
        }
    }
    reader.finish()
}

/// Reads values that are given by name instead of in arguments, as an entry of a batch gives them.
///
/// # Errors
/// `UNEXPECTED_ARGUMENT` or `INVALID_VALUE`, for the first value that is wrong.
pub fn by_name(
    description: &'static Description,
    command: &'static Command,
    values: &[(&'static Parameter, String)],
) -> Result<Arguments, Failure> {
    let mut reader =
        Reader { description, command: Some(command), words: Vec::new(), positional: 0, values: BTreeMap::new() };
    for (parameter, text) in values {
        reader.insert(parameter, text)?;
    }
    reader.finish()
}

/// Whether any argument before `--` is the flag `name`: for whoever must know how to report that the rest is unreadable.
#[must_use]
pub fn mentions(args: &[String], name: &str) -> bool {
    args.iter().take_while(|arg| *arg != "--").any(|arg| arg.strip_prefix("--") == Some(name))
}

/// A dash begins a flag, unless a digit or a space follows it, or nothing: `-3`, `- milk` and `-` are values.
fn looks_like_flag(arg: &str) -> bool {
    arg.strip_prefix('-')
        .is_some_and(|rest| rest.chars().next().is_some_and(|next| !next.is_ascii_digit() && !next.is_whitespace()))
}

struct Reader {
    description: &'static Description,
    command: Option<&'static Command>,
    words: Vec<String>,
    positional: u32,
    values: BTreeMap<&'static str, Vec<Value>>,
}

impl Reader {
    fn bare(&mut self, arg: &str) -> Result<(), Failure> {
        let Some(command) = self.command else {
            return self.word(arg);
        };
        let at = |parameter: &&Parameter| parameter.position == Some(self.positional);
        let last = |parameter: &&Parameter| parameter.position.is_some() && parameter.repeated;
        let parameters = || command.parameters.iter();
        if let Some(parameter) = parameters().find(at) {
            self.positional += 1;
            self.insert(parameter, arg)
        } else if let Some(parameter) = parameters().find(last) {
            self.insert(parameter, arg)
        } else {
            let takes = parameters().filter(|parameter| parameter.position.is_some()).count();
            let message = format!("unexpected argument {arg:?}: {} takes {takes} without a flag", command.name);
            Err(Failure::new(UNEXPECTED_ARGUMENT, message))
        }
    }

    /// One more word of the command's name.
    fn word(&mut self, word: &str) -> Result<(), Failure> {
        self.words.push(word.to_owned());
        let name = self.words.join(" ");
        self.command = self.description.commands.iter().find(|command| command.name == name);
        let begins = |command: &Command| command.name.strip_prefix(&name).is_some_and(|rest| rest.starts_with(' '));
        if self.command.is_some() || self.description.commands.iter().any(begins) {
            Ok(())
        } else {
            Err(no_command(self.description, &self.words))
        }
    }

    fn flag<'a>(&mut self, arg: &str, rest: &mut impl Iterator<Item = &'a String>) -> Result<(), Failure> {
        let (name, value) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (arg, None),
        };
        let parameter = self.flags().find(|parameter| name.strip_prefix("--") == Some(parameter.name));
        let Some(parameter) = parameter else {
            return Err(self.unknown_flag(name));
        };
        match (parameter.is_flag(), value) {
            (true, None) => match self.opposite(parameter) {
                Some(flag) => self.insert(flag, "false"),
                None => self.insert(parameter, "true"),
            },
            (true, Some(_)) => {
                Err(Failure::new(INVALID_VALUE, format!("{name} takes no value"))
                    .suggest(format!("write {name} alone")))
            }
            (false, Some(value)) => self.insert(parameter, value),
            (false, None) => match rest.next() {
                Some(value) if !looks_like_flag(value) => self.insert(parameter, value),
                _ => Err(Failure::new(MISSING_ARGUMENT, format!("{name} needs a value: {}", parameter.description))
                    .suggest(format!("write {name} VALUE, or {name}=VALUE when the value begins with a dash"))),
            },
        }
    }

    /// Parameters that can be written as flags here.
    fn flags(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        let own = self.command.map_or(&[][..], |command| command.parameters);
        own.iter().chain(self.description.parameters).filter(|parameter| parameter.position.is_none())
    }

    /// The flag that `--no-…` is the opposite of.
    fn opposite(&self, parameter: &Parameter) -> Option<&'static Parameter> {
        let name = parameter.name.strip_prefix("no-")?;
        self.flags().find(|flag| flag.is_flag() && flag.name == name)
    }

    fn unknown_flag(&self, name: &str) -> Failure {
        let message = match self.command {
            Some(command) => format!("{} takes no flag {name:?}", command.name),
            None => format!("unknown flag {name:?} before the command"),
        };
        let failure = Failure::new(UNKNOWN_FLAG, message);
        let near = name.strip_prefix("--").and_then(|name| nearest(name, self.flags().map(|flag| flag.name)));
        match (near, self.command) {
            (Some(near), _) => failure.suggest(format!("did you mean --{near}?")),
            (None, None) => failure.suggest("write the flags of a command after it; --help lists both"),
            (None, Some(_)) if !name.starts_with("--") => {
                failure.suggest("flags begin with two dashes; write -- before an argument that begins with a dash")
            }
            (None, Some(_)) => {
                let flags: Vec<String> = self.flags().map(|flag| format!("--{}", flag.name)).collect();
                failure.suggest(format!("it takes {}", flags.join(", ")))
            }
        }
    }

    fn insert(&mut self, parameter: &'static Parameter, text: &str) -> Result<(), Failure> {
        let value = value_of(parameter, text)?;
        let values = self.values.entry(parameter.name).or_default();
        if let Some(first) = values.first()
            && !parameter.repeated
        {
            let opposite = format!("--no-{}", parameter.name);
            if parameter.is_flag() && *first != value {
                return Err(Failure::contradiction(&written(parameter), &opposite));
            }
            let name =
                if parameter.is_flag() && value == Value::Boolean(false) { opposite } else { written(parameter) };
            return Err(Failure::new(UNEXPECTED_ARGUMENT, format!("{name} is given twice")).suggest("give it once"));
        }
        values.push(value);
        Ok(())
    }

    fn finish(mut self) -> Result<Arguments, Failure> {
        let own = self.command.map_or(&[][..], |command| command.parameters);
        let (mut missing, mut defaults) = (None, Vec::new());
        for parameter in own.iter().chain(self.description.parameters) {
            if self.values.contains_key(parameter.name) {
                continue;
            }
            if let Some(default) = parameter.default {
                self.insert(parameter, default)?;
                defaults.push(parameter.name);
            } else if parameter.required && missing.is_none() {
                let name = self.command.map_or(self.description.name, |command| command.name);
                let message = format!("{name} needs {}: {}", written(parameter), parameter.description);
                missing = Some(Failure::new(MISSING_ARGUMENT, message));
            }
        }
        let unmatched = if self.command.is_some() { Vec::new() } else { self.words };
        Ok(Arguments { command: self.command, unmatched, values: self.values, defaults, missing })
    }
}

fn no_command(description: &Description, words: &[String]) -> Failure {
    if words.is_empty() {
        return Failure::new(UNKNOWN_COMMAND, "no command is given");
    }
    let name = words.join(" ");
    let failure = Failure::new(UNKNOWN_COMMAND, format!("no command is called {name:?}"));
    let names = || description.commands.iter().map(|command| command.name);
    let longer: Vec<&str> =
        names().filter(|known| known.split(' ').next() == words.first().map(String::as_str)).collect();
    match nearest(&name, names()) {
        _ if !longer.is_empty() => failure.suggest(format!("write one of: {}", longer.join(", "))),
        Some(near) => failure.suggest(format!("did you mean {near}?")),
        None => failure,
    }
}

/// How a parameter is written in a call.
#[must_use]
pub fn written(parameter: &Parameter) -> String {
    match parameter.position {
        Some(_) => parameter.name.to_ascii_uppercase(),
        None => format!("--{}", parameter.name),
    }
}

/// The value that a text means for a parameter.
fn value_of(parameter: &Parameter, text: &str) -> Result<Value, Failure> {
    let invalid = |expected: &str| {
        let message = format!("{} is {text:?}, expected {expected}", written(parameter));
        Failure::new(INVALID_VALUE, message).suggest(parameter.description)
    };
    if !parameter.choices.is_empty() && !parameter.choices.contains(&text) {
        let failure = invalid(&format!("one of: {}", parameter.choices.join(", ")));
        return Err(match nearest(text, parameter.choices.iter().copied()) {
            Some(near) => failure.suggest(format!("did you mean {near}?")),
            None => failure,
        });
    }
    match parameter.value_type {
        ValueType::String | ValueType::Path => Ok(Value::Text(text.to_owned())),
        ValueType::Integer => {
            let value = integer(text).ok_or_else(|| invalid("a decimal integer"))?;
            let within = within(&parameter.constraints, integer, |least| least <= value, |most| value <= most);
            within.map(|()| Value::Integer(value)).map_err(|expected| invalid(&expected))
        }
        ValueType::Number => {
            let value = number(text).ok_or_else(|| invalid("a decimal number"))?;
            let within = within(&parameter.constraints, number, |least| least <= value, |most| value <= most);
            within.map(|()| Value::Number(value)).map_err(|expected| invalid(&expected))
        }
        ValueType::Boolean => match text {
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            _ => Err(invalid("true or false")),
        },
        ValueType::Date => Date::parse(text).map(Value::Date).map_err(invalid),
        ValueType::Instant => Instant::parse(text).map(Value::Instant).map_err(invalid),
        ValueType::DateOrInstant => Due::parse(text).map(Value::Due).map_err(invalid),
    }
}

/// Whether a number keeps its bounds, or what is expected.
fn within<T>(
    Constraints { minimum, maximum, .. }: &Constraints,
    read: impl Fn(&str) -> Option<T>,
    least: impl Fn(T) -> bool,
    most: impl Fn(T) -> bool,
) -> Result<(), String> {
    let keeps = minimum.and_then(&read).is_none_or(least) && maximum.and_then(&read).is_none_or(most);
    match (keeps, minimum, maximum) {
        (true, ..) | (false, None, None) => Ok(()),
        (false, Some(minimum), None) => Err(format!("a number from {minimum}")),
        (false, None, Some(maximum)) => Err(format!("a number up to {maximum}")),
        (false, Some(minimum), Some(maximum)) => Err(format!("a number from {minimum} to {maximum}")),
    }
}

/// Digits with an optional `-`: no `+`, which `i64::from_str` would allow.
fn integer(text: &str) -> Option<i64> {
    if text.starts_with('+') { None } else { text.parse().ok() }
}

/// A number as JSON writes it: no `inf`, `nan`, `+1` or `.5`.
fn number(text: &str) -> Option<f64> {
    serde_json::from_str::<f64>(text).ok().filter(|_| text.trim() == text)
}

#[cfg(test)]
mod tests;
