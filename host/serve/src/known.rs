//! What a log and a collector are told of a call that is carried out, whatever door it came by.

use crate::ask::Ask;
use crate::door::By;
use crate::reply::Reply;
use crate::serving::{Served, Serving};
use crate::telemetry::{self, Work, some};
use hutch_model::error_code::ErrorCode;
use opentelemetry::trace::SpanKind;
use opentelemetry::{Context, KeyValue};
use serde_json::Value;
use tokio::time::Instant as Moment;

/// A call that is under way; nothing of those that nobody is told of.
pub(crate) struct Known<'k>(Option<Call<'k>>);

struct Call<'k> {
    serving: &'k Serving,
    work: Work<'k>,
    by: &'k By,
    /// What is done, in a word.
    what: &'static str,
    slug: &'k str,
    waited_seconds: f64,
}

impl<'k> Known<'k> {
    pub(crate) fn begin(serving: &'k Serving, ask: &Ask, by: &'k By, parent: &Context, came: Moment) -> Known<'k> {
        let slug = serving.packages.get(ask.package).map_or("", Served::slug);
        Known(ask.what.word().map(|what| {
            let work = serving.telemetry.work(SpanKind::Internal, format!("{what} {slug}"), parent);
            Call { serving, work, by, what, slug, waited_seconds: came.elapsed().as_secs_f64() }
        }))
    }

    pub(crate) fn end(self, reply: &Reply) {
        let Known(Some(call)) = self else { return };
        let (facts, code) = match reply {
            Reply::Done { facts, .. } => (Some(facts), None),
            Reply::Failed { report, facts } => (Some(facts), Some(report.code)),
            Reply::Ask(_) => (None, Some(ErrorCode::ConfirmationRequired)),
        };
        let mut fields = facts.map(telemetry::fields).unwrap_or_default();
        let number = |name: &str| fields.get(name).and_then(Value::as_u64);
        let whole = |name: &'static str, value: u64| KeyValue::new(name, i64::try_from(value).unwrap_or(i64::MAX));
        call.work.set(some([
            Some(KeyValue::new("hutch.package", call.slug.to_owned())),
            number("entry").map(|entry| whole("hutch.entry.sequence", entry)),
            number("fuel").map(|fuel| whole("hutch.run.fuel", fuel)),
        ]));
        if let Some(meters) = call.serving.telemetry.meters() {
            let attributes = some([
                Some(KeyValue::new("hutch.call", call.what)),
                Some(KeyValue::new("hutch.package", call.slug.to_owned())),
                code.map(|code| KeyValue::new("error.type", code.to_string())),
            ]);
            meters.call.record(call.work.seconds(), &attributes);
            meters.wait.record(call.waited_seconds, &attributes);
            if let Some(fuel) = number("fuel") {
                meters.fuel.record(fuel, &attributes);
            }
        }
        let waited = (call.waited_seconds * 1e6).round() / 1e3;
        fields.extend([
            ("package".to_owned(), call.slug.into()),
            ("call".to_owned(), call.what.into()),
            ("waited_ms".to_owned(), waited.into()),
        ]);
        if let Some(caller) = &call.by.caller {
            fields.insert("caller".to_owned(), caller.name.as_str().into());
            fields.insert("through".to_owned(), caller.version.as_str().into());
        }
        call.work.end("call", code, fields);
    }
}
