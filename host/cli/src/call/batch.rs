//! Many invocations of one package in one call: read from standard input before the first is made, bounded in number and size
//! (rules I3, C5, G7). Each is a JSON array of arguments, or an object; one a line, or all in one array or under `items`.

use crate::machine::input::{self, Source};
use crate::refusal::fault::Fault;
use hutch_model::contract::{Command, Contract};
use hutch_model::document::{Document, DocumentSize};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;

/// The most calls of a batch.
const CALLS_MAX: usize = 1000;
/// The most bytes of a whole batch.
const BYTES_MAX: u64 = 16 << 20;
/// The most memory that all of it takes as values.
const VALUE_BYTES_MAX: u64 = 128 << 20;

/// What differs between the invocations of a batch; everything else is as on the command line.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// The guest's arguments.
    pub(crate) arguments: Vec<String>,
    /// What the guest reads on standard input.
    #[serde(default)]
    pub(crate) stdin: String,
    /// The guest's clock.
    #[serde(default)]
    pub(crate) now: Option<Instant>,
    /// The guest's randomness.
    #[serde(default)]
    pub(crate) seed: Option<Seed>,
    // What `hutch examples` says besides: so that its answer is a batch as it is.
    #[serde(default, rename = "by")]
    _by: Option<String>,
    #[serde(default, rename = "command")]
    _command: Option<String>,
    #[serde(default, rename = "description")]
    _description: Option<String>,
    #[serde(default, rename = "exit_status")]
    _exit_status: Option<u8>,
    #[serde(default, rename = "line")]
    _line: Option<String>,
}

/// Reads a batch of invocations from standard input, which must not be a terminal.
pub(crate) fn read(wait: Duration) -> Result<Vec<Item>, Fault> {
    parse(&text(wait)?)
}

/// A contract, and one of its commands.
pub(crate) type Of<'c> = (&'c Contract, &'c Command);

/// The same of one command, whose parameters are the fields of each object: in one array, one after the other, or in the `items` of an
/// answer. What its application's listings show beside parameters is passed over, so that a listing is a batch as it is.
pub(crate) fn read_parameters(of: Of<'_>, wait: Duration) -> Result<Vec<Item>, Fault> {
    parse_parameters(of, &text(wait)?)
}

pub(crate) fn parse_parameters((contract, command): Of<'_>, text: &str) -> Result<Vec<Item>, Fault> {
    let is_parameter = |name: &str| command.parameters.iter().any(|parameter| parameter.name == name);
    let mut values = Vec::new();
    documents(text, &mut values, |document| match document {
        Value::Array(items) => Ok(items),
        mut one => match one.get_mut("items") {
            Some(Value::Array(items)) if !is_parameter("items") => Ok(std::mem::take(items)),
            _ => Ok(vec![one]),
        },
    })?;
    let item = |(at, value): (usize, Value)| match value {
        Value::Object(mut fields) => {
            fields.retain(|name, _| is_parameter(name) || !contract.shown_fields().any(|shown| shown == name));
            let arguments = command.words(&fields).map_err(|violations| {
                let message = violations.first().map(|first| first.message.clone()).unwrap_or_default();
                let report =
                    ErrorReport::new(ErrorCode::ArgumentInvalid, format!("entry {at} of the batch: {message}"));
                Fault::from(report.detail("index", at).detail("violations", &violations))
            })?;
            Ok(Item { arguments, ..Item::default() })
        }
        _ => Err(Fault::usage(format!("entry {at} of the batch is no object of parameters"))),
    };
    values.into_iter().enumerate().map(item).collect()
}

fn text(wait: Duration) -> Result<String, Fault> {
    let bytes = input::read(Source::Stdin, BYTES_MAX, wait).map_err(|fault| match fault.report().code {
        ErrorCode::StdinTerminal => fault.report().clone().suggest("pipe the batch").into(),
        _ => fault,
    })?;
    if bytes.len() as u64 > BYTES_MAX {
        let message = format!("the batch is longer than {BYTES_MAX} bytes");
        return Err(Fault::new(ErrorCode::StdinLimit, message).suggest("send several smaller batches"));
    }
    String::from_utf8(bytes).map_err(|error| Fault::usage(format!("the batch is no UTF-8: {error}")))
}

/// The entries of all documents of a text, each taken apart by `entries`.
fn documents(
    text: &str,
    values: &mut Vec<Value>,
    entries: impl Fn(Value) -> Result<Vec<Value>, Fault>,
) -> Result<(), Fault> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut at, mut left) = (0, VALUE_BYTES_MAX);
    while let Some(document) = documents.next() {
        let no_json = |error: &dyn Display| Fault::usage(format!("the batch is no JSON near byte {at}: {error}"));
        document.map_err(|error| no_json(&error))?;
        let bytes = text.get(at..documents.byte_offset()).unwrap_or_default().as_bytes();
        let takes = DocumentSize::of(bytes).map_err(|error| no_json(&error))?.memory_bytes;
        left = left.checked_sub(takes).ok_or_else(|| {
            let message = format!("the batch takes more than {VALUE_BYTES_MAX} bytes of memory when it is read");
            Fault::new(ErrorCode::StdinLimit, message).suggest("send several smaller batches")
        })?;
        let Document(document) = serde_json::from_slice(bytes).map_err(|error| no_json(&error))?;
        at = documents.byte_offset();
        values.extend(entries(document)?);
        if values.len() > CALLS_MAX {
            let message = format!("the batch has more than {CALLS_MAX} invocations");
            return Err(Fault::new(ErrorCode::StdinLimit, message).suggest("send several smaller batches"));
        }
    }
    if values.is_empty() {
        return Err(Fault::usage("the batch is empty"));
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Item>, Fault> {
    let mut values = Vec::new();
    documents(text, &mut values, |document| match document {
        // One array of everything; an array of texts alone is one invocation.
        Value::Array(items) if !items.iter().all(Value::is_string) || items.is_empty() => Ok(items),
        Value::Object(mut fields) if fields.contains_key("result") || fields.contains_key("items") => {
            let mut result = fields.remove("result").unwrap_or(Value::Object(fields));
            match result.get_mut("items").map(Value::take) {
                Some(Value::Array(items)) => Ok(items),
                _ => Err(Fault::usage("the answer given as a batch has no items")),
            }
        }
        one => Ok(vec![one]),
    })?;
    values.into_iter().enumerate().map(|(at, value)| item(at, value)).collect()
}

fn item(at: usize, value: Value) -> Result<Item, Fault> {
    let value = if value.is_array() { serde_json::json!({"arguments": value}) } else { value };
    serde_json::from_value(value).map_err(|error| Fault::usage(format!("invocation {at} of the batch: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_batch_is_the_same_batch() {
        let forms = [
            "{\"arguments\":[\"add\",\"x\"]}\n{\"arguments\":[\"list\"]}\n",
            "[\"add\",\"x\"] [\"list\"]",
            "[[\"add\",\"x\"],{\"arguments\":[\"list\"]}]",
            r#"{"ok":true,"result":{"items":[{"arguments":["add","x"],"by":"package","exit_status":0,"line":"l"},["list"]]},"rules":[]}"#,
            r#"{"items":[["add","x"],["list"]]}"#,
        ];
        for form in forms {
            let items = parse(form).unwrap();
            let arguments: Vec<Vec<String>> = items.into_iter().map(|item| item.arguments).collect();
            assert_eq!(arguments, [vec!["add".to_owned(), "x".to_owned()], vec!["list".to_owned()]], "{form}");
        }
    }

    #[test]
    fn what_is_no_batch_is_refused_whole() {
        for text in
            ["", "nonsense", "{}", "[1]", r#"{"arguments":["a"],"yes":true}"#, r#"{"result":{}}"#, "[]", "[\"a\"] {"]
        {
            assert_eq!(parse(text).unwrap_err().report().code, ErrorCode::Usage, "{text}");
        }
        assert_eq!(parse(&"[\"a\"]".repeat(1001)).unwrap_err().report().code, ErrorCode::StdinLimit);
        // Nor what would take a hundred times its length, in one document or in many, before any of it is read.
        let wide = format!(r#"{{"arguments":["x"],"stdin":[{}]}}"#, vec!["{\"a\":1}"; 400_000].join(","));
        let many = vec![format!(r#"["x",[{}]]"#, vec!["[]"; 10_000].join(",")); 500].join(" ");
        for text in [wide, many] {
            let fault = parse(&text).unwrap_err();
            assert_eq!(fault.report().code, ErrorCode::StdinLimit, "{}", fault.report().message);
            assert!(fault.report().message.contains("of memory"), "{}", fault.report().message);
        }
    }
}
