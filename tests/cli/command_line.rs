//! Lines that are not carried out: one JSON object on standard error, nothing on standard output, exit status 2, and nothing done.

use crate::support::{Machine, Ran, probe, todo};
use std::process::Command;

#[test]
fn mistakes_are_told_with_the_part_that_is_wrong() {
    let machine = Machine::new();
    let package = probe();
    let run = |options: &[&str]| {
        [&["run"], options, &[package.as_str(), "return-ok"]]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let line = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for (words, part) in [
        (line(&[]), "command"),
        (line(&["frobnicate"]), "frobnicate"),
        (line(&["--frobnicate"]), "--frobnicate"),
        (line(&["run"]), "PACKAGE"),
        (line(&["check"]), "PACKAGE"),
        (line(&["check", "--frobnicate", &package]), "--frobnicate"),
        (line(&["check", &package, "extra"]), "extra"),
        (run(&["--frobnicate"]), "--frobnicate"),
        (run(&["-x"]), "-x"),
        (run(&["--env-file=x"]), "--env-file"),
        (run(&["--limit"]), "--limit"),
        (run(&["--limit", "fuel"]), "NAME=VALUE"),
        (run(&["--limit", "furl=1"]), "furl"),
        (run(&["--limit", "fuel=lots"]), "fuel=lots"),
        (run(&["--limit", "fuel=0"]), "fuel=0"),
        (run(&["--limit", "fuel=-1"]), "fuel=-1"),
        (run(&["--limit", "fuel=1s"]), "fuel=1s"),
        (run(&["--limit", "memory_bytes=64 MiB"]), "memory_bytes=64 MiB"),
        (run(&["--limit", "fuel=99999999999999999999"]), "fuel=99999999999999999999"),
        (run(&["--now", "tomorrow"]), "tomorrow"),
        (run(&["--now", "2026-04-01"]), "2026-04-01"),
        (run(&["--seed", "lucky"]), "lucky"),
        (run(&["--seed", "-1"]), "-1"),
        (run(&["--instance", "../other"]), "../other"),
        (run(&["--instance", ""]), "--instance"),
        (run(&["--contract", "xml"]), "xml"),
        (run(&["--guard", "loose"]), "loose"),
        (run(&["--env", "NAME"]), "NAME"),
        (run(&["--secret", "NOT_THERE"]), "NOT_THERE"),
        (run(&["--retry", "often"]), "often"),
        (run(&["--human", "--agent"]), "--agent"),
        (run(&["--yes", "--yes"]), "--yes"),
    ] {
        let ran = machine.run(&words);
        let fault = ran.fault("USAGE", 2);
        assert!(fault.message.contains(part), "{words:?}: {fault:?}");
        assert_eq!(fault.message.chars().next().map(char::is_uppercase), Some(false), "{words:?}: {fault:?}");
        assert!(!fault.message.ends_with('.') && !fault.message.contains('\n'), "{words:?}: {fault:?}");
    }
    assert!(machine.is_untouched(), "a line that can't be read has no effect");
}

#[test]
fn what_is_close_to_a_name_is_suggested() {
    let machine = Machine::new();
    for (words, near) in
        [(&["rum"][..], "run"), (&["run", "--evnelope", "x"], "--envelope"), (&["chekc", "x"], "check")]
    {
        let fault = machine.run(words).fault("USAGE", 2);
        assert!(fault.suggestion.contains(near), "{words:?}: {fault:?}");
    }
    let fault = machine.probe(&["--contract", "xml"], &["return-ok"]).fault("USAGE", 2);
    assert!(fault.suggestion.contains("json") && fault.suggestion.contains("any"), "{fault:?}");
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let mut command: Command = machine.hutch(["run", &todo(), "add"]);
    command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    let fault = Ran::of(&mut command).fault("USAGE", 2);
    assert!(fault.message.contains("UTF-8"), "{fault:?}");
}

#[test]
fn everything_after_the_package_is_the_guests() {
    let machine = Machine::new();
    // Also right after it, where the host has flags of the same name.
    for words in
        [&["--human", "args", "x"][..], &["--yes", "args"], &["--limit", "fuel=1"], &["--stdin", "args"], &["-x"]]
    {
        assert_eq!(
            machine.probe(&["--unchecked"], words).guest_failure(2)["error"]["code"],
            "UNKNOWN_FLAG",
            "{words:?}"
        );
    }
    let words =
        ["args", "--", "--yes", "--limit", "fuel=1", "--", "--help", "-x", "--stdin", "--envelope", "", "ünï", "a b"];
    let answer = machine.probe(&[], &words).answer();
    assert_eq!(answer["args"], serde_json::json!(words[1..]));
    let failure = machine.guest(&["--unchecked", &todo(), "list", "--frobnicate"]).guest_failure(2);
    assert_eq!(failure["error"]["code"], "UNKNOWN_FLAG");
    let help = machine.todo(&["--help"]).answer();
    assert!(help.to_string().contains("reminder set"), "the guest's help, not the host's: {help}");
    // The guest's --human does not change how the host speaks.
    machine.todo(&["--human", "remove", "td_0001", "--confirm"]).fault("CONFIRMATION_REQUIRED", 30);
}

#[test]
fn a_package_that_is_not_there_is_not_found() {
    let machine = Machine::new();
    machine.write("file", "x");
    std::fs::create_dir(machine.path("empty")).unwrap();
    for path in ["missing", "missing/deep", "file/below", "empty", "installed:missing"] {
        machine.guest(&[path, "x"]).fault("PACKAGE_NOT_FOUND", 20);
    }
    // A file may be a packed package, and this one is none.
    machine.guest(&["file", "x"]).fault("PACKAGE_INVALID", 2);
    assert!(machine.is_untouched());
}

#[test]
fn for_people_errors_are_text() {
    let machine = Machine::new();
    let human = |words: &[&str], status: i32, code: &str| {
        let ran = machine.run(words);
        assert_eq!((ran.status, ran.stdout.as_str()), (status, ""), "{ran:?}");
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains(&format!("[{code}]")), "{ran:?}");
    };
    let (probe, todo) = (probe(), todo());
    human(&["--human", "frobnicate"], 2, "USAGE");
    human(&["run", "--human", "missing"], 20, "PACKAGE_NOT_FOUND");
    human(&["run", "--human", &probe, "trap"], 45, "GUEST_TRAPPED");
    human(&["--human", "run", &todo, "remove", "td_0001", "--confirm"], 30, "CONFIRMATION_REQUIRED");
    human(&["--human", "run", "--limit", "fuel=1000", &probe, "spin"], 41, "FUEL_LIMIT");
    let mut command = machine.hutch(["run", "missing"]);
    let ran = Ran::of(command.env("HUTCH_FORMAT", "human"));
    assert!(ran.stderr.starts_with("error: "), "{ran:?}");
    let mut command = machine.hutch(["run", "--agent", "missing"]);
    Ran::of(command.env("HUTCH_FORMAT", "human")).fault("PACKAGE_NOT_FOUND", 20);
}

#[test]
fn help_and_version_are_data_unless_they_are_for_people() {
    let machine = Machine::new();
    let help = machine.run(["--help"]).answer();
    let names: Vec<_> = help["commands"].as_array().unwrap().iter().map(|command| &command["name"]).collect();
    assert!(names.contains(&&"run".into()) && names.contains(&&"check".into()), "{help}");
    assert!(!help.to_string().contains("compile-component"), "what is hutch's own is not offered");
    let run = machine.run(["run", "--help"]).answer();
    let parameters = run["parameters"].as_array().unwrap();
    assert!(
        parameters.iter().any(|parameter| parameter["name"] == "--envelope" && parameter["type"] == "boolean"),
        "{run}"
    );
    assert_eq!(machine.run(["--version"]).answer()["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(machine.run(["--version", "--human"]).stdout, concat!(env!("CARGO_PKG_VERSION"), "\n"));
    let human = machine.run(["run", "--help", "--human"]);
    assert!(
        human.status == 0
            && human.stdout.contains("--envelope")
            && serde_json::from_str::<serde_json::Value>(&human.stdout).is_err()
    );
    // A command's own options come first, and those of every command are a part of their own.
    let (own, shared) = human.stdout.split_once("\nOptions of every command:\n").unwrap();
    assert!(own.contains("  --digests-only\n") && !own.contains("  --human\n"), "{own}");
    assert!(shared.contains("  --human\n") && !shared.contains("  --digests-only\n"), "{shared}");
}

#[test]
fn a_path_of_ones_own_may_lead_upwards_and_a_guests_may_not() {
    let machine = Machine::new();
    machine.write("here/x", "x");
    machine.write("beside/y", "y");
    let call = |words: &[&str]| Ran::of(machine.hutch(words).current_dir(machine.path("here")));
    call(&["init", "made", "--in", ".."]).result("init");
    call(&["check", "../made/package"]).result("check");
    assert_eq!(call(&["run", "--home", "../home", "../made/package", "list"]).answer()["ok"], true);
    assert!(machine.path("home/instances/made").exists(), "the home is where it was said to be");
    let mount = ["--mount", "../beside:mnt"];
    assert_eq!(call(&[&["run"], &mount[..], &[&probe(), "read-file", "mnt/y"]].concat()).answer()["length"], 1);
    call(&["pack", "../made/package", "--output", "../made.tar"]);
    call(&["instance", "export", "--volume", "state", "--output", "../out", "probe"]).result("instance export");
    assert!(machine.path("out").is_dir());
    for words in [
        &["check", "../.ssh/id"][..],
        &["check", "%2e%2e/made/package"],
        &["check", "../made;x"],
        &["run", "--stdin-file", "../beside/server.key", &probe(), "stdin"],
        &["run", "--guard", "strict", &probe(), "read-file", "state/../../y"],
    ] {
        call(words).fault("ARGUMENT_REFUSED", 2);
    }
}

#[test]
fn a_format_that_means_nothing_is_told_and_not_passed_over() {
    let machine = Machine::new();
    let with = |words: &[&str]| Ran::of(machine.hutch(words.iter().copied()).env("HUTCH_FORMAT", "xml"));
    let fault = with(&["catalog"]).fault("USAGE", 2);
    assert!(fault.message.contains("HUTCH_FORMAT") && fault.message.contains("xml"), "{}", fault.message);
    // A flag stands in its place, and who looks for what is wrong finds it.
    assert_eq!(with(&["catalog", "--agent"]).result("catalog")["total"], 0);
    assert!(with(&["doctor"]).stdout.contains("HUTCH_FORMAT") || with(&["doctor"]).stderr.contains("HUTCH_FORMAT"));
}
