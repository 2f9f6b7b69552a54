//! Batches on standard input: every command that changes the list, done as a whole or not at all.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::io::{self, Read};

use guest_todo::TODO;
use hutch_guest::batch::{ENTRIES_MAX, INPUT_BYTES_MAX};
use hutch_guest::contract::Effect;
use serde_json::{Value, json};
use support::{Todo, ids, item, one_line, state};

/// Three items, the second of them completed, the third with two reminders.
fn three() -> Todo {
    let todo = Todo::new();
    todo.ok(&["add", "a", "--due-at", "2026-04-05"]);
    todo.ok(&["add", "b"]);
    todo.ok(&["add", "c"]);
    todo.ok(&["complete", "td_0002"]);
    todo.ok(&["reminder", "set", "td_0003", "--at", "2026-04-02T00:00:00Z", "--at", "2026-04-03T00:00:00Z"]);
    todo
}

#[test]
fn a_batch_does_what_the_same_calls_do() {
    for (calls, command, input) in [
        (
            &[&["add", "x", "--description", "y", "--due-at", "2026-04-05"][..], &["add", "--", "--z"]][..],
            &["add"][..],
            json!([{"title": "x", "description": "y", "due-at": "2026-04-05"}, {"title": "--z"}]),
        ),
        (
            &[&["update", "td_0001", "--title", "x", "--clear-due-at"], &["update", "td_0002", "--description", "y"]],
            &["update"],
            json!([{"id": "td_0001", "title": "x", "clearDueAt": true}, {"id": "td_0002", "description": "y", "clear-due-at": false}]),
        ),
        (
            &[&["complete", "td_0003"], &["complete", "td_0002"], &["complete", "td_0001"]],
            &["complete"],
            json!([{"id": "td_0003"}, {"id": "td_0002"}, {"id": "td_0001"}]),
        ),
        (&[&["reopen", "td_0002"]], &["reopen"], json!([{"id": "td_0002"}])),
        (
            &[&["remove", "td_0003", "--confirm"], &["remove", "td_0001", "--confirm"]],
            &["remove", "--confirm"],
            json!([{"id": "td_0003"}, {"id": "td_0001"}]),
        ),
        (
            &[
                &["reminder", "set", "td_0001", "--at", "2026-04-02T00:00:00Z", "--at", "2026-04-04T02:00:00+02:00"],
                &["reminder", "set", "td_0001", "--at", "2026-04-05T00:00:00Z"],
            ],
            &["reminder", "set"],
            json!([
                {"id": "td_0001", "at": ["2026-04-02T00:00:00Z", "2026-04-04T02:00:00+02:00"]},
                {"id": "td_0001", "at": "2026-04-05T00:00:00Z"},
            ]),
        ),
        (
            &[&["reminder", "clear", "td_0003", "--at", "2026-04-02T00:00:00Z"], &["reminder", "clear", "td_0001"]],
            &["reminder", "clear"],
            json!([{"id": "td_0003", "at": "2026-04-02T00:00:00Z"}, {"id": "td_0001", "at": null}]),
        ),
    ] {
        let (one_by_one, at_once) = (three(), three());
        let shown: Vec<Value> = calls.iter().map(|call| one_by_one.ok(call)["items"][0].clone()).collect();
        for input in [input.to_string(), json!({"ok": true, "items": input, "more": 1}).to_string()] {
            let at_once = Todo::with_state(at_once.state().unwrap());
            let answer = at_once.batch(&[command, &["--json-input"]].concat(), &input);
            assert_eq!(answer["items"], json!(shown), "{input}");
            assert_eq!((&answer["count"], &answer["changed"]), (&json!(calls.len()), &json!(true)), "{input}");
            assert_eq!(at_once.state(), one_by_one.state(), "{input}");
        }
    }
}

#[test]
fn every_command_that_changes_the_list_takes_a_batch_and_can_be_tried() {
    for command in TODO.description.commands {
        for flag in ["json-input", "dry-run"] {
            let takes = command.parameters.iter().any(|parameter| parameter.name == flag);
            assert_eq!(takes, command.effect != Effect::Read, "{} --{flag}", command.name);
        }
    }
    let todo = Todo::new();
    assert_eq!(todo.refused(&["list", "--json-input"], 2).0, "UNKNOWN_FLAG");
    assert_eq!(todo.refused(&["get", "td_0001", "--dry-run"], 2).0, "UNKNOWN_FLAG");
}

#[test]
fn a_batch_with_one_bad_entry_does_nothing() {
    let todo = three();
    let long = "x".repeat(100_000);
    for (command, input, status, code, index, message) in [
        ("add", r#"[{"title":"x"},{"title":" "}]"#, 2, "INVALID_VALUE", 1, "entry 1: title is \" \", expected a title"),
        ("add", r#"[{"title":"x"},{"title":"a\u001bb"}]"#, 2, "INVALID_VALUE", 1, "entry 1: title is "),
        ("add", r#"[{"title":"x"},{}]"#, 2, "MISSING_ARGUMENT", 1, "entry 1: add needs TITLE: "),
        ("add", r#"[{"title":null}]"#, 2, "MISSING_ARGUMENT", 0, "entry 0: add needs TITLE: "),
        ("add", r#"[{"title":7}]"#, 2, "INVALID_VALUE", 0, "entry 0: title has another JSON type, expected a text"),
        ("add", r#"[{"title":["x"]}]"#, 2, "INVALID_VALUE", 0, "entry 0: title has another JSON type"),
        ("add", r#"[{"title":"x","dueAt":"soon"}]"#, 2, "INVALID_VALUE", 0, "entry 0: --due-at is \"soon\", expected"),
        (
            "add",
            r#"[{"title":"x","dueAt":"2026-04-05","due-at":"2026-04-06"}]"#,
            2,
            "UNEXPECTED_ARGUMENT",
            0,
            "entry 0: --due-at is given twice",
        ),
        (
            "add",
            r#"[{"title":"x","titel":"y"}]"#,
            2,
            "INVALID_BATCH",
            0,
            "entry 0: an entry for add has no field \"titel\"",
        ),
        ("add", r#"[{"title":"x","title":"y"}]"#, 2, "INVALID_BATCH", 0, "entry 0: a field is there twice"),
        ("add", r#"["x"]"#, 2, "INVALID_BATCH", 0, "entry 0: invalid type: string \"x\", expected an object"),
        ("add", r#"[{"title":"x"},[]]"#, 2, "INVALID_BATCH", 1, "entry 1: invalid type: sequence"),
        (
            "complete",
            r#"[{"id":"td_0001"},{"id":"td_0009"}]"#,
            20,
            "NOT_FOUND",
            1,
            "entry 1: no item has the id td_0009",
        ),
        ("complete", r#"[{"id":"td_0001"},{"id":"1"}]"#, 2, "INVALID_VALUE", 1, "entry 1: id is \"1\""),
        (
            "update",
            r#"[{"id":"td_0001","title":"x"},{"id":"td_0002"}]"#,
            2,
            "MISSING_ARGUMENT",
            1,
            "entry 1: update needs a",
        ),
        (
            "update",
            r#"[{"id":"td_0001","description":"x","clearDescription":true}]"#,
            2,
            "UNEXPECTED_ARGUMENT",
            0,
            "entry 0: --description and --clear-description contradict",
        ),
        (
            "update",
            r#"[{"id":"td_0001","clear-due-at":"true"}]"#,
            2,
            "INVALID_VALUE",
            0,
            "entry 0: clear-due-at has another",
        ),
        (
            "update",
            r#"[{"id":"td_0001","no-clear-due-at":true}]"#,
            2,
            "INVALID_BATCH",
            0,
            "entry 0: an entry for update has",
        ),
        ("remove", r#"[{"id":"td_0001"},{"id":"td_0001"}]"#, 20, "NOT_FOUND", 1, "entry 1: no item has the id td_0001"),
        // Consent is the call's, and so is the way it is made.
        (
            "remove",
            r#"[{"id":"td_0001","confirm":true}]"#,
            2,
            "INVALID_BATCH",
            0,
            "entry 0: an entry for remove has no",
        ),
        (
            "complete",
            r#"[{"id":"td_0001","dry-run":false}]"#,
            2,
            "INVALID_BATCH",
            0,
            "entry 0: an entry for complete has",
        ),
        ("complete", r#"[{"id":"td_0001","human":true}]"#, 2, "INVALID_BATCH", 0, "entry 0: an entry for complete has"),
        ("reminder set", r#"[{"id":"td_0001"}]"#, 2, "MISSING_ARGUMENT", 0, "entry 0: reminder set needs --at: "),
        (
            "reminder set",
            r#"[{"id":"td_0001","at":[]}]"#,
            2,
            "MISSING_ARGUMENT",
            0,
            "entry 0: reminder set needs --at: ",
        ),
        (
            "reminder set",
            r#"[{"id":"td_0001","at":[["2026-04-02T00:00:00Z"]]}]"#,
            2,
            "INVALID_VALUE",
            0,
            "entry 0: at has another JSON type, expected a text, or a list of such",
        ),
    ] {
        let mut args: Vec<&str> = command.split(' ').collect();
        args.push("--json-input");
        if command == "remove" {
            args.push("--confirm");
        }
        let error = todo.refused_with(&args, input.as_bytes(), status);
        assert_eq!((&error["code"], &error["index"]), (&json!(code), &json!(index)), "{input}: {error}");
        assert!(error["message"].as_str().unwrap().starts_with(message), "{input}: {error}");
    }
    for input in [json!([{(&long): 1}]), json!([{"title": long}])] {
        let error = todo.refused_with(&["add", "--json-input"], input.to_string().as_bytes(), 2);
        assert!(error.to_string().len() < 600, "what is long is not repeated: {error}");
    }
    let hint = todo.refused_with(&["add", "--json-input"], &br#"[{"titel":"y"}]"#[..], 2);
    assert_eq!(hint["suggestion"], "did you mean \"title\"?");
}

#[test]
fn what_is_no_batch_is_refused() {
    let todo = three();
    for input in [
        "",
        " \n",
        "[{\"",
        "[{\"title\":\"x\"}",
        "null",
        "7",
        "\"x\"",
        "{}",
        "{\"items\":{}}",
        "{\"ok\":false,\"error\":{}}",
    ] {
        let error = todo.refused_with(&["add", "--json-input"], input.as_bytes(), 2);
        assert_eq!((&error["code"], error.get("index")), (&json!("INVALID_BATCH"), None), "{input}: {error}");
    }
    for input in [
        "[{\"title\":\"x\"}] x",
        "[{\"title\":\"x\"}][]",
        "[{\"title\":\"x\"},]",
        "{\"title\":\"x\"}\n{\"title\":\"y\"}",
    ] {
        assert_eq!(
            todo.refused_with(&["add", "--json-input"], input.as_bytes(), 2)["code"],
            "INVALID_BATCH",
            "{input}"
        );
    }
    let deep = format!("[{{\"title\":{}", "[".repeat(100_000));
    for input in [deep.as_bytes(), b"[{\"title\":\"\xff\"}]"] {
        assert_eq!(todo.refused_with(&["add", "--json-input"], input, 2)["code"], "INVALID_BATCH");
    }
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let error = todo.refused_with(&["add", "--json-input"], Broken, 2);
    assert_eq!(error["message"], "standard input is no batch: gone");
}

#[test]
fn a_batch_is_bounded() {
    let todo = Todo::new();
    let entries = |count: usize| Value::Array(vec![json!({"title": "x"}); count]).to_string();
    let error = todo.refused_with(&["add", "--json-input"], entries(ENTRIES_MAX + 1).as_bytes(), 2);
    assert_eq!(error["code"], "BATCH_TOO_LARGE");
    assert_eq!(error["message"], "the batch has 1001 entries, at most 1000 are taken");
    assert_eq!(todo.batch(&["add", "--json-input"], &entries(ENTRIES_MAX))["count"], ENTRIES_MAX);
    let padded = |bytes: usize| format!("{}[]", " ".repeat(bytes - 2));
    let error = todo.refused_with(&["add", "--json-input"], padded(INPUT_BYTES_MAX + 1).as_bytes(), 2);
    assert_eq!(error["message"], "the batch has more than 1048576 bytes");
    assert_eq!(todo.batch(&["add", "--json-input"], &padded(INPUT_BYTES_MAX))["count"], 0);
    // Whoever writes without end does not keep the program busy.
    assert_eq!(todo.refused_with(&["add", "--json-input"], io::repeat(b' '), 2)["code"], "BATCH_TOO_LARGE");
}

#[test]
fn a_batch_that_overfills_the_list_adds_nothing() {
    let items: Vec<String> = (1..100_000).map(|number| item(&format!("td_{number:04}"), "x")).collect();
    let todo = Todo::with_state(state("td_100000", &items));
    let two = br#"[{"title":"y"},{"title":"z"}]"#;
    let error = todo.refused_with(&["add", "--json-input"], &two[..], 30);
    assert_eq!((&error["code"], &error["index"]), (&json!("LIMIT_REACHED"), &json!(1)));
    assert_eq!(todo.batch(&["add", "--json-input"], r#"[{"title":"y"}]"#)["count"], 1);
}

#[test]
fn an_empty_batch_and_one_that_changes_nothing_are_successes() {
    let todo = three();
    let before = todo.state();
    let empty = todo.call_with(&["complete", "--json-input"], &b"[]"[..]);
    assert_eq!((empty.exit_status, empty.stderr.as_str()), (0, ""));
    let answer = one_line(&empty.stdout);
    assert_eq!(answer, json!({"ok": true, "command": "complete", "changed": false, "count": 0, "items": []}));
    let some = todo.call_with(&["complete", "--json-input"], &br#"[{"id":"td_0002"},{"id":"td_0002"}]"#[..]);
    assert_eq!(some.stderr, "note: 2 of 2 entries changed nothing\n");
    assert_eq!(one_line(&some.stdout)["changed"], false);
    assert_eq!(todo.state(), before);
    let mixed = todo.call_with(&["complete", "--json-input"], &br#"[{"id":"td_0002"},{"id":"td_0001"}]"#[..]);
    assert_eq!(mixed.stderr, "note: 1 of 2 entries changed nothing\n");
    assert_eq!(one_line(&mixed.stdout)["changed"], true);
}

#[test]
fn what_one_command_shows_another_takes() {
    let todo = three();
    let listing = |args: &[&str]| todo.call(args).stdout;
    let done = todo.batch(&["reopen", "--json-input"], &listing(&["list", "--status", "completed"]));
    assert_eq!(ids(&done), ["td_0002"]);
    let same = todo.batch(&["update", "--json-input"], &listing(&["list"]));
    assert_eq!((&same["count"], &same["changed"]), (&json!(3), &json!(false)), "an item's own values change nothing");
    let delivered = todo.batch(&["reminder", "clear", "--json-input"], &listing(&["reminder", "list", "--limit", "1"]));
    assert_eq!(delivered["items"][0]["reminders"], json!(["2026-04-03T00:00:00.000Z"]), "only the one that was shown");
    // Rows alone, as other tools cut them out.
    let rows: Value = serde_json::from_str(&listing(&["due", "--before", "2026-05-01T00:00:00Z"])).unwrap();
    assert_eq!(ids(&todo.batch(&["complete", "--json-input"], &rows["items"].to_string())), ["td_0003", "td_0001"]);
    let copy = Todo::new();
    let added = copy.batch(&["add", "--json-input"], &listing(&["list"]));
    assert_eq!(ids(&added), ["td_0001", "td_0002", "td_0003"]);
    let first = &added["items"][0];
    assert_eq!((&first["title"], &first["dueAt"]), (&json!("a"), &json!("2026-04-05")));
    assert_eq!((&first["status"], &first["reminders"]), (&json!("open"), &json!([])), "a copy begins anew");
    let removed = todo.batch(&["remove", "--json-input", "--confirm"], &listing(&["list"]));
    assert_eq!(removed["count"], 3);
    assert_eq!(todo.ok(&["list"])["total"], 0);
}

#[test]
fn a_batch_of_removals_needs_the_confirmation_of_the_call() {
    let todo = three();
    let input = br#"[{"id":"td_0001"}]"#;
    for args in [&["remove", "--json-input"][..], &["remove", "--json-input", "--no-confirm"]] {
        let error = todo.refused_with(args, &input[..], 30);
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("CONFIRMATION_REQUIRED"), &json!("remove requires --confirm"))
        );
    }
}

#[test]
fn arguments_that_an_entry_would_give_do_not_stand_beside_a_batch() {
    let todo = three();
    for (args, message) in [
        (&["add", "x", "--json-input"][..], "--json-input and TITLE contradict each other"),
        (&["add", "--due-at", "2026-04-05", "--json-input"], "--json-input and --due-at contradict each other"),
        (&["complete", "--json-input", "td_0001"], "--json-input and ID contradict each other"),
        (&["update", "--json-input", "--no-clear-due-at"], "--json-input and --clear-due-at contradict each other"),
        (&["add", "--json-input", "--no-json-input"], "--json-input and --no-json-input contradict each other"),
    ] {
        assert_eq!(todo.refused(args, 2), ("UNEXPECTED_ARGUMENT".to_owned(), message.to_owned()), "{args:?}");
    }
    // Without a batch the same parameters are needed again.
    assert_eq!(todo.refused(&["add", "--no-json-input"], 2).0, "MISSING_ARGUMENT");
    assert_eq!(todo.ok(&["add", "x", "--no-json-input"])["count"], 1);
}
