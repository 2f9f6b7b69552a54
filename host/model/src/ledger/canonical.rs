//! JSON with one form for each value, so that equal values have equal bytes. Knows nothing of ledgers.
//!
//! No white space; an object's keys sorted by the bytes of their UTF-8; numbers are integers from -2^63 to 2^64-1 in
//! decimal, no others; strings as UTF-8, with `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, and `\u00xx` in lower case for the
//! other control characters below U+0020, and nothing else escaped.

use serde_json::Value;

/// The value has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a ledger entry {0}")]
pub struct NotCanonical(pub(super) String);

/// The canonical bytes of `value`.
///
/// # Errors
/// It holds a number that is no 64-bit integer.
pub fn canonical(value: &Value) -> Result<Vec<u8>, NotCanonical> {
    let mut bytes = Vec::new();
    write(value, &mut bytes)?;
    Ok(bytes)
}

fn write(value: &Value, bytes: &mut Vec<u8>) -> Result<(), NotCanonical> {
    match value {
        Value::Null => bytes.extend_from_slice(b"null"),
        Value::Bool(true) => bytes.extend_from_slice(b"true"),
        Value::Bool(false) => bytes.extend_from_slice(b"false"),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            bytes.extend_from_slice(number.to_string().as_bytes());
        }
        Value::Number(number) => return Err(NotCanonical(format!("holds {number}, which is no 64-bit integer"))),
        Value::String(text) => write_text(text, bytes),
        Value::Array(items) => {
            bytes.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    bytes.push(b',');
                }
                write(item, bytes)?;
            }
            bytes.push(b']');
        }
        Value::Object(fields) => {
            // The map's own order depends on a feature that any crate of the build can switch on.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_bytes());
            bytes.push(b'{');
            for (at, (key, field)) in fields.into_iter().enumerate() {
                if at > 0 {
                    bytes.push(b',');
                }
                write_text(key, bytes);
                bytes.push(b':');
                write(field, bytes)?;
            }
            bytes.push(b'}');
        }
    }
    Ok(())
}

fn write_text(text: &str, bytes: &mut Vec<u8>) {
    bytes.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => bytes.extend([b'\\', byte]),
            0x08 => bytes.extend_from_slice(b"\\b"),
            0x0c => bytes.extend_from_slice(b"\\f"),
            b'\n' => bytes.extend_from_slice(b"\\n"),
            b'\r' => bytes.extend_from_slice(b"\\r"),
            b'\t' => bytes.extend_from_slice(b"\\t"),
            0..0x20 => bytes.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => bytes.push(byte),
        }
    }
    bytes.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_value_has_one_form() {
        let value: Value = serde_json::from_str(
            " { \"b\" : [ 1 , -9223372036854775808, 18446744073709551615, true , null ], \"a\\u0041\" : \"\\u0008\\u000c\\n\\r\\t\\u0001\\u007f\\/é\\\"\\\\\", \"é\":{}, \"\":false } ",
        )
        .unwrap();
        let expect = "{\"\":false,\"aA\":\"\\b\\f\\n\\r\\t\\u0001\u{7f}/é\\\"\\\\\",\"b\":[1,-9223372036854775808,18446744073709551615,true,null],\"é\":{}}";
        assert_eq!(String::from_utf8(canonical(&value).unwrap()).unwrap(), expect);
    }

    #[test]
    fn floats_have_no_form() {
        for text in ["1.0", "[1e3]", "{\"a\":18446744073709551616}"] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(canonical(&value).is_err(), "{text} was taken");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_and_is_written_the_same(value in value()) {
            let bytes = canonical(&value).unwrap();
            let back: Value = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&back, &value);
            prop_assert_eq!(canonical(&back).unwrap(), bytes);
        }
    }
}
