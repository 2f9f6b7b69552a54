//! What an output says: documents, failures, rows. Judges nothing.

use crate::target::Observation;
use hutch::DocumentSize;
use hutch_model::hidden::is_hidden;
use serde_json::{Map, Value};

/// Keys of an answer that are about the program and not the result.
const CONTEXT_KEYS: [&str; 7] = ["rules", "skills", "issue", "commands", "parameters", "errors", "warnings"];
/// Keys under which a result is looked for first.
const RESULT_KEYS: [&str; 4] = ["items", "result", "results", "data"];

/// A failure that an output tells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Told {
    /// Which of the known forms it has.
    pub form: Form,
    /// The code.
    pub code: Option<String>,
    /// The message.
    pub message: Option<String>,
    /// The suggestion.
    pub suggestion: Option<String>,
    /// Whether it stands on standard error.
    pub on_stderr: bool,
    /// Whether the stream that it stands on holds nothing else.
    pub alone: bool,
    /// Everything that it says, for searching.
    pub text: String,
}

/// How a failure is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Form {
    /// `{"error":true,"code","message"}`
    #[default]
    Flat,
    /// `{"ok":false,"error":{"code","message"}}`
    Nested,
    /// An object with something like an error in it.
    Other,
}

/// The most memory that a document may take when it is read. One that takes more is none: no rule needs a longer answer.
const DOCUMENT_MEMORY_MAX: u64 = 128 << 20;

/// The one document on a stream.
pub fn document(bytes: &[u8]) -> Option<Value> {
    first_document(bytes).filter(|(_, more)| !more).map(|(first, _)| first)
}

/// What stands first on a stream, as a document, and whether anything else follows.
pub fn first_document(bytes: &[u8]) -> Option<(Value, bool)> {
    let (first, rest) = bytes.split_at_checked(first_bytes(bytes)?)?;
    Some((hutch_model::document::read(first).ok()?, !rest.trim_ascii().is_empty()))
}

/// How many bytes the document takes that stands first, if it may be read.
fn first_bytes(bytes: &[u8]) -> Option<usize> {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<DocumentSize>();
    let size = stream.next()?.ok()?;
    (size.memory_bytes <= DOCUMENT_MEMORY_MAX).then(|| stream.byte_offset())
}

/// Whether bytes begin as JSON objects and arrays do.
pub fn begins_as_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

/// Every text in an answer.
pub fn texts(answer: &Value) -> Vec<&str> {
    match answer {
        Value::String(text) => vec![text.trim()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Whether a text for people is for the greater part one JSON object.
pub fn holds_json(text: &str) -> bool {
    let Some(rest) = text.find('{').and_then(|at| text.get(at..)) else { return false };
    first_bytes(rest.as_bytes()).is_some_and(|bytes| bytes * 2 > text.len())
}

/// The failure that a call told, on whichever stream.
pub fn told(observation: &Observation) -> Option<Told> {
    told_on(&observation.stderr, true).or_else(|| told_on(&observation.stdout, false))
}

fn told_on(bytes: &[u8], on_stderr: bool) -> Option<Told> {
    if let Some(told) = document(bytes).and_then(|value| told_in(&value)) {
        return Some(Told { on_stderr, alone: true, ..told });
    }
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().find_map(|line| told_in(&hutch_model::document::read(line.as_bytes()).ok()?))?;
    Some(Told { on_stderr, alone: false, ..line })
}

fn told_in(value: &Value) -> Option<Told> {
    let fields = value.as_object()?;
    let (form, inner) = match fields.get("error") {
        Some(Value::Bool(true)) => (Form::Flat, fields),
        Some(Value::Object(inner)) if fields.get("ok") == Some(&Value::Bool(false)) => (Form::Nested, inner),
        Some(Value::Object(inner)) => (Form::Other, inner),
        Some(Value::String(_) | Value::Number(_)) => (Form::Other, fields),
        _ if ["ok", "success"].iter().any(|key| fields.get(*key) == Some(&Value::Bool(false))) => (Form::Other, fields),
        _ => return None,
    };
    let text = |name: &str| inner.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(Told {
        form,
        code: text("code").or_else(|| text("type").filter(|_| form == Form::Nested)),
        message: text("message"),
        suggestion: text("suggestion"),
        text: value.to_string(),
        ..Told::default()
    })
}

/// Whether a call says that it did what was asked, whatever its exit status: a document, and no failure.
pub fn claims_success(observation: &Observation) -> bool {
    told(observation).is_none() && document(&observation.stdout).is_some()
}

/// Whether a call failed, by its exit status, and does not claim otherwise.
pub fn failed(observation: &Observation) -> bool {
    observation.status != Some(0) && !claims_success(observation)
}

/// The results in an answer, where there may be several: the answer itself, or the list in it.
pub fn rows(answer: &Value) -> Option<&Vec<Value>> {
    let fields = match answer {
        Value::Array(rows) => return Some(rows),
        Value::Object(fields) => fields,
        _ => return None,
    };
    let named = RESULT_KEYS.iter().filter_map(|key| fields.get(*key)).find_map(|value| match value {
        Value::Array(rows) => Some(rows),
        Value::Object(inner) => list_in(inner),
        _ => None,
    });
    named.or_else(|| list_in(fields))
}

/// The items of an answer that is a list and nothing else: the answer or its result, or what stands there under a name that says so.
pub fn items(answer: &Value) -> Option<&Vec<Value>> {
    const NAMES: [&str; 3] = ["items", "results", "data"];
    let list = answer.get("result").unwrap_or(answer);
    list.as_array().or_else(|| NAMES.iter().find_map(|name| list.get(*name)?.as_array()))
}

/// What has an identifier is one thing: a list in it is a part of it.
fn list_in(fields: &Map<String, Value>) -> Option<&Vec<Value>> {
    if fields.contains_key("id") {
        return None;
    }
    let own = |(key, value): (&String, &'_ Value)| !CONTEXT_KEYS.contains(&key.as_str()) && value.is_array();
    fields.iter().filter(|(key, value)| own((key, value))).find_map(|(_, value)| value.as_array())
}

/// The keys of an answer.
pub fn keys(answer: &Value) -> Vec<&str> {
    answer.as_object().map(|fields| fields.keys().map(String::as_str).collect()).unwrap_or_default()
}

/// The first object anywhere in an answer that has all these keys.
pub fn object_with<'v>(answer: &'v Value, wanted: &[&str]) -> Option<&'v Map<String, Value>> {
    match answer {
        Value::Object(fields) => {
            if wanted.iter().all(|key| fields.contains_key(*key)) {
                return Some(fields);
            }
            let own = |key: &&String| !CONTEXT_KEYS.contains(&key.as_str()) || key.as_str() == "issue";
            fields.iter().filter(|(key, _)| own(key)).find_map(|(_, value)| object_with(value, wanted))
        }
        Value::Array(values) => values.iter().find_map(|value| object_with(value, wanted)),
        _ => None,
    }
}

/// Every identifier in an answer: the texts under `id`, and under keys that end with it.
pub fn identifiers(answer: &Value, found: &mut Vec<String>) {
    match answer {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "id" => found.push(text.clone()),
                    Value::Number(number) if key == "id" => found.push(number.to_string()),
                    _ if CONTEXT_KEYS.contains(&key.as_str()) => {}
                    _ => identifiers(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| identifiers(value, found)),
        _ => {}
    }
}

/// What a stream holds, for evidence.
pub fn shown(bytes: &[u8]) -> String {
    match String::from_utf8_lossy(bytes).trim() {
        "" => "nothing".to_owned(),
        text => quoted(text),
    }
}

/// What the target said, in a sentence of ours: its beginning, on one line, between quotes that it does not get out of. Whatever evidence
/// repeats of it comes through here.
pub fn quoted(text: &str) -> String {
    const CHARACTERS: usize = 160;
    let beginning: String = text.chars().take(CHARACTERS).collect();
    let dots = if beginning.len() < text.len() { "…" } else { "" };
    format!("{beginning:?}{dots}").replace(is_hidden, "\u{fffd}")
}

/// What the target calls something: a word, or the few of a command, as it is; what could be more than a name is quoted.
pub fn named(name: &str) -> String {
    const CHARACTERS: usize = 64;
    const WORDS: usize = 3;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_word = |word: &str| !word.is_empty() && word.chars().all(is_of_name);
    match name.len() <= CHARACTERS && name.split(' ').count() <= WORDS && name.split(' ').all(is_word) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// The first of many names, and how many more there are.
pub fn names<'n>(all: impl IntoIterator<Item = &'n str>) -> String {
    const SHOWN: usize = 8;
    let mut all = all.into_iter();
    let shown: Vec<String> = all.by_ref().take(SHOWN).map(named).collect();
    match all.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The value of a key in YAML front matter, if there is front matter with such a line. Enough for names and descriptions.
pub fn front_matter<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let body = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"))?;
    let mut lines = body.lines().take_while(|line| line.trim_end() != "---");
    let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(value.trim()).filter(|value| !value.is_empty())
}

/// A text without its front matter.
pub fn without_front_matter(text: &str) -> &str {
    let Some(body) = text.strip_prefix("---\n") else { return text };
    body.find("\n---\n").and_then(|at| body.get(at + "\n---\n".len()..)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn observed(status: u8, stdout: &str, stderr: &str) -> Observation {
        Observation { status: Some(status), stdout: stdout.into(), stderr: stderr.into(), ..Observation::default() }
    }

    #[test]
    fn failures_are_found_in_their_forms_and_places() {
        let flat = r#"{"error":true,"code":"A_B","message":"m","suggestion":"s"}"#;
        let nested = r#"{"ok":false,"error":{"type":"usage","message":"m"}}"#;
        for (stdout, stderr, form, code, on_stderr, alone) in [
            ("", flat, Form::Flat, Some("A_B"), true, true),
            (nested, "", Form::Nested, Some("usage"), false, true),
            ("", &format!("warning\n{flat}\n"), Form::Flat, Some("A_B"), true, false),
            ("", r#"{"error":"bad"}"#, Form::Other, None, true, true),
        ] {
            let told = told(&observed(1, stdout, stderr)).unwrap();
            assert_eq!((told.form, told.code.as_deref(), told.on_stderr, told.alone), (form, code, on_stderr, alone));
        }
        for (stdout, stderr) in [("{}", ""), (r#"{"ok":true,"error":null}"#, ""), ("", "error: no"), ("[1]", "")] {
            assert_eq!(told(&observed(1, stdout, stderr)), None);
        }
    }

    #[test]
    fn a_document_that_would_take_much_memory_is_none() {
        let many = |items: usize| format!("[{}{{}}]", "{},".repeat(items)).into_bytes();
        assert!(document(&many(1000)).is_some() && first_document(&many(1000)).is_some());
        let bomb = many(4 << 20);
        assert!(document(&bomb).is_none() && first_document(&bomb).is_none());
        assert!(told(&Observation { stdout: bomb.clone(), stderr: bomb, ..Observation::default() }).is_none());
        assert_eq!(document(b"{} 1"), None);
        assert_eq!(first_document(b" {} 1"), Some((json!({}), true)));
        assert_eq!(first_document(b"{} "), Some((json!({}), false)));
        assert!(holds_json(r#"so: {"a": 1}"#) && !holds_json(r#"a long text that holds {}"#) && !holds_json("{"));
    }

    #[test]
    fn rows_are_the_list_of_results_and_not_the_context() {
        for (answer, count) in [
            (json!([1, 2]), Some(2)),
            (json!({"rules": [1], "items": [1, 2, 3]}), Some(3)),
            (json!({"rules": [1], "result": {"entries": []}}), Some(0)),
            (json!({"rules": [1], "skills": [2], "result": {"id": 1}}), None),
            (json!("x"), None),
        ] {
            assert_eq!(rows(&answer).map(Vec::len), count, "{answer}");
        }
    }

    #[test]
    fn what_a_target_says_stays_between_quotes() {
        let wild = "x\"\nnotes: level agent-native\u{1b}[2J\u{200b}\u{3164}";
        let told = quoted(wild);
        assert!(told.starts_with(r#""x\"\nnotes"#) && told.ends_with('"') && !told.contains(is_hidden), "{told}");
        assert_eq!(shown(wild.as_bytes()), told);
        assert!(quoted(&"\"".repeat(10_000)).len() < 400);
        for name in ["NOT_FOUND", "issue list", "every command", "1.2.0-rc.1"] {
            assert_eq!(named(name), name);
        }
        for name in ["", "a\nb", "it is safe to go on", " a", "a ", "a;b", &"x".repeat(65)] {
            assert!(named(name).starts_with('"'), "{name}");
        }
        assert_eq!(names(["a"; 10]), "a, a, a, a, a, a, a, a and 2 more");
    }

    #[test]
    fn front_matter_is_read_by_lines() {
        let text = "---\nname: a\ndescription: b c\n---\nname: body\n";
        assert_eq!(front_matter(text, "description"), Some("b c"));
        assert_eq!(front_matter("name: a\n", "name"), None);
        assert_eq!(front_matter("---\nname:\n---\n", "name"), None);
        assert_eq!(without_front_matter(text), "name: body\n");
    }
}
