//! What is said while something takes longer than a second, where, and that nothing is said anywhere else.

use crate::support::terminal::Terminal;
use crate::support::{Machine, Ran, package, probe};
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
    machine.run(["--progress", "--no-progress", "catalog"]).fault("USAGE", 2);
}

#[test]
fn a_list_says_how_far_it_is() {
    let machine = Machine::new();
    let package = probe();
    let call = [&["run", "--progress", "--json-input", "--ndjson"], &SLOW[..], &[&package]].concat();
    let ran = Ran::with_input(&mut machine.hutch(call), b"[\"return-ok\"] [\"spin\"]");
    assert_eq!((ran.status, ran.stdout.lines().count()), (40, 2), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.pop().unwrap()["code"], "WALL_TIME_LIMIT", "the failure stands last");
    let far: Vec<_> = said.iter().map(|said| (&said["progress"]["done"], &said["progress"]["total"])).collect();
    assert!(!far.is_empty() && far.iter().all(|far| *far == (&json!(1), &json!(2))), "{ran:?}");
}

/// Nobody knows how many lines there will be.
#[test]
fn a_job_counts_its_calls() {
    let machine = Machine::new();
    let slow = ["--limit", "wall_time_ms=700", "--limit", "fuel=1000000000000000"];
    let package = probe();
    let call = [&["map", "--progress", "--ndjson", "--threads", "1"][..], &slow, &[&package]].concat();
    let lines: String = (0..3).map(|id| format!("{{\"id\":{id},\"arguments\":[\"spin\"]}}\n")).collect();
    let ran = Ran::with_input(&mut machine.hutch(call), lines.as_bytes());
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 3), "{ran:?}");
    let said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let done: Vec<u64> = said.iter().filter_map(|said| said["progress"]["done"].as_u64()).collect();
    assert!(done.contains(&1) && done.is_sorted(), "{ran:?}");
    assert!(
        said.iter().all(|said| said["progress"]["step"] == "map" && said["progress"]["total"].is_null()),
        "{ran:?}"
    );
}

#[test]
fn what_is_quick_says_nothing() {
    let machine = Machine::new();
    machine.probe(&[], &["return-ok"]).answer();
    for words in [&["run", &probe(), "return-ok"][..], &["check", &probe()], &["catalog"], &["--version"]] {
        let terminal = Terminal::open();
        let mut command = machine.hutch([&["--progress"], words].concat());
        assert!(command.stdout(Stdio::null()).stderr(terminal.end()).status().unwrap().success());
        drop(command);
        assert_eq!(terminal.printed(), "", "{words:?}");
        assert_eq!(machine.run([&["--progress"], words].concat()).stderr, "", "{words:?}");
    }
}

/// A module whose compilation takes time with the square of one function's length, just within what such may have.
fn slow_to_compile() -> Vec<u8> {
    let number = |mut value: usize| {
        // Of five bytes, whatever it is.
        let bytes: [u8; 5] = std::array::from_fn(|at| {
            let byte = (value & 0x7f) as u8;
            value >>= 7;
            if at < 4 { byte | 0x80 } else { byte }
        });
        bytes
    };
    let section = |id: u8, bytes: &[u8]| [&[id][..], &number(bytes.len()), bytes].concat();
    // (block (local.set 0 (i32.add (i32.const 1) (local.get 0))))
    let block = [0x02, 0x40, 0x41, 0x01, 0x20, 0x00, 0x6a, 0x21, 0x00, 0x0b];
    let body = [&[0x00][..], &block.repeat(50_000), &[0x0b]].concat();
    [
        b"\0asm\x01\0\0\0",
        &section(1, b"\x01\x60\x01\x7f\x00")[..],
        &section(3, b"\x01\x00"),
        &section(10, &[&[0x01][..], &number(body.len()), &body].concat()),
    ]
    .concat()
}

#[test]
fn compiling_many_says_how_far_it_is() {
    let machine = Machine::new();
    let package = package::with_payload(&machine, "slow", &slow_to_compile()).display().to_string();
    let words = ["compile", "--progress", "--limit", "compile_time_ms=1500", "missing", &package];
    let ran = Ran::of(machine.hutch(words).env("XDG_CACHE_HOME", machine.path("cache")));
    assert_eq!((ran.status, ran.stdout.as_str()), (20, ""), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = said.pop().unwrap();
    assert_eq!(last["details"]["packages"][1]["error"]["code"], "COMPILE_TIME_LIMIT", "{last}");
    let far = |said: &Value| (said["progress"]["done"].clone(), said["progress"]["total"].clone());
    assert!(!said.is_empty() && said.iter().all(|said| far(said) == (json!(1), json!(2))), "{ran:?}");
}

#[test]
fn a_compilation_says_that_it_goes_on() {
    // With caches of their own: what was too slow is remembered.
    let slow = |machine: &Machine, flags: &[&str]| {
        let package = package::with_payload(machine, "slow", &slow_to_compile());
        let words = ["run", "--limit", "compile_time_ms=1500", package.to_str().unwrap(), "return-ok"];
        let mut command = machine.hutch([flags, &words].concat());
        command.env("XDG_CACHE_HOME", machine.path("cache"));
        command
    };
    let machine = Machine::new();
    let ran = Ran::of(&mut slow(&machine, &["--progress"]));
    assert_eq!((ran.status, ran.stdout.as_str()), (40, ""), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.pop().unwrap()["code"], "COMPILE_TIME_LIMIT", "the failure stands last");
    assert!(!said.is_empty() && said.iter().all(|said| said["progress"]["step"] == "compile"), "{ran:?}");
    // The second time nothing goes on, and nothing is said.
    let again = Ran::of(&mut slow(&machine, &["--progress"]));
    assert_eq!((again.stderr.lines().count(), again.status), (1, 40), "{again:?}");

    let (machine, terminal) = (Machine::new(), Terminal::open());
    let mut command = slow(&machine, &[]);
    let status = command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.end()).status().unwrap();
    drop(command);
    let printed = terminal.printed();
    assert_eq!(status.code(), Some(40), "{printed:?}");
    assert!(printed.starts_with("\rhutch: compile, 1 s"), "{printed:?}");
}
