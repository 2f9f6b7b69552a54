//! Selecting a part of an answer: names separated by dots, places in lists in brackets, as `output.items[0].id`.

use crate::output::Fault;
use hutch_model::error_code::ErrorCode;
use serde_json::Value;
use std::str::FromStr;

/// A path into a JSON document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Query(Vec<Step>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Field(String),
    Index(usize),
}

impl FromStr for Query {
    type Err = String;

    fn from_str(text: &str) -> Result<Query, String> {
        let wrong = || "expected names and places, as output.items[0].id".to_owned();
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (name, mut places) = part.split_at(part.find('[').unwrap_or(part.len()));
            if !name.is_empty() {
                steps.push(Step::Field(name.to_owned()));
            } else if places.is_empty() || !steps.is_empty() {
                return Err(wrong());
            }
            while !places.is_empty() {
                let (place, rest) = places.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or_else(wrong)?;
                steps.push(Step::Index(place.parse().map_err(|_| wrong())?));
                places = rest;
            }
        }
        Ok(Query(steps))
    }
}

impl Query {
    /// The part of `value` that the path leads to.
    pub(crate) fn find<'v>(&self, value: &'v Value) -> Result<&'v Value, Fault> {
        let mut at = value;
        let mut seen = String::new();
        for step in &self.0 {
            let next = match step {
                Step::Field(name) => {
                    seen.push_str(&format!("{}{name}", if seen.is_empty() { "" } else { "." }));
                    at.get(name)
                }
                Step::Index(place) => {
                    seen.push_str(&format!("[{place}]"));
                    at.get(place)
                }
            };
            at = next.ok_or_else(|| Fault::new(ErrorCode::NotFound, format!("the answer has no {seen}")))?;
        }
        Ok(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_its_part_or_nowhere() {
        let value = json!({"output": {"items": [{"id": "td_0001"}, [1, 2]]}, "": 0});
        let cases = [
            ("output.items[0].id", Some(json!("td_0001"))),
            ("output.items[1][1]", Some(json!(2))),
            ("output.items[2]", None),
            ("output.nothing", None),
            ("output.items.id", None),
        ];
        for (path, expect) in cases {
            let query: Query = path.parse().unwrap();
            assert_eq!(query.find(&value).ok(), expect.as_ref(), "{path}");
        }
        assert_eq!("[1]".parse::<Query>().unwrap().find(&json!([5, 6])).ok(), Some(&json!(6)));
        for bad in ["", ".", "a..b", "a.", "a[", "a[x]", "a[0", "a[0]b", "a[-1]"] {
            assert!(bad.parse::<Query>().is_err(), "{bad:?} was taken");
        }
    }
}
