//! `hutch export`: an application in one file, with code that was made for one kind of host.

use super::open_package;
use crate::answers::ExportAnswer;
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::human;
use crate::invocation::parse_limit;
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::surroundings;
use clap::Args;
use hutch::Exported;
use hutch::package::{Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_sandbox::{Backend, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct ExportArguments {
    /// A folder that holds APP.md, a packed file, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The file to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// What runs it: a processor and system, pulley64 or pulley32; else this machine
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Write a program that is the application
    #[arg(long)]
    executable: bool,
    /// The hutch-edge program to put before it; else the one beside hutch
    #[arg(long, value_name = "FILE", requires = "executable")]
    runtime: Option<PathBuf>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
}

pub(crate) fn export(global: &Global, own: &ExportArguments, output: &Output) -> Result<ExitCode, Fault> {
    let operator: BTreeMap<Limit, u64> = own.limits.iter().copied().collect();
    let here = Target::from(Backend::Native).name().to_owned();
    let target = own.target.clone().unwrap_or_else(|| here.clone());
    let runtime = match own.executable {
        true => Some(runtime(own.runtime.as_deref(), &target, &here)?),
        false => None,
    };
    let package = open_package(global, &own.package, operator.get(&Limit::Component).copied())?;
    let host = surroundings::host(global)?;
    let artifact = host.compile_for(&package, &target, &host.limits(&package, operator))?;
    let exported = Exported { packed: packed(&package, &own.output)?, artifact };
    let file = [runtime.unwrap_or_default(), exported.written()].concat();
    match global.dry_run {
        true => new_file::preview(&own.output, &file)?,
        false => {
            let begin = if own.executable { NewFile::begin_program } else { NewFile::begin };
            let mut written = begin(&own.output)?;
            written.writer().write_all(&file).map_err(|error| Fault::file(&own.output, &error))?;
            written.keep()?;
        }
    }
    output.done(Done::changed(None));
    let manifest = package.manifest();
    let result = ExportAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        path: own.output.display().to_string(),
        bytes: file.len(),
        package_bytes: exported.packed.len(),
        artifact_bytes: exported.artifact.len(),
        target,
        component: package.component_digest().to_string(),
        executable: own.executable,
        dry_run: global.dry_run,
    };
    output.answer("export", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// The package in one file. It is read again as anybody will read it: one that changed meanwhile is no package.
fn packed(package: &Package, path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    super::pack::write(package, &mut bytes, path)?;
    let bounds = PackageBounds::default();
    if Source::packed_in_memory(bytes.clone(), &bounds)?.digest(&bounds)? != package.digest()? {
        return Err(Fault::new(ErrorCode::Conflict, "the package changed while it was exported"));
    }
    Ok(bytes)
}

/// The program that runs a bundle behind it.
#[expect(
    clippy::disallowed_methods,
    reason = "the operator names a program, or means the one that was installed with this one"
)]
fn runtime(named: Option<&Path>, target: &str, here: &str) -> Result<Vec<u8>, Fault> {
    let path = match named {
        Some(path) => path.to_owned(),
        None if target != here && target != Backend::Interpreter64.name() => {
            let message = format!("the program for {target} is not the one that is here");
            return Err(ErrorReport::new(ErrorCode::NotFound, message).suggest("name it with --runtime").into());
        }
        None => {
            let program =
                std::env::current_exe().map_err(|error| Fault::host(format!("no path to this program: {error}")))?;
            program.with_file_name(format!("hutch-edge{}", std::env::consts::EXE_SUFFIX))
        }
    };
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        let message = format!("{}: there is no hutch-edge", path.display());
        let advice = "install it with cargo install --locked --path host/edge, or name it with --runtime";
        return Err(ErrorReport::new(ErrorCode::NotFound, message).suggest(advice).into());
    }
    let bytes = std::fs::read(&path).map_err(|error| Fault::unreadable(&path, &error))?;
    let footer = bytes.len().saturating_sub(Exported::FOOTER_BYTES);
    if Exported::length(bytes.get(footer..).unwrap_or_default()).is_some() {
        return Err(Fault::usage(format!("{}: is an exported application already", path.display())));
    }
    Ok(bytes)
}
