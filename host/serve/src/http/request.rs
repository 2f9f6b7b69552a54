//! What stands in a request: its body, read within bounds, and its fields.

use super::access::Refused;
use super::settings::Bounds;
use crate::ask::{Back, Words, entry};
use crate::catalog::Catalog;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hutch::EntryName;
use hutch_model::document::{self, Unread};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::instant::Instant;
use hutch_model::invocation::Seed;
use hutch_model::ledger::{Request, canonical};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The most characters of a name that a request has.
const KEY_CHARS_MAX: usize = 200;
/// The most entries of one page.
const ENTRIES_MAX: u32 = 1000;
/// How many there are if nobody says how many.
const ENTRIES: u32 = 100;

/// A call of a package's command, in one of two forms.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    /// The words after the package, as on the command line.
    arguments: Option<Vec<String>>,
    /// The name of a command …
    command: Option<String>,
    /// … and its fields, as its input schema says.
    fields: Option<Map<String, Value>>,
    #[serde(default)]
    stdin: String,
    now: Option<Instant>,
    seed: Option<Seed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Undo {
    count: Option<u64>,
    entry: Option<String>,
    /// Forward again, over what was taken back.
    #[serde(default)]
    redo: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Verify {
    entry: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A refusal of a body that is not of its form.
pub(super) fn unfit(message: String) -> Refused {
    Refused::invalid(StatusCode::BAD_REQUEST, message)
}

/// Reads the whole body, which is JSON.
pub(super) async fn body<B>(headers: &HeaderMap, body: B, bounds: &Bounds) -> Result<Value, Refused>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (first, second) = (types.next(), types.next());
    let is_json = first.and_then(|one| one.to_str().ok()).is_some_and(is_json);
    if !is_json || second.is_some() {
        let message = "expected a body with Content-Type: application/json";
        return Err(Refused::invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let bytes = bytes(body, bounds).await?;
    document::read_message(&bytes, bounds.body_bytes_max).map_err(|unread| {
        let status = match unread {
            Unread::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            _ => StatusCode::BAD_REQUEST,
        };
        Refused::invalid(status, format!("the body can't be read: {unread}"))
    })
}

/// Reads the whole body.
pub(super) async fn bytes<B>(body: B, bounds: &Bounds) -> Result<Bytes, Refused>
where
    B: Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let whole = Limited::new(body, bounds.body_bytes_max).collect();
    let read = tokio::time::timeout(bounds.sent_within, whole).await.map_err(|_| {
        let message = format!("the body did not come within {} ms", bounds.sent_within.as_millis());
        Refused::invalid(StatusCode::REQUEST_TIMEOUT, message)
    })?;
    let read = read.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
        Some(_) => {
            let message = format!("the body is longer than {} bytes", bounds.body_bytes_max);
            Refused::invalid(StatusCode::PAYLOAD_TOO_LARGE, message)
        }
        None => unfit(format!("the body can't be read: {error}")),
    })?;
    Ok(read.to_bytes())
}

fn is_json(text: &str) -> bool {
    let (essence, parameters) = text.split_once(';').unwrap_or((text, ""));
    let parameters = parameters.trim().to_ascii_lowercase();
    essence.trim().eq_ignore_ascii_case("application/json")
        && ["", "charset=utf-8", "charset=\"utf-8\""].contains(&parameters.as_str())
}

fn read<T: DeserializeOwned>(body: Value) -> Result<T, Refused> {
    if !body.is_object() {
        return Err(unfit("the body is no JSON object".to_owned()));
    }
    serde_json::from_value(body).map_err(|error| unfit(error.to_string()))
}

/// The words of a call.
pub(super) fn words(body: Value, catalog: &Catalog, package: usize) -> Result<Words, Failed> {
    let Call { arguments, command, fields, stdin, now, seed } = read(body)?;
    let arguments = match (arguments, command) {
        (Some(arguments), None) if fields.is_none() => arguments,
        (None, Some(command)) => catalog.words(package, &command, &fields.unwrap_or_default())?,
        _ => return Err(unfit("expected arguments, or command with fields".to_owned()).into()),
    };
    Ok(Words { arguments, stdin: stdin.into_bytes(), now, seed })
}

/// How far back.
pub(super) fn back(body: Value) -> Result<Back, Refused> {
    let Undo { count, entry, redo } = read(body)?;
    Back::of(entry.as_deref().map(named_entry).transpose()?, count, redo).map_err(unfit)
}

/// Which entry is to be verified.
pub(super) fn verified(body: Value) -> Result<Option<EntryName>, Refused> {
    let Verify { entry } = read(body)?;
    entry.as_deref().map(named_entry).transpose()
}

/// A body that says nothing.
pub(super) fn nothing(body: Value) -> Result<(), Refused> {
    read::<Nothing>(body).map(|_| ())
}

/// An entry, by its number alone, or as on the command line.
pub(super) fn entry_name(text: &str) -> Result<EntryName, Refused> {
    if let Ok(sequence) = text.parse::<u64>()
        && text.len() < 20
        && text.bytes().all(|byte| byte.is_ascii_digit())
    {
        return Ok(EntryName::Sequence(sequence));
    }
    named_entry(text)
}

/// An entry, as on the command line.
pub(super) fn named_entry(text: &str) -> Result<EntryName, Refused> {
    entry(text).map_err(|report| unfit(report.message))
}

/// The parameters of an address, each at most once.
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    /// Takes the parameters apart; there are no others than these.
    pub(super) fn of(query: Option<&str>, known: &[&str]) -> Result<Query, Refused> {
        let mut found = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&&*name) {
                return Err(unfit(format!("parameters are {}", known.join(", "))));
            }
            if found.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(unfit(format!("{name} is there twice")));
            }
        }
        Ok(Query(found))
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The entry that is named, if one is.
    pub(super) fn at(&self) -> Result<Option<EntryName>, Refused> {
        self.text("at").map(entry_name).transpose()
    }

    /// Which part of a list is asked for: how many, and how many are passed over.
    pub(super) fn page(&self) -> Result<(u32, u32), Refused> {
        let number = |name: &str, usual: u32| match self.text(name) {
            Some(text) => text.parse().map_err(|_| unfit(format!("{name}: expected a number"))),
            None => Ok(usual),
        };
        match number("limit", ENTRIES)? {
            limit @ 1..=ENTRIES_MAX => Ok((limit, number("offset", 0)?)),
            limit => Err(unfit(format!("limit: expected a number from 1 to {ENTRIES_MAX}, found {limit}"))),
        }
    }
}

/// Which part of a list is asked for, where nothing else can be.
pub(super) fn page(query: Option<&str>) -> Result<(u32, u32), Refused> {
    Query::of(query, &["limit", "offset"])?.page()
}

/// Refuses parameters where there are none.
pub(super) fn no_query(query: Option<&str>) -> Result<(), Refused> {
    match query {
        None | Some("") => Ok(()),
        Some(_) => Err(unfit("this path has no parameters".to_owned())),
    }
}

/// The name that a request has, and what it is about.
pub(super) fn name(parts: &Parts, caller: &str, body: &Value) -> Result<Option<Request>, Refused> {
    let mut keys = parts.headers.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else { return Ok(None) };
    let text = key.to_str().ok().filter(|text| (1..=KEY_CHARS_MAX).contains(&text.len()));
    let (Some(text), None) = (text, keys.next()) else {
        return Err(unfit(format!("expected one Idempotency-Key of at most {KEY_CHARS_MAX} characters of ASCII")));
    };
    // Equal documents are the same request, however they are written.
    let written = canonical(body).unwrap_or_else(|_| body.to_string().into_bytes());
    let about = [parts.uri.path().as_bytes(), b"\n", &written].concat();
    Ok(Some(Request::new(caller, text, &about)))
}

/// A request that can't be carried out: refused by the server, or wrong by the package's contract.
pub(super) enum Failed {
    Refused(Refused),
    Report(Box<ErrorReport>),
}

impl From<Refused> for Failed {
    fn from(refused: Refused) -> Failed {
        Failed::Refused(refused)
    }
}

impl From<ErrorReport> for Failed {
    fn from(report: ErrorReport) -> Failed {
        Failed::Report(Box::new(report))
    }
}

/// There is nothing at this path.
pub(super) fn missing(path: &str) -> Refused {
    let shown: String = path.chars().take(200).collect();
    let refused = Refused::new(StatusCode::NOT_FOUND, ErrorCode::NotFound, format!("there is nothing at {shown:?}"));
    refused.suggest("paths are those of /openapi.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_json() {
        for (text, is) in [
            ("application/json", true),
            ("Application/JSON ; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json; charset=utf-16", false),
            ("text/plain", false),
            ("application/json, text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            assert_eq!(is_json(text), is, "{text}");
        }
    }

    #[test]
    fn pages_are_bounded() {
        assert_eq!(page(None).unwrap(), (ENTRIES, 0));
        assert_eq!(page(Some("offset=20&limit=10")).unwrap(), (10, 20));
        for query in ["limit=0", "limit=1001", "limit=-1", "limit=1&limit=2", "x=1", "limit", "offset=4294967296"] {
            assert!(page(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn parameters_are_taken_apart_once_each() {
        let known = ["path", "at"];
        let query = Query::of(Some("path=data%2Fa+b%3D%26c&at=3"), &known).unwrap();
        assert_eq!(query.text("path"), Some("data/a b=&c"));
        assert_eq!(query.at().unwrap(), Some(EntryName::Sequence(3)));
        assert!(Query::of(None, &known).unwrap().at().unwrap().is_none());
        for text in ["path=a&path=a", "path=a&other=1", "limit=1"] {
            assert!(Query::of(Some(text), &known).is_err(), "{text}");
        }
        assert!(Query::of(Some("at=.."), &known).unwrap().at().is_err());
    }

    #[test]
    fn entries_have_numbers_and_names() {
        assert_eq!(entry_name("17").unwrap(), EntryName::Sequence(17));
        assert_eq!(entry_name("@17").unwrap(), EntryName::Sequence(17));
        assert_eq!(entry_name("last").unwrap(), EntryName::Last);
        // Longer than any number: the beginning of a hash.
        let digits = "01234567890123456789";
        assert_eq!(entry_name(digits).unwrap(), EntryName::Prefix(digits.to_owned()));
        assert!(entry_name("-1").is_err() && entry_name("..").is_err());
    }
}
