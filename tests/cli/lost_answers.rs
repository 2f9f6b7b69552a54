//! Exit status and state never contradict each other: what can be refused is refused before the run, and an answer that gets lost after
//! it says what is kept and never advises to make the call again.

#![cfg(target_os = "linux")]

use crate::support::{Fault, Machine, Ran, probe, todo, unread};
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Command, Stdio};

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// How many items there are, and how many entries the ledger has, without adding one.
fn items(machine: &Machine) -> (u64, u64) {
    let exported = machine.run(["ledger", "list", "--limit", "1", "--fields", "sequence", &todo()]);
    let entries = if exported.status == 0 { exported.result("ledger list")["total"].as_u64().unwrap() } else { 0 };
    let counted = machine.run(["--dry-run", "run", "--query", "output.total", &todo(), "list"]);
    (counted.stdout.trim().parse().unwrap(), entries)
}

#[test]
fn a_selection_that_no_answer_has_is_refused_before_anything_is_done() {
    let machine = Machine::new();
    let before = items(&machine);
    let package = todo();
    for selection in [
        &["--fields", "nosuch"][..],
        &["--fields", "output,nosuch"],
        &["--query", "nosuch"],
        &["--query", "[0]"],
        &["--query", "entry.nosuch"],
        &["--query", "items[0].status"],
        &["--fields", "fuel", "--query", "output"],
        &["--query", "a..b"],
    ] {
        for command in ["run", "plan"] {
            machine.run([&[command], selection, &[&package, "add", "milk"]].concat()).fault("USAGE", 2);
        }
    }
    assert_eq!(items(&machine), before);
    machine.run(["run", &package, "add", "milk"]).answer();
    machine.run(["plan", &package, "add", "eggs"]).result("plan");
    let before = items(&machine);
    for words in [
        &["apply", &package, "last"][..],
        &["replay", &package, "last"],
        &["undo", &package],
        &["gc", "--yes", &package],
        &["install", &package],
        &["issue", "create", "--type", "bug", "--message", "x"],
        &["init", "made"],
        &["pack", &package],
        &["undo", &package, "--to", "@1"],
    ] {
        let fault = machine.run([words, &["--query", "nosuch"]].concat()).fault("USAGE", 2);
        assert!(fault.message.contains("nosuch"), "{fault:?}");
        machine.run([words, &["--fields", "nosuch"]].concat()).fault("USAGE", 2);
    }
    assert_eq!(items(&machine), before);
    let left: Vec<_> = std::fs::read_dir(machine.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["person"], "nothing was made");
    assert_eq!(machine.run(["issue", "list"]).result("issue list")["total"], 0);
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
}

/// What a kept call says whose answer is lost: where the ledger has it, and never to repeat it.
#[track_caller]
fn assert_kept(machine: &Machine, fault: &Fault) -> Value {
    assert_eq!(fault.details["kept"], true, "{fault:?}");
    assert!(fault.suggestion.contains("do not make it again") && !fault.suggestion.contains("repeat"), "{fault:?}");
    let [fix] = &fault.fixes[..] else { panic!("{fault:?}") };
    assert_eq!(fix.risk, "none");
    // The one thing that is offered shows what was done, and does nothing.
    let words: Vec<&str> = fix.cmd.split(' ').skip(1).collect();
    let shown = machine.run(words).result("ledger show");
    assert_eq!(
        (&shown["sequence"], &shown["hash"]),
        (&fault.details["entry"]["sequence"], &fault.details["entry"]["hash"])
    );
    assert_eq!(shown["record"]["kept"], true);
    shown
}

#[test]
fn a_run_whose_answer_lacks_the_path_says_that_it_is_kept() {
    let machine = Machine::new();
    let package = todo();
    for count in 1..=2 {
        let ran = machine.run(["run", "--query", "output.items[0].ID", &package, "add", "milk"]);
        let fault = ran.fault("NOT_FOUND", 20);
        let shown = assert_kept(&machine, &fault);
        assert_eq!(shown["output"]["items"][0]["id"], format!("td_000{count}"));
        assert_eq!(items(&machine).0, count, "it was made once");
    }
    machine.run(["plan", &package, "add", "eggs"]).result("plan");
    let fault = machine.run(["apply", "--query", "output.nosuch", &package, "last"]).fault("NOT_FOUND", 20);
    assert_kept(&machine, &fault);
    let fault = machine.run(["undo", "--query", "changes.state[9]", &package]).fault("NOT_FOUND", 20);
    assert_kept(&machine, &fault);
    // A plan keeps no state, and a reading none either.
    let fault = machine.run(["plan", "--query", "diff[9]", &package, "add", "x"]).fault("NOT_FOUND", 20);
    assert_eq!(
        (&fault.details["kept"], fault.details["entry"]["sequence"].is_u64()),
        (&json!(false), true),
        "{fault:?}"
    );
    let fault = machine.run(["ledger", "list", "--query", "items[99]", &package]).fault("NOT_FOUND", 20);
    assert_eq!(fault.details["kept"], false);
}

#[test]
fn a_run_that_failed_is_told_as_that_also_where_the_path_is_not_there() {
    let machine = Machine::new();
    let fault =
        machine.run(["run", "--query", "output.items[0].id", &todo(), "get", "td_9999"]).fault("GUEST_FAILED", 20);
    assert_eq!(
        (&fault.details["kept"], fault.details["entry"]["sequence"].as_u64()),
        (&json!(false), Some(2)),
        "{fault:?}"
    );
    let fault = machine.run(["run", "--query", "output.x", &probe(), "trap"]).fault("GUEST_TRAPPED", 45);
    assert_eq!(fault.details["kept"], false);
    // What is there is answered, with the guest's status.
    let ran = machine.run(["run", "--query", "output.error.code", &todo(), "get", "td_9999"]);
    assert_eq!((ran.status, ran.stdout.as_str(), ran.stderr.as_str()), (20, "\"NOT_FOUND\"\n", ""));
}

#[test]
fn an_answer_that_cannot_be_written_says_what_is_kept() {
    let machine = Machine::new();
    let package = todo();
    let lost = |words: &[&str]| Ran::of(machine.hutch(words).stdout(full())).fault("ANSWER_LOST", 50);
    for (count, flags) in [(1, &[][..]), (2, &["--envelope"]), (3, &["--query", "output.items[0].id"])] {
        let words = [&["run"], flags, &[package.as_str(), "add", "milk"]].concat();
        let shown = assert_kept(&machine, &lost(&words));
        assert_eq!(shown["output"]["items"][0]["id"], format!("td_000{count}"));
        assert_eq!(items(&machine).0, count);
    }
    machine.run(["plan", &package, "add", "eggs"]).result("plan");
    assert_kept(&machine, &lost(&["apply", &package, "last"]));
    assert_kept(&machine, &lost(&["undo", &package]));
    assert_kept(&machine, &lost(&["undo", &package, "--to", "@2"]));
    for (words, look) in [
        (&["install", package.as_str()][..], "hutch catalog"),
        (&["init", "made"], "hutch check ./made/package"),
        (&["issue", "create", "--type", "bug", "--message", "x"], "hutch issue show is_0001"),
    ] {
        let fault = lost(words);
        assert_eq!((&fault.details["kept"], fault.fixes[0].cmd.as_str()), (&json!(true), look), "{words:?}");
        let words: Vec<&str> = look.split(' ').skip(1).collect();
        assert_eq!(machine.run(words).status, 0);
    }
    // Where nothing was done, it is said, and that the call may be made again.
    for words in [
        &["catalog"][..],
        &["ledger", "list", &package],
        &["--dry-run", "undo", &package],
        &["run", &package, "get", "td_9999"],
    ] {
        let fault = lost(words);
        assert_eq!(fault.details["kept"], false, "{words:?}");
        assert!(fault.suggestion.contains("repeat"), "{fault:?}");
    }
    let both = machine.hutch(["run", &package, "add", "x"]).stdout(full()).stderr(full()).status().unwrap();
    assert_eq!(both.code(), Some(50));
}

#[test]
fn the_remarks_of_a_guest_do_not_cost_its_answer() {
    let machine = Machine::new();
    let output =
        machine.hutch(["run", &probe(), "stderr", "10"]).stderr(full()).stdout(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(50));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap()["written"], 10);
}

/// Runs with a standard output whose reader is gone before anything is written.
fn to_nobody(command: &mut Command) -> Ran {
    Ran::from_output(command.stdout(unread()).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap())
}

#[test]
fn a_reader_that_goes_away_is_told_what_was_changed_and_nothing_else() {
    let machine = Machine::new();
    let package = todo();
    let fault = to_nobody(&mut machine.hutch(["run", &package, "add", "milk"])).fault("ANSWER_LOST", 50);
    assert_kept(&machine, &fault);
    for words in [&["run", &package, "list"][..], &["plan", &package, "add", "x"], &["catalog"], &["--help"]] {
        let ran = to_nobody(&mut machine.hutch(words));
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{words:?}");
    }
}

#[test]
fn a_list_of_invocations_says_how_many_are_kept() {
    let machine = Machine::new();
    let package = todo();
    let batch = br#"["add","one"] ["get","td_0009"] ["add","two"]"#;
    let call = ["run", "--json-input", &package];
    let fault = Ran::with_input(&mut machine.hutch(call), batch).fault("GUEST_FAILED", 1);
    assert_eq!((&fault.details["kept"], &fault.details["items_kept"]), (&json!(true), &json!(1)), "{fault:?}");
    assert!(!fault.suggestion.contains("details.run"), "{fault:?}");
    assert_eq!(items(&machine).0, 1);
    let script = format!("{} run --json-input --ndjson {package} > /dev/full", crate::support::HUTCH);
    let mut shell = Command::new("/bin/sh");
    let home = machine.path("person");
    shell.args(["-c", &script]).env_clear().env("HOME", home).env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let fault = Ran::with_input(&mut shell, br#"["add","two"] ["add","three"]"#).fault("ANSWER_LOST", 50);
    assert_eq!(
        (&fault.details["kept"], items(&machine).0),
        (&json!(true), 2),
        "the first could not be told: {fault:?}"
    );
}

#[test]
fn what_is_said_of_a_code_is_true_of_it() {
    let machine = Machine::new();
    for (code, kept) in [("ANSWER_LOST", "as details.kept says"), ("HOST_FAULT", "unknown"), ("FUEL_LIMIT", "no")] {
        let meaning = machine.run(["explain-error", code]).result("explain-error")["meanings"][0].take();
        assert_eq!(meaning["state_kept"], kept);
        let text = meaning.to_string();
        assert!(kept == "no" || !text.contains("nothing was changed"), "{text}");
    }
}
