//! The program as it lies in a release: with packages beside it, which have their names from the start.

use crate::support::{HUTCH, Machine, Ran, package};
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program in a folder of its own, and the to-do application beside it. Another process puts it there: what a child of another thread
/// may have open for writing can't be started.
fn released(machine: &Machine) -> PathBuf {
    package::copy_todo(machine, "prefix/share/hutch/packages/todo");
    let program = machine.path("prefix/bin/hutch");
    std::fs::create_dir(machine.path("prefix/bin")).unwrap();
    let mut linking = Command::new("sh");
    linking.args(["-c", "ln \"$1\" \"$2\" || cp \"$1\" \"$2\"", "sh", HUTCH]).arg(&program);
    assert_eq!(Ran::of(&mut linking).status, 0);
    program
}

/// A line, of this program.
fn line(machine: &Machine, program: &Path, line: &str) -> Ran {
    let usual = machine.hutch(line.split(' '));
    let mut command = Command::new(program);
    command.arg0("hutch").args(usual.get_args());
    command.env_clear().envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.current_dir(machine.path("")).stdin(Stdio::null());
    Ran::of(&mut command)
}

#[test]
fn what_came_with_the_program_is_had_by_its_name() {
    let machine = Machine::new();
    let program = released(&machine);
    // As it is found on PATH.
    let link = machine.path("hutch");
    symlink(&program, &link).unwrap();
    let call = |words: &str| line(&machine, &link, words);

    let note = call("catalog").result("catalog")["note"].take();
    assert!(note.as_str().unwrap().contains("came with it (todo)"), "{note}");
    let served = call("mcp").fault("PACKAGE_NOT_FOUND", 20);
    assert!(served.suggestion.contains("came with it (todo)"), "{served:?}");
    let unknown = call("run ./nothing list").fault("PACKAGE_NOT_FOUND", 20);
    assert!(unknown.suggestion.ends_with("takes the names todo"), "{unknown:?}");
    let found = call("find remind me").result("find")["items"][0].take();
    assert_eq!(
        json!([found["call"], found["trust"], found["install"], found["meta"], found["trust_required"]]),
        json!(["todo", "release", "hutch install todo", null, "local"])
    );
    let early = call("run todo list").fault("PACKAGE_NOT_FOUND", 20);
    assert_eq!(early.fixes[0].cmd, "hutch install todo");

    // What lies in the working folder decides nothing, and is named.
    machine.write("todo/APP.md", "no package");
    let installed = call("install todo");
    assert_eq!((installed.status, &installed.document()["result"]["source"]), (0, &json!("release:todo")));
    assert!(installed.stderr.ends_with("what lies in this folder is ./todo\n"), "{installed:?}");
    call("install ./todo").fault("PACKAGE_INVALID", 2);
    std::fs::remove_dir_all(machine.path("todo")).unwrap();

    assert_eq!(call("run todo add milk").answer()["count"], 1);
    assert_eq!(call("find remind me").result("find")["items"][0]["trust"], "unsigned");
    assert_eq!(call("install todo").result("install")["source"], "release:todo");
    // Rules are about where it came from, and a lock names that wherever the program lies.
    assert_eq!(call("install --lock").result("install")["packages"][0]["source"], "release:todo");
    call("trust add --require signed release:*").result("trust add");
    call("run todo list").fault("TRUST_REQUIRED", 30);
    // Another program came with nothing.
    let elsewhere = machine.run(["install", "todo"]).fault("PACKAGE_NOT_FOUND", 20);
    assert_eq!(elsewhere.message, "no package todo came with this program");
}

#[test]
fn what_others_may_have_put_beside_the_program_did_not_come_with_it() {
    let machine = Machine::new();
    let program = released(&machine);
    let share = machine.path("prefix/share");
    let is_seen = || line(&machine, &program, "install --dry-run todo").status == 0;
    assert!(is_seen());
    std::fs::set_permissions(&share, Permissions::from_mode(0o777)).unwrap();
    assert!(!is_seen(), "everybody writes there");
    std::fs::set_permissions(&share, Permissions::from_mode(0o755)).unwrap();
    assert!(is_seen());
    std::fs::rename(&share, machine.path("other")).unwrap();
    symlink(machine.path("other"), &share).unwrap();
    assert!(!is_seen(), "a link leads elsewhere");
    let refused = line(&machine, &program, "install todo").fault("PACKAGE_NOT_FOUND", 20);
    assert!(refused.suggestion.starts_with("hutch install takes a folder with APP.md"), "{refused:?}");
}
