//! What the to-do application says about itself: every command, parameter, failure and example, once.

use crate::contract::{Command, Description, Effect, Example, FailureCode, Parameter, ValueType};
use crate::failure::{INVALID_VALUE, MISSING_ARGUMENT, UNEXPECTED_ARGUMENT, UNKNOWN_COMMAND, UNKNOWN_FLAG};
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

/// The application.
pub static TODO: Description = Description {
    name: "todo",
    version: env!("CARGO_PKG_VERSION"),
    summary: "Keeps a to-do list with due dates and reminders",
    parameters: &[
        Parameter::flag("help", "describe the application, or the command it is given with, and do nothing else"),
        Parameter::flag("version", "print the version and do nothing else"),
        Parameter::flag("human", "print text for people instead of JSON; failures then go to stderr"),
        Parameter::flag("agent", "print JSON, which is the default; contradicts --human"),
        Parameter::flag("quiet", "print no notes on stderr"),
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
const LIMIT: Parameter = Parameter {
    default: Some("100"),
    ..Parameter::option("limit", ValueType::Integer, "how many to show at most, 1 to 10000")
};
const OFFSET: Parameter = Parameter {
    default: Some("0"),
    ..Parameter::option("offset", ValueType::Integer, "how many to pass over first, from 0")
};

const COMMON_TO_READS: [FailureCode; 7] = [
    UNKNOWN_FLAG,
    MISSING_ARGUMENT,
    UNEXPECTED_ARGUMENT,
    INVALID_VALUE,
    STATE_CORRUPT,
    STATE_UNAVAILABLE,
    // Last, so that commands without an id leave it out by a slice.
    NOT_FOUND,
];
const READ_ERRORS: &[FailureCode] = COMMON_TO_READS.split_at(6).0;
const ITEM_ERRORS: &[FailureCode] = &COMMON_TO_READS;

macro_rules! moment {
    () => {
        r#"{"type":"string","format":"date-time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"}"#
    };
}
macro_rules! moment_or_null {
    () => {
        concat!(r#"{"anyOf":["#, moment!(), r#",{"type":"null"}]}"#)
    };
}
macro_rules! due_or_null {
    () => {
        concat!(
            r#"{"anyOf":[{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},"#,
            moment!(),
            r#",{"type":"null"}]}"#
        )
    };
}
macro_rules! id_title_status {
    () => {
        r#""id":{"type":"string","pattern":"^td_[0-9]{4,}$"},"title":{"type":"string","minLength":1,"maxLength":200},"status":{"enum":["open","completed"]}"#
    };
}
macro_rules! item {
    () => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"#,
            r#""required":["id","title","description","status","dueAt","createdAt","updatedAt","completedAt","reminders"],"#,
            r#""properties":{"#,
            id_title_status!(),
            r#","description":{"type":"string","maxLength":4000},"dueAt":"#,
            due_or_null!(),
            r#","createdAt":"#,
            moment!(),
            r#","updatedAt":"#,
            moment!(),
            r#","completedAt":"#,
            moment_or_null!(),
            r#","reminders":{"type":"array","maxItems":32,"items":"#,
            moment!(),
            "}}}"
        )
    };
}
macro_rules! item_moment {
    ($kinds:literal) => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"required":["kind","at","id","title","status","dueAt"],"#,
            r#""properties":{"kind":{"enum":"#,
            $kinds,
            r#"},"at":"#,
            moment!(),
            ",",
            id_title_status!(),
            r#","dueAt":"#,
            due_or_null!(),
            "}}"
        )
    };
}
/// The document of a command: `ok`, `command`, the command's own keys, `count`, `items`.
macro_rules! document {
    ($command:literal, $own_required:expr, $own_properties:expr, $items:expr) => {
        concat!(
            r#"{"type":"object","additionalProperties":false,"required":["ok","command","count","items""#,
            $own_required,
            r#"],"properties":{"ok":{"const":true},"command":{"const":""#,
            $command,
            r#""},"count":{"type":"integer","minimum":0},"#,
            $own_properties,
            r#""items":"#,
            $items,
            "}}"
        )
    };
}
macro_rules! change {
    ($command:literal) => {
        document!(
            $command,
            r#","changed""#,
            r#""changed":{"type":"boolean"},"#,
            concat!(r#"{"type":"array","minItems":1,"maxItems":1,"items":"#, item!(), "}")
        )
    };
}
macro_rules! page_required {
    () => {
        r#","total","limit","offset","hasMore""#
    };
}
macro_rules! page_properties {
    () => {
        r#""total":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1},"offset":{"type":"integer","minimum":0},"hasMore":{"type":"boolean"},"#
    };
}

const ADD: Command = Command {
    name: "add",
    description: "Adds an open item and shows it with its new id. Ids are never given twice.",
    parameters: &[Parameter { position: Some(0), required: true, ..TITLE }, DETAILS, DUE_AT],
    effect: Effect::Write,
    idempotent: false,
    confirmation_required: false,
    output_schema: change!("add"),
    errors: &[
        UNKNOWN_FLAG,
        MISSING_ARGUMENT,
        UNEXPECTED_ARGUMENT,
        INVALID_VALUE,
        LIMIT_REACHED,
        STATE_CORRUPT,
        STATE_UNAVAILABLE,
    ],
    examples: &[
        Example { description: "add an item", args: &["add", "Buy milk & eggs"], exit_status: 0 },
        Example {
            description: "add an item that is due on a day",
            args: &["add", "Write docs", "--description", "first the README", "--due-at", "2026-04-05"],
            exit_status: 0,
        },
        Example { description: "a title is needed", args: &["add"], exit_status: 2 },
    ],
};

const LIST: Command = Command {
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
    output_schema: document!(
        "list",
        page_required!(),
        page_properties!(),
        concat!(r#"{"type":"array","items":"#, item!(), "}")
    ),
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

const GET: Command = Command {
    name: "get",
    description: "Shows one item.",
    parameters: &[ID],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: document!(
        "get",
        "",
        "",
        concat!(r#"{"type":"array","minItems":1,"maxItems":1,"items":"#, item!(), "}")
    ),
    errors: ITEM_ERRORS,
    examples: &[
        Example { description: "show an item", args: &["get", "td_0001"], exit_status: 0 },
        Example { description: "an id that was never given", args: &["get", "td_9999"], exit_status: 20 },
    ],
};

const UPDATE: Command = Command {
    name: "update",
    description: "Changes the fields that are given, and only those. Values equal to the old ones change nothing.",
    parameters: &[
        ID,
        TITLE,
        DETAILS,
        DUE_AT,
        Parameter::flag("clear-description", "make the description empty"),
        Parameter::flag("clear-due-at", "take the due date away"),
    ],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: change!("update"),
    errors: ITEM_ERRORS,
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
        Example { description: "a field to change is needed", args: &["update", "td_0001"], exit_status: 2 },
    ],
};

const COMPLETE: Command = Command {
    name: "complete",
    description: "Marks an item as completed. An item that is completed already stays as it is, which is a success with changed: false.",
    parameters: &[ID],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: change!("complete"),
    errors: ITEM_ERRORS,
    examples: &[Example { description: "complete an item", args: &["complete", "td_0001"], exit_status: 0 }],
};

const REOPEN: Command = Command {
    name: "reopen",
    description: "Marks an item as open again. An item that is open already stays as it is, which is a success with changed: false.",
    parameters: &[ID],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: change!("reopen"),
    errors: ITEM_ERRORS,
    examples: &[Example { description: "reopen an item", args: &["reopen", "td_0001"], exit_status: 0 }],
};

const REMOVE: Command = Command {
    name: "remove",
    description: "Takes an item out for good and shows it a last time. Its id is not given again.",
    parameters: &[ID, Parameter::flag("confirm", "the user agreed that the item goes; without it nothing is removed")],
    effect: Effect::Delete,
    idempotent: false,
    confirmation_required: true,
    output_schema: change!("remove"),
    errors: &[
        UNKNOWN_FLAG,
        MISSING_ARGUMENT,
        UNEXPECTED_ARGUMENT,
        INVALID_VALUE,
        CONFIRMATION_REQUIRED,
        NOT_FOUND,
        STATE_CORRUPT,
        STATE_UNAVAILABLE,
    ],
    examples: &[
        Example { description: "not without confirmation", args: &["remove", "td_0001"], exit_status: 30 },
        Example { description: "remove an item", args: &["remove", "td_0001", "--confirm"], exit_status: 0 },
        Example { description: "it is gone", args: &["remove", "td_0001", "--confirm"], exit_status: 20 },
    ],
};

const REMINDER_SET: Command = Command {
    name: "reminder set",
    description: "Adds reminders to an item, up to 32. Reminders that it has already stay, which is a success.",
    parameters: &[ID, Parameter { required: true, ..AT }],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: change!("reminder set"),
    errors: &[
        UNKNOWN_FLAG,
        MISSING_ARGUMENT,
        UNEXPECTED_ARGUMENT,
        INVALID_VALUE,
        NOT_FOUND,
        LIMIT_REACHED,
        STATE_CORRUPT,
        STATE_UNAVAILABLE,
    ],
    examples: &[Example {
        description: "remind of an item in the morning",
        args: &["reminder", "set", "td_0002", "--at", "2026-04-05T09:00:00+02:00"],
        exit_status: 0,
    }],
};

const REMINDER_CLEAR: Command = Command {
    name: "reminder clear",
    description: "Takes reminders off an item: those at the instants given, or all of them when none is given. Reminders that it does not have are passed over, which is a success.",
    parameters: &[ID, AT],
    effect: Effect::Write,
    idempotent: true,
    confirmation_required: false,
    output_schema: change!("reminder clear"),
    errors: ITEM_ERRORS,
    examples: &[Example {
        description: "a reminder was delivered: take it off",
        args: &["reminder", "clear", "td_0002", "--at", "2026-04-05T07:00:00Z"],
        exit_status: 0,
    }],
};

const REMINDER_LIST: Command = Command {
    name: "reminder list",
    description: "Shows reminders, of one item or of all, the earliest first. Those of completed items sleep until the item is reopened; status tells.",
    parameters: &[Parameter { required: false, ..ID }, LIMIT, OFFSET],
    effect: Effect::Read,
    idempotent: true,
    confirmation_required: false,
    output_schema: document!(
        "reminder list",
        page_required!(),
        page_properties!(),
        concat!(r#"{"type":"array","items":"#, item_moment!(r#"["reminder"]"#), "}")
    ),
    errors: ITEM_ERRORS,
    examples: &[
        Example { description: "show every reminder", args: &["reminder", "list"], exit_status: 0 },
        Example { description: "show those of one item", args: &["reminder", "list", "td_0002"], exit_status: 0 },
    ],
};

const DUE: Command = Command {
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
    output_schema: document!(
        "due",
        concat!(r#","before","next""#, page_required!()),
        concat!(r#""before":"#, moment!(), r#","next":"#, moment_or_null!(), ",", page_properties!()),
        concat!(r#"{"type":"array","items":"#, item_moment!(r#"["reminder","due"]"#), "}")
    ),
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
