//! An OCI image layout: a repository as a folder (OCI image specification 1.1, image-layout.md), as `skopeo copy … oci:FOLDER:TAG` and
//! `oras --oci-layout` read and write it. It needs no network, and goes where a stick goes.

use crate::artifact::{MANIFEST_BYTES_MAX, held, json};
use crate::documents::{Descriptor, Index, MANIFEST, Manifest};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use crate::sha256::Sha256;
use cap_std::fs::{Dir, OpenOptions};
use std::collections::BTreeSet;
use std::io::{self, Read, Write};

const MARKER: &str = "oci-layout";
const MARKER_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX: &str = "index.json";
const BLOBS: &str = "blobs/sha256";
/// The most bytes of a manifest that may be about another one: each of them is read to find out.
const REFERRER_BYTES_MAX: u64 = 64 << 10;
/// How an entry of the index is tagged.
const TAG: &str = "org.opencontainers.image.ref.name";

/// A folder of artifacts.
#[derive(Debug)]
pub struct Layout {
    dir: Dir,
    path: String,
}

impl Layout {
    /// The layout in a folder, which `path` is in messages. A folder without anything in it becomes one when something is put there.
    pub fn new(dir: Dir, path: &str) -> Layout {
        Layout { dir, path: path.to_owned() }
    }

    pub(crate) fn manifest(&self, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let digest = match name.parse() {
            Ok(digest) => digest,
            Err(_) => match self.entries()?.into_iter().find(|entry| tagged(entry, name)) {
                Some(entry) => entry.digest,
                None => return Ok(None),
            },
        };
        self.read(&format!("{BLOBS}/{}", digest.hex()), "manifest", MANIFEST_BYTES_MAX)
    }

    pub(crate) fn blob(&self, named: &Descriptor, what: &'static str) -> Result<Vec<u8>, RegistryError> {
        let found = self.read(&format!("{BLOBS}/{}", named.digest.hex()), what, named.size)?;
        found.ok_or_else(|| RegistryError::Missing(format!("{what} {} in {}", named.digest, self.path)))
    }

    pub(crate) fn put_blob(&self, named: &Descriptor, bytes: &[u8]) -> Result<bool, RegistryError> {
        let name = named.digest.hex();
        let path = format!("{BLOBS}/{name}");
        if self.read(&path, "blob", named.size)?.as_deref() == Some(bytes) {
            return Ok(false);
        }
        self.dir.create_dir_all(BLOBS).map_err(|source| self.failed(BLOBS, source))?;
        self.write(&path, bytes)?;
        Ok(true)
    }

    pub(crate) fn put_manifest(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        let mut entry = Descriptor::of(kind, bytes);
        self.put_blob(&entry, bytes)?;
        let mut entries = self.entries()?;
        match name.parse::<Sha256>() {
            Ok(digest) => entries.retain(|known| known.digest != digest || known.annotations.contains_key(TAG)),
            Err(_) => {
                entries.retain(|known| !tagged(known, name));
                entry.annotations.insert(TAG.to_owned(), name.to_owned());
            }
        }
        entries.push(entry);
        self.write(MARKER, MARKER_TEXT)?;
        self.write(INDEX, &json(&Index::new(entries))?)
    }

    /// What the index lists and says that it is about a manifest.
    pub(crate) fn listed(&self, subject: Sha256) -> Result<Vec<Descriptor>, RegistryError> {
        let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
        let is_small = |entry: &Descriptor| entry.media_type == MANIFEST && entry.size <= REFERRER_BYTES_MAX;
        for entry in self.entries()?.into_iter().filter(is_small) {
            let path = format!("{BLOBS}/{}", entry.digest.hex());
            if !seen.insert(entry.digest.hex()) {
                continue;
            }
            let Some(bytes) = self.read(&path, "manifest", entry.size)? else { continue };
            let manifest: Option<Manifest> = serde_json::from_slice(&bytes).ok();
            if manifest.and_then(|manifest| manifest.subject).is_some_and(|about| about.digest == subject) {
                found.push(entry);
            }
        }
        Ok(found)
    }

    /// The names that things have here.
    pub(crate) fn tags(&self) -> Result<Vec<String>, RegistryError> {
        let entries = self.entries()?.into_iter();
        Ok(entries.filter_map(|mut entry| entry.annotations.remove(TAG)).collect())
    }

    /// What the index lists.
    fn entries(&self) -> Result<Vec<Descriptor>, RegistryError> {
        match self.read(INDEX, "index", MANIFEST_BYTES_MAX)? {
            Some(bytes) => Ok(parsed::<Index>("index", &bytes)?.manifests),
            None => Ok(Vec::new()),
        }
    }

    /// A file of at most so many bytes, if it is there. Pipes and links are none.
    fn read(&self, path: &str, what: &'static str, bytes_max: u64) -> Result<Option<Vec<u8>>, RegistryError> {
        let found = match self.dir.symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(source) => return Err(self.failed(path, source)),
        };
        if !found.is_file() {
            return Err(self.failed(path, io::Error::new(io::ErrorKind::InvalidData, "it is no file")));
        }
        held(what, found.len(), bytes_max)?;
        let mut bytes = Vec::new();
        let read = self.dir.open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
        read.map_err(|source| self.failed(path, source))?;
        held(what, bytes.len() as u64, bytes_max)?;
        Ok(Some(bytes))
    }

    /// Writes a file as a whole or not at all.
    fn write(&self, path: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        let aside = format!("{path}.{}", std::process::id());
        let written = self
            .dir
            .open_with(&aside, OpenOptions::new().write(true).create(true).truncate(true))
            .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
            .and_then(|()| self.dir.rename(&aside, &self.dir, path));
        written.map_err(|source| {
            // Only space is lost if it stays.
            let _ = self.dir.remove_file(&aside);
            self.failed(path, source)
        })
    }

    fn failed(&self, path: &str, source: io::Error) -> RegistryError {
        RegistryError::Folder { path: format!("{}/{path}", self.path), source }
    }
}

fn tagged(entry: &Descriptor, tag: &str) -> bool {
    entry.annotations.get(TAG).is_some_and(|known| known == tag)
}
