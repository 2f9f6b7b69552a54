//! A command as other tool systems describe one: JSON Schema of its input, and the tool form of the Model Context Protocol (rule M2,
//! revision 2025-06-18).

use super::{Command, Contract, Effect, Parameter, ValueType};
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
                "hutch/command": command.name,
                "hutch/confirmationRequired": command.confirmation_required,
            },
        })
    }
}

impl Command {
    /// JSON Schema (draft 2020-12) of an object with one field for each of the command's own parameters.
    pub fn input_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|parameter| (parameter.name.clone(), parameter.schema())).collect();
        let required: Vec<&str> =
            self.parameters.iter().filter(|one| one.required).map(|one| one.name.as_str()).collect();
        json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
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

/// An argument's text as the value of its type.
fn typed(text: &str, value_type: ValueType) -> Value {
    match value_type {
        ValueType::Integer | ValueType::Number | ValueType::Boolean => {
            serde_json::from_str(text).unwrap_or_else(|_| text.into())
        }
        _ => text.into(),
    }
}
