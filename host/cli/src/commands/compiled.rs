//! A package packed with code that was made for one kind of host, for `hutch-edge`, which has no compiler: `pack --compiled` and
//! `--executable`.

use super::open_package;
use super::pack::{self, PackArguments};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{PackAnswer, PackedCode};
use crate::call::invocation::parse_limit;
use crate::flags::global::Global;
use crate::machine::new_file::{self, NewFile};
use crate::machine::surroundings;
use crate::refusal::fault::Fault;
use clap::Args;
use hutch::Exported;
use hutch::package::{Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::limits::Limit;
use hutch_sandbox::{Backend, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct CodeArguments {
    /// Put compiled code beside the package, for hutch-edge
    #[arg(long, requires = "output")]
    compiled: bool,
    /// Write a program that is the application: hutch-edge, the package and its code
    #[arg(long, requires = "output")]
    executable: bool,
    /// What runs the code: a processor and system, pulley64 or pulley32; else this machine
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The hutch-edge program to put before it; else the one beside hutch
    #[arg(long, value_name = "FILE", requires = "executable")]
    runtime: Option<PathBuf>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
}

impl CodeArguments {
    /// Whether there is to be code, as far as the flags say: who names a target means code for it.
    pub(super) fn is_asked(&self) -> bool {
        self.compiled || self.executable || self.target.is_some()
    }
}

pub(super) fn written(global: &Global, own: &PackArguments, output: &Output) -> Result<PackAnswer, Fault> {
    let (code, path) = (&own.code, own.output.as_deref());
    let path = path.ok_or_else(|| Fault::usage("name the file with --output: it is no package for everybody"))?;
    let operator: BTreeMap<Limit, u64> = code.limits.iter().copied().collect();
    let here = Target::from(Backend::Native).name().to_owned();
    let target = code.target.clone().unwrap_or_else(|| here.clone());
    let runtime = match code.executable {
        true => Some(runtime(code.runtime.as_deref(), &target, &here)?),
        false => None,
    };
    let package = open_package(global, &own.package, operator.get(&Limit::Component).copied())?;
    let host = surroundings::host(global)?;
    let artifact = host.compile_for(&package, &target, &host.limits(&package, operator))?;
    let exported = Exported { packed: packed(&package, path)?, artifact };
    let file = [runtime.unwrap_or_default(), exported.written()].concat();
    match code.executable {
        true if !global.dry_run => NewFile::begin_program(path)?.filled(&file)?,
        _ => new_file::write(path, &file, global.dry_run)?,
    }
    output.done(Done::changed(None));
    let compiled = PackedCode {
        package_bytes: exported.packed.len(),
        artifact_bytes: exported.artifact.len(),
        target,
        component: package.component_digest().to_string(),
        executable: code.executable,
    };
    Ok(PackAnswer { compiled: Some(compiled), ..pack::answer(&package, path, file.len() as u64, global)? })
}

/// The package in one file. It is read again as anybody will read it: one that changed meanwhile is no package.
fn packed(package: &Package, path: &Path) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    pack::write(package, &mut bytes, path)?;
    let bounds = PackageBounds::default();
    if Source::packed_in_memory(bytes.clone(), &bounds)?.digest(&bounds)? != package.digest()? {
        return Err(Fault::new(ErrorCode::Conflict, "the package changed while it was packed"));
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
            return Err(Fault::new(ErrorCode::NotFound, message).suggest("name it with --runtime"));
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
