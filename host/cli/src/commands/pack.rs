//! `hutch pack`: a package as one file.

use crate::answers::PackAnswer;
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::{human, packages};
use clap::Args;
use hutch::package::{PackError, Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PackArguments {
    /// The folder that holds APP.md, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The file to write; SLUG-VERSION.tar here if absent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn pack(global: &Global, own: &PackArguments, output: &Output) -> Result<ExitCode, Fault> {
    let (package, place) = packages::sound(global, &own.package)?;
    let from = packages::path_of(global, &place)?;
    let manifest = package.manifest();
    let path = own.output.clone().unwrap_or_else(|| packages::packed_name(manifest));
    if is_inside(new_file::folder_of(&path), &from) {
        let message = format!("{} would be a file of the package itself", path.display());
        return Err(ErrorReport::new(ErrorCode::Usage, message).suggest("name another place with --output").into());
    }
    let digest = package.digest()?;
    let bytes = match global.dry_run {
        true => {
            let mut bytes = Vec::new();
            write(&package, &mut bytes, &path)?;
            new_file::preview(&path, &bytes)?;
            bytes.len() as u64
        }
        false => keep(&package, &path)?,
    };
    output.done(Done::changed(global.line.elsewhere(["check", &path.display().to_string()])));
    let result = PackAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        path: path.display().to_string(),
        bytes,
        digest: digest.to_string(),
        dry_run: global.dry_run,
    };
    output.answer("pack", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the file and gives its size.
fn keep(package: &Package, path: &Path) -> Result<u64, Fault> {
    let mut file = NewFile::begin(path)?;
    write(package, file.writer(), path)?;
    // What was written is read as anybody will read it: a package that changed meanwhile is no package.
    let bounds = PackageBounds::default();
    if Source::packed(file.reopen()?, &bounds)?.digest(&bounds)? != package.digest()? {
        return Err(Fault::new(ErrorCode::Conflict, "the package changed while it was packed"));
    }
    file.keep()
}

pub(super) fn write(package: &Package, to: &mut dyn Write, path: &Path) -> Result<(), Fault> {
    package.pack(to).map_err(|error| match error {
        PackError::Package(error) => error.into(),
        PackError::Io(error) => Fault::file(path, &error),
    })
}

#[expect(clippy::disallowed_methods, reason = "two paths that the caller named are compared without links")]
fn is_inside(folder: &Path, package: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| package.canonicalize().is_ok_and(|package| folder.starts_with(package)))
}
