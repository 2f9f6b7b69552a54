//! E, X: what is wrong with failures.

use super::{failure, restate};
use crate::scripted::{DRAWS, Flaw, NONE};
use serde_json::json;

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "E1",
        reply: Some(|_, reply, _| failure(reply, "UNKNOWN_COMMAND", |error| error["error"] = json!("yes"))),
        ..NONE
    },
    Flaw {
        rule: "E2",
        reply: Some(|call, reply, _| {
            if call.is(&DRAWS.word("command")) {
                reply.stdout = "failed\n".to_owned();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "E3",
        reply: Some(|call, reply, _| {
            if call.is(&DRAWS.word("command")) {
                reply.stderr.push_str("see the manual\n");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "E4",
        help: Some(|help| help["errors"][0]["code"] = json!("unknown command")),
        reply: Some(|_, reply, _| {
            if reply.stderr.contains("UNKNOWN_COMMAND") {
                reply.status = 2;
                failure(reply, "UNKNOWN_COMMAND", |error| error["code"] = json!("unknown command"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "E5",
        reply: Some(|_, reply, _| failure(reply, "UNKNOWN_COMMAND", |error| error["message"] = json!(""))),
        ..NONE
    },
    Flaw {
        rule: "E6",
        reply: Some(|_, reply, _| failure(reply, "UNKNOWN_COMMAND", |error| super::drop_key(error, "suggestion"))),
        ..NONE
    },
    Flaw {
        rule: "E7",
        reply: Some(|call, reply, _| {
            if reply.stderr.contains("MISSING_ARGUMENT") && call.stdin.starts_with(b"y\n") {
                reply.status = 0;
                reply.stdout = "{\"ok\":true}\n".to_owned();
                reply.stderr.clear();
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "E7",
        also: &["E3"],
        reply: Some(|call, reply, _| {
            if call.is(&DRAWS.word("command")) {
                reply.stderr.push_str("Did you mean list? [y/N]");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "E8",
        reply: Some(|call, reply, _| {
            if call.is("get") {
                failure(reply, "MISSING_ARGUMENT", |error| error["code"] = json!("MISSING_PARAMETER"));
            }
        }),
        ..NONE
    },
    // Both codes are known, but the same call does not have the same one.
    Flaw {
        rule: "E8",
        reply: Some(|call, reply, _| {
            if call.is("get") && call.nth % 2 == 0 {
                failure(reply, "MISSING_ARGUMENT", |error| error["code"] = json!("INVALID_VALUE"));
            }
        }),
        ..NONE
    },
    Flaw { rule: "X2", help: Some(|help| restate(help, "SYNC_FAILED", 3)), ..NONE },
    Flaw { rule: "X3", help: Some(|help| restate(help, "UNKNOWN_COMMAND", 1)), ..NONE },
    Flaw { rule: "X4", help: Some(|help| restate(help, "AUTH_EXPIRED", 1)), ..NONE },
    Flaw { rule: "X5", help: Some(|help| restate(help, "PERMISSION_DENIED", 1)), ..NONE },
    Flaw { rule: "X6", help: Some(|help| restate(help, "NOT_FOUND", 1)), ..NONE },
    // Who fails in general was not refused.
    Flaw {
        rule: "X7",
        also: &["S1", "S2", "S7"],
        help: Some(|help| restate(help, "CONFIRMATION_REQUIRED", 1)),
        ..NONE
    },
    Flaw {
        rule: "X8",
        reply: Some(|_, reply, _| {
            if reply.stderr.contains("SYNC_FAILED") {
                reply.status = 40;
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "X9",
        reply: Some(|call, reply, _| {
            if call.calls("get") && reply.stderr.contains("NOT_FOUND") && call.args.len() == 2 {
                let absent = call.args.last().is_some_and(|id| id.contains("99") || *id == "n9");
                reply.status = if absent { 0 } else { reply.status };
            }
        }),
        ..NONE
    },
];
