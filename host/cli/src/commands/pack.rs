//! `hutch pack`: a package as one file.

use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::output::Output;
use crate::packages::{self, Place};
use crate::{human, surroundings};
use clap::Args;
use hutch::check_described;
use hutch::package::{PackError, Package, PackageBounds, Source};
use hutch_model::diagnostic::Diagnostic;
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tempfile::NamedTempFile;

#[derive(Debug, Args)]
pub(crate) struct PackArguments {
    /// The folder that holds APP.md, or an installed package
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The file to write; SLUG-VERSION.tar here if absent
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file; nothing that is there is overwritten")]
pub(super) fn pack(global: &Global, own: &PackArguments, output: &Output) -> Result<ExitCode, Fault> {
    let place = packages::place(global, &own.package)?;
    let from = packages::path_of(global, &place)?;
    let mut checked = packages::checked(&from)?;
    check_described(&surroundings::host(global)?, &mut checked)?;
    let sound = !checked.diagnostics.iter().any(Diagnostic::is_error);
    let Some(package) = checked.package.filter(|_| sound) else {
        return Err(packages::refused(&global.line, &own.package, &checked.diagnostics));
    };
    if let Place::Installed(pin) = &place
        && package.digest()? != pin.digest
    {
        let message = format!("the files of {:?} are not those that were installed", pin.slug);
        return Err(Fault::new(ErrorCode::PackageChanged, message));
    }
    let manifest = package.manifest();
    let named = || PathBuf::from(format!("{}-{}.tar", manifest.slug(), manifest.version()));
    let path = own.output.clone().unwrap_or_else(named);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if is_inside(folder, &from) {
        let message = format!("{} would be a file of the package itself", path.display());
        return Err(ErrorReport::new(ErrorCode::Usage, message).suggest("name another place with --output").into());
    }
    let digest = package.digest()?;
    let bytes = match global.dry_run {
        true => {
            hutch::package::open_folder(folder).map_err(|error| Fault::file(folder, &error))?;
            let mut bytes = Vec::new();
            write(&package, &mut bytes, &path)?;
            let there = path.symlink_metadata().is_ok_and(|found| found.is_file()).then(|| std::fs::read(&path).ok());
            if path.symlink_metadata().is_ok() && there.flatten().as_ref() != Some(&bytes) {
                return Err(is_another(&path));
            }
            bytes.len() as u64
        }
        false => keep(&package, folder, &path)?,
    };
    output.done(Done::changed(global.line.elsewhere(["check", &path.display().to_string()])));
    let result = json!({
        "slug": manifest.slug().as_str(),
        "version": manifest.version().to_string(),
        "path": path.display().to_string(),
        "bytes": bytes,
        "digest": digest.to_string(),
        "dry_run": global.dry_run,
    });
    output.answer("pack", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the file as a whole or not at all, and gives its size. One that is there is left alone: the same bytes are what was asked
/// for, other bytes are somebody's.
fn keep(package: &Package, folder: &Path, path: &Path) -> Result<u64, Fault> {
    let failed = |error: &io::Error| Fault::file(path, error);
    let mut file = new_file().tempfile_in(folder).map_err(|error| failed(&error))?;
    write(package, file.as_file_mut(), path)?;
    file.as_file().sync_all().map_err(|error| failed(&error))?;
    // What was written is read as anybody will read it: a package that changed meanwhile is no package.
    let bounds = PackageBounds::default();
    let written = file.reopen().map_err(|error| failed(&error))?;
    if Source::packed(written, &bounds)?.digest(&bounds)? != package.digest()? {
        return Err(Fault::new(ErrorCode::Conflict, "the package changed while it was packed"));
    }
    let bytes = file.as_file().metadata().map_err(|error| failed(&error))?.len();
    match file.persist_noclobber(path) {
        Ok(_) => Ok(bytes),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            match is_same(&error.file, path).map_err(|error| failed(&error))? {
                true => Ok(bytes),
                false => Err(is_another(path)),
            }
        }
        Err(error) => Err(failed(&error.error)),
    }
}

fn is_another(path: &Path) -> Fault {
    let message = format!("{} is there already, and is another file", path.display());
    ErrorReport::new(ErrorCode::AlreadyExists, message).suggest("remove it, or name another with --output").into()
}

fn write(package: &Package, to: &mut dyn Write, path: &Path) -> Result<(), Fault> {
    package.pack(to).map_err(|error| match error {
        PackError::Package(error) => error.into(),
        PackError::Io(error) => Fault::file(path, &error),
    })
}

/// A new file that can be read by whom the umask lets.
fn new_file() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

#[expect(clippy::disallowed_methods, reason = "the caller named the file")]
fn is_same(written: &NamedTempFile, path: &Path) -> io::Result<bool> {
    let (one, found) = (written.reopen()?, path.symlink_metadata()?);
    // Opening anything else could wait, or follow a link.
    if !found.is_file() || found.len() != one.metadata()?.len() {
        return Ok(false);
    }
    let other = File::open(path)?;
    let (mut one, mut other) = (BufReader::new(one).bytes(), BufReader::new(other).bytes());
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one == other => {}
            _ => return Ok(false),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "two paths that the caller named are compared without links")]
fn is_inside(folder: &Path, package: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| package.canonicalize().is_ok_and(|package| folder.starts_with(package)))
}
