//! Exit status 0 comes with exactly one JSON document, or nothing is kept.

use crate::support::{Machine, todo};

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
