//! A guest's failure is never silent, and people read the guest's own words first.

use crate::support::{Machine, Ran, package, probe, todo};
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

/// Where it went wrong stands at the end of what a runtime prints, often far from the beginning.
#[test]
fn what_a_guest_wrote_before_it_broke_down_is_told_to_its_end() {
    let machine = Machine::new();
    let (first, last) = ("this is the first line\n", "the probe was asked to panic at the end\n");
    let call = |options: &[&str], bytes: &str| machine.run([options, &[&probe(), "stderr-then-panic", bytes]].concat());
    let fault = call(&["run"], "20000").fault("GUEST_TRAPPED", 45);
    let stderr = fault.details["stderr"].as_str().unwrap();
    assert!(stderr.starts_with(first) && stderr.contains(last) && stderr.len() > 20_000, "{stderr}");
    assert!(fault.details.get("stderr_bytes").is_none() && fault.details["stdout"] == "", "{:?}", fault.details);
    let people = call(&["run", "--human"], "20000");
    assert_eq!((people.status, people.stdout.as_str()), (45, ""));
    assert!(people.stderr.contains(first) && people.stderr.contains(last.trim_end()), "{people:?}");
    assert!(!people.stderr.contains("bytes are not shown"), "{people:?}");

    // Both ends of what is long, and how much is missing between them.
    let fault = call(&["run"], "200000").fault("GUEST_TRAPPED", 45);
    let stderr = fault.details["stderr"].as_str().unwrap();
    assert!(stderr.starts_with(first) && stderr.contains(last), "{stderr}");
    let [bytes, omitted] = ["stderr_bytes", "stderr_omitted_bytes"].map(|name| fault.details[name].as_u64().unwrap());
    assert!(bytes > 200_000 && bytes - omitted == 64 << 10, "{bytes} {omitted}");
    assert!(stderr.len() < (64 << 10) + 100 && stderr.contains(&format!("\n[{omitted} bytes are not shown]\n")));
    let people = call(&["run", "--human"], "200000");
    assert!(people.stderr.contains(last.trim_end()), "{people:?}");
    assert!(people.stderr.contains(&format!("[{omitted} bytes are not shown]")), "{people:?}");
    // All of it is kept, and in what asks for all of it.
    let entry = machine.run(["ledger", "show", &probe(), "last"]).result("ledger show");
    assert_eq!(entry["stderr"].as_str().unwrap().len() as u64, bytes);
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

/// Also when the refusal comes from the cache, where it lies with the feature's name.
#[test]
fn what_a_component_needs_and_this_host_has_not_is_named() {
    let threads = b"\0asm\x01\0\0\0\x05\x04\x01\x03\x01\x01";
    let streams = b"\0asm\x0d\0\x01\0\x07\x04\x01\x66\x01\x7d";
    for (payload, feature, words) in [
        (&threads[..], "threads", "it needs threads, which this host does not have"),
        (streams, "wasi_0_3", "it needs WASI 0.3 (functions that wait, streams and futures), which"),
    ] {
        let machine = Machine::new();
        let package = package::with_payload(&machine, "package", payload);
        for _ in 0..2 {
            let fault = machine.guest(&[package.to_str().unwrap(), "return-ok"]).fault("COMPONENT_INVALID", 2);
            assert_eq!(fault.details["feature"], feature, "{fault:?}");
            assert!(fault.message.contains(words), "{fault:?}");
        }
    }
    // What is broken lacks nothing.
    let machine = Machine::new();
    let package = package::with_payload(&machine, "broken", b"\0asm\x01\0\0\0\x05\x04");
    let fault = machine.guest(&[package.to_str().unwrap(), "return-ok"]).fault("COMPONENT_INVALID", 2);
    assert!(fault.details.get("feature").is_none(), "{fault:?}");
}
