//! `hutch compile`: machine code before anybody waits for it.

use super::open_package;
use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::invocation::parse_limit;
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::{human, progress, surroundings};
use clap::Args;
use hutch::Host;
use hutch::package::Package;
use hutch_model::limits::Limit;
use hutch_sandbox::{Backend, Target, build_key, profile};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct CompileArguments {
    /// Folders that hold APP.md, packed files, or installed packages
    #[arg(value_name = "PACKAGE", required = true)]
    packages: Vec<PathBuf>,
    /// Compile one package for this: a processor and system, pulley64 or pulley32
    #[arg(long, value_name = "TRIPLE", requires = "output")]
    target: Option<String>,
    /// The file to write that code to
    #[arg(long, value_name = "FILE", requires = "target")]
    output: Option<PathBuf>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
}

pub(super) fn compile(global: &Global, own: &CompileArguments, output: &Output) -> Result<ExitCode, Fault> {
    let operator: BTreeMap<Limit, u64> = own.limits.iter().copied().collect();
    let host = surroundings::host(global)?;
    let open = |path: &Path| open_package(global, path, operator.get(&Limit::Component).copied());
    let target = own.target.clone().unwrap_or_else(|| Target::from(Backend::Native).name().to_owned());
    let mut packages = Vec::new();
    match (&own.output, &own.packages[..]) {
        (None, paths) => {
            for (done, path) in paths.iter().enumerate() {
                progress::at(done, paths.len());
                packages.push(into_cache(global, &host, &open(path)?, &operator)?);
            }
        }
        (Some(to), [path]) => {
            packages.push(into_file(global, &host, &open(path)?, &target, to, &operator)?);
            output.done(Done::changed(None));
        }
        (Some(_), _) => return Err(Fault::usage("--output is one file: name one package")),
    }
    let key = Target::named(&target).map(build_key);
    let result = json!({
        "profile": profile(),
        "target": target,
        "build_key": key,
        "packages": packages,
        "dry_run": global.dry_run,
    });
    output.answer("compile", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Compiles a package for this machine, unless that was done before, so that its first run finds it done.
fn into_cache(
    global: &Global,
    host: &Host,
    package: &Package,
    operator: &BTreeMap<Limit, u64>,
) -> Result<Value, Fault> {
    let limits = host.limits(package, operator.clone());
    let compiled = host.load(package, &limits)?.is_fresh();
    let kept = host.is_compiled(package);
    if !kept && !global.dry_run {
        return Err(Fault::host("what was compiled could not be kept: the cache folder can't be used"));
    }
    Ok(described(package, json!({"compiled": compiled, "kept": kept})))
}

/// Compiles a package for a target into a file.
fn into_file(
    global: &Global,
    host: &Host,
    package: &Package,
    target: &str,
    path: &Path,
    operator: &BTreeMap<Limit, u64>,
) -> Result<Value, Fault> {
    let limits = host.limits(package, operator.clone());
    let artifact = host.compile_for(package, target, &limits)?;
    match global.dry_run {
        true => new_file::preview(path, &artifact)?,
        false => {
            let mut file = NewFile::begin(path)?;
            file.writer().write_all(&artifact).map_err(|error| Fault::file(path, &error))?;
            file.keep()?;
        }
    }
    let written =
        json!({"compiled": true, "kept": !global.dry_run, "path": path.display().to_string(), "bytes": artifact.len()});
    Ok(described(package, written))
}

/// What was done, of which package.
fn described(package: &Package, mut done: Value) -> Value {
    done["slug"] = package.manifest().slug().as_str().into();
    done["version"] = package.manifest().version().to_string().into();
    done["component"] = package.component_digest().to_string().into();
    done["component_bytes"] = package.component_bytes().into();
    done
}
