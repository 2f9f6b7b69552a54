//! What a guest printed, as people read it: the error that it tells, and the list that it answers with. What is of no form that is
//! known here is shown as it is.

use crate::human;
use crate::told::{Told, one_line};
use hutch::DocumentSize;
use hutch_certify::read;
use hutch_certify::target::Observation;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Bytes of the longest stream that an error is looked for in: errors are short.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// Memory of the largest answer that is drawn.
const DRAWN_MEMORY_MAX: u64 = 64 << 20;
/// Characters of a text that a table shows.
const CELL_CHARS_MAX: usize = 60;

/// A guest's own message about its failure.
pub(crate) struct Said {
    message: String,
    code: Option<String>,
    suggestion: Option<String>,
    /// Whether it stands on standard error.
    pub(crate) on_stderr: bool,
    /// Whether nothing else stands there.
    pub(crate) alone: bool,
}

impl Said {
    /// As lines that can't be taken for the host's.
    pub(crate) fn for_people(&self) -> String {
        let code = self.code.as_ref().map(|code| format!(" [{}]", one_line(code))).unwrap_or_default();
        let suggestion = self.suggestion.as_ref().map(|text| format!("\n  {}", one_line(text))).unwrap_or_default();
        format!("the application says: {}{code}{suggestion}", one_line(&self.message))
    }
}

/// The error that a guest tells, on whichever stream.
pub(crate) fn error(stdout: &[u8], stderr: &[u8]) -> Option<Said> {
    let short = |bytes: &[u8]| if bytes.len() > ERROR_BYTES_MAX { Vec::new() } else { bytes.to_vec() };
    let observed = Observation { stdout: short(stdout), stderr: short(stderr), ..Observation::default() };
    let told = read::told(&observed)?;
    Some(Said {
        message: told.message?,
        code: told.code,
        suggestion: told.suggestion,
        on_stderr: told.on_stderr,
        alone: told.alone,
    })
}

/// An answer for people: a list as a table, another document as its fields; `None` for what is no document, or too large to be read.
pub(crate) fn drawn(stdout: &[u8]) -> Option<Told> {
    if DocumentSize::of(stdout).ok()?.memory_bytes > DRAWN_MEMORY_MAX {
        return None;
    }
    let rows = serde_json::from_slice::<Listed>(stdout).map(|listed| listed.items);
    let rows = rows.or_else(|_| serde_json::from_slice::<Answered>(stdout).map(|answered| answered.result.items));
    let rows = rows.or_else(|_| serde_json::from_slice::<Vec<Row>>(stdout));
    match rows {
        Ok(rows) => Some(table(&rows)),
        Err(_) => serde_json::from_slice::<Value>(stdout).ok().map(|value| human::fields(&value).into()),
    }
}

/// A list under a name that says so.
#[derive(Deserialize)]
struct Listed {
    #[serde(alias = "results", alias = "data")]
    items: Vec<Row>,
}

#[derive(Deserialize)]
struct Answered {
    result: Listed,
}

/// An item, its fields in the order in which they were printed.
struct Row(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Row(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

/// Every field that some item has a short value for, in the order in which they first come.
fn table(rows: &[Row]) -> Told {
    let mut names: Vec<&str> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| &row.0) {
        if is_said(value) && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cut = |value: &Value| match human::text(Some(value)) {
        text if text.chars().count() > CELL_CHARS_MAX => {
            text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect::<String>()
        }
        text => text,
    };
    // By number: a name may be anything.
    let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or(0).to_string();
    let cells = |row: &Row| {
        let said = row.0.iter().filter(|(_, value)| is_said(value));
        said.map(|(name, value)| (place(name), cut(value).into())).collect()
    };
    let items: Vec<Value> = rows.iter().map(|row| Value::Object(cells(row))).collect();
    let (places, headings): (Vec<String>, Vec<String>) =
        names.iter().map(|name| (place(name), one_line(&name.to_uppercase()))).unzip();
    let columns: Vec<(&str, &str)> =
        places.iter().map(String::as_str).zip(headings.iter().map(String::as_str)).collect();
    human::table(&items, &columns)
}

/// Whether a value says something, and fits into a cell.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null | Value::Object(_) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty() && items.iter().all(|item| !item.is_object() && !item.is_array()),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(document: &str) -> Option<String> {
        drawn(document.as_bytes()).map(|told| told.shown(false))
    }

    #[test]
    fn lists_become_tables_in_the_order_of_their_fields() {
        let items =
            r#"[{"id":"b","title":"x\u001b[2J","empty":"","deep":{"a":1}},{"id":"a","tags":["p","q"],"title":""}]"#;
        let table = "ID  TITLE  TAGS\nb   x\u{fffd}[2J  -\na   -      p, q";
        for document in [
            items.to_owned(),
            format!(r#"{{"ok":true,"items":{items}}}"#),
            format!(r#"{{"count":2,"data":{items}}}"#),
            format!(r#"{{"ok":true,"result":{{"results":{items}}}}}"#),
        ] {
            assert_eq!(shown(&document).as_deref(), Some(table), "{document}");
        }
        assert_eq!(shown(r#"{"items":[]}"#).as_deref(), Some("nothing"));
        let long = format!(r#"[{{"a":"{}"}}]"#, "x".repeat(100));
        assert_eq!(shown(&long).unwrap(), format!("A\n{}…", "x".repeat(59)));
    }

    #[test]
    fn other_documents_are_shown_by_their_fields_and_no_document_as_it_is() {
        assert_eq!(shown(r#"{"a":1,"items":3}"#).as_deref(), Some("a: 1\nitems: 3"));
        assert_eq!(shown(r#"[1,2]"#).as_deref(), Some("1, 2"));
        for other in ["prose", "", "{} {}"] {
            assert_eq!(shown(other), None);
        }
        let bomb = format!("[{}{{}}]", r#"{"a":1},"#.repeat(1 << 20));
        assert_eq!(shown(&bomb), None);
    }

    #[test]
    fn an_error_is_found_where_guests_write_it() {
        let flat = r#"{"error":true,"code":"A_B","message":"m\nerror: forged","suggestion":"s"}"#;
        let nested = r#"{"ok":false,"error":{"code":"A_B","message":"m\nerror: forged","suggestion":"s"}}"#;
        for (stdout, stderr, on_stderr, alone) in
            [("", flat, true, true), (nested, "", false, true), ("", &format!("a warning\n{flat}"), true, false)]
        {
            let said = error(stdout.as_bytes(), stderr.as_bytes()).unwrap();
            assert_eq!(said.for_people(), "the application says: m error: forged [A_B]\n  s");
            assert_eq!((said.on_stderr, said.alone), (on_stderr, alone));
        }
        for none in ["", "prose", "{}", r#"{"error":"bad"}"#] {
            assert!(error(none.as_bytes(), b"").is_none(), "{none}");
        }
        let long = format!(r#"{{"error":true,"code":"A","message":"{}"}}"#, "x".repeat(ERROR_BYTES_MAX));
        assert!(error(long.as_bytes(), b"").is_none());
    }
}
