//! A command as other tool systems describe one: JSON Schema of its input, and the tool form of the Model Context Protocol (rule M2,
//! revision 2025-06-18).

use super::arguments::BATCH;
use super::{ArgumentViolation, Command, Contract, Effect, Parameter, ValueType, ViolationKind};
use crate::diagnostic::shown;
use crate::document;
use serde_json::{Map, Value, json};

impl Contract {
    /// One tool for each command.
    pub fn tools(&self) -> Vec<Value> {
        self.commands.iter().map(|command| self.tool(command)).collect()
    }

    fn tool(&self, command: &Command) -> Value {
        json!({
            "name": format!("{}_{}", self.name, command.name).replace([' ', '-'], "_"),
            "title": format!("{} {}", self.name, command.name),
            "description": command.description,
            "inputSchema": command.input_schema(),
            "outputSchema": command.output_schema,
            "annotations": {
                "readOnlyHint": command.effect == Effect::Read,
                "destructiveHint": command.effect == Effect::Delete,
                "idempotentHint": command.idempotent,
                "openWorldHint": false,
            },
            "_meta": {
                "hutch/by": "package",
                "hutch/command": command.name,
                "hutch/confirmationRequired": command.confirmation_required,
            },
        })
    }
}

impl Command {
    /// JSON Schema (draft 2020-12) of an object with one field for each of the command's own parameters, but those that only a line needs:
    /// the opposite of a flag, and the flag that says that standard input holds the parameters.
    pub fn input_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.fields().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required: Vec<&str> = self.fields().filter(|one| one.required).map(|one| one.name.as_str()).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
    }

    fn fields(&self) -> impl Iterator<Item = &Parameter> {
        let is_flag = |name: &str| {
            self.parameters.iter().any(|other| other.name == name && other.value_type == ValueType::Boolean)
        };
        let is_opposite = move |name: &str| name.strip_prefix("no-").is_some_and(is_flag);
        self.parameters.iter().filter(move |parameter| {
            parameter.name != BATCH && (parameter.position.is_some() || !is_opposite(&parameter.name))
        })
    }

    /// The words of a call with the values that an object of [`Command::input_schema`] gives: the command's name, its flags, and then what
    /// is bare. A field that is null is not given. The words are still to be judged as those of a line are.
    ///
    /// # Errors
    /// Fields that the schema does not have, and values that are no words.
    pub fn words(&self, given: &Map<String, Value>) -> Result<Vec<String>, Vec<ArgumentViolation>> {
        let mut violations = Vec::new();
        let mut wrong = |kind, parameter: String, message| {
            violations.push(ArgumentViolation {
                kind,
                parameter: Some(parameter),
                index: None,
                message,
                instead: None,
            });
        };
        for name in given.keys().filter(|name| !self.fields().any(|known| known.name == **name)) {
            let known: Vec<&str> = self.fields().map(|known| known.name.as_str()).collect();
            let hint = match known.is_empty() {
                true => "there are none here".to_owned(),
                false => format!("fields here are {}", known.join(", ")),
            };
            wrong(ViolationKind::UnknownFlag, name.clone(), format!("there is no field {}; {hint}", shown(name)));
        }
        let mut words: Vec<String> = self.name.split(' ').map(str::to_owned).collect();
        let mut bare: Vec<(u32, String)> = Vec::new();
        for parameter in self.fields() {
            let values = match given.get(&parameter.name) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(values)) if parameter.repeated => values.as_slice(),
                Some(value) => std::slice::from_ref(value),
            };
            for value in values {
                let Some(text) = text(value) else {
                    let message =
                        format!("{}: expected {}, found {}", parameter.name, parameter.value_type, found(value));
                    wrong(ViolationKind::WrongType, parameter.name.clone(), message);
                    continue;
                };
                match parameter.position {
                    Some(position) => bare.push((position, text)),
                    None if parameter.takes_value() => words.push(format!("--{}={text}", parameter.name)),
                    None if text == "true" => words.push(format!("--{}", parameter.name)),
                    None if text == "false" => {}
                    None => {
                        let message = format!("{}: expected true or false, found {}", parameter.name, shown(&text));
                        wrong(ViolationKind::WrongType, parameter.name.clone(), message);
                    }
                }
            }
        }
        bare.sort_by_key(|(position, _)| *position);
        // A value after one that is left out would be taken for that one.
        let left_out = self.fields().filter(|one| given.get(&one.name).is_none_or(Value::is_null));
        let first_left_out =
            left_out.filter_map(|one| Some((one.position?, one))).min_by_key(|(position, _)| *position);
        if let (Some((place, parameter)), Some((last, _))) = (first_left_out, bare.last())
            && place < *last
        {
            let message = format!("{} is missing, and a field that stands after it is given", parameter.name);
            wrong(ViolationKind::Missing, parameter.name.clone(), message);
        }
        if !violations.is_empty() {
            return Err(violations);
        }
        if bare.iter().any(|(_, text)| text.starts_with('-')) {
            words.push("--".to_owned());
        }
        words.extend(bare.into_iter().map(|(_, text)| text));
        Ok(words)
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let mut one = match self.value_type {
            ValueType::String | ValueType::Path => json!({"type": "string"}),
            ValueType::Integer => json!({"type": "integer"}),
            ValueType::Number => json!({"type": "number"}),
            ValueType::Boolean => json!({"type": "boolean"}),
            ValueType::Date => json!({"type": "string", "format": "date"}),
            ValueType::Instant => json!({"type": "string", "format": "date-time"}),
            ValueType::DateOrInstant => {
                json!({"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]})
            }
        };
        if let (false, Some(fields)) = (self.choices.is_empty(), one.as_object_mut()) {
            let choices = self.choices.iter().map(|choice| typed(choice, self.value_type)).collect();
            fields.insert("enum".to_owned(), Value::Array(choices));
        }
        if let (Some(constraints), Some(fields)) = (&self.constraints, one.as_object_mut()) {
            constraints.schema(self.value_type, fields);
        }
        let mut schema = if self.repeated { json!({"type": "array", "items": one}) } else { one };
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), self.description.as_str().into());
            if let Some(default) = &self.default {
                fields.insert("default".to_owned(), typed(default, self.value_type));
            }
        }
        schema
    }
}

/// A value as a word. A number without a fraction is a whole one however it is written, as JSON Schema has it: 3.0 is 3. One beyond 64 bits
/// is no word: reading it has changed it, and the application would get another.
fn text(value: &Value) -> Option<String> {
    /// The first number beyond those of 64 bits.
    const BEYOND: f64 = 18_446_744_073_709_551_616.0;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => match number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0) {
            Some(whole) => (whole.abs() < BEYOND).then(|| format!("{:.0}", whole + 0.0)),
            None => Some(number.to_string()),
        },
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// What a value is that is no word.
fn found(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        Value::Number(_) => "a number beyond 64 bits; a text of its digits is taken as it is written",
        _ => "null",
    }
}

/// An argument's text as the value of its type.
pub(super) fn typed(text: &str, value_type: ValueType) -> Value {
    match value_type {
        ValueType::Integer | ValueType::Number | ValueType::Boolean => {
            document::read(text.as_bytes()).unwrap_or_else(|_| text.into())
        }
        _ => text.into(),
    }
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
