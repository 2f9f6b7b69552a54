//! The application as its callers see it: arguments and input in; stdout, stderr, exit status and the state file out.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::fs;
use std::io::{self, Read};

use guest_todo::TODO;
use hutch_guest::Reply;
use hutch_guest::calendar::Instant;
use hutch_guest::storage::StateFile;
use serde_json::Value;
use tempfile::TempDir;

/// A list in a directory of its own, and a clock that stands still until told.
pub(crate) struct Todo {
    pub(crate) directory: TempDir,
    pub(crate) now: Instant,
}

impl Todo {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), now: Instant::parse("2026-04-01T00:00:00Z").unwrap() }
    }

    pub(crate) fn with_state(state: impl AsRef<[u8]>) -> Self {
        let todo = Self::new();
        fs::write(todo.directory.path().join("todos.json"), state).unwrap();
        todo
    }

    pub(crate) fn at(&mut self, now: &str) {
        self.now = Instant::parse(now).unwrap();
    }

    pub(crate) fn call<S: AsRef<str>>(&self, args: &[S]) -> Reply {
        self.call_with(args, Unread)
    }

    pub(crate) fn call_with<S: AsRef<str>>(&self, args: &[S], input: impl Read) -> Reply {
        let args: Vec<String> = args.iter().map(|arg| arg.as_ref().to_owned()).collect();
        TODO.run(&args, self.now, &StateFile::new(self.directory.path(), "todos.json"), input)
    }

    /// The document of a call that succeeds.
    pub(crate) fn ok(&self, args: &[&str]) -> Value {
        succeeded(args, &self.call(args))
    }

    /// The document of a call that takes a batch and succeeds.
    pub(crate) fn batch(&self, args: &[&str], input: &str) -> Value {
        succeeded(args, &self.call_with(args, input.as_bytes()))
    }

    /// Code and message of a call that is refused, which must not touch the state.
    pub(crate) fn refused(&self, args: &[&str], exit_status: u8) -> (String, String) {
        let error = self.refused_with(args, Unread, exit_status);
        assert!(error.get("index").is_none(), "{args:?}: {error}");
        (error["code"].as_str().unwrap().to_owned(), error["message"].as_str().unwrap().to_owned())
    }

    /// The error of a call that is refused, which must not touch the state.
    pub(crate) fn refused_with(&self, args: &[&str], input: impl Read, exit_status: u8) -> Value {
        let before = self.state();
        let reply = self.call_with(args, input);
        assert_eq!(reply.exit_status, exit_status, "{args:?}: {}", reply.stdout);
        assert_eq!(reply.stderr, "");
        assert_eq!(self.state(), before, "{args:?} changed the state");
        let document: Value = one_line(&reply.stdout);
        assert_eq!(document["ok"], false);
        let error = &document["error"];
        assert!(error["suggestion"].as_str().is_some_and(|suggestion| !suggestion.is_empty()), "{args:?}: {error}");
        error.clone()
    }

    pub(crate) fn state(&self) -> Option<String> {
        fs::read_to_string(self.directory.path().join("todos.json")).ok()
    }

    /// The ids that a call shows.
    pub(crate) fn ids(&self, args: &[&str]) -> Vec<String> {
        ids(&self.ok(args))
    }
}

fn succeeded(args: &[&str], reply: &Reply) -> Value {
    assert_eq!(reply.exit_status, 0, "{args:?}: {}", reply.stdout);
    let document: Value = one_line(&reply.stdout);
    assert_eq!(document["ok"], true, "{args:?}");
    document
}

/// Standard input that no call may look at unless it takes a batch.
pub(crate) struct Unread;

impl Read for Unread {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        panic!("standard input was read")
    }
}

pub(crate) fn one_line(stdout: &str) -> Value {
    assert_eq!(stdout.matches('\n').count(), 1, "one document and a newline: {stdout:?}");
    serde_json::from_str(stdout).unwrap()
}

pub(crate) fn ids(document: &Value) -> Vec<String> {
    document["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect()
}

/// One item a line, as the state file has it.
pub(crate) fn state(next_id: &str, items: &[String]) -> String {
    format!("{{\"version\":1,\"nextId\":\"{next_id}\",\"items\":[\n{}\n]}}\n", items.join(",\n"))
}

pub(crate) fn item(id: &str, title: &str) -> String {
    format!(
        r#"{{"id":"{id}","title":"{title}","description":"","dueAt":null,"createdAt":"2026-04-01T00:00:00.000Z","updatedAt":"2026-04-01T00:00:00.000Z","completedAt":null,"reminders":[]}}"#
    )
}
