//! `hutch certify` through the program: a package, hutch itself, a native program. Its own home, an environment with nothing in it.

use crate::support::package::{copy_todo, probe_that_ends_soon};
use crate::support::{Machine, Ran, repository};
use serde_json::Value;
use std::collections::BTreeMap;

fn certify(machine: &Machine, args: &[&str]) -> Ran {
    Ran::of(machine.hutch([&["certify"], args].concat()).current_dir(repository()))
}

/// The report, from an answer or from a failure.
fn report(ran: &Ran) -> Value {
    let (text, path) = match ran.status {
        0 => (&ran.stdout, "/result"),
        _ => (&ran.stderr, "/details/report"),
    };
    let answer: Value = serde_json::from_str(text).expect("one JSON document");
    answer.pointer(path).expect("a report").clone()
}

fn statuses(report: &Value) -> BTreeMap<&str, &str> {
    let rules = report["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 98);
    rules.iter().filter_map(|rule| Some((rule["id"].as_str()?, rule["status"].as_str()?))).collect()
}

#[test]
fn the_to_do_package_reaches_the_highest_level_and_leaves_nothing_behind() {
    let machine = Machine::new();
    let output = certify(&machine, &["packages/todo", "--level", "agent-native"]);
    let report = report(&output);
    assert_eq!(output.status, 0, "{report}");
    assert!(output.stderr.is_empty());
    assert_eq!((&report["level"], &report["sandboxed"]), (&"agent-native".into(), &true.into()));
    assert_eq!((&report["left_out"], &report["unreached"]), (&0.into(), &serde_json::json!([])));
    let overridden = serde_json::json!([
        "O9", "R1", "R2", "R3", "D14", "D18", "E1", "E2", "S8", "N4", "M2", "F1", "F2", "F3", "F4", "F5", "F6", "F7",
        "F8", "G5"
    ]);
    assert_eq!(report["overridden"], overridden);
    let statuses = statuses(&report);
    for (id, status) in [
        ("S1", "by-host"),
        ("O10", "by-host"),
        ("G2", "by-host"),
        ("E1", "not-applicable"),
        ("R1", "by-host"),
        ("I3", "pass"),
        ("C7", "pass"),
    ] {
        assert_eq!(statuses[id], status, "{id}");
    }
    for rule in report["rules"].as_array().expect("rules") {
        if rule["status"] == "not-applicable" || rule["status"] == "by-host" {
            assert!(rule["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "{rule}");
        }
    }
    assert!(machine.is_untouched());
}

#[test]
fn what_init_makes_and_the_samples_reach_the_highest_level() {
    let machine = Machine::new();
    assert_eq!(machine.run(["init", "made"]).status, 0);
    let made = machine.path("made/package").display().to_string();
    let samples = ["archives", "books", "calendar", "convert", "files", "images", "json", "notes", "pdf", "tables"]
        .map(|name| format!("packages/{name}"));
    for package in [made].iter().chain(&samples) {
        let report = report(&certify(&machine, &[package, "--level", "agent-native"]));
        assert_eq!(
            (&report["level"], &report["unreached"]),
            (&"agent-native".into(), &serde_json::json!([])),
            "{report}"
        );
    }
}

#[test]
fn a_package_that_breaks_the_rules_of_packages_reaches_no_level() {
    let machine = Machine::new();
    let copy = copy_todo(&machine, "todo");
    let file = copy.join("schemas/commands.json");
    let text = std::fs::read_to_string(&file).expect("a contract");
    // Its component goes on saying what it said.
    std::fs::write(&file, text.replacen("Shows one item.", "Shows an item.", 1)).expect("a contract");
    let copy = copy.display().to_string();
    let fault = certify(&machine, &[&copy]).fault("PACKAGE_INVALID", 2);
    let checked = machine.run(["check", &copy]).fault("PACKAGE_INVALID", 2);
    assert_eq!(fault.details["diagnostics"], checked.details["diagnostics"]);
    assert_eq!(fault.details["diagnostics"][0]["code"], "CONTRACT_DIFFERS");
}

#[test]
fn a_level_that_is_not_reached_is_a_failure_with_the_report() {
    let machine = Machine::new();
    let output = certify(&machine, &[&probe_that_ends_soon(&machine).display().to_string(), "--level", "agent-native"]);
    assert_eq!((output.status, output.stdout.as_str()), (1, ""));
    let failure: Value = serde_json::from_str(&output.stderr).expect("one JSON document");
    assert_eq!(failure["code"], "LEVEL_NOT_REACHED");
    assert_eq!(failure["details"]["report"]["asked"], "agent-native");
    assert!(failure["details"]["report"]["fix_first"].as_array().is_some_and(|rules| !rules.is_empty()));
    let text = certify(&machine, &["packages/todo", "--human"]);
    assert_eq!(text.status, 0);
    assert!(text.stdout.starts_with("todo: level agent-native"));
}

#[test]
fn hutch_reaches_the_highest_level_by_its_own_judgement() {
    let machine = Machine::new();
    let output = certify(&machine, &["--self", "--level", "agent-native"]);
    let report = report(&output);
    assert_eq!(output.status, 0, "{report}");
    assert_eq!((&report["level"], &report["unreached"]), (&"agent-native".into(), &serde_json::json!([])));
    assert_eq!(
        (&report["target"], &report["sandboxed"], &report["all_calls"]),
        (&"hutch".into(), &false.into(), &true.into())
    );
    let statuses = statuses(&report);
    let open: Vec<_> = statuses.iter().filter(|(_, status)| **status != "pass").collect();
    assert_eq!(open, []);
    println!("hutch itself: level {}, {}", report["level"], report["summary"]);
}

#[test]
fn a_native_program_is_not_asked_to_destroy_anything() {
    let machine = Machine::new();
    let mark = machine.path("mark");
    let script = repository().join("tests/certify/program.sh");
    let words = [script.display().to_string(), mark.display().to_string()];
    let output = certify(&machine, &["--program", "/bin/sh", "--", &words[0], &words[1]]);
    let report = report(&output);
    assert_eq!(output.status, 1);
    assert_eq!(
        (&report["sandboxed"], &report["all_calls"], &report["level"]),
        (&false.into(), &false.into(), &Value::Null)
    );
    let statuses = statuses(&report);
    for (id, status) in [("O1", "pass"), ("E1", "pass"), ("G1", "pass"), ("S1", "unknown"), ("F1", "fail")] {
        assert_eq!(statuses[id], status, "{id}: {report}");
    }
    let rules = report["rules"].as_array().expect("rules").iter();
    let granted = ["pass", "by-host", "not-applicable"].map(Value::from);
    let missing = rules.clone().filter(|rule| rule["layer"] == "core" && !granted.contains(&rule["status"])).count();
    let way = format!("not agent-friendly: {missing} rules stand in the way of agent-friendly");
    assert!(output.stderr.contains(&way), "{way}: {}", output.stderr);
    let confirmed = rules.clone().find(|rule| rule["id"] == "S1").expect("S1");
    assert!(confirmed["reason"].as_str().is_some_and(|why| why.contains("reaches no level")), "{confirmed}");
    assert!(!mark.exists(), "the program was asked to destroy something");
    let missing = certify(&machine, &["--program", "/no/such/program"]);
    assert_eq!(missing.status, 20);
}

/// What a program that says that it reads does: emptied files of its home are seen, and one elsewhere it can't empty.
#[test]
fn a_native_program_that_says_that_it_reads_is_not_believed() {
    let machine = Machine::new();
    let victim = machine.path("victim");
    std::fs::write(&victim, "kept").expect("a file");
    let script = repository().join("tests/certify/cram.sh");
    let words = [script.display().to_string(), victim.display().to_string()];
    let report = report(&certify(&machine, &["--program", "/bin/sh", "--", &words[0], &words[1]]));
    let statuses = statuses(&report);
    for (id, status) in [("G4", "fail"), ("G3", "fail"), ("G8", "fail"), ("G9", "fail"), ("S4", "fail")] {
        assert_eq!(statuses[id], status, "{id}: {report}");
    }
    match report["outside"].as_str() {
        Some("refused") => assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "kept"),
        // The system has nothing that would keep it.
        outside => assert_eq!(outside, Some("unseen"), "{report}"),
    }
}

/// Whatever a program leaves in its home is evidence against it, and no fault of whoever judges; it is put back, and the calls go on.
#[test]
fn what_a_native_program_leaves_in_its_home_is_evidence_against_it() {
    let machine = Machine::new();
    let script = repository().join("tests/certify/spoil.sh").display().to_string();
    for what in ["pipe", "closed"] {
        let output = certify(&machine, &["--program", "/bin/sh", "--", &script, what]);
        let report = report(&output);
        assert_eq!((output.status, &report["left_out"]), (1, &0.into()), "{what}: {report}");
        assert_eq!(statuses(&report)["G4"], "fail", "{what}: {report}");
    }
    // Files of a moment are nobody's concern: each call finds an empty place for them.
    let moment = report(&certify(&machine, &["--program", "/bin/sh", "--", &script, "moment"]));
    // Without a ring they are where they are otherwise.
    if moment["outside"] == "refused" {
        assert_eq!((statuses(&moment)["O1"], statuses(&moment)["G4"]), ("pass", "pass"), "{moment}");
    }
    // More than is looked at ends the calls: nobody reads it.
    let report = report(&certify(&machine, &["--program", "/bin/sh", "--", &script, "large"]));
    assert_eq!(statuses(&report)["G4"], "fail", "{report}");
    assert!(report["left_out"] != 0 && report.to_string().contains("can't be looked at: more than"), "{report}");
}

/// What a program starts outlives no call of it, whichever session it is in.
#[cfg(target_os = "linux")]
#[test]
fn what_a_native_program_leaves_running_is_ended() {
    let machine = Machine::new();
    let script = repository().join("tests/certify/spoil.sh").display().to_string();
    let seconds = format!("3600.{}", std::process::id());
    let report = report(&certify(&machine, &["--program", "/bin/sh", "--", &script, &seconds]));
    assert_eq!((statuses(&report)["O1"], &report["left_out"]), ("pass", &0.into()), "{report}");
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let sleeper = format!("sleep\0{seconds}\0").into_bytes();
    assert_eq!(lines.filter(|line| *line == sleeper).count(), 0, "{report}");
}

#[test]
fn what_is_drawn_is_other_at_each_run_and_a_seed_repeats_it() {
    let machine = Machine::new();
    let drawn = |more: &[&str]| {
        let report = report(&certify(&machine, &[&["packages/notes"], more].concat()));
        // An issue has an identifier of its own each time.
        let rules = report["rules"].as_array().expect("rules").iter();
        let rules: Vec<Value> = rules.filter(|rule| !rule["id"].to_string().starts_with("\"F")).cloned().collect();
        (report["seed"].as_str().expect("a seed").to_owned(), rules)
    };
    let first = drawn(&[]);
    assert_eq!(drawn(&["--seed", &first.0]), first);
    let other = drawn(&[]);
    assert!(other.0 != first.0 && other.1 != first.1, "{} {}", other.0, first.0);
    assert_eq!(drawn(&["--seed", "7"]).0, format!("07{}", "0".repeat(62)));
}
