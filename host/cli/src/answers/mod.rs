//! What commands answer, as types: each command makes one, and the schema of its `result` follows from it. They know no command and no
//! terminal.

mod instances;
mod keys;
mod packages;
mod program;
mod runs;

pub(crate) use instances::*;
pub(crate) use keys::*;
pub(crate) use packages::*;
pub(crate) use program::*;
pub(crate) use runs::*;

use hutch_model::trust::Level;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// What makes a type's schema.
pub(crate) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// JSON Schema of what is written of a type, without what every schema has and nobody reads.
pub(crate) fn schema(shape: Shape) -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = settings.with(|settings| settings.inline_subschemas = true).into_generator();
    let mut schema = shape(&mut generator);
    Brief.transform(&mut schema);
    schema.to_value()
}

struct Brief;

impl Transform for Brief {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(fields) = schema.as_object_mut() else { return };
        for noise in ["default", "format", "maxItems", "maximum", "minItems", "minimum", "title", "uniqueItems"] {
            fields.remove(noise);
        }
        for any in ["items", "additionalProperties"] {
            if fields.get(any) == Some(&Value::Bool(true)) {
                fields.remove(any);
            }
        }
        // The words of an enumeration, each of which may be described.
        if let Some(Value::Array(words)) = fields.get("oneOf")
            && let Some(words) = words.iter().map(|word| word.get("const").cloned()).collect::<Option<Vec<_>>>()
        {
            fields.clear();
            fields.insert("enum".to_owned(), words.into());
        }
        if let Some(Value::Array(either)) = fields.get("anyOf")
            && let [one, other] = either.as_slice()
            && let (Some(Value::Array(words)), Some("null")) = (one.get("enum"), other["type"].as_str())
        {
            let words = words.iter().cloned().chain([Value::Null]).collect();
            fields.clear();
            fields.insert("enum".to_owned(), words);
        }
        if fields.contains_key("enum") {
            fields.remove("type");
        }
        // What a type is for its fields say; there are no others.
        if fields.contains_key("properties") {
            fields.remove("description");
            fields.insert("additionalProperties".to_owned(), false.into());
        }
        if fields.contains_key("anyOf") {
            fields.remove("description");
        }
    }
}

/// The words for how far a package is trusted.
fn levels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Level::ALL.map(Level::text)})
}

/// The same of packages that may be elsewhere.
fn levels_anywhere(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": Level::ALL.map(Level::text).into_iter().chain(["remote", "release"]).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Serialize, JsonSchema)]
    enum Word {
        /// This one.
        One,
        /// That one.
        Other,
    }

    /// Something.
    #[derive(Serialize, JsonSchema)]
    struct Inner {
        any: Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u8")]
        perhaps: Option<u8>,
    }

    /// Something else.
    #[derive(Serialize, JsonSchema)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
        /// what it is called
        name: Option<String>,
        word: Word,
        perhaps_word: Option<Word>,
        set: BTreeSet<u8>,
        within: Option<Inner>,
        many: Vec<Value>,
        open: serde_json::Map<String, Value>,
        named: BTreeMap<String, u64>,
    }

    #[test]
    fn a_schema_says_what_a_type_writes_and_no_more() {
        let inner = |kind: Value| {
            json!({"type": kind, "required": ["any"], "additionalProperties": false,
                "properties": {"any": true, "perhaps": {"type": "integer"}}})
        };
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["any", "name", "word", "perhaps_word", "set", "within", "many", "open", "named"],
            "properties": {
                "any": true,
                "perhaps": {"type": "integer"},
                "name": {"type": ["string", "null"], "description": "what it is called"},
                "word": {"enum": ["One", "Other"]},
                "perhaps_word": {"enum": ["One", "Other", null]},
                "set": {"type": "array", "items": {"type": "integer"}},
                "within": inner(json!(["object", "null"])),
                "many": {"type": "array"},
                "open": {"type": "object"},
                "named": {"type": "object", "additionalProperties": {"type": "integer"}},
            },
        });
        assert_eq!(schema(Outer::json_schema), expected);
        let inner = || Inner { any: json!(1), perhaps: None };
        let written = json!(Outer {
            inner: inner(),
            name: None,
            word: Word::One,
            perhaps_word: Some(Word::Other),
            set: BTreeSet::new(),
            within: Some(Inner { perhaps: Some(1), ..inner() }),
            many: Vec::new(),
            open: serde_json::Map::new(),
            named: BTreeMap::new(),
        });
        assert!(jsonschema::is_valid(&expected, &written), "{written}");
        let with = |name: &str| {
            let mut written = written.clone();
            written[name] = true.into();
            jsonschema::is_valid(&expected, &written)
        };
        assert!(with("any") && !with("nosuch") && !with("word"));
    }
}
