//! The tools that are not a command of a package, as data.

use serde_json::{Value, json};

/// What a tool does to what it is about.
struct Hints {
    reads: bool,
    destroys: bool,
    repeats: bool,
}

const READS: Hints = Hints { reads: true, destroys: false, repeats: true };
const CHANGES: Hints = Hints { reads: false, destroys: true, repeats: false };

impl Hints {
    fn value(&self) -> Value {
        // Nothing outside is reached: the sandbox has no sockets.
        json!({
            "readOnlyHint": self.reads, "destructiveHint": self.destroys, "idempotentHint": self.repeats, "openWorldHint": false,
        })
    }
}

/// Those that stand for the commands where there are too many of them.
pub(crate) fn by_name(slugs: &[&str]) -> Vec<Value> {
    let found = json!({"type": "object", "required": ["items"], "properties": {"items": {"type": "array"}}});
    vec![
        tool(
            "hutch_find",
            "Find commands",
            "Finds commands by what they do, in any words, the best first. Describe one with hutch_describe, then call it with hutch_call.",
            json!({"text": {"type": "string", "description": "what is wanted"}}),
            &["text"],
            (READS, Some(found)),
        ),
        tool(
            "hutch_describe",
            "Describe a command",
            "The description of a command: its fields, its answer, its errors and calls that show its use. Without a command, the names of all.",
            with_package(slugs, json!({"command": {"type": "string", "description": "the command's name"}})),
            &required(slugs, &[]),
            (READS, None),
        ),
        tool(
            "hutch_call",
            "Call a command",
            "Calls a command. Its state is kept if it ends well, and else dropped. One that needs a person's confirmation asks for it.",
            with_package(slugs, command_fields()),
            &required(slugs, &["command"]),
            (CHANGES, None),
        ),
    ]
}

/// Those about what would be done and what was done.
pub(crate) fn about(slugs: &[&str]) -> Vec<Value> {
    let entry = json!({
        "type": "string",
        "description": "an entry of the history: last, @ and its number, or the beginning of its hash",
    });
    let moved = json!({"type": "object", "required": ["entry", "changes"], "properties": {
        "entry": {"type": "object"}, "follows": {"type": "object"}, "changes": {"type": "object"},
    }});
    let planned = json!({"type": "object", "required": ["plan", "confirmation", "output", "changes"], "properties": {
        "plan": {"type": "string"},
        "confirmation": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "changes": {"type": "array"},
    }});
    let applied = json!({"type": "object", "required": ["output", "kept"], "properties": {
        "kept": {"type": "boolean"},
    }});
    let verified = json!({"type": "object", "required": ["entry", "equal"], "properties": {
        "entry": {"type": "object"}, "equal": {"type": "boolean"},
    }});
    let listed = json!({"type": "object", "required": ["items", "total"], "properties": {
        "items": {"type": "array"}, "total": {"type": "integer"},
    }});
    vec![
        tool(
            "hutch_plan",
            "Preview a call",
            "Shows what a call would answer and change, file by file, and changes nothing. Carry it out with hutch_apply.",
            with_package(slugs, command_fields()),
            &required(slugs, &["command"]),
            (READS, Some(planned)),
        ),
        tool(
            "hutch_apply",
            "Carry out a plan",
            "Does what a plan said, if the state is still the one that it saw. If its command needs a confirmation, a person is asked.",
            with_package(
                slugs,
                json!({"plan": {"type": "string", "description": "the plan that hutch_plan answered with; last for the last one"}}),
            ),
            &required(slugs, &["plan"]),
            (CHANGES, Some(applied)),
        ),
        tool(
            "hutch_undo",
            "Take back changes",
            "Goes back to the state before the last change, before the last count changes, or before an entry. Can be undone too.",
            with_package(slugs, json!({"count": {"type": "integer", "minimum": 1, "maximum": 9999}, "entry": entry})),
            &required(slugs, &[]),
            (CHANGES, Some(moved)),
        ),
        tool(
            "hutch_verify",
            "Prove an entry",
            "Runs what an entry of the history recorded once more, apart, and compares every byte. The last run if no entry is named.",
            with_package(slugs, json!({"entry": entry})),
            &required(slugs, &[]),
            (READS, Some(verified)),
        ),
        tool(
            "hutch_history",
            "Show the history",
            "Lists what was asked for and what came of it, the last first.",
            with_package(
                slugs,
                json!({
                    "before": {"type": "integer", "minimum": 2, "description": "only entries before this number"},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                }),
            ),
            &required(slugs, &[]),
            (READS, Some(listed)),
        ),
    ]
}

fn command_fields() -> Value {
    json!({
        "command": {"type": "string", "description": "the command's name, as \"reminder set\""},
        "arguments": {"type": "object", "description": "the command's fields", "default": {}},
        "stdin": {"type": "string", "description": "what stands on the command's standard input", "default": ""},
    })
}

/// The fields, and which package is meant if that is a question.
fn with_package(slugs: &[&str], mut fields: Value) -> Value {
    if slugs.len() > 1 {
        fields["package"] = json!({"type": "string", "enum": slugs});
    }
    fields
}

fn required<'n>(slugs: &[&str], names: &[&'n str]) -> Vec<&'n str> {
    let package = (slugs.len() > 1).then_some("package");
    package.into_iter().chain(names.iter().copied()).collect()
}

fn tool(
    name: &str,
    title: &str,
    description: &str,
    fields: Value,
    required: &[&str],
    (hints, answer): (Hints, Option<Value>),
) -> Value {
    let mut tool = json!({
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": {"type": "object", "properties": fields, "required": required, "additionalProperties": false},
        "annotations": hints.value(),
    });
    if let Some(schema) = answer {
        tool["outputSchema"] = schema;
    }
    tool
}
