//! What the to-do application says about itself: every command, parameter, failure and example, once.

mod commands;
mod schemas;

use commands::{ADD, COMPLETE, DUE, GET, LIST, REMINDER_CLEAR, REMINDER_LIST, REMINDER_SET, REMOVE, REOPEN, UPDATE};

use crate::batch::{BATCH_TOO_LARGE, INVALID_BATCH};
use crate::contract::{Description, FailureCode, Parameter, ValueType};
use crate::failure::{INVALID_VALUE, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, UNKNOWN_COMMAND, UNKNOWN_FLAG};
use crate::guidance::{Guidance, Rule, Skill};
use crate::state::{LIMIT_REACHED, NOT_FOUND, STATE_CORRUPT};
use crate::storage::STATE_UNAVAILABLE;

/// A command that takes something out for good was called without its `--confirm`.
pub const CONFIRMATION_REQUIRED: FailureCode = FailureCode {
    code: "CONFIRMATION_REQUIRED",
    exit_status: 30,
    description: "the command takes something out for good and was called without --confirm",
    fix: "ask the user, then call again with --confirm",
};

/// The application is wrong.
pub const INTERNAL_ERROR: FailureCode = FailureCode {
    code: "INTERNAL_ERROR",
    exit_status: 1,
    description: "the application has a defect",
    fix: "report the call and the message",
};

/// The opposite of a flag, which says what a call without the flag means.
macro_rules! opposite {
    ($flag:literal) => {
        Parameter::flag(concat!("no-", $flag), concat!("not --", $flag, ", as in a call with neither"))
    };
}
use opposite;

/// The application.
pub static TODO: Description = Description {
    name: "todo",
    version: env!("CARGO_PKG_VERSION"),
    summary: "Keeps a to-do list with due dates and reminders",
    parameters: &[
        Parameter::flag("help", "describe the application, or the command it is given with, and do nothing else"),
        Parameter::flag("version", "print the version and do nothing else"),
        Parameter::flag("brief", "say in one paragraph what the application is for and do nothing else"),
        Parameter::flag("human", "print text for people instead of JSON; failures then go to stderr"),
        opposite!("human"),
        Parameter::flag("agent", "print JSON, which is the default; contradicts --human"),
        opposite!("agent"),
        Parameter::flag("quiet", "print no notes on stderr"),
        opposite!("quiet"),
        Parameter::option(
            "fields",
            ValueType::String,
            "names of the fields to keep in items[], separated by commas, such as id,title",
        ),
    ],
    commands: &[ADD, LIST, GET, UPDATE, COMPLETE, REOPEN, REMOVE, REMINDER_SET, REMINDER_CLEAR, REMINDER_LIST, DUE],
    errors: &[
        UNKNOWN_COMMAND,
        UNKNOWN_FLAG,
        MISSING_ARGUMENT,
        UNEXPECTED_ARGUMENT,
        INVALID_VALUE,
        INVALID_BATCH,
        BATCH_TOO_LARGE,
        NOT_FOUND,
        CONFIRMATION_REQUIRED,
        LIMIT_REACHED,
        STATE_CORRUPT,
        STATE_UNAVAILABLE,
        INTERNAL_ERROR,
    ],
};

/// The fields of an item, as `items[]` shows it.
pub const ITEM_FIELDS: &[&str] =
    &["id", "title", "description", "status", "dueAt", "createdAt", "updatedAt", "completedAt", "reminders"];
/// The fields of an entry of `due` and `reminder list`: one moment of one item.
pub const MOMENT_FIELDS: &[&str] = &["kind", "at", "id", "title", "status", "dueAt"];
/// The commands whose answers show such moments.
pub const SHOWING_MOMENTS: &[&str] = &["reminder list", "due"];

/// The application in one paragraph. This text and those below are files of the package, so there is one copy of each.
pub const BRIEF: &str = include_str!("../../packages/todo/agent/brief.md");

/// What agents are told beside the commands.
#[must_use]
pub fn guidance() -> Guidance {
    Guidance {
        rules: vec![
            Rule::of(include_str!("../../packages/todo/agent/rules/trigger.md")),
            Rule::of(include_str!("../../packages/todo/agent/rules/workflow.md")),
            Rule::of(include_str!("../../packages/todo/agent/rules/writeback.md")),
        ],
        skills: vec![Skill::of(
            include_str!("../../packages/todo/skills/todo-usage/SKILL.md"),
            "hutch show todo --skill todo-usage",
        )],
        // The host keeps it, for every application in one place.
        issue: "report what is wrong or missing to the host: hutch issue create --type bug --message TEXT; hutch issue create --help lists the types",
    }
}
