//! From arguments, or the entries of a batch, to requests: typed once, not looked at as text again.

use std::collections::BTreeSet;
use std::io::Read;

use crate::argv::{self, Arguments, BATCH, Value};
use crate::batch::{self, Entry, is_of_an_entry};
use crate::calendar::{Due, Expected, Instant};
use crate::contract::{Command, Parameter};
use crate::description::{CONFIRMATION_REQUIRED, ITEM_FIELDS, MOMENT_FIELDS, SHOWING_MOMENTS, TODO};
use crate::failure::{Failure, INVALID_VALUE, MISSING_ARGUMENT, nearest};
use crate::item::{Details, Id, Status, Title};

/// What a call asks of the list.
#[derive(Debug)]
pub enum Request {
    /// `add`
    Add {
        /// What is to be done.
        title: Title,
        /// More about it.
        details: Details,
        /// By when.
        due: Option<Due>,
    },
    /// `list`
    List {
        /// Only items of this status.
        status: Option<Status>,
        /// Only items due before it.
        due_before: Option<Due>,
        /// The part to show.
        page: Page,
    },
    /// `get`
    Get(Id),
    /// `update`; `None` leaves a field as it is.
    Update {
        /// The item.
        id: Id,
        /// Its new title.
        title: Option<Title>,
        /// Its new description, empty to clear it.
        details: Option<Details>,
        /// Its new due date, `Some(None)` to take it away.
        due: Option<Option<Due>>,
    },
    /// `complete`
    Complete(Id),
    /// `reopen`
    Reopen(Id),
    /// `remove`; that it is confirmed is the call's matter
    Remove(Id),
    /// `reminder set`
    SetReminders {
        /// The item.
        id: Id,
        /// The moments to add.
        at: BTreeSet<Instant>,
    },
    /// `reminder clear`
    ClearReminders {
        /// The item.
        id: Id,
        /// The moments to take away; empty means all.
        at: BTreeSet<Instant>,
    },
    /// `reminder list`
    ListReminders {
        /// Only those of this item.
        id: Option<Id>,
        /// The part to show.
        page: Page,
    },
    /// `due`
    Due {
        /// Moments before it; now when `None`.
        before: Option<Instant>,
        /// The part to show.
        page: Page,
    },
}

/// A part of a long answer.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// At most so many.
    pub limit: usize,
    /// After so many.
    pub offset: usize,
}

/// All that a call asks.
#[derive(Debug)]
pub struct Call {
    /// The command.
    pub command: &'static Command,
    /// What it is to do.
    pub requests: Requests,
    /// Whether to do it without writing.
    pub dry_run: bool,
    /// The fields of `items[]` to keep.
    pub fields: Vec<&'static str>,
}

/// How many times the command is asked for.
#[derive(Debug)]
pub enum Requests {
    /// Once, by arguments.
    One(Request),
    /// Once by each entry on standard input.
    Batch(Vec<Request>),
}

impl Call {
    /// The call that arguments make; `input` is read only if they ask for it.
    ///
    /// # Errors
    /// A usage failure, a batch that cannot be taken, or `CONFIRMATION_REQUIRED`.
    pub fn new(arguments: &Arguments, input: impl Read) -> Result<Self, Failure> {
        let command = arguments.complete(&TODO)?;
        let requests = if arguments.flag(BATCH) {
            Requests::Batch(entries(arguments, command, input)?)
        } else {
            Requests::One(Request::new(arguments)?)
        };
        if command.confirmation_required && !arguments.flag("confirm") {
            return Err(Failure::new(CONFIRMATION_REQUIRED, format!("{} requires --confirm", command.name)));
        }
        let known = if SHOWING_MOMENTS.contains(&command.name) { MOMENT_FIELDS } else { ITEM_FIELDS };
        let fields = fields(arguments, known)?;
        Ok(Self { command, requests, dry_run: arguments.flag("dry-run"), fields })
    }
}

fn entries(arguments: &Arguments, command: &'static Command, input: impl Read) -> Result<Vec<Request>, Failure> {
    let given = |parameter: &&Parameter| is_of_an_entry(parameter) && !arguments.all(parameter.name).is_empty();
    if let Some(given) = command.parameters.iter().find(given) {
        return Err(Failure::contradiction("--json-input", &argv::written(given)));
    }
    let request = |(index, entry): (usize, Entry)| {
        // What a listing shows of an item can be more than the command takes.
        let arguments = entry.arguments(&TODO, command, &[ITEM_FIELDS, MOMENT_FIELDS]);
        arguments.and_then(|arguments| Request::new(&arguments)).map_err(|failure| failure.of_entry(index))
    };
    batch::read(input)?.into_iter().enumerate().map(request).collect()
}

impl Request {
    /// The request that the values of a command's own parameters make.
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let command = arguments.complete(&TODO)?;
        let id = || text(arguments, "id", Id::parse)?.ok_or_else(|| missing("ID"));
        Ok(match command.name {
            "add" => Self::Add {
                title: text(arguments, "title", Title::parse)?.ok_or_else(|| missing("TITLE"))?,
                details: text(arguments, "description", Details::parse)?.unwrap_or_default(),
                due: due(arguments, "due-at"),
            },
            "list" => Self::List {
                status: match arguments.text("status") {
                    Some("open") => Some(Status::Open),
                    Some("completed") => Some(Status::Completed),
                    _ => None,
                },
                due_before: due(arguments, "due-before"),
                page: page(arguments)?,
            },
            "get" => Self::Get(id()?),
            "update" => update(arguments, id()?)?,
            "complete" => Self::Complete(id()?),
            "reopen" => Self::Reopen(id()?),
            "remove" => Self::Remove(id()?),
            "reminder set" => Self::SetReminders { id: id()?, at: instants(arguments, "at") },
            "reminder clear" => Self::ClearReminders { id: id()?, at: instants(arguments, "at") },
            "reminder list" => Self::ListReminders { id: text(arguments, "id", Id::parse)?, page: page(arguments)? },
            "due" => Self::Due { before: instants(arguments, "before").pop_first(), page: page(arguments)? },
            // Only a command of the table without a line here gets this far; a test walks them all.
            other => return Err(Failure::new(crate::failure::UNKNOWN_COMMAND, format!("{other} is not implemented"))),
        })
    }
}

fn update(arguments: &Arguments, id: Id) -> Result<Request, Failure> {
    let title = text(arguments, "title", Title::parse)?;
    let details = match (text(arguments, "description", Details::parse)?, arguments.flag("clear-description")) {
        (Some(_), true) => return Err(Failure::contradiction("--description", "--clear-description")),
        (None, true) => Some(Details::default()),
        (given, false) => given,
    };
    let due = match (due(arguments, "due-at"), arguments.flag("clear-due-at")) {
        (Some(_), true) => return Err(Failure::contradiction("--due-at", "--clear-due-at")),
        (None, true) => Some(None),
        (given, false) => given.map(Some),
    };
    if title.is_none() && details.is_none() && due.is_none() {
        return Err(Failure::new(MISSING_ARGUMENT, "update needs a field to change")
            .suggest("give --title, --description, --due-at, --clear-description or --clear-due-at"));
    }
    Ok(Request::Update { id, title, details, due })
}

/// Reads the text of a parameter further, by the constructor of its type.
fn text<T>(
    arguments: &Arguments,
    name: &str,
    parse: impl Fn(&str) -> Result<T, Expected>,
) -> Result<Option<T>, Failure> {
    arguments.text(name).map(|text| parse(text).map_err(|expected| invalid(name, text, expected))).transpose()
}

fn invalid(name: &str, text: &str, expected: &str) -> Failure {
    /// A longer value would hide the rest of the message.
    const SHOWN_CHARS_MAX: usize = 80;
    let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let more = if shown.len() < text.len() { "…" } else { "" };
    Failure::new(INVALID_VALUE, format!("{name} is {shown:?}{more}, expected {expected}"))
}

fn missing(what: &str) -> Failure {
    Failure::new(MISSING_ARGUMENT, format!("{what} is missing"))
}

fn due(arguments: &Arguments, name: &str) -> Option<Due> {
    match arguments.one(name) {
        Some(Value::Due(due)) => Some(*due),
        _ => None,
    }
}

fn instants(arguments: &Arguments, name: &str) -> BTreeSet<Instant> {
    let instant = |value: &Value| match value {
        Value::Instant(instant) => Some(*instant),
        _ => None,
    };
    arguments.all(name).iter().filter_map(instant).collect()
}

fn page(arguments: &Arguments) -> Result<Page, Failure> {
    let number = |name: &str, bounds: std::ops::RangeInclusive<i64>, expected: &str| {
        let given = arguments.integer(name).unwrap_or(*bounds.start());
        usize::try_from(given)
            .ok()
            .filter(|_| bounds.contains(&given))
            .ok_or_else(|| invalid(&format!("--{name}"), &given.to_string(), expected))
    };
    Ok(Page {
        limit: number("limit", 1..=10_000, "a number from 1 to 10000")?,
        offset: number("offset", 0..=i64::from(i32::MAX), "a number from 0 to 2147483647")?,
    })
}

/// The fields to keep, in the order of the table whatever the order asked for: documents of one command look alike.
fn fields(arguments: &Arguments, known: &'static [&'static str]) -> Result<Vec<&'static str>, Failure> {
    let Some(list) = arguments.text("fields") else {
        return Ok(known.to_vec());
    };
    let wanted: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some(unknown) = wanted.iter().find(|name| !known.contains(name)) {
        let failure = invalid("--fields", list, &format!("names among {}", known.join(",")));
        return Err(match nearest(unknown, known.iter().copied()) {
            Some(near) => failure.suggest(format!("did you mean {near}?")),
            None => failure.suggest(format!("{unknown:?} is not a field here; the fields are {}", known.join(","))),
        });
    }
    Ok(known.iter().copied().filter(|name| wanted.contains(name)).collect())
}
