//! How pages look. Everything that others wrote is text here, and never markup.

use crate::catalog::{STDIN, fields_of};
use crate::question::SHOWN_CHARS_MAX;
use hutch::{SHOWN_BYTES_MAX, Shown};
use hutch_model::contract::{Command, Effect};
use hutch_model::document::{json_within, written};
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::redact::without_hidden;
use maud::{DOCTYPE, Markup, html};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A page.
pub(super) fn page(title: &str, content: &Markup) -> Markup {
    let title = plain(title);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " - hutch" }
                link rel="stylesheet" href="/style.css";
            }
            body {
                header { a.mark href="/" { "hutch" } nav aria-label="Site" { ul {
                    li { a href="/" { "Packages" } }
                    li { a href="/approvals" { "Approvals" } }
                } } }
                main { h1 { (title) } (content) }
            }
        }
    }
}

/// What went wrong, as people read it.
pub(super) fn failure(report: &ErrorReport) -> Markup {
    let run = report.details.get("run");
    let said = ["stdout", "stderr"].iter().filter_map(|name| run?[name].as_str());
    let said: Vec<&str> = said.filter(|text| !text.trim().is_empty()).collect();
    html! {
        div.notice role="alert" {
            p { strong { (plain(&report.message)) } " [" (report.code.text()) "]" }
            p { (plain(&report.suggestion)) }
        }
        @if !said.is_empty() { h2 { "What the application said" } }
        @for said in said { pre tabindex="0" { (text(&Shown::of(said.as_bytes(), SHOWN_BYTES_MAX).text)) } }
    }
}

/// A text without characters that are not seen, and cut where it is too long.
pub(super) fn text(given: &str) -> String {
    text_within(given, SHOWN_CHARS_MAX)
}

/// What is cut is not looked at.
fn text_within(given: &str, chars_max: usize) -> String {
    let Some((end, _)) = given.char_indices().nth(chars_max) else { return plain(given) };
    let (shown, left) = given.split_at(end);
    format!("{}\n{} more characters are not shown", plain(shown), left.chars().count())
}

/// A value as JSON, written no further than it is shown.
fn json(value: &Value, chars_max: usize, is_indented: bool) -> String {
    // No character has more bytes than four.
    let (json, is_whole) = json_within(value, chars_max.saturating_mul(4), is_indented).unwrap_or_default();
    let json = written(&json);
    if is_whole {
        return text_within(&json, chars_max);
    }
    let shown: String = json.chars().take(chars_max).collect();
    format!("{}\nmore characters are not shown", plain(&shown))
}

/// An instant, to the second; all of it is there for programs.
pub(super) fn time(instant: &Value) -> Markup {
    let given = text(instant.as_str().unwrap_or_default());
    let seconds = given.get(..19).filter(|_| given.is_ascii()).map(|shown| shown.replace('T', " "));
    match seconds {
        Some(shown) => html! { time datetime=(given) { (shown) } },
        None => html! { (given) },
    }
}

fn plain(given: &str) -> String {
    without_hidden(given).into_owned()
}

/// A document as people read it.
pub(super) fn document(value: &Value) -> Markup {
    let shown = match value {
        Value::String(given) => text(given),
        value => json(value, SHOWN_CHARS_MAX, true),
    };
    html! { pre tabindex="0" { (shown) } }
}

/// A change, line by line; what comes and what goes is told by the sign too, and not by the colour alone.
pub(super) fn change(changes: &str) -> Markup {
    if changes.trim().is_empty() {
        return html! { p { "Nothing would change." } };
    }
    let shown = text(changes);
    html! {
        pre tabindex="0" {
            @for line in shown.lines() {
                @if line.trim_start().starts_with('+') { span.more { (line) } }
                @else if line.trim_start().starts_with('-') { span.less { (line) } }
                @else { (line) }
                "\n"
            }
        }
    }
}

/// What an entry tells of, as people say it.
pub(super) fn done_in_words(kind: &str, call: &str) -> Markup {
    let deed = match kind {
        "create" => "Began",
        "run" => "Ran",
        "plan" => "Previewed",
        "apply" => "Carried out",
        "replay" => "Ran once more",
        "undo" => "Took back changes",
        "restore" => "Made changes again",
        "import" => "Took in a state",
        "edit" => "Changed by hand",
        other => other,
    };
    html! { (text(deed)) @if !call.is_empty() { " " code { (text(call)) } } }
}

/// A table in a box of its own: where it is wider than the screen, the box is scrolled and not the page.
pub(super) fn wide(table: &Markup) -> Markup {
    html! { div.wide tabindex="0" { (table) } }
}

/// An answer as people read it: what is listed as a table of so many rows, the fields that say nothing left out, and all else as it is.
pub(super) fn answer(value: &Value, rows: usize) -> Markup {
    let items = value["items"].as_array().filter(|items| items.iter().all(Value::is_object));
    let Some(items) = items else { return document(value) };
    if items.is_empty() {
        return html! { p { "There is nothing." } (whole(value)) };
    }
    let says = |value: &Value| !(value.is_null() || value == "" || value.as_array().is_some_and(Vec::is_empty));
    let mut columns: Vec<&str> = Vec::new();
    for (name, value) in items.iter().filter_map(Value::as_object).flatten() {
        if says(value) && !columns.contains(&name.as_str()) && columns.len() < COLUMNS_MAX {
            columns.push(name);
        }
    }
    // What names a thing stands first.
    columns
        .sort_by_key(|name| ["id", "key", "slug", "name", "title"].iter().position(|first| first == name).unwrap_or(5));
    let table = html! {
        table {
            thead { tr { @for name in &columns { th scope="col" { (plain(name)) } } } }
            tbody { @for item in items.iter().take(rows) { tr { @for name in &columns { td { (cell(&item[*name])) } } } } }
        }
    };
    html! {
        (wide(&table))
        @if items.len() > rows { p { (items.len() - rows) " more are not shown." } }
        (whole(value))
    }
}

fn whole(value: &Value) -> Markup {
    html! { details { summary { "The whole answer" } (document(value)) } }
}

/// The most columns and rows of a table, and characters of a cell; below it stands the whole answer.
const COLUMNS_MAX: usize = 12;
pub(super) const ROWS_MAX: usize = 200;
const CELL_CHARS_MAX: usize = 1000;

fn cell(value: &Value) -> Markup {
    match value {
        Value::Null => html! {},
        Value::String(given) if given.len() >= 20 && given.parse::<Instant>().is_ok() => time(value),
        Value::String(given) => html! { (text_within(given, CELL_CHARS_MAX)) },
        other => html! { (json(other, CELL_CHARS_MAX, false)) },
    }
}

/// The field of the file that stands on standard input.
pub(super) const FILE: &str = "stdin-file";
/// What ends the name of a field that has the time of day of another one: no parameter's name does.
const TIME: &str = ":time";

/// What was sent by a form, and what is wrong with it.
#[derive(Default)]
pub(super) struct Sent<'s> {
    pub(super) pairs: &'s [(String, String)],
    /// By the names of fields.
    pub(super) wrong: BTreeMap<String, String>,
}

impl Sent<'_> {
    fn value(&self, name: &str) -> &str {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str()).unwrap_or_default()
    }
}

/// The form of a command, made from its contract and in its order, what is required first.
pub(super) fn form(command: &Command, action: &str, sent: &Sent<'_>) -> Markup {
    let schema = fields_of(command);
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    let place = |name: &str| command.parameters.iter().position(|one| one.name == name).unwrap_or(usize::MAX);
    let takes_file = properties.contains_key(STDIN) && place(STDIN) == usize::MAX;
    let mut fields: Vec<(&String, &Value)> = properties.iter().collect();
    fields.sort_by_key(|(name, _)| (!is_required(name), place(name)));
    html! {
        form method="post" action=(action) enctype=[takes_file.then_some("multipart/form-data")] {
            @for (at, (name, property)) in fields.into_iter().enumerate() {
                (input(at, name, property, is_required(name), sent))
            }
            @if takes_file {
                label for="field-file" { (STDIN) " from a file" }
                input type="file" id="field-file" name=(FILE) aria-describedby="about-file";
                div id="about-file" { p.faint { "It takes the place of the text." } }
            }
            button type="submit" { @if command.effect == Effect::Read { "Show" } @else { "Show what it would do" } }
        }
    }
}

/// Whether a text of this format may stand there.
fn may_be(property: &Value, format: &str) -> bool {
    property["anyOf"].as_array().into_iter().flatten().chain([property]).any(|form| form["format"] == format)
}

/// Whether a date may have a time of day there, and is an instant then.
fn takes_time(property: &Value) -> bool {
    may_be(property, "date") && may_be(property, "date-time")
}

fn input(at: usize, name: &str, property: &Value, required: bool, sent: &Sent<'_>) -> Markup {
    let (id, about) = (format!("field-{at}"), format!("about-{at}"));
    let (value, wrong) = (sent.value(name), sent.wrong.get(name));
    let invalid = wrong.map(|_| "true");
    // What was sent as a date and is none stays to be seen.
    let is_date = value.is_empty() || format!("{value}T00:00:00Z").parse::<Instant>().is_ok();
    let kind = match property["type"].as_str() {
        Some("integer" | "number") => "number",
        _ if may_be(property, "date") && is_date => "date",
        _ => "text",
    };
    let step = (property["type"] == "number").then_some("any");
    let description = property["description"].as_str().unwrap_or_default();
    let choices: Vec<&str> = property["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let usual = match &property["default"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    html! {
        @if property["type"] == "boolean" {
            label for=(id) {
                input type="checkbox" id=(id) name=(name) value="true" checked[value == "true"] aria-describedby=(about) aria-invalid=[invalid]; " " (plain(name))
            }
        } @else {
            label for=(id) { (plain(name)) @if required { " (required)" } }
            @if !choices.is_empty() {
                select id=(id) name=(name) aria-describedby=(about) aria-invalid=[invalid] {
                    @if !required { option value="" { "" } }
                    @for choice in &choices { option value=(choice) selected[value == *choice] { (plain(choice)) } }
                }
            } @else if property["type"] == "array" || name == STDIN {
                textarea id=(id) name=(name) rows="3" aria-describedby=(about) aria-invalid=[invalid] required[required] { (value) }
            } @else {
                input type=(kind) step=[step] id=(id) name=(name) value=(value) aria-describedby=(about) aria-invalid=[invalid] required[required] autocomplete="off";
            }
            @if takes_time(property) {
                @let (id, field) = (format!("time-{at}"), format!("{name}{TIME}"));
                @let (time, invalid) = (sent.value(&field), invalid.filter(|_| !sent.value(&field).is_empty()));
                label for=(id) { (plain(name)) ", time of day in UTC" }
                input type="time" id=(id) name=(field) value=(time) aria-describedby=(about) aria-invalid=[invalid];
            }
        }
        // Our own words have a paragraph of their own.
        div id=(about) {
            @if let Some(wrong) = wrong { p.less role="alert" { (plain(wrong)) } }
            p.faint { (plain(description)) }
            @if property["type"] == "array" { p.faint { "One a line." } }
            @if takes_time(property) { p.faint { "Without a time it is a day." } }
            @if !usual.is_empty() { p.faint { "If left empty: " q { (plain(&usual)) } } }
        }
    }
}

/// The fields of a command that a form gives.
pub(super) fn given(command: &Command, pairs: &[(String, String)]) -> Map<String, Value> {
    let schema = command.input_schema();
    let mut fields = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let typed = pairs.iter().find(|(key, text)| key == name && !text.is_empty()).map(|(_, text)| text.as_str());
        let time = pairs.iter().find(|(key, text)| key.strip_suffix(TIME) == Some(name.as_str()) && !text.is_empty());
        let instant = time.filter(|_| takes_time(property)).map(|(_, time)| at_time(typed.unwrap_or_default(), time));
        let Some(first) = instant.as_deref().or(typed) else { continue };
        let value = match property["type"].as_str() {
            Some("boolean") => Value::Bool(first == "true"),
            Some("array") => {
                first.lines().filter(|line| !line.is_empty()).map(|line| read(&property["items"], line)).collect()
            }
            _ => read(property, first),
        };
        fields.insert(name.clone(), value);
    }
    fields
}

/// A day at a time of day in UTC, which browsers write without seconds.
fn at_time(day: &str, time: &str) -> String {
    let seconds = if time.len() == "17:00".len() { ":00" } else { "" };
    format!("{day}T{time}{seconds}Z")
}

/// A value as its schema has it; what is none stays a text, and is refused with a reason.
fn read(schema: &Value, text: &str) -> Value {
    let number = || text.trim().parse::<i64>().map(Value::from).ok();
    let any = || text.trim().parse::<f64>().ok().map(Value::from);
    let read = match schema["type"].as_str() {
        Some("integer") => number(),
        Some("number") => number().or_else(any),
        _ => None,
    };
    read.unwrap_or_else(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hutch_model::error_code::ErrorCode;

    #[test]
    fn nothing_that_others_wrote_is_markup() {
        let hostile = "<script>alert(1)</script>\"'&\u{202e}";
        let report = ErrorReport::new(ErrorCode::GuestFailed, hostile);
        let pages = [
            failure(&report),
            document(&Value::from(hostile)),
            change(&format!("+{hostile}\n-{hostile}\n{hostile}")),
            page(hostile, &html! {}),
        ];
        for page in pages {
            let page = page.into_string();
            assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{page}");
        }
        // What a form sends back is what the contract says; what is read is not.
        let about = serde_json::json!({"description": hostile, "enum": [hostile], "default": hostile});
        let field = input(0, hostile, &about, true, &Sent::default()).into_string();
        assert!(!field.contains("<script") && field.matches('\u{202e}').count() == 2, "{field}");
    }

    /// All of it would have a hundred times its bytes as it is indented, and more where it is escaped.
    #[test]
    fn what_is_shown_of_an_answer_is_bounded_whatever_it_is() {
        let deep = (0..100).fold(Value::from(vec![0_u8; 100_000]), |value, _| Value::from(vec![value]));
        let long = Value::from("\u{0}\u{202e}\"".repeat(SHOWN_CHARS_MAX));
        let row = serde_json::json!({"id": &long, "deep": &deep});
        for (shown, most) in [
            (document(&deep), SHOWN_CHARS_MAX),
            (document(&serde_json::json!([&long])), SHOWN_CHARS_MAX),
            (document(&long), SHOWN_CHARS_MAX),
            (answer(&serde_json::json!({"items": vec![row; 3]}), 3), SHOWN_CHARS_MAX + 6 * CELL_CHARS_MAX),
        ] {
            let shown = shown.into_string().replace("&quot;", "\"");
            assert!(shown.contains("more characters are not shown"));
            assert!((SHOWN_CHARS_MAX..most + 1000).contains(&shown.chars().count()), "{}", shown.chars().count());
        }
        assert_eq!(text_within("\u{202e}abc", 2), "\u{fffd}a\n2 more characters are not shown");
        assert_eq!(json(&serde_json::json!(["\u{202e}"]), 11, false), "[\"\\u202e\"]");
    }

    #[test]
    fn a_date_is_picked_and_what_is_none_is_shown_again() {
        let due = serde_json::json!({"anyOf": [{"format": "date"}, {"format": "date-time"}]});
        for (sent, kind) in
            [("", "date"), ("2026-04-05", "date"), ("2026-04-05T17:00:00Z", "text"), ("tomorrow", "text")]
        {
            let pairs = [("due".to_owned(), sent.to_owned())];
            let field = input(0, "due", &due, false, &Sent { pairs: &pairs, ..Sent::default() }).into_string();
            assert!(field.contains(&format!("type=\"{kind}\"")), "{sent}: {field}");
            assert!(field.contains("name=\"due:time\"") && field.contains("type=\"time\""), "{field}");
        }
        let day = input(0, "due", &serde_json::json!({"format": "date"}), false, &Sent::default()).into_string();
        assert!(day.contains("type=\"date\"") && !day.contains("type=\"time\""), "{day}");
        for (time, instant) in [("17:00", "2026-04-05T17:00:00Z"), ("17:00:30", "2026-04-05T17:00:30Z")] {
            assert_eq!(at_time("2026-04-05", time), instant);
        }
    }
}
