//! What is said while something takes longer than a second, where, and that nothing is said anywhere else.

use crate::support::terminal::Terminal;
use crate::support::{Machine, Ran, probe};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};

/// A run that its wall time ends after more than a second.
const SLOW: [&str; 4] = ["--limit", "wall_time_ms=1500", "--limit", "fuel=1000000000000000"];

fn slow(machine: &Machine, flags: &[&str]) -> Command {
    machine.hutch([flags, &["run"], &SLOW, &[&probe(), "spin"]].concat())
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn ended(child: Child) -> Ran {
    Ran::from_output(child.wait_with_output().unwrap())
}

fn error(line: &str) -> Value {
    let error: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    assert_eq!(error["code"], "WALL_TIME_LIMIT");
    error
}

#[test]
fn a_terminal_shows_one_line_that_is_gone_at_the_end() {
    let machine = Machine::new();
    let started =
        [&[][..], &["--progress"], &["--no-progress"], &["--quiet"], &["--quiet", "--progress"]].map(|flags| {
            let terminal = Terminal::open();
            let mut command = slow(&machine, flags);
            let child = command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.end()).spawn().unwrap();
            // The command keeps its end of the terminal.
            drop(command);
            (flags, child, terminal)
        });
    for (flags, mut child, terminal) in started {
        assert_eq!(child.wait().unwrap().code(), Some(40), "{flags:?}");
        let printed = terminal.printed();
        assert!(!printed.contains('\u{1b}'), "no colour, and nothing that some terminals do not know: {printed:?}");
        let silent = flags.contains(&"--quiet") || flags.contains(&"--no-progress");
        if silent {
            assert!(!printed.contains('\r'), "{flags:?}: {printed:?}");
            error(&printed);
            continue;
        }
        let parts: Vec<&str> = printed.split('\r').collect();
        let [nothing, said @ .., erased, last] = &parts[..] else { panic!("{flags:?}: {printed:?}") };
        assert_eq!((*nothing, said.first()), ("", Some(&"hutch: run, 1 s")), "{flags:?}: {printed:?}");
        assert!(said.iter().all(|said| said.starts_with("hutch: run, ")), "{flags:?}: {printed:?}");
        assert_eq!(*erased, " ".repeat(said[said.len() - 1].len()), "{flags:?}: {printed:?}");
        error(last);
    }
}

#[test]
fn a_pipe_gets_json_lines_if_asked_and_one_error_else() {
    let machine = Machine::new();
    let all = [&[][..], &["--no-progress"], &["--progress"], &["--progress", "--quiet"]];
    let started = all.map(|flags| (flags, start(&mut slow(&machine, flags))));
    for (flags, child) in started {
        let ran = ended(child);
        assert_eq!((ran.status, ran.stdout.as_str()), (40, ""), "{flags:?}: {ran:?}");
        let lines: Vec<&str> = ran.stderr.lines().collect();
        let (last, said) = lines.split_last().unwrap();
        error(last);
        assert_eq!(!said.is_empty(), flags == ["--progress"], "{flags:?}: {ran:?}");
        for said in said {
            let said: Value = serde_json::from_str(said).unwrap();
            let elapsed = said["progress"]["elapsed_ms"].as_u64().unwrap();
            assert!(elapsed >= 1000, "{said}");
            assert_eq!(said, json!({"progress": {"step": "run", "elapsed_ms": elapsed}}));
        }
    }
    machine.run(["--progress", "--no-progress", "list"]).fault("USAGE", 2);
}

#[test]
fn a_list_says_how_far_it_is() {
    let machine = Machine::new();
    let package = probe();
    let call = [&["run", "--progress", "--json-input", "--keep-going", "--ndjson"], &SLOW[..], &[&package]].concat();
    let ran = Ran::with_input(&mut machine.hutch(call), b"[\"spin\"] [\"spin\"]");
    assert_eq!((ran.status, ran.stdout.lines().count()), (40, 2), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.pop().unwrap()["code"], "WALL_TIME_LIMIT", "the failure stands last");
    let far: Vec<_> = said.iter().map(|said| (&said["progress"]["done"], &said["progress"]["total"])).collect();
    assert!(far.starts_with(&[(&json!(0), &json!(2))]) && far.ends_with(&[(&json!(1), &json!(2))]), "{ran:?}");
}

#[test]
fn what_is_quick_says_nothing() {
    let machine = Machine::new();
    machine.probe(&[], &["return-ok"]).answer();
    for words in [&["run", &probe(), "return-ok"][..], &["check", &probe()], &["list"], &["--version"]] {
        let terminal = Terminal::open();
        let mut command = machine.hutch([&["--progress"], words].concat());
        assert!(command.stdout(Stdio::null()).stderr(terminal.end()).status().unwrap().success());
        drop(command);
        assert_eq!(terminal.printed(), "", "{words:?}");
        assert_eq!(machine.run([&["--progress"], words].concat()).stderr, "", "{words:?}");
    }
}
