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
    /// What is otherwise than a client takes for granted of a tool that says nothing: that it changes and destroys, is no more to be repeated,
    /// and reaches outside. The sandbox has no sockets.
    fn value(&self) -> Value {
        let mut hints = json!({"openWorldHint": false});
        for (name, value, usual) in [
            ("readOnlyHint", self.reads, false),
            ("destructiveHint", self.destroys, true),
            ("idempotentHint", self.repeats, false),
        ] {
            // Nothing that reads destroys.
            if value != usual && !(self.reads && name == "destructiveHint") {
                hints[name] = value.into();
            }
        }
        hints
    }
}

/// Those that stand for the commands where there are too many of them.
pub(crate) fn by_name(slugs: &[&str]) -> Vec<Value> {
    let found = json!({"type": "object", "required": ["items"], "properties": {"items": {"type": "array"}}});
    vec![
        tool(
            "hutch_find",
            "Finds commands by what they do, in any words. Then hutch_describe, then hutch_call.",
            json!({"text": {"type": "string", "description": "what is wanted"}}),
            &["text"],
            (READS, Some(found)),
        ),
        tool(
            "hutch_describe",
            "A command's fields, answer, errors and examples. Without command, the names of all; without package, the packages.",
            with_package(slugs, json!({"command": {"type": "string"}})),
            &[],
            (READS, None),
        ),
        tool(
            "hutch_call",
            "Calls a command. Its state is kept if it ends well, and else dropped. Asks a person where one must agree.",
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
        "description": "last, @ and its number, or its hash",
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
            "Shows what a call would answer and change, and changes nothing. Carry it out with hutch_apply.",
            with_package(slugs, command_fields()),
            &required(slugs, &["command"]),
            (READS, Some(planned)),
        ),
        tool(
            "hutch_apply",
            "Does what a plan said, if the state is still the one that it saw. Asks a person where one must agree.",
            with_package(slugs, json!({"plan": {"type": "string", "description": "from hutch_plan, or last"}})),
            &required(slugs, &["plan"]),
            (CHANGES, Some(applied)),
        ),
        tool(
            "hutch_undo",
            "Takes back the last change, count changes, or all from an entry on; each goes further back. redo makes them again.",
            with_package(
                slugs,
                json!({"count": {"type": "integer", "minimum": 1}, "redo": {"type": "boolean"}, "entry": entry}),
            ),
            &required(slugs, &[]),
            (CHANGES, Some(moved)),
        ),
        tool(
            "hutch_verify",
            "Runs what an entry recorded once more, apart, and compares every byte. The last run if none is named.",
            with_package(slugs, json!({"entry": entry})),
            &required(slugs, &[]),
            (READS, Some(verified)),
        ),
        tool(
            "hutch_history",
            "Lists what was asked for and what came of it, last first.",
            with_package(
                slugs,
                json!({
                    "before": {"type": "integer", "minimum": 2, "description": "only entries before it"},
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
        "command": {"type": "string", "description": "its name, as \"reminder set\""},
        "arguments": {"type": "object", "description": "its fields"},
        "stdin": {"type": "string", "description": "its standard input"},
    })
}

/// The fields, and which package is meant if that is a question.
fn with_package(slugs: &[&str], mut fields: Value) -> Value {
    if slugs.len() > 1 {
        fields["package"] = json!({"type": "string"});
    }
    fields
}

fn required<'n>(slugs: &[&str], names: &[&'n str]) -> Vec<&'n str> {
    let package = (slugs.len() > 1).then_some("package");
    package.into_iter().chain(names.iter().copied()).collect()
}

fn tool(
    name: &str,
    description: &str,
    fields: Value,
    required: &[&str],
    (hints, answer): (Hints, Option<Value>),
) -> Value {
    let mut tool = json!({
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": fields, "required": required},
        "annotations": hints.value(),
    });
    if let Some(schema) = answer {
        tool["outputSchema"] = schema;
    }
    tool
}
