//! A name is no authority: state belongs to where a package comes from, and another package of the same name does not read or write
//! it without the operator's word.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

mod common;

use common::{Home, copy, repository};
use serde_json::json;
use std::path::Path;

/// The probe, calling itself the to-do application.
fn impostor(home: &Home) -> String {
    let folder = home.path().join("evil");
    copy(&repository().join("tests/packages/probe"), &folder);
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    std::fs::write(folder.join("APP.md"), manifest.replacen("slug: probe", "slug: todo", 1)).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn another_package_of_the_name_reads_and_writes_nothing() {
    let home = Home::new();
    home.json(&["install", "packages/todo"]);
    home.json(&["run", "todo", "add", "my private thing"]);
    let evil = impostor(&home);
    for line in [
        &["run", &evil, "read-file", "state/todos.json"][..],
        &["run", "--yes", &evil, "remove", "state/todos.json"],
        &["plan", &evil, "read-file", "state/todos.json"],
        &["replay", &evil, "last"],
        &["run", "--dry-run", &evil, "read-file", "state/todos.json"],
    ] {
        let (status, error) = home.error(line);
        assert_eq!((status, &error["code"]), (30, &json!("INSTANCE_FOREIGN")), "{line:?}: {error}");
        assert!(!error.to_string().contains("private"), "{line:?}: {error}");
    }
    assert_eq!(home.titles(), ["my private thing"]);
    let last = home.json(&["ledger", "list", "--limit", "9", "todo"])["items"].clone();
    let refused = last.as_array().unwrap().iter().filter(|entry| entry["error"] == "INSTANCE_FOREIGN").count();
    assert_eq!(refused, 4, "{last}");
    // An instance of its own is free.
    home.json(&["run", "--instance", "mine", &evil, "write-text", "state/x", "1"]);
}

#[test]
fn the_operators_word_lets_another_package_in_and_is_written_down() {
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "shared"]);
    let evil = impostor(&home);
    let read = home.json(&["run", "--adopt", &evil, "read-file", "state/todos.json"]);
    assert!(read.to_string().contains("shared"));
    home.json(&["run", &evil, "list-dir", "state"]);
    assert_eq!(home.titles(), ["shared"], "who had it before has it still");
    let adopted = home.json(&["ledger", "show", "todo", "@3"])["record"]["owner"].clone();
    assert_eq!(adopted["origin"], json!(format!("path:{evil}")), "{adopted}");
}

/// The same package from elsewhere is the same package: packed, installed, moved; and so is a new version in the same place.
#[test]
fn a_package_keeps_its_state_wherever_it_goes() {
    let home = Home::new();
    let here = home.path().join("here");
    copy(&repository().join("packages/todo"), &here);
    let word = |path: &Path| path.to_str().unwrap().to_owned();
    home.json(&["run", &word(&here), "add", "one"]);
    let packed = home.path().join("todo.tar");
    home.json(&["pack", "--output", &word(&packed), &word(&here)]);
    home.json(&["run", &word(&packed), "add", "two"]);
    home.json(&["install", &word(&here)]);
    home.json(&["run", "installed:todo", "add", "three"]);
    let there = home.path().join("there");
    std::fs::rename(&here, &there).unwrap();
    home.json(&["run", &word(&there), "add", "four"]);
    // A new version in a place that is known.
    let manifest = std::fs::read_to_string(there.join("APP.md")).unwrap();
    std::fs::write(there.join("APP.md"), manifest + "\nMore.\n").unwrap();
    home.json(&["run", &word(&there), "add", "five"]);
    assert_eq!(home.titles().len(), 5);
    // The new version in a place that is not.
    let elsewhere = home.path().join("elsewhere");
    copy(&there, &elsewhere);
    home.json(&["run", &word(&elsewhere), "list"]);
    std::fs::write(elsewhere.join("APP.md"), std::fs::read_to_string(there.join("APP.md")).unwrap() + "Still more.\n")
        .unwrap();
    let other = home.path().join("other");
    copy(&elsewhere, &other);
    assert_eq!(home.error(&["run", &word(&other), "list"]).1["code"], "INSTANCE_FOREIGN");
}

/// A package that is not installed gets no limit beyond the default, whatever it asks for.
#[test]
fn a_local_package_does_not_set_its_own_ceilings() {
    let home = Home::new();
    let folder = home.path().join("package");
    copy(&repository().join("tests/packages/probe"), &folder);
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    let asks = "    limits:\n      memory_bytes: 4GiB\n      wall_time_ms: 5min\n      stdout_bytes: 5\n    state:\n";
    std::fs::write(folder.join("APP.md"), manifest.replacen("    state:\n", asks, 1)).unwrap();
    let folder = folder.to_str().unwrap();
    let limits = |home: &Home| home.json(&["ledger", "show", "probe"])["record"]["invocation"]["limits"].clone();
    home.run(&["run", folder, "return-ok"]);
    let local = limits(&home);
    assert_eq!(local["memory_bytes"], 256 << 20, "{local}");
    assert_eq!((&local["wall_time_ms"], &local["stdout_bytes"]), (&json!(10_000), &json!(5)), "less may be asked for");
    home.run(&["run", "--limit", "memory_bytes=1GiB", folder, "return-ok"]);
    assert_eq!(limits(&home)["memory_bytes"], 1 << 30, "the operator may");
    home.json(&["install", "--yes", folder]);
    home.run(&["run", "installed:probe", "return-ok"]);
    assert_eq!(limits(&home)["memory_bytes"], 4_u64 << 30, "what was granted when it was installed is granted");
}

/// A later version whose volume lies in one that the instance has would see its own files as edits of the other, for ever.
#[test]
fn a_volume_within_a_volume_is_refused() {
    let home = Home::new();
    let folder = home.path().join("package");
    copy(&repository().join("tests/packages/probe"), &folder);
    let word = folder.to_str().unwrap();
    home.json(&["run", word, "write-text", "state/a", "1"]);
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    std::fs::write(folder.join("APP.md"), manifest.replacen("      - state\n", "      - state/inner\n", 1)).unwrap();
    let (status, error) = home.error(&["run", word, "return-ok"]);
    assert_eq!((status, &error["code"]), (2, &json!("PACKAGE_INVALID")), "{error}");
    assert!(error["message"].as_str().unwrap().contains("overlaps"), "{error}");
}
