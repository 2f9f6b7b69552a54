//! Equal invocations over equal states give equal bytes, equal fuel and equal states, wherever and by whomever they are made.

use crate::support::{Envelope, FIXED, Machine, Ran, package, probe, todo};
use std::path::Path;

/// Everything of a run that must be equal, in one text.
fn essence(envelope: &Envelope) -> String {
    let volumes: Vec<_> =
        envelope.volumes.iter().map(|(name, volume)| (name, &volume.before, &volume.after, &volume.changes)).collect();
    format!(
        "{} {:?} {:?} {:?} {:?} fuel {} {} memory {} {:?} {:?} {volumes:?}",
        envelope.ending,
        envelope.ending_detail,
        envelope.exit_status,
        envelope.stdout,
        envelope.stderr,
        envelope.fuel,
        envelope.fuel_exact,
        envelope.memory_peak_bytes,
        envelope.refused,
        envelope.profile,
    )
}

/// Calls that ask for everything that differs between machines, and leave a state that the next one sees.
const SCRIPT: &[&[&str]] = &[
    &["random", "100"],
    &["clock"],
    &["sleep", "1234"],
    &["poll", "30", "10", "20", "10"],
    &["env"],
    &["argv0"],
    &["args", "a", "--b"],
    &["float-nan"],
    &["write-files", "50"],
    &["list-dir", "state"],
    &["make-dir", "state/folder"],
    &["write-file", "state/folder/file", "100000"],
    &["stat", "state/folder/file"],
    &["symlink", "folder/file", "state/link"],
    &["rename", "state/folder", "state/moved"],
    &["tree", "state"],
    &["follow-links"],
    &["open-handles", "100"],
    &["grow-memory"],
    &["recurse"],
    &["trap"],
    &["json-and-exit", "20"],
    &["stdout", "20000000"],
];

/// Surroundings that a guest must not notice.
struct Surroundings<'a> {
    folder: &'a Path,
    variables: &'a [(&'a str, &'a str)],
}

fn script(machine: &Machine, surroundings: &Surroundings, package: &str) -> Vec<String> {
    let mut essences = Vec::new();
    let calls = SCRIPT.iter().map(|arguments| (package, *arguments));
    let todo = todo();
    let todo_calls: &[&[&str]] = &[
        &["add", "Write docs", "--due-at", "2026-04-05"],
        &["reminder", "set", "td_0001", "--at", "2026-04-05T07:00:00Z"],
        &["due", "--before", "2027-01-01T00:00:00Z"],
        &["list"],
        &["get", "td_9999"],
    ];
    for (package, arguments) in calls.chain(todo_calls.iter().map(|arguments| (todo.as_str(), *arguments))) {
        let mut command =
            machine.hutch([&["run", "--unchecked", "--envelope"], &FIXED[..], &[package], arguments].concat());
        command.current_dir(surroundings.folder).envs(surroundings.variables.iter().copied());
        essences.push(format!("{arguments:?}: {}", essence(&Ran::of(&mut command).envelope())));
    }
    essences
}

#[test]
fn surroundings_do_not_show() {
    let (here, there) = (Machine::new(), Machine::new());
    let first = script(&here, &Surroundings { folder: &here.path(""), variables: &[] }, &probe());
    let home = there.path("some other home");
    std::fs::create_dir_all(&home).unwrap();
    let variables = [
        ("HOME", home.to_str().unwrap()),
        ("TZ", "Asia/Kathmandu"),
        ("LANG", "tr_TR.UTF-8"),
        ("LC_ALL", "de_DE.UTF-8"),
        ("COLUMNS", "40"),
        ("TERM", "dumb"),
        ("NO_COLOR", "1"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
        ("WASMTIME_BACKTRACE_DETAILS", "1"),
        ("USER", "nobody"),
        ("PWD", "/nowhere"),
        ("SOURCE_DATE_EPOCH", "1"),
        ("HUTCH_HOME", home.to_str().unwrap()),
    ];
    // The package stands elsewhere too, and its files are younger.
    let copy = package::copy(&there, "elsewhere/package");
    let second =
        script(&there, &Surroundings { folder: Path::new("/"), variables: &variables }, copy.to_str().unwrap());
    assert_eq!(first.len(), second.len());
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first, second);
    }
}

#[test]
fn without_an_envelope_the_bytes_are_the_same_too() {
    let outputs: Vec<String> = (0..2)
        .map(|_| {
            let machine = Machine::new();
            let run = |arguments: &[&str]| machine.guest(&[&FIXED[..], &[todo().as_str()], arguments].concat());
            run(&["add", "Write docs"]).stdout + &run(&["list"]).stdout
        })
        .collect();
    assert_eq!(outputs[0], outputs[1]);
}

#[test]
fn seed_and_clock_are_what_they_are_said_to_be() {
    let run = |now: &str, seed: &str, command: &[&str]| {
        Machine::new().probe(&["--now", now, "--seed", seed], command).answer().to_string()
    };
    let (noon, night) = ("2026-04-01T12:00:00Z", "2026-04-01T00:00:00Z");
    assert_ne!(run(noon, "1", &["random", "32"]), run(noon, "2", &["random", "32"]));
    assert_eq!(run(noon, "1", &["clock"]), run(noon, "2", &["clock"]));
    assert_ne!(run(noon, "1", &["clock"]), run(night, "1", &["clock"]));
    assert_eq!(run(noon, "1", &["random", "32"]), run(night, "1", &["random", "32"]));
    // One instant, written twice; and a number is the first bytes of a seed.
    assert_eq!(run("2026-04-01T14:00:00+02:00", "1", &["clock"]), run(noon, "1", &["clock"]));
    let long = format!("01{}", "00".repeat(31));
    assert_eq!(run(noon, &long, &["random", "32"]), run(noon, "1", &["random", "32"]));
}

#[test]
fn without_a_seed_nobody_can_guess_and_without_a_clock_it_is_now() {
    let random = || Machine::new().probe(&[], &["random", "32"]).answer().to_string();
    assert_ne!(random(), random());
    let seconds = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let before = seconds();
    let told = Machine::new().probe(&[], &["clock"]).answer()["wall"][0]["seconds"].as_u64().unwrap();
    assert!((before..=seconds()).contains(&told), "{before} {told}");
}

#[test]
fn nothing_of_the_environment_reaches_the_guest() {
    let machine = Machine::new();
    let mut command = machine.hutch(["run", &probe(), "env"]);
    let answer = Ran::of(command.env("SECRET_OF_THE_HOST", "x").env("PATH", "/bin")).answer();
    assert_eq!(answer["variables"], serde_json::json!([]));
}

/// A machine whose clock was put back, or goes wrong: entries stand in the order in which they came, and all can be made again.
#[test]
fn a_clock_that_goes_back_changes_neither_order_nor_answers() {
    let machine = Machine::new();
    for (at, now) in ["2031-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "2554-07-21T23:34:33Z", "2026-04-01T09:00:00Z"]
        .into_iter()
        .enumerate()
    {
        machine.probe(&["--now", now], &["write-text", "state/file", &at.to_string()]).answer();
    }
    let read = || machine.probe(&[], &["read-file", "state/file"]).answer()["content"].clone();
    assert_eq!(read(), "3");
    machine.run(["verify", "--chain", "probe"]).result("verify");
    assert_eq!(machine.run(["verify", "--all", &probe()]).result("verify")["differ"], 0);
    machine.run(["undo", "probe"]).result("undo");
    assert_eq!(read(), "2");
}
