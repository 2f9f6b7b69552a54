//! `hutch sign` and `hutch signatures`: who vouches for a package.

use crate::arguments::Global;
use crate::done::Done;
use crate::fault::Fault;
use crate::network::{self, Fetched, NetworkArguments};
use crate::new_file::{self, NewFile};
use crate::output::Output;
use crate::signed::{self, Signed};
use crate::{human, packages};
use clap::Args;
use hutch::package::Package;
use hutch_registry::{PrivateKey, Reference, Verdict};
use serde_json::json;
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
    #[command(flatten)]
    network: NetworkArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SignaturesArguments {
    /// A packed file, a folder, an installed package, or oci://HOST/REPOSITORY:TAG
    #[arg(value_name = "PACKAGE")]
    package: PathBuf,
    /// A public key; one of those that are named must have signed
    #[arg(long = "key", value_name = "KEYFILE")]
    keys: Vec<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
}

/// Signs what is there, once for each key.
pub(super) fn sign(global: &Global, own: &SignArguments, output: &Output) -> Result<ExitCode, Fault> {
    let text = network::small_file(global, &own.key)?;
    let key = PrivateKey::from_pem(&text).map_err(|error| Fault::usage(format!("--key: {error}")))?;
    let reference = network::reference(&own.package)?;
    let (package, place, changed) = match &reference {
        Some(reference) => sign_there(global, own, reference, &key)?,
        None => sign_here(global, own, &key)?,
    };
    if changed && !global.dry_run {
        output.done(Done::changed(global.line.elsewhere(["signatures", &own.package.display().to_string()])));
    }
    let manifest = package.manifest();
    let result = json!({
        "slug": manifest.slug().as_str(),
        "version": manifest.version().to_string(),
        "digest": package.digest()?.to_string(),
        "key": key.public().hint(),
        "place": place,
        "changed": changed,
        "dry_run": global.dry_run,
    });
    output.answer("sign", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}

fn has_signed(verdicts: &[Verdict]) -> bool {
    verdicts.iter().any(|verdict| verdict.signer().is_some())
}

/// The signature goes into the repository, as one about the package.
fn sign_there(
    global: &Global,
    own: &SignArguments,
    reference: &Reference,
    key: &PrivateKey,
) -> Result<(Package, String, bool), Fault> {
    let fetched = Fetched::get(global, &own.network, reference)?;
    let package = fetched.package(global)?;
    let place = fetched.reference.to_string();
    if has_signed(&Signed::fetched(&fetched).verdicts(&[key.public()])) {
        return Ok((package, place, false));
    }
    let (artifact, packed) = signed::made(&package)?;
    if artifact.digest() != fetched.manifest {
        return Err(Fault::usage(format!("{place} was pushed by another version of hutch; push it again to sign it")));
    }
    let bundle = bundle(&package, &artifact, &packed, key)?;
    if !global.dry_run {
        let repository = network::open(global, &own.network, reference, true)?;
        repository.attach(artifact.manifest(), &bundle).map_err(network::fault)?;
    }
    Ok((package, place, true))
}

/// The signature goes into a file: beside a packed file, else where pack would write one.
fn sign_here(global: &Global, own: &SignArguments, key: &PrivateKey) -> Result<(Package, String, bool), Fault> {
    let (package, place) = packages::sound(global, &own.package)?;
    let (artifact, packed) = signed::made(&package)?;
    let found_at = packages::named_path(global, &place)?;
    let path = signed::of_local(&package, &found_at);
    if has_signed(&Signed::local(global, &package, &found_at)?.verdicts(&[key.public()])) {
        return Ok((package, path.display().to_string(), false));
    }
    let bundle = bundle(&package, &artifact, &packed, key)?;
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
    artifact: &hutch_registry::Artifact,
    packed: &[u8],
    key: &PrivateKey,
) -> Result<Vec<u8>, Fault> {
    hutch_registry::sign(artifact, packed, package.manifest(), key).map_err(|error| Fault::host(error.to_string()))
}

/// Checks every signature. Nobody is asked whom to believe: the keys are named.
pub(super) fn signatures(global: &Global, own: &SignaturesArguments, output: &Output) -> Result<ExitCode, Fault> {
    let keys = signed::keys(global, &own.keys)?;
    let (package, signed) = match network::reference(&own.package)? {
        Some(reference) => {
            let fetched = Fetched::get(global, &own.network, &reference)?;
            (fetched.package(global)?, Signed::fetched(&fetched))
        }
        None => {
            let (package, place) = packages::whole_files(global, &own.package)?;
            let signed = Signed::local(global, &package, &packages::named_path(global, &place)?)?;
            (package, signed)
        }
    };
    signed.required(&keys)?;
    let manifest = package.manifest();
    let result = json!({
        "slug": manifest.slug().as_str(),
        "version": manifest.version().to_string(),
        "digest": package.digest()?.to_string(),
        "signatures": signed::told(&signed.verdicts(&keys)),
    });
    output.answer("signatures", result, human::fields)?;
    Ok(ExitCode::SUCCESS)
}
