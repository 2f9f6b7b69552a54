//! How pages look. Everything that others wrote is text here, and never markup.

use crate::question::SHOWN_CHARS_MAX;
use hutch::{SHOWN_BYTES_MAX, Shown};
use hutch_model::contract::Command;
use hutch_model::document::written;
use hutch_model::error_report::ErrorReport;
use hutch_model::redact::without_hidden;
use maud::{DOCTYPE, Markup, html};
use serde_json::{Map, Value};

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
                header { nav aria-label="Site" { ul {
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
    let shown: String = plain(given).chars().take(SHOWN_CHARS_MAX).collect();
    let left = given.chars().count().saturating_sub(SHOWN_CHARS_MAX);
    if left > 0 { format!("{shown}\n{left} more characters are not shown") } else { shown }
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
        Value::String(given) => given.clone(),
        value => written(&serde_json::to_string_pretty(value).unwrap_or_default()).into_owned(),
    };
    html! { pre tabindex="0" { (text(&shown)) } }
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

/// The form of a command, made from its contract.
pub(super) fn form(command: &Command, action: &str) -> Markup {
    let schema = command.input_schema();
    let is_required =
        |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)));
    let properties = schema["properties"].as_object().cloned().unwrap_or_default();
    html! {
        form method="post" action=(action) {
            @for (at, (name, property)) in properties.iter().enumerate() {
                (input(at, name, property, is_required(name)))
            }
            button type="submit" { "Show what it would do" }
        }
    }
}

fn input(at: usize, name: &str, property: &Value, required: bool) -> Markup {
    let (id, about) = (format!("field-{at}"), format!("about-{at}"));
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
                input type="checkbox" id=(id) name=(name) value="true" aria-describedby=(about); " " (plain(name))
            }
        } @else {
            label for=(id) { (plain(name)) @if required { " (required)" } }
            @if !choices.is_empty() {
                select id=(id) name=(name) aria-describedby=(about) {
                    @if !required { option value="" { "" } }
                    @for choice in &choices { option value=(choice) { (plain(choice)) } }
                }
            } @else if property["type"] == "array" {
                textarea id=(id) name=(name) rows="3" aria-describedby=(about) required[required] {}
            } @else {
                input type="text" id=(id) name=(name) aria-describedby=(about) required[required] autocomplete="off";
            }
        }
        // Our own words have a paragraph of their own.
        div id=(about) {
            p.faint { (plain(description)) }
            @if property["type"] == "array" { p.faint { "One a line." } }
            @if !usual.is_empty() { p.faint { "If left empty: " q { (plain(&usual)) } } }
        }
    }
}

/// The fields of a command that a form gives.
pub(super) fn given(command: &Command, pairs: &[(String, String)]) -> Map<String, Value> {
    let schema = command.input_schema();
    let mut fields = Map::new();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let texts = pairs.iter().filter(|(key, text)| key == name && !text.is_empty()).map(|(_, text)| text.as_str());
        let texts: Vec<&str> = texts.collect();
        let Some(first) = texts.first() else { continue };
        let value = match property["type"].as_str() {
            Some("boolean") => Value::Bool(*first == "true"),
            Some("array") => {
                first.lines().filter(|line| !line.is_empty()).map(|line| read(&property["items"], line)).collect()
            }
            _ => read(property, first),
        };
        fields.insert(name.clone(), value);
    }
    fields
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
        let field = input(0, hostile, &about, true).into_string();
        assert!(!field.contains("<script") && field.matches('\u{202e}').count() == 2, "{field}");
    }
}
