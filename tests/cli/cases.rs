//! Tests of a package that entries make: the package that made them passes, another that answers or leaves otherwise does not, and what no
//! test can say makes none.

use crate::support::package::{self, SMALL, copy_todo};
use crate::support::{FIXED, Machine, Ran, probe, todo};
use serde_json::{Value, json};

/// The test that an entry makes.
fn test(machine: &Machine, package: &str, entry: &str) -> Value {
    machine.run(["ledger", "show", "--to-test", package, entry]).result("ledger show")["test"].take()
}

fn check(machine: &Machine, package: &str) -> Ran {
    machine.run(["check", "--tests", package])
}

/// A copy of the to-do package with tests: a call that changes the state, one that reads it, and one that fails.
fn tested(machine: &Machine) -> String {
    let package = copy_todo(machine, "package").display().to_string();
    for call in [&["add", "Milk"][..], &["list"], &["get", "td_0009"]] {
        machine.guest(&[&FIXED[..], &[package.as_str()], call].concat());
    }
    let head = || machine.run(["ledger", "show", "todo"]).result("ledger show")["head"].clone();
    let before = head();
    for (entry, name) in [("@2", "add"), ("@3", "sub/list"), ("@4", "fails")] {
        let test = test(machine, &package, entry);
        machine.write(&format!("package/tests/{name}.test.json"), test.to_string());
    }
    assert_eq!(head(), before, "something was written down");
    package
}

#[test]
fn the_package_that_made_the_entries_passes_wherever_it_is() {
    let machine = Machine::new();
    let package = tested(&machine);
    let made = test(&machine, &package, "@2");
    assert_eq!((&made["arguments"], &made["exit_status"]), (&json!(["add", "Milk"]), &json!(0)));
    assert_eq!(made["now"], "2026-04-01T09:00:00Z");
    let left = made["after"]["state"]["todos.json"]["is"]["file"]["text"].as_str().unwrap();
    assert!(left.contains("Milk"), "{made}");
    let fails = test(&machine, &package, "@4");
    assert_eq!((&fails["exit_status"], &fails["after"]), (&json!(20), &Value::Null));
    assert_eq!(fails["before"], made["after"]);

    // Other files there are nobody's tests, and what was not asked for is not tried.
    machine.write("package/tests/notes.json", "none");
    let other = Machine::new();
    assert_eq!(check(&other, &package).result("check")["tests"], 3);
    assert!(other.run(["check", &package]).result("check").get("tests").is_none());
    let people = other.run(["--human", "check", "--tests", &package]);
    assert_eq!((people.status, people.stdout.as_str()), (0, "0 errors, 0 warnings; 3 tests passed\n"));
    assert!(other.is_untouched(), "nothing is kept of it");
    // They go with the package.
    other.run(["install", "--yes", &package]).result("install");
    assert_eq!(check(&other, "todo").result("check")["tests"], 3);
    assert_eq!(check(&other, &todo()).result("check")["tests"], 0);
}

#[test]
fn a_package_that_answers_otherwise_does_not() {
    let machine = Machine::new();
    let package = tested(&machine);
    let failed = |machine: &Machine| -> Vec<(String, String)> {
        let fault = check(machine, &package).fault("VERIFY_FAILED", 1);
        let failed = fault.details["failed"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let differences = |one: &Value| one["differences"].as_array().unwrap().iter().map(text).collect::<Vec<_>>();
        failed.map(|one| (text(&one["test"]), differences(one).join("; "))).collect()
    };
    // Another answer is wanted of one.
    let path = "package/tests/sub/list.test.json";
    let whole = std::fs::read_to_string(machine.path(path)).unwrap();
    let mut wanted: Value = serde_json::from_str(&whole).unwrap();
    wanted["stdout"]["text"] = "{}".into();
    machine.write(path, wanted.to_string());
    let one = failed(&machine);
    let [(name, differences)] = &one[..] else { panic!("{one:?}") };
    assert_eq!(name, "tests/sub/list.test.json");
    assert!(differences.starts_with("stdout from byte 1 on: ") && !differences.contains("; "), "{differences}");
    // So much is said of one, whatever volumes it names.
    wanted = serde_json::from_str(&whole).unwrap();
    wanted["after"] = (0..100).map(|at| (format!("{}{at}", "v".repeat(250)), json!({}))).collect();
    machine.write(path, wanted.to_string());
    let one = failed(&machine);
    let [(_, differences)] = &one[..] else { panic!("{one:?}") };
    assert!(differences.ends_with("; 90 more") && differences.len() < 10 * 300, "{differences}");
    machine.write(path, whole);
    check(&machine, &package).result("check");
    // Another component answers the same to all.
    std::fs::write(machine.path("package/app/app.wasm"), wat::parse_str(SMALL).unwrap()).unwrap();
    let all = failed(&machine);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["tests/add.test.json", "tests/fails.test.json", "tests/sub/list.test.json"]);
    for (name, differences) in &all {
        assert!(differences.contains("stdout from byte "), "{name}: {differences}");
        assert_eq!(differences.contains("volume state: "), name.contains("add"), "{name}: {differences}");
        assert_eq!(differences.contains("exit status 0, and not 20"), name.contains("fails"), "{name}: {differences}");
    }
}

#[test]
fn what_no_test_can_say_makes_none() {
    let machine = Machine::new();
    let package = package::with_manifest(&machine, "asks", "    mounts:\n", "    env:\n      - TOKEN\n    mounts:\n");
    let package = package.display().to_string();
    std::fs::create_dir(machine.path("folder")).unwrap();
    let runs: [(&[&str], &[&str], &str); 5] = [
        // First, while no other run has kept the same output.
        (&["--digests-only"], &["return-ok"], "its standard output is not kept"),
        (&["--secret", "TOKEN"], &["return-ok"], "it was given the secret TOKEN"),
        (&["--mount", "folder:mnt"], &["return-ok"], "its guest was granted a real folder"),
        (&[], &["trap"], "it did not end well"),
        (&[], &["return-ok"], ""),
    ];
    let show = |entry: &str| machine.run(["ledger", "show", "--to-test", &package, entry]);
    for (number, (options, call, reason)) in (2..).zip(runs) {
        let words = [&["run"], options, &[package.as_str()], call].concat();
        Ran::of(machine.hutch(words).env("TOKEN", "correct-horse"));
        let shown = show(&format!("@{number}"));
        match reason {
            "" => assert_eq!(shown.result("ledger show")["test"]["exit_status"], 0),
            reason => {
                let fault = shown.fault("NOT_REPRODUCIBLE", 1);
                assert!(fault.message.contains(reason), "{fault:?}");
                assert!(!shown.stderr.contains("correct-horse"), "{shown:?}");
            }
        }
    }
    assert!(show("@1").fault("NOT_REPRODUCIBLE", 1).message.contains("no guest ran"));
    machine.run(["run", &package, "return-ok"]).answer();
    machine.run(["--yes", "gc", "--keep", "1", "probe"]).result("gc");
    let fault = show("@6").fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("its state is not kept any more"), "{fault:?}");
    let both = ["ledger", "show", "--to-test", "--bisect", "ok", package.as_str(), "--", "return-ok"];
    machine.run(both).fault("USAGE", 2);
}

#[test]
fn what_is_no_test_fails_the_check_by_its_name() {
    let machine = Machine::new();
    let package = package::copy(&machine, "package").display().to_string();
    machine.write("package/tests/none.test.json", "{}");
    let fault = check(&machine, &package).fault("PACKAGE_INVALID", 2);
    assert_eq!(fault.details["diagnostics"][0]["file"], "tests/none.test.json");
    machine.run(["check", &package]).result("check");
    check(&machine, "oci://127.0.0.1:9/none:1").fault("USAGE", 2);
    // A rule that lets no such package run lets no test of it run.
    std::fs::remove_file(machine.path("package/tests/none.test.json")).unwrap();
    assert_eq!(check(&machine, &probe()).result("check")["tests"], 0);
    machine.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
    check(&machine, &package).fault("TRUST_REQUIRED", 30);
}

#[test]
fn a_package_has_so_many_tests() {
    let machine = Machine::new();
    let package = package::copy(&machine, "package").display().to_string();
    for at in 0..1001 {
        machine.write(&format!("package/tests/{at}.test.json"), "");
    }
    let is_refused = |code: &str| {
        let fault = check(&machine, &package).fault("PACKAGE_INVALID", 2);
        let first = &fault.details["diagnostics"][0];
        assert_eq!((&first["file"], &first["code"]), (&json!("tests"), &json!(code)), "{fault:?}");
    };
    is_refused("TOO_MANY_FILES");
    std::fs::remove_file(machine.path("package/tests/1000.test.json")).unwrap();
    // What is read first is none, but for its size.
    let fault = check(&machine, &package).fault("PACKAGE_INVALID", 2);
    assert_eq!(fault.details["diagnostics"][0]["file"], "tests/0.test.json");
    let large = std::fs::File::create(machine.path("package/tests/0.test.json")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    is_refused("PACKAGE_TOO_LARGE");
}
