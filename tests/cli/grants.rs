//! What the operator allows and the package asks for, and arguments that are held back.

use crate::support::{Machine, Ran, artifacts, package, probe};
use serde_json::json;
use std::path::{Path, PathBuf};

fn asks_for_environment(machine: &Machine) -> PathBuf {
    package::with_manifest(machine, "package", "    state:\n", "    env:\n      - NAME\n      - TOKEN\n    state:\n")
}

#[test]
fn the_guest_gets_what_is_asked_for_and_granted_and_no_more() {
    let machine = Machine::new();
    let path = asks_for_environment(&machine).display().to_string();
    let run = |options: &[&str]| machine.guest(&[options, &[path.as_str(), "env"]].concat());
    assert_eq!(run(&[]).answer()["variables"], json!([]), "asking is not getting");
    assert_eq!(run(&["--env", "NAME=a=b c"]).answer()["variables"], json!([["NAME", "a=b c"]]));
    let fault = run(&["--env", "OTHER=x"]).fault("PERMISSION_DENIED", 11);
    assert_eq!(fault.details["name"], "OTHER", "granting is not getting either");
    machine.probe(&["--instance", "other", "--env", "NAME=x"], &["env"]).fault("PERMISSION_DENIED", 11);
}

#[test]
fn a_secret_reaches_the_guest_and_no_file() {
    let machine = Machine::new();
    let path = asks_for_environment(&machine).display().to_string();
    let value = "correct-horse-battery-staple";
    ["home", "silent"].iter().for_each(|home| artifacts::keep_key(&machine.path(home)));
    let run = |options: &[&str]| {
        Ran::of(
            machine
                .hutch([&["run"], options, &[path.as_str(), "env"]].concat())
                .env("TOKEN", value)
                .env("HUTCH_HOME", machine.path("home")),
        )
    };
    assert_eq!(run(&["--secret", "NAME"]).fault("USAGE", 2).details.get("value"), None);
    run(&["--secret", "TOKEN", "--env", "TOKEN=x"]).fault("ARGUMENT_REFUSED", 2);
    let twice = machine.hutch(["run", "--secret", "NAME", "--env", "NAME=x", &path, "env"]).env("NAME", "y").output();
    assert!(String::from_utf8(twice.unwrap().stderr).unwrap().contains("NAME is given by --env and by --secret"));
    // Arguments and other variables are kept as they are.
    for (given, arguments, place) in [
        (&[][..], &["return-ok", "x correct-horse-battery-staple"][..], "argument 2"),
        (&["--env", "NAME=x-correct-horse-battery-staple"], &["env"], "the value of NAME"),
    ] {
        let words = [&["run", "--unchecked", "--secret", "TOKEN"], given, &[path.as_str()], arguments].concat();
        let mut refused = machine.hutch(words);
        let fault = Ran::of(refused.env("TOKEN", value).env("HUTCH_HOME", machine.path("home")));
        let fault = fault.fault("ARGUMENT_REFUSED", 2);
        assert!(fault.message.contains(place) && !fault.message.contains(value), "{fault:?}");
    }
    // The guest prints it, so this run's output is not kept.
    let ran = run(&["--secret", "TOKEN", "--contract", "any"]);
    assert_eq!(ran.answer()["variables"], json!([["TOKEN", value]]));
    assert!(!holds(&machine.path("home"), value.as_bytes()), "the secret that the guest printed is on disk");
    let silent = machine.hutch(["run", "--secret", "TOKEN", &path, "return-ok"]);
    let home = machine.path("silent");
    let mut silent = silent;
    Ran::of(silent.env("TOKEN", value).env("HUTCH_HOME", &home)).answer();
    assert!(!holds(&home, value.as_bytes()), "the secret is on disk");
    assert!(holds(&home, b"TOKEN"), "the name of the secret is recorded");
}

/// Whether any file below `folder` holds `text`.
fn holds(folder: &std::path::Path, text: &[u8]) -> bool {
    std::fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holds(&path, text)
        } else {
            std::fs::read(path).unwrap().windows(text.len()).any(|window| window == text)
        }
    })
}

#[test]
fn arguments_that_look_dangerous_are_held_back() {
    let machine = Machine::new();
    let token = "ghp_0123456789abcdef0123456789abcdef";
    // What each argument is held back for: as prose and as a path by a strict judge, as prose and as a path by a lenient one.
    for (argument, rules) in [
        (token, ["G2", "G2", "G2", "G2"]),
        ("AKIAIOSFODNN7EXAMPLE", ["G2", "G2", "G2", "G2"]),
        ("-----BEGIN RSA PRIVATE KEY-----", ["G2", "G2", "G2", "G2"]),
        ("a\nb", ["S4", "S4", "S4", "S4"]),
        ("a\u{1b}[2Jb", ["S4", "S4", "S4", "S4"]),
        ("config/.env", ["G3", "G3", "", "G3"]),
        ("/home/me/.ssh/id_rsa", ["G3", "G3", "", "G3"]),
        ("../../etc/passwd", ["S4", "S4", "", "S4"]),
        ("%2e%2e%2fpasswd", ["S4", "S4", "", "S4"]),
        ("a; rm -rf /", ["", "G8", "", "G8"]),
        ("$(reboot)", ["", "G8", "", "G8"]),
        ("`reboot`", ["", "G8", "", "G8"]),
        ("a | b", ["", "G8", "", "G8"]),
        ("Buy milk & eggs", ["", "", "", ""]),
        ("it's 50% done, really!", ["", "", "", ""]),
        ("日本語 🎉", ["", "", "", ""]),
    ] {
        let judges = [("strict", "args"), ("strict", "read-link"), ("text", "args"), ("text", "read-link")];
        for ((policy, command), rule) in judges.into_iter().zip(rules) {
            // `args` shows what it is given; `read-link` takes a path, and finds nothing there.
            let ran = machine.probe(&["--unchecked", "--guard", policy], &[command, argument]);
            if !rule.is_empty() {
                let fault = ran.fault("ARGUMENT_REFUSED", 2);
                let details = (&fault.details["rule"], &fault.details["argument"]);
                assert_eq!(details, (&json!(rule), &json!(2)), "{policy} {command} {argument:?}");
                assert!(!ran.stderr.contains(token), "the report repeats the secret");
            } else if command == "args" {
                assert_eq!(ran.answer()["args"], json!([argument]), "{policy}");
            } else {
                ran.guest_failure(1);
            }
        }
        assert_eq!(
            machine.probe(&["--unchecked", "--guard", "off"], &["args", argument]).answer()["args"],
            json!([argument])
        );
    }
}

#[test]
fn what_was_held_back_is_in_no_file() {
    let machine = Machine::new();
    let token = "ghp_0123456789abcdef0123456789abcdef";
    let home = machine.path("home").display().to_string();
    machine.guest(&["--home", &home, &probe(), "args", token]).fault("ARGUMENT_REFUSED", 2);
    assert!(!holds(&machine.path("home"), token.as_bytes()));
}

#[test]
fn a_guest_reads_the_resources_that_its_package_declares_and_changes_nothing_there() {
    let machine = Machine::new();
    let folder =
        package::with_manifest(&machine, "package", "    state:\n", "    resources:\n      - skills\n    state:\n");
    let path = folder.display().to_string();
    let skill = folder.join("skills/probe-usage/SKILL.md");
    let content = std::fs::read_to_string(&skill).unwrap();
    let run = |arguments: &[&str]| machine.guest(&[&[path.as_str()], arguments].concat());
    assert_eq!(run(&["read-file", "skills/probe-usage/SKILL.md"]).answer()["length"], content.len());
    for arguments in [
        &["write-text", "skills/new", "x"][..],
        &["write-text", "skills/probe-usage/SKILL.md", "x"],
        &["append-text", "skills/probe-usage/SKILL.md", "x"],
        &["truncate", "skills/probe-usage/SKILL.md", "0"],
        &["make-dir", "skills/new"],
        &["remove", "skills/probe-usage/SKILL.md"],
        &["remove", "skills/probe-usage", "--all"],
        &["rename", "skills/probe-usage", "skills/other"],
        &["rename", "skills/probe-usage/SKILL.md", "state/SKILL.md"],
        &["link", "skills/probe-usage/SKILL.md", "skills/link"],
        &["symlink", "probe-usage", "skills/link"],
    ] {
        run(arguments).guest_failure(1);
        assert_eq!(
            run(&["read-file", "skills/probe-usage/SKILL.md"]).answer()["length"],
            content.len(),
            "{arguments:?}"
        );
    }
    assert_eq!(std::fs::read_to_string(&skill).unwrap(), content);
    assert_eq!(run(&["list-dir", "skills"]).answer()["entries"].as_array().unwrap().len(), 1);
    // The rest of the package is not there.
    for outside in ["app/app.wasm", "APP.md", "schemas/commands.json"] {
        run(&["read-file", outside]).guest_failure(1);
    }
}

#[test]
fn a_folder_of_the_hosts_own_is_refused_alike_by_every_call_and_nothing_is_written() {
    let machine = Machine::new();
    let package = probe();
    let home = machine.path("person/.local/share/hutch");
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hutch");
    machine.probe(&["--instance", "warm"], &["return-ok"]).answer();
    let (fresh, beside) = (machine.path("fresh"), machine.path("beside"));
    [&fresh, &beside].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let not_there = fresh.join("not/there/yet").display().to_string();
    let before = std::fs::read_dir(home.join("instances")).unwrap().count();
    let verbs = [&["run"][..], &["plan"], &["validate"], &["run", "--dry-run"], &["run", "--envelope", "--adopt"]];
    for (options, folder) in [
        (&[][..], &home),
        (&[], &machine.path("person")),
        (&[], &home.join("instances/probe/warm")),
        (&[], &cache),
        (&[], &cache.parent().unwrap().to_owned()),
        (&["--home", &not_there], &fresh),
    ] {
        for verb in verbs {
            let mount = format!("{}:mnt", folder.display());
            let ran = machine.run([verb, options, &["--mount", &mount, &package, "list-dir", "mnt"]].concat());
            let fault = ran.fault("PERMISSION_DENIED", 11);
            assert_eq!(fault.details["folder"], folder.display().to_string(), "{verb:?}");
            assert!(
                fault.message.contains("hutch's own files") && fault.suggestion.contains("another folder"),
                "{fault:?}"
            );
        }
    }
    assert_eq!(std::fs::read_dir(home.join("instances")).unwrap().count(), before, "no instance was made");
    assert_eq!(std::fs::read_dir(&fresh).unwrap().count(), 0, "no home was made");
    // What only lies beside them is granted.
    artifacts::keep_key(Path::new(&not_there));
    let mount = format!("{}:mnt", beside.display());
    let ran = machine.run(["run", "--home", &not_there, "--mount", &mount, &package, "list-dir", "mnt"]);
    assert_eq!(ran.answer()["entries"], json!([]));
}
