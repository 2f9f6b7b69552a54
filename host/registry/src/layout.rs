//! An OCI image layout: a repository as a folder (OCI image specification 1.1, image-layout.md), as `skopeo copy … oci:FOLDER:TAG` and
//! `oras --oci-layout` read and write it. It needs no network, and goes where a stick goes.

use crate::artifact::{ArtifactError, MANIFEST_BYTES_MAX, held, json};
use crate::documents::{Descriptor, Index, Manifest};
use crate::failure::RegistryError;
use crate::pulled::parsed;
use crate::signature::{BUNDLE, Referrers};
use cap_std::fs::{Dir, OpenOptions};
use hutch_model::sha256::Sha256;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::time::Duration;

const MARKER: &str = "oci-layout";
const MARKER_TEXT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
const INDEX: &str = "index.json";
/// Who holds this locked is the one who writes. It stays: a lock on what is replaced or taken away would keep nobody out.
const LOCK: &str = "index.json.lock";
const BLOBS: &str = "blobs/sha256";
/// The most bytes of a manifest that may be about another one: each of them is read to find out.
const REFERRER_BYTES_MAX: u64 = 64 << 10;
/// The most bytes of all that are read for that, by what the index says: an index of 4 MiB lists some twenty thousand, of a thousand each.
const REFERRERS_BYTES_MAX: u64 = 32 << 20;

/// A folder of artifacts.
#[derive(Debug)]
pub struct Layout {
    dir: Dir,
    path: String,
    wait: Duration,
}

/// The right to write into a folder; it ends with the value.
#[derive(Debug)]
pub(crate) struct Turn {
    _file: File,
}

impl Layout {
    /// The layout in a folder, which `path` is in messages. A folder without anything in it becomes one when something is put there. Others
    /// who write into it are waited for, at most so long.
    pub fn new(dir: Dir, path: &str, wait: Duration) -> Layout {
        Layout { dir, path: path.to_owned(), wait }
    }

    /// Waits until nobody else writes into the folder. What is looked at after that stays as it is: that a tag is free, and what the
    /// index lists. Who reads waits for nobody, since the index is replaced as a whole.
    pub(crate) fn turn(&self) -> Result<Turn, RegistryError> {
        let opened = self.dir.open_with(LOCK, OpenOptions::new().write(true).create(true));
        let file = opened.map_err(|source| self.failed(LOCK, source))?.into_std();
        match file.try_lock() {
            Ok(()) => return Ok(Turn { _file: file }),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(self.failed(LOCK, source)),
        }
        let (sender, receiver) = mpsc::sync_channel(1);
        // Nothing but another thread can give up on a lock. One that still waits ends with the program.
        let locking = std::thread::Builder::new().name("lock".to_owned()).spawn(move || {
            // The receiver may have given up.
            let _ = sender.send(file.lock().map(|()| file));
        });
        locking.map_err(|source| self.failed(LOCK, source))?;
        match receiver.recv_timeout(self.wait) {
            Ok(Ok(file)) => Ok(Turn { _file: file }),
            Ok(Err(source)) => Err(self.failed(LOCK, source)),
            Err(_) => Err(RegistryError::Locked { path: format!("{}/{LOCK}", self.path), wait: self.wait }),
        }
    }

    /// What has a name here. A name without its manifest is no free name: something is lost.
    pub(crate) fn manifest(&self, name: &str) -> Result<Option<Vec<u8>>, RegistryError> {
        let (digest, is_listed) = match name.parse() {
            Ok(digest) => (digest, false),
            Err(_) => match self.index()?.tagged(name)? {
                Some(entry) => (entry.digest, true),
                None => return Ok(None),
            },
        };
        let found = self.read(&at(digest), "manifest", MANIFEST_BYTES_MAX)?;
        // What is asked for by its digest may be listed, too.
        match found.is_none() && (is_listed || self.index()?.descriptors().any(|entry| entry.digest == digest)) {
            true => Err(self.lost("manifest", digest)),
            false => Ok(found),
        }
    }

    pub(crate) fn blob(&self, named: &Descriptor, what: &'static str) -> Result<Vec<u8>, RegistryError> {
        self.read(&at(named.digest), what, named.size)?.ok_or_else(|| self.lost(what, named.digest))
    }

    /// Whether it was not there before. What stands in its place is replaced.
    pub(crate) fn put_blob(&self, named: &Descriptor, bytes: &[u8]) -> Result<bool, RegistryError> {
        let path = at(named.digest);
        if matches!(self.read(&path, "blob", named.size), Ok(Some(found)) if found == bytes) {
            return Ok(false);
        }
        self.dir.create_dir_all(BLOBS).map_err(|source| self.failed(BLOBS, source))?;
        self.write(&path, bytes)?;
        Ok(true)
    }

    /// Puts a manifest there, in the caller's turn.
    pub(crate) fn put_manifest(&self, name: &str, kind: &str, bytes: &[u8]) -> Result<(), RegistryError> {
        let entry = Descriptor::of(kind, bytes);
        self.put_blob(&entry, bytes)?;
        let mut index = self.index()?;
        index.put(entry, name.parse::<Sha256>().is_err().then_some(name))?;
        self.write(MARKER, MARKER_TEXT)?;
        self.write(INDEX, &json(&index)?)
    }

    /// What the index lists and says that it is about a manifest, each as what it says of itself. What is listed as something else than a
    /// signature is not read. What can't be read and is not listed as one is somebody else's.
    pub(crate) fn listed(&self, subject: Sha256) -> Result<Referrers, RegistryError> {
        let (mut found, mut seen, mut announced) = (Referrers::default(), BTreeSet::new(), 0);
        let is_meant = |entry: &Descriptor| Referrers::is_meant(entry) && entry.size <= REFERRER_BYTES_MAX;
        for mut entry in self.index()?.descriptors().filter(is_meant) {
            if !seen.insert(entry.digest) {
                continue;
            }
            announced += entry.size;
            held("sum of what may be signatures", announced, REFERRERS_BYTES_MAX)?;
            let bytes = match self.read(&at(entry.digest), "manifest", entry.size) {
                Ok(Some(bytes)) => bytes,
                Err(error) if entry.artifact_type.as_deref() == Some(BUNDLE) => return Err(error),
                Ok(None) | Err(_) => continue,
            };
            let Ok(manifest) = parsed::<Manifest>("manifest", &bytes) else { continue };
            if manifest.subject.is_some_and(|about| about.digest == subject) {
                entry.artifact_type = entry.artifact_type.or(manifest.artifact_type);
                // Its digest is held against its bytes when it is asked for.
                found.take(&entry)?;
            }
        }
        Ok(found)
    }

    /// The names that things have here.
    pub(crate) fn tags(&self) -> Result<Vec<String>, RegistryError> {
        Ok(self.index()?.tags().map(str::to_owned).collect())
    }

    /// What the index lists.
    fn index(&self) -> Result<Index, RegistryError> {
        match self.read(INDEX, "index", MANIFEST_BYTES_MAX)? {
            Some(bytes) => Ok(parsed("index", &bytes)?),
            None => Ok(Index::default()),
        }
    }

    /// A file of at most so many bytes, if it is there. A link is followed within the folder, as build systems lay blobs out.
    fn read(&self, path: &str, what: &'static str, bytes_max: u64) -> Result<Option<Vec<u8>>, RegistryError> {
        let no_file = |found| ArtifactError::NoFile { what, path: format!("{}/{path}", self.path), found };
        let found = match self.dir.metadata(path) {
            Ok(found) => found,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            // What is no error of the system's keeps the way within the folder.
            Err(error) if error.raw_os_error().is_none() || self.is_link(path) => {
                return Err(no_file("a link that leads nowhere in it").into());
            }
            Err(source) => return Err(self.failed(path, source)),
        };
        if !found.is_file() {
            return Err(no_file(if found.is_dir() { "a folder" } else { "a pipe or a device" }).into());
        }
        held(what, found.len(), bytes_max)?;
        let mut bytes = Vec::new();
        let read = self.dir.open(path).and_then(|file| file.take(bytes_max + 1).read_to_end(&mut bytes));
        read.map_err(|source| self.failed(path, source))?;
        held(what, bytes.len() as u64, bytes_max)?;
        Ok(Some(bytes))
    }

    fn is_link(&self, path: &str) -> bool {
        self.dir.symlink_metadata(path).is_ok_and(|found| found.is_symlink())
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

    fn lost(&self, what: &'static str, named: Sha256) -> RegistryError {
        ArtifactError::Lost { what, named: named.to_string(), place: self.path.clone() }.into()
    }

    fn failed(&self, path: &str, source: io::Error) -> RegistryError {
        RegistryError::Folder { path: format!("{}/{path}", self.path), source }
    }
}

/// Where a blob is.
fn at(digest: Sha256) -> String {
    format!("{BLOBS}/{}", digest.hex())
}
