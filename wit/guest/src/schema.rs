//! JSON Schemas as constant trees: put together when a program is compiled, written out only where one is asked for.

use std::collections::BTreeSet;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::calendar::{Date, Due, Instant};
use crate::contract::Constraints;

/// A JSON Schema of draft 2020-12.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Its text, which must be JSON.
    Text(&'static str),
    /// The schema, or `null`.
    Nullable(&'static Schema),
    /// A list, with the least and the greatest number of elements.
    List(&'static Schema, Option<u32>, Option<u32>),
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A text that keeps these.
    Constrained(Constraints),
    /// An object of these fields and no others.
    Object(&'static [Field]),
    /// The document of the command of that name: `ok`, `command`, its own properties, `count`, and `items` as the last says.
    Document(&'static str, &'static [&'static [Field]], &'static Schema),
}

/// One property of an object, which may be a column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub schema: &'static Schema,
    /// Whether it is always there.
    pub required: bool,
    /// Where it stands in a table for people.
    pub place: Place,
}

/// Where a column stands in a table for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// In the order of the fields.
    InOrder,
    /// After the others: it is as long as people made it.
    Last,
    /// Nowhere: it tells little at a glance.
    Aside,
}

impl Field {
    /// One that is always there.
    #[must_use]
    pub const fn new(name: &'static str, schema: &'static Schema) -> Self {
        Self { name, schema, required: true, place: Place::InOrder }
    }
}

/// A type whose JSON form is known.
pub trait Described {
    /// That form.
    const SCHEMA: &'static Schema;
}

impl Schema {
    /// The JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) {
        match self {
            Self::Text(schema) => text.push_str(schema),
            Self::Nullable(schema) => {
                text.push_str(r#"{"anyOf":["#);
                schema.write(text);
                text.push_str(r#",{"type":"null"}]}"#);
            }
            Self::List(element, least, most) => {
                text.push_str(r#"{"type":"array""#);
                for (word, bound) in [("minItems", least), ("maxItems", most)] {
                    if let Some(bound) = bound {
                        text.push_str(&format!(",\"{word}\":{bound}"));
                    }
                }
                text.push_str(",\"items\":");
                element.write(text);
                text.push('}');
            }
            Self::Choice(choices) => text.push_str(&format!("{{\"enum\":{}}}", quoted(choices))),
            Self::Constrained(constraints) => {
                text.push_str(r#"{"type":"string""#);
                for (word, bound) in [("minLength", constraints.min_length), ("maxLength", constraints.max_length)] {
                    if let Some(bound) = bound {
                        text.push_str(&format!(",\"{word}\":{bound}"));
                    }
                }
                if let Some(pattern) = constraints.pattern {
                    text.push_str(&format!(",\"pattern\":{}", serde_json::Value::from(pattern)));
                }
                text.push('}');
            }
            Self::Object(properties) => object(text, properties.iter().map(Member::of)),
            Self::Document(command, own, items) => {
                // The name of a command has no character that JSON escapes.
                let fixed = |name, schema| Member { name, schema, required: true };
                let first = [
                    fixed("ok", r#"{"const":true}"#.to_owned()),
                    fixed("command", format!(r#"{{"const":"{command}"}}"#)),
                ];
                let own = own.iter().flat_map(|properties| properties.iter()).map(Member::of);
                let last =
                    [fixed("count", r#"{"type":"integer","minimum":0}"#.to_owned()), fixed("items", items.to_text())];
                object(text, first.into_iter().chain(own).chain(last));
            }
        }
    }
}

/// A property whose schema is written out.
struct Member {
    name: &'static str,
    schema: String,
    required: bool,
}

impl Member {
    fn of(property: &Field) -> Self {
        Self { name: property.name, schema: property.schema.to_text(), required: property.required }
    }
}

fn object(text: &mut String, members: impl Iterator<Item = Member>) {
    let members: Vec<Member> = members.collect();
    let required: Vec<&str> = members.iter().filter(|member| member.required).map(|member| member.name).collect();
    let properties: Vec<String> =
        members.iter().map(|member| format!("\"{}\":{}", member.name, member.schema)).collect();
    text.push_str(r#"{"type":"object","additionalProperties":false,"required":"#);
    text.push_str(&quoted(&required));
    text.push_str(&format!(",\"properties\":{{{}}}}}", properties.join(",")));
}

/// Names, which have no character that JSON escapes, as a list of texts.
fn quoted(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!("[{}]", names.join(","))
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.to_text()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

macro_rules! described {
    ($($kind:ty: $schema:literal),* $(,)?) => {$(
        impl Described for $kind {
            const SCHEMA: &'static Schema = &Schema::Text($schema);
        }
    )*};
}

described! {
    String: r#"{"type":"string"}"#,
    bool: r#"{"type":"boolean"}"#,
    i64: r#"{"type":"integer"}"#,
    u64: r#"{"type":"integer","minimum":0}"#,
    u32: r#"{"type":"integer","minimum":0}"#,
    usize: r#"{"type":"integer","minimum":0}"#,
    f64: r#"{"type":"number"}"#,
    serde_json::Value: "true",
    Date: r#"{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}"#,
    Instant: r#"{"type":"string","format":"date-time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"}"#,
    Due: r#"{"anyOf":[{"type":"string","format":"date","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},{"type":"string","format":"date-time","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"}]}"#,
}

impl<T: Described> Described for Option<T> {
    const SCHEMA: &'static Schema = &Schema::Nullable(T::SCHEMA);
}

impl<T: Described> Described for Vec<T> {
    const SCHEMA: &'static Schema = &Schema::List(T::SCHEMA, None, None);
}

impl<T: Described> Described for BTreeSet<T> {
    const SCHEMA: &'static Schema = &Schema::List(T::SCHEMA, None, None);
}
