//! Answers for people: aligned tables and plain lines. Colour is one thing only, a bold heading, and only on a terminal whose
//! owner has not set NO_COLOR.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use serde_json::Value;
use std::io::{self, IsTerminal};

/// A table of these columns: the field of each item, and its heading.
pub(crate) fn table(items: &[Value], columns: &[(&str, &str)]) -> String {
    let cell = |item: &Value, field: &str| clean(&text(item.pointer(&format!("/{}", field.replace('.', "/")))));
    let rows: Vec<Vec<String>> =
        items.iter().map(|item| columns.iter().map(|(field, _)| cell(item, field)).collect()).collect();
    if rows.is_empty() {
        return "nothing".to_owned();
    }
    let width = |column: usize, heading: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([heading.len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(at, (_, heading))| width(at, heading)).collect();
    let line = |cells: &[String]| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let heading: Vec<String> = columns.iter().map(|(_, heading)| (*heading).to_owned()).collect();
    let mut lines = vec![bold(&line(&heading))];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
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

/// The fields of an object, one a line; objects inside are indented.
pub(crate) fn fields(value: &Value) -> String {
    let mut lines = Vec::new();
    describe(value, "", &mut lines);
    lines.join("\n")
}

fn describe(value: &Value, indent: &str, lines: &mut Vec<String>) {
    let Value::Object(known) = value else {
        lines.push(format!("{indent}{}", text(Some(value))));
        return;
    };
    for (name, value) in known {
        let name = name.replace('_', " ");
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
            value => lines.push(format!("{indent}{name}: {}", text(Some(value)))),
        }
    }
}

/// In one line, without what could rewrite a terminal.
fn clean(text: &str) -> String {
    text.split(char::is_control).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Emphasized, if that can be seen.
pub(crate) fn bold(text: &str) -> String {
    let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    if wanted && io::stdout().is_terminal() { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tables_align_and_hide_control_characters() {
        let items = [json!({"a": "x", "b": ["1", "2"]}), json!({"a": "lo\u{1b}[2Jng", "c": {"d": true}})];
        let shown = table(&items, &[("a", "A"), ("b", "B"), ("c.d", "D")]);
        assert_eq!(shown, "A         B     D\nx         1, 2  -\nlo [2Jng  -     yes");
        assert_eq!(table(&[], &[("a", "A")]), "nothing");
    }

    #[test]
    fn objects_become_indented_lines() {
        let value = json!({"a_b": 1, "c": {"d": null}, "e": [{"f": 1, "g": 2}]});
        assert_eq!(fields(&value), "a b: 1\nc:\n  d: -\ne:\n  - f: 1\n    g: 2");
    }
}
