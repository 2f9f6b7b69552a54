//! The to-do list and its file format, version 1.
//!
//! ```json
//! {"version":1,"nextId":"td_0003","items":[
//! {"id":"td_0001","title":"Write docs","description":"","dueAt":"2026-04-05","createdAt":"…","updatedAt":"…","completedAt":null,"reminders":[]},
//! {"id":"td_0002",…}
//! ]}
//! ```
//!
//! One list has one spelling: keys in this order, one item a line, so that a change of one item is a change of one line.
//! Reading is strict: what this version would not write back whole is refused, never repaired. Does no I/O.

use serde::{Deserialize, Serialize};

use crate::contract::FailureCode;
use crate::failure::Failure;
use crate::item::{Id, Item, REMINDERS_MAX};

/// Items that a list can hold.
pub const ITEMS_MAX: usize = 100_000;

/// The state file cannot be read.
pub const STATE_CORRUPT: FailureCode = FailureCode {
    code: "STATE_CORRUPT",
    exit_status: 1,
    description: "the state file is not a to-do list of version 1; it is left as it is",
    fix: "go back to an earlier state of the volume, or mend state/todos.json by hand at the place that the message names",
};
/// No item has the id.
pub const NOT_FOUND: FailureCode = FailureCode {
    code: "NOT_FOUND",
    exit_status: 20,
    description: "no item has this id; ids of removed items are never given again",
    fix: "call list for the ids there are",
};
/// The list or an item is full.
pub const LIMIT_REACHED: FailureCode = FailureCode {
    code: "LIMIT_REACHED",
    exit_status: 30,
    description: "the list holds 100000 items, or the item 32 reminders: no more fit",
    fix: "remove items or clear reminders that are no longer needed",
};

const VERSION: u32 = 1;

/// The list. Items are in the order of their ids, which is the order they were added in.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TodoList {
    next_id: Id,
    items: Vec<Item>,
}

impl Default for TodoList {
    fn default() -> Self {
        Self { next_id: Id::FIRST, items: Vec::new() }
    }
}

impl TodoList {
    /// The items, in order.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Adds the item that `make` builds around a new id.
    ///
    /// # Errors
    /// `LIMIT_REACHED`.
    pub fn add(&mut self, make: impl FnOnce(Id) -> Item) -> Result<&Item, Failure> {
        let id = self.next_id;
        let next_id = id.next().filter(|_| self.items.len() < ITEMS_MAX);
        self.next_id =
            next_id.ok_or_else(|| Failure::new(LIMIT_REACHED, format!("the list holds {} items", self.items.len())))?;
        Ok(self.items.push_mut(make(id)))
    }

    /// The item of an id.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn get(&self, id: Id) -> Result<&Item, Failure> {
        self.items.get(self.index(id)?).ok_or_else(|| not_found(id))
    }

    /// The item of an id, to change it.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn get_mut(&mut self, id: Id) -> Result<&mut Item, Failure> {
        let index = self.index(id)?;
        self.items.get_mut(index).ok_or_else(|| not_found(id))
    }

    /// Takes the item of an id out; the id is not given again.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn remove(&mut self, id: Id) -> Result<Item, Failure> {
        let index = self.index(id)?;
        Ok(self.items.remove(index))
    }

    fn index(&self, id: Id) -> Result<usize, Failure> {
        self.items.binary_search_by_key(&id, |item| item.id).map_err(|_| not_found(id))
    }

    /// Reads the bytes of a state file.
    ///
    /// # Errors
    /// `STATE_CORRUPT`, with what is wrong and where.
    pub fn decode(bytes: &[u8]) -> Result<Self, Failure> {
        let corrupt = |why: String| Failure::new(STATE_CORRUPT, format!("state/todos.json cannot be read: {why}"));
        let file: FileToRead = serde_json::from_slice(bytes).map_err(|error| {
            // Another version may differ in anything else, so its number is the better message.
            match serde_json::from_slice::<AnyVersion>(bytes) {
                Ok(AnyVersion { version }) if version != VERSION => corrupt(other_version(version)),
                _ => corrupt(error.to_string()),
            }
        })?;
        if file.version != VERSION {
            return Err(corrupt(other_version(file.version)));
        }
        let mut previous = None;
        for Item { id, reminders, .. } in &file.items {
            if previous.is_some_and(|previous| previous >= *id) {
                return Err(corrupt(format!("{id} is out of order, ids must rise")));
            }
            if *id >= file.next_id {
                return Err(corrupt(format!("{id} is not below nextId, {}", file.next_id)));
            }
            if reminders.len() > REMINDERS_MAX {
                return Err(corrupt(format!("{id} has more than {REMINDERS_MAX} reminders")));
            }
            previous = Some(*id);
        }
        if file.items.len() > ITEMS_MAX {
            return Err(corrupt(format!("it holds more than {ITEMS_MAX} items")));
        }
        Ok(Self { next_id: file.next_id, items: file.items })
    }

    /// The bytes of the state file.
    ///
    /// # Errors
    /// None in practice: every value of an item has a JSON form.
    pub fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = format!("{{\"version\":{VERSION},\"nextId\":\"{}\",\"items\":[", self.next_id).into_bytes();
        for (index, item) in self.items.iter().enumerate() {
            bytes.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut bytes, item)?;
        }
        bytes.extend_from_slice(b"\n]}\n");
        Ok(bytes)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FileToRead {
    version: u32,
    next_id: Id,
    items: Vec<Item>,
}

#[derive(Deserialize, Serialize)]
struct AnyVersion {
    version: u32,
}

fn other_version(version: u32) -> String {
    format!("it is of version {version}, expected {VERSION}")
}

fn not_found(id: Id) -> Failure {
    Failure::new(NOT_FOUND, format!("no item has the id {id}"))
}
