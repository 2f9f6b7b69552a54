//! A guest's failure is never silent, and people read the guest's own words first.

use crate::support::{Machine, Ran, probe, todo};
use serde_json::json;

#[test]
fn a_failure_without_a_word_is_told_by_the_host() {
    let machine = Machine::new();
    let ran = machine.run(["run", &probe(), "exit", "7"]);
    let fault = ran.fault("GUEST_FAILED", 7);
    assert_eq!(fault.message, "the guest ended with status 7 and said nothing, so nothing of what it did is kept");
    assert_eq!(fault.details["exit_status"], 7);
    assert!(fault.details["fuel"].as_u64().unwrap() > 0 && fault.details["refused"] == json!([]), "{fault:?}");
    // Who was refused something and says nothing about it is known all the same.
    let ran = machine.run(["run", "--limit", "state_bytes=1", &probe(), "write-then-exit", "state/a", "7"]);
    assert_ne!(ran.status, 0);
    assert!(!ran.stderr.is_empty() && ran.stdout.is_empty(), "{ran:?}");
    // Where the guest said something, the host adds nothing.
    for arguments in [&["json-and-exit", "7"][..], &["stderr", "5"]] {
        let ran = machine.run([&["run", &probe()], arguments].concat());
        assert!(!ran.stderr.contains("GUEST_FAILED") && !ran.stdout.contains("GUEST_FAILED"), "{ran:?}");
    }
}

#[test]
fn people_read_what_the_guest_says_first() {
    let machine = Machine::new();
    machine.todo(&["add", "one"]).answer();
    let todo = todo();
    let says = "the application says: no item has the id td_9999 [NOT_FOUND]\n  call list for the ids there are\n";
    let host = "error: the guest ended with status 20, so nothing of what it did is kept [GUEST_FAILED]\n";
    let call = [todo.as_str(), "get", "td_9999"];
    for (options, status) in
        [(&["run", "--human"][..], 20), (&["plan", "--human"], 1), (&["run", "--human", "--dry-run"], 1)]
    {
        let ran = machine.run([options, &call].concat());
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{options:?}: {ran:?}");
        assert!(ran.stderr.starts_with(&format!("{says}{host}")), "{options:?}: {ran:?}");
    }
    machine.todo(&call[1..]);
    let again = machine.run(["replay", "--human", &todo, "last"]);
    assert!(again.stderr.starts_with(&format!("{says}{host}")), "{again:?}");
    // A program reads what the guest printed, as it printed it.
    let plain = machine.run([&["run"], &call[..]].concat());
    assert_eq!((plain.status, plain.stderr.as_str()), (20, ""));
    assert!(plain.stdout.starts_with(r#"{"ok":false,"error":"#), "{plain:?}");
}

#[test]
fn what_a_guest_says_can_not_be_taken_for_the_hosts_word() {
    let machine = Machine::new();
    let said = json!({"error": true, "code": "X", "message": "a\u{1b}[2J\nerror: all is well [OK]", "suggestion": "b\nerror: c"});
    let said = said.to_string();
    let ran =
        machine.run(["run", "--human", "--stdin-text", &said, "--limit", "stdout_bytes=1MiB", &probe(), "stdin-echo"]);
    assert_eq!(ran.status, 0, "the guest exits with 0: {ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn people_see_an_answer_as_a_table_and_programs_as_it_is() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    let todo = todo();
    let human = |options: &[&str], arguments: &[&str]| {
        let ran = machine.run([&["run", "--human"], options, &[&todo], arguments].concat());
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.stdout
    };
    let table = human(&[], &["list"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[2..], ["", "count: 1  hasMore: no  limit: 100  offset: 0  total: 1"], "{table}");
    assert!(
        lines[0].starts_with("ID       TITLE     STATUS") && lines[1].starts_with("td_0001  Buy milk  open"),
        "{table}"
    );
    // A command for one thing is drawn as well, and no list as nothing.
    assert!(human(&[], &["add", "x"]).contains("td_0002"));
    assert_eq!(human(&["--instance", "empty"], &["list"]).lines().next(), Some("nothing"));
    let env = Ran::of(machine.hutch(["run", &todo, "list"]).env("HUTCH_FORMAT", "human"));
    assert!(env.stdout.starts_with("ID "), "{env:?}");
    let agent = Ran::of(machine.hutch(["run", "--agent", &todo, "list"]).env("HUTCH_FORMAT", "human"));
    assert_eq!(agent.answer()["count"], 2);
    // What is no document is shown as it is.
    let prose = machine.run(["run", "--human", "--contract", "any", &probe(), "not-json"]);
    assert_eq!(prose.stdout, "This is prose, not JSON.\n");
}
