//! Answers for people: aligned tables under a heading, and plain lines.

use crate::line::quote;
use crate::screen::table::Table;
use crate::screen::told::Told;
use crate::screen::tone::Tone;
use hutch_model::instant::Instant;
use hutch_model::terminal::one_line;
use serde_json::{Map, Value};

/// How many digits of an entry's hash people are shown.
const HASH_DIGITS: usize = 12;

/// A table of these columns: the field of each item, and its heading.
/// A column in which nothing is said is left out.
pub(crate) fn table(items: &[Value], columns: &[(&str, &str)]) -> Told {
    let pointer = |field: &str| format!("/{}", field.replace('.', "/"));
    let is_said = |field: &str| items.iter().filter_map(|item| item.pointer(&pointer(field))).any(is_said);
    let columns: Vec<_> = columns.iter().filter(|(field, _)| is_said(field)).collect();
    let mut table = Table::of(columns.iter().map(|(_, heading)| (*heading).to_owned()), []);
    for item in items {
        let value = |field: &str| item.pointer(&pointer(field));
        table.toned_row(columns.iter().enumerate().map(|(column, (field, _))| {
            let value = value(field);
            (column, cell(field, value), Tone::of(field, value))
        }));
    }
    table.into()
}

/// What stands in a table: a call as it is typed, an instant to the second, as much of a hash as names it, anything else as a person would
/// write it.
fn cell(field: &str, value: Option<&Value>) -> String {
    match value {
        Some(Value::Array(words)) if field == "argv" => quote::line(words.iter().filter_map(Value::as_str)),
        Some(Value::String(hash)) if field == "hash" => hash.chars().take(HASH_DIGITS).collect(),
        Some(Value::String(given)) if given.parse::<Instant>().is_ok() => {
            given.split_once('.').map_or_else(|| given.clone(), |(seconds, _)| format!("{seconds}Z"))
        }
        value => text(value),
    }
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

/// The fields of an object that say something, one a line; objects inside are indented.
pub(crate) fn fields(value: &Value) -> String {
    let mut value = value.clone();
    leave_out(&mut value);
    fields_within(&value, usize::MAX).unwrap_or_default()
}

/// Whether a value says anything.
fn is_said(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// Leaves out what says nothing, and that a call was none without consequences.
fn leave_out(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(leave_out);
            fields.retain(|name, value| is_said(value) && !(name == "dry_run" && *value == Value::Bool(false)));
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out),
        _ => {}
    }
}

/// A sentence made of these parts. In a part, `{path}` stands for the value there (`*` for that of each item), `{path?}` for the condition
/// that it says something other than no, `{path!}` that it does not, and `{path?would write|wrote}` for the words of either case. A part
/// that names something which says nothing is left out.
pub(crate) fn sentence(parts: &'static [&'static str]) -> impl FnOnce(&Value) -> String {
    move |value| parts.iter().filter_map(|part| filled(part, value)).collect()
}

fn filled(part: &str, value: &Value) -> Option<String> {
    let Some((before, rest)) = part.split_once('{') else { return Some(part.to_owned()) };
    let (path, after) = rest.split_once('}')?;
    let (name, words) = path.split_once('?').unwrap_or((path.trim_end_matches('!'), ""));
    let found = name.split('.').fold(vec![value], |found, key| match key {
        "*" => found.into_iter().filter_map(Value::as_array).flatten().collect(),
        key => found.into_iter().filter_map(|value| value.get(key)).collect(),
    });
    let said: Vec<String> =
        found.iter().filter(|value| is_said(value)).map(|value| one_line(&text(Some(value)))).collect();
    let holds = found.iter().any(|value| is_said(value) && **value != Value::Bool(false));
    let told = match (path.strip_prefix(name), words.split_once('|')) {
        (_, Some((so, otherwise))) => Some(if holds { so } else { otherwise }.to_owned()),
        (Some("?"), _) => holds.then(String::new),
        (Some("!"), _) => (!holds).then(String::new),
        _ => (!said.is_empty()).then(|| said.join(", ")),
    };
    Some(format!("{before}{}{}", told?, filled(after, value)?))
}

/// The same, unless it is longer than so many bytes.
pub(crate) fn fields_within(value: &Value, bytes_max: usize) -> Option<String> {
    let mut lines = Lines { text: Vec::new(), left: bytes_max };
    describe(value, "", &mut lines)?;
    Some(lines.text.join("\n"))
}

/// Lines, and how many bytes more there may be.
struct Lines {
    text: Vec<String>,
    left: usize,
}

impl Lines {
    fn push(&mut self, line: String) -> Option<()> {
        self.left = self.left.checked_sub(line.len() + 1)?;
        self.text.push(line);
        Some(())
    }
}

fn describe(value: &Value, indent: &str, lines: &mut Lines) -> Option<()> {
    let Some(known) = value.as_object().filter(|known| known.is_empty() || has_values(known)) else {
        return lines.push(format!("{indent}{}", indented(&text(Some(value)), indent)));
    };
    for (name, value) in known.iter().filter(|(_, value)| !value.is_null()) {
        let name = one_line(&name.replace('_', " "));
        match value {
            Value::Object(inner) if has_values(inner) => {
                lines.push(format!("{indent}{name}:"))?;
                describe(value, &format!("{indent}  "), lines)?;
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                lines.push(format!("{indent}{name}:"))?;
                for item in items {
                    let at = lines.text.len();
                    describe(item, &format!("{indent}    "), lines)?;
                    if let Some(first) = lines.text.get_mut(at) {
                        *first = format!("{indent}  - {}", first.trim_start());
                    }
                }
            }
            Value::Object(_) => lines.push(format!("{indent}{name}: -"))?,
            value => lines.push(format!("{indent}{name}: {}", indented(&text(Some(value)), indent)))?,
        }
    }
    Some(())
}

/// Whether anything in an object is more than nothing.
fn has_values(known: &Map<String, Value>) -> bool {
    known.values().any(|value| !value.is_null())
}

/// A text of several lines: none of them can look like a field.
fn indented(text: &str, indent: &str) -> String {
    text.trim_end().replace('\n', &format!("\n{indent}    "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::told::Screen;
    use serde_json::json;

    #[test]
    fn tables_align_and_hide_control_characters() {
        let items = [json!({"a": "x", "b": ["1", "2"]}), json!({"a": "lo\u{1b}[2Jng", "c": {"d": true}})];
        let shown = table(&items, &[("a", "A"), ("b", "B"), ("c.d", "D")]);
        assert_eq!(shown.shown(Screen::default()), "A         B     D\nx         1, 2  -\nlo\u{fffd}[2Jng  -     yes");
        assert_eq!(table(&[], &[("a", "A")]).shown(Screen::default()), "nothing");
    }

    #[test]
    fn a_sentence_says_what_there_is() {
        let value = json!({"path": "t.tar", "dry_run": false, "none": null, "forged": "a\nb", "of": [{"slug": "a"}, {"slug": "b"}]});
        for (parts, told) in [
            (&["{dry_run?would write|wrote} {path}"][..], "wrote t.tar"),
            (&["{path?}{of?would be|is} {path}", "{none?}{dry_run?would|did}"], "would be t.tar"),
            (&["{dry_run?}x", "{dry_run!}y"], "y"),
            (&["{path}: {of.*.slug}", ", by {none}", ", {missing}", "{none!}."], "t.tar: a, b."),
            (&["{path?}{none?}x"], ""),
            (&["{forged}"], "a b"),
        ] {
            assert_eq!(sentence(parts)(&value), told);
        }
    }

    #[test]
    fn calls_are_shown_as_they_are_typed_and_instants_to_the_second() {
        let item = json!({"argv": ["todo", "add", "Write docs"], "at": "2026-11-23T03:36:52.660123Z", "on": "2026-11-23T03:36:52Z", "x": "1.5"});
        let shown =
            table(&[item], &[("argv", "CALL"), ("at", "AT"), ("on", "ON"), ("x", "X")]).shown(Screen::default());
        let row = shown.lines().nth(1).map(|row| row.split("  ").map(str::trim).collect::<Vec<_>>());
        assert_eq!(row.unwrap(), ["todo add 'Write docs'", "2026-11-23T03:36:52Z", "2026-11-23T03:36:52Z", "1.5"]);
    }

    #[test]
    fn objects_become_indented_lines() {
        let value = json!({"a_b": 1, "c": {"d": null}, "e": [{"f": 1, "g": 2}]});
        assert_eq!(fields(&value), "a b: 1\ne:\n  - f: 1\n    g: 2");
        assert_eq!(fields_within(&value, 99).unwrap(), "a b: 1\nc: -\ne:\n  - f: 1\n    g: 2");
        assert_eq!(fields_within(&json!({"a": null, "b": false, "c": []}), 99).unwrap(), "b: no\nc: -");
        assert_eq!(fields_within(&json!({"a": null}), 99).unwrap(), r#"{"a":null}"#);
        assert_eq!(fields(&json!({"a": [], "b": "", "c": false, "dry_run": false, "d": 0})), "c: no\nd: 0");
        let forged = json!({"a": {"b": "x\nhash: forged\n"}, "c\nd": 1});
        assert_eq!(fields(&forged), "a:\n  b: x\n      hash: forged\nc d: 1");
        assert_eq!(
            fields_within(&forged, 30).as_deref(),
            Some("a:\n  b: x\n      hash: forged\nc d: 1").filter(|text| text.len() < 30)
        );
        assert_eq!(fields_within(&value, 10), None);
    }
}
