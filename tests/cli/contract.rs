//! Exit status 0 comes with exactly one JSON document, and a command that reads changes nothing, or nothing is kept.

use crate::support::{Machine, package, todo};
use serde_json::json;

#[test]
fn other_output_is_a_violation_and_is_shown() {
    let machine = Machine::new();
    for (command, stdout) in [
        ("not-json", "This is prose, not JSON.\n"),
        (
            "two-json",
            "{\"ok\":true,\"command\":\"two-json\",\"document\":1}\n{\"ok\":true,\"command\":\"two-json\",\"document\":2}\n",
        ),
        ("empty", ""),
    ] {
        let fault = machine.probe(&[], &[command]).fault("CONTRACT_VIOLATION", 46);
        assert_eq!(fault.details["stdout"], stdout, "{command}");
        let envelope = machine.probe_envelope(&[], &[command]);
        assert_eq!((envelope.code(), envelope.stdout.as_str()), (Some("CONTRACT_VIOLATION"), stdout));
        assert_eq!((envelope.ending.as_str(), envelope.exit_status), ("exited", Some(0)));
        envelope.assert_dropped();
    }
}

#[test]
fn an_answer_for_people_is_what_the_package_says_and_else_a_violation() {
    let machine = Machine::new();
    let add = |options: &[&str]| machine.guest(&[options, &[todo().as_str(), "--human", "add", "for people"]].concat());
    let count = || machine.todo(&["list"]).answer()["count"].clone();
    // Asked for a document, the host takes nothing else, and keeps nothing.
    assert_eq!(add(&["--contract", "json"]).status, 46);
    assert_eq!(count(), 0);
    for (options, kept) in [(&["--contract", "any"][..], 1), (&[], 2)] {
        let told = add(options);
        assert_eq!((told.status, told.stderr.as_str()), (0, ""));
        assert!(told.stdout.contains("for people") && !told.stdout.starts_with('{'), "{told:?}");
        assert_eq!(count(), kept);
    }
}

#[test]
fn a_document_of_any_type_will_do() {
    let machine = Machine::new();
    for input in ["null", "1", "\"text\"", " [1, 2]\n\n", "{}"] {
        let ran = machine.probe(&["--stdin-text", input], &["stdin-echo"]);
        assert_eq!((ran.status, ran.stdout.as_str()), (0, input));
    }
    for input in ["{} {}", "{\"a\":1,}", "NaN", "'a'", "\u{feff}{}", "{} // x"] {
        machine.probe(&["--stdin-text", input], &["stdin-echo"]).fault("CONTRACT_VIOLATION", 46);
    }
}

/// A command whose effect is `read` leaves state and granted folders as they were, or nothing of its run is kept.
#[test]
fn what_says_that_it_only_reads_is_held_to_that() {
    let machine = Machine::new();
    let liar = package::liar(&machine, "liar");
    let (folder, liar) = (machine.path("folder"), liar.as_str());
    std::fs::create_dir(&folder).unwrap();
    let mount = format!("{}:mnt:rw", folder.display());
    machine.guest(&["--unchecked", liar, "write-text", "state/kept", "text"]).answer();
    for (options, words, paths) in [
        (&[][..], &["write-text", "state/a", "x"][..], "\"state/a\""),
        (&["--contract", "any"], &["append-text", "state/kept", "x"], "\"state/kept\""),
        (&["--mount", &mount], &["write-text", "mnt/a", "x"], "\"mnt/a\""),
        (&[], &["write-files", "5"], "\"state/file-000000\", \"state/file-000001\", \"state/file-000002\" and 2 more"),
    ] {
        let says = format!("its command {:?} says that it only reads, and changed {paths}", words[0]);
        for verb in ["plan", "run"] {
            let fault = machine.run([&[verb], options, &[liar], words].concat()).fault("CONTRACT_VIOLATION", 46);
            assert_eq!(fault.message, format!("the guest exited with 0, but {says}"), "{verb}");
            assert!(fault.suggestion.contains("--unchecked"), "{fault:?}");
        }
        let envelope = machine.guest(&[&["--envelope"], options, &[liar], words].concat()).envelope();
        assert_eq!((envelope.code(), envelope.exit_status), (Some("CONTRACT_VIOLATION"), Some(0)));
        envelope.assert_dropped();
    }
    assert!(std::fs::read_dir(&folder).unwrap().next().is_none(), "it is written in the folder");
    let last = machine.run(["ledger", "list", liar]).result("ledger list")["items"][0].take();
    assert_eq!((&last["kept"], &last["error"]), (&json!(false), &json!("CONTRACT_VIOLATION")), "{last}");
    machine.write("lines", r#"{"id":1,"arguments":["write-text","state/a","x"]}"#);
    let mapped = machine.run(["map", "--input", "lines", "--ndjson", liar]);
    let line: serde_json::Value = serde_json::from_str(&mapped.stdout).unwrap();
    assert_eq!((&line["error"]["code"], line["after"].get("state")), (&json!("CONTRACT_VIOLATION"), None), "{line}");
    // What reads is as before, and sees what was there before.
    assert_eq!(machine.guest(&[liar, "read-file", "state/kept"]).answer()["content"], "text");
    assert_eq!(machine.guest(&[liar, "list-dir", "state"]).answer()["entries"].as_array().unwrap().len(), 1);
}

#[test]
fn a_value_beyond_its_constraints_is_refused_before_anything_runs() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "bounded");
    let file = folder.join("schemas/commands.json");
    let mut contract: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for command in contract["commands"].as_array_mut().unwrap() {
        let constraints = match command["name"].as_str().unwrap() {
            "random" => json!({"minimum": "1", "maximum": "64"}),
            "write-text" => json!({"maxLength": 10, "pattern": "^state/[a-z]+$"}),
            _ => continue,
        };
        command["parameters"][0]["constraints"] = constraints;
    }
    std::fs::write(&file, contract.to_string()).unwrap();
    let folder = folder.to_str().unwrap();

    machine.guest(&[folder, "random", "64"]).answer();
    machine.guest(&[folder, "write-text", "state/abcd", "x"]).answer();
    let entries = || machine.run(["ledger", "list", folder]).result("ledger list")["total"].as_u64().unwrap();
    let before = entries();
    for (arguments, kind, index) in [
        (&["random", "65"][..], "out_of_range", 1),
        (&["random", "0"], "out_of_range", 1),
        (&["random", "--", "-1"], "out_of_range", 2),
        (&["write-text", "state/abcde", "x"], "wrong_length", 1),
        (&["write-text", "state/AB", "x"], "not_of_pattern", 1),
    ] {
        for word in ["validate", "plan", "run"] {
            let fault = machine.run([&[word, folder], arguments].concat()).fault("ARGUMENT_INVALID", 2);
            let violation = &fault.details["violations"][0];
            assert_eq!(
                (violation["kind"].as_str(), violation["index"].as_u64()),
                (Some(kind), Some(index)),
                "{fault:?}"
            );
            // What would be right is not known, and nothing is guessed.
            assert!(
                violation.get("instead").is_none() && fault.fixes.iter().all(|fix| fix.risk == "none"),
                "{fault:?}"
            );
        }
        // Whoever wants the application's own word for it gets that.
        machine.guest(&[&["--unchecked", folder], arguments].concat());
    }
    assert!(entries() > before);

    let told = machine.run(["meta", folder, "random"]).result("meta")["commands"][0]["inputs"][0].take();
    assert_eq!(told["constraints"], json!({"minimum": "1", "maximum": "64"}));
    let tool = machine.run(["meta", folder, "random", "--export", "mcp"]).result("meta")["tools"][0].take();
    let bytes = &tool["inputSchema"]["properties"]["bytes"];
    assert_eq!((&bytes["minimum"], &bytes["maximum"]), (&json!(1), &json!(64)), "{tool}");
}

#[test]
fn what_the_to_do_application_refuses_is_refused_without_running_it() {
    let machine = Machine::new();
    let long = "x".repeat(201);
    for (arguments, kind) in [
        (&["list", "--limit", "-3"][..], "out_of_range"),
        (&["list", "--limit=0"], "out_of_range"),
        (&["get", "milk"], "not_of_pattern"),
        (&["add", ""], "wrong_length"),
        (&["add", &long], "wrong_length"),
    ] {
        let fault = machine.run([&["validate", &todo()], arguments].concat()).fault("ARGUMENT_INVALID", 2);
        assert_eq!(fault.details["violations"][0]["kind"], kind, "{fault:?}");
        // The application thinks the same: nothing is refused that it would do.
        let own = machine.guest(&[&["--unchecked", &todo()], arguments].concat());
        assert_ne!(own.status, 0, "{own:?}");
    }
    machine.todo(&["list", "--limit", "1"]).answer();
    machine.todo(&["add", &long[1..]]).answer();
}

/// The shape of `schemas/` is a package's own affair; what APP.md asks to be confirmed still waits for its person.
#[test]
fn a_package_with_schemas_of_its_own_kind_runs_and_is_gated_by_its_manifest() {
    let machine = Machine::new();
    for (name, text) in
        [("list", "[]"), ("other", r#"{"schema": "acme/cli@1", "verbs": {}}"#), ("no-json", "add: {}\n")]
    {
        let folder = package::copy_todo(&machine, name);
        std::fs::write(folder.join("schemas/commands.json"), text).unwrap();
        let folder = folder.to_str().unwrap();
        let call =
            |options: &[&str], words: &[&str]| machine.guest(&[options, &["--instance", name, folder], words].concat());
        assert_eq!(call(&[], &["add", "milk"]).answer()["ok"], true, "{name}");
        call(&[], &["remove", "td_1"]).fault("CONFIRMATION_REQUIRED", 30);
        assert_eq!(call(&[], &["list"]).answer()["count"], 1, "{name}: nothing was removed");
        // What is not described is not judged before it runs: the application says it itself.
        assert_ne!(call(&[], &["list", "--limit", "-3"]).status, 0, "{name}");
        let checked = machine.run(["check", folder]).result("check");
        assert_eq!((&checked["errors"], checked["warnings"].as_u64() >= Some(1)), (&json!(0), true), "{checked}");
        assert!(checked.to_string().contains("CONTRACT_FOREIGN"), "{checked}");
    }
}
