//! A repository, in a registry or in a folder, and what is done with one: a package is pushed whole and named last, so that nobody finds
//! half of one; and pulled in the order of its parts, each checked before the next is asked for.

use crate::artifact::{Artifact, ArtifactError};
use crate::documents::{Descriptor, MANIFEST, WASM, WASM_CONFIG};
use crate::failure::RegistryError;
use crate::layout::{Layout, Turn};
use crate::pulled::{Head, Texts, whole};
use crate::reference::Reference;
use crate::remote::Remote;
use hutch_model::sha256::Sha256;
use std::collections::BTreeSet;

/// Where artifacts are.
#[derive(Debug)]
pub enum Repository {
    /// In a registry.
    Remote(Remote),
    /// In a folder on this machine.
    Layout(Layout),
}

/// What a push did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// Bytes that were sent; what was there already was not.
    pub bytes: u64,
    /// Whether the tag names something else than before.
    pub is_new: bool,
}

impl Repository {
    /// Pushes a package under the tag that the reference has.
    ///
    /// # Errors
    /// The repository refuses, or the tag names something else and may not be overwritten.
    pub fn push(&self, artifact: &Artifact, to: &Reference, overwrite: bool) -> Result<Pushed, RegistryError> {
        let _turn = self.turn()?;
        let digest = artifact.digest();
        let tag = to.tag.clone().unwrap_or_else(|| digest.to_string());
        let (before, is_lost) = match self.manifest(&tag) {
            // It is put there again by who has it, and is in nobody else's way any less.
            Err(RegistryError::Artifact(ArtifactError::Lost { named, .. })) => (named.parse().ok(), true),
            found => (found?.map(|bytes| Sha256::of(&bytes)), false),
        };
        if let Some(found) = before.filter(|found| *found != digest && !overwrite) {
            return Err(RegistryError::TagTaken {
                reference: to.to_string(),
                found: found.to_string(),
                pushed: digest.to_string(),
            });
        }
        let mut bytes = 0;
        for (kind, part) in [(WASM, artifact.layer()), (WASM_CONFIG, artifact.config())] {
            if self.put_blob(&Descriptor::of(kind, part), part)? {
                bytes += part.len() as u64;
            }
        }
        let is_new = before != Some(digest) || is_lost;
        if is_new {
            self.put_manifest(&tag, MANIFEST, artifact.manifest())?;
            bytes += artifact.manifest().len() as u64;
            // Registries have no way to say "only if nobody else did"; so it is looked at what came of it.
            if self.manifest(&tag)?.as_deref() != Some(artifact.manifest()) {
                return Err(RegistryError::Raced(to.to_string()));
            }
        }
        Ok(Pushed { bytes, is_new })
    }

    /// The tags that there are, each once, sorted. Those that other programs make of digests are left out.
    ///
    /// # Errors
    /// There is no such repository, or it has more tags than are read.
    pub fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let tags = match self {
            Repository::Remote(remote) => remote.tags()?,
            Repository::Layout(layout) => layout.tags()?,
        };
        // Lists of signatures, and cosign's signatures.
        let tags: BTreeSet<String> = tags.into_iter().filter(|tag| !tag.starts_with("sha256-")).collect();
        Ok(tags.into_iter().collect())
    }

    /// What a reference names.
    ///
    /// # Errors
    /// Nothing has this name, or no package.
    pub fn head(&self, reference: &Reference) -> Result<Head, RegistryError> {
        let missing = || RegistryError::Missing(reference.to_string());
        let name = reference.name().ok_or_else(missing)?;
        let bytes = self.manifest(&name)?.ok_or_else(missing)?;
        Ok(Head::read(&bytes, reference.digest)?)
    }

    /// Everything in a package but its component.
    ///
    /// # Errors
    /// It can't be had, or is not the one that was announced.
    pub fn texts(&self, head: Head) -> Result<Texts, RegistryError> {
        let config = self.blob(&head.config, "config")?;
        Ok(head.texts(&config)?)
    }

    /// The whole package, as one packed file.
    ///
    /// # Errors
    /// The component can't be had, or what comes out is not the package that was announced.
    pub fn packed(&self, texts: &Texts) -> Result<Vec<u8>, RegistryError> {
        let layer = self.blob(&texts.head().layer, "component")?;
        Ok(texts.packed(&layer)?)
    }

    /// The right to write, where it can be had: in a folder. Registries give it to nobody.
    pub(crate) fn turn(&self) -> Result<Option<Turn>, RegistryError> {
        match self {
            Repository::Remote(_) => Ok(None),
            Repository::Layout(layout) => layout.turn().map(Some),
        }
    }

    pub(crate) fn manifest(&self, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        match self {
            Repository::Remote(remote) => remote.manifest(name),
            Repository::Layout(layout) => layout.manifest(name),
        }
    }

    /// The bytes that a descriptor names.
    pub(crate) fn blob(&self, named: &Descriptor, what: &'static str) -> Result<Vec<u8>, RegistryError> {
        let bytes = match self {
            Repository::Remote(remote) => remote.blob(named, what)?,
            Repository::Layout(layout) => layout.blob(named, what)?,
        };
        whole(what, &bytes, named)?;
        Ok(bytes)
    }

    /// Whether it was not there before.
    pub(crate) fn put_blob(&self, named: &Descriptor, bytes: &[u8]) -> Result<bool, RegistryError> {
        match self {
            Repository::Remote(remote) => remote.put_blob(named, bytes),
            Repository::Layout(layout) => layout.put_blob(named, bytes),
        }
    }

    pub(crate) fn put_manifest(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        match self {
            Repository::Remote(remote) => remote.put_manifest(name, kind, bytes),
            Repository::Layout(layout) => layout.put_manifest(name, kind, bytes),
        }
    }
}
