//! S: what is wrong with the protection from mistakes.

use super::{command, failure, without};
use crate::scripted::{Flaw, NONE};
use serde_json::json;

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "S1",
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "purge") {
                args.push("--yes".to_owned());
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "S2",
        reply: Some(|_, reply, _| {
            failure(reply, "CONFIRMATION_REQUIRED", |error| error["message"] = json!("this needs a confirmation"));
        }),
        ..NONE
    },
    Flaw {
        rule: "S3",
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "add") {
                without(args, "--dry-run");
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "S4",
        also: &["G9"],
        args: Some(|args| {
            for arg in args {
                *arg = arg.chars().filter(|c| !c.is_control()).collect();
            }
        }),
        ..NONE
    },
    // The other half of the rule.
    Flaw {
        rule: "S4",
        also: &["G9"],
        args: Some(|args| {
            args.iter_mut().filter(|arg| arg.contains("../")).for_each(|arg| "n1".clone_into(arg));
        }),
        ..NONE
    },
    Flaw { rule: "S5", updates: true, ..NONE },
    Flaw {
        rule: "S6",
        help: Some(|help| {
            command(help, "purge")["effect"] = json!("write");
            command(help, "purge")["destructive"] = json!(false);
        }),
        ..NONE
    },
    Flaw {
        rule: "S7",
        args: Some(|args| {
            if args.first().is_some_and(|word| word == "remove") && args.iter().any(|word| word == "--quiet") {
                args.push("--yes".to_owned());
            }
        }),
        ..NONE
    },
    Flaw { rule: "S8", args: Some(|args| without(args, "--sanitize")), ..NONE },
];
