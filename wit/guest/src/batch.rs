//! A batch: the parameters of many calls of one command, as JSON on standard input. Reads a bounded number of bytes and
//! takes every entry through the command's own table. Knows no application.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::argv::{self, Arguments};
use crate::contract::{Command, Description, FailureCode, Parameter, ValueType};
use crate::failure::{Failure, INVALID_VALUE, nearest};

/// Entries of one batch.
pub const ENTRIES_MAX: usize = 1000;
/// Bytes of one batch.
pub const INPUT_BYTES_MAX: usize = 1 << 20;

/// Standard input holds no batch.
pub const INVALID_BATCH: FailureCode = FailureCode {
    code: "INVALID_BATCH",
    exit_status: 2,
    description: "standard input is no batch for this command; nothing was done",
    fix: "write [{\"PARAMETER\":VALUE}, …] to standard input, or the whole answer of a command that lists",
};
/// Standard input holds more than a batch may.
pub const BATCH_TOO_LARGE: FailureCode = FailureCode {
    code: "BATCH_TOO_LARGE",
    exit_status: 2,
    description: "the batch has more than 1000 entries, or more than 1048576 bytes; nothing was done",
    fix: "split it into several calls",
};

/// What is said once for the whole call, never by an entry: data must not confirm what a person has to.
const OF_THE_CALL: [&str; 3] = [argv::BATCH, "dry-run", "confirm"];

/// Whether an entry gives this parameter of a command. The opposite of a flag is the flag with `false`.
#[must_use]
pub fn is_of_an_entry(parameter: &Parameter) -> bool {
    !OF_THE_CALL.contains(&parameter.name) && !parameter.name.starts_with("no-")
}

/// One entry: the fields of an object, none of them twice.
#[derive(Debug)]
pub struct Entry(BTreeMap<String, Value>);

/// Reads a batch: a list of objects, or an object that holds one as `items`, as the answer of a listing does.
///
/// # Errors
/// `INVALID_BATCH` or `BATCH_TOO_LARGE`.
pub fn read(input: impl Read) -> Result<Vec<Entry>, Failure> {
    #[derive(Deserialize)]
    struct Listing<'a> {
        #[serde(borrow)]
        items: Vec<&'a RawValue>,
    }
    let invalid = |why: String| Failure::new(INVALID_BATCH, format!("standard input is no batch: {why}"));
    let mut bytes = Vec::new();
    let bytes_max = u64::try_from(INPUT_BYTES_MAX).unwrap_or(u64::MAX);
    input.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| invalid(error.to_string()))?;
    if bytes.len() > INPUT_BYTES_MAX {
        return Err(Failure::new(BATCH_TOO_LARGE, format!("the batch has more than {INPUT_BYTES_MAX} bytes")));
    }
    let entries: Vec<&RawValue> = match bytes.trim_ascii_start().first() {
        None => return Err(invalid("it is empty".to_owned())),
        Some(b'{') => serde_json::from_slice(&bytes).map(|Listing { items }| items),
        Some(_) => serde_json::from_slice(&bytes),
    }
    .map_err(|error| invalid(error.to_string()))?;
    if entries.len() > ENTRIES_MAX {
        let message = format!("the batch has {} entries, at most {ENTRIES_MAX} are taken", entries.len());
        return Err(Failure::new(BATCH_TOO_LARGE, message));
    }
    let entry = |(index, entry): (usize, &RawValue)| {
        let broken = |error: serde_json::Error| Failure::new(INVALID_BATCH, error.to_string()).of_entry(index);
        serde_json::from_str(entry.get()).map_err(broken)
    };
    entries.into_iter().enumerate().map(entry).collect()
}

impl Entry {
    /// The arguments that an entry stands for. A field is a parameter of the command, written as in the contract or in camelCase;
    /// `null` is as if it were not there. Fields that `passed_over` knows may be there too.
    ///
    /// # Errors
    /// `INVALID_BATCH` for a field that there is not, or a usage failure for a value.
    pub fn arguments(
        &self,
        description: &'static Description,
        command: &'static Command,
        passed_over: &dyn Fn(&str) -> bool,
    ) -> Result<Arguments, Failure> {
        let mut values = Vec::new();
        for (field, value) in &self.0 {
            let name = kebab_case(field);
            let parameter = command.parameters.iter().find(|it| is_of_an_entry(it) && it.name == name);
            match parameter {
                Some(parameter) => values.extend(texts(parameter, value)?.into_iter().map(|text| (parameter, text))),
                None if passed_over(field) => {}
                None => return Err(unknown_field(command, field, &name)),
            }
        }
        argv::by_name(description, command, &values)
    }
}

/// `dueAt` is `due-at`.
fn kebab_case(field: &str) -> String {
    let mut name = String::with_capacity(field.len() + 4);
    for letter in field.chars() {
        if letter.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// The values of a parameter, as arguments are written.
fn texts(parameter: &Parameter, value: &Value) -> Result<Vec<String>, Failure> {
    match (value, parameter.value_type) {
        (Value::Null, _) => Ok(Vec::new()),
        (Value::Array(values), _) if parameter.repeated => {
            let one = |value: &Value| match value {
                Value::Array(_) => Err(unreadable(parameter)),
                value => texts(parameter, value),
            };
            Ok(values.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat())
        }
        (Value::String(text), kind) if kind != ValueType::Boolean => Ok(vec![text.clone()]),
        (Value::Bool(flag), ValueType::Boolean) => Ok(vec![flag.to_string()]),
        (Value::Number(number), ValueType::Integer | ValueType::Number) => Ok(vec![number.to_string()]),
        _ => Err(unreadable(parameter)),
    }
}

fn unreadable(parameter: &Parameter) -> Failure {
    let expected = match parameter.value_type {
        ValueType::Boolean => "true or false",
        ValueType::Integer | ValueType::Number => "a number",
        _ => "a text",
    };
    let several = if parameter.repeated { ", or a list of such" } else { "" };
    let message = format!("{} has another JSON type, expected {expected}{several}", parameter.name);
    Failure::new(INVALID_VALUE, message).suggest(parameter.description)
}

fn unknown_field(command: &Command, field: &str, name: &str) -> Failure {
    let known = || command.parameters.iter().filter(|it| is_of_an_entry(it)).map(|it| it.name);
    // A field may be of any length.
    let shown: String = field.chars().take(40).collect();
    let failure = Failure::new(INVALID_BATCH, format!("an entry for {} has no field {shown:?}", command.name));
    match nearest(name, known()) {
        Some(near) => failure.suggest(format!("did you mean {near:?}?")),
        None => failure.suggest(format!("the fields are {}", known().collect::<Vec<_>>().join(", "))),
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Entry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of parameters")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Entry, A::Error> {
                let mut fields = BTreeMap::new();
                while let Some((field, value)) = object.next_entry::<String, Value>()? {
                    if fields.insert(field, value).is_some() {
                        return Err(A::Error::custom("a field is there twice"));
                    }
                }
                Ok(Entry(fields))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
