//! A call in parts, so that one of them can be replaced; and values for parameters.

use crate::describe::{Command, Description, Parameter};
use std::collections::BTreeMap;

/// A call in parts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Parts {
    pub(super) words: Vec<String>,
    pub(super) bare: Vec<String>,
    pub(super) flags: Vec<(String, Option<String>)>,
}

/// Switches for which every command is called again.
const OWN_PROBES: [&str; 5] = ["human", "agent", "quiet", "dry-run", "brief"];
/// Names under which a confirmation is given.
const CONFIRMATIONS: [&str; 2] = ["yes", "confirm"];

impl Parts {
    /// The arguments. Flags stand before bare arguments: what follows these may be another program's.
    pub(super) fn args(&self) -> Vec<String> {
        self.args_with(&[])
    }

    /// The same, with more words among the flags.
    pub(super) fn args_with(&self, more: &[&str]) -> Vec<String> {
        let mut args = self.words.clone();
        for (name, value) in &self.flags {
            args.push(format!("--{name}"));
            args.extend(value.clone());
        }
        args.extend(more.iter().map(|word| (*word).to_owned()));
        args.extend(self.bare.iter().cloned());
        args
    }

    /// Without a flag.
    pub(super) fn without(&self, name: &str) -> Parts {
        let mut parts = self.clone();
        parts.flags.retain(|(flag, _)| flag != name);
        parts
    }

    /// With one more flag.
    pub(super) fn with(&self, name: &str, value: Option<&str>) -> Parts {
        let mut parts = self.clone();
        parts.flags.push((name.to_owned(), value.map(str::to_owned)));
        parts
    }

    /// With another value for a parameter.
    pub(super) fn replaced(&self, parameter: &Parameter, value: &str) -> Parts {
        let mut parts = self.clone();
        match parameter.position {
            Some(position) => {
                let at = position as usize;
                while parts.bare.len() <= at {
                    parts.bare.push("probe".to_owned());
                }
                if let Some(slot) = parts.bare.get_mut(at) {
                    value.clone_into(slot);
                }
            }
            None => {
                parts.flags.retain(|(name, _)| *name != parameter.name);
                parts.flags.push((parameter.name.clone(), Some(value.to_owned())));
            }
        }
        parts
    }

    /// With every confirmation that the command takes.
    pub(super) fn confirmed(&self, description: &Description, command: &Command) -> Parts {
        let mut parts = self.unconfirmed();
        for name in CONFIRMATIONS {
            let wanted = command.is_destructive() && description.parameter(command, name).is_some();
            let required = command.parameters.iter().any(|parameter| parameter.name == name);
            if wanted || required {
                parts.flags.push((name.to_owned(), None));
            }
        }
        parts
    }

    /// Without confirmations.
    pub(super) fn unconfirmed(&self) -> Parts {
        let mut parts = self.clone();
        parts.flags.retain(|(name, _)| !CONFIRMATIONS.contains(&name.as_str()));
        parts
    }

    /// Takes an example's arguments apart, without the flags that only change how it is answered; `None` if they do not call the
    /// command as it is described.
    pub(super) fn of_example(description: &Description, command: &Command, args: &[String]) -> Option<Parts> {
        let mut parts = Parts { words: command.words.clone(), ..Parts::default() };
        let mut rest = args.strip_prefix(command.words.as_slice())?.iter();
        while let Some(word) = rest.next() {
            let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
                parts.bare.push(word.clone());
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            // An example that asks about the command is no call of it.
            if ["help", "version"].contains(&name) {
                return None;
            }
            let switch = description.parameter(command, name)?.is_switch();
            let value = if switch || value.is_some() { value } else { Some(rest.next()?.clone()) };
            if !OWN_PROBES.contains(&name) {
                parts.flags.push((name.to_owned(), value));
            }
        }
        Some(parts)
    }
}

/// Where values for parameters come from.
#[derive(Default)]
pub(super) struct Values {
    /// Identifiers that answers showed.
    pub(super) identifiers: Vec<String>,
    /// Values that were given with the target, by the parameter's name.
    pub(super) samples: BTreeMap<String, String>,
    /// How texts begin that nothing else is known of.
    pub(super) word: String,
}

impl Values {
    /// The `nth` valid value of a parameter, as well as that can be guessed.
    pub(super) fn of(&self, parameter: &Parameter, nth: usize) -> String {
        if let Some(sample) = self.samples.get(&parameter.name.to_lowercase()) {
            return sample.clone();
        }
        if let Some(example) = parameter.json.get("example").and_then(serde_json::Value::as_str) {
            return example.to_owned();
        }
        if !parameter.choices.is_empty() {
            return parameter.choices.get(nth % parameter.choices.len()).cloned().unwrap_or_default();
        }
        if parameter.is_identifier() && !self.identifiers.is_empty() {
            return self.identifiers.get(nth % self.identifiers.len()).cloned().unwrap_or_default();
        }
        let (minute, hour, day) = (nth % 60, nth / 60 % 24, 1 + nth / 1440 % 28);
        match parameter.kind.as_deref() {
            Some("integer" | "int") => (nth + 1).to_string(),
            Some("number" | "float") => format!("{nth}.5"),
            Some("boolean" | "bool") => "true".to_owned(),
            Some("date") => format!("2026-04-{:02}", 1 + nth % 28),
            Some("instant" | "date-or-instant" | "datetime") => format!("2026-04-{day:02}T{hour:02}:{minute:02}:00Z"),
            Some("path" | "file") => format!("{}-{}.txt", self.word, nth + 1),
            Some("json") => "{}".to_owned(),
            _ => format!("{}-{}", self.word, nth + 1),
        }
    }

    /// An identifier of the same form that nothing has.
    pub(super) fn absent(&self) -> String {
        let known = self.identifiers.first().map_or("missing-1", String::as_str);
        let absent: String = known.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        if self.identifiers.contains(&absent) || !absent.contains('9') { format!("{absent}-9999") } else { absent }
    }

    /// The call with nothing but what is required.
    pub(super) fn required_only(&self, command: &Command, nth: usize) -> Parts {
        let mut parts = Parts { words: command.words.clone(), ..Parts::default() };
        for parameter in command.positional().into_iter().filter(|parameter| parameter.required) {
            parts.bare.push(self.of(parameter, nth));
        }
        for parameter in command.parameters.iter().filter(|it| it.position.is_none() && it.required) {
            let value = (!parameter.is_switch()).then(|| self.of(parameter, nth));
            parts.flags.push((parameter.name.clone(), value));
        }
        parts
    }
}
