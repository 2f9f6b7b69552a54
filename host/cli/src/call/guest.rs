//! What a guest printed, as people read it: the error that it tells, and the list that it answers with. What is of no form that is
//! known here is shown as it is.

use crate::screen::human;
use crate::screen::table::{COLUMNS_MAX, Table};
use crate::screen::told::Told;
use hutch::DocumentSize;
use hutch_certify::read;
use hutch_certify::target::Observation;
use hutch_documents::bounds::{DRAWN_BYTES, DRAWN_CELLS, DRAWN_MEMORY};
use hutch_model::document;
use hutch_model::terminal::one_line;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::fmt;

/// Bytes of the longest stream that an error is looked for in: errors are short.
const ERROR_BYTES_MAX: usize = 64 << 10;
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

/// What a guest printed, for people: drawn if it can be, else as it is.
pub(crate) fn told(stdout: &[u8]) -> Told {
    drawn(stdout).unwrap_or_else(|| String::from_utf8_lossy(stdout).trim_end().to_owned().into())
}

/// An answer for people: a list as a table, another document as its fields; `None` for what is no document, or too large for that.
pub(crate) fn drawn(stdout: &[u8]) -> Option<Told> {
    if DRAWN_MEMORY.is_below(DocumentSize::of(stdout).ok()?.memory_bytes) {
        return None;
    }
    // A number is not counted with here, so it is shown by its digits.
    let stdout = &*document::spelled(stdout);
    let listed = serde_json::from_slice::<Listed>(stdout);
    let listed = listed.or_else(|_| serde_json::from_slice::<Answered>(stdout).map(Answered::listed));
    let listed = listed.or_else(|_| serde_json::from_slice(stdout).map(|items| Listed { items, rest: Map::new() }));
    let bytes_max = usize::try_from(DRAWN_BYTES.max).unwrap_or(usize::MAX);
    let fields = |value: &Value| human::fields_within(value, bytes_max);
    let Ok(Listed { items, mut rest }) = listed else {
        return fields(&document::read(stdout).ok()?).map(Told::from);
    };
    let table = Told::from(table(&items)?);
    // What every answer says is seen by the answer being there.
    rest.retain(|name, value| match name.as_str() {
        "ok" | "success" => *value != Value::Bool(true),
        name => name != "command",
    });
    let (short, long): (Map<_, _>, Map<_, _>) = rest.into_iter().partition(|(_, value)| is_short(value));
    let short: Vec<String> =
        short.iter().map(|(name, value)| format!("{}: {}", cut(name), cut(&human::text(Some(value))))).collect();
    let table = if short.is_empty() { table } else { table.and(format!("\n{}", one_line(&short.join("  ")))) };
    Some(if long.is_empty() { table } else { table.and(fields(&long.into())?) })
}

/// A list under a name that says so, and what is said beside it.
#[derive(Deserialize)]
struct Listed {
    #[serde(alias = "results", alias = "data")]
    items: Vec<Row>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Deserialize)]
struct Answered {
    result: Listed,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Answered {
    fn listed(mut self) -> Listed {
        self.result.rest.extend(self.rest);
        self.result
    }
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

/// Every field that some item has a short value for, in the order in which they first come; what has no column is named.
fn table(rows: &[Row]) -> Option<Table> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut names: Vec<&str> = Vec::new();
    let mut deep: Vec<&str> = Vec::new();
    for (name, value) in rows.iter().flat_map(|row| &row.0).filter(|(_, value)| !is_empty(value)) {
        if is_short(value) {
            places.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            });
        } else {
            deep.push(name);
        }
    }
    if DRAWN_CELLS.is_below((rows.len() * names.len().min(COLUMNS_MAX)) as u64) {
        return None;
    }
    deep.sort_unstable();
    deep.dedup();
    let upper = |name: &&str| one_line(&cut(name)).to_uppercase();
    let deep = deep.into_iter().filter(|name| !places.contains_key(name));
    let mut table = Table::of(names.iter().map(upper), deep.map(|name| upper(&name)));
    for row in rows {
        let said = row.0.iter().filter(|(_, value)| !is_empty(value) && is_short(value));
        let cells = said.filter_map(|(name, value)| Some((*places.get(name.as_str())?, value)));
        let cells = cells.filter(|(column, _)| *column < COLUMNS_MAX);
        table.row(cells.map(|(column, value)| (column, cut(&human::text(Some(value))))));
    }
    Some(table)
}

/// As much of a text as a cell shows.
fn cut(text: &str) -> String {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        Some(_) => text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Whether a value says nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a value fits into a cell.
fn is_short(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(items) => items.iter().all(|item| !item.is_object() && !item.is_array()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::told::Screen;

    fn shown(document: &str) -> Option<String> {
        drawn(document.as_bytes()).map(|told| told.shown(Screen::default()))
    }

    #[test]
    fn lists_become_tables_in_the_order_of_their_fields() {
        let items =
            r#"[{"id":"b","title":"x\u001b[2J","empty":"","deep":{"a":1}},{"id":"a","tags":["p","q"],"title":""}]"#;
        let table = "ID  TITLE  TAGS\nb   x\u{fffd}[2J  -\na   -      p, q\nnot shown: DEEP; --agent shows all";
        for document in [
            items.to_owned(),
            format!(r#"{{"ok":true,"items":{items}}}"#),
            format!(r#"{{"ok":true,"result":{{"results":{items}}}}}"#),
        ] {
            assert_eq!(shown(&document).as_deref(), Some(table), "{document}");
        }
        let counted = format!(r#"{{"count":2,"data":{items}}}"#);
        assert_eq!(shown(&counted), Some(format!("{table}\n\ncount: 2")));
        let failed = format!(r#"{{"ok":false,"error":"half","command":"x","items":{items}}}"#);
        assert_eq!(shown(&failed), Some(format!("{table}\n\nerror: half  ok: no")));
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
