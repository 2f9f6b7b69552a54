//! Signatures of packages as commands meet them: in a repository, or in a file beside a packed file. A broken one is never taken for none.

use crate::arguments::Global;
use crate::fault::Fault;
use crate::network::{self, Fetched, SMALL_FILE_BYTES_MAX};
use crate::packages;
use hutch::package::{PackError, Package};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{Artifact, BUNDLE_BYTES_MAX, PublicKey, RegistryError, Sha256, Verdict};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// What is signed, and what signs it.
#[derive(Debug)]
pub(crate) struct Signed {
    /// What names it: its manifest in a registry, and its packed file.
    about: Vec<Sha256>,
    bundles: Vec<Vec<u8>>,
}

impl Signed {
    /// A package on this machine, found at a path.
    pub(crate) fn local(global: &Global, package: &Package, path: &Path) -> Result<Signed, Fault> {
        let beside = of_local(package, path);
        #[expect(clippy::disallowed_methods, reason = "the file stands beside the one that the caller named")]
        let (is_file, is_there) = (beside.is_file(), beside.symlink_metadata().is_ok());
        match (is_file, is_there) {
            (true, _) => {}
            (false, false) => return Ok(Signed { about: Vec::new(), bundles: Vec::new() }),
            // What stands in the place of a signature and is none is not taken for none.
            (false, true) => {
                let message = format!("{} is no file", beside.display());
                return Err(ErrorReport::new(ErrorCode::SignatureInvalid, message).into());
            }
        }
        let bundle = network::small_file(global, &beside)?.into_bytes();
        // A package that no registry can hold has its packed file alone to be signed.
        let about = Artifact::of(package).ok().map(|artifact| artifact.digest());
        Ok(Signed { about: about.into_iter().chain([Sha256::of(&packed(package)?)]).collect(), bundles: vec![bundle] })
    }

    /// A package that was fetched, with what is kept of it there.
    pub(crate) fn fetched(fetched: &Fetched) -> Signed {
        Signed { about: vec![fetched.manifest, Sha256::of(&fetched.packed)], bundles: fetched.bundles.clone() }
    }

    /// What each signature turns out to be.
    pub(crate) fn verdicts(&self, keys: &[PublicKey]) -> Vec<Verdict> {
        self.bundles.iter().map(|bundle| hutch_registry::check(bundle, &self.about, keys)).collect()
    }

    /// The key, of these, that signed it, if one did.
    ///
    /// # Errors
    /// A signature is broken.
    pub(crate) fn by(&self, keys: &[PublicKey]) -> Result<Option<PublicKey>, Fault> {
        let verdicts = self.verdicts(keys);
        sound(&verdicts)?;
        Ok(verdicts.iter().find_map(Verdict::signer).cloned())
    }

    /// The key, of these, that signed it; none if none is asked for.
    ///
    /// # Errors
    /// A signature is broken, or none is by one of the keys.
    pub(crate) fn required(&self, keys: &[PublicKey]) -> Result<Option<PublicKey>, Fault> {
        let good = self.by(keys)?;
        if good.is_some() || keys.is_empty() {
            return Ok(good);
        }
        let verdicts = self.verdicts(keys);
        let message = match verdicts.len() {
            0 => "the package is not signed".to_owned(),
            count => format!("none of its {count} signatures is by a key that was named"),
        };
        Err(ErrorReport::new(ErrorCode::SignatureRequired, message).detail("signatures", told(&verdicts)).into())
    }
}

/// Refuses what has a broken signature.
pub(crate) fn sound(verdicts: &[Verdict]) -> Result<(), Fault> {
    let broken = verdicts.iter().find_map(|verdict| match verdict {
        Verdict::Broken { reason } => Some(reason),
        _ => None,
    });
    match broken {
        None => Ok(()),
        Some(reason) => {
            let report = ErrorReport::new(ErrorCode::SignatureInvalid, format!("a signature is broken: {reason}"));
            Err(report.detail("signatures", told(verdicts)).into())
        }
    }
}

/// Verdicts as data.
pub(crate) fn told(verdicts: &[Verdict]) -> Value {
    let one = |verdict: &Verdict| match verdict {
        Verdict::Good { key, predicate_type } => {
            json!({"verdict": "good", "key": key.hint(), "says": predicate_type})
        }
        Verdict::UnknownKey { hint } => json!({"verdict": "unknown_key", "key": hint}),
        Verdict::Certificate => json!({"verdict": "certificate", "key": null}),
        Verdict::Broken { reason } => json!({"verdict": "broken", "key": null, "reason": reason}),
    };
    verdicts.iter().map(one).collect()
}

/// The package as an artifact and as a packed file.
pub(crate) fn made(package: &Package) -> Result<(Artifact, Vec<u8>), Fault> {
    let artifact = Artifact::of(package).map_err(|error| network::fault(RegistryError::from(error)))?;
    Ok((artifact, packed(package)?))
}

fn packed(package: &Package) -> Result<Vec<u8>, Fault> {
    let mut packed = Vec::new();
    package.pack(&mut packed).map_err(|error| match error {
        PackError::Package(error) => Fault::from(error),
        PackError::Io(error) => Fault::host(error.to_string()),
    })?;
    Ok(packed)
}

/// Where the bundle of a packed file is.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sigstore.json");
    name.into()
}

/// Where the bundle of a package on this machine is: beside the packed file; of a folder, beside the one that `pack` would write.
pub(crate) fn of_local(package: &Package, path: &Path) -> PathBuf {
    match packages::is_packed(path) {
        true => beside(path),
        false => beside(&packages::packed_name(package.manifest())),
    }
}

/// Public keys in files that the operator named.
pub(crate) fn keys(global: &Global, paths: &[PathBuf]) -> Result<Vec<PublicKey>, Fault> {
    paths.iter().map(|path| key(global, path)).collect()
}

/// One of them.
pub(crate) fn key(global: &Global, path: &Path) -> Result<PublicKey, Fault> {
    let text = network::small_file(global, path)?;
    PublicKey::from_pem(&text).map_err(|error| Fault::usage(format!("{}: {error}", path.display())))
}

// A bundle that was read whole is held to its own bound when it is checked.
const _: () = assert!(SMALL_FILE_BYTES_MAX >= BUNDLE_BYTES_MAX);
