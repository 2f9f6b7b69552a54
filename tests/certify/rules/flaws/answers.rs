//! O, R, C, X1: what is wrong with answers.

use super::{document, drop_key, without};
use crate::scripted::{Flaw, NONE};
use serde_json::{Value, json};

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "O1",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.stdout = "notes: 2\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O2",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.stdout = "{\"ok\":true,}\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O3",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                document(reply, |answer| drop_key(answer, "command"));
            }
        }),
        ..NONE
    },
    // The other half of the rule: the same call, other keys.
    Flaw {
        rule: "O3",
        also: &["C7"],
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                let key = format!("key-{}", call.nth);
                document(reply, |answer| answer[key] = json!(1));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O4",
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "tags") {
                args.retain(|word| word != "--fields" && word != "count");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O5",
        reply: Some(|call, reply, state| {
            if call.is("list") && state["notes"] == json!([]) {
                *reply = crate::notes::fail(call.help, &("NOT_FOUND", "there are no notes".to_owned()));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O6",
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "stats") {
                without(args, "--human");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O7",
        reply: Some(|call, reply, _| {
            if call.calls("tags") && !call.has("--ndjson") {
                document(reply, |answer| {
                    let mut named = json!({"home": {"count": 1}, "work": {"count": 1}});
                    if let Some(asked) = call.args.iter().skip_while(|word| *word != "--fields").nth(1) {
                        named
                            .as_object_mut()
                            .into_iter()
                            .for_each(|fields| fields.retain(|key, _| asked.split(',').any(|one| one == key)));
                    }
                    answer["result"] = named;
                });
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O8",
        reply: Some(|call, reply, _| {
            if call.calls("list") {
                document(reply, |answer| drop_key(answer, "has_more"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O9",
        reply: Some(|call, reply, _| {
            if call.calls("list") && call.has("--ndjson") {
                reply.stdout.push_str("and so on\n");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "O10",
        reply: Some(|call, reply, _| {
            if call.is("stats") && call.environment.iter().any(|(name, _)| *name == "TERM") {
                reply.stdout = "notes: 2\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "R1",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                document(reply, |answer| answer["rules"][0]["content"] = json!("see the manual"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "R2",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                document(reply, |answer| drop_key(&mut answer["skills"][0], "command"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "R3",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                document(reply, |answer| drop_key(answer, "issue"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "C1",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.stdout.push_str("{}\n");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "C2",
        also: &["C1"],
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.stdout.push_str("{\"level\":\"info\",\"message\":\"counted\"}\n");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "C3",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.stdout = reply.stdout.trim_end().to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "C4",
        reply: Some(|call, reply, _| {
            if call.calls("stats") && call.has("--quiet") {
                reply.stderr = "counted two notes\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "C5",
        reply: Some(|call, reply, _| {
            let rows = serde_json::from_slice::<Value>(call.stdin).unwrap_or_default();
            if call.has("--json-input") && rows[0].get("id").is_some() {
                *reply = crate::notes::fail(call.help, &("INVALID_VALUE", "an entry has an id".to_owned()));
            }
        }),
        ..NONE
    },
    Flaw { rule: "C6", reply: Some(|call, reply, _| reply.timed_out = call.held_open && call.is("stats")), ..NONE },
    Flaw {
        rule: "C7",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                let nth = call.nth;
                document(reply, |answer| answer["result"]["notes"] = json!(nth));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "X1",
        reply: Some(|call, reply, _| {
            if call.is("stats") {
                reply.status = 3;
            }
        }),
        ..NONE
    },
];
