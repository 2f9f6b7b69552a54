//! One file that is a program: for people who have no hutch.

use super::{bare, hutch_edge};
use crate::support::{FIXED, HUTCH, Machine, Ran, probe, todo};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A program that is an application, in a folder of its own.
fn program(machine: &Machine, package: &str) -> PathBuf {
    std::fs::create_dir_all(machine.path("own")).unwrap();
    let runtime = hutch_edge().display().to_string();
    machine.export(package, &["--executable", "--runtime", &runtime], "own/app")
}

fn own(machine: &Machine) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(machine.path("own"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn it_is_the_application_wherever_it_is_called_from_and_keeps_its_state_beside_it() {
    let machine = Machine::new();
    let app = program(&machine, &todo());
    assert_eq!(app.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    let call = |words: &[&str]| Ran::of(&mut bare(&app, words, &machine.path("")));
    call(&["add", "Write docs"]).answer();
    // All of its words are the guest's.
    call(&["--state", "s"]).fault("ARGUMENT_INVALID", 2);
    call(&["run", "bundle"]).fault("ARGUMENT_INVALID", 2);
    let refused = call(&["remove", "td_0001", "--confirm"]).fault("CONFIRMATION_REQUIRED", 30);
    assert!(refused.suggestion.contains("HUTCH_FLAGS=--yes"), "{refused:?}");
    assert_eq!(call(&["list"]).answer()["total"], 1);
    assert_eq!(own(&machine), ["app", "app.state"]);
    assert_eq!(machine.names(), ["own"]);
    let mut confirmed = bare(&app, &["remove", "td_0001", "--confirm"], &machine.path(""));
    Ran::of(confirmed.env("HUTCH_FLAGS", "--yes")).answer();
    assert_eq!(call(&["list"]).answer()["total"], 0);
}

#[test]
fn variables_say_what_words_can_t() {
    let machine = Machine::new();
    let app = program(&machine, &todo());
    let call = |flags: &str, state: &str, words: &[&str]| {
        let mut command = bare(&app, words, &machine.path(""));
        Ran::of(command.env("HUTCH_FLAGS", flags).env("HUTCH_STATE", state))
    };
    let fixed = FIXED.join(" ");
    let native = machine.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat());
    assert_eq!(call(&fixed, "elsewhere", &["add", "Write docs"]).stdout, native.stdout);
    assert_eq!(machine.names(), ["elsewhere", "own"]);
    assert_eq!(own(&machine), ["app"]);
    for (flags, said) in [("--yess", "--yess"), ("word", "word"), ("--now", "--now"), ("--state s", "--state")] {
        let fault = call(flags, "elsewhere", &["list"]).fault("USAGE", 2);
        assert!(fault.message.starts_with("HUTCH_FLAGS: ") && fault.message.contains(said), "{fault:?}");
    }
    assert_eq!(call("--limit fuel=1000", "elsewhere", &["list"]).fault("FUEL_LIMIT", 41).details["limit"], "fuel");
    let ring = |asked: &str| Ran::of(bare(&app, &["list"], &machine.path("")).env("HUTCH_RING", asked));
    ring("required").fault("RING_REQUIRED", 30);
    ring("Required").fault("USAGE", 2);
    assert_eq!(own(&machine), ["app"]);
    ring("auto").answer();
}

#[test]
fn one_whose_end_is_damaged_runs_nothing() {
    let machine = Machine::new();
    let app = program(&machine, &probe());
    let whole = std::fs::read(&app).unwrap();
    let bundle = std::fs::metadata(machine.export(&probe(), &[], "bundle")).unwrap().len() as usize;
    for (at, code) in [
        (whole.len() - bundle, "PACKAGE_INVALID"),
        (whole.len() - bundle / 2, "PACKAGE_INVALID"),
        (whole.len() - 65, "PACKAGE_INVALID"),
        (whole.len() - 50, "PACKAGE_INVALID"),
        (whole.len() - 20, "PACKAGE_INVALID"),
        // With no bundle behind it, it is hutch-edge, and does not know the guest's words.
        (whole.len() - 1, "USAGE"),
    ] {
        let mut bad = whole.clone();
        bad[at] ^= 1;
        let path = machine.write_program("own/bad", &bad);
        Ran::of(&mut bare(&path, &["return-ok"], &machine.path(""))).fault(code, 2);
    }
    assert_eq!(own(&machine), ["app", "bad"]);
}

#[test]
fn a_program_to_stand_before_it_is_needed() {
    let machine = Machine::new();
    // Where hutch stands alone.
    let alone = machine.write_program("alone/hutch", std::fs::read(HUTCH).unwrap());
    let mut command = bare(&alone, &["pack", &todo(), "--executable", "--output", "app"], &machine.path(""));
    let fault = Ran::of(command.env("HOME", machine.path("person"))).fault("NOT_FOUND", 20);
    assert!(fault.suggestion.contains("cargo install --locked --path host/edge"), "{fault:?}");
    // The one beside it is the one that is meant; another is named.
    let runtime = hutch_edge().display().to_string();
    let one = machine.export(&todo(), &["--executable", "--runtime", &runtime], "one");
    machine.write_program("alone/hutch-edge", std::fs::read(hutch_edge()).unwrap());
    let mut command = bare(&alone, &["pack", &todo(), "--executable", "--output", "other"], &machine.path(""));
    Ran::of(command.env("HOME", machine.path("person"))).result("pack");
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(machine.path("other")).unwrap());
    let twice = one.display().to_string();
    machine.run(["pack", &todo(), "--executable", "--runtime", &twice, "--output", "two"]).fault("USAGE", 2);
    machine.run(["pack", &todo(), "--runtime", &runtime, "--output", "two"]).fault("USAGE", 2);
    // For another machine it is not the one that is here.
    let target = if cfg!(target_arch = "aarch64") { "x86_64-unknown-linux-gnu" } else { "aarch64-unknown-linux-gnu" };
    machine.run(["pack", &todo(), "--executable", "--target", target, "--output", "two"]).fault("NOT_FOUND", 20);
    assert!(!machine.path("two").exists());
}
