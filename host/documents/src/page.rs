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

impl Page {
    /// The items of this page, and what else there is to know about them: a [`Listed`].
    pub fn of<T: Serialize>(&self, items: Vec<T>) -> Value {
        json!(self.listed(items))
    }

    /// The same, for an answer that says more.
    pub fn listed<T>(&self, items: Vec<T>) -> Listed<T> {
        let total = items.len() as u64;
        self.cut(items.into_iter().skip(self.offset as usize).take(self.limit as usize).collect(), total)
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
