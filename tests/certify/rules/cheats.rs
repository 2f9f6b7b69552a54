//! Command lines that keep the letter of a rule and break its sense. Each is one that somebody could take for good: it must not pass.

use crate::flaws::{command, document, drop_key, parameter};
use crate::scripted::{Flaw, NONE, ScriptedTarget};
use hutch_certify::certify;
use hutch_certify::rule::Status;
use hutch_certify::target::Moment;
use serde_json::{Value, json};

/// What it does, and the flaw that it is.
pub(crate) type Cheat = (&'static str, Flaw);

/// Gives a code that is declared another name, wherever it stands.
fn rename(help: &mut Value, from: &str, to: &str) {
    *help = serde_json::from_str(&help.to_string().replace(from, to)).expect("it stays JSON");
}

const CHEATS: &[Cheat] = &[
    (
        "has another key every second",
        Flaw {
            rule: "O3",
            reply: Some(|call, reply, _| {
                if call.is("stats") && call.moment == Moment::Later {
                    document(reply, |answer| answer["k_1775044801"] = json!(1));
                }
            }),
            ..NONE
        },
    ),
    (
        "has another key every year",
        Flaw {
            rule: "O3",
            reply: Some(|call, reply, _| {
                if call.is("stats") && call.moment == Moment::MuchLater {
                    document(reply, |answer| answer["year_2027"] = json!(1));
                }
            }),
            ..NONE
        },
    ),
    (
        "is JSON in the first year",
        Flaw {
            rule: "O3",
            reply: Some(|call, reply, _| {
                if call.is("stats") && call.moment == Moment::MuchLater {
                    reply.stdout = "please renew\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "answers by chance",
        Flaw {
            rule: "C7",
            reply: Some(|call, reply, _| {
                if call.is("stats") && call.moment == Moment::Later {
                    document(reply, |answer| answer["result"]["notes"] = json!(77));
                }
            }),
            ..NONE
        },
    ),
    (
        "shows the asked field with no value in it",
        Flaw {
            rule: "O4",
            reply: Some(|call, reply, _| {
                if call.calls("tags") && call.has("--fields") {
                    document(reply, |answer| {
                        for row in answer["result"].as_array_mut().into_iter().flatten() {
                            row.as_object_mut().into_iter().flatten().for_each(|(_, value)| *value = Value::Null);
                        }
                    });
                }
            }),
            ..NONE
        },
    ),
    (
        "puts a title over its JSON for people",
        Flaw {
            rule: "O6",
            reply: Some(|call, reply, _| {
                if call.calls("stats") && call.has("--human") {
                    reply.stdout = "Result:\n{\"ok\":true,\"notes\":2}\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "says that there are no more than none",
        Flaw {
            rule: "O8",
            reply: Some(|call, reply, _| {
                if call.calls("tags") {
                    document(reply, |answer| answer["total"] = json!(0));
                }
            }),
            ..NONE
        },
    ),
    (
        "shows a part of a list as if it were all",
        Flaw {
            rule: "O8",
            reply: Some(|call, reply, _| {
                if call.calls("tags") {
                    document(reply, |answer| {
                        ["has_more", "limit", "offset"].iter().for_each(|key| drop_key(answer, key));
                        answer["total"] = json!(99);
                    });
                }
            }),
            ..NONE
        },
    ),
    (
        "always says that there is more",
        Flaw {
            rule: "O8",
            reply: Some(|call, reply, _| {
                if call.calls("tags") {
                    document(reply, |answer| answer["has_more"] = json!(true));
                }
            }),
            ..NONE
        },
    ),
    (
        "streams everything on one line",
        Flaw {
            rule: "O9",
            reply: Some(|call, reply, _| {
                if call.calls("tags") && call.has("--ndjson") {
                    reply.stdout = format!("[{}]\n", reply.stdout.trim_end().replace('\n', ","));
                }
            }),
            ..NONE
        },
    ),
    (
        "streams a number on each line",
        Flaw {
            rule: "O9",
            reply: Some(|call, reply, _| {
                if call.calls("tags") && call.has("--ndjson") {
                    reply.stdout = "1\n1\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "shows its rows by name beside a list with nothing in it",
        Flaw {
            rule: "O7",
            reply: Some(|call, reply, _| {
                if call.calls("tags") {
                    document(reply, |answer| {
                        let by_name = json!({"home": {"count": 1}, "work": {"count": 1}});
                        answer["result"] = json!({"items": [], "by_name": by_name});
                    });
                }
            }),
            ..NONE
        },
    ),
    (
        "has rows with none of the keys that it declares",
        Flaw {
            rule: "O3",
            help: Some(|help| {
                let row = json!({"type": "object", "properties": {"label": {"type": "string"}}});
                let schema = json!({"properties": {"result": {"type": "array", "items": row}}});
                command(help, "tags")["output_schema"] = schema;
            }),
            ..NONE
        },
    ),
    (
        "describes a command with its own name",
        Flaw { rule: "D9", help: Some(|help| command(help, "stats")["description"] = json!("Stats.")), ..NONE },
    ),
    (
        "calls an enumeration a text",
        Flaw {
            rule: "D5",
            help: Some(|help| {
                command(help, "list")["parameters"].as_array_mut().expect("parameters").push(json!({
                "name": "--sort", "type": "string", "required": false, "repeated": false, "default": null,
                "choices": [], "free_text": false, "position": null, "description": "the order"}));
            }),
            reply: Some(|call, reply, _| {
                if call.has("--sort") && !call.has("--help") {
                    reply.stdout.clear();
                    reply.status = 2;
                    reply.stderr = json!({"error": true, "code": "INVALID_VALUE", "message": "not one of age, title",
                    "suggestion": "name one of them"})
                    .to_string();
                }
            }),
            ..NONE
        },
    ),
    (
        "has a schema that anything fits",
        Flaw {
            rule: "D8",
            help: Some(|help| command(help, "stats")["output_schema"] = json!({"type": "object"})),
            ..NONE
        },
    ),
    (
        "has two versions",
        Flaw {
            rule: "D10",
            reply: Some(|call, reply, _| {
                if call.is("--version") {
                    document(reply, |answer| answer["version"] = json!("1.2.1"));
                }
            }),
            ..NONE
        },
    ),
    (
        "has one code for everything",
        Flaw {
            rule: "E4",
            reply: Some(|_, reply, _| {
                if let Ok(mut error) = serde_json::from_str::<Value>(&reply.stderr) {
                    error["code"] = json!("FAILED");
                    reply.stderr = format!("{error}\n");
                }
            }),
            ..NONE
        },
    ),
    (
        "has one message for everything",
        Flaw {
            rule: "E5",
            reply: Some(|_, reply, _| {
                if let Ok(mut error) = serde_json::from_str::<Value>(&reply.stderr) {
                    error["message"] = json!("something went wrong");
                    reply.stderr = format!("{error}\n");
                }
            }),
            ..NONE
        },
    ),
    (
        "asks, and says thank you for the answer",
        Flaw {
            rule: "E7",
            reply: Some(|call, reply, _| {
                if call.is("get") && !call.stdin.is_empty() {
                    reply.stdout = "thank you\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "keeps the last of several values",
        Flaw {
            rule: "I7",
            reply: Some(|call, reply, _| {
                if call.calls("add") && call.has("--tag") {
                    document(reply, |answer| {
                        if let Some(tags) = answer["result"]["tags"].as_array_mut() {
                            let last = tags.pop();
                            *tags = last
                                .into_iter()
                                .map(|it| {
                                    it.as_str().unwrap_or_default().split(',').next_back().unwrap_or_default().into()
                                })
                                .collect();
                        }
                    });
                }
            }),
            ..NONE
        },
    ),
    (
        "deletes everything, and calls that a change",
        Flaw {
            rule: "S6",
            help: Some(|help| {
                let reset = crate::description::command("reset", "write", vec![], vec![]);
                help["commands"].as_array_mut().expect("commands").push(reset);
            }),
            reply: Some(|call, reply, state| {
                if call.calls("reset") && reply.status == 0 && !call.has("--help") && !call.has("--dry-run") {
                    *state = crate::notes::empty();
                }
            }),
            ..NONE
        },
    ),
    (
        "has no word of authentication in its code",
        Flaw {
            rule: "X4",
            help: Some(|help| {
                rename(help, "SYNC_FAILED", "UNAUTHORIZED");
            }),
            reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("SYNC_FAILED", "UNAUTHORIZED")),
            ..NONE
        },
    ),
    (
        "is not logged in, and ends as if anything had failed",
        Flaw {
            rule: "X4",
            help: Some(|help| {
                rename(help, "SYNC_FAILED", "NOT_LOGGED_IN");
            }),
            reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("SYNC_FAILED", "NOT_LOGGED_IN")),
            ..NONE
        },
    ),
    (
        "denies, and ends as if anything had failed",
        Flaw {
            rule: "X5",
            help: Some(|help| {
                rename(help, "SYNC_FAILED", "DENIED");
            }),
            reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("SYNC_FAILED", "DENIED")),
            ..NONE
        },
    ),
    (
        "finds a duplicate, and ends as if anything had failed",
        Flaw {
            rule: "X7",
            help: Some(|help| {
                rename(help, "SYNC_FAILED", "DUPLICATE");
            }),
            reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("SYNC_FAILED", "DUPLICATE")),
            ..NONE
        },
    ),
    (
        "is locked, and ends as if anything had failed",
        Flaw {
            rule: "X7",
            help: Some(|help| {
                rename(help, "SYNC_FAILED", "LOCKED");
            }),
            reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("SYNC_FAILED", "LOCKED")),
            ..NONE
        },
    ),
    (
        "fails in a document of success",
        Flaw {
            rule: "X9",
            reply: Some(|call, reply, _| {
                if call.is("get n9999") || call.calls("get n9") {
                    (reply.status, reply.stderr) = (0, String::new());
                    reply.stdout = "{\"success\":false,\"reason\":\"no such note\"}\n".to_owned();
                }
            }),
            ..NONE
        },
    ),
    (
        "is quiet about the answer too",
        Flaw {
            rule: "C4",
            reply: Some(|call, reply, _| {
                if call.calls("stats") && call.has("--quiet") {
                    reply.stdout.clear();
                }
            }),
            ..NONE
        },
    ),
    (
        "has the same two words in both orders",
        Flaw {
            rule: "N1",
            help: Some(|help| {
                for name in ["note fetch", "fetch note"] {
                    let more = crate::description::command(name, "read", vec![], vec![]);
                    help["commands"].as_array_mut().expect("commands").push(more);
                }
            }),
            ..NONE
        },
    ),
    (
        "says somewhere that nothing is breaking",
        Flaw {
            rule: "M3",
            files: Some(|files| {
                files.insert("CHANGELOG.md".to_owned(), "# Changes\n\nNothing here is a breaking change.\n".to_owned());
            }),
            ..NONE
        },
    ),
    (
        "exports tools that take nothing",
        Flaw {
            rule: "M2",
            reply: Some(|call, reply, _| {
                if call.calls("mcp") {
                    document(reply, |answer| {
                        for tool in answer["result"]["tools"].as_array_mut().into_iter().flatten() {
                            if let Some(schema) = tool.get_mut("inputSchema") {
                                drop_key(schema, "properties");
                            }
                        }
                    });
                }
            }),
            ..NONE
        },
    ),
    (
        "speaks of a default that it does not state",
        Flaw {
            rule: "D6",
            help: Some(|help| {
                let due = parameter(help, "add", "--due");
                due["description"] = json!("the day; defaults to tomorrow");
            }),
            ..NONE
        },
    ),
];

#[test]
fn who_keeps_the_letter_and_breaks_the_sense_fails() {
    all_fail(CHEATS);
}

/// Each breaks its own rule.
pub(crate) fn all_fail(cheats: &[Cheat]) {
    let mut wrong = String::new();
    for (does, flaw) in cheats {
        let report = certify(&mut ScriptedTarget::new(*flaw)).expect("a scripted target can always be called");
        let own = report.rules.iter().find(|it| it.rule.id == flaw.rule).expect("a cheat names a rule");
        if own.status != Status::Fail {
            wrong += &format!(
                "{} passes with one that {does}: {:?} {} {:?}\n",
                flaw.rule, own.status, own.evidence, own.reason
            );
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn what_only_looks_like_a_flaw_is_none() {
    let kept: &[Cheat] = &[
        (
            "answers with a level and with progress",
            Flaw {
                rule: "C2",
                reply: Some(|call, reply, _| {
                    if call.is("stats") {
                        document(reply, |answer| (answer["level"], answer["progress"]) = (json!(3), json!(0.5)));
                    }
                }),
                ..NONE
            },
        ),
        (
            "calls a command that is not there not found",
            Flaw {
                rule: "X6",
                help: Some(|help| rename(help, "UNKNOWN_COMMAND", "COMMAND_NOT_FOUND")),
                reply: Some(|_, reply, _| reply.stderr = reply.stderr.replace("UNKNOWN_COMMAND", "COMMAND_NOT_FOUND")),
                ..NONE
            },
        ),
    ];
    for (does, flaw) in kept {
        let report = certify(&mut ScriptedTarget::new(*flaw)).expect("a scripted target can always be called");
        let own = report.rules.iter().find(|it| it.rule.id == flaw.rule).expect("it names a rule");
        assert_eq!(own.status, Status::Pass, "{} with one that {does}: {} {:?}", flaw.rule, own.evidence, own.reason);
    }
}
