//! An object of a tool as the words of a line.

use super::*;
use crate::contract::Contract;
use serde_json::json;

fn contract() -> Contract {
    let text = include_str!("../../../../packages/todo/schemas/commands.json");
    let (file, _) = crate::contract::parse(text, "schemas/commands.json");
    file.expect("a contract").contract().clone()
}

fn words(command: &str, given: Value) -> Result<Vec<String>, Vec<(ViolationKind, String)>> {
    let contract = contract();
    let given = given.as_object().cloned().unwrap_or_default();
    let words = contract.command(command).expect("a command").words(&given);
    words.map_err(|all| all.into_iter().map(|one| (one.kind, one.parameter.unwrap_or_default())).collect())
}

#[test]
fn what_only_a_line_needs_is_no_field() {
    let schema = contract().command("add").expect("a command").input_schema();
    let names: Vec<&str> = schema["properties"].as_object().expect("fields").keys().map(String::as_str).collect();
    assert_eq!(names, ["description", "dry-run", "due-at", "title"]);
}

#[test]
fn fields_become_the_words_of_a_line() {
    let cases = [
        ("add", json!({"title": "Buy milk"}), &["add", "Buy milk"][..]),
        ("add", json!({"title": "-x", "description": "--y"}), &["add", "--description=--y", "--", "-x"]),
        ("add", json!({"title": "a", "description": null, "dry-run": true}), &["add", "--dry-run", "a"]),
        ("add", json!({"title": "a", "dry-run": false}), &["add", "a"]),
        ("list", json!({"limit": 3, "status": "all"}), &["list", "--status=all", "--limit=3"]),
        ("list", json!({"limit": 3.0}), &["list", "--limit=3"]),
        ("list", json!({"limit": 1e2, "offset": -0.0}), &["list", "--limit=100", "--offset=0"]),
        ("list", json!({"limit": "3"}), &["list", "--limit=3"]),
        ("list", json!({"limit": 2.5}), &["list", "--limit=2.5"]),
        ("list", json!({"limit": -9223372036854775808.0}), &["list", "--limit=-9223372036854775808"]),
        ("list", json!({"limit": u64::MAX}), &["list", "--limit=18446744073709551615"]),
        ("list", json!({"limit": "100000000000000000000001"}), &["list", "--limit=100000000000000000000001"]),
        (
            "reminder set",
            json!({"id": "td_0001", "at": ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]}),
            &["reminder", "set", "--at=2026-01-01T00:00:00Z", "--at=2026-01-02T00:00:00Z", "td_0001"],
        ),
        ("reminder set", json!({"id": 7, "at": "x"}), &["reminder", "set", "--at=x", "7"]),
        ("list", json!({}), &["list"]),
    ];
    for (command, given, expected) in cases {
        let found = words(command, given.clone()).expect("words");
        assert_eq!(found, expected, "{command} {given}");
        // What is read of them is what was given, if it keeps the contract at all.
        let contract = contract();
        assert_eq!(contract.read_arguments(&found).command.map(|one| one.name.as_str()), Some(command));
    }
}

#[test]
fn what_is_no_field_or_no_word_is_refused_by_its_name() {
    let cases = [
        ("add", json!({"title": "a", "json-input": true}), vec![(ViolationKind::UnknownFlag, "json-input")]),
        ("add", json!({"title": "a", "yes": true}), vec![(ViolationKind::UnknownFlag, "yes")]),
        ("add", json!({"title": {"a": 1}}), vec![(ViolationKind::WrongType, "title")]),
        ("add", json!({"title": ["a"]}), vec![(ViolationKind::WrongType, "title")]),
        ("add", json!({"title": "a", "dry-run": "yes"}), vec![(ViolationKind::WrongType, "dry-run")]),
        ("reminder set", json!({"id": "a", "at": [["x"]]}), vec![(ViolationKind::WrongType, "at")]),
        ("list", json!({"limit": 18446744073709551616.0}), vec![(ViolationKind::WrongType, "limit")]),
        ("list", json!({"limit": -1e300}), vec![(ViolationKind::WrongType, "limit")]),
    ];
    for (command, given, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|(kind, name)| (kind, name.to_owned())).collect();
        assert_eq!(words(command, given.clone()), Err(expected), "{given}");
    }
}
