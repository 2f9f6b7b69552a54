//! Every command: its parameters, what it does, how it ends, and calls that show its use.

use super::{CONFIRMATION_REQUIRED, opposite, schemas};
use crate::batch::{BATCH_TOO_LARGE, INVALID_BATCH};
use crate::contract::{Command, Effect, Example, FailureCode, Parameter, ValueType};
use crate::failure::{INVALID_VALUE, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, UNKNOWN_FLAG};
use crate::state::{LIMIT_REACHED, NOT_FOUND, STATE_CORRUPT};
use crate::storage::STATE_UNAVAILABLE;

const ID: Parameter = Parameter::positional(0, "id", ValueType::String, "id of the item, such as td_0001");
const TITLE: Parameter = Parameter {
    free_text: true,
    ..Parameter::option(
        "title",
        ValueType::String,
        "what is to be done: 1 to 200 characters on one line, not only white space",
    )
};
const DETAILS: Parameter = Parameter {
    free_text: true,
    ..Parameter::option("description", ValueType::String, "more about it: up to 4000 characters on one line")
};
const DUE_AT: Parameter = Parameter::option(
    "due-at",
    ValueType::DateOrInstant,
    "by when: a date such as 2026-04-05, or an instant such as 2026-04-05T17:00:00Z, kept in UTC to the millisecond",
);
const AT: Parameter = Parameter {
    repeated: true,
    ..Parameter::option(
        "at",
        ValueType::Instant,
        "when to remind, such as 2026-04-05T09:00:00Z; can be given several times",
    )
};
const JSON_INPUT: Parameter = Parameter::flag(
    "json-input",
    "take the parameters from standard input instead, where a batch stands: [{\"PARAMETER\":VALUE}, …] with at most 1000 entries and 1 MiB; all of them are done or none",
);
const DRY_RUN: Parameter = Parameter::flag(
    "dry-run",
    "do all but write: the answer is the same with dryRun: true, and the list stays as it is",
);
const CONFIRM: Parameter =
    Parameter::flag("confirm", "the user agreed that the items go; without it nothing is removed");
const LIMIT: Parameter = Parameter {
    default: Some("100"),
    ..Parameter::option("limit", ValueType::Integer, "how many to show at most, 1 to 10000")
};
const OFFSET: Parameter = Parameter {
    default: Some("0"),
    ..Parameter::option("offset", ValueType::Integer, "how many to pass over first, from 0")
};

const READ_ERRORS: &[FailureCode] =
    &[UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE, STATE_CORRUPT, STATE_UNAVAILABLE];
const READ_ITEM_ERRORS: &[FailureCode] =
    &[UNKNOWN_FLAG, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, INVALID_VALUE, NOT_FOUND, STATE_CORRUPT, STATE_UNAVAILABLE];

/// The parameters of a command that changes the list: its own, then those that all of them take.
macro_rules! changing {
    ($($parameter:expr),+ $(,)?) => {
        &[$($parameter),+, JSON_INPUT, opposite!("json-input"), DRY_RUN, opposite!("dry-run")]
    };
}

/// The failures of a command that changes the list: those that all of them have, then its own.
macro_rules! changing_errors {
    ($($failure:expr),+) => {
        &[
            UNKNOWN_FLAG,
            MISSING_ARGUMENT,
            UNEXPECTED_ARGUMENT,
            INVALID_VALUE,
            INVALID_BATCH,
            BATCH_TOO_LARGE,
            $($failure),+,
            STATE_CORRUPT,
            STATE_UNAVAILABLE,
        ]
    };
}

pub(super) const ADD: Command = Command {
    name: "add",
    description: "Adds an open item and shows it with its new id. Ids are never given twice.",
    parameters: changing![Parameter { position: Some(0), required: true, ..TITLE }, DETAILS, DUE_AT],
    effect: Effect::Write,
    idempotent: false,
    confirmation_required: false,
    output_schema: schemas::ADD,
    errors: changing_errors![LIMIT_REACHED],
    examples: &[
        Example { description: "add an item", args: &["add", "Buy milk & eggs"], exit_status: 0 },
        Example {
            description: "add an item that is due on a day",
            args: &["add", "Write docs", "--description", "first the README", "--due-at", "2026-04-05"],
            exit_status: 0,
        },
        Example { description: "see what would be added", args: &["add", "Call Ada", "--dry-run"], exit_status: 0 },
        Example { description: "a title is needed", args: &["add"], exit_status: 2 },
        Example { description: "a batch is needed on standard input", args: &["add", "--json-input"], exit_status: 2 },
    ],
};

pub(super) const LIST: Command = Command {
    name: "list",
    description: "Shows items in the order they were added, a page at a time: total counts all that match, hasMore tells whether some follow this page.",
    parameters: &[
        Parameter {
            default: Some("all"),
            choices: &["open", "completed", "all"],
            ..Parameter::option("status", ValueType::String, "which items to show")
        },
        Parameter::option(
            "due-before",
            ValueType::DateOrInstant,
            "only items that are due before it; a date, here and in an item, stands for its first moment in UTC",
        ),
        LIMIT,
        OFFSET,
    ],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::LIST,
    errors: READ_ERRORS,
    examples: &[
        Example { description: "show every item", args: &["list"], exit_status: 0 },
        Example {
            description: "show what is still open and due before May",
            args: &["list", "--status", "open", "--due-before", "2026-05-01"],
            exit_status: 0,
        },
        Example {
            description: "show only ids and titles, ten at a time",
            args: &["list", "--limit", "10", "--offset", "0", "--fields", "id,title"],
            exit_status: 0,
        },
        Example { description: "a limit is a number", args: &["list", "--limit", "ten"], exit_status: 2 },
    ],
};

pub(super) const GET: Command = Command {
    name: "get",
    description: "Shows one item.",
    parameters: &[ID],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::GET,
    errors: READ_ITEM_ERRORS,
    examples: &[
        Example { description: "show an item", args: &["get", "td_0001"], exit_status: 0 },
        Example { description: "an id that was never given", args: &["get", "td_9999"], exit_status: 20 },
    ],
};

pub(super) const UPDATE: Command = Command {
    name: "update",
    description: "Changes the fields that are given, and only those. Values equal to the old ones change nothing.",
    parameters: changing![
        ID,
        TITLE,
        DETAILS,
        DUE_AT,
        Parameter::flag("clear-description", "make the description empty"),
        opposite!("clear-description"),
        Parameter::flag("clear-due-at", "take the due date away"),
        opposite!("clear-due-at"),
    ],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::UPDATE,
    errors: changing_errors![NOT_FOUND],
    examples: &[
        Example {
            description: "change the title and the due date",
            args: &["update", "td_0001", "--title", "Buy oat milk", "--due-at", "2026-04-02T18:00:00+02:00"],
            exit_status: 0,
        },
        Example {
            description: "take the due date away",
            args: &["update", "td_0001", "--clear-due-at"],
            exit_status: 0,
        },
        Example {
            description: "say that a field is not to be cleared",
            args: &["update", "td_0001", "--title", "Buy oat milk", "--no-clear-description"],
            exit_status: 0,
        },
        Example { description: "a field to change is needed", args: &["update", "td_0001"], exit_status: 2 },
    ],
};

pub(super) const COMPLETE: Command = Command {
    name: "complete",
    description: "Marks an item as completed. An item that is completed already stays as it is, which is a success with changed: false.",
    parameters: changing![ID],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::COMPLETE,
    errors: changing_errors![NOT_FOUND],
    examples: &[Example { description: "complete an item", args: &["complete", "td_0001"], exit_status: 0 }],
};

pub(super) const REOPEN: Command = Command {
    name: "reopen",
    description: "Marks an item as open again. An item that is open already stays as it is, which is a success with changed: false.",
    parameters: changing![ID],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::REOPEN,
    errors: changing_errors![NOT_FOUND],
    examples: &[Example { description: "reopen an item", args: &["reopen", "td_0001"], exit_status: 0 }],
};

pub(super) const REMOVE: Command = Command {
    name: "remove",
    description: "Takes an item out for good and shows it a last time. Its id is not given again.",
    parameters: changing![ID, CONFIRM, opposite!("confirm")],
    effect: Effect::Delete,
    idempotent: false,
    confirmation_required: true,
    output_schema: schemas::REMOVE,
    errors: changing_errors![CONFIRMATION_REQUIRED, NOT_FOUND],
    examples: &[
        Example { description: "not without confirmation", args: &["remove", "td_0001"], exit_status: 30 },
        Example { description: "remove an item", args: &["remove", "td_0001", "--confirm"], exit_status: 0 },
        Example {
            description: "see what would be removed",
            args: &["remove", "td_0002", "--confirm", "--dry-run"],
            exit_status: 0,
        },
        Example { description: "it is gone", args: &["remove", "td_0001", "--confirm"], exit_status: 20 },
    ],
};

pub(super) const REMINDER_SET: Command = Command {
    name: "reminder set",
    description: "Adds reminders to an item, up to 32. Reminders that it has already stay, which is a success.",
    parameters: changing![ID, Parameter { required: true, ..AT }],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::REMINDER_SET,
    errors: changing_errors![NOT_FOUND, LIMIT_REACHED],
    examples: &[Example {
        description: "remind of an item in the morning",
        args: &["reminder", "set", "td_0002", "--at", "2026-04-05T09:00:00+02:00"],
        exit_status: 0,
    }],
};

pub(super) const REMINDER_CLEAR: Command = Command {
    name: "reminder clear",
    description: "Takes reminders off an item: those at the instants given, or all of them when none is given. Reminders that it does not have are passed over, which is a success.",
    parameters: changing![ID, AT],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::REMINDER_CLEAR,
    errors: changing_errors![NOT_FOUND],
    examples: &[Example {
        description: "a reminder was delivered: take it off",
        args: &["reminder", "clear", "td_0002", "--at", "2026-04-05T07:00:00Z"],
        exit_status: 0,
    }],
};

pub(super) const REMINDER_LIST: Command = Command {
    name: "reminder list",
    description: "Shows reminders, of one item or of all, the earliest first. Those of completed items sleep until the item is reopened; status tells.",
    parameters: &[Parameter { required: false, ..ID }, LIMIT, OFFSET],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::REMINDER_LIST,
    errors: READ_ITEM_ERRORS,
    examples: &[
        Example { description: "show every reminder", args: &["reminder", "list"], exit_status: 0 },
        Example { description: "show those of one item", args: &["reminder", "list", "td_0002"], exit_status: 0 },
    ],
};

pub(super) const DUE: Command = Command {
    name: "due",
    description: "Shows what a scheduler should act on: reminders and due dates of open items before an instant, the earliest first. next is the earliest moment that is not yet among them, or null: call again after it.",
    parameters: &[
        Parameter::option("before", ValueType::Instant, "the instant; the current time when it is not given"),
        LIMIT,
        OFFSET,
    ],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: schemas::DUE,
    errors: READ_ERRORS,
    examples: &[
        Example {
            description: "what to act on before noon",
            args: &["due", "--before", "2026-04-05T12:00:00Z"],
            exit_status: 0,
        },
        Example { description: "what to act on now", args: &["due"], exit_status: 0 },
    ],
};
