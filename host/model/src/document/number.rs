//! Numbers of which a value here would be another one: those with more digits than 64 bits hold. Where a document is only handed on they stand
//! in it by their digits, as an object whose one field no document that somebody else wrote can have; where it goes out they are numbers again.

use crate::hidden;
use serde_json::{Map, Number, Value};
use std::borrow::Cow;

/// The name of that field: it begins as those do that no document has.
pub(super) const FIELD: &str = "$serde_json::private::Number";

/// The digits of a number that is kept by them.
pub fn digits(value: &Value) -> Option<&str> {
    match value {
        Value::Object(fields) if fields.len() == 1 => fields.get(FIELD)?.as_str(),
        _ => None,
    }
}

/// A number by its digits.
pub(super) fn by_digits(digits: &str) -> Value {
    Value::Object(Map::from_iter([(FIELD.to_owned(), digits.into())]))
}

/// Makes texts of the numbers that are kept by their digits, for who only shows them.
pub fn spell(value: &mut Value) {
    if let Some(digits) = digits(value) {
        *value = digits.into();
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(spell),
        Value::Object(fields) => fields.values_mut().for_each(spell),
        _ => {}
    }
}

/// The same of a document that was not read yet.
pub fn spelled(document: &[u8]) -> Cow<'_, [u8]> {
    let (mut out, mut from, mut left) = (Vec::new(), 0, Floats(document));
    while let Some(digits) = left.next() {
        if !is_held(digits) {
            let end = document.len() - left.0.len();
            let before = document.get(from..end - digits.len()).unwrap_or_default();
            out.extend([before, b"\"", digits.as_bytes(), b"\""].concat());
            from = end;
        }
    }
    match from {
        0 => Cow::Borrowed(document),
        _ => Cow::Owned([&out, document.get(from..).unwrap_or_default()].concat()),
    }
}

/// JSON as it goes out: numbers that are kept by their digits are written by them, and what is hidden in texts is escaped.
pub fn written(json: &str) -> Cow<'_, str> {
    let (mut out, mut from) = (String::new(), 0);
    for (at, _) in json.match_indices(FIELD) {
        let (before, behind) = json.split_at(at);
        let Some((begin, text, rest)) = object(before, behind) else { continue };
        out.push_str(json.get(from..begin).unwrap_or_default());
        match serde_json::from_str::<Number>(&text) {
            Ok(_) => out.push_str(&text),
            // Who cleaned the texts of a document has taken the digits out.
            Err(_) => out.push_str(&Value::from(text).to_string()),
        }
        from = json.len() - rest.len();
    }
    match from {
        0 => hidden::escaped(json),
        _ => Cow::Owned(hidden::escaped(&(out + json.get(from..).unwrap_or_default())).into_owned()),
    }
}

/// Where such an object begins, the text in it, and what stands behind it, if the field's name stands in one. A quotation mark in a text is
/// escaped, so no text looks like one.
fn object<'j>(before: &str, behind: &'j str) -> Option<(usize, String, &'j str)> {
    let begin = before.strip_suffix('"')?.trim_end().strip_suffix('{')?.len();
    let value = behind.strip_prefix(FIELD)?.strip_prefix('"')?.trim_start().strip_prefix(':')?;
    let mut texts = serde_json::Deserializer::from_str(value).into_iter::<String>();
    let text = texts.next()?.ok()?;
    Some((begin, text, value.get(texts.byte_offset()..)?.trim_start().strip_prefix('}')?))
}

/// The numbers of a document that are none of 64 bits without a fraction, as they are written, in their order.
pub(super) struct Floats<'t>(pub(super) &'t [u8]);

impl<'t> Iterator for Floats<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        loop {
            let begin = self.0.iter().position(|byte| matches!(byte, b'"' | b'-' | b'0'..=b'9'))?;
            let rest = self.0.get(begin..)?;
            if rest.first() == Some(&b'"') {
                self.0 = rest.get(super::literal_bytes(rest)..)?;
                continue;
            }
            let is_digit = |byte: &u8| matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E' | b'0'..=b'9');
            let (number, behind) = rest.split_at(rest.iter().position(|byte| !is_digit(byte)).unwrap_or(rest.len()));
            self.0 = behind;
            let number = str::from_utf8(number).ok()?;
            // Zero has no sign there.
            let is_whole = number.parse::<u64>().is_ok() || (number != "-0" && number.parse::<i64>().is_ok());
            if !is_whole {
                return Some(number);
            }
        }
    }
}

/// Whether a number is the same one when it was read and is written again.
pub(super) fn is_held(number: &str) -> bool {
    let again = serde_json::from_str::<Number>(number).map(|read| read.to_string());
    again.is_ok_and(|again| again == number || decimal(number).is_some_and(|own| decimal(&again) == Some(own)))
}

/// The digits of a number without zeros at either end, and the power of ten that they stand at.
fn decimal(number: &str) -> Option<(String, i64)> {
    let (mantissa, power) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.trim_start_matches('-').to_owned() + fraction;
    let digits = digits.trim_start_matches('0');
    let kept = digits.trim_end_matches('0');
    let power = power.parse::<i64>().ok()?.checked_sub(fraction.len() as i64)?;
    Some((kept.to_owned(), if kept.is_empty() { 0 } else { power.checked_add((digits.len() - kept.len()) as i64)? }))
}
