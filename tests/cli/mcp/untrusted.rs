//! What a client is told of a package whose every text would give orders: `crate::untrusted` says where they may stand.

use super::Client;
use crate::support::Machine;
use serde_json::{Value, json};

/// What is listed, read and answered, each under the name of its answer.
pub(crate) fn told(machine: &Machine, package: &str, file: &str, content: &str) -> Vec<(&'static str, Value)> {
    let mut client = Client::legacy(machine, &["--tools-max=40", "--output-schemas", package], json!({}));
    let mut told = Vec::new();
    for (answer, method) in
        [("mcp_tools", "tools/list"), ("mcp_resources", "resources/list"), ("mcp_skills", "skills/list")]
    {
        told.push((answer, client.request(method, json!({}))["result"].take()));
    }
    for uri in ["hutch://probe/APP.md", "skill://probe/probe-usage/SKILL.md"] {
        told.push(("mcp_resource", client.request("resources/read", json!({"uri": uri}))["result"].take()));
    }
    for (tool, arguments) in [
        ("probe_write_text", json!({})),
        ("probe_args", json!({"mode": "x"})),
        ("probe_write_text", json!({"path": file, "text": content})),
        ("probe_write_text", json!({"path": "state/x", "text": content})),
        ("probe_read_file", json!({"path": "state/x"})),
        ("probe_remove", json!({"path": file})),
        ("hutch_plan", json!({"command": "write-text", "arguments": {"path": "state/x", "text": "y"}})),
        ("hutch_history", json!({})),
        ("probe_stderr_then_panic", json!({"bytes": 10})),
    ] {
        let mut result = client.call(tool, arguments);
        // A model reads the text, which is the document.
        let text = result["content"][0]["text"].as_str().unwrap();
        let document: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {result}"));
        let answer = if result["isError"] == true { "error" } else { "mcp_call" };
        told.push((answer, document));
        told.push((answer, result["structuredContent"].take()));
        told.push((answer, result["_meta"]["hutch/error"].take()));
    }
    // Where the commands are no tools of their own, what is found and described is told by name.
    let mut few = Client::legacy(machine, &["--tools-max=1", package], json!({}));
    for (answer, tool, arguments) in [
        ("mcp_find", "hutch_find", json!({"text": "obey"})),
        ("mcp_describe", "hutch_describe", json!({})),
        ("mcp_describe", "hutch_describe", json!({"command": "args"})),
    ] {
        told.push((answer, few.done(tool, arguments)));
    }
    told
}
