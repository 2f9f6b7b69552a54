//! `hutch sign`: who vouches for a package, and who says how it was built; keys that sign.

use super::files;
use crate::answer::done::Done;
use crate::answer::output::Output;
use crate::answers::{KeyGenerated, PackageSigned, Signing};
use crate::flags::global::Global;
use crate::machine::new_file::{self, NewFile};
use crate::package::network::{self, Fetched, NetworkArguments};
use crate::package::packages;
use crate::package::signed::{self, Says, Signed};
use crate::refusal::fault::Fault;
use crate::screen::human;
use clap::Args;
use hutch::package::{Package, PackageError};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::PackagePath;
use hutch_registry::{Artifact, NotAttested, PrivateKey, Reference, Verdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct SignArguments {
    /// A packed file, a folder, an installed package, or oci://HOST/REPOSITORY:TAG; with --output files of any kind
    #[arg(value_name = "PACKAGE", required_unless_present = "new_key")]
    packages: Vec<PathBuf>,
    /// The private key
    #[arg(long, value_name = "KEYFILE", required_unless_present = "new_key")]
    key: Option<PathBuf>,
    /// Make a key instead, and write it to this file
    #[arg(long, value_name = "KEYFILE", conflicts_with_all = ["packages", "key", "output", "build"])]
    new_key: Option<PathBuf>,
    /// Sign files as files, by their SHA-256, into this bundle
    #[arg(long, value_name = "FILE", conflicts_with = "build")]
    output: Option<PathBuf>,
    /// Sign what the record of its build says (app.wasm.provenance.json beside the component), as SLSA provenance
    #[arg(long)]
    build: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Signs what is there, or how it was built, once for each key.
pub(crate) fn sign(global: &Global, own: &SignArguments, output: &Output) -> Result<ExitCode, Fault> {
    if let Some(path) = &own.new_key {
        return generate(global, path, output);
    }
    let key = own.key.as_ref().ok_or_else(|| Fault::usage("name a key"))?;
    let text = network::small_file(global, key)?;
    let key = PrivateKey::from_pem(&text).map_err(|error| Fault::usage(format!("--key: {error}")))?;
    if let Some(path) = &own.output {
        let result = files::signed(global, &own.packages, &key, path)?;
        if result.changed && !global.dry_run {
            output.done(Done::changed(None));
        }
        return output.answer("sign", Signing::Files(result), human::fields);
    }
    let (word, says) = (only(&own.packages)?, if own.build { Says::Built } else { Says::Signed });
    let (package, place, changed) = match network::reference(word)? {
        Some(reference) => sign_there(global, own, &reference, &key, says)?,
        None => sign_here(global, word, &key, says)?,
    };
    if changed && !global.dry_run {
        output.done(Done::changed(global.line.elsewhere(["check", &word.display().to_string()])));
    }
    let manifest = package.manifest();
    let result = PackageSigned {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        digest: package.digest()?.to_string(),
        key: key.public().hint(),
        place,
        changed,
        dry_run: global.dry_run,
    };
    let told = human::sentence(&[
        "{changed!}signed already: ",
        "{changed?}{dry_run?would sign|signed} ",
        "{slug} {version} with {key}",
        "\nthe signature is {place}",
    ]);
    output.answer("sign", Signing::Package(result), told)
}

/// Makes a key that signs.
fn generate(global: &Global, path: &Path, output: &Output) -> Result<ExitCode, Fault> {
    let mut public_path = path.to_owned().into_os_string();
    public_path.push(".pub");
    let public_path = PathBuf::from(public_path);
    let pem = PrivateKey::generate().map_err(|error| Fault::host(error.to_string()))?;
    let public = PrivateKey::from_pem(&pem).map_err(|error| Fault::host(error.to_string()))?.public();
    // No key is like another, so whatever is there is another file.
    for path in [path, public_path.as_path()] {
        new_file::preview(path, b"")?;
    }
    if !global.dry_run {
        NewFile::begin_private(path)?.filled(pem.as_bytes())?;
        new_file::write(&public_path, public.to_pem().as_bytes(), false)?;
        output.done(Done::changed(None));
    }
    let result = KeyGenerated {
        path: path.display().to_string(),
        public_path: public_path.display().to_string(),
        key: if global.dry_run { None } else { Some(public.hint()) },
        dry_run: global.dry_run,
    };
    let told = human::sentence(&[
        "{dry_run?would make|made} the key {path}, which stays here",
        "\nothers trust {public_path}",
    ]);
    output.answer("sign", Signing::Key(result), told)
}

/// The package that is meant: one call signs, or checks, one.
pub(super) fn only(packages: &[PathBuf]) -> Result<&Path, Fault> {
    match packages {
        [package] => Ok(package),
        [_, more, ..] => Err(Fault::usage(format!("{} is one too many: packages come one by one", more.display()))),
        [] => Err(Fault::usage("name a package")),
    }
}

fn has_said(says: Says, verdicts: &[Verdict]) -> bool {
    verdicts.iter().any(|verdict| says.who(verdict).is_some())
}

/// The signature goes into the repository, as one about the package.
fn sign_there(
    global: &Global,
    own: &SignArguments,
    reference: &Reference,
    key: &PrivateKey,
    says: Says,
) -> Result<(Package, String, bool), Fault> {
    let fetched = Fetched::get(global, &own.network, reference)?;
    let package = fetched.package(global)?;
    let place = fetched.reference.to_string();
    if has_said(says, &Signed::fetched(global, &fetched, &package)?.verdicts(&[key.public().into()])) {
        return Ok((package, place, false));
    }
    let (artifact, packed) = signed::made(&package)?;
    if artifact.digest() != fetched.manifest {
        return Err(Fault::usage(format!("{place} was pushed by another version of hutch; push it again to sign it")));
    }
    let bundle = bundle(&package, (&artifact, &packed), key, says)?;
    if !global.dry_run {
        let repository = network::open(global, &own.network, reference, true)?;
        repository.attach(artifact.manifest(), &bundle).map_err(network::fault)?;
    }
    Ok((package, place, true))
}

/// The signature goes into a file beside the package.
fn sign_here(global: &Global, word: &Path, key: &PrivateKey, says: Says) -> Result<(Package, String, bool), Fault> {
    let (package, place) = packages::sound(global, word)?;
    let (artifact, packed) = signed::made(&package)?;
    let stands = packages::stands_beside(&package, &place);
    let path = signed::beside(&stands, says);
    if has_said(says, &Signed::local(global, &package, &stands)?.verdicts(&[key.public().into()])) {
        return Ok((package, path.display().to_string(), false));
    }
    let bundle = bundle(&package, (&artifact, &packed), key, says)?;
    new_file::write(&path, &bundle, global.dry_run)?;
    Ok((package, path.display().to_string(), true))
}

fn bundle(
    package: &Package,
    (artifact, packed): (&Artifact, &[u8]),
    key: &PrivateKey,
    says: Says,
) -> Result<Vec<u8>, Fault> {
    let manifest = package.manifest();
    if says == Says::Signed {
        return hutch_registry::sign(artifact, packed, manifest, key).map_err(|error| Fault::host(error.to_string()));
    }
    let record = format!("{}.provenance.json", manifest.entry().component());
    let is_there = package.files()?.iter().any(|entry| entry.path.as_str() == record && entry.file_bytes.is_some());
    if !is_there {
        return Err(Fault::new(ErrorCode::NotFound, format!("the package has no record of its build, {record}"))
            .suggest("let the build write one, as guest-todo/build.sh does"));
    }
    let path = PackagePath::parse(&record).map_err(|error| Fault::host(error.to_string()))?;
    let text = package.read(&path).map_err(PackageError::one)?;
    hutch_registry::attest(artifact, packed, manifest, &text, key).map_err(|error| match error {
        NotAttested::Key(error) => Fault::host(error.to_string()),
        error => ErrorReport::new(ErrorCode::PackageInvalid, format!("the record {record}: {error}"))
            .suggest("build it again; nothing is said of a build that made something else")
            .into(),
    })
}
