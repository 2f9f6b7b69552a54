//! Clients that break rules, hang up, ask for too much, or change their minds.

use super::{Client, failure, ledger};
use crate::support::{Machine, PATIENCE, package, probe, todo, unread};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;

/// A server whose guests may run for minutes.
const LONG: [&str; 5] = ["--limit", "wall_time_ms=600000", "--limit", "fuel=1000000000000000", "--tools-max=100"];

fn long(machine: &Machine) -> Client {
    // What it runs is compiled before: a call that is compiled is not under way yet.
    machine.probe(&[], &["return-ok"]).answer();
    Client::legacy(machine, &[&LONG[..], &[&probe()]].concat(), json!({}))
}

/// Starts a guest that writes and then never ends, and knows that it has begun when the server says so.
#[track_caller]
fn spin(client: &mut Client) -> u64 {
    let arguments = json!({"path": "state/half-done"});
    let params = json!({"name": "probe_write_then_spin", "arguments": arguments, "_meta": {"progressToken": "t"}});
    let id = client.send("tools/call", params);
    let note = client.get();
    assert_eq!(note["method"], "notifications/progress", "{note}");
    id
}

fn cancel(client: &mut Client, id: u64) {
    client.put(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
}

/// The entries that are not about the first run.
fn calls(machine: &Machine) -> Vec<Value> {
    let entries = ledger(machine, &probe());
    entries.into_iter().filter(|entry| entry["kind"] == "run").skip(1).collect()
}

#[test]
fn a_cancelled_call_stops_its_guest_and_leaves_an_entry_that_says_so() {
    let machine = Machine::new();
    let mut client = long(&machine);
    let before = machine.probe_state();
    let id = spin(&mut client);
    cancel(&mut client, id);
    // With one worker less this would wait for ever: each that is cancelled is free again.
    for _ in 0..8 {
        let id = spin(&mut client);
        cancel(&mut client, id);
    }
    client.done("probe_return_ok", json!({}));
    assert!(client.others.iter().all(|other| other["method"] == "notifications/progress"), "{:?}", client.others);
    let (status, rest, said) = client.close();
    assert!(status.success() && rest.is_empty() && said.is_empty(), "{status} {rest:?} {said}");
    let stopped: Vec<Value> = calls(&machine).into_iter().filter(|entry| entry["error"] == "CANCELLED").collect();
    assert!(stopped.iter().all(|entry| entry["kept"] == false && entry["ending"].is_null()), "{stopped:?}");
    assert!((1..=9).contains(&stopped.len()), "{stopped:?}");
    assert_eq!(machine.probe_state(), before);
    machine.run(["verify", "--chain", &probe()]).result("verify");
}

#[test]
fn input_that_ends_while_a_guest_runs_leaves_nothing_half_done() {
    let machine = Machine::new();
    let mut client = long(&machine);
    let before = machine.probe_state();
    let id = spin(&mut client);
    let (status, rest, _) = client.close();
    assert!(status.success(), "{status}");
    let answer = rest.iter().find(|message| message["id"] == id).expect("an answer to what was stopped");
    assert_eq!(failure(&answer["result"])["code"], "CANCELLED", "{answer}");
    assert_eq!(machine.probe_state(), before);
    assert!(calls(&machine).iter().any(|entry| entry["error"] == "CANCELLED"));
}

#[test]
fn output_that_nobody_reads_ends_the_server_and_what_it_does() {
    let machine = Machine::new();
    machine.probe(&[], &["return-ok"]).answer();
    let mut command = machine.hutch([&["mcp"], &LONG[..], &[&probe()]].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(unread()).stderr(Stdio::null()).spawn().unwrap();
    // The command keeps its end of the pipe.
    drop(command);
    let mut input = child.stdin.take().unwrap();
    let info = json!({"name": "test", "version": "1"});
    let begin = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let call = json!({"name": "probe_write_then_spin", "arguments": {"path": "state/x"}});
    for (id, method, params) in [(1, "initialize", begin), (2, "tools/call", call), (3, "tools/list", json!({}))] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        // It may be gone already.
        let _ = writeln!(input, "{message}");
    }
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait()));
    assert!(end.recv_timeout(PATIENCE).expect("it ends, though its input is open").is_ok());
    drop(input);
    assert!(machine.probe(&[], &["read-file", "state/x"]).status != 0);
}

#[test]
fn what_was_asked_before_the_input_ended_is_answered() {
    let machine = Machine::new();
    // Compiled by then: a compilation can't be stopped, and a server does not wait for it without end.
    machine.todo(&["list"]).answer();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let ids: Vec<u64> = (0..5).map(|at| client.send_call("todo_add", json!({"title": at.to_string()}))).collect();
    let (status, rest, _) = client.close();
    let mut kept = 0;
    for id in ids {
        let answer = rest.iter().find(|message| message["id"] == id).unwrap_or_else(|| panic!("no answer to {id}"));
        match answer["result"]["isError"] == false {
            true => kept += 1,
            // Where it takes longer than a server waits.
            false => assert_eq!(failure(&answer["result"])["code"], "CANCELLED"),
        }
    }
    assert!(status.success(), "{status}");
    assert_eq!(machine.todo(&["list"]).answer()["count"], kept);
}

#[test]
fn a_killed_server_leaves_what_was_answered_and_nothing_half_done() {
    let machine = Machine::new();
    let mut client = long(&machine);
    client.done("probe_write_text", json!({"path": "state/kept", "text": "x"}));
    let before = machine.probe_state();
    spin(&mut client);
    drop(client);
    assert_eq!(machine.probe_state(), before);
    machine.run(["verify", "--chain", &probe()]).result("verify");
}

#[test]
fn garbage_ends_no_session_and_gets_no_more_than_an_error() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    for line in ["", "{", "garbage", "\u{0}\u{1}\u{7f}", "[]", "null", "7", "{}", "[[[[[[[[", "{\"jsonrpc\":\"2.0\"}"] {
        client.write(line);
    }
    client.write(&"[".repeat(100_000));
    // A line of more than a message may have is read past.
    client.write(&format!("{{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"{}\"}}", "x".repeat(5 << 20)));
    for message in [
        json!({"jsonrpc": "2.0", "id": 50, "method": 7}),
        json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}),
        json!({"jsonrpc": "1.0", "id": 51, "method": "ping"}),
        json!({"jsonrpc": "2.0", "id": 52, "result": {}}),
        json!({"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": "m"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/nope", "params": [1]}),
    ] {
        client.put(&message);
    }
    cancel(&mut client, 4711);
    assert_eq!(client.request("nope/nope", json!({}))["error"]["code"], -32601);
    let strange = client.request("tools/call", json!({"name": 7}));
    assert!(strange["error"]["code"].is_i64(), "{strange}");
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    let mut told: Vec<&Value> = Vec::new();
    for other in &client.others {
        assert!(other["error"].is_object() && other.get("result").is_none(), "{other}");
        told.extend(other.get("id").filter(|id| !id.is_null()));
    }
    // Who gave a number is told under it; what was read past has none.
    assert_eq!(told, [&json!(50), &json!(51)]);
    let (status, _, said) = client.close();
    assert!(status.success() && said.is_empty(), "{status} {said}");
}

#[test]
fn every_message_that_is_refused_is_answered_before_the_end() {
    let machine = Machine::new();
    let long = "x".repeat(65 << 10);
    let refused = [
        ("{".to_owned(), json!(null), -32700),
        (r#"{"jsonrpc":"2.0","id":7,"method":7}"#.to_owned(), json!(7), -32600),
        (r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}"#.to_owned(), json!(8), -32602),
        (format!(r#"{{"jsonrpc":"2.0","id":9,"method":"initialize","params":"{long}"}}"#), json!(9), -32700),
    ];
    for has_begun in [false, true] {
        for (line, id, code) in &refused {
            let mut client = match has_begun {
                true => Client::legacy(&machine, &[&todo()], json!({})),
                false => Client::start(&machine, &[&todo()]),
            };
            client.write(&vec![line.as_str(); 100].join("\n"));
            let (status, rest, said) = client.close();
            assert!(status.success() && said.is_empty(), "{status} {said}");
            let told = |message: &&Value| message["id"] == *id && message["error"]["code"] == *code;
            assert_eq!((rest.iter().filter(told).count(), rest.len()), (100, 100), "{has_begun} {id}");
        }
    }
}

#[test]
fn what_comes_before_the_first_request_is_passed_over() {
    let machine = Machine::new();
    let mut client = Client::start(&machine, &[&todo()]);
    client.put(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.put(&json!({"jsonrpc": "2.0", "id": 9, "result": {}}));
    let params =
        json!({"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "n", "version": "v"}});
    let answer = client.request("initialize", params);
    assert_eq!(answer["result"]["serverInfo"]["name"], "hutch", "{answer}");
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
}

#[test]
fn two_requests_with_one_number_are_one_call() {
    let machine = Machine::new();
    let mut client = long(&machine);
    let id = spin(&mut client);
    let arguments = json!({"path": "state/second", "text": "x"});
    let second = json!({"name": "probe_write_text", "arguments": arguments});
    client.put(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": second}));
    let refusal = loop {
        let message = client.get();
        if message["method"] != "notifications/progress" {
            break message;
        }
    };
    assert_eq!((&refusal["error"]["code"], refusal["id"].is_null()), (&json!(-32600), true), "{refusal}");
    cancel(&mut client, id);
    // Nor is it free for a third: what comes of the first one late is no answer to that.
    client.put(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    client.done("probe_return_ok", json!({}));
    assert!(client.others.iter().any(|other| other["error"]["code"] == -32600), "{:?}", client.others);
    client.close();
    assert!(machine.probe(&[], &["read-file", "state/second"]).status != 0, "the second one was not carried out");
}

#[test]
fn a_server_with_too_much_to_do_says_so_at_once() {
    let machine = Machine::new();
    let mut client = long(&machine);
    let ids: Vec<u64> = (0..100).map(|_| client.send_call("probe_spin", json!({}))).collect();
    // 4 are under way and 64 wait.
    let refused: Vec<Value> = (0..100 - 68).map(|_| client.get()).collect();
    for answer in &refused {
        let report = failure(&answer["result"]);
        assert_eq!((&report["code"], &report["details"]["kept"]), (&json!("SERVER_BUSY"), &json!(false)), "{report}");
    }
    for id in ids {
        cancel(&mut client, id);
    }
    // What is cancelled has its place until a worker comes to it.
    let again = (0..100_000).map(|_| client.call("probe_return_ok", json!({})));
    let answer = again.into_iter().find(|answer| answer["_meta"]["hutch/error"]["code"] != "SERVER_BUSY");
    assert_eq!(answer.expect("room")["isError"], false);
    let (status, rest, _) = client.close();
    assert!(status.success() && rest.is_empty(), "{status} {rest:?}");
    assert!(calls(&machine).iter().all(|entry| entry["error"].is_null() || entry["error"] == "CANCELLED"));
}

#[test]
fn what_a_client_calls_itself_is_cut_and_is_no_terminals_business() {
    let machine = Machine::new();
    let mut client = Client::start(&machine, &[&todo()]);
    let name = format!("\u{1b}[31mevil\n{}", "x".repeat(10_000));
    let info = json!({"name": name, "version": "\u{7}1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    client.request("initialize", params);
    client.done("todo_list", json!({}));
    client.close();
    let shown = machine.run(["ledger", "show", &todo(), "last"]).result("ledger show");
    let caller = &shown["record"]["caller"];
    assert_eq!(caller["version"], "1");
    let name = caller["name"].as_str().unwrap();
    assert!(name.starts_with("[31mevilxxx") && name.chars().count() == 128, "{name}");
}

#[test]
fn an_object_that_means_something_to_a_library_is_no_argument() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let inner = json!({"title": "smuggled"}).to_string();
    for name in ["RawValue", "Number"] {
        let arguments = json!({format!("$serde_json::private::{name}"): inner});
        client.put(&json!({"jsonrpc": "2.0", "id": 90, "method": "tools/call", "params": {"name": "todo_add", "arguments": arguments}}));
        let refused = client.get();
        assert_eq!((&refused["error"]["code"], refused.get("result")), (&json!(-32700), None), "{refused}");
    }
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    client.close();
}

#[test]
fn a_call_that_says_something_twice_is_not_carried_out() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    for params in [
        r#"{"name":"todo_add","arguments":{"title":"a"},"arguments":{"title":"b"}}"#,
        r#"{"name":"todo_list","name":"todo_add","arguments":{"title":"a"}}"#,
        r#"{"name":"todo_add","arguments":{"title":"a","\u0074itle":"b"}}"#,
        r#"{"name":"hutch_call","arguments":{"command":"add","arguments":{"title":"a","title":"b"}}}"#,
    ] {
        client.write(&format!(r#"{{"jsonrpc":"2.0","id":90,"method":"tools/call","params":{params}}}"#));
        let refused = client.get();
        assert_eq!((&refused["error"]["code"], refused.get("result")), (&json!(-32700), None), "{refused}");
        let (message, data) = (refused["error"]["message"].as_str().unwrap(), &refused["error"]["data"]);
        assert!(message.contains("a field is there twice at line 1 column "), "{refused}");
        assert_eq!((&data["code"], &data["message"]), (&json!("REQUEST_INVALID"), &json!(message)), "{refused}");
    }
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    client.close();
}

#[test]
fn a_wrong_beginning_ends_no_server() {
    let machine = Machine::new();
    let mut client = Client::start(&machine, &[&todo()]);
    assert!(client.request("ping", json!({}))["result"].is_object());
    client.put(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let refused = client.request("initialize", json!({"protocolVersion": "2025-11-25", "capabilities": {}}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("clientInfo"), "{refused}");
    client.put(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let info = json!({"name": "test", "version": "1"});
    let begun = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    assert!(client.request("initialize", begun)["result"].is_object());
    client.put(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    // A method that is known, with parameters that are not of its form.
    for params in [Value::Null, json!({}), json!({"name": "todo_add", "arguments": []})] {
        client.put(&json!({"jsonrpc": "2.0", "id": 91, "method": "tools/call", "params": params}));
        assert_eq!(client.answer(91)["error"]["code"], -32602);
    }
    assert_eq!(client.done("todo_list", json!({}))["count"], 0);
    let (status, _, said) = client.close();
    assert!(status.success() && said.is_empty(), "{status} {said}");
}

#[test]
fn a_call_has_so_many_fields_and_is_told_so_much_of_what_is_wrong() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let mut failed = |count: usize| {
        let fields: serde_json::Map<String, Value> = (0..count).map(|at| (format!("x{at}"), json!(1))).collect();
        let failed = client.failed("todo_add", Value::Object(fields));
        assert_eq!(failed["code"], "ARGUMENT_INVALID", "{failed}");
        (failed["details"]["violations"].as_array().map(Vec::len), failed["message"].as_str().unwrap().to_owned())
    };
    let (told, message) = failed(1000);
    assert_eq!(told, Some(20), "{message}");
    assert!(message.contains("more"), "{message}");
    let (told, message) = failed(1001);
    assert_eq!((told, message.contains("at most 1000 fields")), (None, true), "{message}");
}

/// Every word of a question that nothing uses is compared with all that something does.
#[test]
fn a_question_of_too_many_words_is_refused_before_anything_is_compared() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &[&todo(), &probe()], json!({}));
    let words = |count: usize| (0..count).map(|at| format!("erase{at}")).collect::<Vec<_>>().join(" ");
    for (text, said) in [(words(65), "at most 64 different words"), ("x ".repeat(2049), "at most 4096 bytes")] {
        let failed = client.failed("hutch_find", json!({"text": text}));
        assert_eq!(failed["code"], "ARGUMENT_INVALID", "{failed}");
        assert!(failed["message"].as_str().unwrap().contains(said), "{failed}");
        let fault = machine.run(["find", "--in", &todo(), &text]).fault("USAGE", 2);
        assert!(fault.message.contains(said), "{fault:?}");
    }
    assert!(client.done("hutch_find", json!({"text": words(64)}))["items"].is_array());
}

/// It waits behind what its own caller asked for before, and what takes no work is answered meanwhile.
#[test]
fn a_question_keeps_no_other_request_waiting() {
    let machine = Machine::new();
    let mut client = Client::legacy(&machine, &["--wait", "600s", "--tools-max=2", &todo(), &probe()], json!({}));
    let add = json!({"package": "todo", "command": "add", "arguments": {"title": "tea"}});
    client.done("hutch_call", add.clone());
    let database = rusqlite::Connection::open(machine.home().join("instances/todo/default/hutch.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Whoever carries out anything is held up.
    for _ in 0..8 {
        client.send_call("hutch_call", add.clone());
    }
    let finding = client.send_call("hutch_find", json!({"text": "note a new task"}));
    let listing = client.send("tools/list", json!({}));
    let first = client.get();
    assert_eq!(first["id"], listing, "{first}");
    database.execute_batch("ROLLBACK").unwrap();
    assert_eq!(client.answer(finding)["result"]["structuredContent"]["items"][0]["command"], "add");
}

#[test]
fn skills_that_are_longer_than_what_is_served_begin_no_server() {
    let machine = Machine::new();
    let todo = package::copy_todo(&machine, "todo");
    let skill = std::fs::read_dir(todo.join("skills")).unwrap().next().unwrap().unwrap().path();
    let served = |bytes: u64| {
        std::fs::File::create(skill.join("data")).unwrap().set_len(bytes).unwrap();
        machine.run(["mcp".as_ref(), todo.as_os_str()].map(|word| word.to_str().unwrap()))
    };
    assert_eq!(served(1 << 20).status, 0);
    let refused = served(17 << 20);
    assert_ne!(refused.status, 0);
    assert!(
        refused.stderr.contains("the skills have") && refused.stderr.contains("16777216 allowed"),
        "{}",
        refused.stderr
    );
}
