//! Signatures in a repository: manifests that say which manifest they are about. Registries that keep lists of them are asked for the list;
//! in others the list is an index under the tag `sha256-…` of what it is about (OCI distribution specification 1.1, "referrers tag
//! schema"), which is read always, because it is what copies carry.

use super::bundle::{BUNDLE, BUNDLE_BYTES_MAX, SIGNED, predicate_type};
use crate::artifact::{ArtifactError, held, json};
use crate::documents::{Descriptor, INDEX, Index, MANIFEST, Manifest};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use crate::repository::Repository;
use hutch_model::sha256::Sha256;
use serde_json::Value;
use std::collections::BTreeMap;

const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const EMPTY_TEXT: &[u8] = b"{}";
/// The most signatures of one package that are looked at.
const SIGNATURES_MAX: usize = 64;
/// The most entries of lists that do not say of what kind they are: each is asked for to find out.
const UNKNOWN_MAX: usize = 256;
/// How often a list is written again that another program wrote meanwhile.
const TRIES: usize = 3;

/// What says in a list that it is a signature of a manifest, and what does not say of what kind it is: lists of others may leave that to the
/// manifest. Each once, and counted as it comes. How much else is said about a manifest is no matter, or anybody who may say something could
/// hide them.
#[derive(Default)]
pub(crate) struct Referrers(Vec<Referrer>);

struct Referrer {
    digest: Sha256,
    /// Whether it says that it is a signature.
    says_so: bool,
}

impl Referrers {
    /// Whether an entry is a signature, or may be one.
    pub(crate) fn is_meant(entry: &Descriptor) -> bool {
        entry.media_type == MANIFEST && kind(entry).is_none_or(|kind| kind == BUNDLE)
    }

    /// Takes an entry in, if it is meant.
    ///
    /// # Errors
    /// There are more than are looked at.
    pub(crate) fn take(&mut self, entry: &Descriptor) -> Result<(), ArtifactError> {
        if Referrers::is_meant(entry) && !self.holds(entry.digest) {
            self.0.push(Referrer { digest: entry.digest, says_so: kind(entry).is_some() });
            let signatures = self.0.iter().filter(|known| known.says_so).count();
            few("signatures of the package", signatures, SIGNATURES_MAX)?;
            let unknown = self.0.len() - signatures;
            few("things about the package that do not say what they are", unknown, UNKNOWN_MAX)?;
        }
        Ok(())
    }

    fn holds(&self, digest: Sha256) -> bool {
        self.0.iter().any(|known| known.digest == digest)
    }
}

impl Repository {
    /// Keeps a bundle as one about this manifest. Whether it was not there before.
    ///
    /// # Errors
    /// The repository refuses.
    pub fn attach(&self, subject: &[u8], bundle: &[u8]) -> Result<bool, RegistryError> {
        let _turn = self.turn()?;
        let about = Descriptor::of(MANIFEST, subject);
        let (config, layer) = (Descriptor::of(EMPTY, EMPTY_TEXT), Descriptor::of(BUNDLE, bundle));
        let says = predicate_type(bundle).unwrap_or_else(|| SIGNED.to_owned());
        let annotations =
            [("dev.sigstore.bundle.content", "dsse-envelope"), ("dev.sigstore.bundle.predicateType", says.as_str())]
                .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let manifest = json(&Manifest {
            schema_version: 2,
            media_type: MANIFEST.to_owned(),
            artifact_type: Some(BUNDLE.to_owned()),
            config: config.clone(),
            layers: vec![layer.clone()],
            subject: Some(about.clone()),
            annotations: BTreeMap::from(annotations.clone()),
        })?;
        let mut entry = Descriptor::of(MANIFEST, &manifest);
        entry.artifact_type = Some(BUNDLE.to_owned());
        entry.annotations = BTreeMap::from(annotations);
        let mut known = self.referrers(about.digest)?;
        if known.holds(entry.digest) {
            return Ok(false);
        }
        // One more than are looked at would be in the way of all.
        known.take(&entry)?;
        self.put_blob(&config, EMPTY_TEXT)?;
        self.put_blob(&layer, bundle)?;
        self.put_manifest(&entry.digest.to_string(), MANIFEST, &manifest)?;
        if self.listed(about.digest)?.holds(entry.digest) {
            return Ok(true);
        }
        let tag = fallback(about.digest);
        if self.tagged(about.digest)?.is_none() && self.manifest(&tag)?.is_some_and(|bytes| bytes != subject) {
            return Err(RegistryError::ListTaken(tag));
        }
        let is_listed = |listed: &Index| listed.descriptors().any(|known| known.digest == entry.digest);
        for _ in 0..TRIES {
            let mut listed = self.tagged(about.digest)?.unwrap_or_default();
            if is_listed(&listed) {
                return Ok(true);
            }
            listed.put(entry.clone(), None)?;
            self.put_manifest(&tag, INDEX, &json(&listed)?)?;
        }
        match self.tagged(about.digest)?.is_some_and(|listed| is_listed(&listed)) {
            true => Ok(true),
            false => Err(RegistryError::Raced(tag)),
        }
    }

    /// The bundles about a manifest.
    ///
    /// # Errors
    /// What is listed can't be had, or is not what its digest names.
    pub fn bundles(&self, subject: Sha256) -> Result<Vec<Vec<u8>>, RegistryError> {
        let mut found = Vec::new();
        for Referrer { digest, says_so } in self.referrers(subject)?.0 {
            let name = digest.to_string();
            let bytes = self.manifest(&name)?.ok_or_else(|| RegistryError::Missing(format!("signature {name}")))?;
            let announced = Sha256::of(&bytes);
            if announced != digest {
                let (found, announced) = (announced.to_string(), name);
                return Err(ArtifactError::Digest { what: "signature's manifest", found, announced }.into());
            }
            let manifest: Manifest = match parsed("signature's manifest", &bytes) {
                Ok(manifest) => manifest,
                // Somebody else's, who does not even say that it is a signature.
                Err(_) if !says_so => continue,
                Err(error) => return Err(error.into()),
            };
            let is_about = manifest.subject.is_some_and(|about| about.digest == subject);
            match manifest.layers.as_slice() {
                [layer] if is_about && layer.media_type == BUNDLE => {
                    held("signature", layer.size, BUNDLE_BYTES_MAX)?;
                    few("signatures of the package", found.len() + 1, SIGNATURES_MAX)?;
                    found.push(self.blob(layer, "signature")?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// What both lists name.
    fn referrers(&self, subject: Sha256) -> Result<Referrers, RegistryError> {
        let mut found = self.listed(subject)?;
        if let Some(tagged) = self.tagged(subject)? {
            tagged.descriptors().try_for_each(|entry| found.take(&entry))?;
        }
        Ok(found)
    }

    /// What the repository itself lists.
    fn listed(&self, subject: Sha256) -> Result<Referrers, RegistryError> {
        match self {
            Repository::Remote(remote) => remote.listed(subject, BUNDLE),
            Repository::Layout(layout) => layout.listed(subject),
        }
    }

    /// The list under the tag. It need not say that it is one. Some registries answer with what it is about instead: that is no list.
    fn tagged(&self, subject: Sha256) -> Result<Option<Index>, RegistryError> {
        let Some(bytes) = self.manifest(&fallback(subject))? else { return Ok(None) };
        if Sha256::of(&bytes) == subject {
            return Ok(None);
        }
        let found: Value = parsed("list of signatures", &bytes)?;
        match (found.get("mediaType").unwrap_or(&Value::Null), found.get("manifests")) {
            (Value::String(kind), _) if kind == INDEX => {}
            (Value::Null, Some(_)) => {}
            _ => return Ok(None),
        }
        // It is there once at a time.
        drop(found);
        Ok(Some(parsed("list of signatures", &bytes)?))
    }
}

/// Of what kind an entry says that it is.
fn kind(entry: &Descriptor) -> Option<&str> {
    entry.artifact_type.as_deref().filter(|kind| !kind.is_empty())
}

fn few(what: &'static str, count: usize, max: usize) -> Result<(), ArtifactError> {
    if count > max { Err(ArtifactError::TooMany { what, count, max }) } else { Ok(()) }
}

fn fallback(subject: Sha256) -> String {
    format!("sha256-{}", subject.hex())
}
