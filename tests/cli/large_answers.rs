//! What is too large for an answer is refused before it takes memory, and what the run did is still told.

use crate::support::{Machine, Ran, probe};
use serde_json::{Value, json};
use std::process::Command;

/// Most bytes of private memory that a call may have, in KiB: a sixth of what reading `bomb` takes.
const DATA_KIB: u32 = 400_000;

/// JSON of about `bytes` bytes that takes more than a hundred times as much when it is read.
fn bomb(bytes: usize) -> String {
    format!("[{}{{\"a\":1}}]", r#"{"a":1},"#.repeat(bytes / 8))
}

/// A call of the program that can't have more private memory than that.
fn narrow(machine: &Machine, arguments: &[&str]) -> Ran {
    let mut shell = Command::new("/bin/sh");
    let called = machine.hutch(arguments);
    shell.arg("-c").arg(format!("ulimit -d {DATA_KIB}; exec \"$0\" \"$@\"")).arg(called.get_program());
    shell.args(called.get_args()).env_clear().current_dir(called.get_current_dir().unwrap());
    shell.envs(called.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(&mut shell)
}

#[test]
fn an_answer_that_would_be_too_large_is_refused_and_the_run_is_kept() {
    let machine = Machine::new();
    let file = machine.write("bomb.json", bomb(7 << 20)).display().to_string();
    let call = ["--stdin-file", &file, &probe(), "stdin-echo"];
    let run = |options: &[&str]| narrow(&machine, &[&["run"], options, &call].concat());
    // The guest's own answer has no such bound.
    let plain = run(&[]);
    assert_eq!((plain.status, plain.stdout.len(), plain.stderr.as_str()), (0, bomb(7 << 20).len(), ""));
    for options in [&["--envelope"][..], &["--query", "output[0].a"], &["--fields", "fuel"], &["--query", "fuel"]] {
        let before = entries(&machine);
        let fault = run(options).fault("ANSWER_LOST", 50);
        assert!(
            fault.message.contains("memory for what of it is JSON") && fault.message.contains("134217728"),
            "{fault:?}"
        );
        assert_eq!((&fault.details["kept"], &fault.details["entry"]["sequence"]), (&json!(true), &json!(before + 1)));
        assert!(fault.suggestion.contains("do not make it again"), "{fault:?}");
        assert!(fault.fixes.iter().all(|fix| fix.cmd.contains("ledger show")), "{fault:?}");
    }
    // Nor is a part of it chosen behind the package without that bound.
    for options in [["--query", "[0].a"], ["--fields", "a"]] {
        let fault = narrow(&machine, &[&["run"], &call[..], &options].concat()).fault("ANSWER_LOST", 50);
        assert!(fault.message.contains("too large to choose from") && fault.details["kept"] == true, "{fault:?}");
    }
    assert_eq!(narrow(&machine, &[&["run"], &call[..], &["--human"]].concat()).status, 0);
    // A preview keeps nothing, and says so; a look into the ledger leaves the document out.
    assert_eq!(run(&["--dry-run"]).fault("ANSWER_LOST", 50).details["kept"], false);
    let shown = narrow(&machine, &["ledger", "show", "probe", "last"]).result("ledger show");
    assert_eq!(shown["output"], Value::Null);
    assert!(shown["output_omitted"].as_str().unwrap().contains("more than 134217728"));
    assert_eq!(shown["stdout"].as_str().unwrap().len(), bomb(7 << 20).len());
}

#[test]
fn what_is_no_json_has_a_bound_too() {
    let machine = Machine::new();
    let limit = ["--contract", "any", "--limit", "stdout_bytes=64MiB"];
    let run = |options: &[&str]| machine.probe(&[&limit[..], options].concat(), &["stdout", "20000000"]);
    assert_eq!(run(&[]).stdout.len(), 20_000_000);
    let fault = run(&["--envelope"]).fault("ANSWER_LOST", 50);
    assert!(fault.message.contains("20000000 bytes, more than 16777216"), "{fault:?}");
    // That a run failed matters more than that its output can't be shown.
    let file = machine.write("prose", "x".repeat(20_000_000)).display().to_string();
    let limits = ["--limit", "stdout_bytes=64MiB", "--limit", "stdin_bytes=64MiB", "--stdin-file", &file, "--envelope"];
    let fault = machine.probe(&limits, &["stdin-echo"]).fault("CONTRACT_VIOLATION", 46);
    assert_eq!(fault.details["kept"], false);
}

#[test]
fn all_invocations_of_a_list_have_one_bound() {
    let machine = Machine::new();
    let call = json!({"arguments": ["stdin-echo"], "stdin": bomb(700_000)});
    let list = json!([call, call, call]).to_string();
    let run =
        |option: &str| Ran::with_input(&mut machine.hutch(["run", "--json-input", option, &probe()]), list.as_bytes());
    let fault = run("--no-ndjson").fault("ANSWER_LOST", 50);
    assert_eq!((&fault.details["index"], &fault.details["items_kept"]), (&json!(1), &json!(2)));
    assert_eq!((&fault.details["kept"], fault.details["items"].as_array().unwrap().len()), (&json!(true), 2));
    let lines = run("--ndjson");
    assert_eq!((lines.status, lines.stdout.lines().count(), lines.stderr.as_str()), (0, 3, ""));
}

#[test]
fn a_plan_compares_what_can_be_read_and_says_what_it_left_out() {
    let machine = Machine::new();
    machine.probe(&[], &["write-file", "state/long", "300000"]).answer();
    machine.probe(&[], &["write-text", "state/short", "old"]).answer();
    for (arguments, text, omitted) in [
        (&["append-text", "state/long", "x"][..], None, Some("256")),
        (&["append-text", "state/short", "er"], Some("+older"), None),
    ] {
        let planned = machine.run([&["plan", "--query", "diff[0]", &probe()], arguments].concat()).answer();
        assert_eq!(
            planned["text"].as_str().map(|shown| text.is_some_and(|text| shown.contains(text))),
            text.map(|_| true)
        );
        let said = planned["omitted"].as_str();
        assert_eq!(said.is_some(), omitted.is_some(), "{planned}");
        assert!(said.is_none_or(|said| said.contains("more than 262144")), "{planned}");
    }
}

/// How many entries the probe's ledger has.
fn entries(machine: &Machine) -> u64 {
    machine.run(["ledger", "list", "--query", "total", "probe"]).answer().as_u64().unwrap()
}
