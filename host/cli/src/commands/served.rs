//! What `hutch mcp` and `hutch serve` serve: packages, and this program's words and documents for what becomes of them.

use super::{catalog, meta, open_package};
use crate::flags::global::Global;
use crate::machine::{memory, surroundings};
use crate::package::{packages, trust};
use crate::refusal::fault::Fault;
use clap::{Args, ValueEnum};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_serve::{About, ServeError, Served, Serving, Surroundings, Telemetry, Wanted};
use hutch_store::InstanceName;
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a server tells of its work.
#[derive(Debug, Args)]
pub(crate) struct TelemetryArguments {
    /// Write a line to standard error for each request and each call; spans and metrics go where OTEL_EXPORTER_OTLP_ENDPOINT says
    #[arg(long, value_name = "FORMAT")]
    log: Option<LogFormat>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogFormat {
    /// Lines of JSON
    Json,
}

/// How packages are served.
pub(super) struct Options<'o> {
    pub(super) instance: &'o InstanceName,
    pub(super) limits: &'o [(Limit, u64)],
    pub(super) tools_max: usize,
    /// What is told of the work while serving goes on; nothing where nobody is served.
    pub(super) told: Option<&'o TelemetryArguments>,
}

/// A host that serves these packages.
pub(super) fn serving(global: &Global, paths: &[PathBuf], options: &Options<'_>) -> Result<Serving, Fault> {
    memory::give_back();
    let mut served: Vec<Served> = Vec::new();
    for path in paths {
        let one = open(global, path, options.limits)?;
        let slug = one.package.manifest().slug().clone();
        if served.iter().any(|other| *other.package.manifest().slug() == slug) {
            return Err(Fault::usage(format!("two packages have the slug {slug}, by which their tools are named")));
        }
        served.push(one);
    }
    let line = global.line.clone();
    Ok(Serving {
        host: surroundings::host(global)?,
        packages: served,
        instance: options.instance.clone(),
        limits: options.limits.iter().copied().collect(),
        tools_max: options.tools_max,
        telemetry: Arc::new(telemetry(options.told)?),
        surroundings: Surroundings { now: surroundings::now, seed: || surroundings::random_seed().ok() },
        line: Box::new(move |words| line.elsewhere(words.iter().copied())),
    })
}

/// Who is told of the work.
fn telemetry(told: Option<&TelemetryArguments>) -> Result<Telemetry, Fault> {
    let wanted = match told {
        Some(told) => {
            let (spans, metrics) = surroundings::collected()?;
            Wanted { log: told.log.is_some(), spans, metrics }
        }
        None => Wanted::default(),
    };
    Telemetry::begin(wanted, surroundings::now).map_err(served_fault)
}

/// A package and its contract. It is named as it can be from anywhere: a client starts a server where it likes.
fn open(global: &Global, path: &Path, limits: &[(Limit, u64)]) -> Result<Served, Fault> {
    let component_bytes_max =
        limits.iter().rev().find(|(limit, _)| *limit == Limit::Component).map(|(_, value)| *value);
    let (outline, place) = packages::outline(global, path)?;
    let contract = packages::contract(global, path, &outline)?.contract().clone();
    let word = match &place {
        packages::Place::Local { path, .. } => path.display().to_string(),
        packages::Place::Installed(_) => place.word(),
    };
    let policy = trust::policy(global)?;
    let trust = trust::level(&policy, &place);
    let about = About {
        listed: json!(catalog::entry(&policy, outline.manifest(), &place)),
        meta: json!(meta::listed(&contract, outline.manifest(), (&word, trust), &global.line)),
        tools: json!({"tools": contract.tools()}),
    };
    let package = open_package(global, path, component_bytes_max)?;
    Ok(Served { package, word, trust, contract, about })
}

/// Why serving did not begin or go on.
pub(super) fn served_fault(error: ServeError) -> Fault {
    match error {
        ServeError::Host(failure) => Fault::from(failure),
        ServeError::Protocol(message) | ServeError::Setting(message) => Fault::usage(message),
        ServeError::System(message) => Fault::host(message),
        ServeError::Address { ref source, .. } => {
            let code = match source.kind() {
                ErrorKind::AddrInUse => ErrorCode::AlreadyExists,
                ErrorKind::PermissionDenied => ErrorCode::PermissionDenied,
                ErrorKind::AddrNotAvailable => ErrorCode::Usage,
                _ => ErrorCode::HostFault,
            };
            let report = ErrorReport::new(code, error.to_string());
            report.suggest("name another address with --listen; port 0 takes one that is free").into()
        }
    }
}
