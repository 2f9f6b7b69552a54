//! Taking parts out of an answer: `--fields`, `--query`, and pages of long lists. Works on values; prints nothing.

use clap::Args;
use hutch_model::document::digits;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Which part of a long list is shown, and how.
#[derive(Debug, Args, Clone, Copy)]
pub(crate) struct Page {
    /// Show at most so many items
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Leave out so many items first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) offset: u32,
    /// Print one item a line, as JSON, and nothing around them
    #[arg(long)]
    pub(crate) ndjson: bool,
}

impl Page {
    /// The part that is meant.
    pub(crate) fn meant(&self) -> hutch_documents::Page {
        hutch_documents::Page { limit: self.limit, offset: self.offset }
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
    /// Every item of a list.
    All,
}

/// Where a value stands in an answer: `items[0].id`, `items[*].id` for that of every item, `.` for all of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path(Vec<Step>);

impl std::str::FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Path, String> {
        let wrong = || {
            "expected names joined by dots, each with [N] behind it for an item or [*] for all of them, as items[0].id, or . alone"
                .to_owned()
        };
        let mut steps = Vec::new();
        if text == "." {
            return Ok(Path(steps));
        }
        for part in text.split('.') {
            let (key, indices) = part.split_once('[').map_or((part, None), |(key, rest)| (key, Some(rest)));
            if !key.is_empty() {
                steps.push(Step::Key(key.to_owned()));
            } else if indices.is_none() || !steps.is_empty() {
                return Err(wrong());
            }
            let Some(indices) = indices else { continue };
            for index in indices.strip_suffix(']').ok_or_else(wrong)?.split("][") {
                steps.push(match index {
                    "*" => Step::All,
                    index => Step::Index(index.parse().map_err(|_| wrong())?),
                });
            }
        }
        Ok(Path(steps))
    }
}

impl Path {
    /// Its parts, the outermost first.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The value that stands there. Of all items of a list a list, with null for an item that has nothing there.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Option<Cow<'v, Value>> {
        find(value, &self.0)
    }
}

fn find<'v>(value: &'v Value, steps: &[Step]) -> Option<Cow<'v, Value>> {
    let Some((step, rest)) = steps.split_first() else { return Some(Cow::Borrowed(value)) };
    match step {
        Step::Key(key) => find(value.get(key)?, rest),
        Step::Index(index) => find(value.get(index)?, rest),
        Step::All => {
            let items: Vec<Option<Cow<'v, Value>>> = value.as_array()?.iter().map(|item| find(item, rest)).collect();
            if !items.is_empty() && items.iter().all(Option::is_none) {
                return None;
            }
            Some(Cow::Owned(items.into_iter().map(|item| item.map_or(Value::Null, Cow::into_owned)).collect()))
        }
    }
}

/// Whether a value says that something is so: it is neither false, null, 0 nor empty, and of a list that holds for an item.
pub(crate) fn is_true(value: &Value) -> bool {
    if let Some(digits) = digits(value) {
        // What follows an e only moves the point.
        return digits.bytes().take_while(|byte| !b"eE".contains(byte)).any(|byte| (b'1'..=b'9').contains(&byte));
    }
    match value {
        Value::Null => false,
        Value::Bool(is_so) => *is_so,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => items.iter().any(is_true),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// Keeps only these fields: of each item of a list, or of the result itself.
///
/// # Errors
/// A name that nothing has, with the names that there are.
pub(crate) fn keep(result: &mut Value, fields: &[String]) -> Result<(), String> {
    if fields.is_empty() {
        return Ok(());
    }
    match result.get_mut("items") {
        Some(Value::Array(items)) => {
            check(items.iter(), fields)?;
            items.iter_mut().for_each(|item| keep_of(item, fields));
        }
        _ => {
            check(std::iter::once(&*result), fields)?;
            keep_of(result, fields);
        }
    }
    Ok(())
}

fn check<'v>(values: impl Iterator<Item = &'v Value>, fields: &[String]) -> Result<(), String> {
    let known: std::collections::BTreeSet<&str> = values
        .filter(|value| digits(value).is_none())
        .filter_map(Value::as_object)
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    match fields.iter().find(|field| !known.contains(field.as_str())) {
        Some(unknown) if !known.is_empty() => {
            let known: Vec<&str> = known.into_iter().collect();
            Err(format!("there is no field {unknown:?}; fields are {}", known.join(", ")))
        }
        _ => Ok(()),
    }
}

fn keep_of(value: &mut Value, fields: &[String]) {
    if digits(value).is_some() {
        return;
    }
    if let Value::Object(known) = value {
        known.retain(|name, _| fields.contains(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn at(path: &str, value: &Value) -> Option<Value> {
        path.parse::<Path>().unwrap().find(value).map(Cow::into_owned)
    }

    #[test]
    fn paths_find_values() {
        let value = json!({"items": [{"id": "a", "tags": [[1, 2]]}], "n": null});
        for (path, found) in [
            ("items[0].id", Some(json!("a"))),
            ("items[0].tags[0][1]", Some(json!(2))),
            ("n", Some(json!(null))),
            ("items[1]", None),
            ("items.id", None),
            ("n.x", None),
            (".", Some(value.clone())),
            ("items[*].id", Some(json!(["a"]))),
            ("items[*].tags[0][*]", Some(json!([[1, 2]]))),
            ("items[*].nosuch", None),
            ("n[*]", None),
        ] {
            assert_eq!(at(path, &value), found, "{path}");
        }
        assert_eq!(at("[1]", &json!([1, 2])), Some(json!(2)));
        assert_eq!(at("[*].a", &json!([{"a": 1}, {}, {"a": null}])), Some(json!([1, null, null])));
        assert_eq!(at("[*].a", &json!([])), Some(json!([])), "of no item there is no list of anything else");
        for path in ["", "a..b", "..", "a[", "a[x]", "a[0", "a.", "a[-1]", "a.[0]", "a[**]"] {
            assert!(path.parse::<Path>().is_err(), "{path}");
        }
    }

    #[test]
    fn what_is_true_is_said_by_values_of_every_kind() {
        let read = |text: &str| hutch_model::document::read_to_hand_on(text.as_bytes()).unwrap();
        for text in ["null", "false", "0", "-0", "0.0", "0e9", "\"\"", "[]", "{}", "[false, 0, [\"\"]]"] {
            assert!(!is_true(&read(text)), "{text}");
        }
        for text in ["true", "1", "-1", "0.5", "12345678901234567890123", "\"0\"", "[false, [2]]", "{\"a\":0}"] {
            assert!(is_true(&read(text)), "{text}");
        }
    }

    #[test]
    fn fields_are_kept_in_items_or_in_the_result() {
        let fields = ["a".to_owned()];
        let mut list = json!({"items": [{"a": 1, "b": 2}, {"b": 3}], "total": 2});
        keep(&mut list, &fields).unwrap();
        assert_eq!(list, json!({"items": [{"a": 1}, {}], "total": 2}));
        let mut one = json!({"a": 1, "b": 2});
        keep(&mut one, &fields).unwrap();
        assert_eq!(one, json!({"a": 1}));
        assert!(keep(&mut one, &["x".to_owned()]).unwrap_err().contains("fields are a"));
        assert!(keep(&mut json!({"items": []}), &fields).is_ok());
    }
}
