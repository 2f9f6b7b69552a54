//! Pages of long lists.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// Which part of a list is meant.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// At most so many items.
    pub limit: u32,
    /// So many are left out first.
    pub offset: u32,
}

/// A part of a list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Listed<T> {
    items: Vec<T>,
    total: u64,
    limit: u32,
    offset: u32,
    has_more: bool,
}

/// A part of a list, and what is said where nothing is in the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Noted<T> {
    #[serde(flatten)]
    listed: Listed<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

/// How many packages are named where nothing was found.
pub const NAMED_MAX: usize = 20;

/// What is said where no command was found: the packages that there are, by slug, and how they are looked at; or that there are `none`.
pub fn there_is<'s>(slugs: impl Iterator<Item = &'s str>, look: &str, none: &str) -> String {
    let mut named: Vec<&str> = slugs.take(NAMED_MAX + 1).collect();
    if named.is_empty() {
        return none.to_owned();
    }
    if named.len() > NAMED_MAX {
        named.truncate(NAMED_MAX);
        named.push("more");
    }
    format!("no command has these words; there is {}: {look}", named.join(", "))
}

impl Page {
    /// The items of this page, and what else there is to know about them: a [`Listed`].
    pub fn of<T: Serialize>(&self, items: Vec<T>) -> Value {
        json!(self.listed(items))
    }

    fn listed<T>(&self, items: Vec<T>) -> Listed<T> {
        let total = items.len() as u64;
        self.cut(items.into_iter().skip(self.offset as usize).take(self.limit as usize).collect(), total)
    }

    /// The same, with a note.
    pub fn noted<T>(&self, items: Vec<T>, note: Option<String>) -> Noted<T> {
        Noted { listed: self.listed(items), note }
    }

    /// The same, of items that are one page already, of `total` in all.
    pub fn part<T: Serialize>(&self, items: Vec<T>, total: u64) -> Value {
        json!(self.cut(items, total))
    }

    fn cut<T>(&self, items: Vec<T>, total: u64) -> Listed<T> {
        let has_more = u64::from(self.offset) + (items.len() as u64) < total;
        Listed { items, total, limit: self.limit, offset: self.offset, has_more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_a_list_without_gap_or_overlap() {
        let items: Vec<Value> = (0..25).map(Value::from).collect();
        let mut seen = Vec::new();
        loop {
            let page = Page { limit: 10, offset: seen.len() as u32 }.of(items.clone());
            seen.extend(page["items"].as_array().unwrap().clone());
            assert_eq!(page["total"], 25);
            if page["has_more"] == json!(false) {
                break;
            }
        }
        assert_eq!(seen, items);
        let beyond = Page { limit: 10, offset: 100 }.of(items);
        assert_eq!((&beyond["items"], &beyond["has_more"]), (&json!([]), &json!(false)));
    }
}
