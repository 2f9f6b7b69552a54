//! What is counted and measured, by the names and the buckets of the conventions.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, Meter};

/// Bounds in seconds for requests over HTTP.
const REQUESTS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0];
/// Bounds in seconds for calls of tools.
const TOOLS: [f64; 14] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// Bounds in seconds for what is carried out: a call of a small application takes less than a millisecond.
const CALLS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];
/// Bounds in units of fuel.
const FUEL: [f64; 8] = [1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11];

pub(crate) struct Meters {
    /// `http.server.request.duration`.
    pub(crate) request: Histogram<f64>,
    /// `mcp.server.operation.duration`.
    pub(crate) tool: Histogram<f64>,
    /// `hutch.call.duration`: what the host carries out, without the time that it waits.
    pub(crate) call: Histogram<f64>,
    /// `hutch.call.wait`: how long it waits for its turn.
    pub(crate) wait: Histogram<f64>,
    /// `hutch.run.fuel`.
    pub(crate) fuel: Histogram<u64>,
}

impl Meters {
    pub(super) fn new(meter: &Meter) -> Meters {
        let seconds = |name: &'static str, what: &'static str, bounds: [f64; 14]| {
            meter.f64_histogram(name).with_description(what).with_unit("s").with_boundaries(bounds.to_vec()).build()
        };
        let fuel = meter.u64_histogram("hutch.run.fuel").with_description("Fuel that a guest used").with_unit("{fuel}");
        Meters {
            request: seconds("http.server.request.duration", "Duration of HTTP server requests", REQUESTS),
            tool: seconds("mcp.server.operation.duration", "Duration of a request as the server sees it", TOOLS),
            call: seconds("hutch.call.duration", "Duration of what the host carried out", CALLS),
            wait: seconds("hutch.call.wait", "How long a call waited for its turn", CALLS),
            fuel: fuel.with_boundaries(FUEL.to_vec()).build(),
        }
    }
}

/// The attributes that are there.
pub(crate) fn some<const N: usize>(attributes: [Option<KeyValue>; N]) -> Vec<KeyValue> {
    attributes.into_iter().flatten().collect()
}
