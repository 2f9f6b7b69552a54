//! The order in which the faults of one call come, as `explain-error` says it: each that is mended lets a later step speak.

use crate::support::{Machine, package, repository, todo};
use hutch_model::step::Step;

/// A call with a fault at nearly each step: the code that comes, and what mends it, by a word that is replaced in the line.
const FAULTS: &[(&str, &str, &str)] = &[
    ("USAGE", "--frobnicate ", ""),
    ("PACKAGE_INVALID", "./invalid", "./sound"),
    ("ARGUMENT_INVALID", " --unknown", ""),
    // The same step as the one before.
    ("STDIN_LIMIT", "--limit stdin_bytes=1 ", ""),
    ("CONFIRMATION_REQUIRED", "--stdin-text", "--yes --stdin-text"),
    ("FUEL_LIMIT", "--limit fuel=10 ", ""),
    ("CONTRACT_VIOLATION", "", ""),
];

#[test]
fn faults_of_one_call_come_in_the_order_that_explain_error_says() {
    let machine = Machine::new();
    let asks = "scheduling: notSupported\nconfirmationRequired:\n  - not-json";
    for name in ["invalid", "sound"] {
        package::with_manifest(&machine, name, "scheduling: notSupported", asks);
    }
    let manifest = std::fs::read_to_string(machine.path("invalid/APP.md")).unwrap();
    machine.write("invalid/APP.md", manifest.replace("slug: probe", "slug: -"));

    let mut line = "run --frobnicate --limit stdin_bytes=1 --limit fuel=10 --stdin-text ab ./invalid \
                    not-json --unknown"
        .to_owned();
    let mut reached = Vec::new();
    for (code, from, to) in FAULTS {
        let ran = machine.run(line.split(' '));
        let fault = ran.fault(code, ran.status);
        let meaning = machine.run(["explain-error", code]).result("explain-error")["meanings"][0].take();
        let step = meaning["step"].as_str().unwrap().to_owned();
        for earlier in reached.iter().filter(|earlier| **earlier != step) {
            assert!(
                meaning["steps_before"].as_array().unwrap().iter().any(|step| step == earlier),
                "{fault:?} {earlier}"
            );
        }
        assert!(meaning["steps_before"].as_array().unwrap().iter().all(|before| *before != step.as_str()));
        reached.push(step);
        line = line.replacen(from, to, 1);
    }
    assert_eq!(reached.len(), FAULTS.len());
}

#[test]
fn codes_that_several_steps_end_with_name_none() {
    let machine = Machine::new();
    let meaning = machine.run(["explain-error", "HOST_FAULT"]).result("explain-error")["meanings"][0].take();
    assert!(meaning.get("step").is_none() && meaning.get("steps_after").is_none(), "{meaning}");
    let meaning = machine.run(["explain-error", "COMPONENT_LIMIT"]).result("explain-error")["meanings"][0].take();
    assert!(
        meaning.get("step").is_none(),
        "its size is seen when it is opened, and its parts when it is compiled: {meaning}"
    );
    // A fault of the package is mended before anything else of a call is looked at; what is only advice stops nothing.
    let meaning = machine.run(["explain-error", "SKILL_MISSING"]).result("explain-error")["meanings"][0].take();
    assert_eq!(meaning["step"], "package");
    // An application's own codes come when all is well but its answer.
    let meaning = machine.run(["explain-error", "NOT_FOUND", &todo()]);
    assert_eq!(meaning.result("explain-error")["meanings"][0]["steps_after"], serde_json::json!(["commit", "tell"]));
}

#[test]
fn the_page_about_limits_lists_the_steps() {
    let page = std::fs::read_to_string(repository().join("host/docs/limits.md")).unwrap();
    let rows = Step::ALL.map(|step| format!("| {} | {} |", step.text(), step.precondition()));
    assert!(page.contains(&rows.join("\n")), "{}", rows.join("\n"));
}
