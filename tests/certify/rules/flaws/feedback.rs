//! F: what is wrong with issues.

use super::{document, drop_key, parameter};
use crate::scripted::{Flaw, NONE};
use serde_json::json;

pub(super) const FLAWS: &[Flaw] = &[
    Flaw {
        rule: "F1",
        // Without the command there is no way to two of the statuses.
        also: &["F6"],
        help: Some(|help| {
            let commands = help["commands"].as_array_mut().expect("there are commands");
            commands.retain(|command| command["name"] != "issue transition");
        }),
        ..NONE
    },
    Flaw {
        rule: "F2",
        reply: Some(|call, reply, _| {
            if call.calls("issue show") {
                document(reply, |answer| drop_key(&mut answer["result"], "context"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "F3",
        help: Some(|help| parameter(help, "issue create", "--type")["choices"] = json!(["bug", "requirement"])),
        ..NONE
    },
    Flaw {
        rule: "F4",
        also: &["O8"],
        reply: Some(|call, reply, _| {
            if call.is("issue list") {
                document(reply, |answer| answer["result"] = json!([]));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "F5",
        reply: Some(|call, reply, _| {
            if call.calls("issue show") {
                document(reply, |answer| drop_key(&mut answer["result"], "id"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "F6",
        reply: Some(|call, reply, _| {
            if call.calls("issue close") {
                document(reply, |answer| answer["result"]["status"] = json!("resolved"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "F7",
        reply: Some(|call, reply, _| {
            if call.calls("issue show") {
                document(reply, |answer| drop_key(&mut answer["result"], "updated_at"));
            }
        }),
        ..NONE
    },
    Flaw {
        rule: "F8",
        reply: Some(|call, reply, _| {
            if call.is("issue list") {
                document(reply, |answer| {
                    answer["result"].as_array_mut().into_iter().flatten().for_each(|issue| drop_key(issue, "status"));
                });
            }
        }),
        ..NONE
    },
];
