//! `hutch mcp`: packages, served over the Model Context Protocol on standard input and output; and this program's own commands as that
//! protocol describes tools.

use super::served::{Options, TelemetryArguments, served_fault, serving};
use crate::answer::output::Output;
use crate::answers::ToolsAnswer;
use crate::call::invocation::parse_limit;
use crate::flags::global::Global;
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::spec::{description, facts};
use clap::Args;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_serve::mcp::stdio;
use hutch_serve::{Catalog, TOOLS_MAX};
use hutch_store::InstanceName;
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Print the tools, and serve nobody
    #[arg(long, requires = "packages")]
    print: bool,
    /// The instance of each package that is worked on
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// Set a limit for every call; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    /// With more commands, three tools find, describe and call them
    #[arg(long, value_name = "N", default_value_t = TOOLS_MAX)]
    tools_max: usize,
    #[command(flatten)]
    told: TelemetryArguments,
    /// What to serve; hutch's own commands are printed as tools if absent
    #[arg(value_name = "PACKAGE")]
    packages: Vec<PathBuf>,
}

/// `shape` makes the shape of all commands.
pub(crate) fn mcp(
    global: &Global,
    own: &McpArguments,
    output: &Output,
    shape: fn() -> clap::Command,
) -> Result<ExitCode, Fault> {
    if own.packages.is_empty() {
        return own_commands(output, shape());
    }
    if global.yes {
        let message = "nobody can confirm before it is known what is to be done";
        return Err(ErrorReport::new(ErrorCode::Usage, message).suggest("leave --yes out").into());
    }
    let options = Options {
        instance: &own.instance,
        limits: &own.limits,
        tools_max: own.tools_max,
        told: (!own.print).then_some(&own.told),
    };
    let serving = serving(global, &own.packages, &options)?;
    if own.print {
        output.answer("mcp", ToolsAnswer { tools: Catalog::of(&serving).tools().to_vec() }, human::fields)?;
        return Ok(ExitCode::SUCCESS);
    }
    stdio(&serving).map_err(served_fault)?;
    Ok(ExitCode::SUCCESS)
}

/// This program's commands as tools, which nobody serves: what an agent that has a shell reads.
fn own_commands(output: &Output, mut root: clap::Command) -> Result<ExitCode, Fault> {
    root.build();
    // One tool for each command that can be called.
    let commands = description::leaves(&root, "");
    let tools: Vec<Value> =
        commands.iter().map(|(command, path)| tool(&Value::Object(description::details(command, path)))).collect();
    output.answer("mcp", ToolsAnswer { tools }, human::fields)?;
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
            "openWorldHint": facts::of(name).is_some_and(|facts| facts.is_networked),
        },
    });
    // The protocol knows structured answers only as objects; text is text.
    if let Some(result) = facts::of(name).map(facts::Facts::result).filter(|result| result["type"] != "string") {
        tool["outputSchema"] = description::around(&result);
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
