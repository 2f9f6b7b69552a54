//! A guest's answer held against the JSON Schema that its package declares. Both come from an untrusted author, so the work is
//! bounded before it begins: an answer has a length, and what it will take in memory is found out before it is read; schemas that refer to
//! themselves are refused; the schema's parts, written out, times the answer's values have a bound, in which parts that are evaluated again
//! for what was left unevaluated weigh more; patterns are few, small when they are compiled, run on an engine without backtracking, and
//! count by the length of the answer; and nothing is fetched. What can't be judged is refused.

use hutch_model::document::DocumentSize;
use jsonschema::PatternOptions;
use serde_json::Value;

/// The most bytes of an answer that is held to a schema.
const ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most memory that an answer may take when it is read, by an estimate made before.
const ANSWER_MEMORY_MAX: u64 = 128 * 1024 * 1024;
/// The most parts of a schema with every reference written out.
const PARTS_MAX: u64 = 20_000;
/// The most patterns among them.
const PATTERNS_MAX: u64 = 100;
/// The most memory that one of them may take, and its automaton again as much.
const PATTERN_BYTES_MAX: usize = 64 * 1024;
/// The most steps, each a part and a value: about a second.
const STEPS_MAX: u64 = 50_000_000;
/// The steps of a pattern for each byte of the answer. Most take one; the worst that fits its memory takes some hundred.
const PATTERN_STEPS: u64 = 32;
/// What is evaluated again for what it left unevaluated weighs so many times as much, and so for each level of that: a level multiplies
/// by 2.6 to 3.7, as the library evaluates.
const UNEVALUATED_WEIGHT: u64 = 8;
/// The most nested references.
const DEPTH_MAX: usize = 64;

/// Why an answer is not taken for a document of its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    /// It is no document at all.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It is another document.
    #[error("at {at:?}: {what}")]
    Differs {
        /// Where, as a JSON pointer.
        at: String,
        /// In the library's words.
        what: String,
    },
    /// The schema is none that can be judged by.
    #[error("the schema {0}")]
    Unusable(String),
    /// Judging it would take more than it may.
    #[error("{what} is {count}, more than {max}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        count: u64,
        /// How much there may be.
        max: u64,
    },
}

fn at_most(what: &'static str, count: u64, max: u64) -> Result<(), SchemaError> {
    if count > max { Err(SchemaError::TooMuch { what, count, max }) } else { Ok(()) }
}

/// Whether `answer` is a document of `schema`.
///
/// # Errors
/// Where it is not, or why it can't be judged.
pub(crate) fn check(schema: &Value, answer: &[u8]) -> Result<(), SchemaError> {
    let not_json = |error: serde_json::Error| SchemaError::NotJson(error.to_string());
    at_most("the length of an answer that is held to a schema", answer.len() as u64, ANSWER_BYTES_MAX as u64)?;
    let size = DocumentSize::of(answer).map_err(not_json)?;
    at_most("the memory for an answer that is held to a schema", size.memory_bytes, ANSWER_MEMORY_MAX)?;
    let mut parts = Parts::default();
    parts.count(schema, schema, Place { depth: 0, weight: 1, is_names: false })?;
    let read = parts.patterns.saturating_mul(answer.len() as u64).saturating_mul(PATTERN_STEPS);
    let steps = parts.weight.saturating_mul(size.values).saturating_add(read);
    at_most("the number of parts of the schema, times the values of the answer", steps, STEPS_MAX)?;
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(patterns)
        .build(schema)
        .map_err(|error| SchemaError::Unusable(format!("itself can't be used: {}", short(&error.to_string()))))?;
    let answer = hutch_model::document::read(answer).map_err(not_json)?;
    match validator.iter_errors(&answer).next() {
        None => Ok(()),
        Some(error) => {
            let (at, what) = (error.instance_path().to_string(), short(&error.to_string()));
            Err(SchemaError::Differs { at, what })
        }
    }
}

/// A schema's parts, with each reference counted as what it leads to.
#[derive(Default)]
struct Parts {
    all: u64,
    /// The same, with each part as often as it may be evaluated for one value.
    weight: u64,
    patterns: u64,
}

/// Where something stands in a schema.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// How often it may be evaluated for one value.
    weight: u64,
    /// Whether it is an object whose fields have the names of properties, and not those of keywords.
    is_names: bool,
}

impl Parts {
    fn count(&mut self, schema: &Value, root: &Value, at: Place) -> Result<(), SchemaError> {
        let unusable = |why: &str| SchemaError::Unusable(why.to_owned());
        if at.depth > DEPTH_MAX {
            return Err(unusable("refers to itself, or nests too deeply"));
        }
        self.all += 1;
        self.weight = self.weight.saturating_add(at.weight);
        at_most("the number of parts of the schema", self.all, PARTS_MAX)?;
        let below = Place { depth: at.depth + 1, is_names: false, ..at };
        match schema {
            Value::Object(names) if at.is_names => names.values().try_for_each(|part| self.count(part, root, below)),
            Value::Object(fields) => {
                let again = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|name| fields.contains_key(*name));
                let weight = if again { at.weight.saturating_mul(UNEVALUATED_WEIGHT) } else { at.weight };
                let below = Place { weight, ..below };
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(reference)) => {
                            let pointer =
                                reference.strip_prefix('#').ok_or_else(|| unusable("refers to another document"))?;
                            let target = root.pointer(pointer).ok_or_else(|| unusable("refers to nothing"))?;
                            self.count(target, root, below)?;
                        }
                        ("$dynamicRef" | "$recursiveRef" | "$id", Value::String(_)) => {
                            return Err(SchemaError::Unusable(format!("uses {name}")));
                        }
                        ("pattern", Value::String(_)) => self.patterns += 1,
                        ("patternProperties", Value::Object(patterns)) => self.patterns += patterns.len() as u64,
                        _ => {}
                    }
                    at_most("the number of patterns of the schema", self.patterns, PATTERNS_MAX)?;
                    // What stands there is counted where it is referred to.
                    if name != "$defs" && name != "definitions" {
                        let is_names = matches!(
                            name.as_str(),
                            "properties"
                                | "patternProperties"
                                | "dependentSchemas"
                                | "dependentRequired"
                                | "dependencies"
                        );
                        self.count(value, root, Place { is_names, ..below })?;
                    }
                }
                Ok(())
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.count(item, root, below)),
            _ => Ok(()),
        }
    }
}

/// A library's message, which may repeat a whole document, cut.
fn short(text: &str) -> String {
    const SHOWN_CHARACTERS_MAX: usize = 200;
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_are_held_to_their_schema() {
        let schema = json!({
            "type": "object", "required": ["ok"], "additionalProperties": false,
            "properties": {"ok": {"const": true}, "items": {"type": "array", "items": {"$ref": "#/$defs/item"}}},
            "$defs": {"item": {"type": "string", "pattern": "^a+$"}},
        });
        assert_eq!(check(&schema, br#"{"ok":true,"items":["aa"]}"#), Ok(()));
        for (answer, part) in [
            (&br#"{"ok":false}"#[..], "/ok"),
            (br#"{"ok":true,"items":["b"]}"#, "/items/0"),
            (br#"{}"#, "ok"),
            (br#"{"ok":true,"x":1}"#, "x"),
            (b"nope", "not JSON"),
        ] {
            let reason = check(&schema, answer).unwrap_err().to_string();
            assert!(reason.contains(part), "{reason}");
        }
    }

    #[test]
    fn schemas_that_cost_too_much_are_refused_at_once() {
        let mut doubling = json!({"type": "integer"});
        let mut definitions = serde_json::Map::new();
        for level in 0..40 {
            definitions.insert(format!("d{level}"), doubling);
            let name = format!("#/$defs/d{level}");
            doubling = json!({"allOf": [{"$ref": name}, {"$ref": name}]});
        }
        doubling["$defs"] = definitions.into();
        for schema in [
            doubling,
            json!({"$ref": "#"}),
            json!({"properties": {"a": {"$ref": "#"}}}),
            json!({"$ref": "https://example.org/schema.json"}),
            json!({"$ref": "#/nowhere"}),
            json!({"$dynamicRef": "#x"}),
            json!({"type": "nonsense"}),
        ] {
            assert!(check(&schema, b"1").is_err(), "{schema}");
        }
        let many = serde_json::to_vec(&vec![1; 100_000]).unwrap();
        let wide = json!({"items": {"anyOf": vec![json!({"const": 1}); 5000]}});
        assert!(matches!(check(&wide, &many), Err(SchemaError::TooMuch { .. })));
    }

    #[test]
    fn patterns_are_few_and_small() {
        let all_of = |pattern: &str, count: usize| json!({"allOf": vec![json!({"pattern": pattern}); count]});
        assert_eq!(check(&all_of("^[a-z]{1,64}$", 100), br#""abc""#), Ok(()));
        let error = check(&all_of("^[a-z]{1,64}$", 101), br#""abc""#);
        assert!(matches!(error, Err(SchemaError::TooMuch { what: "the number of patterns of the schema", .. })));
        // Written once and referred to often, and in the names of properties.
        let mut referred = json!({"allOf": vec![json!({"$ref": "#/$defs/p"}); 101]});
        referred["$defs"] = json!({"p": {"pattern": "a"}});
        let names: serde_json::Map<String, Value> = (0..101).map(|at| (format!("a{at}"), json!(true))).collect();
        for schema in [referred, json!({"patternProperties": names})] {
            assert!(matches!(check(&schema, b"1"), Err(SchemaError::TooMuch { .. })), "{schema}");
        }
        // 10 MB when it is compiled.
        let start = std::time::Instant::now();
        let error = check(&all_of(r"\pL{200}x0", 100), br#""abc""#);
        assert!(matches!(error, Err(SchemaError::Unusable(_))), "{error:?}");
        assert!(start.elapsed() < std::time::Duration::from_secs(2), "{:?}", start.elapsed());
    }

    /// A property may have any name, and none of them hides what is below it.
    #[test]
    fn names_of_properties_are_no_keywords() {
        let patterns: Vec<Value> = (0..101).map(|at| json!({"pattern": format!("a{at}")})).collect();
        for name in ["$defs", "definitions", "$ref", "pattern", "unevaluatedProperties"] {
            let schema = json!({"properties": {name: {"allOf": patterns}}});
            let error = check(&schema, b"{}");
            assert!(
                matches!(error, Err(SchemaError::TooMuch { what: "the number of patterns of the schema", .. })),
                "{name}"
            );
            for inside in [json!({"$id": "x:y"}), json!({"$ref": "https://example.org"})] {
                assert!(
                    matches!(check(&json!({"properties": {name: inside}}), b"{}"), Err(SchemaError::Unusable(_))),
                    "{name}"
                );
            }
            let answer = serde_json::to_vec(&json!({name: "x"})).unwrap();
            assert_eq!(check(&json!({"properties": {name: {"const": "x"}}}), &answer), Ok(()), "{name}");
        }
        assert_eq!(check(&json!({"properties": {"$id": {"type": "string"}}}), br#"{"$id":"x"}"#), Ok(()));
        assert!(check(&json!({"properties": {"$ref": {"type": "string"}}}), br#"{"$ref":1}"#).is_err());
    }

    #[test]
    fn what_is_evaluated_again_and_again_weighs_more() {
        let mut nested = json!({"type": "object"});
        for level in 0..27 {
            nested = json!({"if": nested, "then": true, "unevaluatedProperties": {"type": "integer"}});
            let start = std::time::Instant::now();
            let refused = check(&nested, br#"{"a":1}"#).is_err();
            assert!(start.elapsed() < std::time::Duration::from_secs(5), "{level}: {:?}", start.elapsed());
            assert!(level > 2 || !refused, "{level}");
            assert!(level < 10 || refused, "{level}");
        }
        let closed = json!({"allOf": [{"properties": {"a": true}}], "unevaluatedProperties": false});
        assert_eq!(check(&closed, br#"{"a":1}"#), Ok(()));
        assert!(check(&closed, br#"{"b":1}"#).is_err());
    }

    #[test]
    fn patterns_count_by_the_length_of_what_they_are_held_against() {
        let patterns = |count: usize| json!({"allOf": vec![json!({"pattern": "^(a|b)*c?$"}); count]});
        let text = |bytes: usize| format!("\"{}\"", "ab".repeat(bytes / 2)).into_bytes();
        assert_eq!(check(&patterns(100), &text(10_000)), Ok(()));
        assert_eq!(check(&patterns(1), &text(1 << 20)), Ok(()));
        for (count, bytes) in [(100, 100_000), (1, 8 << 20)] {
            assert!(
                matches!(check(&patterns(count), &text(bytes)), Err(SchemaError::TooMuch { .. })),
                "{count} {bytes}"
            );
        }
    }

    #[test]
    fn answers_are_measured_before_they_are_read() {
        let schema = json!({});
        let long = format!("\"{}\"", "x".repeat(ANSWER_BYTES_MAX));
        let what = |answer: &[u8]| match check(&schema, answer) {
            Err(SchemaError::TooMuch { what, .. }) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(what(long.as_bytes()), "the length of an answer that is held to a schema");
        for item in [r#"{"a":1}"#, "[]", "1", r#"{"a":{"b":{"c":{}}}}"#, r#""""#] {
            let mut answer = format!("[{item}");
            while answer.len() + item.len() + 2 < ANSWER_BYTES_MAX {
                answer += ",";
                answer += item;
            }
            answer += "]";
            assert_eq!(what(answer.as_bytes()), "the memory for an answer that is held to a schema", "{item}");
        }
        assert_eq!(check(&schema, &serde_json::to_vec(&vec![json!({"a": 1}); 10_000]).unwrap()), Ok(()));
    }
}
