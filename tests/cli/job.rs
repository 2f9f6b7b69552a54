//! The main job: a package in, an answer out, and the state kept from run to run.

use crate::support::{FIXED, Machine, artifacts, package, probe, todo};
use serde_json::{Value, json};
use std::path::Path;

fn titles(machine: &Machine, options: &[&str]) -> Vec<String> {
    let listed = machine.guest(&[options, &[todo().as_str(), "list", "--status", "all"]].concat()).answer();
    let items = listed["items"].as_array().expect("items").clone();
    items.iter().map(|item| item["title"].as_str().expect("a title").to_owned()).collect()
}

#[test]
fn an_item_that_was_added_is_there_in_the_next_run() {
    let machine = Machine::new();
    let run = |arguments: &[&str]| machine.guest(&[&FIXED[..], &[todo().as_str()], arguments].concat());
    let added = run(&["add", "Write docs"]).answer();
    assert_eq!(
        added,
        json!({
            "ok": true, "command": "add", "changed": true, "count": 1,
            "items": [{
                "id": "td_0001", "title": "Write docs", "description": "", "status": "open", "dueAt": null,
                "createdAt": "2026-04-01T09:00:00.000Z", "updatedAt": "2026-04-01T09:00:00.000Z", "completedAt": null,
                "reminders": [],
            }],
        })
    );
    let listed = run(&["list"]).answer();
    assert_eq!((&listed["count"], &listed["items"]), (&json!(1), &added["items"]));
    assert_eq!(run(&["get", "td_0001"]).answer()["items"], added["items"]);
    assert_eq!(run(&["complete", "td_0001"]).answer()["items"][0]["status"], "completed");
    assert_eq!(run(&["list", "--status", "open"]).answer()["items"], json!([]));
}

#[test]
fn a_guests_own_failure_comes_through_unchanged() {
    let machine = Machine::new();
    let failure = machine.todo(&["get", "td_9999"]).guest_failure(20);
    assert_eq!((&failure["ok"], &failure["error"]["code"]), (&json!(false), &json!("NOT_FOUND")));
    machine.todo(&["frobnicate"]).fault("ARGUMENT_INVALID", 2);
    let failure = machine.guest(&["--unchecked", &todo(), "frobnicate"]).guest_failure(2);
    assert_eq!(failure["error"]["code"], "UNKNOWN_COMMAND");
    for status in ["1", "2", "19", "40", "46", "50", "127", "128", "137", "255"] {
        let failure = machine.probe(&[], &["json-and-exit", status]).guest_failure(status.parse().unwrap());
        assert_eq!(failure["error"]["code"], "ASKED_FOR");
    }
    // One without a word comes with the host's.
    for (arguments, status) in [(&["exit", "9"][..], 9), (&["exit-result", "err"], 1), (&["return-err"], 1)] {
        machine.probe(&[], arguments).fault("GUEST_FAILED", status);
    }
}

#[test]
fn standard_error_comes_through_unchanged() {
    let ran = Machine::new().probe(&[], &["stderr", "10000"]);
    assert_eq!((ran.status, ran.stderr), (0, "x".repeat(10_000)));
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["written"], 10_000);
}

#[test]
fn a_removal_is_stopped_before_the_guest_starts_unless_it_is_confirmed() {
    let machine = Machine::new();
    machine.todo(&["add", "keep me"]).answer();
    let fault = machine.todo(&["remove", "td_0001", "--confirm"]).fault("CONFIRMATION_REQUIRED", 30);
    assert!(fault.message.contains("remove") && fault.suggestion.contains("--yes"), "{fault:?}");
    assert_eq!(titles(&machine, &[]), ["keep me"]);
    // Ways to say the same that a program may understand and a host may miss.
    for arguments in [
        &["--yes", "remove", "td_0001", "--confirm"][..],
        &["--human", "remove", "td_0001", "--confirm"],
        &["--fields", "id", "remove", "td_0001", "--confirm"],
        &["--quiet", "remove", "--confirm", "td_0001"],
        &["--", "remove", "td_0001", "--confirm"],
        &["remove", "--", "td_0001"],
        &["REMOVE", "td_0001", "--confirm"],
    ] {
        assert_ne!(machine.todo(arguments).status, 0, "{arguments:?}");
        assert_eq!(titles(&machine, &[]), ["keep me"], "{arguments:?}");
    }
    // Who says no to the application is not overruled; who says nothing to it is not asked twice.
    let refused = machine.guest(&["--yes", &todo(), "remove", "td_0001", "--no-confirm"]).guest_failure(30);
    assert_eq!(refused["error"]["code"], "CONFIRMATION_REQUIRED");
    assert_eq!(titles(&machine, &[]), ["keep me"]);
    let removed = machine.guest(&["--yes", &todo(), "remove", "td_0001"]).answer();
    assert_eq!(removed["items"][0]["title"], "keep me");
    assert_eq!(titles(&machine, &[]), [""; 0]);
    assert_eq!(machine.todo(&["add", "next"]).answer()["items"][0]["id"], "td_0002", "ids are given once");
}

#[test]
fn nothing_of_a_run_that_fails_is_kept() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/keep", "kept"]).answer();
    let before = machine.probe_state();
    machine.probe(&[], &["write-then-exit", "state/new", "3"]).guest_failure(3);
    machine.probe(&[], &["write-then-trap", "state/new"]).fault("GUEST_TRAPPED", 45);
    assert_eq!(machine.probe_state(), before);
    assert_eq!(machine.probe(&[], &["read-file", "state/new"]).guest_failure(1)["error"]["errno"], "noent");
    assert_eq!(machine.probe(&[], &["read-file", "state/keep"]).answer()["content"], "kept");
    machine.probe(&[], &["write-then-exit", "state/new", "0"]).answer();
    assert_ne!(machine.probe_state(), before);
    assert_eq!(machine.probe(&[], &["read-file", "state/new"]).answer()["content"], "written before the exit");
}

#[test]
fn instances_are_separate() {
    let machine = Machine::new();
    machine.guest(&["--instance", "work", &todo(), "add", "at work"]).answer();
    machine.guest(&["--instance", "home", &todo(), "add", "at home"]).answer();
    assert_eq!(titles(&machine, &["--instance", "work"]), ["at work"]);
    assert_eq!(titles(&machine, &["--instance", "home"]), ["at home"]);
    assert_eq!(titles(&machine, &[]), [""; 0]);
    assert_eq!(titles(&machine, &["--instance", "default"]), [""; 0]);
}

#[test]
fn packages_are_separate() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/todos.json", "not a list"]).answer();
    machine.todo(&["add", "mine"]).answer();
    assert_eq!(machine.probe(&[], &["read-file", "state/todos.json"]).answer()["content"], "not a list");
}

/// Where the store of the probe's default instance lies below a home.
fn store(home: &Path) -> bool {
    home.join("instances/probe/default/hutch.db").is_file()
}

#[test]
fn the_home_is_the_one_that_is_named_first() {
    let machine = Machine::new();
    let (flag, variable, data) = (machine.path("flag"), machine.path("variable"), machine.path("data"));
    let platform = machine.path("person/.local/share/hutch");
    [&flag, &variable, &data.join("hutch")].into_iter().for_each(|home| artifacts::keep_key(home));
    let run = |options: &[&str], environment: &[(&str, &Path)]| {
        let mut command = machine.hutch([&["run"], options, &[&probe(), "return-ok"]].concat());
        assert!(command.envs(environment.iter().copied()).output().unwrap().status.success());
    };
    run(&[], &[]);
    assert!(store(&platform));
    run(&[], &[("XDG_DATA_HOME", &data)]);
    assert!(store(&data.join("hutch")));
    assert!(!store(&variable));
    run(&[], &[("XDG_DATA_HOME", &data), ("HUTCH_HOME", &variable)]);
    assert!(store(&variable));
    assert!(!store(&flag));
    let flag_text = flag.display().to_string();
    run(&["--home", &flag_text], &[("XDG_DATA_HOME", &data), ("HUTCH_HOME", &variable)]);
    assert!(store(&flag));
}

#[test]
fn a_home_in_an_empty_variable_is_none_and_a_relative_one_is_below_the_current_folder() {
    let machine = Machine::new();
    let empty = machine.hutch(["run", &probe(), "return-ok"]).env("HUTCH_HOME", "").output().unwrap();
    assert!(empty.status.success() && store(&machine.path("person/.local/share/hutch")));
    artifacts::keep_key(&machine.path("here"));
    machine.guest(&["--home", "here", &probe(), "return-ok"]).answer();
    assert!(store(&machine.path("here")));
}

#[cfg(unix)]
#[test]
fn a_home_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    artifacts::keep_key(&machine.path("here"));
    machine.guest(&["--home", "here", &probe(), "return-ok"]).answer();
    let instance = machine.path("here/instances/probe/default");
    assert_eq!(std::fs::metadata(instance).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn a_run_leaves_nothing_outside_the_home_and_the_cache() {
    let machine = Machine::new();
    let package = package::copy(&machine, "package");
    let before = listing(&package);
    let package = package.display().to_string();
    artifacts::keep_key(&machine.path("here"));
    machine.guest(&["--home", "here", &package, "write-text", "state/a", "x"]).answer();
    assert_eq!(listing(Path::new(&package)), before, "the package was changed");
    let mut left: Vec<_> =
        std::fs::read_dir(machine.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["here", "package", "person"]);
    let person: Vec<_> =
        std::fs::read_dir(machine.path("person")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(person == [".local"] && machine.is_untouched(), "{person:?}");
}

fn listing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                waiting.push(entry.path());
            }
            found.push(format!("{} {}", entry.path().display(), entry.metadata().unwrap().len()));
        }
    }
    found.sort();
    found
}

#[test]
fn leading_arguments_of_the_entry_command_come_first() {
    let machine = Machine::new();
    let package = package::with_manifest(
        &machine,
        "package",
        "command: wasm:app.wasm",
        "command: \"wasm:app.wasm args first 'and second'\"",
    );
    let answer = machine.guest(&[&package.display().to_string(), "third", "--", "--help"]).answer();
    assert_eq!(answer["args"], json!(["first", "and second", "third", "--", "--help"]));
}

#[test]
fn files_that_a_package_ships_in_a_volume_are_its_first_content() {
    let machine = Machine::new();
    let package = package::copy(&machine, "package");
    machine.write("package/state/folder/shipped", "from the package");
    let run = |arguments: &[&str]| machine.guest(&[&[package.to_str().unwrap()], arguments].concat());
    assert_eq!(run(&["read-file", "state/folder/shipped"]).answer()["content"], "from the package");
    run(&["write-text", "state/folder/shipped", "by the guest"]).answer();
    // Once there is a state, what the package ships is not looked at again.
    machine.write("package/state/folder/shipped", "a newer one");
    assert_eq!(run(&["read-file", "state/folder/shipped"]).answer()["content"], "by the guest");
    assert_eq!(std::fs::read_to_string(package.join("state/folder/shipped")).unwrap(), "a newer one");
}

#[test]
fn ten_thousand_items_are_listed_and_added_to() {
    let machine = Machine::new();
    let item = |n: usize| {
        json!({
            "id": format!("td_{n:04}"), "title": format!("item {n} — ünïcödé 日本 🎉"), "description": "", "dueAt": null,
            "createdAt": "2026-04-01T00:00:00.000Z", "updatedAt": "2026-04-01T00:00:00.000Z", "completedAt": null, "reminders": [],
        })
    };
    let items: Vec<Value> = (1..=10_000).map(item).collect();
    let package = machine.path("package");
    let copied = std::process::Command::new("cp").args(["-R", &todo()]).arg(&package).status().unwrap();
    assert!(copied.success());
    machine.write("package/state/todos.json", json!({"version": 1, "nextId": "td_10001", "items": items}).to_string());
    let run = |arguments: &[&str]| machine.guest(&[&[package.to_str().unwrap()], arguments].concat());
    let listed = run(&["list", "--limit", "10000"]).answer();
    assert_eq!((&listed["count"], &listed["total"]), (&json!(10_000), &json!(10_000)));
    assert_eq!(
        (&listed["items"][9_999]["id"], &listed["items"][9_999]["title"]),
        (&items[9_999]["id"], &items[9_999]["title"])
    );
    assert_eq!(run(&["add", "one more"]).answer()["items"][0]["id"], "td_10001");
}

#[test]
fn a_state_file_that_cannot_be_read_is_reported_and_left_as_it_is() {
    let machine = Machine::new();
    let package = machine.path("package");
    std::process::Command::new("cp").args(["-R", &todo()]).arg(&package).status().unwrap();
    machine.write("package/state/todos.json", "{\"version\":1,\"nextId\":");
    let run = |options: &[&str], arguments: &[&str]| {
        machine.guest(&[options, &[package.to_str().unwrap()], arguments].concat())
    };
    let digest = || run(&["--envelope"], &["--version"]).envelope().volumes["state"].after.clone();
    let before = digest();
    for arguments in [&["list"][..], &["add", "x"], &["get", "td_0001"], &["due", "--before", "2026-04-01T00:00:00Z"]] {
        assert_eq!(run(&[], arguments).guest_failure(1)["error"]["code"], "STATE_CORRUPT");
    }
    assert_eq!(digest(), before);
}
