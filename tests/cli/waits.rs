//! Nobody is waited for without end: not who holds a pipe open, not who holds a lock, and not who never comes to the other end of
//! a pipe that stands where a file should.

use crate::support::{Fault, Machine, PATIENCE, Ran, package, probe, todo};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::Value;
use std::io::{PipeWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;

/// Lets a command run to its end, of which it has [`PATIENCE`] to come.
#[track_caller]
fn ended(command: &mut Command) -> Ran {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| stdout.read_to_end(&mut out));
            let _ = stderr.read_to_end(&mut err);
        });
        let _ = sender.send((out, err));
    });
    let read = receiver.recv_timeout(PATIENCE);
    if read.is_err() {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let (stdout, stderr) = read.unwrap_or_else(|_| panic!("{command:?} still waits after {PATIENCE:?}"));
    Ran::from_output(std::process::Output { status, stdout, stderr })
}

/// A pipe without a byte, which stays open as long as the second is kept.
fn held() -> (Stdio, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer)
}

/// The refusal of a call that waits in vain for the rest of what it reads, after so many bytes have come. How long it has to wait for that
/// many to have come, depends on how busy the machine is: so it waits longer and longer.
#[track_caller]
fn gave_up_after(bytes: usize, call: impl Fn(&str) -> Ran) -> Fault {
    let mut wait_ms = 20_u64;
    loop {
        let fault = call(&format!("{wait_ms}ms")).fault("STDIN_TIME_LIMIT", 40);
        assert_eq!(fault.details["waited_ms"], wait_ms, "{fault:?}");
        let came = fault.details["bytes"].as_u64().unwrap();
        if came == bytes as u64 {
            return fault;
        }
        assert!(came < bytes as u64 && wait_ms < 60_000, "{bytes} bytes were sent: {fault:?}");
        wait_ms *= 10;
    }
}

fn pipe_at(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_command_ends_while_its_standard_input_is_held_open() {
    let machine = Machine::new();
    let names = texts(&machine.run(["--help", "--query", "commands[*].name"]).answer());
    assert!(names.len() > 35);
    for name in names {
        // One call as it is meant, and the command alone.
        let name: Vec<String> = name.split(' ').map(str::to_owned).collect();
        let command = machine.run(name.iter().map(String::as_str).chain(["--help"])).answer();
        let example = &command["examples"][0];
        let machine = Machine::new();
        package::copy_named(&example.to_string(), &machine.path(""));
        std::os::unix::fs::symlink(crate::support::repository().join("tests"), machine.path("tests")).unwrap();
        for before in example["before"].as_array().into_iter().flatten() {
            assert_eq!(machine.run(texts(before)).status, 0, "{before}");
        }
        for words in [texts(&example["arguments"]), name] {
            let (stdin, _held) = held();
            let ran = ended(machine.hutch(["--wait", "20ms"]).args(&words).stdin(stdin));
            match ran.status {
                0 => assert!(!ran.stdout.is_empty(), "{words:?}: {ran:?}"),
                _ if ran.stdout.is_empty() => {
                    let error: Value = serde_json::from_str(&ran.stderr).unwrap();
                    assert!(error["code"].is_string(), "{words:?}: {ran:?}");
                }
                _ => assert_eq!(ran.stderr, "", "{words:?}"),
            }
        }
    }
}

#[test]
fn a_command_that_reads_gives_up_and_does_nothing() {
    let machine = Machine::new();
    let package = probe();
    let item = "[\"return-ok\"]\n";
    for (words, sent) in [
        (&["run", "--stdin", &package, "stdin"][..], ""),
        (&["run", "--stdin", &package, "stdin"], "some of it"),
        (&["plan", "--stdin", &package, "stdin"], ""),
        (&["validate", "--stdin", &package, "stdin"], "some of it"),
        (&["run", "--dry-run", "--stdin", &package, "stdin"], ""),
        (&["run", "--json-input", &package], ""),
        // A whole invocation, but not known to be the last: none is made.
        (&["run", "--json-input", &package], item),
        (&["compile-component"], "\0asm"),
    ] {
        gave_up_after(sent.len(), |wait| {
            let (stdin, mut held) = held();
            held.write_all(sent.as_bytes()).unwrap();
            ended(machine.hutch(["--wait", wait]).args(words).stdin(stdin))
        });
    }
    assert!(machine.is_untouched(), "nothing was run");
    for (wait, part) in [("0", "0"), ("soon", "soon"), ("25h", "24h"), ("-1", "-1")] {
        let fault = machine.run(["--wait", wait, "catalog"]).fault("USAGE", 2);
        assert!(fault.message.contains(part), "{fault:?}");
    }
}

#[test]
fn a_pipe_as_the_file_is_read_to_its_end_or_given_up() {
    let machine = Machine::new();
    let path = machine.path("pipe");
    pipe_at(&path);
    let call =
        |wait: &str| ended(&mut machine.hutch(["run", "--wait", wait, "--stdin-file", "pipe", &probe(), "stdin"]));
    // Nobody at its other end: the system does not even open it.
    let fault = gave_up_after(0, call);
    assert!(fault.message.contains("pipe"), "{fault:?}");
    // Somebody who says something and stays.
    gave_up_after(4, |wait| {
        let mut both = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        both.write_all(b"some").unwrap();
        call(wait)
    });
    // Somebody who says it all, in another pipe: of this one a program that another test is starting may hold both ends for a moment, and
    // what is said to those is lost with them.
    let path = machine.path("another");
    pipe_at(&path);
    let mut call = machine.hutch(["run", "--wait", "1h", "--stdin-file", "another", &probe(), "stdin"]);
    let writer = std::thread::spawn(move || std::fs::write(path, "all of it"));
    assert_eq!(ended(&mut call).answer()["content"], "all of it");
    writer.join().unwrap().unwrap();
}

#[test]
fn a_pipe_where_the_program_keeps_a_file_is_no_file() {
    let machine = Machine::new();
    machine.run(["install", "--yes", &todo()]).result("install");
    machine.run(["issue", "create", "--type", "bug", "--message", "x"]).result("issue create");
    machine.run(["run", "todo", "add", "x"]).answer();
    let home = "person/.local/share/hutch";
    // Of each file: calls that need it.
    for (file, calls) in [
        ("packages/todo/pin.json", &[&["run", "todo", "list"][..], &["catalog"], &["remove", "--yes", "todo"]][..]),
        ("issues/is_0001.json", &[&["issue", "list"], &["issue", "show", "is_0001"], &["doctor"]]),
        ("instances/todo/default/hutch.lock", &[&["run", "todo", "add", "y"], &["undo", "todo"]]),
        ("instances/todo/default/hutch.db", &[&["run", "todo", "list"], &["state", "cat", "todo"], &["undo", "todo"]]),
    ] {
        let path = machine.path(home).join(file);
        let kept = path.with_extension("kept");
        std::fs::rename(&path, &kept).unwrap();
        pipe_at(&path);
        for call in calls {
            let ran = ended(&mut machine.hutch(*call));
            assert!(ran.status != 0 || !ran.stderr.is_empty() || call[0] == "catalog", "{file}, {call:?}: {ran:?}");
        }
        std::fs::remove_file(&path).unwrap();
        std::fs::rename(&kept, &path).unwrap();
    }
    assert_eq!(machine.run(["issue", "list"]).result("issue list")["total"], 1);
    machine.run(["run", "todo", "list"]).answer();
}

#[test]
fn a_pipe_that_a_call_names_is_refused() {
    let machine = Machine::new();
    pipe_at(&machine.path("pipe"));
    machine.run(["run", &todo(), "list"]).answer();
    for (words, code, status) in [
        (&["run", "pipe", "list"][..], "PACKAGE_NOT_FOUND", 20),
        (&["check", "pipe"], "PACKAGE_NOT_FOUND", 20),
        (&["install", "pipe"], "PACKAGE_NOT_FOUND", 20),
        (&["certify", "pipe"], "PACKAGE_NOT_FOUND", 20),
        (&["find", "--in", "pipe", "x"], "PACKAGE_NOT_FOUND", 20),
        (&["instance", "import", "--volume", "state", "--input", "pipe", "todo"], "USAGE", 2),
        (&["instance", "export", "--volume", "state", "--output", "pipe", "todo"], "USAGE", 2),
        (&["init", "pipe"], "ALREADY_EXISTS", 30),
        (&["certify", "--program", "./pipe"], "NOT_FOUND", 20),
        (&["certify", "--program", "/bin/true", "--project", "pipe"], "USAGE", 2),
        (&["run", "--mount", "pipe:granted", &probe(), "return-ok"], "USAGE", 2),
    ] {
        ended(&mut machine.hutch(words)).fault(code, status);
    }
    for (part, call) in [("APP.md", "check"), ("app/app.wasm", "run"), ("schemas/commands.json", "check")] {
        let package = package::copy(&machine, &part.replace('/', "-"));
        let _ = std::fs::remove_file(package.join(part));
        pipe_at(&package.join(part));
        let package = package.display().to_string();
        ended(&mut machine.hutch([call, &package, "return-ok"][..if call == "run" { 3 } else { 2 }].iter()))
            .fault("PACKAGE_INVALID", 2);
    }
}

#[test]
fn a_lock_that_another_process_holds_is_waited_for_as_long_as_was_said() {
    let machine = Machine::new();
    machine.todo(&["add", "x"]).answer();
    let folder = machine.path("person/.local/share/hutch/instances/todo/default");
    let lock = std::fs::File::options().write(true).open(folder.join("hutch.lock")).unwrap();
    lock.lock().unwrap();
    ended(&mut machine.hutch(["--wait", "20ms", "undo", "todo"])).fault("INSTANCE_BUSY", 30);
    let other = rusqlite::Connection::open(folder.join("hutch.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let fault = ended(&mut machine.hutch(["--wait", "20ms", "undo", "todo"])).fault("INSTANCE_BUSY", 30);
    assert!(fault.suggestion.contains("--wait"), "{fault:?}");
    // A reader waits for nobody.
    for looks in [["ledger", "list"], ["state", "diff"]] {
        let line = [&["--wait", "20ms"][..], &looks, &["todo"]].concat();
        assert_eq!(ended(&mut machine.hutch(line)).status, 0);
    }
    drop(other);
    lock.unlock().unwrap();
    machine.run(["undo", "todo"]).result("undo");
}
