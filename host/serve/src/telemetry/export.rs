//! Spans and metrics, sent to a collector by OpenTelemetry's protocol over HTTP. The library's threads send them, in the background; a
//! collector that is away costs nothing but what is lost.

use super::{Collected, Wanted};
use opentelemetry::metrics::{Meter, MeterProvider};
use opentelemetry::trace::TracerProvider;
use opentelemetry::{Key, KeyValue, Value};
use opentelemetry_otlp::{MetricExporter, Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::sync::mpsc::sync_channel;
use std::time::Duration;

const NAME: &str = "hutch";
/// How long the end may take to send what is left.
const SENT_WITHIN: Duration = Duration::from_secs(2);

/// What will be told, and to whom: nothing has begun.
pub(super) struct Ready {
    spans: Option<SpanExporter>,
    metrics: Option<MetricExporter>,
    log: bool,
}

impl Ready {
    pub(super) fn new(wanted: Wanted) -> Result<Ready, String> {
        let failed = |error: opentelemetry_otlp::ExporterBuildError| error.to_string();
        let Some(sender) = wanted.sender else {
            return match (wanted.spans, wanted.metrics) {
                (Collected::No, Collected::No) => Ok(Ready { spans: None, metrics: None, log: wanted.log }),
                _ => Err("nobody sends to a collector".to_owned()),
            };
        };
        let spans = protocol(wanted.spans).map(|protocol| {
            let exporter = SpanExporter::builder().with_http().with_http_client(sender.clone());
            exporter.with_protocol(protocol).build().map_err(failed)
        });
        let metrics = protocol(wanted.metrics).map(|protocol| {
            let exporter = MetricExporter::builder().with_http().with_http_client(sender.clone());
            exporter.with_protocol(protocol).build().map_err(failed)
        });
        Ok(Ready { spans: spans.transpose()?, metrics: metrics.transpose()?, log: wanted.log })
    }

    /// Begins. The library has threads for it, and they are behind whatever rings are around this process by then.
    pub(super) fn begin(self) -> Exporters {
        let with_resource = || SdkTracerProvider::builder().with_resource(resource());
        let spans = match (self.spans, self.log) {
            (Some(exporter), _) => Some(with_resource().with_batch_exporter(exporter).build()),
            // Lines have the numbers of traces too.
            (None, true) => Some(with_resource().build()),
            (None, false) => None,
        };
        let metrics = self.metrics.map(|exporter| {
            let reader = PeriodicReader::builder(exporter).build();
            SdkMeterProvider::builder().with_resource(resource()).with_reader(reader).build()
        });
        Exporters { spans, metrics }
    }
}

/// Those who send.
pub(super) struct Exporters {
    spans: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Exporters {
    pub(super) fn tracer(&self) -> Option<SdkTracer> {
        Some(self.spans.as_ref()?.tracer(NAME))
    }

    pub(super) fn meter(&self) -> Option<Meter> {
        Some(self.metrics.as_ref()?.meter(NAME))
    }

    /// Sends what is left, as far as the collector takes it in time.
    pub(super) fn end(&mut self) {
        let (spans, metrics) = (self.spans.take(), self.metrics.take());
        if spans.is_none() && metrics.is_none() {
            return;
        }
        let (sent, all_sent) = sync_channel::<()>(0);
        std::thread::spawn(move || {
            // There is nobody to whom a loss could be told.
            let _ = spans.map(|spans| spans.shutdown_with_timeout(SENT_WITHIN));
            let _ = metrics.map(|metrics| metrics.shutdown_with_timeout(SENT_WITHIN));
            drop(sent);
        });
        let _ = all_sent.recv_timeout(SENT_WITHIN);
    }
}

const fn protocol(collected: Collected) -> Option<Protocol> {
    match collected {
        Collected::No => None,
        Collected::Protobuf => Some(Protocol::HttpBinary),
        Collected::Json => Some(Protocol::HttpJson),
    }
}

/// Whose spans and metrics these are: as the environment says, else this program's.
fn resource() -> Resource {
    let known = || Resource::builder().with_attributes([KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))]);
    let resource = known().build();
    match resource.get(&Key::new("service.name")) {
        Some(Value::String(name)) if !name.as_str().starts_with("unknown_service") => resource,
        _ => known().with_service_name(NAME).build(),
    }
}
