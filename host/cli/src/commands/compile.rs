//! `hutch compile`: machine code before anybody waits for it.

use super::open_package;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{CompileAnswer, CompiledFile, CompiledPackage};
use crate::call::invocation::parse_limit;
use crate::flags::global::Global;
use crate::machine::input::{self, Source};
use crate::machine::new_file;
use crate::machine::{progress, surroundings};
use crate::package::packages;
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::package::Package;
use hutch::{Failure, Host};
use hutch_model::digest::Digest;
use hutch_model::limits::{Limit, Limits};
use hutch_sandbox::{ANSWER_BYTES_MAX, Backend, CHILD_HEADER_BYTES, Target, build_key, profile};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct CompileArguments {
    /// Folders that hold APP.md, packed files, or installed packages
    #[arg(value_name = "PACKAGE", required = true)]
    packages: Vec<PathBuf>,
    /// Compile for this, into files: a processor and system, pulley64 or pulley32
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// The file to write, of one package; else SLUG-VERSION.TRIPLE.artifact
    #[arg(long, value_name = "FILE", requires = "target")]
    output: Option<PathBuf>,
    /// The folder to write files of that name to; else here
    #[arg(long, value_name = "DIR", requires = "target", conflicts_with = "output")]
    output_dir: Option<PathBuf>,
    /// Set a limit; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = parse_limit)]
    limits: Vec<(Limit, u64)>,
}

/// Where code goes.
enum Place<'a> {
    /// To where this machine's runs find it.
    Cache,
    /// Into this file.
    File(&'a Path),
    /// Into this folder, under names that follow from package and target.
    Folder(&'a Path),
}

/// One call: of many packages each fares as if it were alone.
struct Compilation<'a> {
    global: &'a Global,
    host: Host,
    operator: BTreeMap<Limit, u64>,
    target: Target,
    place: Place<'a>,
    /// The files that it has written, or would have, with the component of each.
    written: BTreeMap<PathBuf, Digest>,
}

pub(crate) fn compile(global: &Global, own: &CompileArguments, output: &Output) -> Result<ExitCode, Fault> {
    let target = match &own.target {
        Some(name) => hutch_sandbox::target_named(name).map_err(Failure::Load)?,
        None => Target::from(Backend::Native),
    };
    let mut compilation = Compilation {
        global,
        host: surroundings::host(global)?,
        operator: own.limits.iter().copied().collect(),
        target,
        place: place(own)?,
        written: BTreeMap::new(),
    };
    let step = progress::during("compile");
    let mut outcomes = Vec::new();
    for (done, path) in own.packages.iter().enumerate() {
        progress::at(done, own.packages.len());
        outcomes.push((path, compilation.one(path)));
    }
    drop(step);
    if !compilation.written.is_empty() {
        output.done(Done::changed(None));
    }
    let result = CompileAnswer {
        profile: profile().to_string(),
        target: compilation.target.name().to_owned(),
        build_key: build_key(compilation.target),
        packages: all(outcomes)?,
        dry_run: global.dry_run,
    };
    let told =
        human::sentence(&["{dry_run?would compile|compiled} {packages.*.package} for {target}", ": {packages.*.path}"]);
    output.answer("compile", result, told)
}

/// Where code is to go: a folder that is not there is seen before anything is compiled.
fn place(own: &CompileArguments) -> Result<Place<'_>, Fault> {
    let place = match (&own.target, &own.output) {
        (None, _) => Place::Cache,
        (Some(_), Some(_)) if own.packages.len() > 1 => {
            return Err(Fault::usage("--output is one file: name one package, or a folder with --output-dir"));
        }
        (Some(_), Some(file)) => Place::File(file),
        (Some(_), None) => Place::Folder(own.output_dir.as_deref().unwrap_or(Path::new(""))),
    };
    let folder = match place {
        Place::Cache => return Ok(place),
        Place::File(file) => new_file::folder_of(file),
        Place::Folder(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Place::Folder(folder) => folder,
    };
    hutch::package::open_folder(folder).map_err(|error| Fault::file(folder, &error))?;
    Ok(place)
}

impl Compilation<'_> {
    fn one(&mut self, path: &Path) -> Result<CompiledPackage, Fault> {
        let package = open_package(self.global, path, self.operator.get(&Limit::Component).copied())?;
        let limits = self.host.limits(&package, self.operator.clone());
        let file = match self.place {
            Place::Cache => return self.keep_in_cache(path, &package, &limits),
            Place::File(file) => file.to_owned(),
            Place::Folder(folder) => folder.join(packages::artifact_name(package.manifest(), self.target.name())),
        };
        self.write_file(path, &package, &limits, file)
    }

    /// Compiles a package for this machine, unless that was done before, so that its first run finds it done.
    fn keep_in_cache(&self, path: &Path, package: &Package, limits: &Limits) -> Result<CompiledPackage, Fault> {
        let compiled = self.host.load(package, limits)?.is_fresh();
        let kept = self.host.is_compiled(package);
        if !kept && !self.global.dry_run {
            return Err(Fault::host("what was compiled could not be kept: the cache folder can't be used"));
        }
        Ok(described(path, package, compiled, kept, None))
    }

    /// Compiles a package for a target into a file.
    fn write_file(
        &mut self,
        path: &Path,
        package: &Package,
        limits: &Limits,
        file: PathBuf,
    ) -> Result<CompiledPackage, Fault> {
        let component = package.component_digest();
        if self.written.get(&file).is_some_and(|before| *before != component) {
            return Err(new_file::is_another(&file));
        }
        let artifact = self.host.compile_for(package, self.target.name(), limits)?;
        new_file::write(&file, &artifact, self.global.dry_run)?;
        let told = CompiledFile { path: file.display().to_string(), bytes: artifact.len() };
        self.written.insert(file, component);
        Ok(described(path, package, true, !self.global.dry_run, Some(told)))
    }
}

/// What was done, of which package.
fn described(
    path: &Path,
    package: &Package,
    compiled: bool,
    kept: bool,
    file: Option<CompiledFile>,
) -> CompiledPackage {
    CompiledPackage {
        package: path.display().to_string(),
        slug: package.manifest().slug().to_string(),
        version: package.manifest().version().to_string(),
        component: package.component_digest().to_string(),
        component_bytes: package.component_bytes(),
        compiled,
        kept,
        file,
    }
}

/// All packages, or the first failure with what became of each. One package's failure is its own.
fn all(outcomes: Vec<(&PathBuf, Result<CompiledPackage, Fault>)>) -> Result<Vec<CompiledPackage>, Fault> {
    let total = outcomes.len();
    let (mut packages, mut items, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for (path, outcome) in outcomes {
        let word = path.display().to_string();
        match outcome {
            Ok(package) => {
                items.push(json!(package));
                packages.push(package);
            }
            Err(fault) => {
                items.push(json!({"package": word, "error": fault.report()}));
                faults.push((word, fault));
            }
        }
    }
    let failed = faults.len();
    let Some((word, fault)) = faults.into_iter().next() else { return Ok(packages) };
    if total == 1 {
        return Err(fault);
    }
    let columns =
        [("package", "PACKAGE"), ("kept", "KEPT"), ("path", "FILE"), ("error.code", "CODE"), ("error.message", "WHY")];
    let mut table = human::table(&items, &columns);
    if let Some(seen) = fault.seen() {
        table = table.with(seen.clone());
    }
    let kept = packages.iter().any(|package| package.kept);
    let fault = fault.of(&word).detail("total", total.into()).detail("failed", failed.into());
    Err(fault.detail("kept", kept.into()).detail("packages", items.into()).seen_as(table))
}

/// The part of a process that compiles for another: a component on standard input, and what became of it on standard output.
pub(crate) fn as_child(global: &Global) -> Result<ExitCode, Fault> {
    let bytes_max = Limit::Component.info().ceiling.max(ANSWER_BYTES_MAX) + 2 * CHILD_HEADER_BYTES;
    let given = input::read(Source::Stdin, bytes_max, global.wait)?;
    let compiled = hutch_sandbox::compile_as_child(&given);
    compiled.map(|()| ExitCode::SUCCESS).map_err(|error| Fault::host(error.to_string()))
}
