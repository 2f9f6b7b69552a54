//! The command line's shape as data: what `--help` answers. Its form is published as `agent/help.schema.json`.

use crate::flags::arguments_guard::{self, parameter_name, value_name};
use crate::spec::facts::{self, Facts};
use clap::{Arg, ArgAction, Command, ValueHint};
use hutch_documents::agent;
use hutch_model::contract::Effect;
use serde_json::{Map, Value, json};
use std::any::TypeId;
use std::collections::{BTreeMap, BTreeSet};

/// The published form of a help answer.
pub(crate) const SCHEMA_ID: &str = "hutch/help@0.1";

/// What each exit status of the host means. A guest's own status passes through `run`.
pub(crate) const EXIT_STATUSES: [(u8, &str); 15] = [
    (0, "ok"),
    (1, "general"),
    (2, "usage"),
    (10, "authentication"),
    (11, "permission denied"),
    (20, "not found"),
    (30, "conflict or precondition"),
    (40, "wall time"),
    (41, "fuel"),
    (42, "memory"),
    (43, "output"),
    (44, "state quota"),
    (45, "guest trapped"),
    (46, "contract broken"),
    (50, "host fault"),
];

/// The help of the command at `path` below `root`. The program itself, and a group of commands, list their commands; what a command
/// takes, answers and fails with is in its own help.
pub(crate) fn help(root: &Command, path: &[&str]) -> Value {
    let at = path.iter().fold(root, |at, name| at.find_subcommand(name).unwrap_or(at));
    let name = path.join(" ");
    let mut fields = match at.has_subcommands() {
        true => index(at, &name),
        false => details(at, &name),
    };
    fields.insert("schema".to_owned(), SCHEMA_ID.into());
    if path.is_empty() {
        fields.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
        fields.insert("issue".to_owned(), agent::ISSUE.into());
        fields.insert("help".to_owned(), format!("{}\n\n{}", agent::BRIEF.trim(), usage_note()).into());
        fields.insert("global_parameters".to_owned(), globals(root).map(parameter).collect());
        let statuses = EXIT_STATUSES.iter().map(|(status, meaning)| (status.to_string(), Value::from(*meaning)));
        fields.insert("exit_statuses".to_owned(), Value::Object(statuses.collect()));
        fields.insert("rules".to_owned(), agent::rules());
        fields.insert("skills".to_owned(), agent::skills());
    }
    Value::Object(fields)
}

fn usage_note() -> &'static str {
    "hutch COMMAND --help states parameters, answer, errors and examples. A command without an effect only reads."
}

fn globals(root: &Command) -> impl Iterator<Item = &Arg> {
    // Every command has them.
    let everywhere = |argument: &&Arg| argument.is_global_set() || is_about(argument);
    root.get_arguments().filter(everywhere).filter(|argument| !argument.is_hide_set())
}

fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !is_about(argument)
}

fn is_about(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Help | ArgAction::Version)
}

/// What is said of a program, a group and a command alike.
fn about(command: &Command, path: &str) -> Map<String, Value> {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    Map::from_iter([
        ("name".to_owned(), if path.is_empty() { "hutch" } else { path }.into()),
        ("help".to_owned(), about.into()),
        ("usage".to_owned(), usage(command, path).into()),
    ])
}

/// A group of commands: one line for each that can be called.
fn index(command: &Command, path: &str) -> Map<String, Value> {
    let mut fields = about(command, path);
    let commands = leaves(command, path).into_iter().map(|(leaf, path)| {
        let about = leaf.get_about().map(ToString::to_string).unwrap_or_default();
        let mut listed = Map::from_iter([("name".to_owned(), path.as_str().into()), ("help".to_owned(), about.into())]);
        if let Some(facts) = facts::of(&path).filter(|facts| facts.effect != Effect::Read) {
            listed.insert("effect".to_owned(), json!(facts.effect));
        }
        Value::Object(listed)
    });
    fields.insert("commands".to_owned(), commands.collect());
    fields
}

/// Every command that can be called, with its words.
pub(crate) fn leaves<'c>(command: &'c Command, path: &str) -> Vec<(&'c Command, String)> {
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set());
    let inner = inner.map(|inner| (inner, format!("{path} {}", inner.get_name()).trim_start().to_owned()));
    inner
        .flat_map(|(inner, path)| match inner.has_subcommands() {
            true => leaves(inner, &path),
            false => vec![(inner, path)],
        })
        .collect()
}

/// All of one command.
pub(crate) fn details(command: &Command, path: &str) -> Map<String, Value> {
    let own = |argument: &&Arg| !argument.is_global_set() && is_shown(argument);
    let mut fields = about(command, path);
    fields.insert("parameters".to_owned(), command.get_arguments().filter(own).map(parameter).collect());
    if let Some(facts) = facts::of(path) {
        describe_facts(facts, path, &mut fields);
    }
    fields
}

fn describe_facts(facts: &Facts, path: &str, fields: &mut Map<String, Value>) {
    let (codes, examples) = (facts.errors(), facts::examples(path));
    let ends = codes.iter().map(|code| code.exit_status()).chain(examples.iter().map(|example| example.exit_status));
    let statuses: BTreeSet<u8> = ends.chain([0]).collect();
    fields.insert("effect".to_owned(), json!(facts.effect));
    if facts.is_idempotent {
        fields.insert("idempotent".to_owned(), true.into());
    }
    fields.insert("errors".to_owned(), facts::in_few_words(&codes).into_iter().collect());
    fields.insert("exit_statuses".to_owned(), statuses.into_iter().collect());
    fields.insert("output_schema".to_owned(), answer_schema(facts));
    fields.insert("examples".to_owned(), json!(examples));
}

/// The shape of an answer, for reading: which keys there are and what they hold. The tools of `hutch mcp` have the whole schema.
fn answer_schema(facts: &Facts) -> Value {
    let result = facts.result();
    match result.get("type") {
        Some(Value::String(kind)) if kind == "string" => result,
        _ => json!({"properties": {"result": shape(&result)}}),
    }
}

/// How many fields are worth a pattern that names them.
const ALIKE_MIN: usize = 3;

/// Fields that hold the same, as text and numbers, with what they hold said once.
fn together(fields: &mut Map<String, Value>) {
    let Some(Value::Object(properties)) = fields.get_mut("properties") else { return };
    let mut alike: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, held) in properties.iter().filter(|(_, held)| held.get("properties").is_none() && held.is_object()) {
        alike.entry(held.to_string()).or_default().push(name.clone());
    }
    let mut patterns = Map::new();
    for names in alike.into_values().filter(|names| names.len() >= ALIKE_MIN) {
        let held: Vec<Value> = names.iter().filter_map(|name| properties.remove(name)).collect();
        patterns.extend(held.into_iter().next().map(|held| (format!("^({})$", names.join("|")), held)));
    }
    if !patterns.is_empty() {
        fields.insert("patternProperties".to_owned(), patterns.into());
    }
}

/// A schema without what only a validator needs, and without types that what there is in a value tells.
fn shape(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let validates = |name: &str, value: &Value| match name {
                "required" => value.is_array(),
                "additionalProperties" => value.is_boolean(),
                "type" if value == "object" => fields.get("properties").is_some_and(Value::is_object),
                "type" if value == "array" => fields.get("items").is_some_and(Value::is_object),
                _ => false,
            };
            let kept = fields.iter().filter(|(name, value)| !validates(name, value));
            let mut kept = kept.map(|(name, value)| (name.clone(), shape(value))).collect();
            together(&mut kept);
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

/// The schema of a whole answer, by that of its result. What stands around the result is the same in every answer.
pub(crate) fn around(result: &Value) -> Value {
    json!({"type": "object", "required": ["result"], "properties": {"result": result}})
}

fn usage(command: &Command, path: &str) -> String {
    if command.has_subcommands() {
        return format!("hutch {path} COMMAND").replace("  ", " ");
    }
    let mut words = vec![format!("hutch {path}"), "[FLAGS]".to_owned()];
    words.extend(command.get_positionals().map(|argument| {
        let name = parameter_name(argument);
        let dots = if is_repeated(argument) { "…" } else { "" };
        if argument.is_required_set() { format!("{name}{dots}") } else { format!("[{name}{dots}]") }
    }));
    words.join(" ")
}

fn parameter(argument: &Arg) -> Value {
    let flag = matches!(argument.get_action(), ArgAction::SetTrue) || is_about(argument);
    let choices: Vec<String> = match flag {
        true => Vec::new(),
        false => argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect(),
    };
    let defaults: Vec<String> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    let default = match (flag, defaults.first()) {
        // A flag that is not given is not set: that needs no saying.
        (true, _) => Value::Null,
        (false, Some(text)) => match (value_type(argument, flag, &choices), text.parse::<u64>()) {
            ("integer", Ok(number)) => number.into(),
            _ => Value::from(text.as_str()),
        },
        (false, None) => Value::Null,
    };
    let mut fields = Map::from_iter([
        ("name".to_owned(), parameter_name(argument).into()),
        ("type".to_owned(), value_type(argument, flag, &choices).into()),
        ("required".to_owned(), argument.is_required_set().into()),
        ("help".to_owned(), argument.get_help().map(ToString::to_string).unwrap_or_default().into()),
    ]);
    // What is absent is no, or nothing.
    let more = [
        ("default", Some(default).filter(|default| !default.is_null())),
        ("position", argument.get_index().map(|index| (index - 1).into())),
        ("repeated", is_repeated(argument).then_some(true.into())),
        ("choices", Some(Value::from(choices)).filter(|choices| choices != &json!([]))),
        ("example", example(argument).map(Value::from)),
        ("free_text", arguments_guard::is_prose(argument).then_some(true.into())),
        ("guest", arguments_guard::GUEST.contains(&argument.get_id().as_str()).then_some(true.into())),
    ];
    fields.extend(more.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(fields)
}

/// A value that a parameter takes whose form its type does not tell.
fn example(argument: &Arg) -> Option<&'static str> {
    match value_name(argument)?.as_str() {
        "NAME=VALUE" => Some("memory_bytes=64MiB"),
        "NAME=TEXT" => Some("LANG=en"),
        "DIR:NAME[:ro|rw|rwx]" => Some("notes:notes:ro"),
        "SEED" => Some("7"),
        "INSTANT" => Some("2026-04-01T09:00:00Z"),
        "ENTRY" | "PLAN" => Some("last"),
        "N|ENTRY" => Some("1"),
        _ => None,
    }
}

fn is_repeated(argument: &Arg) -> bool {
    let many = argument.get_num_args().is_some_and(|count| count.max_values() > 1);
    matches!(argument.get_action(), ArgAction::Append) || many
}

fn value_type(argument: &Arg, flag: bool, choices: &[String]) -> &'static str {
    let parser = argument.get_value_parser().type_id();
    let integer = [TypeId::of::<u8>(), TypeId::of::<u32>(), TypeId::of::<u64>(), TypeId::of::<usize>()];
    if flag {
        "boolean"
    } else if !choices.is_empty() {
        "enum"
    } else if integer.iter().any(|id| parser == *id) {
        "integer"
    } else if parser == TypeId::of::<hutch_model::instant::Instant>() {
        "instant"
    } else if matches!(argument.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath) {
        "path"
    } else {
        "string"
    }
}
