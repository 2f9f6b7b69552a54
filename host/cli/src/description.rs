//! The command line's shape as data: what `--help` answers. Its form is published as `agent/help.schema.json`.

use crate::facts::{self, COMMON_ERRORS, Facts};
use crate::{agent, arguments_guard};
use clap::{Arg, ArgAction, Command, ValueHint};
use hutch_model::error_code::ErrorCode;
use serde_json::{Map, Value, json};
use std::any::TypeId;
use std::collections::BTreeSet;

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
    (30, "conflict, precondition or confirmation required"),
    (40, "wall time"),
    (41, "fuel"),
    (42, "memory"),
    (43, "output"),
    (44, "state quota"),
    (45, "guest trapped"),
    (46, "contract broken"),
    (50, "host fault, or the answer was lost"),
];

/// The help of the command at `path` below `root`: of the program itself if `path` is empty.
pub(crate) fn help(root: &Command, path: &[&str]) -> Value {
    let at = path.iter().fold(root, |at, name| at.find_subcommand(name).unwrap_or(at));
    let Value::Object(mut fields) = describe(at, &path.join(" ")) else { return Value::Null };
    let own = |argument: &&Arg| !argument.is_global_set() && is_shown(argument);
    fields.insert("parameters".to_owned(), at.get_arguments().filter(own).map(parameter).collect());
    fields.insert("global_parameters".to_owned(), globals(root));
    fields.insert("schema".to_owned(), SCHEMA_ID.into());
    fields.insert("version".to_owned(), env!("CARGO_PKG_VERSION").into());
    if path.is_empty() {
        fields.insert("help".to_owned(), format!("{}\n\n{}", agent::BRIEF.trim(), usage_note()).into());
    }
    fields.insert(
        "exit_statuses".to_owned(),
        EXIT_STATUSES.iter().map(|(status, meaning)| json!({"status": status, "meaning": meaning})).collect(),
    );
    fields.insert("rules".to_owned(), agent::rules());
    fields.insert("skills".to_owned(), agent::skills());
    fields.insert("issue".to_owned(), agent::ISSUE.into());
    Value::Object(fields)
}

fn usage_note() -> &'static str {
    "hutch COMMAND [FLAGS] …; each command and group of commands has its own --help; --help --human is for people."
}

fn globals(root: &Command) -> Value {
    // Every command has them.
    let everywhere = |argument: &&Arg| argument.is_global_set() || is_about(argument);
    root.get_arguments().filter(everywhere).filter(|argument| !argument.is_hide_set()).map(parameter).collect()
}

fn is_shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !is_about(argument)
}

fn is_about(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Help | ArgAction::Version)
}

fn describe(command: &Command, path: &str) -> Value {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let own = |argument: &&Arg| !argument.is_global_set() && is_shown(argument);
    let commands: Vec<Value> = command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .map(|inner| describe(inner, format!("{path} {}", inner.get_name()).trim_start()))
        .collect();
    let mut fields = Map::new();
    fields.insert("name".to_owned(), if path.is_empty() { "hutch" } else { path }.into());
    fields.insert("help".to_owned(), about.clone().into());
    fields.insert("description".to_owned(), about.lines().next().unwrap_or_default().into());
    fields.insert("usage".to_owned(), usage(command, path).into());
    fields.insert("parameters".to_owned(), command.get_arguments().filter(own).map(parameter).collect());
    fields.insert("commands".to_owned(), commands.into());
    if let Some(facts) = facts::of(path) {
        describe_facts(&facts, &mut fields);
    }
    Value::Object(fields)
}

fn describe_facts(facts: &Facts, fields: &mut Map<String, Value>) {
    let codes: BTreeSet<&str> = facts.errors.iter().map(String::as_str).chain(COMMON_ERRORS).collect();
    let statuses: BTreeSet<u8> = codes
        .iter()
        .filter_map(|code| ErrorCode::from_text(code))
        .map(ErrorCode::exit_status)
        .chain(facts.examples.iter().map(|example| example.exit_status))
        .chain([0])
        .collect();
    fields.insert("effect".to_owned(), facts.effect.as_str().into());
    fields.insert("permission".to_owned(), facts.effect.as_str().into());
    fields.insert("destructive".to_owned(), facts.destructive.into());
    fields.insert("requires_confirmation".to_owned(), facts.destructive.into());
    fields.insert("idempotent".to_owned(), facts.idempotent.into());
    fields.insert("errors".to_owned(), codes.into_iter().collect());
    fields.insert("exit_statuses".to_owned(), statuses.into_iter().collect());
    let schema = if facts.is_text() { facts.result.clone() } else { envelope_schema(&facts.result) };
    fields.insert("output_schema".to_owned(), schema);
    fields.insert("examples".to_owned(), serde_json::to_value(&facts.examples).unwrap_or_default());
}

/// The schema of a whole answer.
fn envelope_schema(result: &Value) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["ok", "command", "result", "rules", "skills", "issue"],
        "properties": {
            "ok": {"type": "boolean"},
            "command": {"type": "string"},
            "result": result,
            "rules": {"type": "array"},
            "skills": {"type": "array"},
            "issue": {"type": "string"},
            "dry_run": {"const": true},
        },
    })
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

/// A parameter as it is written: `--human`, `PACKAGE`.
pub(crate) fn parameter_name(argument: &Arg) -> String {
    match (argument.get_long(), value_name(argument)) {
        (Some(long), _) => format!("--{long}"),
        (None, Some(name)) => name,
        (None, None) => argument.get_id().to_string(),
    }
}

fn value_name(argument: &Arg) -> Option<String> {
    argument.get_value_names().and_then(<[_]>::first).map(ToString::to_string)
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
        (true, _) => Value::Bool(false),
        (false, Some(text)) => match (value_type(argument, flag, &choices), text.parse::<u64>()) {
            ("integer", Ok(number)) => number.into(),
            _ => Value::from(text.as_str()),
        },
        (false, None) => Value::Null,
    };
    json!({
        "name": parameter_name(argument),
        "type": value_type(argument, flag, &choices),
        "value": value_name(argument).filter(|_| !flag),
        "positional": argument.is_positional(),
        "position": argument.get_index().map(|index| index - 1),
        "required": argument.is_required_set(),
        "repeated": is_repeated(argument),
        "default": default,
        "choices": choices,
        "example": example(argument),
        "free_text": arguments_guard::is_prose(argument),
        "guest": arguments_guard::GUEST.contains(&argument.get_id().as_str()),
        "opposite": argument.get_long().filter(|_| flag && !is_about(argument)).map(|long| format!("--no-{long}")),
        "help": argument.get_help().map(ToString::to_string).unwrap_or_default(),
        "description": argument.get_help().map(ToString::to_string).unwrap_or_default(),
    })
}

/// A value that a parameter takes whose form its type does not tell.
fn example(argument: &Arg) -> Option<&'static str> {
    match value_name(argument)?.as_str() {
        "NAME=VALUE" => Some("memory_bytes=64MiB"),
        "NAME=TEXT" => Some("LANG=en"),
        "DIR:NAME[:ro|rw]" => Some("notes:notes:ro"),
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
