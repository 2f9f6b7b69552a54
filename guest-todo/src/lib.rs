//! The to-do application: everything but its way into and out of the process, which is `main`.
//!
//! ```text
//! argv -> request -> commands(list, now) -> answer
//!  |        ^             ^      |
//!  |       batch    state(decode) state(encode)
//!  description            |      v
//!                         storage
//! ```
//!
//! `contract`, `argv`, `batch`, `help`, `failure`, `calendar` and `component` know nothing of to-do lists: the probe guest of
//! the host's tests describes itself and reads its arguments with them too. Only `storage` touches files, only a call with
//! `--json-input` reads its input, nothing reads a clock, nothing prints.

pub mod answer;
pub mod argv;
pub mod batch;
pub mod calendar;
pub mod commands;
#[cfg(target_family = "wasm")]
pub mod component;
pub mod contract;
pub mod description;
pub mod failure;
pub mod guidance;
pub mod help;
pub mod item;
mod json_text;
pub mod request;
pub mod state;
pub mod storage;

use std::io::Read;

use serde::Serialize;

use crate::argv::Arguments;
use crate::calendar::Instant;
use crate::description::{INTERNAL_ERROR, TODO};
use crate::failure::Failure;
use crate::help::{Brief, Help, Version};
use crate::request::{Call, Requests};
use crate::state::TodoList;
use crate::storage::StateFile;

/// What a call leaves behind, beside the state file.
#[derive(Debug, Eq, PartialEq)]
pub struct Reply {
    /// One JSON document and a newline, or text for people.
    pub stdout: String,
    /// Notes, or a failure told to people.
    pub stderr: String,
    /// 0 when the call did what it was asked.
    pub exit_status: u8,
}

/// Makes one call: reads the arguments after the program's name, and `input` if they ask for it, does what they ask at
/// the moment `now`, and writes the state file if, and only if, the list changed and was not to be changed for a try.
#[must_use]
pub fn run(args: &[String], now: Instant, file: &StateFile, input: impl Read) -> Reply {
    let human = argv::mentions(args, "human") && !argv::mentions(args, "agent");
    match argv::parse(&TODO, args).and_then(|arguments| call(&arguments, now, file, input)) {
        Ok(reply) => reply,
        Err(failure) => refusal(&failure, human),
    }
}

fn call(arguments: &Arguments, now: Instant, file: &StateFile, input: impl Read) -> Result<Reply, Failure> {
    let human = arguments.flag("human");
    if human && arguments.flag("agent") {
        return Err(Failure::contradiction("--human", "--agent"));
    }
    if arguments.flag("help") {
        let help = Help::new(&TODO, arguments, description::guidance());
        return success(&help, human.then(|| help.to_text()));
    }
    if arguments.flag("version") {
        let version = Version::new(&TODO);
        return success(&version, human.then(|| version.to_text()));
    }
    if arguments.flag("brief") {
        let brief = Brief::new(description::BRIEF);
        return success(&brief, human.then(|| brief.to_text()));
    }
    let call = Call::new(arguments, input)?;
    let mut list = match file.read()? {
        Some(bytes) => TodoList::decode(&bytes)?,
        None => TodoList::default(),
    };
    let mut answer = match call.requests {
        Requests::One(request) => commands::perform(request, &mut list, now)?,
        Requests::Batch(requests) => commands::perform_all(call.command.name, requests, &mut list, now)?,
    };
    answer.dry_run = call.dry_run;
    if answer.changed == Some(true) {
        let bytes = list.encode().map_err(unwritable)?;
        if !call.dry_run {
            file.replace(&bytes)?;
        }
    }
    answer.keep(&call.fields);
    let mut reply = success(&answer, human.then(|| answer.to_text()))?;
    if let Some(note) = answer.note
        && !arguments.flag("quiet")
    {
        reply.stderr = format!("note: {note}\n");
    }
    Ok(reply)
}

/// A document on stdout, unless there is a text to show instead.
fn success(document: &impl Serialize, text: Option<String>) -> Result<Reply, Failure> {
    let stdout = match text {
        Some(text) => text,
        None => serde_json::to_string(document).map_err(unwritable)? + "\n",
    };
    Ok(Reply { stdout, stderr: String::new(), exit_status: 0 })
}

/// A failure: as JSON on stdout, where agentapplications/v1 puts it, or as text on stderr for people.
#[must_use]
pub fn refusal(failure: &Failure, human: bool) -> Reply {
    #[derive(Serialize)]
    struct Document<'a> {
        ok: bool,
        error: &'a Failure,
    }
    let exit_status = failure.code.exit_status;
    let mut reply = Reply { stdout: String::new(), stderr: String::new(), exit_status };
    if human {
        reply.stderr = format!("error: {}\n", failure.message);
        if let Some(suggestion) = &failure.suggestion {
            reply.stderr += &format!("  {suggestion}\n");
        }
    } else if let Ok(document) = serde_json::to_string(&Document { ok: false, error: failure }) {
        reply.stdout = document + "\n";
    }
    reply
}

/// A value without a JSON form: no answer has one, so this is a defect of this program.
fn unwritable(error: serde_json::Error) -> Failure {
    Failure::new(INTERNAL_ERROR, format!("an answer has no JSON form: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_of_the_program_is_told_as_one() {
        // JSON has no other keys than texts.
        let unwritable = std::collections::BTreeMap::from([(vec![1], 1)]);
        let failure = success(&unwritable, None).err().map(|failure| failure.code.code);
        assert_eq!(failure, Some("INTERNAL_ERROR"));
    }
}
