//! `hutch check`: every problem of a package at once, and no package with an error is run.

use crate::support::{Machine, Ran, package, probe, todo};
use serde::Deserialize;

/// A problem, as programs read it. A new field breaks this on purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Diagnostic {
    code: String,
    severity: String,
    file: String,
    line: u32,
    column: u32,
    message: String,
    #[serde(default)]
    suggestion: Option<String>,
}

fn check(machine: &Machine, package: &str) -> Ran {
    machine.run(["check", package])
}

fn problems(ran: &Ran) -> Vec<Diagnostic> {
    let fault = ran.fault("PACKAGE_INVALID", 2);
    let diagnostics: Vec<Diagnostic> = serde_json::from_value(fault.details["diagnostics"].clone()).unwrap();
    let errors = diagnostics.iter().filter(|problem| problem.severity == "error").count();
    assert_eq!(fault.details["errors"], errors);
    assert_eq!(fault.details["warnings"], diagnostics.len() - errors);
    for problem in &diagnostics {
        assert!(problem.line >= 1 && problem.column >= 1 && !problem.message.is_empty(), "{problem:?}");
        assert!(problem.suggestion.as_deref() != Some(""), "{problem:?}");
    }
    diagnostics
}

fn codes(problems: &[Diagnostic]) -> Vec<(&str, &str, u32)> {
    problems.iter().map(|problem| (problem.code.as_str(), problem.file.as_str(), problem.line)).collect()
}

#[test]
fn the_packages_of_this_repository_are_good() {
    let machine = Machine::new();
    for (path, name) in [(todo(), "todo"), (probe(), "probe")] {
        let answer = check(&machine, &path).result("check");
        assert_eq!((&answer["errors"], &answer["warnings"]), (&0.into(), &0.into()), "{answer}");
        assert_eq!(answer["package"], name);
        let human = machine.run(["--human", "check", &path]);
        assert_eq!((human.status, human.stdout.as_str(), human.stderr.as_str()), (0, "0 errors, 0 warnings\n", ""));
    }
    assert!(machine.is_untouched(), "checking makes no state");
}

#[test]
fn all_problems_are_listed_at_once() {
    let machine = Machine::new();
    let folder = package::with_manifest(&machine, "broken", "slug: probe\n", "slug: Not A Slug\nversion: one\n");
    let manifest = folder.join("APP.md");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let text = text.replacen("version: 0.1.0\n", "", 1).replacen("    state:\n", "    colour: blue\n    state:\n", 1);
    std::fs::write(&manifest, text).unwrap();
    std::fs::remove_file(folder.join("skills/probe-usage/SKILL.md")).unwrap();
    std::fs::write(folder.join("schemas/commands.json"), r#"{"schema": "hutch/commands@0.1""#).unwrap();
    let path = folder.display().to_string();
    let problems = problems(&check(&machine, &path));
    let found = codes(&problems);
    for expected in [("SLUG_INVALID", "APP.md", 4), ("VERSION_INVALID", "APP.md", 5)] {
        assert!(found.contains(&expected), "{expected:?} is not in {found:?}");
    }
    for expected in ["FIELD_UNKNOWN", "SKILL_MISSING", "JSON_SYNTAX"] {
        assert!(found.iter().any(|(code, ..)| *code == expected), "{expected} is not in {found:?}");
    }
    // For people the same, a line each, and the summary as the error.
    let human = machine.run(["--human", "check", &path]);
    assert_eq!((human.status, human.stdout.as_str()), (2, ""));
    for problem in &problems {
        assert!(human.stderr.contains(&format!("{}:{}:{}: ", problem.file, problem.line, problem.column)), "{human:?}");
        assert!(human.stderr.contains(&problem.code), "{human:?}");
    }
    assert!(human.stderr.lines().any(|line| line.starts_with("error: ")), "{human:?}");
    // Quiet or not, the problems are the same data; and nothing of such a package is run.
    assert_eq!(machine.run(["--quiet", "check", &path]).stderr, check(&machine, &path).stderr);
    machine.guest(&[&path, "return-ok"]).fault("PACKAGE_INVALID", 2);
    assert!(machine.is_untouched());
}

#[test]
fn payloads_that_are_no_components_are_told_apart() {
    let machine = Machine::new();
    for (name, payload, diagnostic) in [
        ("empty", &b""[..], "PAYLOAD_EMPTY"),
        ("elf", b"\x7fELF\x02\x01\x01\0", "PAYLOAD_NATIVE"),
        ("script", b"#!/bin/sh\nrm -rf /\n", "PAYLOAD_SCRIPT"),
        ("text", b"(component)", "PAYLOAD_TEXT"),
        ("old", b"\0asm\x0a\0\x01\0", "PAYLOAD_VERSION"),
        ("zip", b"PK\x03\x04", "PAYLOAD_UNKNOWN"),
        ("cut", b"\0asm\x0d\0\x01\0\x01\xff", "COMPONENT_UNUSABLE"),
        ("bare", b"\0asm\x0d\0\x01\0", "COMPONENT_UNUSABLE"),
        ("module", b"\0asm\x01\0\0\0", "COMPONENT_UNUSABLE"),
    ] {
        let folder = package::with_payload(&machine, name, payload);
        let path = folder.display().to_string();
        let found = problems(&check(&machine, &path));
        assert!(found.iter().any(|problem| problem.code == diagnostic), "{name}: {found:?}");
        machine.guest(&["--instance", name, &path, "return-ok"]).fault("COMPONENT_INVALID", 2);
    }
    // Half of a good component.
    let whole = std::fs::read(std::path::Path::new(&probe()).join("app/app.wasm")).unwrap();
    let folder = package::with_payload(&machine, "half", &whole[..whole.len() / 2]);
    machine.guest(&["--instance", "half", folder.to_str().unwrap(), "return-ok"]).fault("COMPONENT_INVALID", 2);
}

#[test]
fn other_commands_than_components_are_refused() {
    let machine = Machine::new();
    for (name, command) in [("python", "python app/main.py"), ("path", "./app/app.wasm"), ("shell", "sh -c 'echo {}'")]
    {
        let folder =
            package::with_manifest(&machine, name, "command: wasm:app.wasm", &format!("command: \"{command}\""));
        let path = folder.display().to_string();
        assert!(problems(&check(&machine, &path)).iter().any(|problem| problem.code == "ENTRY_UNSUPPORTED"), "{name}");
        machine.guest(&[&path, "return-ok"]).fault("ENTRY_UNSUPPORTED", 2);
    }
}

#[test]
fn a_component_that_describes_itself_otherwise_than_its_package_does_fails_the_check() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "differs");
    let file = folder.join("schemas/commands.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("executes unreachable"));
    std::fs::write(&file, text.replace("executes unreachable", "does no harm")).unwrap();
    let path = folder.display().to_string();
    assert!(problems(&check(&machine, &path)).iter().any(|problem| problem.code == "CONTRACT_DIFFERS"));
}

#[test]
fn the_list_of_commands_comes_from_the_description() {
    let machine = Machine::new();
    let folder = package::copy_todo(&machine, "unlisted");
    let file = folder.join("APP.md");
    let whole = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = whole.split_once("\ncommands:\n").unwrap();
    let after: Vec<&str> = rest.lines().skip_while(|line| line.starts_with("  - ")).collect();
    let write = |list: &str| std::fs::write(&file, format!("{before}\n{list}{}\n", after.join("\n"))).unwrap();
    let path = folder.display().to_string();
    write("");
    let problems = problems(&check(&machine, &path));
    let missing = problems.iter().find(|problem| problem.message == "commands is missing").unwrap();
    let (list, _) = missing.suggestion.as_deref().unwrap().split_once(" and ").unwrap();
    write(&format!("{}\n", list.strip_prefix("write ").unwrap()));
    assert_eq!(check(&machine, &path).result("check")["errors"], 0);
}

#[test]
fn a_package_without_the_description_that_its_component_has_is_warned_of() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "undescribed");
    std::fs::remove_dir_all(folder.join("schemas")).unwrap();
    let checked = check(&machine, &folder.display().to_string());
    let answer = checked.result("check");
    assert_eq!((&answer["errors"], &answer["warnings"]), (&0.into(), &1.into()), "{answer}");
    assert_eq!(answer["diagnostics"][0]["code"], "CONTRACT_MISSING", "{answer}");
}

#[cfg(unix)]
#[test]
fn links_that_leave_the_package_and_special_files_are_refused_and_not_read() {
    let machine = Machine::new();
    let outside =
        machine.write("outside.wasm", std::fs::read(std::path::Path::new(&probe()).join("app/app.wasm")).unwrap());
    let folder = package::copy(&machine, "link");
    std::fs::remove_file(folder.join("app/app.wasm")).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join("app/app.wasm")).unwrap();
    let path = folder.display().to_string();
    assert!(problems(&check(&machine, &path)).iter().any(|problem| problem.code == "LINK_REFUSED"));
    machine.guest(&[&path, "return-ok"]).fault("PACKAGE_INVALID", 2);
    let folder = package::copy(&machine, "pipe");
    std::fs::remove_file(folder.join("app/app.wasm")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.join("app/app.wasm")).status().unwrap();
    assert!(made.success());
    let path = folder.display().to_string();
    assert!(problems(&check(&machine, &path)).iter().any(|problem| problem.code == "SPECIAL_FILE"));
    machine.guest(&[&path, "return-ok"]).fault("PACKAGE_INVALID", 2);
}

#[test]
fn hostile_front_matter_ends_in_a_diagnostic_soon() {
    let machine = Machine::new();
    let laughs: String = (1..30).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9))).collect();
    for (name, front) in [
        ("aliases", format!("---\na0: &a0 x\n{laughs}---\n")),
        ("deep", format!("---\na: {}\n---\n", "[".repeat(100_000))),
        ("wide", format!("---\n{}---\n", "- x\n".repeat(200_000))),
        ("unclosed", "---\nschema: agentapplications/v1\n".to_owned()),
        ("tab", "---\na:\n\tb: c\n---\n".to_owned()),
        ("mark", "\u{feff}---\na: b\n---\n".to_owned()),
        ("twice", "---\nslug: a\nslug: b\n---\n".to_owned()),
        ("nothing", String::new()),
    ] {
        machine.write(&format!("{name}/APP.md"), front);
        // One that took more work than this would be ended without a word.
        let words = ["check", name];
        let ran = Ran::of(&mut machine.hutch_within(std::time::Duration::from_secs(5), words));
        assert!(!problems(&ran).is_empty(), "{name}");
    }
}
