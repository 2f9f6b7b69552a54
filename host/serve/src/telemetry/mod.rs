//! What a server says of its work to those who run it: a line of JSON for each request and each call (`log`), and spans and metrics for a
//! collector (`export`), by the conventions of OpenTelemetry. Neither says what a caller asked a package, nor what the package answered:
//! that is the ledger's, and an entry's number leads there.

mod client;
mod export;
mod log;
mod meters;
mod sender;

pub(crate) use meters::some;
pub use sender::{Sender, send_for_another};

use crate::reply::Facts;
use crate::serving::ServeError;
use crate::who::Principal;
use export::{Exporters, Ready};
use http::HeaderMap;
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use log::Log;
use meters::Meters;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{SpanBuilder, SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracer;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::{LazyLock, Mutex, PoisonError};
use tokio::time::Instant as Moment;

/// What is to be said, and to whom.
#[derive(Clone, Default, Debug)]
pub struct Wanted {
    /// Lines of JSON on standard error.
    pub log: bool,
    /// Spans, to the collector that the environment names.
    pub spans: Collected,
    /// Metrics, to the collector that the environment names.
    pub metrics: Collected,
    /// Who sends to a collector.
    pub sender: Option<Sender>,
}

/// Whether something is sent to a collector, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Collected {
    /// It is not.
    #[default]
    No,
    /// As protocol buffers over HTTP.
    Protobuf,
    /// As JSON over HTTP.
    Json,
}

/// Those who are told.
pub struct Telemetry {
    now: fn() -> Instant,
    /// Its thread begins with the first line.
    log: Option<LazyLock<Log>>,
    /// Their threads begin with the first work: what is around this process is around them too.
    collected: LazyLock<Collectors, Box<dyn FnOnce() -> Collectors + Send>>,
}

struct Collectors {
    tracer: Option<SdkTracer>,
    meters: Option<Meters>,
    exporters: Mutex<Exporters>,
}

impl Telemetry {
    /// Gets ready to tell. What a collector's address and its headers are, the exporters read from the environment
    /// (`OTEL_EXPORTER_OTLP_ENDPOINT` and the others that OpenTelemetry names).
    ///
    /// # Errors
    /// The environment says something that can't be followed.
    pub fn begin(wanted: Wanted, now: fn() -> Instant) -> Result<Telemetry, ServeError> {
        let log = wanted.log.then(|| LazyLock::new(Log::begin as fn() -> Log));
        let ready = Ready::new(wanted).map_err(ServeError::Setting)?;
        let begin = move || {
            let exporters = ready.begin();
            let meters = exporters.meter().map(|meter| Meters::new(&meter));
            Collectors { tracer: exporters.tracer(), meters, exporters: Mutex::new(exporters) }
        };
        Ok(Telemetry { now, log, collected: LazyLock::new(Box::new(begin)) })
    }

    /// Something begins, of which a span and a line will tell.
    pub(crate) fn work(&self, kind: SpanKind, name: impl Into<Cow<'static, str>>, parent: &Context) -> Work<'_> {
        let context = match &self.collected.tracer {
            Some(tracer) => {
                let span = SpanBuilder::from_name(name).with_kind(kind);
                parent.with_span(tracer.build_with_context(span, parent))
            }
            None => Context::new(),
        };
        Work { telemetry: self, context, began: Moment::now() }
    }

    /// Writes a line: what happened, and what is known of it.
    pub(crate) fn line(&self, event: &str, fields: Map<String, Value>) {
        if let Some(log) = &self.log {
            let mut line = Map::new();
            line.insert("time".to_owned(), (self.now)().to_string().into());
            line.insert("event".to_owned(), event.into());
            line.extend(fields);
            log.write(&Value::Object(line));
        }
    }

    pub(crate) fn meters(&self) -> Option<&Meters> {
        self.collected.meters.as_ref()
    }

    /// Tells what is left, for some seconds at most. Nothing is told after that.
    pub(crate) fn end(&self) {
        if let Some(log) = &self.log {
            log.end();
        }
        self.collected.exporters.lock().unwrap_or_else(PoisonError::into_inner).end();
    }
}

/// Something that is under way.
pub(crate) struct Work<'t> {
    telemetry: &'t Telemetry,
    context: Context,
    began: Moment,
}

impl Work<'_> {
    /// What is done for it belongs below this.
    pub(crate) fn context(&self) -> Context {
        self.context.clone()
    }

    /// Seconds since it began.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(crate) fn set(&self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.context.span().set_attributes(attributes);
    }

    /// It is also part of that, though not caused by it.
    pub(crate) fn link(&self, other: &Context) {
        self.context.span().add_link(other.span().span_context().clone(), Vec::new());
    }

    /// It has ended, of which a line tells.
    pub(crate) fn close(self, failed: bool, event: &str, mut fields: Map<String, Value>) {
        let span = self.context.span();
        if failed {
            span.set_status(Status::error(""));
        }
        let milliseconds = (self.seconds() * 1e6).round() / 1e3;
        fields.insert("duration_ms".to_owned(), milliseconds.into());
        if span.span_context().is_valid() {
            fields.insert("trace_id".to_owned(), span.span_context().trace_id().to_string().into());
        }
        span.end();
        self.telemetry.line(event, fields);
    }

    /// It has ended: the span closes, and a line says what came of it.
    pub(crate) fn end(self, event: &str, code: Option<ErrorCode>, mut fields: Map<String, Value>) {
        if let Some(code) = code {
            self.context.span().set_attribute(KeyValue::new("error.type", code.to_string()));
            fields.insert("code".to_owned(), code.to_string().into());
        }
        self.close(code.is_some(), event, fields);
    }
}

/// What is known of a call, for a line.
pub(crate) fn fields(facts: &Facts) -> Map<String, Value> {
    let known = [("entry", "hutch/entry"), ("fuel", "hutch/fuel"), ("kept", "hutch/kept")];
    let known = known.into_iter().filter_map(|(name, fact)| {
        let value = facts.get(fact)?;
        Some((name.to_owned(), value.get("sequence").unwrap_or(value).clone()))
    });
    known.collect()
}

/// What caused a known caller's request, by its `traceparent` (W3C Trace Context).
pub(crate) fn cause(_: &Principal, headers: &HeaderMap) -> Context {
    struct Headers<'h>(&'h HeaderMap);
    impl Extractor for Headers<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.to_str().ok()
        }
        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(http::HeaderName::as_str).collect()
        }
    }
    TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers))
}

/// What caused a request that says so in its `_meta`, if it does.
pub(crate) fn cause_in(meta: &Map<String, Value>) -> Option<Context> {
    struct Meta<'m>(&'m Map<String, Value>);
    impl Extractor for Meta<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.get(key)?.as_str()
        }
        fn keys(&self) -> Vec<&str> {
            self.0.keys().map(String::as_str).collect()
        }
    }
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &Meta(meta));
    context.span().span_context().is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CAUSE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_cause_is_what_a_well_formed_header_says_and_nothing_else() {
        let trace = |text: &str| {
            let headers = HeaderMap::from_iter([(http::HeaderName::from_static("traceparent"), text.parse().unwrap())]);
            let meta = Map::from_iter([("traceparent".to_owned(), text.into())]);
            let (header, meta) = (cause(&Principal::admitted("agent", &[]), &headers), cause_in(&meta));
            let trace = header.span().span_context().trace_id().to_string();
            assert_eq!(meta.map_or("0".repeat(32), |one| one.span().span_context().trace_id().to_string()), trace);
            trace
        };
        assert_eq!(trace(CAUSE), "0af7651916cd43dd8448eb211c80319c");
        for text in ["", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", &CAUSE[..50], "x; drop"] {
            assert_eq!(trace(text), "0".repeat(32), "{text}");
        }
    }

    #[test]
    fn a_line_has_the_number_of_the_entry_and_nothing_of_the_answer() {
        let facts = json!({"hutch/entry": {"sequence": 7, "hash": "0f"}, "hutch/fuel": 9, "hutch/state": {"data": 1}});
        let fields = fields(facts.as_object().unwrap());
        assert_eq!(Value::Object(fields), json!({"entry": 7, "fuel": 9}));
    }
}
