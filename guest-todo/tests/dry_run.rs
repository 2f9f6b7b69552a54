//! `--dry-run`: the whole call but the writing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use guest_todo::TODO;
use hutch_guest::contract::Effect;
use serde_json::{Value, json};
use support::{Todo, one_line};

/// Every file beside the state file, and what is in each.
fn files(todo: &Todo) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(todo.directory.path()).unwrap();
    files.map(|file| file.unwrap().path()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// One call of each command that changes the list.
const CHANGES: [&[&str]; 7] = [
    &["add", "b"],
    &["update", "td_0001", "--title", "x"],
    &["complete", "td_0001"],
    &["reopen", "td_0002"],
    &["remove", "td_0001", "--confirm"],
    &["reminder", "set", "td_0001", "--at", "2026-05-01T00:00:00Z"],
    &["reminder", "clear", "td_0002"],
];

fn two() -> Todo {
    let todo = Todo::new();
    todo.ok(&["add", "a"]);
    todo.ok(&["add", "done"]);
    todo.ok(&["complete", "td_0002"]);
    todo.ok(&["reminder", "set", "td_0002", "--at", "2026-05-01T00:00:00Z"]);
    todo
}

#[test]
fn the_answer_is_the_one_to_come_and_no_file_changes() {
    let changing: Vec<&str> = TODO
        .description
        .commands
        .iter()
        .filter(|command| command.effect != Effect::Read)
        .map(|command| command.name)
        .collect();
    let tried: Vec<String> = CHANGES
        .iter()
        .map(|call| if call[0] == "reminder" { call[..2].join(" ") } else { call[0].to_owned() })
        .collect();
    assert_eq!(tried, changing, "every command is tried");
    for call in CHANGES {
        let todo = two();
        let before = files(&todo);
        let tried = todo.ok(&[call, &["--dry-run"]].concat());
        assert_eq!(files(&todo), before, "{call:?}");
        assert_eq!((&tried["dryRun"], &tried["changed"]), (&json!(true), &json!(true)), "{call:?}");
        let done = todo.ok(&[call, &["--no-dry-run"]].concat());
        assert_eq!(done.get("dryRun"), None, "{call:?}");
        assert_ne!(files(&todo), before, "{call:?} does change the list");
        let Value::Object(mut tried) = tried else { unreachable!() };
        tried.remove("dryRun");
        assert_eq!(Value::Object(tried), done, "{call:?}");
    }
}

#[test]
fn a_state_that_is_not_there_is_not_made() {
    let todo = Todo::new();
    assert_eq!(todo.ok(&["add", "a", "--dry-run"])["items"][0]["id"], "td_0001");
    assert!(files(&todo).is_empty());
}

#[test]
fn a_call_that_would_be_refused_is_refused() {
    let todo = two();
    for (args, status, code) in [
        (&["add", " ", "--dry-run"][..], 2, "INVALID_VALUE"),
        (&["add", "--dry-run"], 2, "MISSING_ARGUMENT"),
        (&["complete", "td_0009", "--dry-run"], 20, "NOT_FOUND"),
        (&["remove", "td_0001", "--dry-run"], 30, "CONFIRMATION_REQUIRED"),
        (&["add", "b", "--dry-run", "--no-dry-run"], 2, "UNEXPECTED_ARGUMENT"),
    ] {
        assert_eq!(todo.refused(args, status).0, code, "{args:?}");
    }
    let broken = Todo::with_state("{");
    assert_eq!(broken.refused(&["add", "b", "--dry-run"], 1).0, "STATE_CORRUPT");
}

#[test]
fn a_batch_can_be_tried() {
    let todo = two();
    let before = files(&todo);
    let answer = todo.batch(&["add", "--json-input", "--dry-run"], r#"[{"title":"x"},{"title":"y"}]"#);
    assert_eq!((&answer["dryRun"], &answer["count"]), (&json!(true), &json!(2)));
    assert_eq!((&answer["items"][0]["id"], &answer["items"][1]["id"]), (&json!("td_0003"), &json!("td_0004")));
    assert_eq!(files(&todo), before);
}

#[test]
fn people_are_told_that_nothing_was_written() {
    let todo = two();
    let text = todo.call(&["complete", "td_0001", "--dry-run", "--human"]).stdout;
    assert!(text.ends_with("\ndry run: nothing was written\n"), "{text}");
    // Where nothing would change, that is still said.
    let reply = todo.call(&["reopen", "td_0001", "--dry-run"]);
    assert_eq!(reply.stderr, "note: td_0001 is open already: nothing changed\n");
    assert_eq!(one_line(&reply.stdout)["changed"], false);
}
