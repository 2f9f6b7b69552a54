//! `hutch mcp`: packages, served over the Model Context Protocol on standard input and output; this program's own commands as that
//! protocol describes tools; and what makes a client start such a server.

use super::clients::{Client, Told};
use super::served::{Options, TelemetryArguments, ToolsArguments, served_fault, serving, unconfirmed};
use crate::answer::output::Output;
use crate::answers::McpAnswer;
use crate::call::invocation::{Asked, parse_limit, parse_mount};
use crate::flags::global::Global;
use crate::machine::{stores, surroundings};
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::human;
use crate::spec::{description, facts};
use clap::Args;
use hutch_model::limits::Limit;
use hutch_serve::Catalog;
use hutch_serve::mcp::stdio;
use hutch_store::InstanceName;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    /// Print the tools, and serve nobody; hutch's own commands as tools if no package is named
    #[arg(long)]
    print: bool,
    /// Print what makes this client start the server, and serve nobody
    #[arg(long, value_name = "NAME", conflicts_with = "print")]
    client: Option<Client>,
    /// Put it into the client's file, whose bytes are kept beside it
    #[arg(long, requires = "client")]
    write: bool,
    /// The instance of each package that is worked on
    #[arg(long, value_name = "NAME", default_value = "default")]
    instance: InstanceName,
    /// Set a limit for every call; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
    /// Grant a real folder to the packages that ask for it; :rw to write
    #[arg(long = "mount", value_name = "DIR:NAME[:ro|rw|rwx]", value_parser = parse_mount)]
    mounts: Vec<Asked>,
    #[command(flatten)]
    tools: ToolsArguments,
    #[command(flatten)]
    told: TelemetryArguments,
    /// What to serve; all installed packages if absent
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
    if own.print && own.packages.is_empty() {
        return own_commands(output, shape());
    }
    unconfirmed(global)?;
    if let Some(client) = own.client {
        return configure(global, own, client, output);
    }
    let (tools, mounts) = (&own.tools, own.mounts.as_slice());
    let told = (!own.print).then_some(&own.told);
    let options = Options { instance: &own.instance, limits: &own.limits, tools, mounts, told };
    let serving = serving(global, &own.packages, &options)?;
    if own.print {
        let tools = Some(Catalog::of(&serving).tools().to_vec());
        return output.answer("mcp", McpAnswer { tools, ..McpAnswer::default() }, human::fields);
    }
    stdio(&serving).map_err(served_fault)?;
    Ok(ExitCode::SUCCESS)
}

/// What makes a client start what this line would serve, wherever the client stands.
fn configure(global: &Global, own: &McpArguments, client: Client, output: &Output) -> Result<ExitCode, Fault> {
    stores::none_named("what a client starts")?;
    let mut words = vec!["mcp".to_owned()];
    for told in surroundings::for_later(global)? {
        words.extend([told.flag.to_owned(), told.value]);
    }
    if own.instance.as_str() != "default" {
        words.extend(["--instance".to_owned(), own.instance.to_string()]);
    }
    for (limit, amount) in &own.limits {
        words.extend(["--limit".to_owned(), format!("{}={amount}", limit.name())]);
    }
    for mount in &own.mounts {
        words.extend(["--mount".to_owned(), mount.settled()?]);
    }
    words.extend(own.tools.words());
    for package in &own.packages {
        let named = packages::place(global, package)?;
        words.push(match named {
            packages::Place::Local { path, .. } => absolute(&path)?,
            packages::Place::Installed(_) => named.word(),
        });
    }
    let Told { path, configuration, text, backup } = client.told(&words, own.write && !global.dry_run, global.wait)?;
    let result = McpAnswer {
        tools: None,
        path: Some(path),
        configuration: Some(configuration),
        text,
        written: Some(own.write && !global.dry_run),
        backup,
    };
    output.answer("mcp", result, for_the_file)
}

/// What a person copies into a client's file, as it stands there; or what became of that file.
fn for_the_file(answer: &Value) -> String {
    let told =
        human::sentence(&["{written?written to|this belongs in} {path}", "; what stood there is in {backup}"])(answer);
    let configuration = &answer["configuration"];
    let text = match answer["text"].as_str() {
        Some(text) => text.to_owned(),
        None => serde_json::to_string_pretty(configuration).unwrap_or_default(),
    };
    match answer["written"] == true || configuration.is_null() {
        true => told,
        false => format!("{told}\n\n{text}"),
    }
}

fn absolute(path: &Path) -> Result<String, Fault> {
    let path = std::path::absolute(path).map_err(|error| Fault::file(path, &error))?;
    path.to_str().map(str::to_owned).ok_or_else(|| Fault::usage(format!("{} is not UTF-8", path.display())))
}

/// This program's commands as tools, which nobody serves: what an agent that has a shell reads.
fn own_commands(output: &Output, mut root: clap::Command) -> Result<ExitCode, Fault> {
    root.build();
    // One tool for each command that can be called.
    let commands = description::leaves(&root, "");
    let tools: Vec<Value> =
        commands.iter().map(|(command, path)| tool(&Value::Object(description::details(command, path)))).collect();
    output.answer("mcp", McpAnswer { tools: Some(tools), ..McpAnswer::default() }, human::fields)
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
            "destructiveHint": command["effect"] == "delete",
            "idempotentHint": command["idempotent"] == true,
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
