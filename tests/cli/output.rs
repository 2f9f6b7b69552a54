//! Where answers go when nobody listens, when there is no room, and when a person looks.

use crate::support::{Machine, Ran, probe};
use std::process::Stdio;

#[test]
fn a_reader_that_goes_away_ends_nothing_badly() {
    let machine = Machine::new();
    let mut command = machine.hutch(["run", &probe(), "stdout", "4000000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::from_output(child.wait_with_output().unwrap());
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    let mut command = machine.hutch(["--help"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(Ran::from_output(child.wait_with_output().unwrap()).stderr, "");
}

#[test]
fn closed_standard_error_hides_the_report_and_not_the_status() {
    let machine = Machine::new();
    let mut child = machine.hutch(["run", "missing"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(20));
}

#[test]
fn large_output_comes_out_whole() {
    let ran = Machine::new().probe(&[], &["stdout", "8000000"]);
    assert_eq!((ran.status, ran.stdout.len()), (0, 8_000_000));
    assert_eq!(ran.stdout, format!("\"{}\"", "x".repeat(7_999_998)));
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_no_control_characters_of_a_guest() {
    use crate::support::terminal::Terminal;
    let machine = Machine::new();
    let wild = "\u{1b}[2J\u{1b}]0;title\u{7}red\u{202e}\n";
    let terminal = Terminal::open();
    let options = ["--no-progress", "run", "--contract", "any", "--stdin-text", wild, &probe(), "stdin-echo"];
    let ended = machine.hutch(options).stdout(terminal.end()).stderr(terminal.end()).status().unwrap();
    assert!(ended.success());
    assert_eq!(terminal.printed(), "\u{fffd}[2J\u{fffd}]0;title\u{fffd}red\u{fffd}\n");
    // Through a pipe every byte is the guest's.
    assert_eq!(machine.run(options).stdout, wild);
}

#[cfg(unix)]
#[test]
fn documents_are_indented_on_a_terminal_and_one_line_elsewhere() {
    use crate::support::terminal::Terminal;
    let machine = Machine::new();
    let terminal = Terminal::open();
    assert!(machine.hutch(["--version"]).stdout(terminal.end()).status().unwrap().success());
    let printed = terminal.printed();
    let piped = machine.run(["--version"]).stdout;
    assert!(printed.lines().count() > 1 && piped.lines().count() == 1, "{printed:?} {piped:?}");
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&printed), parse(&piped));
}

/// A limit knows bytes: what it leaves of a character is shown as what it is, and kept as it was.
#[test]
fn a_character_that_a_limit_cuts_in_two_is_no_failure_of_the_host() {
    let machine = Machine::new();
    for (text, bytes) in [("é", 1), ("abé", 3), ("\u{1f980}", 1), ("\u{1f980}", 2), ("\u{1f980}", 3)] {
        let limit = format!("stdout_bytes={bytes}");
        let options = ["--contract", "any", "--limit", &limit, "--stdin-text", text];
        machine.probe(&options, &["stdin-echo"]).fault("STDOUT_LIMIT", 43);
        let envelope = machine.probe_envelope(&options, &["stdin-echo"]);
        assert_eq!(envelope.code(), Some("STDOUT_LIMIT"));
        envelope.assert_dropped();
        let shown = machine.run(["ledger", "show", &probe(), "last"]).result("ledger show");
        assert_eq!(shown["record"]["outcome"]["stdout"]["size"], bytes);
    }
    assert_eq!(machine.run(["verify", "--all", &probe()]).result("verify")["differ"], 0);
}

/// What a guest says goes through a pipe as it is; where the host tells of it, what nobody sees is written so that it is seen.
#[test]
fn documents_of_the_host_escape_what_nobody_sees() {
    let machine = Machine::new();
    let probe = probe();
    let said = serde_json::json!({"a\u{200b}": "x\u{e0041}\u{202e}\u{7f}", "seen": "👩\u{200d}🚀 ünïcode"});
    let (text, hidden) = (said.to_string(), ['\u{200b}', '\u{202e}', '\u{e0041}', '\u{7f}']);
    let run = ["run", "--stdin-text", &text];
    assert_eq!(machine.run([&run[..], &[&probe, "stdin-echo"]].concat()).stdout, text);
    let missing = "state/no\u{200b}where\u{e0041}";
    for words in [
        &["--envelope", &probe, "stdin-echo"][..],
        &["--query", "output", &probe, "stdin-echo"],
        &["--guard", "off", "--limit", "fuel=1", &probe, "read-file", missing],
        &["--guard", "off", "--no\u{200b}flag\u{e0041}", &probe, "read-file", missing],
    ] {
        let ran = machine.run([&run[..], words].concat());
        let told = if ran.status == 0 { &ran.stdout } else { &ran.stderr };
        let document = serde_json::from_str::<serde_json::Value>(told).unwrap();
        assert!(!told.contains(hidden), "{words:?}: {told:?}");
        if ran.status == 0 {
            assert!(told.contains("👩\u{200d}🚀 ünïcode"), "{told:?}");
            assert!([&document["result"]["output"], &document].contains(&&said), "{told}");
        }
    }
    let shown = machine.run(["ledger", "list", "--ndjson", &probe]);
    assert!(!shown.stdout.contains(hidden) && shown.stdout.contains("\\udb40\\udc41"), "{shown:?}");
}
