//! Command lines that have something in every place, and say nothing there: one character, or the same everywhere. None may pass.

use crate::cheats::{Cheat, all_fail};
use crate::scripted::{Flaw, NONE};
use serde_json::{Value, json};

const CHEATS: &[Cheat] = &[
    (
        "says a full stop to people",
        Flaw {
            rule: "O6",
            reply: Some(|call, reply, _| {
                if call.calls("stats") && call.has("--human") {
                    reply.stdout = ".\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "has one letter of help for people",
        Flaw {
            rule: "N5",
            reply: Some(|call, reply, _| {
                if call.is("--help --human") {
                    reply.stdout = "x\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "has one help for every command",
        Flaw {
            rule: "D2",
            reply: Some(|call, reply, _| {
                if call.has("--help") && !call.is("--help") {
                    reply.stdout = "{\"help\":\"see the manual\"}\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    ("has a full stop for a help", Flaw { rule: "D3", help: Some(|help| help["help"] = json!(".")), ..NONE }),
    (
        "describes every command alike",
        Flaw {
            rule: "D9",
            help: Some(|help| {
                for command in help["commands"].as_array_mut().expect("commands") {
                    command["description"] = json!("Does what its name says.");
                }
            }),
            ..NONE
        },
    ),
    (
        "has rules with nothing in them",
        Flaw {
            rule: "D13",
            files: Some(|files| {
                for (path, text) in files {
                    if path.starts_with("agent/rules/") {
                        *text = "---\nname: a rule\ndescription: about a rule\n---\n\n.\n".to_owned();
                    }
                }
            }),
            ..NONE
        },
    ),
    (
        "has one text for three rules",
        Flaw {
            rule: "D13",
            files: Some(|files| {
                for (path, text) in files {
                    if path.starts_with("agent/rules/") {
                        *text = "---\nname: a rule\ndescription: about a rule\n---\n\nSee the manual.\n".to_owned();
                    }
                }
            }),
            ..NONE
        },
    ),
    (
        "has a skill with nothing in it",
        Flaw {
            rule: "D14",
            files: Some(|files| {
                let skill = files.entry("agent/skills/getting-started.md".to_owned()).or_default();
                *skill = "---\nname: getting-started\ndescription: the first steps\n---\n".to_owned();
            }),
            ..NONE
        },
    ),
    (
        "has a rule that is described by a letter",
        Flaw {
            rule: "D17",
            files: Some(|files| {
                let rule = files.entry("agent/rules/trigger.md".to_owned()).or_default();
                *rule = rule.replace("description: about trigger", "description: x");
            }),
            ..NONE
        },
    ),
    (
        "has a full stop for agents",
        Flaw { rule: "M1", files: Some(|files| drop(files.insert("AGENTS.md".to_owned(), ".\n".to_owned()))), ..NONE },
    ),
    (
        "marks breaking changes, and names no change",
        Flaw {
            rule: "M3",
            files: Some(|files| drop(files.insert("CHANGELOG.md".to_owned(), "# Breaking\n".to_owned()))),
            ..NONE
        },
    ),
    (
        "has a full stop for a message",
        Flaw {
            rule: "E5",
            reply: Some(|_, reply, _| {
                if let Ok(mut error) = serde_json::from_str::<Value>(&reply.stderr)
                    && error["code"] == "UNKNOWN_COMMAND"
                {
                    error["message"] = json!(".");
                    reply.stderr = format!("{error}\n");
                }
            }),
            ..NONE
        },
    ),
    (
        "suggests a letter",
        Flaw {
            rule: "E6",
            reply: Some(|_, reply, _| {
                if let Ok(mut error) = serde_json::from_str::<Value>(&reply.stderr) {
                    error["suggestion"] = json!("x");
                    reply.stderr = format!("{error}\n");
                }
            }),
            ..NONE
        },
    ),
];

#[test]
fn who_fills_a_place_and_says_nothing_fails() {
    all_fail(CHEATS);
}
