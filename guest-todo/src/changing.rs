//! The commands that change the list.

use std::collections::BTreeSet;

use hutch_guest::calendar::{Due, Instant};
use hutch_guest::failure::MISSING_ARGUMENT;
use hutch_guest::table::{LIMIT_REACHED, NOT_FOUND};
use hutch_guest::{Call, Changed, Command, Failure, Writes};

use crate::item::{Details, Id, Item, ItemRow, REMINDERS_MAX, Title, TodoList};

/// What every command here answers with.
type Answer = Result<Changed<ItemRow>, Failure>;

/// Changes one item, all or nothing. `edit` returns what to note if the item turns out to be as it was.
fn change(
    list: &mut TodoList,
    id: Id,
    call: &Call,
    edit: impl FnOnce(&mut Item) -> Result<&'static str, Failure>,
) -> Answer {
    let changed = list.change(id, edit, |item| item.updated_at = call.now)?;
    Ok(changed.map(|item| item.row()))
}

/// Adds an open item and shows it with its new id. Ids are never given twice.
#[derive(Command)]
#[command(write, errors(LIMIT_REACHED))]
#[example("add an item", ["Buy milk & eggs"])]
#[example("add an item that is due on a day", ["Write docs", "--description", "first the README", "--due-at", "2026-04-05"])]
#[example("see what would be added", ["Call Ada", "--dry-run"])]
#[example("a title is needed", [], 2)]
#[example("a batch is needed on standard input", ["--json-input"], 2)]
pub struct Add {
    /// what is to be done: 1 to 200 characters on one line, not only white space
    #[arg(positional, free_text)]
    title: Title,
    /// more about it: up to 4000 characters on one line
    #[arg(free_text)]
    description: Option<Details>,
    /// by when: a date such as 2026-04-05, or an instant such as 2026-04-05T17:00:00Z, kept in UTC to the millisecond
    due_at: Option<Due>,
}

impl Writes for Add {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        let added = list.add(|id| Item {
            id,
            title: self.title,
            description: self.description.unwrap_or_default(),
            due_at: self.due_at,
            created_at: call.now,
            updated_at: call.now,
            completed_at: None,
            reminders: BTreeSet::new(),
        })?;
        Ok(added.map(|item| item.row()))
    }
}

/// Changes the fields that are given, and only those. Values equal to the old ones change nothing.
#[derive(Command)]
#[command(write, idempotent, errors(NOT_FOUND))]
#[example("change the title and the due date", ["td_0001", "--title", "Buy oat milk", "--due-at", "2026-04-02T18:00:00+02:00"])]
#[example("take the due date away", ["td_0001", "--clear-due-at"])]
#[example("say that a field is not to be cleared", ["td_0001", "--title", "Buy oat milk", "--no-clear-description"])]
#[example("a field to change is needed", ["td_0001"], 2)]
pub struct Update {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
    /// what is to be done: 1 to 200 characters on one line, not only white space
    #[arg(free_text)]
    title: Option<Title>,
    /// more about it: up to 4000 characters on one line
    #[arg(free_text)]
    description: Option<Details>,
    /// by when: a date such as 2026-04-05, or an instant such as 2026-04-05T17:00:00Z, kept in UTC to the millisecond
    due_at: Option<Due>,
    /// make the description empty
    clear_description: bool,
    /// take the due date away
    clear_due_at: bool,
}

impl Writes for Update {
    type State = TodoList;
    type Row = ItemRow;

    fn check(&self) -> Result<(), Failure> {
        if self.description.is_some() && self.clear_description {
            return Err(Failure::contradiction("--description", "--clear-description"));
        }
        if self.due_at.is_some() && self.clear_due_at {
            return Err(Failure::contradiction("--due-at", "--clear-due-at"));
        }
        let values = self.title.is_some() || self.description.is_some() || self.due_at.is_some();
        if values || self.clear_description || self.clear_due_at {
            return Ok(());
        }
        Err(Failure::new(MISSING_ARGUMENT, "update needs a field to change")
            .suggest("give --title, --description, --due-at, --clear-description or --clear-due-at"))
    }

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        change(list, self.id, call, |item| {
            item.title = self.title.unwrap_or_else(|| item.title.clone());
            let description = self.description.or(self.clear_description.then(Details::default));
            item.description = description.unwrap_or_else(|| item.description.clone());
            item.due_at = self.due_at.or(item.due_at.filter(|_| !self.clear_due_at));
            Ok("has these values already")
        })
    }
}

/// Marks an item as completed. An item that is completed already stays as it is, which is a success with changed: false.
#[derive(Command)]
#[command(write, idempotent, errors(NOT_FOUND))]
#[example("complete an item", ["td_0001"])]
pub struct Complete {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
}

impl Writes for Complete {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        change(list, self.id, call, |item| {
            item.completed_at = item.completed_at.or(Some(call.now));
            Ok("is completed already")
        })
    }
}

/// Marks an item as open again. An item that is open already stays as it is, which is a success with changed: false.
#[derive(Command)]
#[command(write, idempotent, errors(NOT_FOUND))]
#[example("reopen an item", ["td_0001"])]
pub struct Reopen {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
}

impl Writes for Reopen {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        change(list, self.id, call, |item| {
            item.completed_at = None;
            Ok("is open already")
        })
    }
}

/// Takes an item out for good and shows it a last time. Its id is not given again.
#[derive(Command)]
#[command(delete, errors(NOT_FOUND))]
#[example("not without confirmation", ["td_0001"], 30)]
#[example("remove an item", ["td_0001", "--confirm"])]
#[example("see what would be removed", ["td_0002", "--confirm", "--dry-run"])]
#[example("it is gone", ["td_0001", "--confirm"], 20)]
pub struct Remove {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
}

impl Writes for Remove {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, _: &Call) -> Answer {
        Ok(list.remove(self.id)?.map(|item| item.row()))
    }
}

/// Adds reminders to an item, up to 32. Reminders that it has already stay, which is a success.
#[derive(Command)]
#[command(write, idempotent, errors(NOT_FOUND, LIMIT_REACHED))]
#[example("remind of an item in the morning", ["td_0002", "--at", "2026-04-05T09:00:00+02:00"])]
pub struct ReminderSet {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
    /// when to remind, such as 2026-04-05T09:00:00Z; can be given several times
    #[arg(required)]
    at: BTreeSet<Instant>,
}

impl Writes for ReminderSet {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        change(list, self.id, call, |item| {
            item.reminders.extend(self.at);
            let count = item.reminders.len();
            if count > REMINDERS_MAX {
                let message = format!("{} would have {count} reminders, at most {REMINDERS_MAX} fit", item.id);
                return Err(Failure::new(LIMIT_REACHED, message));
            }
            Ok("has these reminders already")
        })
    }
}

/// Takes reminders off an item: those at the instants given, or all of them when none is given. Reminders that it does not have
/// are passed over, which is a success.
#[derive(Command)]
#[command(write, idempotent, errors(NOT_FOUND))]
#[example("a reminder was delivered: take it off", ["td_0002", "--at", "2026-04-05T07:00:00Z"])]
pub struct ReminderClear {
    /// id of the item, such as td_0001
    #[arg(positional)]
    id: Id,
    /// when to remind, such as 2026-04-05T09:00:00Z; can be given several times
    at: BTreeSet<Instant>,
}

impl Writes for ReminderClear {
    type State = TodoList;
    type Row = ItemRow;

    fn run(self, list: &mut TodoList, call: &Call) -> Answer {
        change(list, self.id, call, |item| {
            item.reminders.retain(|reminder| !self.at.is_empty() && !self.at.contains(reminder));
            Ok("has no such reminders")
        })
    }
}
