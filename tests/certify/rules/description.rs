//! What the command line of these tests says of itself, and the files of its project.

use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const BRIEF: &str = "notes keeps short notes with tags, for agents.";
pub(crate) const RULES: [(&str, &str); 3] = [
    ("trigger", "Use notes when something short must be remembered."),
    ("workflow", "List before you add, and get before you remove."),
    ("writeback", "Report what surprises you with notes issue create."),
];
pub(crate) const ISSUE: &str = "notes issue create --type bug --message TEXT";

/// The project's files.
pub(crate) fn files() -> BTreeMap<String, String> {
    let titled = |name: &str, text: &str| format!("---\nname: {name}\ndescription: about {name}\n---\n\n{text}\n");
    let mut files: BTreeMap<String, String> =
        RULES.iter().map(|(name, text)| (format!("agent/rules/{name}.md"), titled(name, text))).collect();
    files.insert("agent/skills/getting-started.md".to_owned(), titled("getting-started", "Begin with notes list."));
    files.insert("agent/brief.md".to_owned(), format!("{BRIEF}\n"));
    files.insert("AGENTS.md".to_owned(), "# For agents\n".to_owned());
    files.insert("CHANGELOG.md".to_owned(), "# Changes\n\n## 1.2.0\n\nBreaking: none.\n".to_owned());
    files
}

pub(crate) fn rules() -> Value {
    RULES.iter().map(|(name, content)| json!({"name": name, "content": content})).collect()
}

pub(crate) fn skills() -> Value {
    json!([{"name": "getting-started", "description": "the first steps", "command": "notes skills getting-started"}])
}

fn flag(name: &str, kind: &str) -> Value {
    let default = if kind == "boolean" { json!(false) } else { Value::Null };
    json!({"name": format!("--{name}"), "type": kind, "required": false, "repeated": false, "default": default,
           "choices": [], "free_text": false, "position": null, "description": format!("the {name}")})
}

fn bare(name: &str, position: u32, free_text: bool, required: bool) -> Value {
    json!({"name": name, "type": "string", "required": required, "repeated": false, "default": null, "choices": [],
           "free_text": free_text, "position": position, "description": format!("the {name}")})
}

fn one_of(name: &str, choices: &[&str], default: Option<&str>) -> Value {
    let mut parameter = flag(name, "enum");
    parameter["choices"] = json!(choices);
    parameter["default"] = json!(default);
    parameter
}

fn with(mut parameter: Value, key: &str, value: Value) -> Value {
    parameter[key] = value;
    parameter
}

pub(crate) fn command(name: &str, effect: &str, parameters: Vec<Value>, examples: Vec<(&[&str], u8)>) -> Value {
    let examples: Vec<Value> =
        examples.into_iter().map(|(args, status)| json!({"args": args, "exit_status": status})).collect();
    json!({"name": name, "description": format!("does {name}"), "effect": effect, "destructive": effect == "delete",
           "parameters": parameters, "examples": examples,
           "output_schema": {"type": "object", "required": ["ok", "command", "result"]}})
}

/// The JSON of `--help`.
pub(crate) fn help() -> Value {
    let id = || bare("id", 0, false, true);
    let limit = || with(flag("limit", "integer"), "default", json!("100"));
    let required = |parameter| with(parameter, "required", json!(true));
    let commands = vec![
        command("list", "read", vec![one_of("status", &["open", "done", "all"], Some("all")), limit()], vec![]),
        command("get", "read", vec![id()], vec![]),
        command("stats", "read", vec![], vec![]),
        command("tags", "read", vec![], vec![]),
        command(
            "add",
            "write",
            vec![
                bare("title", 0, true, true),
                with(flag("tag", "string"), "repeated", json!(true)),
                flag("due", "date"),
                flag("pinned", "boolean"),
                flag("json-input", "boolean"),
            ],
            vec![(&["add", "Buy milk & eggs", "--tag", "home"], 0), (&["add", "Write docs", "--tag", "work"], 0)],
        ),
        command("remove", "delete", vec![id()], vec![]),
        command("purge", "delete", vec![], vec![]),
        command(
            "sync",
            "write",
            vec![required(flag("token", "string"))],
            vec![
                (&["sync", "--token", "expired"], 10),
                (&["sync", "--token", "readonly"], 11),
                (&["sync", "--token", "broken"], 1),
            ],
        ),
        command("mcp", "read", vec![], vec![]),
        command("skills", "read", vec![bare("name", 0, false, false)], vec![]),
        command(
            "issue create",
            "write",
            vec![
                required(one_of("type", &["bug", "requirement", "suggestion", "bad-output"], None)),
                required(with(flag("message", "string"), "free_text", json!(true))),
            ],
            vec![],
        ),
        command("issue list", "read", vec![], vec![]),
        command("issue show", "read", vec![id()], vec![]),
        command("issue close", "write", vec![id()], vec![]),
        command(
            "issue transition",
            "write",
            vec![id(), required(one_of("status", &["open", "in-progress", "resolved", "closed"], None))],
            vec![],
        ),
    ];
    let modes =
        ["help", "version", "human", "agent", "brief", "quiet", "yes", "dry-run", "sanitize", "redact", "ndjson"];
    let mut parameters: Vec<Value> = modes.iter().map(|name| flag(name, "boolean")).collect();
    parameters.push(flag("fields", "string"));
    let errors: Vec<Value> = CODES.iter().map(|(code, status)| json!({"code": code, "exit_status": status})).collect();
    json!({"help": "notes COMMAND", "version": "1.2.0", "commands": commands, "parameters": parameters, "errors": errors,
           "rules": rules(), "skills": skills(), "issue": ISSUE})
}

/// Every code, and its exit status.
pub(crate) const CODES: [(&str, u8); 12] = [
    ("UNKNOWN_COMMAND", 2),
    ("UNKNOWN_FLAG", 2),
    ("MISSING_ARGUMENT", 2),
    ("UNEXPECTED_ARGUMENT", 2),
    ("INVALID_VALUE", 2),
    ("ARGUMENT_REFUSED", 2),
    ("BATCH_TOO_LARGE", 2),
    ("SYNC_FAILED", 1),
    ("AUTH_EXPIRED", 10),
    ("PERMISSION_DENIED", 11),
    ("NOT_FOUND", 20),
    ("CONFIRMATION_REQUIRED", 30),
];
