//! I, G: what is wrong with the taking of arguments.

use super::{command, drop_key, without};
use crate::notes::{Reply, fail};
use crate::scripted::{DRAWS, Flaw, NONE};
use serde_json::json;

/// Replaces every argument that holds one of these.
fn replaced(args: &mut [String], marks: &[&str]) {
    for arg in args.iter_mut().filter(|arg| marks.iter().any(|mark| arg.contains(mark))) {
        "probe-1".clone_into(arg);
    }
}

/// How credentials begin.
const SECRETS: [&str; 9] = ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "eyJ"];

fn accepted(reply: &mut Reply) {
    *reply = Reply { stdout: "{\"ok\":true,\"command\":\"\",\"result\":null}\n".to_owned(), ..Reply::default() };
}

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "I3",
        also: &["C5"],
        reply: Some(|call, reply, _| {
            if call.has("--json-input") {
                *reply = fail(call.help, &("INVALID_VALUE", "no batch is taken".to_owned()));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "I4",
        args: Some(|args| {
            if args.as_slice() == ["add"] {
                args.push("untitled".to_owned());
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "I5",
        also: &["G9"],
        args: Some(|args| {
            let no_value = DRAWS.word("no value");
            if args.windows(2).any(|two| two == ["--limit", no_value.as_str()]) {
                args.retain(|arg| arg != "--limit" && *arg != no_value);
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "I6",
        args: Some(|args| {
            args.iter_mut().filter(|arg| *arg == "--no-pinned").for_each(|arg| "--not-there".clone_into(arg));
        }),
        ..NONE
    },
    Flaw {
        rule: "I7",
        reply: Some(|call, reply, _| {
            let given = call.args.iter().filter(|arg| *arg == "--tag").count();
            if given > 1 || (given == 1 && call.args.iter().any(|arg| arg.contains(','))) {
                *reply = fail(call.help, &("UNEXPECTED_ARGUMENT", "one tag is enough".to_owned()));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "I8",
        reply: Some(|call, reply, _| {
            if call.is("stats") && call.environment.iter().any(|(name, _)| *name == "USER") {
                super::document(reply, |answer| answer["result"]["notes"] = json!(0));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "I9",
        help: Some(|help| {
            let text = help.to_string().replace("--token", "--ticket");
            *help = serde_json::from_str(&text).expect("it is still JSON");
        }),
        ..NONE
    },
    Flaw { rule: "G1", args: Some(|args| without(args, &format!("--{}", DRAWS.word("flag")))), ..NONE },
    Flaw { rule: "G2", also: &["G9"], args: Some(|args| replaced(args, &SECRETS)), ..NONE },
    Flaw { rule: "G3", args: Some(|args| replaced(args, &[".env", ".key", ".pem", "id_rsa"])), ..NONE },
    Flaw { rule: "G4", help: Some(|help| drop_key(command(help, "stats"), "effect")), ..NONE },
    // The other half of the rule: a command that says it reads, and does not.
    Flaw {
        rule: "G4",
        reply: Some(|call, _, state| {
            if call.is("stats") {
                state["read"] = json!(call.nth);
            }
        }),
        ..NONE
    },
    Flaw { rule: "G5", args: Some(|args| without(args, "--redact")), ..NONE },
    Flaw {
        rule: "G6",
        reply: Some(|call, reply, _| {
            if call.is("get n9") {
                accepted(reply);
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "G7",
        reply: Some(|call, reply, _| {
            if call.has("--json-input") && call.stdin.len() > 100_000 {
                accepted(reply);
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "G8",
        also: &["G9"],
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "sync") {
                replaced(args, &[";", "|", "&&", "$(", "`"]);
            }
        }),
        ..NONE
    },
    Flaw { rule: "G9", args: Some(|args| replaced_number(args)), ..NONE },
];

fn replaced_number(args: &mut [String]) {
    args.iter_mut()
        .filter(|arg| arg.len() > 20 && arg.bytes().all(|byte| byte.is_ascii_digit()))
        .for_each(|arg| "1".clone_into(arg));
}
