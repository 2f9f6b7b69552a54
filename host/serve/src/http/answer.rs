//! Answers as HTTP has them: a status for each code, one JSON document, and headers that keep browsers from making more of it.

use super::access::Refused;
use crate::door::{Answers, Load};
use crate::reply::{Facts, Reply};
use crate::told::{REPEATED, STATE};
use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body::Body as _;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hutch_model::document;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

pub(super) type Body = BoxBody<Bytes, Infallible>;

/// The most bytes of an answer as it is written: a byte of a text can have six. What nobody sees in texts is escaped behind it.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// The header that says that the answer is that of an earlier request.
const REPEATED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");

/// What every answer says to browsers.
const ALWAYS: [(HeaderName, &str); 4] = [
    (CACHE_CONTROL, "no-store"),
    (http::header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (http::header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What nothing but a page allows itself.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

pub(super) fn whole(status: StatusCode, content_type: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(bytes.into()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

pub(super) fn json(status: StatusCode, document: &Value) -> Response<Body> {
    whole(status, "application/json", document::written(&document.to_string()).into_owned() + "\n")
}

/// The same, if it has no more than so many bytes as it is written.
fn json_within(status: StatusCode, value: &Value, bytes_max: usize) -> Option<Response<Body>> {
    let (text, is_whole) = document::json_within(value, bytes_max, false).unwrap_or_default();
    let escaped = match document::written(&text) {
        Cow::Owned(escaped) if is_whole => Some(escaped),
        _ => None,
    };
    is_whole.then(|| whole(status, "application/json", escaped.unwrap_or(text) + "\n"))
}

/// Counts an answer until it is sent.
pub(super) fn counted(mut response: Response<Body>, answers: &Answers<'_>) -> Response<Body> {
    let unsent = answers.hold(length(&response).unwrap_or_default());
    response.extensions_mut().insert(Arc::new(unsent));
    response
}

/// How many bytes there are to be sent, if that is known.
pub(super) fn length(response: &Response<Body>) -> Option<usize> {
    response.body().size_hint().exact().and_then(|bytes| usize::try_from(bytes).ok())
}

/// Adds what every answer says, unless it says something else.
pub(super) fn finished(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.entry(http::header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    response
}

/// The status of an answer with this code.
pub(super) const fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::ServerBusy | ErrorCode::InstanceBusy => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::AuthenticationRequired => StatusCode::UNAUTHORIZED,
        ErrorCode::PermissionDenied => StatusCode::FORBIDDEN,
        ErrorCode::NotFound | ErrorCode::PackageNotFound => StatusCode::NOT_FOUND,
        ErrorCode::StdinLimit | ErrorCode::ArgumentLimit | ErrorCode::ContractViolation => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        code => match code.exit_status() {
            2 => StatusCode::BAD_REQUEST,
            30 => StatusCode::CONFLICT,
            50 => StatusCode::INTERNAL_SERVER_ERROR,
            // The application's own failure, and every limit.
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        },
    }
}

/// A failure: the object that the command line prints.
pub(super) fn failed(report: &ErrorReport) -> Response<Body> {
    refused(&Refused(status(report.code), Box::new(report.clone())))
}

pub(super) fn refused(refused: &Refused) -> Response<Body> {
    let Refused(status, report) = refused;
    let document = serde_json::to_value(&**report).unwrap_or_default();
    let mut response = json_within(*status, &document, ANSWER_BYTES_MAX).unwrap_or_else(|| {
        let mut short = (**report).clone();
        // The ledger has it.
        short.details.remove("run");
        json(*status, &serde_json::to_value(&short).unwrap_or_default())
    });
    // For those who tell of it.
    response.extensions_mut().insert(report.code);
    match *status {
        StatusCode::UNAUTHORIZED => {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"hutch\""));
        }
        StatusCode::SERVICE_UNAVAILABLE => {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

/// There is something at this path, for other methods.
pub(super) fn not_allowed(allowed: &str) -> Response<Body> {
    let message = format!("this path knows the methods {allowed}");
    let mut response = refused(&Refused::invalid(StatusCode::METHOD_NOT_ALLOWED, message));
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// What was asked for has been carried out, or not. `known` is the state that the caller has.
pub(super) fn reply(reply: Reply, known: Option<&str>) -> Response<Body> {
    match reply {
        Reply::Done { document, facts } => {
            let tag = facts.get(STATE).and_then(Value::as_str).map(|state| format!("\"{state}\""));
            if let Some(tag) = tag.as_deref().filter(|tag| known.is_some_and(|known| is_known(known, tag))) {
                return tagged(whole(StatusCode::NOT_MODIFIED, "application/json", Bytes::new()), tag);
            }
            let Some(mut response) = json_within(StatusCode::OK, &document, ANSWER_BYTES_MAX) else {
                return failed(&too_long(&facts));
            };
            if facts.contains_key(REPEATED) {
                response.headers_mut().insert(REPEATED_HEADER, HeaderValue::from_static("true"));
            }
            match tag {
                Some(tag) => tagged(response, &tag),
                None => response,
            }
        }
        Reply::Failed { report, .. } => failed(&report),
        // Nothing that is asked for over HTTP asks back.
        Reply::Ask(question) => failed(&question.refusal("a token that may confirm applies the plan")),
    }
}

/// What was asked for is done, and its answer is longer than one may be.
fn too_long(facts: &Facts) -> ErrorReport {
    let message = format!("the answer would have more than {ANSWER_BYTES_MAX} bytes");
    let mut report = ErrorReport::new(ErrorCode::AnswerLost, message);
    for (name, fact) in [("kept", "hutch/kept"), ("entry", "hutch/entry")] {
        report.details.extend(facts.get(fact).map(|fact| (name.to_owned(), fact.clone())));
    }
    report
}

fn is_known(known: &str, tag: &str) -> bool {
    known.split(',').map(|one| one.trim().trim_start_matches("W/")).any(|one| one == tag || one == "*")
}

fn tagged(mut response: Response<Body>, tag: &str) -> Response<Body> {
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, tag);
        // It may be kept, and must be asked for again.
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
    response
}

/// What a server says of itself.
pub(super) fn server(packages: &[String], tokens: Value, load: Load) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "packages": packages,
        "tokens": tokens,
        "under_way": load.under_way,
        "waiting": load.waiting,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_status_that_says_whose_fault_it_is() {
        for code in ErrorCode::ALL {
            let status = status(*code);
            assert!(status.is_client_error() || status.is_server_error(), "{code}");
            assert_eq!(code.exit_status() == 50, status == StatusCode::INTERNAL_SERVER_ERROR, "{code}");
        }
    }

    /// Bytes that are no text are none here: a file of these has six times its bytes.
    #[test]
    fn an_answer_is_bounded_as_it_is_written() {
        let text = Value::from("\u{0}\u{202e}".repeat(10));
        let all = text.to_string().len();
        assert!(all > 60 && json_within(StatusCode::OK, &text, all - 1).is_none());
        let response = json_within(StatusCode::OK, &text, all).unwrap();
        assert_eq!(length(&response), length(&json(StatusCode::OK, &text)));
        let entry = json!({"sequence": 3, "hash": "a"});
        let facts = json!({"hutch/kept": true, "hutch/entry": entry, "hutch/fuel": 1});
        let document = Value::from("\u{0}".repeat(ANSWER_BYTES_MAX / 6 + 1));
        let facts = facts.as_object().cloned().unwrap_or_default();
        let response = reply(Reply::Done { document, facts: facts.clone() }, None);
        assert_eq!(response.extensions().get::<ErrorCode>(), Some(&ErrorCode::AnswerLost));
        let details = too_long(&facts).details;
        assert_eq!((details.len(), &details["kept"], &details["entry"]), (2, &Value::Bool(true), &entry));
    }

    #[test]
    fn a_state_that_is_known_is_not_sent_again() {
        for (known, is) in
            [("\"a\"", true), ("W/\"a\"", true), ("\"b\", \"a\"", true), ("*", true), ("\"b\"", false), ("a", false)]
        {
            assert_eq!(is_known(known, "\"a\""), is, "{known}");
        }
    }
}
