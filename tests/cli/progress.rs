//! What is said while something takes longer than a second, where, and that nothing is said anywhere else.
//!
//! Who says it is a thread, which a machine that is busy elsewhere may let wait: what ends before it came to that is done again, and takes
//! longer.

use crate::support::terminal::Terminal;
use crate::support::{Machine, Ran, again_until, package, probe};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// For how long guests run that their wall time ends after more than a second, in milliseconds; the later ones where it was not enough.
const LONG: [u64; 4] = [1_500, 6_000, 24_000, 96_000];

/// Limits by which a guest is ended after this time.
fn ended_after(time_ms: u64) -> [String; 4] {
    ["--limit", &format!("wall_time_ms={time_ms}"), "--limit", "fuel=1000000000000000"].map(str::to_owned)
}

fn slow(machine: &Machine, flags: &[&str], time_ms: u64) -> Command {
    let limits = ended_after(time_ms);
    machine.hutch([flags, &["run"], &limits.each_ref().map(String::as_str), &[&probe(), "spin"]].concat())
}

/// What something comes to that takes so long, or longer, until something was said meanwhile.
fn long_enough<T>(call: impl Fn(u64) -> T, is_told: impl Fn(&T) -> bool) -> T {
    let [shorter @ .., longest] = LONG;
    shorter.into_iter().map(&call).find(&is_told).unwrap_or_else(|| call(longest))
}

/// The seconds in a line about a step.
fn seconds(said: &str, step: &str) -> u64 {
    let seconds = said.strip_prefix(&format!("hutch: {step}, ")).and_then(|rest| rest.trim_end().strip_suffix(" s"));
    seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or_else(|| panic!("{said:?}"))
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
    let begin = |flags: &[&str], time_ms: u64| {
        let terminal = Terminal::open();
        let mut command = slow(&machine, flags, time_ms);
        let child = command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.end()).spawn().unwrap();
        // The command keeps its end of the terminal.
        drop(command);
        (child, terminal)
    };
    let printed = |(mut child, terminal): (Child, Terminal)| {
        assert_eq!(child.wait().unwrap().code(), Some(40));
        terminal.printed()
    };
    let started = [&[][..], &["--progress"], &["--no-progress"], &["--quiet"], &["--quiet", "--progress"]]
        .map(|flags| (flags, begin(flags, LONG[0])));
    for (flags, first) in started {
        let mut printed_by = printed(first);
        let silent = flags.contains(&"--quiet") || flags.contains(&"--no-progress");
        if !silent && !printed_by.contains('\r') {
            printed_by = long_enough(|time_ms| printed(begin(flags, time_ms)), |printed| printed.contains('\r'));
        }
        let printed = printed_by;
        assert!(!printed.contains('\u{1b}'), "no colour, and nothing that some terminals do not know: {printed:?}");
        if silent {
            assert!(!printed.contains('\r'), "{flags:?}: {printed:?}");
            error(&printed);
            continue;
        }
        let parts: Vec<&str> = printed.split('\r').collect();
        let [nothing, said @ .., erased, last] = &parts[..] else { panic!("{flags:?}: {printed:?}") };
        assert_eq!(*nothing, "", "{flags:?}: {printed:?}");
        let times: Vec<u64> = said.iter().map(|said| seconds(said, "run")).collect();
        assert!(times.first() >= Some(&1) && times.is_sorted(), "{flags:?}: {printed:?}");
        assert_eq!(*erased, " ".repeat(said[said.len() - 1].len()), "{flags:?}: {printed:?}");
        error(last);
    }
}

#[test]
fn a_pipe_gets_json_lines_if_asked_and_one_error_else() {
    let machine = Machine::new();
    let all = [&[][..], &["--no-progress"], &["--progress"], &["--progress", "--quiet"]];
    let started = all.map(|flags| (flags, start(&mut slow(&machine, flags, LONG[0]))));
    for (flags, child) in started {
        let mut ran = ended(child);
        if flags == ["--progress"] && ran.stderr.lines().count() == 1 {
            ran = long_enough(
                |time_ms| Ran::of(&mut slow(&machine, flags, time_ms)),
                |ran| ran.stderr.lines().count() > 1,
            );
        }
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
    let call = |time_ms| {
        let limits = ended_after(time_ms);
        let limits = limits.each_ref().map(String::as_str);
        let call = [&["run", "--progress", "--json-input", "--ndjson"], &limits[..], &[&package]].concat();
        Ran::with_input(&mut machine.hutch(call), b"[\"return-ok\"] [\"spin\"]")
    };
    let ran = long_enough(call, |ran| ran.stderr.lines().count() > 1);
    assert_eq!((ran.status, ran.stdout.lines().count()), (40, 2), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.pop().unwrap()["code"], "WALL_TIME_LIMIT", "the failure stands last");
    let far: Vec<_> = said.iter().map(|said| (&said["progress"]["done"], &said["progress"]["total"])).collect();
    // The first of them is as quick as the machine lets it be.
    assert!(far.is_sorted_by_key(|(done, _)| done.as_u64()), "{ran:?}");
    assert!(far.last() == Some(&(&json!(1), &json!(2))), "{ran:?}");
}

/// Nobody knows how many lines there will be.
#[test]
fn a_job_counts_its_calls() {
    let machine = Machine::new();
    let package = probe();
    let lines: String = (0..3).map(|id| format!("{{\"id\":{id},\"arguments\":[\"spin\"]}}\n")).collect();
    let done = |ran: &Ran| -> Vec<Option<u64>> {
        let said = ran.stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let of_all = said.filter(|said| said["progress"]["step"] == "map");
        of_all.map(|said| said["progress"]["done"].as_u64()).collect()
    };
    let call = |time_ms: u64| {
        // Half as long: something is said while the second of them goes on.
        let limits = ended_after(time_ms / 2);
        let limits = limits.each_ref().map(String::as_str);
        let call = [&["map", "--progress", "--ndjson", "--threads", "1"], &limits[..], &[&package]].concat();
        Ran::with_input(&mut machine.hutch(call), lines.as_bytes())
    };
    let ran = long_enough(call, |ran| done(ran).contains(&Some(1)));
    assert_eq!((ran.status, ran.stdout.lines().count()), (0, 3), "{ran:?}");
    assert!(done(&ran).contains(&Some(1)) && done(&ran).is_sorted(), "{ran:?}");
    let said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        // A call that goes on for longer than a second is told of too.
        said.iter().all(|said| {
            let told = &said["progress"];
            (told["step"] == "map" || told["step"] == "run") && told["total"].is_null()
        }),
        "{ran:?}"
    );
}

#[test]
fn what_is_quick_says_nothing() {
    let machine = Machine::new();
    machine.probe(&[], &["return-ok"]).answer();
    for words in [&["run", &probe(), "return-ok"][..], &["check", &probe()], &["catalog"], &["--version"]] {
        let words = [&["--progress"], words].concat();
        // On a busy machine some of them may take long, and say so: then they are not what this is about.
        let quick = |call: &dyn Fn() -> String| {
            let timed = || {
                let since = Instant::now();
                let said = call();
                (since.elapsed(), said)
            };
            let (took, said) = again_until(timed, |(took, _)| *took < Duration::from_secs(1));
            assert!(took < Duration::from_secs(1), "{words:?} takes {took:?}");
            said
        };
        let on_terminal = || {
            let terminal = Terminal::open();
            let mut command = machine.hutch(&words);
            assert!(command.stdout(Stdio::null()).stderr(terminal.end()).status().unwrap().success());
            drop(command);
            terminal.printed()
        };
        assert_eq!(quick(&on_terminal), "", "{words:?}");
        assert_eq!(quick(&|| machine.run(&words).stderr), "", "{words:?}");
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

/// Tries what is to be said while something is compiled whose time is up after 1.5 s, each time with a cache of its own, for what was too slow
/// is remembered. It can't be given more time: it would come to its end.
fn until_said<T>(compile: impl Fn(&Machine) -> T, is_said: impl Fn(&T) -> bool) -> (Machine, T) {
    let compiled = || {
        let machine = Machine::new();
        let came = compile(&machine);
        (machine, came)
    };
    again_until(compiled, |(_, came)| is_said(came))
}

#[test]
fn compiling_many_says_how_far_it_is() {
    let compile = |machine: &Machine| {
        let package = package::with_payload(machine, "slow", &slow_to_compile()).display().to_string();
        let words = ["compile", "--progress", "--limit", "compile_time_ms=1500", "missing", &package];
        Ran::of(machine.hutch(words).env("XDG_CACHE_HOME", machine.path("cache")))
    };
    let (_, ran) = until_said(compile, |ran| ran.stderr.lines().count() > 1);
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
    let compile = |machine: &Machine| Ran::of(&mut slow(machine, &["--progress"]));
    let (machine, ran) = until_said(compile, |ran| ran.stderr.lines().count() > 1);
    assert_eq!((ran.status, ran.stdout.as_str()), (40, ""), "{ran:?}");
    let mut said: Vec<Value> = ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.pop().unwrap()["code"], "COMPILE_TIME_LIMIT", "the failure stands last");
    assert!(!said.is_empty() && said.iter().all(|said| said["progress"]["step"] == "compile"), "{ran:?}");
    // The second time nothing goes on, and nothing is said.
    let again = compile(&machine);
    assert_eq!((again.stderr.lines().count(), again.status), (1, 40), "{again:?}");

    let on_terminal = |machine: &Machine| {
        let terminal = Terminal::open();
        let mut command = slow(machine, &[]);
        let status = command.env("TERM", "xterm").stdout(Stdio::null()).stderr(terminal.end()).status().unwrap();
        drop(command);
        (status.code(), terminal.printed())
    };
    let (_, (status, printed)) = until_said(on_terminal, |(_, printed)| printed.contains('\r'));
    assert_eq!(status, Some(40), "{printed:?}");
    let said =
        printed.strip_prefix('\r').and_then(|said| said.split('\r').next()).unwrap_or_else(|| panic!("{printed:?}"));
    assert!(seconds(said, "compile") >= 1, "{printed:?}");
}
