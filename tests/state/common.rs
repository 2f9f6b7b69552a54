//! What the tests of this folder share: the program in a home of its own, with nothing of the surroundings.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of this module")]

#[path = "../cli/support/artifacts.rs"]
pub mod artifacts;
#[path = "../security/ends.rs"]
mod ends;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A home folder, and the program in it.
pub struct Home(tempfile::TempDir);

/// What the program answered.
pub struct Answer {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    pub fn new() -> Home {
        let home = tempfile::tempdir().expect("no folder for a home");
        artifacts::keep_key(&home.path().join(".local/share/hutch"));
        Home(home)
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Gives a program these surroundings and no others.
    pub fn surround<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_clear().env("HOME", self.path()).env("XDG_CACHE_HOME", artifacts::CACHE).current_dir(repository())
    }

    /// The program, ready to be started.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hutch"));
        self.surround(&mut command).args(arguments);
        command.stdin(std::process::Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Answer {
        let Output { status, stdout, stderr } = self.command(arguments).output().expect("the program does not start");
        Answer {
            status: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).expect("no UTF-8 on standard output"),
            stderr: String::from_utf8(stderr).expect("no UTF-8 on standard error"),
        }
    }

    /// The JSON that a command answers with, which must succeed.
    pub fn json(&self, arguments: &[&str]) -> Value {
        let answer = self.run(arguments);
        assert_eq!(answer.status, 0, "{arguments:?}: {}{}", answer.stdout, answer.stderr);
        ends::saw("exited");
        let value: Value = serde_json::from_str(&answer.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", answer.stdout));
        // What is not a plain run answers in the common form.
        match value.get("rules") {
            Some(_) => value["result"].clone(),
            None => value,
        }
    }

    /// The error that a command ends with.
    pub fn error(&self, arguments: &[&str]) -> (i32, Value) {
        let answer = self.run(arguments);
        assert_eq!(answer.stdout, "", "{arguments:?} printed data and failed");
        let error: Value = serde_json::from_str(&answer.stderr).expect("no JSON on standard error");
        ends::saw(error["code"].as_str().expect("no code"));
        (answer.status, error)
    }

    /// The plain directory of the to-do application's volume.
    pub fn plain(&self) -> PathBuf {
        self.path().join(".local/share/hutch/instances/todo/default/state")
    }

    /// The titles of all items.
    pub fn titles(&self) -> Vec<String> {
        let list = self.json(&["run", "packages/todo", "list", "--limit", "10000"]);
        let items = list["items"].as_array().expect("no items");
        items.iter().map(|item| item["title"].as_str().expect("no title").to_owned()).collect()
    }
}

/// The program as somebody starts it who may not read everything: who is root may, so it is somebody else then, whose home, program and
/// probe these are. What it ends with, and all that it says.
#[cfg(unix)]
pub fn unprivileged(home: &Home) -> impl Fn(&[&str]) -> (Option<i32>, String) + use<> {
    use std::os::unix::fs::{MetadataExt, lchown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let home = home.path().to_owned();
    // By a process of its own: while this one holds a program open to write it, a child that another thread starts then holds it too, and nobody can
    // start it.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_hutch")).arg(home.join("hutch")).status();
    assert!(copied.expect("cp").success(), "not copied");
    copy(&repository().join("tests/packages/probe"), &home.join("probe"));
    let is_root = std::fs::metadata(&home).expect("a home").uid() == 0;
    let mut theirs = if is_root { vec![home.clone()] } else { Vec::new() };
    while let Some(path) = theirs.pop() {
        lchown(&path, Some(NOBODY), Some(NOBODY)).expect("not given away");
        if std::fs::symlink_metadata(&path).expect("a file").is_dir() {
            theirs.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        }
    }
    move |words| {
        let mut command = Command::new(home.join("hutch"));
        command.env_clear().env("HOME", &home).current_dir(&home).args(words).stdin(std::process::Stdio::null());
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.output().expect("not started");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}

pub fn repository() -> PathBuf {
    Path::new("../..").canonicalize().expect("tests begin in the folder of their crate")
}

/// Copies a folder, whole.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("no folder");
    for entry in std::fs::read_dir(from).expect("no folder").map(|entry| entry.expect("no entry")) {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).expect("no copy")),
        }
    }
}
