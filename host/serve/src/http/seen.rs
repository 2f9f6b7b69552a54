//! What a log and a collector are told of a request, whatever becomes of it.

use super::answer::Body;
use super::{page, routes, site::Site};
use crate::telemetry::{self, Work, some};
use crate::who::Principal;
use http::request::Parts;
use http::{Method, Response, StatusCode};
use hutch_model::error_code::ErrorCode;
use opentelemetry::trace::SpanKind;
use opentelemetry::{Context, KeyValue};
use serde_json::{Map, Value};

/// The most characters of a path that are told.
const PATH_CHARS_MAX: usize = 256;
/// The methods that have names of their own; others could be any.
const METHODS: [Method; 8] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::OPTIONS,
    Method::PATCH,
    Method::TRACE,
];

/// A request that has come.
pub(super) struct Seen<'s> {
    site: &'s Site,
    parts: &'s Parts,
    known: Option<&'s Principal>,
    /// The form of its path, if it is one that is known.
    route: Option<&'static str>,
    work: Option<Work<'s>>,
}

impl<'s> Seen<'s> {
    /// What a caller that nobody knows says caused its request is not believed: it would join others' traces and leave ours out.
    pub(super) fn begin(site: &'s Site, parts: &'s Parts, known: Option<&'s Principal>) -> Seen<'s> {
        let path = parts.uri.path();
        let route = routes::form(path).or_else(|| page::form(path));
        let method = method(parts);
        let name = route.map_or_else(|| method.to_owned(), |route| format!("{method} {route}"));
        let cause = known.map(|principal| telemetry::cause(principal, &parts.headers)).unwrap_or_default();
        let work = site.telemetry.work(SpanKind::Server, name, &cause);
        Seen { site, parts, known, route, work: Some(work) }
    }

    /// What is done for it belongs below this.
    pub(super) fn context(&self) -> Context {
        self.work.as_ref().map(Work::context).unwrap_or_default()
    }

    /// It has its answer.
    pub(super) fn end(mut self, response: &Response<Body>) {
        let code = response.extensions().get::<ErrorCode>().copied();
        self.tell(Some(response.status()), code);
    }

    fn tell(&mut self, status: Option<StatusCode>, code: Option<ErrorCode>) {
        let Some(work) = self.work.take() else { return };
        // The caller's own fault is no failure of the server's.
        let failure = code.filter(|_| status.is_none_or(|status| status.is_server_error()));
        let attributes = some([
            Some(KeyValue::new("http.request.method", method(self.parts))),
            Some(KeyValue::new("url.scheme", "http")),
            self.route.map(|route| KeyValue::new("http.route", route)),
            status.map(|status| KeyValue::new("http.response.status_code", i64::from(status.as_u16()))),
        ]);
        if let Some(meters) = self.site.telemetry.meters() {
            let failure = failure.map(|code| KeyValue::new("error.type", code.to_string()));
            let all: Vec<KeyValue> = attributes.iter().cloned().chain(failure).collect();
            meters.request.record(work.seconds(), &all);
        }
        work.set(attributes);
        let path: String = self.parts.uri.path().chars().take(PATH_CHARS_MAX).collect();
        let mut fields = Map::new();
        let mut field = |name: &str, value: Option<Value>| {
            fields.extend(value.map(|value| (name.to_owned(), value)));
        };
        field("caller", self.known.map(|principal| principal.name().to_string().into()));
        field("method", Some(method(self.parts).into()));
        field("path", Some(path.into()));
        field("status", status.map(|status| status.as_u16().into()));
        field("code", code.map(|code| code.to_string().into()));
        work.end("request", failure, fields);
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        // Who asked is gone before there was an answer.
        self.tell(None, Some(ErrorCode::Cancelled));
    }
}

fn method(parts: &Parts) -> &'static str {
    let known = METHODS.iter().position(|known| *known == parts.method);
    known.map_or("_OTHER", |at| ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"][at])
}
