//! `hutch sign` and `signatures`: who vouches for a package, and who says how it was built.

use crate::answers::{PackageSigned, SignaturesAnswer};
use crate::done::Done;
use crate::fault::Fault;
use crate::global::Global;
use crate::network::{self, Fetched, NetworkArguments};
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::signed::{self, Says, Signed};
use crate::{human, packages};
use clap::Args;
use hutch::package::{Package, PackageError};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_model::names::PackagePath;
use hutch_registry::{Artifact, NotAttested, PrivateKey, Reference, Verdict};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(crate) struct SignArguments {
    /// A packed file, a folder, an installed package, or oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// The private key, as hutch key generate makes it
    #[arg(long, value_name = "KEYFILE")]
    key: PathBuf,
    /// Sign what the record of its build says (app.wasm.provenance.json beside the component), as SLSA provenance
    #[arg(long)]
    build: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SignaturesArguments {
    /// A packed file, a folder, an installed package, or oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// A public key or an identity; one of those that are named must have signed
    #[arg(long = "key", value_name = "KEYFILE")]
    keys: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Signs what is there, or how it was built, once for each key.
pub(crate) fn sign(global: &Global, own: &SignArguments, output: &Output) -> Result<ExitCode, Fault> {
    let says = if own.build { Says::Built } else { Says::Signed };
    let text = network::small_file(global, &own.key)?;
    let key = PrivateKey::from_pem(&text).map_err(|error| Fault::usage(format!("--key: {error}")))?;
    let reference = network::reference(&own.package)?;
    let (package, place, changed) = match &reference {
        Some(reference) => sign_there(global, own, reference, &key, says)?,
        None => sign_here(global, own, &key, says)?,
    };
    if changed && !global.dry_run {
        output.done(Done::changed(global.line.elsewhere(["signatures", &own.package.display().to_string()])));
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
    output.answer("sign", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
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
fn sign_here(
    global: &Global,
    own: &SignArguments,
    key: &PrivateKey,
    says: Says,
) -> Result<(Package, String, bool), Fault> {
    let (package, place) = packages::sound(global, &own.package)?;
    let (artifact, packed) = signed::made(&package)?;
    let stands = packages::stands_beside(&package, &place);
    let path = signed::beside(&stands, says);
    if has_said(says, &Signed::local(global, &package, &stands)?.verdicts(&[key.public().into()])) {
        return Ok((package, path.display().to_string(), false));
    }
    let bundle = bundle(&package, (&artifact, &packed), key, says)?;
    match global.dry_run {
        true => new_file::preview(&path, &bundle)?,
        false => {
            let mut file = NewFile::begin(&path)?;
            file.writer().write_all(&bundle).map_err(|error| Fault::file(&path, &error))?;
            file.keep()?;
        }
    }
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
        let report = ErrorReport::new(ErrorCode::NotFound, format!("the package has no record of its build, {record}"));
        return Err(report.suggest("let the build write one, as guest-todo/build.sh does").into());
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

/// Checks every signature. Nobody is asked whom to believe: the keys are named.
pub(crate) fn signatures(global: &Global, own: &SignaturesArguments, output: &Output) -> Result<ExitCode, Fault> {
    let keys = signed::keys(global, &own.keys)?;
    let (package, signed) = match network::reference(&own.package)? {
        Some(reference) => {
            let fetched = Fetched::get(global, &own.network, &reference)?;
            let package = fetched.package(global)?;
            let signed = Signed::fetched(global, &fetched, &package)?;
            (package, signed)
        }
        None => {
            let (package, place) = packages::whole_files(global, &own.package)?;
            let signed = Signed::local(global, &package, &packages::stands_beside(&package, &place))?;
            (package, signed)
        }
    };
    signed.required(&keys)?;
    let manifest = package.manifest();
    let result = SignaturesAnswer {
        slug: manifest.slug().to_string(),
        version: manifest.version().to_string(),
        digest: package.digest()?.to_string(),
        signatures: signed::told(&signed.verdicts(&keys)),
    };
    output.answer("signatures", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}
