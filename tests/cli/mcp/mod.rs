//! `hutch mcp` as a client meets it: over pipes, line by line, without any library of the protocol.

mod clients;
mod confirming;
mod conversation;
mod hidden;
mod hostile;
pub(crate) mod untrusted;

use crate::support::{Machine, PATIENCE};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

/// The revision that begins with `initialize`, and the one in which every request says what it needs.
const LEGACY: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// A client and the server that it started.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What every request says of itself, in the modern lifecycle.
    meta: Option<Value>,
    next: u64,
    /// What came besides answers.
    others: Vec<Value>,
}

impl Client {
    /// Starts `hutch mcp` with these words, and says nothing yet.
    fn start(machine: &Machine, words: &[&str]) -> Client {
        Client::start_in(machine, &[], words)
    }

    /// The same with these variables in its environment.
    fn start_in(machine: &Machine, variables: &[(&str, &str)], words: &[&str]) -> Client {
        // All commands as tools, unless it is said how many.
        let most: &[&str] = if words.iter().any(|word| word.starts_with("--tools-") || word.ends_with("output-schemas"))
        {
            &[]
        } else {
            &["--tools-max=40"]
        };
        let mut command = machine.hutch([&["mcp"], most, words].concat());
        command.envs(variables.iter().copied());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (told, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let Ok(line) = line else { return };
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Client { child, input, lines, meta: None, next: 0, others: Vec::new() }
    }

    /// The same, and has said who it is and that it can do this.
    fn legacy(machine: &Machine, words: &[&str], capabilities: Value) -> Client {
        Client::start(machine, words).greeted(capabilities)
    }

    fn greeted(mut self, capabilities: Value) -> Client {
        let params = json!({
            "protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1.2"},
        });
        let answer = self.request("initialize", params);
        assert_eq!(answer["result"]["protocolVersion"], LEGACY, "{answer}");
        self.put(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    /// The same, in the lifecycle that has no beginning.
    fn modern(machine: &Machine, words: &[&str], capabilities: Value) -> Client {
        let mut client = Client::start(machine, words);
        client.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.2"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
        client
    }

    /// Sends a line. A server that is gone does not read it.
    fn write(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush());
        }
    }

    fn put(&mut self, message: &Value) {
        self.write(&message.to_string());
    }

    /// The next message.
    #[track_caller]
    fn get(&self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("a message");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and gives its number.
    fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next += 1;
        if let Some(meta) = self.meta.clone() {
            let given = params["_meta"].take();
            params["_meta"] = meta;
            for (name, value) in given.as_object().into_iter().flatten() {
                params["_meta"][name] = value.clone();
            }
        }
        self.put(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}));
        self.next
    }

    /// The answer to a request; other messages are kept.
    #[track_caller]
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.get();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.others.push(message);
        }
    }

    #[track_caller]
    fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// What the call of a tool came to.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        let answer = self.answer(id);
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The document that a tool answered with.
    #[track_caller]
    fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        // The same as text, for clients that know nothing else.
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(result["structuredContent"], text);
        text
    }

    /// The report of a call that failed.
    #[track_caller]
    fn failed(&mut self, tool: &str, arguments: Value) -> Value {
        failure(&self.call(tool, arguments))
    }

    /// Ends the input and waits for the server's end.
    #[track_caller]
    fn close(mut self) -> (ExitStatus, Vec<Value>, String) {
        self.input = None;
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => rest.push(serde_json::from_str(&line).expect("a message")),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(error) => panic!("{error}: it does not end"),
            }
        }
        let output = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        (self.child.wait().unwrap(), rest, output)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The report in a tool's answer: the same for the model, as text, and for the program, but for the question, which is told once.
#[track_caller]
fn failure(result: &Value) -> Value {
    assert_eq!((&result["isError"], result.get("structuredContent")), (&json!(true), None), "{result}");
    let report: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    let mut again = report.clone();
    if let Some(details) = again.get_mut("details").and_then(Value::as_object_mut) {
        details.remove("question");
    }
    assert_eq!(again, result["_meta"]["hutch/error"]);
    assert!(report["suggestion"].as_str().is_some_and(|text| !text.is_empty()), "{report}");
    report
}

/// Entries of an instance's ledger, the first first: kind, error, kept, and who asked.
fn ledger(machine: &Machine, package: &str) -> Vec<Value> {
    let listed = machine.run(["ledger", "list", "--limit", "1000", package]).result("ledger list");
    let mut entries: Vec<Value> = listed["items"].as_array().unwrap().clone();
    entries.reverse();
    entries
}
