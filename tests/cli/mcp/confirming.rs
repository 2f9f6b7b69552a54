//! What needs a confirmation is done after a person gave it, and by no other way.

use super::{Client, failure, ledger};
use crate::support::{Machine, Ran, package, todo};
use serde_json::{Value, json};

/// A machine with one task.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.todo(&["add", "keep me"]).answer();
    machine
}

fn count(machine: &Machine) -> u64 {
    machine.todo(&["list"]).answer()["count"].as_u64().unwrap()
}

fn remove() -> Value {
    json!({"id": "td_0001", "confirm": true})
}

/// A question that came while a call waits.
#[track_caller]
fn question(client: &Client) -> (Value, String) {
    let asked = client.get();
    assert_eq!((&asked["method"], &asked["params"]["mode"]), (&json!("elicitation/create"), &json!("form")), "{asked}");
    (asked["id"].clone(), asked["params"]["message"].as_str().unwrap().to_owned())
}

#[test]
fn a_person_is_shown_the_change_and_says_yes_or_no() {
    let machine = machine();
    let mut client = Client::legacy(&machine, &[&todo()], json!({"elicitation": {}}));
    for action in ["decline", "cancel"] {
        let id = client.send_call("todo_remove", remove());
        let (asked, text) = question(&client);
        assert!(text.contains("todo remove --confirm td_0001") && text.contains("keep me"), "{text}");
        assert_eq!(count(&machine), 1, "nothing is done while a person reads");
        client.put(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": action}}));
        let report = failure(&client.answer(id)["result"]);
        assert_eq!((&report["code"], &report["details"]["kept"]), (&json!("CONFIRMATION_REQUIRED"), &json!(false)));
    }
    assert_eq!(count(&machine), 1);
    let id = client.send_call("todo_remove", remove());
    let (asked, _) = question(&client);
    client.put(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "accept", "content": {}}}));
    let answer = client.answer(id);
    assert_eq!(answer["result"]["structuredContent"]["command"], "remove", "{answer}");
    assert_eq!(count(&machine), 0);
    let applied = ledger(&machine, &todo()).into_iter().rfind(|entry| entry["kind"] == "apply").unwrap();
    assert_eq!(applied["hash"], answer["result"]["_meta"]["hutch/entry"]["hash"]);
}

/// What would be lost of a person's own files stands in the question, and is done in the folder that the server was started with.
#[test]
fn a_person_is_shown_the_change_of_a_granted_folder() {
    let machine = Machine::new();
    machine.write("mine/letter.txt", "dear reader");
    let package = package::copy(&machine, "probe");
    let contract = package.join("schemas/commands.json");
    let mut commands: Value = serde_json::from_slice(&std::fs::read(&contract).unwrap()).unwrap();
    for command in commands["commands"].as_array_mut().unwrap() {
        command["confirmationRequired"] = json!(command["name"] == "remove");
    }
    std::fs::write(contract, commands.to_string()).unwrap();
    let words = ["--mount", "mine:mnt:rw", "--tools-max=100", package.to_str().unwrap()];
    let mut client = Client::legacy(&machine, &words, json!({"elicitation": {}}));
    for (action, there) in [("decline", true), ("accept", false)] {
        let id = client.send_call("probe_remove", json!({"path": "mnt/letter.txt"}));
        let (asked, text) = question(&client);
        assert!(text.contains("mnt/letter.txt") && text.contains("dear reader"), "{text}");
        client.put(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": action, "content": {}}}));
        let answer = client.answer(id);
        assert_eq!(machine.path("mine/letter.txt").exists(), there, "{action}: {answer}");
    }
    assert_eq!(client.done("hutch_undo", json!({}))["changes"]["mnt"][0]["path"], "letter.txt");
    assert_eq!(std::fs::read_to_string(machine.path("mine/letter.txt")).unwrap(), "dear reader");
}

#[test]
fn what_changed_meanwhile_is_not_confirmed_with_it() {
    let machine = machine();
    let mut client = Client::legacy(&machine, &[&todo()], json!({"elicitation": {"form": {}}}));
    let id = client.send_call("todo_remove", remove());
    let (asked, _) = question(&client);
    machine.todo(&["update", "td_0001", "--title", "precious"]).answer();
    client.put(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "accept", "content": {}}}));
    assert_eq!(failure(&client.answer(id)["result"])["code"], "CONFLICT");
    assert_eq!(count(&machine), 1);
}

#[test]
fn a_client_that_cant_ask_is_told_the_line_that_a_person_types() {
    let machine = machine();
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut client = Client::legacy(&machine, &[&todo()], capabilities);
        let report = client.failed("todo_remove", remove());
        assert_eq!(report["code"], "CONFIRMATION_REQUIRED");
        assert!(report["details"]["question"].as_str().unwrap().contains("keep me"), "{report}");
        let plan = client.done("hutch_plan", json!({"command": "remove", "arguments": remove()}))["plan"].clone();
        assert_eq!(client.failed("hutch_apply", json!({"plan": plan}))["code"], "CONFIRMATION_REQUIRED");
        // No argument of any tool stands for a person.
        for more in ["yes", "confirmed", "confirmation"] {
            let mut arguments = json!({"plan": plan});
            arguments[more] = json!(true);
            assert_eq!(client.failed("hutch_apply", arguments)["code"], "ARGUMENT_INVALID", "{more}");
        }
        assert_eq!((count(&machine), client.others.len()), (1, 0));
    }
    let mut client = Client::legacy(&machine, &[&todo()], json!({}));
    let line = client.failed("todo_remove", remove())["fixes"][0]["cmd"].as_str().unwrap().to_owned();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!(words[..3], ["hutch", "apply", "--yes"], "{line}");
    machine.run(&words[1..]).result("apply");
    assert_eq!(count(&machine), 0);
}

/// What a client has to bring back.
#[track_caller]
fn required(result: &Value) -> (String, String) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let asked = &result["inputRequests"]["confirm"];
    assert_eq!(asked["method"], "elicitation/create", "{result}");
    let text = asked["params"]["message"].as_str().unwrap();
    (result["requestState"].as_str().unwrap().to_owned(), text.to_owned())
}

fn again(client: &mut Client, tool: &str, arguments: &Value, state: &str, action: &str) -> Value {
    let params = json!({
        "name": tool, "arguments": arguments, "requestState": state,
        "inputResponses": {"confirm": {"action": action, "content": {}}},
    });
    client.request("tools/call", params)["result"].clone()
}

#[test]
fn a_call_is_made_again_with_the_answer_and_only_the_one_that_was_asked_about() {
    let machine = machine();
    machine.todo(&["add", "keep me too"]).answer();
    let mut client = Client::modern(&machine, &[&todo()], json!({"elicitation": {"form": {}}}));
    let (state, text) = required(&client.call("todo_remove", remove()));
    assert!(text.contains("keep me"), "{text}");
    let other = json!({"id": "td_0002", "confirm": true});
    let forged = format!("{}x", &state[..state.len() - 1]);
    for (tool, arguments, state) in [
        ("todo_remove", &other, state.as_str()),
        ("todo_add", &json!({"title": "x"}), &state),
        ("todo_remove", &remove(), &forged),
        ("todo_remove", &remove(), "confirmed"),
    ] {
        let report = failure(&again(&mut client, tool, arguments, state, "accept"));
        assert_eq!(report["code"], "CONFIRMATION_REQUIRED", "{tool} {arguments} {report}");
    }
    for action in ["yes", ""] {
        let report = failure(&again(&mut client, "todo_remove", &remove(), &state, action));
        assert_eq!(report["code"], "CONFIRMATION_REQUIRED", "{action} {report}");
    }
    // Another server's seal is none here.
    let mut second = Client::modern(&machine, &[&todo()], json!({"elicitation": {}}));
    assert_eq!(
        failure(&again(&mut second, "todo_remove", &remove(), &state, "accept"))["code"],
        "CONFIRMATION_REQUIRED"
    );
    assert_eq!(count(&machine), 2);
    let done = again(&mut client, "todo_remove", &remove(), &state, "accept");
    assert_eq!((&done["isError"], count(&machine)), (&json!(false), 1), "{done}");
}

#[test]
fn a_question_is_answered_once() {
    let machine = machine();
    let mut client = Client::modern(&machine, &[&todo()], json!({"elicitation": {"form": {}}}));
    for action in ["decline", "cancel", "accept"] {
        let (state, _) = required(&client.call("todo_remove", remove()));
        let first = again(&mut client, "todo_remove", &remove(), &state, action);
        assert_eq!(first["isError"], action != "accept", "{first}");
        if action == "accept" {
            assert_eq!(count(&machine), 0);
            // The state is again the one that was asked about, and a person has taken that answer back.
            client.done("hutch_undo", json!({}));
        }
        let entries = ledger(&machine, &todo()).len();
        for more in ["accept", "decline", "accept"] {
            let report = failure(&again(&mut client, "todo_remove", &remove(), &state, more));
            assert_eq!(report["code"], "CONFIRMATION_REQUIRED", "{action} {more} {report}");
            assert!(report["message"].as_str().unwrap().contains("answered before"), "{report}");
        }
        assert_eq!(ledger(&machine, &todo()).len(), entries, "{action}");
        assert_eq!(count(&machine), 1, "{action}");
    }
    // Who is asked anew may agree anew.
    let (state, _) = required(&client.call("todo_remove", remove()));
    assert_eq!(again(&mut client, "todo_remove", &remove(), &state, "accept")["isError"], false);
    assert_eq!(count(&machine), 0);
}

#[test]
fn a_plan_is_applied_after_a_person_saw_what_it_changes() {
    let machine = machine();
    let mut client = Client::legacy(&machine, &[&todo()], json!({"elicitation": {}}));
    let planned = client.done("hutch_plan", json!({"command": "remove", "arguments": remove()}));
    assert_eq!(planned["confirmation"], "\"remove\" needs a confirmation");
    let id = client.send_call("hutch_apply", json!({"plan": "last"}));
    let (asked, text) = question(&client);
    assert!(text.contains("keep me"), "{text}");
    client.put(&json!({"jsonrpc": "2.0", "id": asked, "result": {"action": "accept", "content": {}}}));
    assert_eq!(client.answer(id)["result"]["structuredContent"]["kept"], true);
    assert_eq!(count(&machine), 0);
    // A plan that was not made here can't be shown, so nobody is asked.
    machine.run(["undo", &todo()]).result("undo");
    machine.run(["plan", &todo(), "remove", "td_0001", "--confirm"]).result("plan");
    assert_eq!(client.failed("hutch_apply", json!({"plan": "last"}))["code"], "CONFIRMATION_REQUIRED");
    assert_eq!((count(&machine), client.others.len()), (1, 0));
}

#[test]
fn nobody_is_asked_about_more_than_a_question_shows() {
    let machine = Machine::new();
    let described = |at: usize| json!({"title": format!("keep me {at}"), "description": "x".repeat(4000)});
    let items: Vec<Value> = (0..2).map(described).collect();
    let batch = json!(items).to_string();
    machine.run(["run", "--stdin-text", &batch, &todo(), "add", "--json-input"]).answer();
    let total = || machine.todo(&["list"]).answer()["total"].as_u64().unwrap();
    let capabilities = json!({"elicitation": {"form": {}}});
    for mut client in [
        Client::legacy(&machine, &[&todo()], capabilities.clone()),
        Client::modern(&machine, &[&todo()], capabilities.clone()),
    ] {
        let report = client.failed("todo_remove", remove());
        assert_eq!((&report["code"], &report["details"]["kept"]), (&json!("CONFIRMATION_REQUIRED"), &json!(false)));
        assert!(client.others.is_empty(), "{:?}", client.others);
        assert_eq!(total(), 2);
        // By its line a person sees all of it.
        let suggestion = report["suggestion"].as_str().unwrap();
        let look = suggestion.split("hutch plan ").nth(1).and_then(|rest| rest.split(" and then ").next());
        let words: Vec<&str> = look.unwrap_or_else(|| panic!("{report}")).split(' ').collect();
        let seen = machine.run([&["plan"], &words[..]].concat());
        assert!(seen.status == 0 && seen.stdout.contains("keep me 0"), "{seen:?}");
    }
    let mut client = Client::legacy(&machine, &[&todo()], capabilities.clone());
    let line = client.failed("todo_remove", remove())["fixes"][0]["cmd"].as_str().unwrap().to_owned();
    machine.run(&line.split(' ').collect::<Vec<&str>>()[1..]).result("apply");
    assert_eq!(total(), 1);
    // Nor about one that is told in few words, because it was not compared.
    let items: Vec<Value> = (0..70).map(described).collect();
    let add = &mut machine.hutch(["run", &todo(), "add", "--json-input"]);
    Ran::with_input(add, json!(items).to_string().as_bytes()).answer();
    let planned = machine.run(["plan", &todo(), "remove", "td_0002", "--confirm"]).document().to_string();
    assert!(planned.contains("more than 262144"), "{}", &planned[..2000.min(planned.len())]);
    for mut client in
        [Client::legacy(&machine, &[&todo()], capabilities.clone()), Client::modern(&machine, &[&todo()], capabilities)]
    {
        let report = client.failed("todo_remove", json!({"id": "td_0002", "confirm": true}));
        assert_eq!(report["code"], "CONFIRMATION_REQUIRED");
        assert!(client.others.is_empty(), "{:?}", client.others);
    }
    assert_eq!(total(), 71);
}
