//! Tests of an application without a component: calls, a clock that stands still until told, a state in memory.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::application::{Application, Reply};
use crate::calendar::Instant;
use crate::contract::Effect;
use crate::document::Document;
use crate::storage::{Memory, Storage};

/// An application with a state of its own. What it finds wrong it panics about.
pub struct Harness<S: 'static> {
    application: &'static Application<S>,
    state: Memory,
    now: Cell<Instant>,
}

#[allow(clippy::missing_panics_doc, clippy::panic, reason = "that is how a test fails")]
impl<S: Document> Harness<S> {
    /// One with no state, at the start of 2026-04-01.
    #[must_use]
    pub fn new(application: &'static Application<S>) -> Self {
        let now = Instant::parse("2026-04-01T00:00:00Z").unwrap_or(Instant::MIN);
        Self { application, state: Memory::default(), now: Cell::new(now) }
    }

    /// From now on it is `now`, an instant such as `2026-04-01T09:30:00Z`.
    pub fn at(&self, now: &str) {
        self.now.set(Instant::parse(now).unwrap_or_else(|expected| panic!("{now}: expected {expected}")));
    }

    /// One call, with this on standard input.
    pub fn call(&self, args: &[&str], input: impl Read) -> Reply {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        self.application.run(&args, self.now.get(), &self.state, input)
    }

    /// The document of a call that succeeds.
    pub fn ok(&self, args: &[&str]) -> Value {
        self.batch(args, "")
    }

    /// The document of a call that succeeds, with a batch on standard input.
    pub fn batch(&self, args: &[&str], input: &str) -> Value {
        let reply = self.call(args, input.as_bytes());
        assert_eq!(reply.exit_status, 0, "{args:?}: {}", reply.stdout);
        document(args, &reply)
    }

    /// The error of a call that is refused, which must leave the state as it is.
    pub fn refused(&self, args: &[&str]) -> Value {
        let before = self.kept();
        let reply = self.call(args, std::io::empty());
        assert_ne!(reply.exit_status, 0, "{args:?}: {}", reply.stdout);
        assert!(self.kept() == before, "{args:?} changed the state");
        document(args, &reply)["error"].clone()
    }

    /// The bytes of the state as text; `None` if nothing was ever kept.
    #[must_use]
    pub fn state(&self) -> Option<String> {
        let bytes = self.state.read().ok().flatten()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// All that was ever kept.
    fn kept(&self) -> (Option<Vec<u8>>, BTreeMap<String, Vec<u8>>) {
        (self.state.read().ok().flatten(), self.state.files())
    }

    /// The bytes of a file that a call put beside the state.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        self.state.files().remove(name)
    }

    /// Makes every call that the contract shows, command after command on one state, and holds it against what the contract
    /// says: the exit status, the codes, and that only commands which may write do.
    pub fn examples(&self) {
        for command in self.application.description.commands {
            for example in command.examples {
                let before = self.kept();
                let reply = self.call(example.args, std::io::empty());
                assert_eq!(reply.exit_status, example.exit_status, "{:?}: {}", example.args, reply.stdout);
                let answer = document(example.args, &reply);
                let code = answer["error"]["code"].as_str();
                let known = code.is_none_or(|code| command.errors.iter().any(|error| error.code == code));
                assert!(known, "{:?}: the contract of {} has no {code:?}", example.args, command.name);
                let may_write = command.effect != Effect::Read && reply.exit_status == 0;
                assert!(may_write || self.kept() == before, "{:?} changed the state", example.args);
            }
        }
    }

    /// Holds a file against the contract of the application: `schemas/commands.json` of its package.
    pub fn contract(&self, file: impl AsRef<Path>) {
        let file = file.as_ref();
        let packaged = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let contract = self.application.description.to_json().unwrap_or_else(|error| panic!("{error}"));
        let renew = format!("renew it: cargo run -- --print-contract > {}", file.display());
        assert!(packaged == contract, "{} is not the contract of this program; {renew}", file.display());
    }
}

#[allow(clippy::panic, reason = "that is how a test fails")]
fn document(args: &[&str], reply: &Reply) -> Value {
    serde_json::from_str(&reply.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}: {:?}", reply.stdout))
}
