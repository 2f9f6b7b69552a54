//! A guest's answer held against the JSON Schema that its package declares. Both come from an untrusted author, so all work is
//! bounded: an answer has a length, and what it will take in memory is found out before it is read; schemas that refer to
//! themselves are refused, and the rest have so many parts, written out, in which those that are evaluated again
//! for what was left unevaluated weigh more; patterns are few, small when they are compiled and run on an engine without backtracking;
//! each look at the answer costs steps, of which there are so many ([`counted`]); and nothing is fetched. What can't be judged is refused.

mod counted;

use counted::{Costs, Counted, Counting};
use hutch_model::diagnostic::short;
use hutch_model::document::{self, Unread};
use jsonschema::{PatternOptions, Retrieve, ValidationOptions};
use serde_json::{Value, json};
use std::sync::Arc;

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
/// The most steps of judging: half a second.
const STEPS_MAX: u64 = 50_000_000;
/// The most steps of finding out where an answer differs: of each choice that is not met the library collects all errors.
const EXPLAINING_STEPS_MAX: u64 = 1_000_000;
/// What is evaluated again for what it left unevaluated weighs so many times as much, and so for each level of that: a level multiplies
/// by 2.6 to 3.7, as the library compiles it.
const UNEVALUATED_WEIGHT: u64 = 8;
/// The most that all parts weigh.
const WEIGHT_MAX: u64 = 1_000_000;
/// The most nested references.
const DEPTH_MAX: usize = 64;

/// Why an answer is not taken for a document of its schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SchemaError {
    /// It is no document at all.
    #[error("{0}")]
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
    /// Judging it took more steps than it may.
    #[error("judging it takes more than {0} steps")]
    TooLong(u64),
    /// There is too much of something.
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
    at_most("the length of an answer that is held to a schema", answer.len() as u64, ANSWER_BYTES_MAX as u64)?;
    let answer = document::read_within(answer, ANSWER_MEMORY_MAX).map_err(|unread| match unread {
        Unread::TooLarge { takes: count, max } => {
            SchemaError::TooMuch { what: "the memory for an answer that is held to a schema", count, max }
        }
        other => SchemaError::NotJson(other.to_string()),
    })?;
    judge(schema, &answer).map(|_| ())
}

/// How the library reads a schema.
fn options<'a>() -> ValidationOptions<'a, Arc<dyn Retrieve>, Counting> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES_MAX).dfa_size_limit(PATTERN_BYTES_MAX);
    jsonschema::options_for::<Counting>().with_draft(jsonschema::Draft::Draft202012).with_pattern_options(patterns)
}

/// Whether a value is a document of `schema`, and how many steps it took to say so.
fn judge(schema: &Value, answer: &Value) -> Result<u64, SchemaError> {
    let mut parts = Parts::default();
    parts.count(schema, schema, Place { depth: 0, weight: 1, is_names: false, adds_up: true })?;
    let validator = options()
        .build(schema)
        .map_err(|error| SchemaError::Unusable(format!("itself can't be used: {}", short(&error.to_string()))))?;
    let judged = counted::within(STEPS_MAX, parts.costs, || validator.is_valid(Counted(answer)));
    let (is_valid, steps) = judged.ok_or(SchemaError::TooLong(STEPS_MAX))?;
    if is_valid {
        return Ok(steps);
    }
    let differs = |at: String, what: String| SchemaError::Differs { at, what };
    let explained = counted::within(EXPLAINING_STEPS_MAX, parts.costs, || {
        validator
            .validate(Counted(answer))
            .err()
            .map(|error| (error.instance_path().to_string(), short(&error.to_string())))
    });
    let unexplained = || differs(String::new(), "it differs, and where would take too long to find out".to_owned());
    Err(explained.and_then(|(found, _)| found).map_or_else(unexplained, |(at, what)| differs(at, what)))
}

/// A schema's parts, with each reference counted as what it leads to.
#[derive(Default)]
struct Parts {
    all: u64,
    /// The same, with each part as often as it may be compiled.
    weight: u64,
    patterns: u64,
    costs: Costs,
}

/// Where something stands in a schema.
#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    /// How often it may be compiled.
    weight: u64,
    /// Whether it is an object whose fields have the names of properties, and not those of keywords.
    is_names: bool,
    /// Whether all schemas in a list or under such names are held against one value, and not each against its own.
    adds_up: bool,
}

/// What holds other schemas against the value that it is about itself.
const IN_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// What looks at the value before anything else, and so takes a step of its own.
const LOOKING: [&str; 5] = ["const", "enum", "properties", "required", "type"];
/// What holds them against values in it, and against the names of its fields.
const BELOW: [&str; 10] = [
    "properties",
    "patternProperties",
    "additionalProperties",
    "propertyNames",
    "unevaluatedProperties",
    "items",
    "prefixItems",
    "additionalItems",
    "contains",
    "unevaluatedItems",
];

impl Parts {
    /// Counts a part and all below it. How many schemas it holds against one value that may look at nothing, by which `costs` grow where that
    /// value is another's.
    fn count(&mut self, schema: &Value, root: &Value, at: Place) -> Result<u64, SchemaError> {
        let unusable = |why: &str| SchemaError::Unusable(why.to_owned());
        if at.depth > DEPTH_MAX {
            return Err(unusable("refers to itself, or nests too deeply"));
        }
        self.all += 1;
        self.weight = self.weight.saturating_add(at.weight);
        at_most("the number of parts of the schema", self.all, PARTS_MAX)?;
        at_most("the weight of the parts of the schema", self.weight, WEIGHT_MAX)?;
        let below = Place { depth: at.depth + 1, is_names: false, ..at };
        match schema {
            Value::Object(names) if at.is_names => self.count_all(names.values(), root, below),
            Value::Object(fields) => {
                let again = ["unevaluatedProperties", "unevaluatedItems"].iter().any(|name| fields.contains_key(*name));
                let times = if again { UNEVALUATED_WEIGHT } else { 1 };
                let below = Place { weight: at.weight.saturating_mul(times), adds_up: true, ..below };
                // What stands in its place may end it before it looks.
                let is_led = again || fields.keys().any(|name| name == "$ref" || IN_PLACE.contains(&name.as_str()));
                let looks = |name: &&str| fields.get(*name).is_some_and(|of| *of != json!({}) && *of != json!([]));
                let mut held = u64::from(is_led || !LOOKING.iter().any(looks));
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(reference)) => {
                            let pointer =
                                reference.strip_prefix('#').ok_or_else(|| unusable("refers to another document"))?;
                            // Others are read in several ways: a percent sign, a tilde.
                            let is_plain = |c: char| c.is_ascii_alphanumeric() || "/$_-.".contains(c);
                            if !pointer.chars().all(is_plain) {
                                return Err(unusable(
                                    "refers by a name of other signs than letters, digits, $, _, - and .",
                                ));
                            }
                            let target = root.pointer(pointer).ok_or_else(|| unusable("refers to nothing"))?;
                            held = held.saturating_add(self.count(target, root, below)?);
                        }
                        ("$dynamicRef" | "$recursiveRef" | "$id", Value::String(_)) => {
                            return Err(SchemaError::Unusable(format!("uses {name}")));
                        }
                        ("pattern", Value::String(_)) => {
                            self.patterns += 1;
                            self.costs.has_patterns = true;
                        }
                        ("patternProperties", Value::Object(patterns)) => {
                            self.patterns += patterns.len() as u64;
                            self.costs.name_patterns += patterns.len() as u64;
                        }
                        ("multipleOf", Value::Number(_)) => self.costs.has_divisions = true,
                        _ => {}
                    }
                    at_most("the number of patterns of the schema", self.patterns, PATTERNS_MAX)?;
                    // What stands there is counted where it is referred to.
                    if name == "$defs" || name == "definitions" {
                        continue;
                    }
                    let is_names = matches!(
                        name.as_str(),
                        "properties" | "patternProperties" | "dependentSchemas" | "dependentRequired" | "dependencies"
                    );
                    let adds_up = IN_PLACE.contains(&name.as_str());
                    let found = self.count(value, root, Place { is_names, adds_up, ..below })?;
                    if adds_up {
                        held = held.saturating_add(found);
                    } else if BELOW.contains(&name.as_str()) {
                        self.costs.beside = self.costs.beside.max(found.saturating_sub(1));
                    }
                }
                Ok(held.saturating_mul(times))
            }
            Value::Array(items) => self.count_all(items.iter(), root, below),
            Value::Bool(_) => Ok(1),
            _ => Ok(0),
        }
    }

    fn count_all<'v>(
        &mut self,
        all: impl Iterator<Item = &'v Value>,
        root: &Value,
        at: Place,
    ) -> Result<u64, SchemaError> {
        let mut held = 0_u64;
        for part in all {
            let found = self.count(part, root, at)?;
            held = if at.adds_up { held.saturating_add(found) } else { held.max(found) };
        }
        Ok(held)
    }
}

#[cfg(test)]
#[path = "output_schema/tests.rs"]
mod tests;
