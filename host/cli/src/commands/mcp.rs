//! `hutch mcp`: this program's own commands as tools of the Model Context Protocol.

use crate::fault::Fault;
use crate::output::Output;
use crate::{arguments, description, facts, human};
use serde_json::{Map, Value, json};
use std::process::ExitCode;

pub(super) fn mcp(output: &Output) -> Result<ExitCode, Fault> {
    let mut root = arguments::command();
    root.build();
    // One tool for each command that can be called.
    let commands = description::leaves(&root, "");
    let tools: Vec<Value> =
        commands.iter().map(|(command, path)| tool(&Value::Object(description::details(command, path)))).collect();
    output.answer("mcp", json!({"tools": tools}), human::fields)?;
    Ok(ExitCode::SUCCESS)
}

fn tool(command: &Value) -> Value {
    let name = command["name"].as_str().unwrap_or_default();
    let mut tool = json!({
        "name": format!("hutch_{}", name.replace([' ', '-'], "_")),
        "title": format!("hutch {name}"),
        "description": command["help"],
        "inputSchema": input_schema(command),
        "annotations": {
            "readOnlyHint": command["effect"] == "read",
            "destructiveHint": command["destructive"],
            "idempotentHint": command["idempotent"],
            // Nothing outside of this machine is reached.
            "openWorldHint": false,
        },
    });
    // The protocol knows structured answers only as objects; text is text.
    if let Some(facts) = facts::of(name).filter(|facts| facts.result["type"] != "string") {
        tool["outputSchema"] = description::envelope_schema(&facts.result);
    }
    tool
}

fn input_schema(command: &Value) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in command["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default().trim_start_matches('-').to_lowercase();
        if parameter["required"] == true {
            required.push(name.clone());
        }
        properties.insert(name, value_schema(parameter));
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn value_schema(parameter: &Value) -> Value {
    let mut schema = match parameter["type"].as_str() {
        Some("boolean") => json!({ "type": "boolean" }),
        Some("integer") => json!({ "type": "integer" }),
        Some("enum") => json!({ "type": "string", "enum": parameter["choices"] }),
        Some("instant") => json!({ "type": "string", "format": "date-time" }),
        _ => json!({ "type": "string" }),
    };
    if parameter["repeated"] == true {
        schema = json!({ "type": "array", "items": schema });
    }
    schema["description"] = parameter["help"].clone();
    if !parameter["default"].is_null() {
        schema["default"] = parameter["default"].clone();
    }
    schema
}
