//! Reading typed values out of nodes; each mismatch becomes a diagnostic at its place, and reading goes on.
//! Knows no particular file: which fields there are is said by the caller.

use crate::diagnostic::{Code, Position, Problems, shown};
use crate::document::is_reserved;
use crate::hidden;
use crate::nearest::nearest;
use crate::node::{Data, Entry, Node};
use crate::text::Text;
use std::collections::BTreeSet;

/// The most names in one list. Names are compared with each other, so this bounds work as well as size.
pub(crate) const NAMES_MAX: usize = 128;

impl Problems {
    fn wrong_type(&mut self, label: &str, expected: &str, found: &Node) {
        let message = format!("{label}: expected {expected}, found {}", found.described());
        match &found.data {
            Data::Number { written, .. } if expected == "text" => {
                self.report_with(Code::FieldType, found.at, message, format!("put it in quotes: \"{written}\""));
            }
            Data::Bool(value) if expected == "text" => {
                self.report_with(Code::FieldType, found.at, message, format!("put it in quotes: \"{value}\""));
            }
            _ => self.report(Code::FieldType, found.at, message),
        }
    }

    /// Refuses what nobody sees, and keys that are for readers alone, in every text and key of what was read: also those without a meaning here reach agents. `label` is the key
    /// that it stands below.
    pub(crate) fn refuse_hidden(&mut self, label: &str, node: &Node) {
        match &node.data {
            Data::Text(text) => self.refuse_hidden_text(label, node.at, text),
            Data::List(items) => items.iter().for_each(|item| self.refuse_hidden(label, item)),
            Data::Map(entries) => {
                for entry in entries {
                    self.refuse_hidden_text("a key", entry.at, &entry.key);
                    if is_reserved(&entry.key) {
                        // What is kept of it and read again as JSON would be something else to some readers.
                        let message = format!("the key {} has a meaning to readers of JSON alone", shown(&entry.key));
                        self.report(Code::FieldUnknown, entry.at, message);
                    }
                    self.refuse_hidden(&entry.key, &entry.value);
                }
            }
            Data::Null | Data::Bool(_) | Data::Number { .. } => {}
        }
    }

    fn refuse_hidden_text(&mut self, label: &str, at: Position, text: &str) {
        if let Err(reason) = hidden::check(text) {
            let message = format!("{}: {reason}", shown(label).trim_matches('"'));
            self.report(Code::ControlCharacter, at, message);
        }
    }

    /// The entries of a mapping.
    pub(crate) fn map<'n>(&mut self, label: &str, node: &'n Node) -> Option<&'n [Entry]> {
        match &node.data {
            Data::Map(entries) => Some(entries),
            _ => {
                self.wrong_type(label, "a mapping", node);
                None
            }
        }
    }

    /// The items of a list.
    pub(crate) fn list<'n>(&mut self, label: &str, node: &'n Node) -> Option<&'n [Node]> {
        match &node.data {
            Data::List(items) => Some(items),
            _ => {
                self.wrong_type(label, "a list", node);
                None
            }
        }
    }

    /// True or false.
    pub(crate) fn truth(&mut self, label: &str, node: &Node) -> Option<bool> {
        match node.data {
            Data::Bool(value) => Some(value),
            _ => {
                self.wrong_type(label, "true or false", node);
                None
            }
        }
    }

    /// A whole number that is not negative.
    pub(crate) fn natural(&mut self, label: &str, node: &Node) -> Option<u64> {
        match &node.data {
            Data::Number { value, .. } if value.as_u64().is_some() => value.as_u64(),
            _ => {
                self.wrong_type(label, "a whole number from 0", node);
                None
            }
        }
    }

    /// Text as it is, empty or not.
    pub(crate) fn any_text<'n>(&mut self, label: &str, node: &'n Node) -> Option<&'n str> {
        match &node.data {
            Data::Text(text) => Some(text),
            _ => {
                self.wrong_type(label, "text", node);
                None
            }
        }
    }

    /// Text that says something, within bounds.
    pub(crate) fn text<'n>(&mut self, label: &str, node: &'n Node, rules: Text) -> Option<&'n str> {
        let text = self.any_text(label, node)?;
        // What is hidden was refused when the file was read.
        if let Some((code, reason)) = rules.broken(text) {
            let colon = if code == Code::FieldEmpty { "" } else { ":" };
            self.report(code, node.at, format!("{label}{colon} {reason}"));
            return None;
        }
        Some(text)
    }

    /// One of a few words.
    pub(crate) fn choice<T: Copy>(&mut self, label: &str, node: &Node, choices: &[(&str, T)]) -> Option<T> {
        let found = match &node.data {
            Data::Text(text) => choices.iter().find(|(word, _)| word == text),
            _ => None,
        };
        if found.is_none() {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            let message = format!("{label}: expected one of {}, found {}", words.join(", "), node.described());
            self.report(Code::ValueInvalid, node.at, message);
        }
        found.map(|(_, value)| *value)
    }

    /// A list of at most [`NAMES_MAX`] names, each parsed by `parse`, none twice. Reports under `code` what `parse` refuses.
    pub(crate) fn names<T, E: std::fmt::Display>(
        &mut self,
        label: &str,
        node: &Node,
        code: Code,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Vec<T> {
        let mut names = Vec::new();
        let mut seen = BTreeSet::new();
        let items = self.list(label, node).unwrap_or_default();
        if items.len() > NAMES_MAX {
            self.report(Code::FieldTooLong, node.at, format!("{label}: {} items, {NAMES_MAX} allowed", items.len()));
            return names;
        }
        for item in items {
            let item_label = format!("an item of {label}");
            let Some(text) = self.any_text(&item_label, item) else { continue };
            if !seen.insert(text) {
                self.report(Code::ItemDuplicate, item.at, format!("{label} names {} twice", shown(text)));
                continue;
            }
            match parse(text) {
                Ok(name) => names.push(name),
                Err(error) => self.report(code, item.at, format!("{label}: {error}")),
            }
        }
        names
    }

    /// The name that a misspelt one most likely stands for, for the first few that a file has.
    pub(crate) fn suggestion<'k>(&mut self, word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
        if self.may_suggest() { nearest(word, known) } else { None }
    }

    /// The value of a field that must be there.
    pub(crate) fn required<'n>(&mut self, label: &str, entries: &'n [Entry], parent: Position) -> Option<&'n Node> {
        let key = label.rsplit('.').next().unwrap_or(label);
        let found = optional(entries, key);
        if found.is_none() {
            self.report(Code::FieldMissing, parent, format!("{label} is missing"));
        }
        found
    }

    /// Refuses every key that is not among `known`.
    pub(crate) fn only(&mut self, label: &str, entries: &[Entry], known: &[&str]) {
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let message = format!("{label} has no key {}", shown(&entry.key));
            match self.suggestion(&entry.key, known.iter().copied()) {
                Some(near) => {
                    self.report_with(Code::FieldUnknown, entry.at, message, format!("did you mean {near}?"));
                }
                None => {
                    let known = known.join(", ");
                    self.report_with(Code::FieldUnknown, entry.at, message, format!("known keys: {known}"));
                }
            }
        }
    }
}

/// The value of a field that may be there.
pub(crate) fn optional<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}
