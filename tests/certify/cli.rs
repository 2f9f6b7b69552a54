//! `hutch certify` through the program: a package, hutch itself, a native program. Its own home, an environment with nothing in it.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::expect_used, reason = "a helper of a test that fails is the test failing")]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn repository(path: &str) -> PathBuf {
    Path::new("../..").canonicalize().expect("tests begin in the folder of their crate").join(path)
}

fn certify(home: &TempDir, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hutch"));
    command.arg("certify").args(args).env_clear().env("HOME", home.path()).current_dir(repository("."));
    command.output().expect("the program starts")
}

/// The report, from an answer or from a failure.
fn report(output: &Output) -> Value {
    let (text, path) = match output.status.code() {
        Some(0) => (&output.stdout, "/result"),
        _ => (&output.stderr, "/details/report"),
    };
    let answer: Value = serde_json::from_slice(text).expect("one JSON document");
    answer.pointer(path).expect("a report").clone()
}

fn statuses(report: &Value) -> BTreeMap<&str, &str> {
    let rules = report["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), 98);
    rules.iter().filter_map(|rule| Some((rule["id"].as_str()?, rule["status"].as_str()?))).collect()
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

#[test]
fn the_to_do_package_reaches_the_highest_level_and_leaves_nothing_behind() {
    let home = home();
    let output = certify(&home, &["packages/todo", "--level", "agent-native"]);
    let report = report(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
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
    // The cache, and the key that what it holds is sealed with.
    let cached = |path: &PathBuf| path.to_string_lossy().contains(".cache") || path.ends_with("artifacts.key");
    let kept: Vec<_> = walk(home.path()).into_iter().filter(|path| !cached(path)).collect();
    assert!(kept.is_empty(), "{kept:?}");
}

#[test]
fn what_init_makes_and_the_samples_reach_the_highest_level() {
    let home = home();
    let mut made = Command::new(env!("CARGO_BIN_EXE_hutch"));
    made.args(["init", "made", "--in"]).arg(home.path()).env_clear().env("HOME", home.path());
    assert!(made.output().expect("the program starts").status.success());
    let made = home.path().join("made/package").display().to_string();
    for package in [made.as_str(), "packages/convert", "packages/json", "packages/tables"] {
        let report = report(&certify(&home, &[package, "--level", "agent-native"]));
        assert_eq!(
            (&report["level"], &report["unreached"]),
            (&"agent-native".into(), &serde_json::json!([])),
            "{report}"
        );
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_level_that_is_not_reached_is_a_failure_with_the_report() {
    let home = home();
    let output = certify(&home, &["tests/packages/probe", "--level", "agent-native"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    let failure: Value = serde_json::from_slice(&output.stderr).expect("one JSON document");
    assert_eq!(failure["code"], "LEVEL_NOT_REACHED");
    assert_eq!(failure["details"]["report"]["asked"], "agent-native");
    assert!(failure["details"]["report"]["fix_first"].as_array().is_some_and(|rules| !rules.is_empty()));
    let text = certify(&home, &["packages/todo", "--human"]);
    assert_eq!(text.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&text.stdout).starts_with("todo: level agent-native"));
}

#[test]
fn hutch_reaches_the_highest_level_by_its_own_judgement() {
    let home = home();
    let output = certify(&home, &["--self", "--level", "agent-native"]);
    let report = report(&output);
    assert_eq!(output.status.code(), Some(0), "{report}");
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
    let home = home();
    let mark = home.path().join("mark");
    let script = repository("tests/certify/program.sh").canonicalize().expect("the script");
    let words = [script.to_string_lossy().into_owned(), mark.to_string_lossy().into_owned()];
    let output = certify(&home, &["--program", "/bin/sh", "--", &words[0], &words[1]]);
    let report = report(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        (&report["sandboxed"], &report["all_calls"], &report["level"]),
        (&false.into(), &false.into(), &Value::Null)
    );
    let statuses = statuses(&report);
    for (id, status) in [("O1", "pass"), ("E1", "pass"), ("G1", "pass"), ("S1", "unknown"), ("F1", "fail")] {
        assert_eq!(statuses[id], status, "{id}: {report}");
    }
    assert!(!mark.exists(), "the program was asked to destroy something");
    let missing = certify(&home, &["--program", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(20));
}
