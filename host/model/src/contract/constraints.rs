//! What a value must keep beyond its type: bounds, lengths and a pattern, in the words of JSON Schema. Judges text as it is written in a
//! call, and knows nothing of where it came from.

use super::ValueType;
use super::check::is_of_type;
use crate::diagnostic::shown;
use crate::instant::moment;
use regex::{Regex, RegexBuilder};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::cmp::Ordering;

/// The most bytes of a pattern.
const PATTERN_LENGTH_MAX: usize = 1000;
/// The most memory that a pattern may take once it is compiled.
const PATTERN_BYTES_MAX: usize = 1 << 20;
/// The most patterns of one description: each is compiled when it is read.
pub(super) const PATTERNS_MAX: usize = 100;

/// Constraints of one parameter. At least one of them is there.
#[derive(Clone, PartialEq, Eq, Default, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Constraints {
    /// The least value allowed, written as an argument.
    pub minimum: Option<String>,
    /// The greatest value allowed, written as an argument.
    pub maximum: Option<String>,
    /// The fewest characters allowed.
    pub min_length: Option<u32>,
    /// The most characters allowed.
    pub max_length: Option<u32>,
    /// A regular expression that a part of the value must match; `^` and `$` mean the whole.
    pub pattern: Option<String>,
}

/// Which constraint a value breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Broken {
    Range,
    Length,
    Pattern,
}

/// A pattern that was compiled once, however many values are held to it.
#[derive(Default, Debug)]
pub(super) struct Compiled(Option<Option<Regex>>);

impl Compiled {
    /// Whether a value matches. A pattern that does not compile was refused when the description was read.
    fn matches(&mut self, pattern: &str, value: &str) -> bool {
        let compiled = self.0.get_or_insert_with(|| compile(pattern).ok());
        compiled.as_ref().is_none_or(|compiled| compiled.is_match(value))
    }
}

impl Constraints {
    /// The first constraint that a value of the right type breaks, and how it is said.
    pub(super) fn broken(
        &self,
        value: &str,
        value_type: ValueType,
        compiled: &mut Compiled,
    ) -> Option<(Broken, String)> {
        let outside = |bound: &Option<String>, wrong: Ordering| {
            bound.as_deref().is_some_and(|bound| order(value, bound, value_type) == Some(wrong))
        };
        if outside(&self.minimum, Ordering::Less) || outside(&self.maximum, Ordering::Greater) {
            let said = match (self.minimum.as_deref(), self.maximum.as_deref()) {
                (Some(least), Some(most)) => format!("from {least} to {most}"),
                (Some(least), None) => format!("at least {least}"),
                (None, most) => format!("at most {}", most.unwrap_or_default()),
            };
            return Some((Broken::Range, format!("expected {said}, found {}", shown(value))));
        }
        let length = value.chars().count();
        let fits = |bound: u32| usize::try_from(bound).unwrap_or(usize::MAX);
        let short = self.min_length.filter(|least| length < fits(*least));
        let long = self.max_length.filter(|most| length > fits(*most));
        if let Some(said) =
            short.map(|least| format!("at least {least}")).or_else(|| long.map(|most| format!("at most {most}")))
        {
            return Some((Broken::Length, format!("expected {said} characters, found {length}")));
        }
        let pattern = self.pattern.as_deref()?;
        let matches = compiled.matches(pattern, value);
        (!matches)
            .then(|| (Broken::Pattern, format!("expected what matches {}, found {}", shown(pattern), shown(value))))
    }

    /// What is wrong with the constraints themselves, with the field that is wrong.
    pub(super) fn flaws(&self, value_type: ValueType) -> Vec<(&'static str, String)> {
        let mut flaws = Vec::new();
        if *self == Constraints::default() {
            flaws.push(("", "expected at least one constraint, or null".to_owned()));
        }
        let bounds = [("minimum", &self.minimum), ("maximum", &self.maximum)];
        for (name, bound) in bounds.iter().filter_map(|(name, bound)| Some((*name, bound.as_deref()?))) {
            if !is_ordered(value_type) {
                flaws.push((name, "only numbers, dates and instants have bounds".to_owned()));
            } else if !is_of_type(bound, value_type) {
                flaws.push((name, format!("{} is not of the parameter's type", shown(bound))));
            }
        }
        if let (Some(least), Some(most)) = (&self.minimum, &self.maximum)
            && order(least, most, value_type) == Some(Ordering::Greater)
        {
            flaws.push(("maximum", format!("{} is less than the minimum", shown(most))));
        }
        let is_text = matches!(value_type, ValueType::String | ValueType::Path);
        let lengths = [("minLength", self.min_length.is_some()), ("maxLength", self.max_length.is_some())];
        for (name, _) in
            lengths.into_iter().chain([("pattern", self.pattern.is_some())]).filter(|one| one.1 && !is_text)
        {
            flaws.push((name, "only strings and paths have a length and a pattern".to_owned()));
        }
        if self.min_length.zip(self.max_length).is_some_and(|(least, most)| least > most) {
            flaws.push(("maxLength", "it is less than minLength".to_owned()));
        }
        match self.pattern.as_deref() {
            Some(pattern) if pattern.len() > PATTERN_LENGTH_MAX => {
                flaws.push(("pattern", format!("{} bytes, {PATTERN_LENGTH_MAX} allowed", pattern.len())));
            }
            Some(pattern) => {
                if let Err(error) = compile(pattern) {
                    // The library draws an arrow under the place, over several lines; the last of them says what is wrong.
                    let said = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
                    flaws.push(("pattern", format!("{}: {said}", shown(pattern))));
                }
            }
            None => {}
        }
        flaws
    }

    /// The same in JSON Schema, as far as it has words for it.
    pub(super) fn schema(&self, value_type: ValueType, fields: &mut Map<String, Value>) {
        let is_number = matches!(value_type, ValueType::Integer | ValueType::Number);
        for (name, bound) in [("minimum", &self.minimum), ("maximum", &self.maximum)] {
            if let Some(bound) = bound.as_deref().filter(|_| is_number) {
                fields.insert(name.to_owned(), super::tool::typed(bound, value_type));
            }
        }
        for (name, length) in [("minLength", self.min_length), ("maxLength", self.max_length)] {
            fields.extend(length.map(|length| (name.to_owned(), length.into())));
        }
        fields.extend(self.pattern.as_ref().map(|pattern| ("pattern".to_owned(), pattern.as_str().into())));
    }
}

/// For people and documents only what is said is there; the compact form has a place for each.
impl Serialize for Constraints {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            let Constraints { minimum, maximum, min_length, max_length, pattern } = self;
            return (minimum, maximum, min_length, max_length, pattern).serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        let texts = [("minimum", &self.minimum), ("maximum", &self.maximum), ("pattern", &self.pattern)];
        for (name, text) in texts.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?))) {
            map.serialize_entry(name, text)?;
        }
        let lengths = [("minLength", self.min_length), ("maxLength", self.max_length)];
        for (name, length) in lengths.into_iter().filter_map(|(name, length)| Some((name, length?))) {
            map.serialize_entry(name, &length)?;
        }
        map.end()
    }
}

/// A pattern means what it means in JSON Schema: it is of ECMA-262. What needs a search back and forth is not understood.
fn compile(pattern: &str) -> Result<Regex, String> {
    let known = jsonschema_regex::is_valid_ecma_regex(pattern).then(|| jsonschema_regex::to_rust_regex(pattern).ok());
    let pattern =
        known.flatten().ok_or("it is no regular expression of ECMA-262 without look-around and back-references")?;
    let built = RegexBuilder::new(&pattern).size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX).build();
    built.map_err(|error| error.to_string())
}

fn is_ordered(value_type: ValueType) -> bool {
    !matches!(value_type, ValueType::String | ValueType::Boolean | ValueType::Path)
}

/// How two values of a type stand to each other.
fn order(a: &str, b: &str, value_type: ValueType) -> Option<Ordering> {
    match value_type {
        ValueType::Integer => Some(a.parse::<i64>().ok()?.cmp(&b.parse().ok()?)),
        ValueType::Number => a.parse::<f64>().ok()?.partial_cmp(&b.parse().ok()?),
        ValueType::Date | ValueType::Instant | ValueType::DateOrInstant => Some(moment(a)?.cmp(&moment(b)?)),
        ValueType::String | ValueType::Boolean | ValueType::Path => None,
    }
}

#[cfg(test)]
#[path = "constraints_tests.rs"]
mod tests;
