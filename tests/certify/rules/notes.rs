//! A command line that keeps every rule: what it does with one call. In memory, and without a process.

use crate::description::{self, BRIEF, ISSUE};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a call answers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Reply {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) status: u8,
    pub(crate) timed_out: bool,
}

/// A call, read.
#[derive(Default)]
struct Parsed {
    name: String,
    bare: Vec<String>,
    flags: BTreeMap<String, Vec<String>>,
}

type Failure = (&'static str, String);

pub(crate) fn empty() -> Value {
    json!({"notes": [], "issues": [], "next": 1})
}

/// Answers one call, and changes `state` if it should.
pub(crate) fn answer(help: &Value, args: &[String], stdin: &[u8], state: &mut Value) -> Reply {
    let has = |name: &str| args.iter().any(|word| word == name);
    if has("--help") {
        return describe(help, args, has("--human"));
    }
    if has("--version") {
        return json_reply(&json!({"name": "notes", "version": "1.2.0"}));
    }
    if has("--brief") {
        return Reply { stdout: format!("{BRIEF}\n"), ..Reply::default() };
    }
    let before = state.clone();
    match parse(help, args).and_then(|parsed| call(help, &parsed, stdin, state).map(|result| (parsed, result))) {
        Ok((parsed, result)) => {
            if parsed.has("dry-run") {
                *state = before;
            }
            succeed(&parsed, result)
        }
        Err(failure) => {
            *state = before;
            fail(help, &failure)
        }
    }
}

fn json_reply(value: &Value) -> Reply {
    Reply { stdout: format!("{value}\n"), ..Reply::default() }
}

/// A failure as the description states it.
pub(crate) fn fail(help: &Value, (code, message): &(&str, String)) -> Reply {
    let declared = help["errors"].as_array().into_iter().flatten().find(|error| error["code"] == *code);
    let status = declared.and_then(|error| error["exit_status"].as_u64()).unwrap_or(1);
    let error = json!({"error": true, "code": code, "message": message, "suggestion": "see notes --help"});
    Reply { stderr: format!("{error}\n"), status: u8::try_from(status).unwrap_or(1), ..Reply::default() }
}

fn describe(help: &Value, args: &[String], human: bool) -> Reply {
    if human {
        return Reply { stdout: "notes COMMAND: keeps notes\n".to_owned(), ..Reply::default() };
    }
    let words: Vec<&str> = args.iter().take_while(|word| !word.starts_with("--")).map(String::as_str).collect();
    let name = words.join(" ");
    match help["commands"].as_array().into_iter().flatten().find(|command| command["name"] == name) {
        Some(command) => json_reply(command),
        None => json_reply(help),
    }
}

fn parse(help: &Value, args: &[String]) -> Result<Parsed, Failure> {
    let commands = help["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
    let calls = |command: &&Value| {
        let words: Vec<&str> = command["name"].as_str().unwrap_or_default().split(' ').collect();
        args.len() >= words.len() && args.iter().zip(&words).all(|(arg, word)| arg == word)
    };
    let command = commands.iter().find(calls).ok_or(("UNKNOWN_COMMAND", "there is no such command".to_owned()))?;
    let mut parsed = Parsed { name: command["name"].as_str().unwrap_or_default().to_owned(), ..Parsed::default() };
    let own: Vec<&Value> = command["parameters"].as_array().into_iter().flatten().collect();
    let all: Vec<&Value> = own.iter().copied().chain(help["parameters"].as_array().into_iter().flatten()).collect();
    let mut rest = args.iter().skip(parsed.name.split(' ').count());
    let bare: Vec<&Value> = own.iter().copied().filter(|parameter| parameter["position"].is_u64()).collect();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix("--") else {
            let parameter = bare.get(parsed.bare.len()).ok_or(("UNEXPECTED_ARGUMENT", "one too many".to_owned()))?;
            check(parameter, word)?;
            parsed.bare.push(word.clone());
            continue;
        };
        let named = |parameter: &Value, name: &str| {
            parameter["name"].as_str().and_then(|written| written.strip_prefix("--")) == Some(name)
        };
        let find = |name: &str| all.iter().find(|parameter| named(parameter, name));
        let negated = flag.strip_prefix("no-").and_then(find).filter(|parameter| parameter["type"] == "boolean");
        if negated.is_some() {
            continue;
        }
        let parameter = find(flag).ok_or(("UNKNOWN_FLAG", format!("there is no {word}")))?;
        let value = match parameter["type"] == "boolean" {
            true => String::new(),
            false => rest.next().ok_or(("MISSING_ARGUMENT", format!("{word} needs a value")))?.clone(),
        };
        check(parameter, &value)?;
        parsed.flags.entry(flag.to_owned()).or_default().push(value);
    }
    let batch = parsed.has("json-input");
    for parameter in own.iter().filter(|parameter| parameter["required"] == true && !batch) {
        let name = parameter["name"].as_str().unwrap_or_default();
        let there = match parameter["position"].as_u64() {
            Some(at) => parsed.bare.len() as u64 > at,
            None => parsed.has(name.trim_start_matches('-')),
        };
        if !there {
            return Err(("MISSING_ARGUMENT", format!("{name} is missing")));
        }
    }
    Ok(parsed)
}

/// Type and guardrails.
fn check(parameter: &Value, value: &str) -> Result<(), Failure> {
    let refused = |what: &str| Err(("ARGUMENT_REFUSED", format!("an argument holds {what}")));
    let choices = parameter["choices"].as_array().cloned().unwrap_or_default();
    let invalid = match parameter["type"].as_str() {
        Some("integer") => value.parse::<u32>().is_err(),
        Some("date") => value.len() != 10 || !value.starts_with("20"),
        Some("enum") => !choices.is_empty() && !choices.iter().any(|choice| choice == value),
        _ => false,
    };
    if invalid {
        return Err(("INVALID_VALUE", format!("{value} is not of its type")));
    }
    if value.chars().any(char::is_control) {
        return refused("a control character");
    }
    if ["sk-", "pk-", "ghp_", "gho_", "github_pat_", "xoxb-", "xoxp-", "AKIA", "eyJ"]
        .iter()
        .any(|it| value.starts_with(it))
    {
        return refused("a secret");
    }
    if parameter["free_text"] == true {
        return Ok(());
    }
    if value.contains("../") {
        return refused("a way out");
    }
    if [".env", ".key", ".pem", "id_rsa"].iter().any(|end| value.ends_with(end)) {
        return refused("a sensitive path");
    }
    if [";", "|", "&&", "$(", "`"].iter().any(|syntax| value.contains(syntax)) {
        return refused("shell syntax");
    }
    Ok(())
}

impl Parsed {
    fn has(&self, name: &str) -> bool {
        self.flags.contains_key(name)
    }

    fn bare(&self) -> &str {
        self.bare.first().map(String::as_str).unwrap_or_default()
    }

    fn flag(&self, name: &str) -> &str {
        self.flags.get(name).and_then(|values| values.last()).map(String::as_str).unwrap_or_default()
    }
}

fn find<'s>(state: &'s mut Value, list: &str, id: &str) -> Result<&'s mut Value, Failure> {
    let found = state[list].as_array_mut().into_iter().flatten().find(|entry| entry["id"] == id);
    found.ok_or(("NOT_FOUND", format!("nothing has the id {id}")))
}

fn new_id(state: &mut Value, prefix: &str) -> String {
    let next = state["next"].as_u64().unwrap_or(1);
    state["next"] = json!(next + 1);
    format!("{prefix}{next}")
}

fn push(state: &mut Value, list: &str, entry: Value) {
    state[list].as_array_mut().into_iter().for_each(|entries| entries.push(entry.clone()));
}

fn call(help: &Value, parsed: &Parsed, stdin: &[u8], state: &mut Value) -> Result<Value, Failure> {
    let destructive = ["remove", "purge"].contains(&parsed.name.as_str());
    if destructive && !parsed.has("yes") {
        return Err(("CONFIRMATION_REQUIRED", format!("{} needs --yes", parsed.name)));
    }
    Ok(match parsed.name.as_str() {
        "list" => state["notes"].clone(),
        "get" => find(state, "notes", parsed.bare())?.clone(),
        "stats" => json!({"notes": state["notes"].as_array().map_or(0, Vec::len), "issues": 0}),
        "tags" => json!([{"name": "home", "count": 1}, {"name": "work", "count": 1}]),
        "add" if parsed.has("json-input") => batch(stdin, state)?,
        "add" => add(state, parsed.bare(), &parsed.flags, parsed.has("sanitize"))?,
        "remove" => {
            let removed = find(state, "notes", parsed.bare())?.clone();
            state["notes"].as_array_mut().into_iter().for_each(|notes| notes.retain(|note| *note != removed));
            removed
        }
        "purge" => {
            state["notes"] = json!([]);
            json!({"purged": true})
        }
        "sync" => {
            match parsed.flags.iter().find(|(name, _)| name.starts_with('t')).and_then(|(_, values)| values.last()) {
                Some(token) if token == "expired" => return Err(("AUTH_EXPIRED", "the token is too old".to_owned())),
                Some(token) if token == "readonly" => {
                    return Err(("PERMISSION_DENIED", "the token only reads".to_owned()));
                }
                Some(token) if token == "broken" => {
                    return Err(("SYNC_FAILED", "the other side does not answer".to_owned()));
                }
                _ => json!({"synced": 0}),
            }
        }
        "skills" if parsed.bare.is_empty() => description::skills(),
        "skills" if parsed.bare() == "getting-started" => json!({"name": "getting-started", "content": "Begin."}),
        "skills" => return Err(("NOT_FOUND", "there is no such skill".to_owned())),
        "issue list" => state["issues"].clone(),
        "issue show" => find(state, "issues", parsed.bare())?.clone(),
        "issue create" => {
            let id = new_id(state, "i");
            let message: String =
                parsed.flag("message").chars().filter(|c| !parsed.has("sanitize") || c.is_ascii()).collect();
            let now = "2026-04-01T12:00:00Z";
            let issue = json!({"id": id, "type": parsed.flag("type"), "status": "open", "message": message,
                "created_at": now, "updated_at": now, "version": "1.2.0", "context": {}, "exit_code": null});
            push(state, "issues", issue.clone());
            issue
        }
        "issue close" | "issue transition" => {
            let status = if parsed.name == "issue close" { "closed" } else { parsed.flag("status") };
            let issue = find(state, "issues", parsed.bare())?;
            issue["status"] = json!(status);
            issue.clone()
        }
        "mcp" => {
            let tool = |command: &Value| {
                let parameters = command["parameters"].as_array().into_iter().flatten();
                let names = parameters.filter_map(|it| it["name"].as_str().map(|name| name.trim_start_matches('-')));
                let properties: Map<String, Value> = names.map(|name| (name.to_owned(), json!({}))).collect();
                json!({"name": command["name"], "inputSchema": {"type": "object", "properties": properties}})
            };
            let tools: Vec<Value> = help["commands"].as_array().into_iter().flatten().map(tool).collect();
            json!({"tools": tools})
        }
        _ => json!({"done": true, "by": "a command that a test added"}),
    })
}

fn add(
    state: &mut Value,
    title: &str,
    flags: &BTreeMap<String, Vec<String>>,
    sanitize: bool,
) -> Result<Value, Failure> {
    const TAGS_MAX: usize = 32;
    let tags = flags.get("tag").cloned().unwrap_or_default();
    if tags.len() > TAGS_MAX {
        return Err(("BATCH_TOO_LARGE", format!("at most {TAGS_MAX} tags fit")));
    }
    let title: String = title.chars().filter(|c| !sanitize || c.is_ascii()).collect();
    let note = json!({"id": new_id(state, "n"), "title": title, "tags": tags});
    push(state, "notes", note.clone());
    Ok(note)
}

fn batch(stdin: &[u8], state: &mut Value) -> Result<Value, Failure> {
    const ENTRIES_MAX: usize = 1000;
    let entries: Vec<Map<String, Value>> =
        serde_json::from_slice(stdin).map_err(|error| ("INVALID_VALUE", format!("the batch: {error}")))?;
    if entries.len() > ENTRIES_MAX {
        return Err(("BATCH_TOO_LARGE", format!("at most {ENTRIES_MAX} entries are taken")));
    }
    let titles = entries.iter().map(|entry| entry.get("title").and_then(Value::as_str));
    let titles: Option<Vec<&str>> = titles.collect();
    let titles = titles.ok_or(("INVALID_VALUE", "an entry has no title".to_owned()))?;
    let added: Result<Vec<Value>, Failure> =
        titles.into_iter().map(|title| add(state, title, &BTreeMap::new(), false)).collect();
    Ok(Value::Array(added?))
}

fn succeed(parsed: &Parsed, mut result: Value) -> Reply {
    if let Some(fields) = parsed.flags.get("fields").and_then(|values| values.last()) {
        let wanted: Vec<&str> = fields.split(',').collect();
        let keep = |value: &mut Value| {
            value.as_object_mut().into_iter().for_each(|fields| fields.retain(|key, _| wanted.contains(&key.as_str())));
        };
        match &mut result {
            Value::Array(rows) => rows.iter_mut().for_each(keep),
            Value::Object(fields) if fields.contains_key("tools") => {
                fields.values_mut().filter_map(Value::as_array_mut).flatten().for_each(keep);
            }
            other => keep(other),
        }
    }
    let mut text = match (parsed.has("human"), parsed.has("ndjson"), &result) {
        (true, _, _) => "what you asked for\n".to_owned(),
        (false, true, Value::Array(rows)) => rows.iter().map(|row| format!("{row}\n")).collect(),
        _ => {
            let mut answer = json!({"ok": true, "command": parsed.name, "result": result,
                "rules": description::rules(), "skills": description::skills(), "issue": ISSUE});
            if let Value::Array(rows) = &result {
                answer["total"] = json!(rows.len());
                answer["page"] = json!(1);
                answer["has_more"] = json!(false);
            }
            format!("{answer}\n")
        }
    };
    if parsed.has("redact") {
        text = redacted(&text);
    }
    Reply { stdout: text, ..Reply::default() }
}

/// Without addresses.
fn redacted(text: &str) -> String {
    let ends = |c: char| c == ' ' || c == '"';
    let parts = text.split_inclusive(ends).map(|part| match part.contains('@') {
        true => format!("[redacted]{}", part.trim_start_matches(|c| !ends(c))),
        false => part.to_owned(),
    });
    parts.collect()
}
