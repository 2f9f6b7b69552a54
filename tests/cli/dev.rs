//! `hutch dev`: a package in the making, of which each round shows what is other than in the round before. The package is the one that
//! converts documents; what it is built from is the letter that its examples read, and what builds it copies that into the package.

#![cfg(unix)]

use crate::support::package::copy_folder;
use crate::support::{Machine, Ran, repository, todo};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

const COPY: [&str; 4] = ["--", "cp", "source/letter.md", "package/samples/letter.md"];

/// A machine with a package and its source.
fn workshop() -> Machine {
    let machine = Machine::new();
    copy_folder(&repository().join("packages/convert"), &machine.path("bench/package"));
    copy_folder(&machine.path("bench/package/samples"), &machine.path("bench/source"));
    machine
}

/// How many calls the package's contract shows.
fn shown(machine: &Machine) -> usize {
    let contract = std::fs::read(machine.path("bench/package/schemas/commands.json")).unwrap();
    let contract: Value = serde_json::from_slice(&contract).unwrap();
    let examples = |command: &Value| command["examples"].as_array().map_or(0, Vec::len);
    contract["commands"].as_array().unwrap().iter().map(examples).sum()
}

/// As an editor writes: in one step, so that nobody sees half of it.
fn save(path: &Path, text: &str) {
    let new = path.ancestors().find(|folder| folder.ends_with("bench")).unwrap().join("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, path).unwrap();
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{path:?} holds no {from}");
    save(path, &text.replace(from, to));
}

/// One round, in the folder of the work.
fn once(machine: &Machine, words: &[&str]) -> Ran {
    let words = [&["dev", "--once", "package"], words].concat();
    Ran::of(machine.hutch(words).current_dir(machine.path("bench")))
}

/// `hutch dev` as it goes on.
struct Going {
    child: Child,
    rounds: Option<BufReader<ChildStdout>>,
}

impl Going {
    fn on(machine: &Machine, words: &[&str]) -> Going {
        let mut command = machine.hutch([&["dev", "--watch", "source", "package"], words].concat());
        let mut child = command.current_dir(machine.path("bench")).stdout(Stdio::piped()).spawn().unwrap();
        let rounds = child.stdout.take().map(BufReader::new);
        Going { child, rounds }
    }

    fn round(&mut self) -> Value {
        let mut line = String::new();
        self.rounds.as_mut().unwrap().read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert_eq!((&answer["command"], &answer["ok"]), (&json!("dev"), &answer["result"]["good"]));
        answer["result"].clone()
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // Nothing of it is needed any more, whether the test went well or not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The names of the files that caused a round.
fn changed(round: &Value) -> Vec<String> {
    let paths = round["changed"].as_array().unwrap().iter();
    paths.map(|path| path.as_str().unwrap().rsplit_once("/bench/").unwrap().1.to_owned()).collect()
}

#[test]
fn one_round_builds_checks_and_calls_every_example_and_keeps_nothing() {
    let machine = workshop();
    edit(&machine.path("bench/source/letter.md"), "Ada", "Grace");
    let round = once(&machine, &COPY).result("dev");
    assert_eq!(
        (&round["good"], &round["examples"]),
        (&json!(true), &json!({"called": shown(&machine), "left_out": 0}))
    );
    assert!(round["build_ms"].is_u64() && round["answers"] == json!([]) && round["state"] == json!([]));
    let built = std::fs::read_to_string(machine.path("bench/package/samples/letter.md")).unwrap();
    assert!(built.contains("Grace"), "it was built before it was tried");
    assert!(!machine.path("person/.local/share/hutch/instances").exists(), "no instance was made");
    // Without a command there is nothing to build.
    assert_eq!(machine.run(["dev", "--once", &todo()]).result("dev")["build_ms"], Value::Null);
}

#[test]
fn a_round_that_is_not_good_says_why() {
    let machine = workshop();
    let failed = once(&machine, &["--", "cp", "source/nothing.md", "package"]).fault("BUILD_FAILED", 1);
    assert!(failed.details["output"].as_str().unwrap().contains("nothing.md"), "{:?}", failed.details);
    assert_eq!(failed.details["round"]["examples"], Value::Null, "what was not built is not tried");
    once(&machine, &["--", "./no-such-program"]).fault("BUILD_FAILED", 1);

    std::fs::remove_file(machine.path("bench/package/samples/letter.md")).unwrap();
    let failed = once(&machine, &[]).fault("EXAMPLE_FAILED", 1);
    let examples = failed.details["failed"].as_array().unwrap();
    assert_eq!(examples[0]["arguments"], json!(["show", "samples/letter.md", "--as", "html"]));
    assert_eq!((&examples[0]["expected"], &examples[0]["exit_status"]), (&json!(0), &json!(20)));
    assert!(examples[0]["stdout"].as_str().unwrap().contains("letter.md"), "{examples:?}");
    assert_eq!(
        failed.details["round"]["examples"]["called"],
        shown(&machine),
        "all are called, and {} failed",
        examples.len()
    );

    edit(&machine.path("bench/package/APP.md"), "slug: convert", "slug: Convert!");
    let failed = once(&machine, &[]).fault("PACKAGE_INVALID", 2);
    assert_eq!(failed.details["diagnostics"][0]["file"], "APP.md");
    assert_eq!(failed.details["round"]["examples"], Value::Null);
}

#[test]
fn what_a_change_comes_to_is_shown_and_what_comes_to_nothing_causes_no_round() {
    let machine = workshop();
    let (source, manifest) = (machine.path("bench/source/letter.md"), machine.path("bench/package/APP.md"));
    let mut going = Going::on(&machine, &COPY);
    let first = going.round();
    assert_eq!((&first["round"], &first["good"], &first["changed"]), (&json!(1), &json!(true), &json!([])));

    // The same bytes once more, and then others.
    save(&source, &std::fs::read_to_string(&source).unwrap());
    edit(&source, "Ada", "Grace");
    let second = going.round();
    assert_eq!(
        (&second["round"], &second["good"], changed(&second)),
        (&json!(2), &json!(true), vec!["source/letter.md".to_owned()])
    );
    let answers = second["answers"].as_array().unwrap();
    assert_eq!(answers[0]["arguments"], json!(["show", "samples/letter.md", "--as", "html"]));
    assert_eq!(answers[0]["change"], "modified");
    assert!(answers[0]["json"].to_string().contains("Grace"), "{answers:?}");
    assert_eq!(
        (&second["state"][0]["path"], &second["state"][0]["change"]),
        (&json!("state/letter.html"), &json!("modified"))
    );
    let text = second["state"][0]["text"].as_str().unwrap();
    assert!(text.lines().any(|line| line.starts_with('+') && line.contains("Grace")), "{text}");
    assert_eq!(second["state"].as_array().unwrap().len(), 1, "{}", second["state"]);

    edit(&manifest, "slug: convert", "slug: Convert!");
    let third = going.round();
    assert_eq!((&third["good"], &third["error"]["code"]), (&json!(false), &json!("PACKAGE_INVALID")));
    assert_eq!(changed(&third), ["package/APP.md"]);

    // Compared is with the round in which the examples were called last.
    edit(&manifest, "slug: Convert!", "slug: convert");
    let fourth = going.round();
    assert_eq!((&fourth["good"], &fourth["answers"], &fourth["state"]), (&json!(true), &json!([]), &json!([])));
}

#[test]
fn a_build_that_writes_what_is_watched_comes_to_rest() {
    let machine = workshop();
    let count = "echo x >> source/count; cp source/letter.md package/samples";
    let mut going = Going::on(&machine, &["--", "sh", "-c", count]);
    assert_eq!(going.round()["ignored"], json!([]));
    assert_eq!(changed(&going.round()), ["source/count"], "what the build wrote looks like an edit, once");
    edit(&machine.path("bench/source/letter.md"), "Ada", "Grace");
    let third = going.round();
    assert_eq!(changed(&third), ["source/letter.md"]);
    assert!(third["ignored"][0].as_str().unwrap().ends_with("/bench/source/count"), "{third}");
}

#[test]
fn who_stops_reading_ends_it() {
    let machine = workshop();
    let mut going = Going::on(&machine, &COPY);
    going.round();
    going.rounds = None;
    edit(&machine.path("bench/source/letter.md"), "Ada", "Grace");
    assert!(going.child.wait().unwrap().success());
}

#[test]
fn only_a_folder_is_worked_on_and_a_preview_starts_nothing() {
    let machine = workshop();
    let preview = once(&machine, &["--dry-run", "--", "touch", "started"]).document();
    assert_eq!(preview["result"]["build_ms"], Value::Null);
    assert!(!machine.path("bench/started").exists());
    machine.run(["pack", "--output", machine.path("todo.tar").to_str().unwrap(), &todo()]).result("pack");
    machine.run(["dev", "--once", machine.path("todo.tar").to_str().unwrap()]).fault("USAGE", 2);
    machine.run(["install", "--yes", &todo()]).result("install");
    machine.run(["dev", "--once", "installed:todo"]).fault("USAGE", 2);
    machine.run(["dev", "--once", "nowhere"]).fault("PACKAGE_NOT_FOUND", 20);
}

#[test]
fn what_can_never_change_again_is_not_waited_for() {
    let machine = workshop();
    let package = machine.path("bench/package");
    machine.run(["dev", "--watch", "nowhere", package.to_str().unwrap()]).fault("NOT_FOUND", 20);
    let mut going = Going::on(&machine, &[]);
    going.round();
    std::fs::remove_dir_all(package).unwrap();
    assert_eq!(going.child.wait().unwrap().code(), Some(20));
}

/// What the program itself outlives is not what a command of the caller's inherits.
#[cfg(target_os = "linux")]
#[test]
fn a_build_has_the_signals_that_it_would_have_without_hutch() {
    let machine = workshop();
    let shows = ["sh", "-c", "grep Sig[IC] /proc/self/status; exit 1"];
    let alone = Ran::of(std::process::Command::new(shows[0]).args(&shows[1..]).stdin(Stdio::null()));
    let fault = once(&machine, &[&["--"][..], &shows].concat()).fault("BUILD_FAILED", 1);
    assert_eq!(fault.details["output"], alone.stdout.as_str());
}
