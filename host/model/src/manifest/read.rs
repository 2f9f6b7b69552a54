//! The fields of the manifest by the seed's table, from nodes to a [`Manifest`].

use super::{Manifest, Requests, Scheduling, Version, hutch};
use crate::command_line::{EntryCommand, EntryError};
use crate::diagnostic::{Code, Diagnostic, Position, Problems, shown};
use crate::fields::{NAMES_MAX, optional};
use crate::front_matter::{self, Document};
use crate::hidden::hidden;
use crate::names::{CommandPath, SkillName, Slug};
use crate::nearest::nearest;
use crate::node::{Data, Entry, Node};
use crate::schedule::in_body;
use crate::text::Text;
use serde_json::Value;

/// The value of `schema` that this reader understands.
const SCHEMA: &str = "agentapplications/v1";

/// The keys of the seed's table.
const KNOWN: [&str; 15] = [
    "schema",
    "kind",
    "slug",
    "name",
    "description",
    "version",
    "license",
    "authors",
    "tags",
    "metadata",
    "entry",
    "commands",
    "skills",
    "scheduling",
    "confirmationRequired",
];

pub(super) fn read(text: &str, file: &str) -> (Option<Manifest>, Vec<Diagnostic>) {
    let mut problems = Problems::new(file);
    let manifest = front_matter::split(text, &mut problems)
        .and_then(|document| read_document(document, &mut problems))
        .filter(|_| !problems.has_errors());
    (manifest, problems.into_sorted())
}

/// Reads every field before it gives up on any, so that all problems are found at once.
fn read_document(document: Document<'_>, problems: &mut Problems) -> Option<Manifest> {
    let top = document.fields.at;
    let entries = problems.map("the front matter", &document.fields)?;
    if !is_v1(entries, top, problems) {
        return None;
    }
    report_similar(entries, problems);
    let name = problems.required("name", entries, top).and_then(|node| problems.text("name", node, Text::LINE));
    let description = problems
        .required("description", entries, top)
        .and_then(|node| problems.text("description", node, Text::PARAGRAPH));
    let version = problems.required("version", entries, top).and_then(|node| version(node, problems));
    let (slug, slug_derived) = slug(entries, name, top, problems);
    let entry = problems.required("entry", entries, top).and_then(|node| entry(node, problems));
    let commands = match problems.required("commands", entries, top) {
        Some(node) => commands(node, problems),
        None => Vec::new(),
    };
    let skills = match problems.required("skills", entries, top) {
        Some(node) => problems.names("skills", node, Code::SkillNameInvalid, SkillName::parse),
        None => Vec::new(),
    };
    let confirmation_required = confirmations(entries, &commands, problems);
    let scheduling = optional(entries, "scheduling").and_then(|node| {
        let choices = [("supported", Scheduling::Supported), ("notSupported", Scheduling::NotSupported)];
        problems.choice("scheduling", node, &choices)
    });
    let license = optional(entries, "license").and_then(|node| problems.text("license", node, Text::LINE));
    let authors = optional(entries, "authors").map(|node| authors(node, problems)).unwrap_or_default();
    let tags = match optional(entries, "tags") {
        Some(node) => problems.names("tags", node, Code::ValueInvalid, tag),
        None => Vec::new(),
    };
    let requests = requests(entries, entry.as_ref(), problems);
    if let (Some(Scheduling::Supported), Some(slug)) = (scheduling, &slug)
        && !commands.is_empty()
        && in_body(document.body, document.body_line, slug.as_str(), &commands).is_empty()
    {
        let at = optional(entries, "scheduling").map_or(top, |node| node.at);
        let message = "scheduling is supported, but no section about scheduling names a command in backticks";
        problems.report(Code::SchedulingUndocumented, at, message);
    }

    Some(Manifest {
        slug: slug?,
        slug_derived,
        name: name?.to_owned(),
        description: description?.to_owned(),
        version: version?,
        entry: entry?,
        commands,
        confirmation_required,
        skills,
        scheduling,
        license: license.map(str::to_owned),
        authors,
        tags,
        requests,
        front_matter: document.front_matter.to_owned(),
        body: document.body.to_owned(),
        body_line: document.body_line,
        fields: document.fields,
    })
}

/// Whether the file is an `APP.md` of this specification. Other formats use the file name too; a list of their missing
/// fields would help nobody.
fn is_v1(entries: &[Entry], top: Position, problems: &mut Problems) -> bool {
    let refuse = |problems: &mut Problems, at, why: String| {
        problems.report(Code::NotAgentApplicationsV1, at, format!("not {SCHEMA}: {why}"));
        false
    };
    if let Some(node) = optional(entries, "schema") {
        return match &node.data {
            Data::Text(text) if text == SCHEMA => is_kind_app(entries, problems),
            _ => refuse(problems, node.at, format!("schema is {}", node.described())),
        };
    }
    if let Some(entry) =
        entries.iter().find(|entry| matches!(entry.key.as_str(), "apiVersion" | "specVersion" | "spec_version"))
    {
        return refuse(problems, entry.at, format!("it has {}, a key of another format, and no schema", entry.key));
    }
    if ["entry", "commands", "skills"].iter().all(|key| optional(entries, key).is_none()) {
        return refuse(problems, top, "it has none of entry, commands and skills".to_owned());
    }
    is_kind_app(entries, problems)
}

fn is_kind_app(entries: &[Entry], problems: &mut Problems) -> bool {
    match optional(entries, "kind") {
        Some(Node { data: Data::Text(text), .. }) if text == "app" => true,
        Some(node) => {
            let message = format!("not {SCHEMA}: kind is {}, and an APP.md is of kind app", node.described());
            problems.report(Code::NotAgentApplicationsV1, node.at, message);
            false
        }
        None => true,
    }
}

/// What says which commands a person must confirm. It stands at the top, and under no other name.
const CONFIRMATIONS: &str = "confirmationRequired";

/// Unknown keys are kept, but one that looks like a known key has most likely lost its effect by a slip. Losing
/// [`CONFIRMATIONS`] that way would open a gate, so there it is an error.
fn report_similar(entries: &[Entry], problems: &mut Problems) {
    report_confirmations(None, entries, problems);
    for entry in unknown(entries).filter(|entry| !means_confirmations(&entry.key)) {
        let near = nearest(&entry.key, KNOWN.into_iter());
        if let Some(near) = near.filter(|near| optional(entries, near).is_none()) {
            let message = format!("the unknown key {} is kept without effect", shown(&entry.key));
            problems.report_with(Code::FieldSimilar, entry.at, message, format!("did you mean {near}?"));
        }
    }
}

fn unknown(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| !KNOWN.contains(&entry.key.as_str()))
}

/// Whether a key was written for confirmations: one of its words is the word for that, or holds it, or is a slip away from either, as in
/// `mustConfrim` and `requireconfimation`; or all of it is near to the right one.
fn means_confirmations(key: &str) -> bool {
    const FORMS: [&str; 5] = ["confirm", "confirms", "confirmed", "confirmation", "confirmations"];
    const KEY_CHARACTERS_MAX: usize = 256;
    let key: String = key.chars().take(KEY_CHARACTERS_MAX).collect();
    let words = words(&key);
    // What conforms, and what configures, are words of their own.
    let is_another = |word: &str| matches!(word, "conform" | "conforms" | "conformance") || word.starts_with("config");
    let is_slip = |word: &String| {
        // The first and the last letter are seldom wrong, so between them more may be.
        let slips = 1 + usize::from(word.len() > 5 && word.starts_with('c') && word.ends_with('m'));
        let is_near = |form: &&str| strsim::osa_distance(word, form) <= slips;
        !is_another(word) && FORMS.iter().any(is_near)
    };
    // Nothing shows where words that are joined without a sign begin.
    let holds_slip = |word: &String| {
        let letters: Vec<char> = word.chars().collect();
        let is_near = |part: &[char]| {
            let part: String = part.iter().collect();
            part.starts_with('c') && !is_another(&part) && strsim::osa_distance(&part, "confirm") <= 1
        };
        word.contains("conformation") || (6..=8).any(|length| letters.windows(length).any(is_near))
    };
    let split = |pair: &[String]| matches!(pair, [con, firm] if con == "con" && firm.starts_with("firm"));
    key.to_lowercase().contains("confirm")
        || words.iter().any(is_slip)
        || words.iter().any(holds_slip)
        || words.windows(2).any(split)
        || nearest(&key, KNOWN.into_iter()) == Some(CONFIRMATIONS)
}

/// Whether a key asks for what confirmations are in other words, and for nothing else: `requireApproval`. Below the top one word alone, as
/// `approvals`, may tell of anything.
fn means_consent(key: &str, is_top: bool) -> bool {
    const ASKING: [&str; 5] = ["must", "ask", "user", "human", "for"];
    const STEMS: [&str; 3] = ["requir", "need", "command"];
    const CONSENT: [&str; 5] = ["approval", "approvals", "approve", "consent", "consents"];
    let words = words(key);
    let near = |known: &[&str], word: &String| {
        known.iter().any(|known| strsim::osa_distance(word, known) <= usize::from(known.starts_with("approval")))
    };
    let asks = |word: &String| ASKING.contains(&word.as_str()) || STEMS.iter().any(|stem| word.starts_with(stem));
    let least = if is_top { 1 } else { 2 };
    (least..=4).contains(&words.len())
        && words.iter().any(|word| near(&CONSENT, word))
        && words.iter().all(|word| near(&CONSENT, word) || asks(word))
}

/// The words that a name is made of, however they are joined.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut was_small) = (vec![String::new()], false);
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (was_small && letter.is_uppercase()) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Refuses the keys that mean confirmations and say nothing, among those `below` this key, or at the top, and below them.
fn report_confirmations(below: Option<&str>, entries: &[Entry], problems: &mut Problems) {
    for Entry { at, key, value } in entries {
        let is_known = below.is_none() && KNOWN.contains(&key.as_str());
        if !is_known && (means_confirmations(key) || means_consent(key, below.is_none())) {
            let (what, hint) = match below {
                None => (format!("is not {CONFIRMATIONS}"), format!("did you mean {CONFIRMATIONS}?")),
                Some(below) => {
                    let below = shown(below);
                    (format!("stands below {}", below.trim_matches('"')), format!("write {CONFIRMATIONS} at the top"))
                }
            };
            let message = format!("{} {what}, and would leave commands unconfirmed", shown(key));
            problems.report_with(Code::FieldMisspelled, *at, message, hint);
        }
        if !is_known || matches!(key.as_str(), "entry" | "metadata") {
            report_confirmations_in(key, value, problems);
        }
    }
}

fn report_confirmations_in(key: &str, value: &Node, problems: &mut Problems) {
    match &value.data {
        Data::Map(entries) => report_confirmations(Some(key), entries, problems),
        Data::List(items) => items.iter().for_each(|item| report_confirmations_in(key, item, problems)),
        Data::Null | Data::Bool(_) | Data::Number { .. } | Data::Text(_) => {}
    }
}

fn version(node: &Node, problems: &mut Problems) -> Option<Version> {
    let text = problems.text("version", node, Text::LINE)?;
    match semver::Version::parse(text) {
        Ok(version) => Some(Version(version)),
        Err(error) => {
            problems.report(
                Code::VersionInvalid,
                node.at,
                format!("version: {} is not a semantic version: {error}", shown(text)),
            );
            None
        }
    }
}

/// The slug, and whether it had to be derived from the name.
fn slug(entries: &[Entry], name: Option<&str>, top: Position, problems: &mut Problems) -> (Option<Slug>, bool) {
    if let Some(node) = optional(entries, "slug") {
        let slug = problems.text("slug", node, Text::LINE).map(Slug::parse);
        return match slug {
            Some(Err(error)) => {
                problems.report(Code::SlugInvalid, node.at, format!("slug: {error}"));
                (None, false)
            }
            slug => (slug.and_then(Result::ok), false),
        };
    }
    let derived = name.map(Slug::derived);
    match &derived {
        Some(Some(slug)) => {
            let message =
                format!("slug is missing; {} is used, and changes whenever the name does", shown(slug.as_str()));
            problems.report_with(Code::FieldRecommended, top, message, format!("add slug: {slug}"));
        }
        Some(None) => {
            problems.report(Code::FieldMissing, top, "slug is missing, and none can be derived from the name")
        }
        None => problems.report(Code::FieldRecommended, top, "slug is missing"),
    }
    (derived.flatten(), true)
}

fn entry(node: &Node, problems: &mut Problems) -> Option<EntryCommand> {
    if let Data::Text(text) = &node.data {
        let message = format!("entry: expected a mapping with the key command, found the text {}", shown(text));
        problems.report_with(Code::FieldType, node.at, message, format!("write entry: {{command: {}}}", shown(text)));
        return None;
    }
    let entries = problems.map("entry", node)?;
    let command = problems.required("entry.command", entries, node.at)?;
    let text = problems.text("entry.command", command, Text { characters_max: 4096, lines: false })?;
    match EntryCommand::parse(text) {
        Ok(entry) => Some(entry),
        Err(error) => {
            let code = match error {
                EntryError::Unsupported(_) => Code::EntryUnsupported,
                EntryError::Invalid(_) => Code::EntryInvalid,
            };
            problems.report(code, command.at, format!("entry.command: {error}"));
            None
        }
    }
}

fn commands(node: &Node, problems: &mut Problems) -> Vec<CommandPath> {
    if matches!(&node.data, Data::List(items) if items.is_empty()) {
        problems.report(Code::FieldEmpty, node.at, "commands is empty, and an application documents at least one");
    }
    problems.names("commands", node, Code::CommandInvalid, CommandPath::parse)
}

fn confirmations(entries: &[Entry], commands: &[CommandPath], problems: &mut Problems) -> Vec<CommandPath> {
    let Some(node) = optional(entries, "confirmationRequired") else { return Vec::new() };
    let paths = problems.names("confirmationRequired", node, Code::CommandInvalid, CommandPath::parse);
    let Data::List(items) = &node.data else { return paths };
    for item in items.iter().take(NAMES_MAX) {
        // What is no command path at all has been reported just now, as has a list that is too long.
        let Data::Text(text) = &item.data else { continue };
        if CommandPath::parse(text).is_err() || commands.iter().any(|command| command.as_str() == text) {
            continue;
        }
        let message = format!("confirmationRequired names {}, which commands does not list", shown(text));
        match problems.suggestion(text, commands.iter().map(CommandPath::as_str)) {
            Some(near) => {
                problems.report_with(Code::ConfirmationUnknown, item.at, message, format!("did you mean {near}?"))
            }
            None => problems.report(Code::ConfirmationUnknown, item.at, message),
        }
    }
    paths
}

fn authors(node: &Node, problems: &mut Problems) -> Vec<Value> {
    let mut authors = Vec::new();
    for item in problems.list("authors", node).unwrap_or_default() {
        match &item.data {
            Data::Map(_) => authors.push(item.to_json()),
            _ => authors.extend(problems.text("an item of authors", item, Text::LINE).map(Value::from)),
        }
    }
    authors
}

fn tag(text: &str) -> Result<String, &'static str> {
    let clean = !text.trim().is_empty() && text.chars().count() <= 64 && hidden(text).next().is_none();
    if clean { Ok(text.to_owned()) } else { Err("expected 1 to 64 visible characters") }
}

fn requests(entries: &[Entry], entry: Option<&EntryCommand>, problems: &mut Problems) -> Requests {
    let Some(metadata) = optional(entries, "metadata") else { return Requests::default() };
    let Some(metadata) = problems.map("metadata", metadata) else { return Requests::default() };
    match optional(metadata, "hutch") {
        Some(node) => hutch::read(node, entry, problems),
        None => Requests::default(),
    }
}
