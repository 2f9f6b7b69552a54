//! YAML into nodes that remember their places, within fixed bounds of size, depth and number.
//! Knows nothing about fields. Anchors, aliases, merge keys and tags are refused: front matter is read by many programs,
//! and these are what they disagree on and what makes small texts expand.
//!
//! The parser is `serde-saphyr`: maintained, without unsafe code or C, with budgets and character-accurate places.
//! `serde_yaml_ng` and `serde_norway` wrap a translated C library, give no place for a value, and rest since 2024.

use crate::diagnostic::{Code, Position, Problems, count, shown};
use crate::node::{Data, Entry, Node};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_yaml::budget::BudgetBreach;
use serde_yaml::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_yaml::{Error, Location, Spanned};
use std::collections::BTreeSet;
use std::fmt;

/// The deepest nesting of lists and mappings.
pub(crate) const DEPTH_MAX: usize = 16;
/// The most values, keys included.
pub(crate) const NODES_MAX: usize = 4096;

/// Reads one document. `first_line` is the line of the file that the text begins on. What is wrong is reported;
/// `None` means that the text is not YAML within the bounds.
pub(crate) fn parse(text: &str, first_line: u32, problems: &mut Problems) -> Option<Node> {
    let columns = text.split('\n').map(|line| line.trim_end_matches('\r').chars().count() + 1).collect();
    let source = Source { text, columns, first_line };
    let tabbed = text.lines().enumerate().find(|(_, line)| line.starts_with('\t'));
    if let Some((index, _)) = tabbed {
        let at = Position { line: first_line.saturating_add(count(index)), column: 1 };
        problems.report(Code::YamlTab, at, "the line is indented with a tab");
        return None;
    }
    match serde_yaml::from_str_with_options::<Spanned<Raw>>(text, options()) {
        Ok(raw) => Some(source.lower(raw, problems)),
        Err(error) => {
            let (code, message) = explain(&error);
            problems.report(code, source.place(error.location()), message);
            None
        }
    }
}

fn options() -> serde_yaml::Options {
    serde_yaml::options! {
        budget: serde_yaml::budget! {
            max_depth: DEPTH_MAX,
            // Above max_depth, so that one kind of error tells of any kind of nesting.
            flow_nesting_limit: DEPTH_MAX * 2,
            max_nodes: NODES_MAX,
            max_events: NODES_MAX * 4,
            max_documents: 1,
            max_anchors: 0,
            max_aliases: 0,
        },
        // Reported with all the others by `lower`, which sees every key.
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        // YAML 1.2 core schema: `yes`, `1_000` and `007` are text.
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        leading_zero_numbers_as_strings: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        reject_unsupported_tags: true,
        ignore_binary_tag_for_string: true,
        with_snippet: false,
    }
}

fn explain(error: &Error) -> (Code, String) {
    match error {
        Error::Budget { breach, .. } => match breach {
            BudgetBreach::Anchors { .. } => (Code::YamlAlias, "anchors (&name) are refused".to_owned()),
            BudgetBreach::Aliases { .. } => (Code::YamlAlias, "aliases (*name) are refused".to_owned()),
            BudgetBreach::Documents { .. } => (Code::YamlDocuments, "a second document begins here".to_owned()),
            BudgetBreach::Depth { .. } => (Code::DataTooDeep, format!("nested deeper than {DEPTH_MAX} levels")),
            _ => (Code::DataTooLarge, format!("more than {NODES_MAX} values")),
        },
        Error::UnknownAnchor { .. } => (Code::YamlAlias, "aliases (*name) are refused".to_owned()),
        Error::UnsupportedTag { tag, .. } => (Code::YamlTag, format!("the tag {} is not supported", shown(tag))),
        Error::MultipleDocuments { .. } => (Code::YamlDocuments, "a second document begins here".to_owned()),
        other => {
            let text = other.to_string();
            let text = text.split(" at line ").next().unwrap_or_default();
            // The scanner's own bound on brackets, which it meets while it looks ahead for a key.
            if text == "recursion limit exceeded" {
                return (Code::DataTooDeep, format!("nested deeper than {DEPTH_MAX} levels"));
            }
            (Code::YamlSyntax, shown(text).trim_matches('"').replace("\\'", "'"))
        }
    }
}

/// What the visitor can see: values as YAML types them, mappings with all their keys.
enum Raw {
    Null,
    Bool(bool),
    Integer(Number),
    Float(f64),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Integer(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Raw::Map(entries))
    }
}

struct Source<'t> {
    text: &'t str,
    /// The last column of each line: one past its last character.
    columns: Vec<usize>,
    first_line: u32,
}

impl Source<'_> {
    /// A place in the file. The parser counts lines of the text from 1 and, for what is absent, may point past its end.
    fn place(&self, location: Option<Location>) -> Position {
        let (line, column) = location.map_or((1, 1), |location| (location.line().max(1), location.column().max(1)));
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let column = usize::try_from(column).unwrap_or(usize::MAX);
        match self.columns.get(line - 1) {
            Some(last) => {
                Position { line: self.first_line.saturating_add(count(line - 1)), column: count(column.min(*last)) }
            }
            None => Position { line: self.first_line, column: 1 },
        }
    }

    /// The text that a scalar is written as.
    fn written(&self, location: Location) -> &str {
        let span = location.span();
        let range = span.byte_offset().zip(span.byte_len()).and_then(|(offset, length)| {
            let start = usize::try_from(offset).ok()?;
            Some(start..start.checked_add(usize::try_from(length).ok()?)?)
        });
        range.and_then(|range| self.text.get(range)).unwrap_or_default()
    }

    fn lower(&self, raw: Spanned<Raw>, problems: &mut Problems) -> Node {
        let location = raw.referenced;
        let written = || self.written(location).to_owned();
        let data = match raw.value {
            Raw::Null => Data::Null,
            Raw::Bool(value) => Data::Bool(value),
            Raw::Integer(value) => Data::Number { value, written: written() },
            Raw::Float(value) => match Number::from_f64(value) {
                Some(value) => Data::Number { value, written: written() },
                None => Data::Text(written()),
            },
            // The parser's spelling of a number beyond any float: keep the author's.
            Raw::Text(text) if matches!(text.as_str(), ".inf" | "-.inf" | ".nan") => Data::Text(match written() {
                plain if !plain.starts_with(['"', '\'']) && !plain.is_empty() => plain,
                _ => text,
            }),
            Raw::Text(text) => Data::Text(text),
            Raw::List(items) => Data::List(items.into_iter().map(|item| self.lower(item, problems)).collect()),
            Raw::Map(entries) => Data::Map(self.lower_entries(entries, problems)),
        };
        Node { at: self.place(Some(location)), data }
    }

    fn lower_entries(&self, raw: Vec<(Spanned<Raw>, Spanned<Raw>)>, problems: &mut Problems) -> Vec<Entry> {
        let mut entries = Vec::with_capacity(raw.len());
        let mut seen = BTreeSet::new();
        for (key, value) in raw {
            let merges = self.written(key.referenced) == "<<";
            let key = self.lower(key, problems);
            let value = self.lower(value, problems);
            match key.data {
                Data::Text(_) if merges => problems.report(Code::YamlAlias, key.at, "merge keys (<<) are refused"),
                Data::Text(text) if seen.contains(&text) => {
                    problems.report(Code::DuplicateKey, key.at, format!("the key {} appears again", shown(&text)));
                }
                Data::Text(text) => {
                    seen.insert(text.clone());
                    entries.push(Entry { at: key.at, key: text, value });
                }
                _ => {
                    problems.report(Code::YamlKey, key.at, format!("expected text as a key, found {}", key.described()))
                }
            }
        }
        entries
    }
}
