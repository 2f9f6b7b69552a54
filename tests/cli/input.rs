//! Standard input: empty unless one source is named, and never a terminal.

use crate::support::{HUTCH, Machine, Ran, artifacts, probe, repository, todo};
use serde_json::json;
use std::fs::File;
use std::process::Stdio;

#[test]
fn without_a_source_there_is_nothing_to_read() {
    let machine = Machine::new();
    let ran = Ran::with_input(&mut machine.hutch(["run", &probe(), "stdin"]), b"this is for nobody");
    assert_eq!(ran.document()["length"], 0);
}

/// What a contract says nothing of shows when the application looks for it.
#[test]
fn whoever_pipes_in_what_the_application_looked_for_in_vain_is_told() {
    let machine = Machine::new();
    machine.write("note", "for nobody");
    let from_file = |words: &[&str]| Ran::of(machine.hutch(words).stdin(File::open(machine.path("note")).unwrap()));
    let said =
        "what is piped in was not given to the application, which looked for it: write --stdin before the package";
    let probe = probe();
    for command in ["run", "plan"] {
        let ran = from_file(&[command, &probe, "stdin"]);
        assert_eq!((ran.status, ran.stderr.trim_end()), (0, said), "{ran:?}");
        // Also where it makes nothing of that.
        let ran = from_file(&[command, &probe, "stdin-echo"]);
        assert!(ran.status != 0 && ran.stderr.starts_with(said), "{ran:?}");
        // Nobody is told who gave it or something else, pipes nothing in, or calls what does not look.
        for quiet in [&[command, "--stdin", &probe, "stdin"][..], &[command, "--stdin-text", "x", &probe, "stdin"]] {
            from_file(quiet).answer();
        }
        from_file(&[command, &probe, "args", "x"]).answer();
        machine.run([command, &probe, "stdin"]).answer();
    }
}

/// What the arguments name is given where the contract says that the command reads it; a person who agreed is asked by nobody else.
#[test]
fn the_host_gives_what_a_call_already_says() {
    let machine = Machine::new();
    let package = |name: &str| repository().join("packages").join(name).display().to_string();
    let piped = |words: &[&str], bytes: &[u8]| Ran::with_input(&mut machine.hutch(words), bytes);
    let shown = piped(&["run", &package("convert"), "show", "-"], b"# Hello").answer();
    assert!(shown.to_string().contains("Hello</h1>"), "{shown}");
    assert_eq!(piped(&["run", &package("json"), "query", ".a", "-"], br#"{"a":1}"#).answer()["count"], 1);
    // What is named is given.
    let named = ["run", "--stdin-text", "{}", &package("json"), "query", ".a", "-"];
    assert_eq!(piped(&named, br#"{"a":1}"#).answer()["items"], json!([{"value": null}]));
    // Nothing reads it here: it is not waited for.
    assert_eq!(piped(&["run", &probe(), "args", "-"], b"x").answer()["args"], json!(["-"]));
    machine.todo(&["add", "milk"]).answer();
    machine.run(["run", &todo(), "remove", "td_0001"]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(machine.run(["run", "--yes", &todo(), "remove", "--no-confirm", "td_0001"]).status, 30, "it says no");
    machine.run(["run", "--yes", &todo(), "remove", "td_0001"]).answer();
    assert_eq!(machine.todo(&["list"]).answer()["count"], 0);
}

/// Nothing is given that was not asked for, and whoever pipes something in is told how it is.
#[test]
fn what_was_piped_in_and_not_named_is_said() {
    let machine = Machine::new();
    let package = |name: &str| repository().join("packages").join(name).display().to_string();
    let piped = |words: &[&str], bytes: &[u8]| Ran::with_input(&mut machine.hutch(words), bytes);
    let said = "was not given to the application: write ";
    let json = package("json");
    for command in ["run", "plan", "validate"] {
        let fault = piped(&[command, &json, "query", ".a"], br#"{"a":1}"#).fault("ARGUMENT_INVALID", 2);
        assert!(fault.suggestion.contains(said), "{command}: {fault:?}");
    }
    machine.write("note", "# From a file");
    let notes = package("notes");
    let write = ["run", "--instance", "n", &notes, "write", "--title", "t", "--text", "x"];
    let from_file = |words: &[&str]| Ran::of(machine.hutch(words).stdin(File::open(machine.path("note")).unwrap()));
    let ran = from_file(&write);
    assert!(ran.stderr.contains(said), "{ran:?}");
    // Nobody is told who named it, gave another, piped nothing in, or calls what reads none.
    for quiet in [
        piped(&write, b""),
        Ran::of(&mut machine.hutch(write)),
        from_file(&["run", "--stdin-text", "y", &notes, "list"]),
        from_file(&["run", &notes, "list"]),
        from_file(&["run", &package("json"), "query", ".", "--file", "-"]),
        machine.run(["run", &json, "query", ".a"]),
    ] {
        assert!(!quiet.stderr.contains("piped in"), "{quiet:?}");
    }
}

#[test]
fn each_source_gives_its_bytes() {
    let machine = Machine::new();
    let text = "a line\nünï\n";
    let piped = Ran::with_input(&mut machine.hutch(["run", "--stdin", &probe(), "stdin"]), text.as_bytes()).answer();
    assert_eq!((&piped["length"], &piped["content"]), (&json!(text.len()), &json!(text)));
    machine.write("input", text);
    assert_eq!(machine.guest(&["--stdin-file", "input", &probe(), "stdin"]).answer(), piped);
    assert_eq!(machine.guest(&["--stdin-text", text, &probe(), "stdin"]).answer(), piped);
    let nothing = Ran::of(machine.hutch(["run", "--stdin", &probe(), "stdin"]).stdin(Stdio::null()));
    assert_eq!(nothing.answer()["length"], 0);
}

#[test]
fn every_byte_goes_in_and_comes_out_as_it_is() {
    let machine = Machine::new();
    let bytes: Vec<u8> = (0..=255).cycle().take(3_000_000).collect();
    machine.write("input", &bytes);
    let options = ["run", "--contract", "any", "--stdin-file", "input", &probe(), "stdin-echo"];
    let output = machine.hutch(options).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(output.stdout == bytes, "{} bytes came out", output.stdout.len());
}

#[test]
fn two_sources_are_one_too_many() {
    let machine = Machine::new();
    machine.write("input", "x");
    for options in [
        &["--stdin", "--stdin-text", "x"][..],
        &["--stdin", "--stdin-file", "input"],
        &["--stdin-file", "input", "--stdin-text", "x"],
        &["--stdin-text", "x", "--stdin-text", "y"],
    ] {
        machine.probe(options, &["stdin"]).fault("USAGE", 2);
    }
}

#[test]
fn a_file_that_is_not_there_is_not_found() {
    let fault = Machine::new().probe(&["--stdin-file", "missing"], &["stdin"]).fault("NOT_FOUND", 20);
    assert!(fault.message.contains("missing"), "{fault:?}");
}

#[test]
fn more_than_the_limit_is_refused_and_never_read_to_its_end() {
    let machine = Machine::new();
    let limited = ["--limit", "stdin_bytes=1000"];
    assert_eq!(
        machine.probe(&[&limited[..], &["--stdin-text", &"x".repeat(1000)]].concat(), &["stdin"]).answer()["length"],
        1000
    );
    let fault = machine.probe(&[&limited[..], &["--stdin-text", &"x".repeat(1001)]].concat(), &["stdin"]);
    assert_eq!(fault.fault("STDIN_LIMIT", 2).details["limit_value"], 1000);
    #[cfg(unix)]
    machine.probe(&[&limited[..], &["--stdin-file", "/dev/zero"]].concat(), &["stdin"]).fault("STDIN_LIMIT", 2);
    let command = &mut machine.hutch(["run", "--limit", "stdin_bytes=1000", "--stdin", &probe(), "stdin"]);
    Ran::with_input(command, &[b'x'; 1_000_000]).fault("STDIN_LIMIT", 2);
}

#[cfg(unix)]
#[test]
fn a_terminal_is_refused_and_never_waited_for() {
    let machine = Machine::new();
    let terminal = crate::support::terminal::Terminal::open();
    let ran = Ran::of(machine.hutch(["run", "--stdin", &probe(), "stdin"]).stdin(terminal.end()));
    ran.fault("STDIN_TERMINAL", 2);
    let name = terminal.name();
    Ran::of(&mut machine.hutch(["run", "--stdin-file", &name, &probe(), "stdin"])).fault("STDIN_TERMINAL", 2);
    // Without --stdin nobody looks at it.
    let ran = Ran::of(machine.hutch(["run", &probe(), "stdin"]).stdin(terminal.end()));
    assert_eq!(ran.answer()["length"], 0);
}

#[test]
fn standard_input_may_be_closed() {
    let machine = Machine::new();
    let script = format!("exec {HUTCH} run {} stdin <&-", probe());
    artifacts::keep_key(&machine.path(".local/share/hutch"));
    let ran = Ran::of(
        std::process::Command::new("/bin/sh")
            .args(["-c", &script])
            .env_clear()
            .env("HOME", machine.path(""))
            .env("XDG_CACHE_HOME", artifacts::CACHE),
    );
    assert_eq!(ran.answer()["length"], 0);
}

#[test]
fn a_folder_is_no_input() {
    let machine = Machine::new();
    std::fs::create_dir(machine.path("folder")).unwrap();
    let fault = machine.probe(&["--stdin-file", "folder"], &["stdin"]).fault("USAGE", 2);
    assert!(fault.message.contains("folder"), "{fault:?}");
    assert!(File::open(machine.path("folder")).is_ok());
    // Nor is what the system lets nobody read, from its first byte on.
    #[cfg(target_os = "linux")]
    {
        std::os::unix::fs::symlink("/proc/self/mem", machine.path("memory")).unwrap();
        machine.probe(&["--stdin-file", "memory"], &["stdin"]).fault("USAGE", 2);
    }
    // What is to be a folder and is none is the caller's mistake too.
    machine.write("file", "x");
    machine.probe(&["--mount", "file:granted"], &["stdin"]).fault("USAGE", 2);
    assert!(machine.is_untouched());
}
