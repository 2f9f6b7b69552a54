//! Signatures in a repository: manifests that say which manifest they are about. Registries that keep lists of them are asked for the list;
//! in others the list is an index under the tag `sha256-…` of what it is about (OCI distribution specification 1.1, "referrers tag
//! schema"), which is read always, because it is what copies carry.

use super::bundle::{BUNDLE, BUNDLE_BYTES_MAX, SIGNED, predicate_type};
use crate::artifact::{ArtifactError, held, json};
use crate::documents::{Descriptor, INDEX, Index, MANIFEST, Manifest};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use crate::repository::Repository;
use crate::sha256::Sha256;
use std::collections::BTreeMap;

const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const EMPTY_TEXT: &[u8] = b"{}";
/// The most signatures of one package that are looked at.
const SIGNATURES_MAX: usize = 64;
/// How often a list is written again that another program wrote meanwhile.
const TRIES: usize = 3;

impl Repository {
    /// Keeps a bundle as one about this manifest. Whether it was not there before.
    ///
    /// # Errors
    /// The repository refuses.
    pub fn attach(&self, subject: &[u8], bundle: &[u8]) -> Result<bool, RegistryError> {
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
        if self.referrers(about.digest)?.iter().any(|known| known.digest == entry.digest) {
            return Ok(false);
        }
        self.put_blob(&config, EMPTY_TEXT)?;
        self.put_blob(&layer, bundle)?;
        self.put_manifest(&entry.digest.to_string(), MANIFEST, &manifest)?;
        let is_listed = |listed: &[Descriptor]| listed.iter().any(|known| known.digest == entry.digest);
        if self.listed(about.digest)?.is_some_and(|listed| is_listed(&listed)) {
            return Ok(true);
        }
        let tag = fallback(about.digest);
        for _ in 0..TRIES {
            let mut listed = self.tagged(about.digest)?.unwrap_or_default();
            if is_listed(&listed) {
                return Ok(true);
            }
            listed.push(entry.clone());
            self.put_manifest(&tag, INDEX, &json(&Index::new(listed))?)?;
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
        for entry in self.referrers(subject)? {
            // Lists of others may leave the type to the manifest.
            if entry.artifact_type.as_deref().is_some_and(|kind| kind != BUNDLE) {
                continue;
            }
            let name = entry.digest.to_string();
            let bytes = self.manifest(&name)?.ok_or_else(|| RegistryError::Missing(format!("signature {name}")))?;
            let announced = Sha256::of(&bytes);
            if announced != entry.digest {
                let (found, announced) = (announced.to_string(), name);
                return Err(ArtifactError::Digest { what: "signature's manifest", found, announced }.into());
            }
            let manifest: Manifest = parsed("signature's manifest", &bytes)?;
            let is_about = manifest.subject.is_some_and(|about| about.digest == subject);
            match manifest.layers.as_slice() {
                [layer] if is_about && layer.media_type == BUNDLE => {
                    held("signature", layer.size, BUNDLE_BYTES_MAX)?;
                    found.push(self.blob(layer, "signature")?);
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// What says that it is about a manifest, from both lists.
    fn referrers(&self, subject: Sha256) -> Result<Vec<Descriptor>, RegistryError> {
        let mut found: Vec<Descriptor> = Vec::new();
        let listed = self.listed(subject)?.into_iter().chain(self.tagged(subject)?).flatten();
        for entry in listed.filter(|entry| entry.media_type == MANIFEST) {
            if !found.iter().any(|known| known.digest == entry.digest) {
                found.push(entry);
            }
        }
        held("list of signatures", found.len() as u64, SIGNATURES_MAX as u64)?;
        Ok(found)
    }

    fn listed(&self, subject: Sha256) -> Result<Option<Vec<Descriptor>>, RegistryError> {
        match self {
            Repository::Remote(remote) => remote.listed(subject),
            Repository::Layout(layout) => layout.listed(subject).map(Some),
        }
    }

    /// The list under the tag. Some registries answer with what it is about instead: that is no list.
    fn tagged(&self, subject: Sha256) -> Result<Option<Vec<Descriptor>>, RegistryError> {
        let Some(bytes) = self.manifest(&fallback(subject))? else { return Ok(None) };
        let kind: serde_json::Value = parsed("list of signatures", &bytes)?;
        match kind.get("mediaType").and_then(serde_json::Value::as_str) {
            Some(INDEX) => Ok(Some(parsed::<Index>("list of signatures", &bytes)?.manifests)),
            _ => Ok(None),
        }
    }
}

fn fallback(subject: Sha256) -> String {
    format!("sha256-{}", subject.hex())
}
