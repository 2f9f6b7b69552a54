//! One JSON document that somebody else wrote: what counts as one, and what is read of it. Whoever judges such a text and whoever reads it
//! ask here, or the same bytes would be kept by one and be nothing to the other. Knows nothing of who wrote it and what it is for.
//!
//! It is UTF-8 and JSON as RFC 8259 has it, with white space around it, and what a value here can hold: half a surrogate is no text, a number
//! beyond those of 64 bits is none, and there are at most 127 arrays and objects in each other. Of fields with one name the last counts, but in what
//! a caller asks for: who looked at it before may have read the first. No name
//! begins as those do by which `serde_json` tells itself that an object is something else: what reads such an object as a value makes
//! of it the document that stands in a text of it, behind every bound that was held against the text.

mod number;
mod size;
mod within;

pub use number::{digits, spell, spelled, written};
pub use size::DocumentSize;
pub use within::json_within;

use number::{Floats, by_digits, is_held};
use serde::de::{self, Deserialize, DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;

/// What the names of fields begin with that mean something to `serde_json`.
const RESERVED: &str = "$serde_json::private::";

/// Whether a field's name is one that `serde_json` acts on.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with(RESERVED)
}

/// The document that `bytes` are.
///
/// # Errors
/// They are not one.
pub fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read_by(bytes, Reader::<true> { floats: None, once: false })
}

fn read_by(bytes: &[u8], reader: Reader<'_, true>) -> Result<Value, serde_json::Error> {
    let mut reading = serde_json::Deserializer::from_slice(bytes);
    let value = reader.deserialize(&mut reading)?;
    reading.end().map(|()| value)
}

/// The same, of which nothing is looked at here and all of it is handed on: a number that would become another one by being read is kept by its
/// [`digits`], and [`written`] by them again.
///
/// # Errors
/// They are not one.
pub fn read_to_hand_on(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read_by(bytes, Reader { floats: Some(&RefCell::new(Floats(bytes))), once: false })
}

/// Why bytes that somebody sent are not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// They are no document.
    #[error("it is no JSON document: {0}")]
    Malformed(#[from] serde_json::Error),
    /// They are one that takes more memory than it may.
    #[error("it would take {takes} bytes of memory, {max} allowed")]
    TooLarge {
        /// How much it would take at most.
        takes: u64,
        /// How much it may.
        max: u64,
    },
}

/// The document that `bytes` are, if it takes at most so much memory: a byte can take more than a hundred, which is found out before.
///
/// # Errors
/// They are not one, or it takes more.
pub fn read_within(bytes: &[u8], memory_bytes_max: u64) -> Result<Value, Unread> {
    at_most(bytes, memory_bytes_max)?;
    Ok(read(bytes)?)
}

/// The same, [to be handed on](read_to_hand_on).
///
/// # Errors
/// They are not one, or it takes more.
pub fn read_to_hand_on_within(bytes: &[u8], memory_bytes_max: u64) -> Result<Value, Unread> {
    at_most(bytes, memory_bytes_max)?;
    Ok(read_to_hand_on(bytes)?)
}

fn at_most(bytes: &[u8], max: u64) -> Result<(), Unread> {
    match DocumentSize::of(bytes)?.memory_bytes {
        takes if takes > max => Err(Unread::TooLarge { takes, max }),
        _ => Ok(()),
    }
}

/// The most memory that a message or a body may take once it is read, for each byte that one may have: one of many small values would
/// take some hundred times as much.
const MESSAGE_MEMORY_FACTOR: u64 = 4;

/// The document that a message of a caller is, of at most so many bytes.
///
/// # Errors
/// It is none, has a field twice, or takes more memory than a message may.
pub fn read_message(bytes: &[u8], bytes_max: usize) -> Result<Value, Unread> {
    at_most(bytes, bytes_max as u64 * MESSAGE_MEMORY_FACTOR)?;
    Ok(read_once(bytes)?)
}

fn read_once(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    read_by(bytes, Reader { floats: None, once: true })
}

/// What a caller asks for, if it is of that form.
///
/// # Errors
/// It is no document, one of another form, or has a field twice.
pub fn read_as<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_value(read_once(bytes)?)
}

/// Whether `bytes` are one document: those that [`read`] reads, and no others. Nothing is kept of it.
///
/// # Errors
/// They are not one.
pub fn check(bytes: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice(bytes).map(|Sound| ())
}

/// The document that `text` is, if nothing is lost by reading it: each name stands once in its object, and each number is written again as it
/// stands there. Another reader may take another field, or have more digits.
pub fn read_exact(text: &str) -> Option<Value> {
    let value = read(text.as_bytes()).ok()?;
    (written_fields(text)? == fields(&value)).then_some(value)
}

/// How many fields a document has, as it is written; `None` if one of its numbers would be written in another way. The text is a document.
fn written_fields(text: &str) -> Option<usize> {
    let (mut rest, mut fields) = (text, 0);
    while let Some(first) = rest.bytes().next() {
        let length = match first {
            b'"' => literal_bytes(rest.as_bytes()),
            b'-' | b'0'..=b'9' => {
                let number = rest.split([',', ']', '}', ' ', '\t', '\n', '\r']).next().unwrap_or_default();
                let read: Number = serde_json::from_str(number).ok()?;
                if read.to_string() != number {
                    return None;
                }
                number.len()
            }
            _ => 1,
        };
        fields += usize::from(first == b':');
        rest = rest.get(length..)?;
    }
    Some(fields)
}

/// How many bytes the text literal has that `text` begins with, with its quotation marks.
fn literal_bytes(text: &[u8]) -> usize {
    let mut is_escaped = false;
    let end = text.iter().skip(1).position(|&byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

fn fields(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(fields).sum(),
        Value::Object(all) => all.len() + all.values().map(fields).sum::<usize>(),
        _ => 0,
    }
}

/// A document of a caller, where it stands among others.
#[derive(Clone, PartialEq, Debug)]
pub struct Document(pub Value);

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        Reader::<true> { floats: None, once: true }.deserialize(deserializer).map(Document)
    }
}

/// A document of which nothing is kept, where it stands among others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Sound, D::Error> {
        Reader::<false> { floats: None, once: false }.deserialize(deserializer).map(|_| Sound)
    }
}

/// The length of a field's name in bytes, for who measures a document instead of reading it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NameBytes(pub usize);

impl<'de> Deserialize<'de> for NameBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NameBytes, D::Error> {
        deserializer.deserialize_str(Name(str::len)).map(NameBytes)
    }
}

/// Reads a value, or goes through it and gives null.
#[derive(Clone, Copy)]
struct Reader<'r, const KEEPS: bool> {
    /// If it is to be handed on, the numbers that are still to come.
    floats: Option<&'r RefCell<Floats<'r>>>,
    /// Whether each name stands once in its object, or it is none.
    once: bool,
}

impl<const KEEPS: bool> Reader<'_, KEEPS> {
    fn kept(value: impl FnOnce() -> Value) -> Value {
        if KEEPS { value() } else { Value::Null }
    }
}

impl<'de, const KEEPS: bool> DeserializeSeed<'de> for Reader<'_, KEEPS> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const KEEPS: bool> Visitor<'de> for Reader<'_, KEEPS> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Value, E> {
        let as_written = self.floats.and_then(|floats| floats.borrow_mut().next()).filter(|written| !is_held(written));
        let value = as_written.map(by_digits).or_else(|| Number::from_f64(number).map(Value::Number));
        value.ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Self::kept(|| text.into()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Self::kept(|| text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            if KEEPS {
                kept.push(item);
            }
        }
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(name) = fields.next_key_seed(Name(|name: &str| KEEPS.then(|| name.to_owned())))? {
            let value = fields.next_value_seed(self)?;
            if name.is_some_and(|name| kept.insert(name, value).is_some()) && self.once {
                return Err(de::Error::custom("a field is there twice"));
            }
        }
        Ok(Value::Object(kept))
    }
}

/// Reads a field's name, and gives what is wanted of it.
struct Name<T>(fn(&str) -> T);

impl<'de, T> DeserializeSeed<'de> for Name<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T> Visitor<'_> for Name<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<T, E> {
        match is_reserved(name) {
            true => Err(E::custom(format!("a field's name begins with {RESERVED}"))),
            false => Ok((self.0)(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::number::FIELD;
    use super::*;
    use crate::outcome::{Contract, Ending, Outcome, Verdict};
    use serde_json::json;

    const TWICE: &str = r#"{"a":1,"\u0061":2}"#;

    fn nested(depth: usize) -> String {
        format!("{}{}", "[".repeat(depth), "]".repeat(depth))
    }

    /// What is a document, and which; `None` for what is none.
    fn cases() -> Vec<(String, Option<Value>)> {
        let reserved = |name: &str, text: &str| format!(r#"{{"$serde_json::private::{name}":{text}}}"#);
        let mut cases: Vec<(String, Option<Value>)> = [
            (r#"{"a":[1,-2,0.5,null,true,"x\u00e9"],"b":{}}"#, json!({"a": [1, -2, 0.5, null, true, "xé"], "b": {}})),
            (" null\n", Value::Null),
            ("\"\\ud83d\\ude00\"", json!("😀")),
            (TWICE, json!({"a": 2})),
            (r#"{"a":1,"b":[{"b":1},{"b":2}]}"#, json!({"a": 1, "b": [{"b": 1}, {"b": 2}]})),
            ("18446744073709551615", json!(u64::MAX)),
            ("-9223372036854775808", json!(i64::MIN)),
            ("1e308", json!(1e308)),
            (r#"{"$serde_json":"private"}"#, json!({"$serde_json": "private"})),
            (r#"["$serde_json::private::RawValue"]"#, json!(["$serde_json::private::RawValue"])),
        ]
        .into_iter()
        .map(|(text, value)| (text.to_owned(), Some(value)))
        .collect();
        let deepest = (1..127).fold(json!([]), |inner, _| json!([inner]));
        cases.push((nested(127), Some(deepest)));
        let none = [
            "",
            " ",
            "{",
            "{} {}",
            "{}x",
            "nul",
            "NaN",
            "+1",
            "01",
            "'a'",
            "\u{feff}{}",
            r#""\ud800""#,
            r#"{"a":"\ud800"}"#,
            r#"{"\udc00":1}"#,
            r#""\ud800\ud800""#,
            "1e999",
            "[-1e999]",
            r#"{"a":[{"b":1e400}]}"#,
        ];
        cases.extend(none.map(|text| (text.to_owned(), None)));
        cases.extend([128, 129, 200, 5_000, 1_000_000].map(|depth| (nested(depth), None)));
        for name in ["RawValue", "Number", "Anything"] {
            for text in [r#""[1,2]""#, r#""1""#, "1", "{}"] {
                let object = reserved(name, text);
                cases.push((format!(r#"{{"a":1,"b":[{object}]}}"#), None));
                cases.push((object, None));
            }
        }
        // Written with an escape it is the same name.
        cases.push((r#"{"\u0024serde_json::private::RawValue":"[1]"}"#.to_owned(), None));
        cases.push((r#"{"a":1,"$serde_json::private::RawValue":"[1]"}"#.to_owned(), None));
        cases
    }

    #[test]
    fn a_document_is_one_to_all_who_ask() {
        for (text, expect) in cases() {
            let shown: String = text.chars().take(60).collect();
            let bytes = text.as_bytes();
            assert_eq!(read(bytes).ok(), expect, "{shown}");
            assert_eq!(check(bytes).is_ok(), expect.is_some(), "{shown}");
            // Callers say everything once.
            let asked = expect.clone().filter(|_| !shown.starts_with(TWICE));
            assert_eq!(read_as::<Value>(bytes).ok(), asked, "{shown}");
            assert_eq!(read_message(bytes, 2_000_000).ok(), asked, "{shown}");
            if let (Err(of_read), Err(of_check)) = (read(bytes), check(bytes)) {
                assert_eq!(of_read.to_string(), of_check.to_string(), "{shown}");
            }
            for contract in [Contract::Json, Contract::Schema] {
                let outcome = Outcome { stdout: bytes.to_vec(), ..Outcome::new(Ending::Exited { status: 0 }, "") };
                assert_eq!(outcome.verdict(contract) == Verdict::Good, expect.is_some(), "{shown}");
            }
            // Among others, as those of a batch stand.
            let among = format!("{text}\n7");
            let mut stream = serde_json::Deserializer::from_str(&among).into_iter::<Document>();
            if let Some(asked) = asked {
                assert_eq!(stream.next().and_then(Result::ok), Some(Document(asked)), "{shown}");
                assert_eq!(stream.next().and_then(Result::ok), Some(Document(json!(7))), "{shown}");
            }
        }
        assert!(check(b"\"\xff\"").is_err() && read(b"\"\xff\"").is_err());
    }

    /// What is handed on, as it was written and as it goes out.
    #[test]
    fn a_number_is_handed_on_with_all_its_digits() {
        let same = [
            "12345678901234567890123",
            "-12345678901234567890123",
            "18446744073709551616",
            "-9223372036854775809",
            "1.000000000000000000001",
            "0.1000000000000000055511151231257827",
            "1e-400",
            "-1.5e-9999999999999999999999",
            r#"{"a":[1,-2,0.5,{"b":12345678901234567890123}],"c":1.000000000000000000001,"d":true,"e":"1.000000000000000000001"}"#,
            r#"[12345678901234567890123,"{\"$serde_json::private::Number\":\"7\"}","$serde_json::private::Number",0.25]"#,
            r#"["a\"",98765432109876543210987,"\\",-0.1000000000000000055511151231257827,18446744073709551615]"#,
        ];
        for text in same {
            let value = read_to_hand_on(text.as_bytes()).unwrap();
            assert_eq!(written(&value.to_string()), text);
            let pretty = written(&serde_json::to_string_pretty(&value).unwrap()).into_owned();
            assert_eq!(read_to_hand_on(pretty.as_bytes()).unwrap(), value, "{pretty}");
            assert!(!pretty.contains("{\n  \"$serde"), "{pretty}");
            // Written as texts it is a document for who only shows it.
            let mut shown = value.clone();
            spell(&mut shown);
            assert_eq!(read(&spelled(text.as_bytes())).unwrap(), shown, "{text}");
        }
        // Written in another way it is the same number, and needs nothing.
        for (text, other) in [("1.10", "1.1"), ("[1E5,-0.0,1e+2]", "[100000.0,-0.0,100.0]"), ("2.50e-1", "0.25")] {
            let value = read_to_hand_on(text.as_bytes()).unwrap();
            assert_eq!((value.to_string().as_str(), &read(text.as_bytes()).unwrap()), (other, &value));
            assert!(matches!(spelled(text.as_bytes()), std::borrow::Cow::Borrowed(_)));
        }
        // The last of double names counts, and what is none is none.
        let value = read_to_hand_on(br#"{"a":12345678901234567890123,"a":98765432109876543210987}"#).unwrap();
        assert_eq!(written(&value.to_string()), r#"{"a":98765432109876543210987}"#);
        for (text, expect) in cases() {
            assert_eq!(read_to_hand_on(text.as_bytes()).ok(), expect, "{text:.60}");
        }
        // Who took the digits out for what they say has put a text there.
        let cleaned = json!({"a": {FIELD: "[redacted]"}, "b": [{FIELD: "1", "c": 2}]}).to_string();
        assert_eq!(written(&cleaned), r#"{"a":"[redacted]","b":[{"$serde_json::private::Number":"1","c":2}]}"#);
    }

    #[test]
    fn a_name_is_measured_as_it_is_read() {
        let measured = |name: &str| serde_json::from_str::<NameBytes>(name).ok();
        assert_eq!(measured(r#""n\u00e4me""#), Some(NameBytes(5)));
        assert_eq!(measured(r#""$serde_json::private::Number""#), None);
    }

    #[test]
    fn nothing_is_lost_by_reading_exactly() {
        for text in [
            "{}",
            " [ ] ",
            "5",
            "\"1e999 : \\\" :\"",
            r#"{"to":"alice","eur":5,"n":0.1,"b":[{"to":":"},{"to":-2.5}]}"#,
            "{\"a\" : 1 ,\n\t\"b\" : [ 2 ,3.0 ] }",
            "[18446744073709551615,-9223372036854775808]",
        ] {
            assert_eq!(read_exact(text), read(text.as_bytes()).ok(), "{text}");
            assert!(read_exact(text).is_some(), "{text}");
        }
        for text in [
            r#"{"to":"mallory","eur":6,"to":"alice"}"#,
            r#"{"a":{"to":1,"to":1}}"#,
            r#"[{"a":[{"b":1}],"a":0}]"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"n":100000000000000000000001}"#,
            "[18446744073709551616]",
            "0.1000000000000000055",
            "-0",
            "1E5",
            "1.10",
            r#"{"$serde_json::private::RawValue":"{\"to\":\"alice\"}"}"#,
            "{",
            "",
        ] {
            assert_eq!(read_exact(text), None, "{text}");
        }
    }
}
