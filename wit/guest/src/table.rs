//! A state that is many items of one kind, each with an identifier that is given once, in the order they were added.
//!
//! ```json
//! {"version":1,"nextId":"td_0003","items":[
//! {"id":"td_0001","title":"Write docs",…},
//! {"id":"td_0002",…}
//! ]}
//! ```
//!
//! One table has one spelling: one item a line, so that a change of one item is a change of one line. Reading is strict: what
//! would not be written back whole is refused, never repaired.

use std::fmt;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::answer::Changed;
use crate::contract::FailureCode;
use crate::document::Document;
use crate::failure::Failure;

/// No item has the id.
pub const NOT_FOUND: FailureCode = FailureCode {
    code: "NOT_FOUND",
    exit_status: 20,
    description: "no item has this id; ids of removed items are never given again",
    fix: "call list for the ids there are",
};
/// The table, or an item, is full.
pub const LIMIT_REACHED: FailureCode = FailureCode {
    code: "LIMIT_REACHED",
    exit_status: 30,
    description: "the list holds as many items as it can, or an item as many of its parts: no more fit",
    fix: "remove what is no longer needed",
};

const VERSION: u32 = 1;

/// An identifier that counts up. [`id!`](crate::id) makes one.
pub trait Identifier: Copy + Ord + fmt::Display + Serialize + DeserializeOwned {
    /// The first one.
    const FIRST: Self;
    /// The one after this; `None` after the last.
    fn next(self) -> Option<Self>;
}

/// One item of a table, as its file holds it.
pub trait Item: Clone + PartialEq + Serialize + DeserializeOwned + 'static {
    /// Its identifier.
    type Id: Identifier;
    /// The name of the file with the table.
    const FILE: &'static str;
    /// What one is called in messages.
    const NAME: &'static str = "item";
    /// How many a table holds.
    const MAX: usize = 100_000;

    /// Its identifier.
    fn id(&self) -> Self::Id;

    /// What is wrong with an item that was read, beyond the types of its fields.
    ///
    /// # Errors
    /// That.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The items, and the identifier of the next one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table<T: Item> {
    next_id: T::Id,
    items: Vec<T>,
}

impl<T: Item> Default for Table<T> {
    fn default() -> Self {
        Self { next_id: T::Id::FIRST, items: Vec::new() }
    }
}

impl<T: Item> Table<T> {
    /// The items, in the order of their identifiers, which is the order they were added in.
    #[must_use]
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Adds the item that `make` builds around a new identifier.
    ///
    /// # Errors
    /// `LIMIT_REACHED`.
    pub fn add(&mut self, make: impl FnOnce(T::Id) -> T) -> Result<Changed<T>, Failure> {
        let id = self.next_id;
        let next_id = id.next().filter(|_| self.items.len() < T::MAX);
        self.next_id = next_id
            .ok_or_else(|| Failure::new(LIMIT_REACHED, format!("the list holds {} {}s", self.items.len(), T::NAME)))?;
        let item = make(id);
        self.items.push(item.clone());
        Ok(Changed::yes(item))
    }

    /// The item of an identifier.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn get(&self, id: T::Id) -> Result<&T, Failure> {
        self.items.get(self.index(id)?).ok_or_else(|| not_found::<T>(id))
    }

    /// Changes an item by `edit`, all or nothing, which returns what to note if it turns out to be as it was. `touch` comes
    /// after an edit that did change it.
    ///
    /// # Errors
    /// `NOT_FOUND`, or that of `edit`.
    pub fn change(
        &mut self,
        id: T::Id,
        edit: impl FnOnce(&mut T) -> Result<&'static str, Failure>,
        touch: impl FnOnce(&mut T),
    ) -> Result<Changed<T>, Failure> {
        let index = self.index(id)?;
        let item = self.items.get_mut(index).ok_or_else(|| not_found::<T>(id))?;
        let mut edited = item.clone();
        let unchanged = edit(&mut edited)?;
        if edited == *item {
            return Ok(Changed::no(edited, format!("{id} {unchanged}: nothing changed")));
        }
        touch(&mut edited);
        item.clone_from(&edited);
        Ok(Changed::yes(edited))
    }

    /// Takes an item out; its identifier is not given again.
    ///
    /// # Errors
    /// `NOT_FOUND`.
    pub fn remove(&mut self, id: T::Id) -> Result<Changed<T>, Failure> {
        let index = self.index(id)?;
        Ok(Changed::yes(self.items.remove(index)))
    }

    fn index(&self, id: T::Id) -> Result<usize, Failure> {
        self.items.binary_search_by_key(&id, Item::id).map_err(|_| not_found::<T>(id))
    }
}

fn not_found<T: Item>(id: T::Id) -> Failure {
    Failure::new(NOT_FOUND, format!("no {} has the id {id}", T::NAME))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, bound = "T: Item")]
struct FileToRead<T: Item> {
    version: u32,
    next_id: T::Id,
    items: Vec<T>,
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u32,
}

impl<T: Item> Document for Table<T> {
    const FILE: Option<&'static str> = Some(T::FILE);

    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let other_version = |version: u32| format!("it is of version {version}, expected {VERSION}");
        let file: FileToRead<T> = serde_json::from_slice(bytes).map_err(|error| {
            // Another version may differ in anything else, so its number is the better message.
            match serde_json::from_slice::<AnyVersion>(bytes) {
                Ok(AnyVersion { version }) if version != VERSION => other_version(version),
                _ => error.to_string(),
            }
        })?;
        if file.version != VERSION {
            return Err(other_version(file.version));
        }
        let mut previous = None;
        for item in &file.items {
            let id = item.id();
            if previous.is_some_and(|previous| previous >= id) {
                return Err(format!("{id} is out of order, ids must rise"));
            }
            if id >= file.next_id {
                return Err(format!("{id} is not below nextId, {}", file.next_id));
            }
            item.check()?;
            previous = Some(id);
        }
        if file.items.len() > T::MAX {
            return Err(format!("it holds more than {} {}s", T::MAX, T::NAME));
        }
        Ok(Self { next_id: file.next_id, items: file.items })
    }

    fn encode(self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = format!("{{\"version\":{VERSION},\"nextId\":\"{}\",\"items\":[", self.next_id).into_bytes();
        for (index, item) in self.items.iter().enumerate() {
            bytes.extend_from_slice(if index == 0 { b"\n" } else { b",\n" });
            serde_json::to_writer(&mut bytes, item)?;
        }
        bytes.extend_from_slice(b"\n]}\n");
        Ok(bytes)
    }
}

/// The number of an identifier with that prefix, if it is written in the one form that there is.
#[must_use]
pub fn number_of(text: &str, prefix: &str) -> Option<u64> {
    let digits = text.strip_prefix(prefix)?;
    let plain = digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_digit());
    // Beyond four digits none is there to fill up.
    let shortest = digits.len() == 4 || !digits.starts_with('0');
    digits.parse().ok().filter(|number| plain && shortest && *number > 0)
}
