//! `hutch pack`: a package as one file, wherever it comes from, alone or with code that was made for one kind of host.

use super::compiled::{self, CodeArguments};
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{PackAnswer, Pulled};
use crate::flags::global::Global;
use crate::machine::new_file::{self, NewFile};
use crate::package::network::{self, Fetched, NetworkArguments};
use crate::package::packages;
use crate::package::signed::{self, Signed};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::package::{PackError, Package, PackageBounds, Source};
use hutch_model::error_code::ErrorCode;
use hutch_registry::Reference;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct PackArguments {
    /// A folder that holds APP.md, an installed package, oci://HOST/REPOSITORY:TAG or oci-layout:FOLDER:TAG, or @sha256:… in place of the tag
    #[arg(value_name = "PACKAGE")]
    pub(super) package: PathBuf,
    /// The file to write; SLUG-VERSION.tar here if absent
    #[arg(long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    #[command(flatten)]
    pub(super) code: CodeArguments,
    #[command(flatten)]
    network: NetworkArguments,
}

pub(crate) fn pack(global: &Global, own: &PackArguments, output: &Output) -> Result<ExitCode, Fault> {
    let result = match (network::reference(&own.package)?, own.code.is_asked()) {
        (Some(_), true) => {
            return Err(Fault::usage("code is made of a package that is here: pack it without code first"));
        }
        (Some(reference), false) => pulled(global, own, &reference, output)?,
        (None, true) => compiled::written(global, own, output)?,
        (None, false) => packed(global, own, output)?,
    };
    let told = human::sentence(&[
        "{dry_run?would write|wrote} {path}, {bytes} bytes of {slug} {version}",
        "\ndigest: {digest}",
    ]);
    output.answer("pack", result, told)
}

/// What is answered of a package in a file.
pub(super) fn answer(package: &Package, path: &Path, bytes: u64, global: &Global) -> Result<PackAnswer, Fault> {
    let manifest = package.manifest();
    Ok(PackAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        path: path.display().to_string(),
        bytes,
        digest: package.digest()?.to_string(),
        pulled: None,
        compiled: None,
        dry_run: global.dry_run,
    })
}

/// A package that is here.
fn packed(global: &Global, own: &PackArguments, output: &Output) -> Result<PackAnswer, Fault> {
    let (package, place) = packages::sound(global, &own.package)?;
    let from = packages::path_of(global, &place)?;
    let path = own.output.clone().unwrap_or_else(|| packages::packed_name(package.manifest()));
    if is_inside(new_file::folder_of(&path), &from) {
        let message = format!("{} would be a file of the package itself", path.display());
        return Err(Fault::usage(message).suggest("name another place with --output"));
    }
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
    answer(&package, &path, bytes, global)
}

/// A package out of a registry. Everything is held against the digests that name it; nothing is written before it is whole.
fn pulled(global: &Global, own: &PackArguments, from: &Reference, output: &Output) -> Result<PackAnswer, Fault> {
    let fetched = Fetched::get(global, &own.network, from)?;
    let package = fetched.package(global)?;
    // Whom to believe is asked when it is installed; what is broken is not brought here.
    signed::sound(&Signed::fetched(global, &fetched, &package)?.verdicts(&[]))?;
    let path = own.output.clone().unwrap_or_else(|| packages::packed_name(package.manifest()));
    // The first signature goes beside the file, where everybody looks for one, and so does the first statement of how it was built.
    let beside: Vec<(PathBuf, &Vec<u8>)> =
        signed::firsts(&fetched.bundles).map(|(bundle, says)| (signed::beside(&path, says), bundle)).collect();
    // A signature of something else there is noticed before anything is written.
    for (path, bundle) in &beside {
        new_file::preview(path, bundle)?;
    }
    new_file::write(&path, &fetched.packed, global.dry_run)?;
    for (path, bundle) in beside {
        new_file::write(&path, bundle, global.dry_run)?;
    }
    output.done(Done::changed(global.line.elsewhere(["check", &path.display().to_string()])));
    let pulled = Pulled { reference: fetched.reference.to_string(), signatures: fetched.bundles.len() };
    Ok(PackAnswer { pulled: Some(pulled), ..answer(&package, &path, fetched.packed.len() as u64, global)? })
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
