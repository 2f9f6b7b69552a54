//! Answers for people: aligned tables under a heading, and plain lines.

use crate::told::{Told, one_line};
use serde_json::Value;

/// A table of these columns: the field of each item, and its heading.
pub(crate) fn table(items: &[Value], columns: &[(&str, &str)]) -> Told {
    let cell = |item: &Value, field: &str| one_line(&text(item.pointer(&format!("/{}", field.replace('.', "/")))));
    let rows: Vec<Vec<String>> =
        items.iter().map(|item| columns.iter().map(|(field, _)| cell(item, field)).collect()).collect();
    if rows.is_empty() {
        return "nothing".into();
    }
    let width = |column: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(at, (_, heading))| width(at, heading)).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let heading: Vec<String> = columns.iter().map(|(_, heading)| (*heading).to_owned()).collect();
    Told::under(line(&heading), rows.iter().map(|row| line(row)).collect::<Vec<_>>().join("\n"))
}

/// A value as a person would write it.
pub(crate) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) if items.is_empty() => "-".to_owned(),
        Some(Value::Array(items)) => items.iter().map(|item| text(Some(item))).collect::<Vec<_>>().join(", "),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(other) => other.to_string(),
    }
}

/// A text as it is, anything else as JSON.
pub(crate) fn text_or_json(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The fields of an object, one a line; objects inside are indented.
pub(crate) fn fields(value: &Value) -> String {
    let mut lines = Vec::new();
    describe(value, "", &mut lines);
    lines.join("\n")
}

fn describe(value: &Value, indent: &str, lines: &mut Vec<String>) {
    let Value::Object(known) = value else {
        lines.push(format!("{indent}{}", indented(&text(Some(value)), indent)));
        return;
    };
    for (name, value) in known {
        let name = one_line(&name.replace('_', " "));
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                lines.push(format!("{indent}{name}:"));
                describe(value, &format!("{indent}  "), lines);
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                lines.push(format!("{indent}{name}:"));
                for item in items {
                    let at = lines.len();
                    describe(item, &format!("{indent}    "), lines);
                    if let Some(first) = lines.get_mut(at) {
                        *first = format!("{indent}  - {}", first.trim_start());
                    }
                }
            }
            Value::Object(_) => lines.push(format!("{indent}{name}: -")),
            value => lines.push(format!("{indent}{name}: {}", indented(&text(Some(value)), indent))),
        }
    }
}

/// A text of several lines: none of them can look like a field.
fn indented(text: &str, indent: &str) -> String {
    text.trim_end().replace('\n', &format!("\n{indent}    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_align_and_hide_control_characters() {
        let items = [json!({"a": "x", "b": ["1", "2"]}), json!({"a": "lo\u{1b}[2Jng", "c": {"d": true}})];
        let shown = table(&items, &[("a", "A"), ("b", "B"), ("c.d", "D")]);
        assert_eq!(shown.shown(false), "A         B     D\nx         1, 2  -\nlo\u{fffd}[2Jng  -     yes");
        assert_eq!(table(&[], &[("a", "A")]).shown(true), "nothing");
    }

    #[test]
    fn objects_become_indented_lines() {
        let value = json!({"a_b": 1, "c": {"d": null}, "e": [{"f": 1, "g": 2}]});
        assert_eq!(fields(&value), "a b: 1\nc:\n  d: -\ne:\n  - f: 1\n    g: 2");
        let forged = json!({"a": {"b": "x\nhash: forged\n"}, "c\nd": 1});
        assert_eq!(fields(&forged), "a:\n  b: x\n      hash: forged\nc d: 1");
    }
}
