//! Signatures of packages as commands meet them: in a repository, or in a file beside a packed file. A broken one is never taken for none.

use crate::answers::Signature;
use crate::flags::global::Global;
use crate::machine::place::without_links;
use crate::package::network::{self, Fetched, SMALL_FILE_BYTES_MAX};
use crate::package::trust;
use crate::refusal::fault::Fault;
use hutch::installed::Pin;
use hutch::package::{PackError, Package};
use hutch_model::error_code::ErrorCode;
use hutch_model::error_report::ErrorReport;
use hutch_registry::{
    About, Artifact, BUNDLE_BYTES_MAX, PROVENANCE, RegistryError, Root, SIGNED, Sha256, Signer, Verdict,
};
use std::path::{Path, PathBuf};

/// What is said of a package under a signature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// That somebody vouches for it.
    Signed,
    /// How it was built.
    Built,
}

impl Says {
    const ALL: [Says; 2] = [Says::Signed, Says::Built];

    /// As statements say it.
    pub(crate) const fn predicate_type(self) -> &'static str {
        match self {
            Says::Signed => SIGNED,
            Says::Built => PROVENANCE,
        }
    }

    /// Who says it.
    pub(crate) fn who(self, verdict: &Verdict) -> Option<&Signer> {
        match self {
            Says::Signed => verdict.signer(),
            Says::Built => verdict.attester(),
        }
    }
}

/// What is signed, and what signs it.
#[derive(Debug)]
pub(crate) struct Signed {
    about: About,
    bundles: Vec<Vec<u8>>,
    root: Root,
}

impl Signed {
    /// A package on this machine, and what stands beside it.
    pub(crate) fn local(global: &Global, package: &Package, path: &Path) -> Result<Signed, Fault> {
        let mut bundles = Vec::new();
        for says in Says::ALL {
            let beside = beside(path, says);
            #[expect(clippy::disallowed_methods, reason = "the file stands beside the one that the caller named")]
            let (is_file, is_there) = (beside.is_file(), beside.symlink_metadata().is_ok());
            match (is_file, is_there) {
                (true, _) => bundles.push(network::small_file(global, &beside)?.into_bytes()),
                (false, false) => {}
                // What stands in the place of a signature and is none is not taken for none.
                (false, true) => {
                    let message = format!("{} is no file", beside.display());
                    return Err(Fault::new(ErrorCode::SignatureInvalid, message));
                }
            }
        }
        Signed::of(global, package, bundles)
    }

    /// A package that is at hand, and what signs it.
    pub(crate) fn of(global: &Global, package: &Package, bundles: Vec<Vec<u8>>) -> Result<Signed, Fault> {
        let root = trust::root(global)?;
        if bundles.is_empty() {
            return Ok(Signed { about: About::default(), bundles, root });
        }
        // A package that no registry can hold has its packed file alone to be signed.
        let manifest = Artifact::of(package).ok().map(|artifact| artifact.digest());
        let named = manifest.into_iter().chain([Sha256::of(&packed(package)?)]).collect();
        Ok(Signed { about: about(named, package), bundles, root })
    }

    /// A package that was fetched, with what is kept of it there.
    pub(crate) fn fetched(global: &Global, fetched: &Fetched, package: &Package) -> Result<Signed, Fault> {
        let named = vec![fetched.manifest, Sha256::of(&fetched.packed)];
        Ok(Signed { about: about(named, package), bundles: fetched.bundles.clone(), root: trust::root(global)? })
    }

    /// The signatures.
    pub(crate) fn bundles(&self) -> &[Vec<u8>] {
        &self.bundles
    }

    /// What each signature turns out to be.
    pub(crate) fn verdicts(&self, keys: &[Signer]) -> Vec<Verdict> {
        self.bundles.iter().map(|bundle| hutch_registry::check(bundle, &self.about, keys, &self.root)).collect()
    }

    /// The key, of these, that signed it, if one did.
    ///
    /// # Errors
    /// A signature is broken.
    pub(crate) fn by(&self, keys: &[Signer]) -> Result<Option<Signer>, Fault> {
        let verdicts = self.verdicts(keys);
        sound(&verdicts)?;
        Ok(verdicts.iter().find_map(Verdict::signer).cloned())
    }

    /// The first of these keys that says how it was built, if one does. What is broken was refused before.
    pub(crate) fn attested(&self, keys: &[Signer]) -> Option<Signer> {
        let verdicts = self.verdicts(keys);
        keys.iter().find(|key| verdicts.iter().any(|verdict| verdict.attester() == Some(*key))).cloned()
    }

    /// Whom the certificate names of what this signer says, who may mean all that are called so.
    pub(crate) fn identity(&self, by: &Signer, says: Says) -> Option<String> {
        let verdicts = self.verdicts(std::slice::from_ref(by));
        verdicts.iter().find(|verdict| says.who(verdict) == Some(by)).and_then(|verdict| match verdict {
            Verdict::Good { identity, .. } => identity.as_ref().map(ToString::to_string),
            _ => None,
        })
    }

    /// The key, of these, that signed it; none if none is asked for.
    ///
    /// # Errors
    /// A signature is broken, or none is by one of the keys.
    pub(crate) fn required(&self, keys: &[Signer]) -> Result<Option<Signer>, Fault> {
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

fn about(package_digests: Vec<Sha256>, package: &Package) -> About {
    let path = package.manifest().entry().component().to_string();
    let component = package.component().ok().map(|component| (path, Sha256::of(component)));
    About { package: package_digests, component }
}

/// A key in a pin or a lock, as it is told.
pub(crate) fn hint(pem: Option<&str>) -> Option<String> {
    pem.and_then(|pem| Signer::parse(pem).ok()).map(|key| key.name())
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
pub(crate) fn told(verdicts: &[Verdict]) -> Vec<Signature> {
    let one = |verdict: &Verdict| match verdict {
        Verdict::Good { by, identity, predicate_type } => Signature {
            verdict: "good",
            key: Some(identity.as_ref().map_or_else(|| by.name(), ToString::to_string)),
            named: identity.is_some().then(|| by.name()),
            says: Some(predicate_type.to_string()),
            ..Signature::default()
        },
        Verdict::UnknownKey { hint } => {
            Signature { verdict: "unknown_key", key: Some(hint.clone()), ..Signature::default() }
        }
        Verdict::UnknownIdentity(identity) => {
            Signature { verdict: "unknown_identity", key: Some(identity.to_string()), ..Signature::default() }
        }
        Verdict::Certificate => Signature { verdict: "certificate", ..Signature::default() },
        Verdict::Broken { reason } => {
            Signature { verdict: "broken", reason: Some(reason.to_string()), ..Signature::default() }
        }
    };
    verdicts.iter().map(one).collect()
}

/// What was found good of an installed package when it was installed.
pub(crate) fn pinned(pin: &Pin) -> Vec<Signature> {
    let said = [(&pin.signer, &pin.signed_by, Says::Signed), (&pin.attester, &pin.attested_by, Says::Built)];
    let one = |(by, identity, says): (&Option<String>, &Option<String>, Says)| {
        let (by, says) = (hint(by.as_deref())?, says.predicate_type().to_owned());
        let (key, named) = match identity {
            Some(identity) => (identity.clone(), Some(by)),
            None => (by, None),
        };
        Some(Signature { verdict: "pinned", key: Some(key), named, says: Some(says), ..Signature::default() })
    };
    said.into_iter().filter_map(one).collect()
}

/// The first bundle of each kind, of those that are kept with a package: there is room for one of each beside a file.
pub(crate) fn firsts(bundles: &[Vec<u8>]) -> impl Iterator<Item = (&Vec<u8>, Says)> {
    Says::ALL.into_iter().filter_map(|says| {
        let said = says.predicate_type();
        let bundle = bundles.iter().find(|bundle| hutch_registry::predicate_type(bundle).as_deref() == Some(said));
        bundle.map(|bundle| (bundle, says))
    })
}

/// The package as an artifact and as a packed file.
pub(crate) fn made(package: &Package) -> Result<(Artifact, Vec<u8>), Fault> {
    let artifact = Artifact::of(package).map_err(|error| network::fault(RegistryError::from(error)))?;
    Ok((artifact, packed(package)?))
}

/// The packed file.
pub(crate) fn packed(package: &Package) -> Result<Vec<u8>, Fault> {
    package.packed().map_err(|error| match error {
        PackError::Package(error) => Fault::from(error),
        PackError::Io(error) => Fault::host(error.to_string()),
    })
}

/// Where the bundle of a packed file or of a folder is: beside it, whatever it holds and wherever the call was made.
pub(crate) fn beside(path: &Path, says: Says) -> PathBuf {
    // Without a name of its own (`.`, `..`) it has the one by which others reach it.
    let path = if path.file_name().is_some() { path.components().collect() } else { without_links(path) };
    let mut name = path.into_os_string();
    name.push(match says {
        Says::Signed => ".sigstore.json",
        Says::Built => ".provenance.sigstore.json",
    });
    name.into()
}

/// Whose signatures count, by the files that the operator named.
pub(crate) fn keys(global: &Global, paths: &[PathBuf]) -> Result<Vec<Signer>, Fault> {
    paths.iter().map(|path| key(global, path)).collect()
}

/// One of them.
pub(crate) fn key(global: &Global, path: &Path) -> Result<Signer, Fault> {
    let text = network::small_file(global, path)?;
    let signer = Signer::parse(&text).map_err(|error| Fault::usage(format!("{}: {error}", path.display())))?;
    match signer {
        Signer::Identity(_) if !Root::CHECKS_CERTIFICATES => {
            let message = format!("{} names an identity, and this hutch checks no certificates", path.display());
            Err(Fault::usage(message)
                .suggest("use a hutch that is built with the feature keyless, or name a public key"))
        }
        signer => Ok(signer),
    }
}

// A bundle that was read whole is held to its own bound when it is checked.
const _: () = assert!(SMALL_FILE_BYTES_MAX >= BUNDLE_BYTES_MAX);

#[cfg(test)]
mod tests {
    use super::*;

    /// A rule may name all workflows of a repository: what is told is which of them it was.
    #[test]
    fn of_an_installed_package_is_told_who_signed_it_and_whom_the_rule_means() {
        let who = |of: &str| format!("identity https://issuer.example https://host.example/{of}");
        let pin = |signed_by: Option<String>| -> Pin {
            let asks = hutch_model::asks::Asks::default();
            serde_json::from_value(serde_json::json!({
                "slug": "todo", "version": "0.1.0", "digest": "0".repeat(64), "source": "here",
                "installed_at": "2026-04-01T09:00:00Z", "asks": asks, "signer": who("*"), "attester": who("b"),
                "signed_by": signed_by,
            }))
            .unwrap()
        };
        let told = |pin: &Pin| -> Vec<_> { pinned(pin).into_iter().map(|one| (one.key, one.named)).collect() };
        let built = (Some(who("b")), None);
        assert_eq!(told(&pin(Some(who("a")))), [(Some(who("a")), Some(who("*"))), built.clone()]);
        // As pins were written before that was asked.
        assert_eq!(told(&pin(None)), [(Some(who("*")), None), built]);
    }
}
