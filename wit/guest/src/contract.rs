//! What an application says about itself: the records of `wit/hutch.wit`, interface `contract`, as constant tables. The derives write them.
//!
//! One table serves the component's export, `schemas/commands.json`, `--help` and the reading of arguments, so none of
//! them can disagree. Field meanings are documented in `wit/hutch.wit` and not repeated here. Knows no application.

use serde::{Serialize, Serializer};

pub use crate::schema::Schema;

/// The name and version of the JSON form, the value of its first key.
pub const JSON_FORM: &str = "hutch/commands@0.1";

/// What a command may do to the state.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Leaves the state as it was.
    Read,
    /// Adds to the state or changes it.
    Write,
    /// Takes something out of the state.
    Delete,
}

/// The type of one argument.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueType {
    /// Any text.
    String,
    /// A decimal integer.
    Integer,
    /// A decimal number.
    Number,
    /// `true` or `false`, or a flag without value.
    Boolean,
    /// A calendar day.
    Date,
    /// A moment with an offset.
    Instant,
    /// A calendar day or a moment.
    DateOrInstant,
    /// A path.
    Path,
}

/// One parameter.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Without leading dashes.
    pub name: &'static str,
    /// Place among the bare arguments.
    pub position: Option<u32>,
    /// Type of each value.
    pub value_type: ValueType,
    /// Whether a call without it is refused; one with a `json-input` that its command declares may give it there.
    pub required: bool,
    /// Whether it may be given more than once.
    pub repeated: bool,
    /// The value of a call without it.
    pub default: Option<&'static str>,
    /// The only values allowed, unless empty.
    pub choices: &'static [&'static str],
    /// Whether it is prose for people.
    pub free_text: bool,
    /// What a value must keep beyond its type.
    #[serde(skip_serializing_if = "Constraints::is_none")]
    pub constraints: Constraints,
    /// Meaning, unit, bounds.
    pub description: &'static str,
}

/// What a value must keep beyond its type, in the words of JSON Schema.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Constraints {
    /// The least number, written as an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<&'static str>,
    /// The greatest number, written as an argument.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<&'static str>,
    /// The least number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u32>,
    /// The greatest number of characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u32>,
    /// A regular expression that is found in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<&'static str>,
}

impl Constraints {
    /// None at all.
    pub const NONE: Self = Self { minimum: None, maximum: None, min_length: None, max_length: None, pattern: None };

    /// Whether there are none.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }

    /// Those of both; where both say something, `self` counts.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        const fn text(one: Option<&'static str>, other: Option<&'static str>) -> Option<&'static str> {
            if one.is_some() { one } else { other }
        }
        const fn length(one: Option<u32>, other: Option<u32>) -> Option<u32> {
            if one.is_some() { one } else { other }
        }
        Self {
            minimum: text(self.minimum, other.minimum),
            maximum: text(self.maximum, other.maximum),
            min_length: length(self.min_length, other.min_length),
            max_length: length(self.max_length, other.max_length),
            pattern: text(self.pattern, other.pattern),
        }
    }
}

impl Parameter {
    /// A parameter written bare, at `position`, that every call must give.
    #[must_use]
    pub const fn positional(
        position: u32,
        name: &'static str,
        value_type: ValueType,
        description: &'static str,
    ) -> Self {
        let option = Self::option(name, value_type, description);
        Self { position: Some(position), required: true, ..option }
    }

    /// A parameter written `--name VALUE`, that a call may leave out.
    #[must_use]
    pub const fn option(name: &'static str, value_type: ValueType, description: &'static str) -> Self {
        Self {
            name,
            position: None,
            value_type,
            required: false,
            repeated: false,
            default: None,
            choices: &[],
            free_text: false,
            constraints: Constraints::NONE,
            description,
        }
    }

    /// A parameter written `--name`, without value.
    #[must_use]
    pub const fn flag(name: &'static str, description: &'static str) -> Self {
        Self::option(name, ValueType::Boolean, description)
    }

    /// Whether it takes no value.
    #[must_use]
    pub fn is_flag(&self) -> bool {
        self.position.is_none() && self.value_type == ValueType::Boolean
    }
}

/// One way to fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailureCode {
    /// As in `error.code`.
    pub code: &'static str,
    /// Never 0.
    pub exit_status: u8,
    /// What went wrong.
    pub description: &'static str,
    /// What the caller can do.
    pub fix: &'static str,
}

/// One call and how it ends.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Example {
    /// What the call is for.
    pub description: &'static str,
    /// Arguments after the program's name.
    pub args: &'static [&'static str],
    /// Exit status of the call.
    pub exit_status: u8,
}

/// One command.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Words separated by one space.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// Its own parameters.
    pub parameters: &'static [Parameter],
    /// The most that it does to the state.
    pub effect: Effect,
    /// Whether it can be repeated without further effect.
    pub idempotent: bool,
    /// Whether a person must have agreed.
    pub confirmation_required: bool,
    /// JSON Schema of the document on stdout.
    pub output_schema: Schema,
    /// Codes that it can end with.
    #[serde(serialize_with = "codes_only")]
    pub errors: &'static [FailureCode],
    /// Calls that show its use.
    pub examples: &'static [Example],
}

/// The whole application.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Description {
    /// The program's short name.
    pub name: &'static str,
    /// Semantic version.
    pub version: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// Parameters that every command takes.
    pub parameters: &'static [Parameter],
    /// The commands, in the order to show them.
    pub commands: &'static [Command],
    /// Every way to fail.
    pub errors: &'static [FailureCode],
}

impl Description {
    /// The content of `schemas/commands.json`: pretty-printed, each output schema on one line, a newline at the end.
    ///
    /// # Errors
    /// When a schema of the table is given as text that is not JSON.
    pub fn to_json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Form<'a> {
            schema: &'static str,
            #[serde(flatten)]
            description: &'a Description,
        }
        let mut text = serde_json::to_string_pretty(&Form { schema: JSON_FORM, description: self })?;
        text.push('\n');
        Ok(text)
    }
}

/// Writes failure codes by name alone.
fn codes_only<S: Serializer>(failures: &[FailureCode], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(failures.iter().map(|failure| failure.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOST: FailureCode = FailureCode { code: "LOST", exit_status: 20, description: "gone", fix: "look again" };
    const TINY: Description = Description {
        name: "tiny",
        version: "1.2.3",
        summary: "does one thing",
        parameters: &[Parameter::flag("human", "for people")],
        commands: &[Command {
            name: "look",
            description: "looks",
            parameters: &[Parameter::positional(0, "at", ValueType::DateOrInstant, "when")],
            effect: Effect::Read,
            idempotent: true,
            confirmation_required: false,
            output_schema: Schema::Text(r#"{"type":"object","required":["b","a"]}"#),
            errors: &[LOST],
            examples: &[Example { description: "look", args: &["look", "2026-04-05"], exit_status: 0 }],
        }],
        errors: &[LOST],
    };

    #[test]
    fn the_json_form_is_the_one_documented_in_the_wit_file() {
        let json: serde_json::Value = serde_json::from_str(&TINY.to_json().unwrap()).unwrap();
        let expected = serde_json::json!({
            "schema": "hutch/commands@0.1",
            "name": "tiny",
            "version": "1.2.3",
            "summary": "does one thing",
            "parameters": [{
                "name": "human", "position": null, "valueType": "boolean", "required": false, "repeated": false,
                "default": null, "choices": [], "freeText": false, "description": "for people"
            }],
            "commands": [{
                "name": "look",
                "description": "looks",
                "parameters": [{
                    "name": "at", "position": 0, "valueType": "date-or-instant", "required": true, "repeated": false,
                    "default": null, "choices": [], "freeText": false, "description": "when"
                }],
                "effect": "read",
                "idempotent": true,
                "confirmationRequired": false,
                "outputSchema": {"type": "object", "required": ["b", "a"]},
                "errors": ["LOST"],
                "examples": [{"description": "look", "args": ["look", "2026-04-05"], "exitStatus": 0}]
            }],
            "errors": [{"code": "LOST", "exitStatus": 20, "description": "gone", "fix": "look again"}]
        });
        assert_eq!(json, expected);
        assert!(TINY.to_json().unwrap().starts_with("{\n  \"schema\": \"hutch/commands@0.1\","));
    }

    #[test]
    fn an_output_schema_that_is_not_json_is_refused() {
        let commands: &'static [Command] =
            Box::leak(Box::new([Command { output_schema: Schema::Text("{oops"), ..TINY.commands[0] }]));
        assert!(Description { commands, ..TINY }.to_json().is_err());
    }
}
