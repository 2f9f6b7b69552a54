//! A guest's answer held against the JSON Schema that its package declares. Both come from an untrusted author, so the work is
//! bounded before it begins: schemas that refer to themselves are refused, the schema's parts, written out, times the answer's
//! values have a bound, patterns run on an engine without backtracking, and nothing is fetched. What can't be judged is refused.

use jsonschema::PatternOptions;
use serde_json::Value;

/// The most parts of a schema with every reference written out.
const PARTS_MAX: u64 = 20_000;
/// The most pairs of a part and a value.
const STEPS_MAX: u64 = 200_000_000;
/// The most nested references.
const DEPTH_MAX: usize = 64;

/// Whether `answer` is a document of `schema`.
///
/// # Errors
/// Where it is not, or why it can't be judged.
pub(crate) fn check(schema: &Value, answer: &[u8]) -> Result<(), String> {
    let answer: Value = serde_json::from_slice(answer).map_err(|error| format!("it is not JSON: {error}"))?;
    let parts = parts(schema, schema, 0)?;
    if parts > PARTS_MAX || parts.saturating_mul(values(&answer)) > STEPS_MAX {
        return Err("schema and answer are too large together to be compared".to_owned());
    }
    let validator = jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .with_pattern_options(PatternOptions::regex())
        .build(schema)
        .map_err(|error| format!("the schema itself can't be used: {}", short(&error.to_string())))?;
    match validator.iter_errors(&answer).next() {
        None => Ok(()),
        Some(error) => Err(format!("at {:?}: {}", error.instance_path().to_string(), short(&error.to_string()))),
    }
}

/// The parts of `schema`, with each reference counted as what it leads to.
fn parts(schema: &Value, root: &Value, depth: usize) -> Result<u64, String> {
    if depth > DEPTH_MAX {
        return Err("the schema refers to itself, or nests too deeply".to_owned());
    }
    let mut sum = 1_u64;
    let inner: Box<dyn Iterator<Item = &Value>> = match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("$ref", Value::String(reference)) => {
                        let pointer = reference.strip_prefix('#').ok_or("the schema refers to another document")?;
                        let target = root.pointer(pointer).ok_or("the schema refers to nothing")?;
                        sum = sum.saturating_add(parts(target, root, depth + 1)?);
                    }
                    ("$dynamicRef" | "$recursiveRef" | "$id" | "$schema", Value::String(_)) if name != "$schema" => {
                        return Err(format!("the schema uses {name}"));
                    }
                    _ => {}
                }
                if sum > PARTS_MAX {
                    return Ok(sum);
                }
            }
            // What stands there is counted where it is referred to.
            Box::new(
                fields.iter().filter(|(name, _)| *name != "$defs" && *name != "definitions").map(|(_, value)| value),
            )
        }
        Value::Array(items) => Box::new(items.iter()),
        _ => return Ok(1),
    };
    for value in inner {
        sum = sum.saturating_add(parts(value, root, depth + 1)?);
        if sum > PARTS_MAX {
            break;
        }
    }
    Ok(sum)
}

fn values(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(values).sum::<u64>().saturating_add(1),
        Value::Object(fields) => fields.values().map(values).sum::<u64>().saturating_add(1),
        _ => 1,
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
            let reason = check(&schema, answer).unwrap_err();
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
        assert!(check(&wide, &many).unwrap_err().contains("too large"));
    }
}
