//! What `hutch mcp` and `hutch serve` serve: packages, and this program's words and documents for what becomes of them.

use super::{catalog, meta, open_package};
use crate::call::invocation::{Asked, mounts};
use crate::flags::global::Global;
use crate::machine::{collector, memory, surroundings};
use crate::package::{packages, trust};
use crate::refusal::fault::Fault;
use clap::{Args, ValueEnum};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_serve::{About, Collected, ServeError, Served, Serving, Surroundings, Telemetry, Wanted};
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
    pub(super) tools: &'o ToolsArguments,
    pub(super) mounts: &'o [Asked],
    /// What is told of the work while serving goes on; nothing where nobody is served.
    pub(super) told: Option<&'o TelemetryArguments>,
}

/// Which tools a client of the protocol sees.
#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// With more commands, three tools find, describe and call them; else if all tools have more than 4000 bytes
    #[arg(long, value_name = "N")]
    tools_max: Option<usize>,
    /// Tell the schemas of answers too
    #[arg(long)]
    output_schemas: bool,
}

impl ToolsArguments {
    /// The same as words.
    pub(super) fn words(&self) -> Vec<String> {
        let most = self.tools_max.map(|most| format!("--tools-max={most}"));
        most.into_iter().chain(self.output_schemas.then(|| "--output-schemas".to_owned())).collect()
    }
}

/// Refuses a confirmation of whatever will be asked for.
pub(super) fn unconfirmed(global: &Global) -> Result<(), Fault> {
    match global.yes {
        true => {
            Err(Fault::usage("nobody can confirm before it is known what is to be done").suggest("leave --yes out"))
        }
        false => Ok(()),
    }
}

/// A host that serves these packages; all that are installed if none is named.
pub(super) fn serving(global: &Global, paths: &[PathBuf], options: &Options<'_>) -> Result<Serving, Fault> {
    memory::give_back();
    let installed = if paths.is_empty() { installed(global)? } else { Vec::new() };
    let host = surroundings::host(global)?;
    let mut served: Vec<Served> = Vec::new();
    for path in paths.iter().chain(&installed) {
        let one = open(global, path, options.limits)?;
        let slug = one.package.manifest().slug().clone();
        if served.iter().any(|other| *other.package.manifest().slug() == slug) {
            return Err(Fault::usage(format!("two packages have the slug {slug}, by which their tools are named")));
        }
        served.push(one);
    }
    let mounts = mounts(options.mounts.to_vec(), &host)?;
    let asked = |name: &&String| {
        served.iter().any(|one| one.package.manifest().mounts().iter().any(|path| path.as_str() == **name))
    };
    if let Some(name) = mounts.keys().find(|name| !asked(name)) {
        return Err(Fault::new(
            ErrorCode::PermissionDenied,
            format!("no package asks for a folder mounted as {name:?}"),
        )
        .suggest("leave it out, or name it as a package does: hutch show PACKAGE tells what it asks for"));
    }
    let line = global.line.clone();
    Ok(Serving {
        host,
        packages: served,
        instance: options.instance.clone(),
        limits: options.limits.iter().copied().collect(),
        tools_max: options.tools.tools_max,
        output_schemas: options.tools.output_schemas,
        mounts,
        telemetry: Arc::new(telemetry(global, options.told)?),
        surroundings: Surroundings { now: surroundings::now, seed: || surroundings::random_seed().ok() },
        line: Box::new(move |words| line.elsewhere(words.iter().copied())),
    })
}

/// The installed packages; there is at least one.
pub(super) fn installed(global: &Global) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    for pin in packages::installed(global)?.pins()? {
        found.push(PathBuf::from(format!("{}{}", packages::INSTALLED, pin?.slug)));
    }
    match found.is_empty() {
        false => Ok(found),
        true => Err(Fault::new(ErrorCode::PackageNotFound, "no package is installed, and none is named")
            .suggest(&format!("name the packages to serve, or install one: {}", packages::had_as()))),
    }
}

/// Who is told of the work.
fn telemetry(global: &Global, told: Option<&TelemetryArguments>) -> Result<Telemetry, Fault> {
    let wanted = match told {
        Some(told) => {
            let (spans, metrics) = surroundings::collected()?;
            let sends = [spans, metrics].iter().any(|collected| *collected != Collected::No);
            let sender = sends.then(|| collector::sender(global.wait)).transpose()?;
            Wanted { log: told.log.is_some(), spans, metrics, sender }
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
