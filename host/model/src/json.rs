//! JSON into nodes that remember their places. Knows nothing about fields.
//!
//! `serde_json` does the parsing; its raw values are slices of the text, and where a slice lies is where the value is.

use crate::diagnostic::{Code, Position, Problems, shown};
use crate::node::{Data, Entry, Node};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::fmt;

/// The deepest nesting of arrays and objects. Each level reads its text once more, so depth bounds the work.
pub(crate) const DEPTH_MAX: usize = 32;
/// The most values, keys included.
pub(crate) const NODES_MAX: usize = 65_536;

/// Reads one document. What is wrong is reported; `None` means that the text is not JSON within the bounds.
pub(crate) fn parse(text: &str, problems: &mut Problems) -> Option<Node> {
    match serde_json::from_str::<&RawValue>(text) {
        Ok(raw) => {
            let cursor = Cursor { text, offset: 0, at: Position::START };
            Reader { cursor, nodes: 0, problems }.lower(raw, 0)
        }
        Err(error) => {
            problems.report(Code::JsonSyntax, place_of(&error, text), explain(&error));
            None
        }
    }
}

/// `serde_json` counts the bytes of a line; a position counts its characters.
fn place_of(error: &serde_json::Error, text: &str) -> Position {
    let index = error.line().max(1) - 1;
    let start = match index {
        0 => 0,
        _ => text.match_indices('\n').nth(index - 1).map_or(text.len(), |(at, _)| at + 1),
    };
    let wanted = start.saturating_add(error.column().saturating_sub(1)).min(text.len());
    let offset = (start..=wanted).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
    Position::of_offset(text, offset)
}

/// What is wrong, without the place that `serde_json` adds.
fn explain(error: &serde_json::Error) -> String {
    let message = error.to_string();
    message.split(" at line ").next().unwrap_or_default().to_owned()
}

/// Where the reader is. Values are met in the order in which they are written, so every character is counted once.
struct Cursor<'t> {
    text: &'t str,
    offset: usize,
    at: Position,
}

impl<'t> Cursor<'t> {
    fn advance_to(&mut self, offset: usize) -> Position {
        for c in self.text.get(self.offset..offset).unwrap_or_default().chars() {
            self.offset += c.len_utf8();
            if c == '\n' {
                self.at = Position { line: self.at.line.saturating_add(1), column: 1 };
            } else {
                self.at.column = self.at.column.saturating_add(1);
            }
        }
        self.at
    }
}

struct Reader<'t, 'p> {
    cursor: Cursor<'t>,
    nodes: usize,
    problems: &'p mut Problems,
}

impl<'t> Reader<'t, '_> {
    fn place(&mut self, raw: &RawValue) -> Position {
        // Both point into the same text: the raw value was borrowed from it.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.cursor.text.as_ptr() as usize);
        self.cursor.advance_to(offset)
    }

    fn lower(&mut self, raw: &'t RawValue, depth: usize) -> Option<Node> {
        let at = self.place(raw);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            self.problems.report(Code::DataTooLarge, at, format!("more than {NODES_MAX} values"));
            return None;
        }
        let written = raw.get();
        let data = match written.as_bytes().first() {
            Some(b'[' | b'{') if depth == DEPTH_MAX => {
                self.problems.report(Code::DataTooDeep, at, format!("nested deeper than {DEPTH_MAX} levels"));
                return None;
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = self.checked(at, serde_json::from_str(written))?;
                Data::List(items.into_iter().map(|item| self.lower(item, depth + 1)).collect::<Option<_>>()?)
            }
            Some(b'{') => {
                let members: Members<'t> = self.checked(at, serde_json::from_str(written))?;
                Data::Map(self.lower_members(members, depth)?)
            }
            Some(b'"') => Data::Text(self.checked(at, serde_json::from_str(written))?),
            Some(b't') => Data::Bool(true),
            Some(b'f') => Data::Bool(false),
            Some(b'n') => Data::Null,
            _ => Data::Number { value: self.checked(at, serde_json::from_str(written))?, written: written.to_owned() },
        };
        Some(Node { at, data })
    }

    fn lower_members(&mut self, members: Members<'t>, depth: usize) -> Option<Vec<Entry>> {
        let mut entries = Vec::with_capacity(members.0.len());
        let mut seen = BTreeSet::new();
        for (key, value) in members.0 {
            let at = self.place(key);
            let key: String = self.checked(at, serde_json::from_str(key.get()))?;
            let value = self.lower(value, depth + 1)?;
            if seen.insert(key.clone()) {
                entries.push(Entry { at, key, value });
            } else {
                self.problems.report(Code::DuplicateKey, at, format!("the key {} appears again", shown(&key)));
            }
        }
        Some(entries)
    }

    /// A raw value is well-formed, but what it says may still be beyond its type: a lone surrogate, a huge number.
    fn checked<T>(&mut self, at: Position, result: Result<T, serde_json::Error>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.problems.report(Code::JsonSyntax, at, explain(&error));
                None
            }
        }
    }
}

/// An object's members in order, with repeated keys, as slices of the text.
struct Members<'t>(Vec<(&'t RawValue, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}
