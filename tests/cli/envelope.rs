//! `run --envelope`: one document about a run, however it ended.

use crate::support::{DIGITS, FIXED, Machine, Ran, probe};
use serde_json::json;

#[test]
fn a_good_run() {
    let machine = Machine::new();
    let envelope = machine.probe_envelope(&FIXED, &["write-text", "state/a", "x"]);
    assert!(envelope.ok && envelope.kept && envelope.fuel_exact);
    assert_eq!(
        (envelope.ending.as_str(), envelope.ending_detail.as_deref(), envelope.exit_status),
        ("exited", None, Some(0))
    );
    assert_eq!(envelope.output, json!({"ok": true, "command": "write-text", "path": "state/a"}));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&envelope.stdout).unwrap(), envelope.output);
    assert_eq!(envelope.stderr, "");
    assert_eq!((envelope.refused.len(), envelope.unreproducible.len(), envelope.error.is_none()), (0, 0, true));
    assert!(
        envelope.fuel > 0 && envelope.memory_peak_bytes > 0 && envelope.wall_time_us > 0 && envelope.load_time_us > 0
    );
    assert!(envelope.profile.starts_with("wasmtime-48."), "{}", envelope.profile);
    assert_eq!(envelope.changes("state"), [("added", "a")]);
    assert_eq!((envelope.volumes.len(), envelope.mounts.len()), (1, 0));
}

#[test]
fn changed_paths_are_listed_each_with_its_change() {
    let machine = Machine::new();
    machine.probe(&[], &["make-dir", "state/folder"]).answer();
    machine.probe(&[], &["write-text", "state/folder/a", "1"]).answer();
    let changed = machine.probe_envelope(&[], &["write-text", "state/folder/a", "2"]);
    assert_eq!(changed.changes("state"), [("modified", "folder/a")]);
    let read = machine.probe_envelope(&[], &["read-file", "state/folder/a"]);
    assert!(read.kept);
    assert_eq!(read.changes("state"), []);
    assert_eq!(read.volumes["state"].before, changed.volumes["state"].after, "a reading changes no digest");
    let removed = machine.probe_envelope(&[], &["remove", "state/folder", "--all"]);
    assert_eq!(removed.changes("state"), [("removed", "folder"), ("removed", "folder/a")]);
}

#[test]
fn a_failed_run() {
    let machine = Machine::new();
    let envelope = machine.probe_envelope(&[], &["write-then-exit", "state/a", "20"]);
    assert_eq!((envelope.ending.as_str(), envelope.exit_status), ("exited", Some(20)));
    assert_eq!(envelope.output["ok"], false);
    assert!(!envelope.ok && envelope.error.is_none(), "the guest's failure is not the host's");
    envelope.assert_dropped();
}

#[test]
fn a_trapped_run() {
    let machine = Machine::new();
    let ran = machine.probe(&["--envelope"], &["write-then-trap", "state/a"]);
    assert_eq!(ran.status, 45);
    let envelope = ran.envelope();
    assert_eq!((envelope.ending.as_str(), envelope.exit_status), ("trapped", None));
    assert_eq!(envelope.ending_detail.as_deref(), Some("unreachable_code_reached"));
    assert!(!envelope.fuel_exact, "after a trap fuel is a lower bound");
    assert_eq!(envelope.code(), Some("GUEST_TRAPPED"));
    envelope.assert_dropped();
}

#[test]
fn what_a_guest_said_before_it_ended_badly_is_there() {
    let machine = Machine::new();
    let envelope = machine.probe_envelope(&[], &["panic"]);
    assert!(envelope.stderr.contains("the probe was asked to panic"), "{envelope:?}");
    // Also without an envelope, in the report.
    let fault = machine.probe(&[], &["panic"]).fault("GUEST_TRAPPED", 45);
    assert!(fault.details["stderr"].as_str().unwrap().contains("the probe was asked to panic"), "{fault:?}");
    assert_eq!(fault.details["trap"], "unreachable_code_reached");
}

#[test]
fn a_run_that_the_clock_ended_is_marked_as_not_reproducible() {
    let options = ["--limit", "wall_time_ms=50", "--limit", "fuel=1000000000000000"];
    let envelope = Machine::new().probe_envelope(&options, &["spin"]);
    assert_eq!(envelope.unreproducible, ["wall_time"]);
    assert!(!envelope.fuel_exact);
    envelope.assert_dropped();
}

#[test]
fn a_refusal_that_the_guest_copes_with_is_told_and_the_run_is_good() {
    let envelope = Machine::new().probe_envelope(&["--limit", "memory_bytes=2MiB"], &["grow-memory"]);
    assert!(envelope.ok && envelope.kept);
    assert_eq!(envelope.refused, ["memory_bytes"]);
    // By pages: tables and handles take the rest.
    let left = (2 << 20) - envelope.memory_peak_bytes;
    assert!(left < 64 << 10, "{left} bytes could not be used");
}

#[test]
fn a_call_that_is_refused_before_the_guest_starts_has_no_envelope() {
    let machine = Machine::new();
    machine
        .guest(&["--envelope", &crate::support::todo(), "remove", "td_0001", "--confirm"])
        .fault("CONFIRMATION_REQUIRED", 30);
    machine.guest(&["--envelope", "missing", "x"]).fault("PACKAGE_NOT_FOUND", 20);
}

#[test]
fn every_run_and_every_refusal_is_an_entry_of_its_own() {
    let machine = Machine::new();
    let sequence = || machine.probe_envelope(&[], &["return-ok"]).entry;
    let (first, second) = (sequence(), sequence());
    assert_eq!(second.sequence, first.sequence + 1);
    assert_ne!(second.hash, first.hash);
    assert_eq!(first.hash.len(), 64);
    // A failure, a trap, and a refusal.
    machine.probe(&[], &["exit", "3"]);
    machine.probe(&[], &["trap"]);
    machine.probe(&[], &["args", "ghp_0123456789abcdef0123456789abcdef"]).fault("ARGUMENT_REFUSED", 2);
    assert_eq!(sequence().sequence, second.sequence + 4);
    let other = machine.guest(&["--envelope", "--instance", "other", &probe(), "return-ok"]).envelope();
    assert!(other.entry.sequence <= first.sequence, "each instance has a ledger of its own");
}

/// What a guest printed is handed on with all its digits, wherever it is shown.
#[test]
fn a_number_keeps_its_digits_in_every_answer() {
    let (machine, probe) = (Machine::new(), probe());
    let spaced = DIGITS.replace(',', " ,\n ");
    let said = ["--stdin-text", spaced.as_str(), &probe, "stdin-echo"];
    let run = |words: &[&str]| {
        let ran = machine.run(words);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?}: {ran:?}");
        ran.stdout
    };
    assert_eq!(run(&[&["run"], &said[..]].concat()), spaced);
    let output = format!("\"output\":{DIGITS}");
    let shown = |words: &[&str]| {
        let stdout = run(words);
        assert!(stdout.contains(&output) && !stdout.contains("$serde_json"), "{words:?}: {stdout}");
        stdout
    };
    shown(&[&["run", "--envelope"], &said[..]].concat());
    shown(&[&["run", "--envelope", "--fields", "output,kept"], &said[..]].concat());
    shown(&["ledger", "show", &probe, "last"]);
    shown(&["replay", &probe, "last"]);
    let plan = shown(&[&["plan"], &said[..]].concat());
    shown(&[
        "apply",
        &probe,
        serde_json::from_str::<serde_json::Value>(&plan).unwrap()["result"]["plan_id"].as_str().unwrap(),
    ]);
    let call = json!({"id": "1", "arguments": ["stdin-echo"], "stdin": spaced}).to_string();
    let calls = machine.write("calls", &call);
    shown(&["map", "--input", calls.to_str().unwrap(), "--ndjson", &probe]);
    shown(&["map", "--input", calls.to_str().unwrap(), &probe]);
    let file = machine.path("answers");
    run(&["map", "--input", calls.to_str().unwrap(), "--output", file.to_str().unwrap(), &probe]);
    assert!(std::fs::read_to_string(&file).unwrap().contains(&output));
    let batch = json!({"arguments": ["stdin-echo"], "stdin": spaced}).to_string();
    let batch = Ran::with_input(&mut machine.hutch(["run", "--json-input", &probe]), batch.as_bytes());
    assert!(batch.stdout.contains(&output), "{batch:?}");
    // A part of it, whoever chooses.
    for (words, part) in [
        (&["--envelope", "--query", "output.big"][..], "12345678901234567890123"),
        (&["--envelope", "--query", "output.items[*].n"], "[-98765432109876543210987.5]"),
    ] {
        assert_eq!(run(&[&["run"], words, &said[..]].concat()).trim_end(), part);
    }
    assert_eq!(
        run(&[&["run"], &said[..], &["--query", "pi"]].concat()).trim_end(),
        "3.14159265358979323846264338327950288"
    );
    let kept = run(&[&["run"], &said[..], &["--fields", "n"]].concat());
    assert!(kept.contains("{\"n\":-98765432109876543210987.5}"), "{kept}");
    // For people, and without what is not for them.
    for words in [&["run", "--human"][..], &["run", "--human", "--envelope"], &["plan", "--human"]] {
        let told = run(&[words, &said[..]].concat());
        for digits in ["12345678901234567890123", "-98765432109876543210987.5", "3.14159265358979323846264338327950288"]
        {
            assert!(told.contains(digits) && !told.contains("$serde_json"), "{words:?}: {told}");
        }
    }
    let secret = "{\"password\":12345678901234567890123}";
    let redacted = run(&["run", "--redact", "--envelope", "--stdin-text", secret, &probe, "stdin-echo"]);
    assert!(
        !redacted.contains("12345678901234567890123") && redacted.contains("\"output\":{\"password\":\"[redacted]\"}"),
        "{redacted}"
    );
}
