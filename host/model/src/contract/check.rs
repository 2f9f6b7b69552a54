//! The rules of a contract that its types cannot hold: names, positions, defaults, references.

use super::constraints::{Compiled, PATTERNS_MAX};
use super::{Command, Contract, Parameter, ValueType};
use crate::diagnostic::{Code, Diagnostic, Position, shown};
use crate::instant::moment;
use crate::names::Slug;
use std::collections::BTreeSet;

/// One rule broken, and the part of the contract that breaks it.
pub(super) struct Flaw {
    /// A JSON pointer into the JSON form.
    pub(super) pointer: String,
    pub(super) message: String,
}

impl Flaw {
    pub(super) fn into_diagnostic(self, file: &str, at: Position) -> Diagnostic {
        Diagnostic::new(Code::ContractInvalid, file, at, format!("{}: {}", self.pointer, self.message))
    }
}

/// All rules that the contract breaks.
pub(super) fn flaws(contract: &Contract) -> Vec<Flaw> {
    let mut checker = Checker { flaws: Vec::new(), patterns: 0 };
    checker.contract(contract);
    checker.flaws
}

struct Checker {
    flaws: Vec<Flaw>,
    /// How many patterns there were so far.
    patterns: usize,
}

impl Checker {
    fn flaw(&mut self, pointer: impl Into<String>, message: impl Into<String>) {
        self.flaws.push(Flaw { pointer: pointer.into(), message: message.into() });
    }

    fn contract(&mut self, contract: &Contract) {
        if let Err(error) = Slug::parse(&contract.name) {
            self.flaw("/name", error.to_string());
        }
        if semver::Version::parse(&contract.version).is_err() {
            self.flaw("/version", format!("{} is not a semantic version", shown(&contract.version)));
        }
        self.prose("/summary", &contract.summary);
        self.unique("/errors", "/code", contract.errors.iter().map(|failure| failure.code.as_str()));
        for (at, failure) in contract.errors.iter().enumerate() {
            let pointer = format!("/errors/{at}");
            if !is_code(&failure.code) {
                let message = format!("expected upper-case words joined by _, found {}", shown(&failure.code));
                self.flaw(format!("{pointer}/code"), message);
            }
            if failure.exit_status == 0 {
                self.flaw(format!("{pointer}/exitStatus"), "a failure never exits with 0");
            }
            self.prose(&format!("{pointer}/description"), &failure.description);
            self.prose(&format!("{pointer}/fix"), &failure.fix);
        }
        self.parameters("/parameters", &contract.parameters, &BTreeSet::new());
        for (at, parameter) in contract.parameters.iter().enumerate() {
            if parameter.position.is_some() {
                let message = "a parameter of every command has no position: it would stand where commands do";
                self.flaw(format!("/parameters/{at}/position"), message);
            }
        }
        if contract.commands.is_empty() {
            self.flaw("/commands", "expected at least one command");
        }
        self.unique("/commands", "/name", contract.commands.iter().map(|command| command.name.as_str()));
        let codes = contract.errors.iter().map(|failure| failure.code.as_str()).collect();
        let global = contract.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        for (at, command) in contract.commands.iter().enumerate() {
            self.command(&format!("/commands/{at}"), command, &codes, &global);
        }
    }

    fn command(&mut self, pointer: &str, command: &Command, codes: &BTreeSet<&str>, global: &BTreeSet<&str>) {
        let words: Vec<&str> = command.name.split(' ').collect();
        if words.len() > 3 || !words.iter().all(|word| is_kebab(word)) {
            let message = format!("expected one to three lower-case words, found {}", shown(&command.name));
            self.flaw(format!("{pointer}/name"), message);
        }
        self.prose(&format!("{pointer}/description"), &command.description);
        self.parameters(&format!("{pointer}/parameters"), &command.parameters, global);
        if !command.output_schema.is_object() {
            self.flaw(format!("{pointer}/outputSchema"), "expected a JSON Schema, which is an object");
        }
        self.unique(&format!("{pointer}/errors"), "", command.errors.iter().map(String::as_str));
        for (at, code) in command.errors.iter().enumerate() {
            if !codes.contains(code.as_str()) {
                let message = format!("{} is not among the application's errors", shown(code));
                self.flaw(format!("{pointer}/errors/{at}"), message);
            }
        }
        for (at, example) in command.examples.iter().enumerate() {
            self.prose(&format!("{pointer}/examples/{at}/description"), &example.description);
            if !example.args.windows(words.len()).any(|part| part.iter().eq(&words)) {
                let message = format!("the example does not call {}", shown(&command.name));
                self.flaw(format!("{pointer}/examples/{at}/args"), message);
            }
        }
    }

    fn parameters(&mut self, pointer: &str, parameters: &[Parameter], global: &BTreeSet<&str>) {
        let names = parameters.iter().map(|parameter| parameter.name.as_str());
        self.unique(pointer, "/name", names);
        for (at, parameter) in parameters.iter().enumerate() {
            if global.contains(parameter.name.as_str()) {
                let message = format!("{} is a parameter of every command already", shown(&parameter.name));
                self.flaw(format!("{pointer}/{at}/name"), message);
            }
            self.parameter(&format!("{pointer}/{at}"), parameter);
        }
        self.positions(pointer, parameters);
    }

    /// Positional parameters come first and are numbered as they stand; what may be left out or repeated comes last.
    fn positions(&mut self, pointer: &str, parameters: &[Parameter]) {
        let positional = parameters.iter().filter(|parameter| parameter.position.is_some()).count();
        let mut after_optional = false;
        for (at, parameter) in parameters.iter().enumerate() {
            let Some(position) = parameter.position else { continue };
            if usize::try_from(position) != Ok(at) {
                let message =
                    format!("expected the position {at}: positional parameters come first, in their order, from 0");
                self.flaw(format!("{pointer}/{at}/position"), message);
            }
            if parameter.repeated && at + 1 < positional {
                self.flaw(format!("{pointer}/{at}/repeated"), "only the last positional parameter may be repeated");
            }
            if parameter.required && after_optional {
                self.flaw(
                    format!("{pointer}/{at}/required"),
                    "a required positional parameter stands after an optional one",
                );
            }
            after_optional |= !parameter.required;
        }
    }

    fn parameter(&mut self, pointer: &str, parameter: &Parameter) {
        if !is_kebab(&parameter.name) {
            let message = format!("expected lower-case words joined by -, found {}", shown(&parameter.name));
            self.flaw(format!("{pointer}/name"), message);
        }
        self.prose(&format!("{pointer}/description"), &parameter.description);
        if parameter.free_text && parameter.value_type != ValueType::String {
            self.flaw(format!("{pointer}/freeText"), "only a string can be free text");
        }
        self.unique(&format!("{pointer}/choices"), "", parameter.choices.iter().map(String::as_str));
        for (at, choice) in parameter.choices.iter().enumerate() {
            if !is_of_type(choice, parameter.value_type) {
                self.flaw(
                    format!("{pointer}/choices/{at}"),
                    format!("{} is not of the parameter's type", shown(choice)),
                );
            }
        }
        let constraints = parameter.constraints.as_ref();
        if constraints.is_some_and(|own| own.pattern.is_some()) {
            self.patterns += 1;
            if self.patterns > PATTERNS_MAX {
                let message = format!("it is one pattern more than the {PATTERNS_MAX} that a description may have");
                return self.flaw(format!("{pointer}/constraints/pattern"), message);
            }
        }
        for (field, message) in constraints.map(|own| own.flaws(parameter.value_type)).unwrap_or_default() {
            let separator = if field.is_empty() { "" } else { "/" };
            self.flaw(format!("{pointer}/constraints{separator}{field}"), message);
        }
        let mut compiled = Compiled::default();
        let mut broken =
            |value: &str| constraints.and_then(|own| own.broken(value, parameter.value_type, &mut compiled));
        for (at, choice) in parameter.choices.iter().enumerate() {
            if let Some((_, message)) = broken(choice) {
                self.flaw(format!("{pointer}/choices/{at}"), message);
            }
        }
        let Some(default) = &parameter.default else { return };
        let default_pointer = format!("{pointer}/default");
        if parameter.required {
            self.flaw(default_pointer.clone(), "a required parameter has no default");
        }
        if !is_of_type(default, parameter.value_type) {
            self.flaw(default_pointer, format!("{} is not of the parameter's type", shown(default)));
        } else if !parameter.choices.is_empty() && !parameter.choices.contains(default) {
            self.flaw(default_pointer, format!("{} is not among the choices", shown(default)));
        } else if let Some((_, message)) = broken(default) {
            self.flaw(default_pointer, message);
        }
    }

    fn prose(&mut self, pointer: &str, text: &str) {
        if text.trim().is_empty() {
            self.flaw(pointer, "expected a text, found nothing");
        }
    }

    fn unique<'c>(&mut self, pointer: &str, field: &str, names: impl Iterator<Item = &'c str>) {
        let mut seen = BTreeSet::new();
        for (at, name) in names.enumerate() {
            if !seen.insert(name) {
                self.flaw(format!("{pointer}/{at}{field}"), format!("{} appears twice", shown(name)));
            }
        }
    }
}

fn is_kebab(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 64 && text.split('-').all(word)
}

fn is_code(text: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    text.len() <= 64 && text.starts_with(|c: char| c.is_ascii_uppercase()) && text.split('_').all(word)
}

/// Whether a text, written as an argument, is of a type.
pub(super) fn is_of_type(text: &str, value_type: ValueType) -> bool {
    match value_type {
        ValueType::String => true,
        ValueType::Integer => !text.starts_with('+') && text.parse::<i64>().is_ok(),
        ValueType::Number => serde_json::from_str::<serde_json::Number>(text).is_ok_and(|_| text.trim() == text),
        ValueType::Boolean => matches!(text, "true" | "false"),
        ValueType::Date => is_date(text),
        ValueType::Instant => is_instant(text),
        ValueType::DateOrInstant => is_date(text) || is_instant(text),
        ValueType::Path => !text.is_empty() && !text.contains('\0'),
    }
}

/// A calendar day is the first part of an instant.
fn is_date(text: &str) -> bool {
    text.len() == "2026-04-05".len() && moment(text).is_some()
}

fn is_instant(text: &str) -> bool {
    text.len() > "2026-04-05".len() && moment(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_of_their_types() {
        use ValueType::{Boolean, Date, DateOrInstant, Instant, Integer, Number, Path};
        for (value_type, good, bad) in [
            (Integer, &["0", "-3", "9223372036854775807"][..], &["", "+1", "1.0", "9223372036854775808", " 1"][..]),
            (Number, &["0.5", "-2e3", "7"], &["", "NaN", "1.", ".5", "+1", " 1", "0x1"]),
            (Boolean, &["true", "false"], &["yes", "True", ""]),
            (Date, &["2026-04-05", "2024-02-29"], &["2023-02-29", "2026-4-5", "0000-01-01", "2026-04-05Z", "20260405"]),
            (
                Instant,
                &[
                    "2026-04-01T09:30:00Z",
                    "2026-04-01T11:30:00.000+02:00",
                    "0001-01-01T00:00:00Z",
                    "9999-12-31T23:59:59.999999999Z",
                ],
                &[
                    "2026-04-01T09:30:00",
                    "2026-04-01",
                    "2026-04-01t09:30:00Z",
                    "2026-04-01T09:30:00z",
                    "2026-04-01 09:30:00Z",
                    "2026-04-01T09:30:60Z",
                    "2016-12-31T23:59:60Z",
                    "2026-04-01T09:30:00.0123456789Z",
                    "0001-01-01T00:00:00+00:01",
                    "9999-12-31T23:59:59-00:01",
                    "0000-12-31T23:59:59Z",
                ],
            ),
            (DateOrInstant, &["2026-04-05", "2026-04-01T09:30:00Z"], &["tomorrow"]),
            (Path, &["a/b", "/"], &["", "a\0"]),
        ] {
            assert!(good.iter().all(|text| is_of_type(text, value_type)), "{value_type:?} {good:?}");
            assert!(!bad.iter().any(|text| is_of_type(text, value_type)), "{value_type:?} {bad:?}");
        }
    }
}
