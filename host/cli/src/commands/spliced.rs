//! A value put into a JSON document that a person keeps: all else of its text stays as it is written. Knows nothing of files.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use std::fmt;
use std::ops::Range;

/// The text of a document in which the field that these names lead to has the value. Objects on the way are made if they are missing; of fields
/// with one name the last counts.
///
/// # Errors
/// The text is no document, or something else stands where an object is to be.
pub(super) fn with(text: &str, names: &[&str], value: &Value) -> Result<String, serde_json::Error> {
    put(text, Some(""), names, value)
}

/// The same of a part of a document, whose last line begins with `margin`; none if all of it is to be on one line.
fn put(text: &str, margin: Option<&str>, names: &[&str], value: &Value) -> Result<String, serde_json::Error> {
    let Some((name, deeper)) = names.split_first() else { return written(value, margin) };
    let fields = fields(text)?;
    let new = |margin: Option<&str>| -> Result<String, serde_json::Error> {
        Ok(format!("{}: {}", Value::from(*name), put("{}", margin, deeper, value)?))
    };
    let Some((_, last)) = fields.last() else {
        return match margin {
            Some(margin) => Ok(format!("{{\n{margin}  {}\n{margin}}}", new(Some(&format!("{margin}  ")))?)),
            None => Ok(format!("{{{}}}", new(None)?)),
        };
    };
    // What stands before its first name stands before each.
    let lead = text.split(['{', '"']).nth(1).unwrap_or_default();
    let margin = lead.rsplit_once('\n').map(|(_, margin)| margin);
    let (at, new) = match fields.iter().rfind(|(found, _)| found == name) {
        Some((_, at)) => (at.clone(), put(text.get(at.clone()).unwrap_or_default(), margin, deeper, value)?),
        None => (last.end..last.end, format!(",{lead}{}", new(margin)?)),
    };
    let mut text = text.to_owned();
    text.replace_range(at, &new);
    Ok(text)
}

fn written(value: &Value, margin: Option<&str>) -> Result<String, serde_json::Error> {
    match margin {
        Some(margin) => Ok(serde_json::to_string_pretty(value)?.replace('\n', &format!("\n{margin}"))),
        None => serde_json::to_string(value),
    }
}

/// The fields of an object, in order, and where the value of each stands in the text.
fn fields(text: &str) -> Result<Vec<(String, Range<usize>)>, serde_json::Error> {
    let Fields(fields) = serde_json::from_str(text)?;
    let placed = |(name, value): (String, &RawValue)| {
        let begin = value.get().as_ptr().addr() - text.as_ptr().addr();
        (name, begin..begin + value.get().len())
    };
    Ok(fields.into_iter().map(placed).collect())
}

struct Fields<'t>(Vec<(String, &'t RawValue)>);

impl<'t> Deserialize<'t> for Fields<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Fields<'t>, D::Error> {
        struct Read;

        impl<'t> Visitor<'t> for Read {
            type Value = Fields<'t>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Fields<'t>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn put(text: &str) -> String {
        with(text, &["servers", "hutch"], &json!({"args": [1], "n": {}})).unwrap()
    }

    #[test]
    fn all_else_stays_as_it_is_written() {
        let new = "{\n      \"args\": [\n        1\n      ],\n      \"n\": {}\n    }";
        for (before, after) in [
            ("{}".to_owned(), format!("{{\n  \"servers\": {{\n    \"hutch\": {new}\n  }}\n}}")),
            (
                "{\n  \"z\": 1.00,\n  \"a\": 1e2\n}".to_owned(),
                format!("{{\n  \"z\": 1.00,\n  \"a\": 1e2,\n  \"servers\": {{\n    \"hutch\": {new}\n  }}\n}}"),
            ),
            (
                "{\n  \"servers\": {},\n  \"a\": \"\\u0061\"}".to_owned(),
                format!("{{\n  \"servers\": {{\n    \"hutch\": {new}\n  }},\n  \"a\": \"\\u0061\"}}"),
            ),
            (
                "{\n  \"servers\": {\n    \"hutch\": 7 ,\n    \"b\": {\"c\": 1}\n  }\n}".to_owned(),
                format!("{{\n  \"servers\": {{\n    \"hutch\": {new} ,\n    \"b\": {{\"c\": 1}}\n  }}\n}}"),
            ),
            (
                "{\"a\": 1e2, \"servers\": {\"b\": 2}}".to_owned(),
                "{\"a\": 1e2, \"servers\": {\"b\": 2,\"hutch\": {\"args\":[1],\"n\":{}}}}".to_owned(),
            ),
            // Readers take the last of two.
            (
                "{\"servers\": 1, \"servers\": {}}".to_owned(),
                "{\"servers\": 1, \"servers\": {\"hutch\": {\"args\":[1],\"n\":{}}}}".to_owned(),
            ),
        ] {
            assert_eq!(put(&before), after, "{before}");
            assert_eq!(put(&after), after, "{before}");
        }
    }

    #[test]
    fn where_something_else_stands_nothing_is_put() {
        for text in ["[]", "7", "", "{", "{\"servers\": []}", "{\"servers\": null}"] {
            assert!(with(text, &["servers", "hutch"], &json!(1)).is_err(), "{text}");
        }
    }
}
