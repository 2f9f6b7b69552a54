//! D, N, M: what is wrong with the description, with names, and with the project's files.

use super::{command, document, drop_key, parameter};
use crate::description::command as described;
use crate::scripted::{Flaw, NONE};
use serde_json::{Value, json};

fn optional(name: &str) -> Value {
    json!({"name": name, "type": "string", "required": false, "repeated": false, "default": null, "choices": [],
           "free_text": false, "position": null, "description": "one more"})
}

fn push(list: &mut Value, value: Value) {
    list.as_array_mut().expect("it is a list").push(value);
}

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "D1",
        also: &["D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D11"],
        reply: Some(|call, reply, _| {
            if call.is("--help") {
                reply.stdout = "usage: notes COMMAND\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "D2",
        reply: Some(|call, reply, _| {
            if call.is("stats --help") {
                reply.stdout = "usage: notes stats\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw { rule: "D3", also: &["D11"], help: Some(|help| drop_key(help, "help")), ..NONE },
    Flaw { rule: "D4", help: Some(|help| drop_key(parameter(help, "sync", "--token"), "type")), ..NONE },
    Flaw { rule: "D5", help: Some(|help| parameter(help, "list", "--status")["choices"] = json!([])), ..NONE },
    Flaw {
        rule: "D6",
        help: Some(|help| {
            let limit = parameter(help, "list", "--limit");
            drop_key(limit, "default");
            limit["description"] = json!("how many at most; defaults to 20");
        }),
        ..NONE
    },
    Flaw { rule: "D7", help: Some(|help| drop_key(parameter(help, "add", "--due"), "required")), ..NONE },
    Flaw { rule: "D8", help: Some(|help| drop_key(command(help, "stats"), "output_schema")), ..NONE },
    Flaw { rule: "D9", also: &["D2"], help: Some(|help| command(help, "stats")["description"] = json!("")), ..NONE },
    Flaw { rule: "D10", help: Some(|help| drop_key(help, "version")), ..NONE },
    Flaw { rule: "D11", help: Some(|help| drop_key(help, "rules")), ..NONE },
    Flaw { rule: "D12", files: Some(|files| drop(files.remove("agent/brief.md"))), ..NONE },
    Flaw { rule: "D13", files: Some(|files| drop(files.remove("agent/rules/writeback.md"))), ..NONE },
    Flaw {
        rule: "D14",
        also: &["D18"],
        files: Some(|files| drop(files.remove("agent/skills/getting-started.md"))),
        ..NONE
    },
    Flaw {
        rule: "D15",
        reply: Some(|call, reply, _| {
            if call.is("--brief") {
                reply.stdout = "something else\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "D16",
        reply: Some(|call, reply, _| {
            if call.is("stats --agent") {
                reply.stdout = "notes: 2\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "D17",
        files: Some(|files| {
            files
                .entry("agent/rules/trigger.md".to_owned())
                .and_modify(|text| *text = text.replace("description:", "about:"));
        }),
        ..NONE
    },
    Flaw {
        rule: "D18",
        files: Some(|files| {
            let skill = files.entry("agent/skills/getting-started.md".to_owned());
            skill.and_modify(|text| *text = text.replace("---\n", ""));
        }),
        ..NONE
    },
    Flaw {
        rule: "N1",
        help: Some(|help| push(&mut help["commands"], described("show summary", "read", vec![], vec![]))),
        ..NONE
    },
    Flaw {
        rule: "N2",
        help: Some(|help| push(&mut command(help, "stats")["parameters"], optional("--dueBy"))),
        ..NONE
    },
    Flaw {
        rule: "N3",
        help: Some(|help| push(&mut help["commands"], described("report of the week", "read", vec![], vec![]))),
        ..NONE
    },
    Flaw {
        rule: "N4",
        help: Some(|help| {
            let parameters = help["parameters"].as_array_mut().expect("there are parameters");
            parameters.retain(|it| it["name"] != "--brief");
        }),
        ..NONE
    },
    Flaw {
        rule: "N5",
        reply: Some(|call, reply, _| {
            if call.is("--help --human") {
                reply.stdout = format!("{}\n", call.help);
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "N6",
        also: &["D10"],
        reply: Some(|call, reply, _| {
            if call.is("--version") {
                document(reply, |answer| answer["version"] = json!("1.2"));
            }
        }),
        ..NONE
    },
    Flaw { rule: "I1", help: Some(|help| push(&mut command(help, "stats")["parameters"], optional("--t"))), ..NONE },
    Flaw {
        rule: "I2",
        help: Some(|help| {
            let mut second = parameter(help, "get", "id").clone();
            second["name"] = json!("title");
            second["required"] = json!(false);
            push(&mut command(help, "get")["parameters"], second);
        }),
        ..NONE
    },
    Flaw { rule: "M1", files: Some(|files| drop(files.remove("AGENTS.md"))), ..NONE },
    Flaw {
        rule: "M2",
        reply: Some(|call, reply, _| {
            if call.is("mcp") {
                document(reply, |answer| drop_key(&mut answer["result"]["tools"][0], "inputSchema"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "M3",
        files: Some(|files| drop(files.insert("CHANGELOG.md".to_owned(), "# Changes\n\n## 1.2.0\n".to_owned()))),
        ..NONE
    },
];
