//! `hutch meta`: the resolved contract of a package's commands, versioned by the package: a list of them, or all about one.

use crate::answer::output::Output;
use crate::answers::{
    MetaAnswer, MetaCommand, MetaDescribed, MetaFailure, MetaGrants, MetaLine, MetaListed, MetaPackage, MetaSemantics,
    SchemaAnswer, ToolsAnswer,
};
use crate::flags::global::Global;
use crate::line::call_line::CallLine;
use crate::package::{packages, trust};
use crate::refusal::fault::Fault;
use crate::refusal::repair;
use crate::screen::human;
use clap::{Args, ValueEnum};
use hutch_documents::By;
use hutch_model::asks::Asks;
use hutch_model::contract::{CONTRACT_SCHEMA, Command, Contract, Failure, Parameter};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::manifest::Manifest;
use hutch_model::nearest::nearest;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct MetaArguments {
    /// The folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    pub(super) package: PathBuf,
    /// The words of one command, of which all is told; all commands are listed if absent
    #[arg(value_name = "COMMAND")]
    pub(super) command: Vec<String>,
    /// Print the form of another system instead
    #[arg(long, value_enum)]
    export: Option<Export>,
}

/// Forms that other systems read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Export {
    /// Tools of the Model Context Protocol
    Mcp,
    /// JSON Schema of schemas/commands.json, whatever stands in it, for editors
    JsonSchema,
}

/// What editors hold a description of commands against. Tests hold it to what is read.
pub(super) const SCHEMA: &str = include_str!("../../../../agent/commands.schema.json");

pub(crate) fn meta(global: &Global, own: &MetaArguments, output: &Output) -> Result<ExitCode, Fault> {
    if own.export == Some(Export::JsonSchema) {
        // Before the package is opened: whoever is writing it has one that is not good yet.
        let schema = serde_json::from_str(SCHEMA).unwrap_or_default();
        return output.answer("meta", MetaAnswer::Schema(SchemaAnswer { schema }), human::fields);
    }
    let (outline, place) = packages::outline(global, &own.package)?;
    // Before the component is asked: behind its ring no rules are read.
    let trust = trust::level(&trust::policy(global)?, &place);
    let file = packages::contract(global, &own.package, &outline)?;
    let contract = file.contract();
    let wanted = wanted(contract, &own.command, &place.word(), &global.line)?;
    if own.export == Some(Export::Mcp) {
        let mut only = contract.clone();
        only.commands = wanted.into_iter().cloned().collect();
        return output.answer("meta", MetaAnswer::Exported(ToolsAnswer { tools: only.tools() }), human::fields);
    }
    let (manifest, word) = (outline.manifest(), place.word());
    if own.command.is_empty() {
        let columns = [("name", "COMMAND"), ("effect", "EFFECT"), ("description", "DESCRIPTION")];
        let result = listed(contract, manifest, (&word, trust), &global.line);
        return output.answer("meta", MetaAnswer::Listed(result), |result| {
            human::table(result["commands"].as_array().map(Vec::as_slice).unwrap_or_default(), &columns)
        });
    }
    let global_parameters = contract.with_hosted().parameters.iter().map(|one| json!(one.written())).collect();
    let result = MetaDescribed {
        about: about(contract, manifest, trust, global_parameters),
        commands: wanted.iter().map(|command| describe(contract, manifest, command, &word, &global.line)).collect(),
    };
    output.answer("meta", MetaAnswer::Described(result), human::fields)
}

/// What is said of a package, with a line about each command.
pub(super) fn listed(
    contract: &Contract,
    manifest: &Manifest,
    (word, trust): (&str, &str),
    line: &CallLine,
) -> MetaListed {
    MetaListed {
        about: about(contract, manifest, trust, contract.parameters.iter().map(Parameter::said).collect()),
        commands: contract.commands.iter().map(|command| in_line(manifest, command, word, line)).collect(),
    }
}

fn about(contract: &Contract, manifest: &Manifest, trust: &str, global_parameters: Vec<Value>) -> MetaPackage {
    MetaPackage {
        by: By::Package,
        package: contract.name.clone(),
        version: contract.version.clone(),
        contract: CONTRACT_SCHEMA,
        trust: trust.to_owned(),
        summary: contract.summary.clone(),
        grants: grants(manifest),
        global_parameters,
    }
}

/// One line about a command, and the call that tells all about it.
fn in_line(manifest: &Manifest, command: &Command, call: &str, line: &CallLine) -> MetaLine {
    MetaLine {
        name: command.name.clone(),
        description: command.description.clone(),
        effect: command.effect,
        confirmation_required: is_confirmed(manifest, command),
        meta: line_of(line, "meta", call, command),
    }
}

/// A call of hutch about a command, as it is typed.
fn line_of(line: &CallLine, verb: &str, call: &str, command: &Command) -> Option<String> {
    line.elsewhere([verb, call].into_iter().chain(command.name.split(' ')))
}

fn is_confirmed(manifest: &Manifest, command: &Command) -> bool {
    command.confirmation_required || manifest.confirmation_required().iter().any(|path| path.as_str() == command.name)
}

/// The commands that the words name: all for none.
pub(super) fn wanted<'c>(
    contract: &'c Contract,
    words: &[String],
    call: &str,
    line: &CallLine,
) -> Result<Vec<&'c Command>, Fault> {
    let name = words.join(" ");
    let within = |command: &&Command| command.name == name || command.name.starts_with(&format!("{name} "));
    let found: Vec<&Command> = contract.commands.iter().filter(|command| words.is_empty() || within(command)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names = contract.commands.iter().map(|command| command.name.as_str());
    let near = nearest(&name, names.clone());
    let report = ErrorReport::new(ErrorCode::NotFound, format!("{} has no command {name:?}", contract.name));
    let report = report.suggest(format!("commands are {}", names.collect::<Vec<_>>().join(", ")));
    Err(match near {
        Some(near) => {
            let words = ["meta", call].into_iter().chain(near.split(' '));
            repair::fixed(report, line.elsewhere(words), "describes the command that was probably meant", "none")
        }
        None => repair::fixed(report, line.elsewhere(["meta", call]), "describes all commands", "none"),
    }
    .into())
}

fn grants(manifest: &Manifest) -> MetaGrants {
    let asks = Asks::of(manifest);
    let needs_grant = asks.beyond(None).into_iter().map(str::to_owned).collect();
    MetaGrants { asks, needs_grant }
}

fn describe(contract: &Contract, manifest: &Manifest, command: &Command, call: &str, line: &CallLine) -> MetaCommand {
    let export = [&["meta", call][..], &command.name.split(' ').collect::<Vec<_>>(), &["--export", "mcp"]].concat();
    let schemas = line.elsewhere(export);
    let failures = contract.errors.iter().filter(|failure| command.errors.contains(&failure.code));
    MetaCommand {
        name: command.name.clone(),
        description: command.description.clone(),
        usage: usage(command, call, line),
        inputs: command.parameters.iter().map(Parameter::said).collect(),
        semantics: MetaSemantics {
            effect: command.effect,
            idempotent: command.idempotent,
            confirmation_required: is_confirmed(manifest, command),
        },
        output: shape(&command.output_schema),
        failures: failures.map(failed).collect(),
        schemas,
        examples: line_of(line, "examples", call, command),
    }
}

/// What a failure is; what to do about it `explain-error` says, with what the caller knows by then.
fn failed(failure: &Failure) -> MetaFailure {
    let Failure { code, exit_status, description, .. } = failure.clone();
    MetaFailure { code, exit_status, description }
}

/// An answer as it looks: each value of the schema by its type, or by the values that it can have.
fn shape(schema: &Value) -> Value {
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    let any = ["enum", "anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array());
    if let Some(any) = any {
        let is_enum = schema.get("enum").is_some();
        let one = |value: &Value| if is_enum { value.clone() } else { shape(value) };
        return either(any.iter().map(one).collect());
    }
    match (schema.get("properties"), schema.get("items")) {
        (Some(Value::Object(properties)), _) => {
            Value::Object(properties.iter().map(|(name, inner)| (name.clone(), shape(inner))).collect())
        }
        (_, Some(items)) => json!([shape(items)]),
        _ => match schema.get("type") {
            Some(Value::Array(types)) => either(types.clone()),
            Some(kind) => kind.clone(),
            None => "any".into(),
        },
    }
}

/// One of several: short ones in one text, once each.
fn either(shapes: Vec<Value>) -> Value {
    let mut texts = Vec::new();
    for shape in &shapes {
        match shape {
            Value::String(text) if texts.contains(text) => {}
            Value::String(text) => texts.push(text.clone()),
            Value::Null => texts.push("null".to_owned()),
            Value::Object(_) | Value::Array(_) => return json!({"anyOf": shapes}),
            other => texts.push(other.to_string()),
        }
    }
    texts.join(" or ").into()
}

fn usage(command: &Command, call: &str, line: &CallLine) -> String {
    let mut words = vec![line_of(line, "run", call, command).unwrap_or_else(|| command.name.clone())];
    words.extend(command.parameters.iter().map(|parameter| {
        let dots = if parameter.repeated { "…" } else { "" };
        let value = match parameter.position {
            None if parameter.value_type != hutch_model::contract::ValueType::Boolean => " VALUE",
            _ => "",
        };
        let word = format!("{}{value}{dots}", parameter.written());
        if parameter.required { word } else { format!("[{word}]") }
    }));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_as_it_looks() {
        let schema = json!({"type": "object", "properties": {
            "ok": {"const": true},
            "at": {"anyOf": [{"type": "string", "format": "date"}, {"type": "string"}, {"type": "null"}]},
            "of": {"enum": ["a", "b", 1]},
            "n": {"type": ["integer", "null"]},
            "items": {"type": "array", "items": {"properties": {"id": {"type": "string"}}}},
            "x": {"oneOf": [{"const": 1}, {"properties": {"y": {}}}]},
            "z": {},
        }});
        let shown = json!({"ok": true, "at": "string or null", "of": "a or b or 1", "n": "integer or null",
            "items": [{"id": "string"}], "x": {"anyOf": [1, {"y": "any"}]}, "z": "any"});
        assert_eq!(shape(&schema), shown);
    }
}
