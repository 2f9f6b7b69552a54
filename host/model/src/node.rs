//! Structured data that remembers where each part of it was written: what YAML and JSON are read into.
//! Knows neither of the two formats, nor what the data means.

use crate::diagnostic::Position;
use serde_json::{Map, Number, Value};

/// One value and the place where it is written.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) data: Data,
}

/// A value. Numbers keep the text they were written as: `1.10` is a version, not 1.1.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    Number {
        #[serde(with = "crate::kept::json")]
        value: Number,
        written: String,
    },
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a mapping and its value.
#[derive(Clone, PartialEq, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Entry {
    pub(crate) at: Position,
    pub(crate) key: String,
    pub(crate) value: Node,
}

impl Node {
    /// What the value is, for a message.
    pub(crate) fn described(&self) -> String {
        match &self.data {
            Data::Null => "nothing".to_owned(),
            Data::Bool(value) => value.to_string(),
            // `0.` is one, and its dot would end the sentence.
            Data::Number { written, .. } if written.ends_with('.') => {
                format!("the number {}", crate::diagnostic::shown(written))
            }
            Data::Number { written, .. } => {
                format!("the number {}", crate::diagnostic::shown(written).trim_matches('"'))
            }
            Data::Text(text) => format!("the text {}", crate::diagnostic::shown(text)),
            Data::List(_) => "a list".to_owned(),
            Data::Map(_) => "a mapping".to_owned(),
        }
    }

    /// The value of `key`, if this is a mapping that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        match &self.data {
            Data::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            _ => None,
        }
    }

    /// The place of the value that a JSON pointer (RFC 6901) names, or of its nearest ancestor that exists.
    pub(crate) fn position(&self, pointer: &str) -> Position {
        let mut node = self;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match &node.data {
                Data::List(items) => token.parse::<usize>().ok().and_then(|at| items.get(at)),
                _ => node.get(&token),
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.at
    }

    /// The same data without places.
    pub(crate) fn to_json(&self) -> Value {
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number { value, .. } => Value::Number(value.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Data::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.clone(), entry.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }
}
