//! What is remembered of a package between processes: everything that follows from its files and that a call needs before its guest
//! starts. A package whose files look as they did is not read again; one of which anything looks different, or could have been changed
//! without looking different, is read as if nothing were known. What is remembered lies with the compiled artifacts, under their seal.

use super::description::Description;
use super::resources::{KeptResources, Resources};
use super::{Package, PackageBounds, Source};
use hutch_folder::{Form, Stamp};
use hutch_model::contract::{CONTRACT_FILE, KeptContract};
use hutch_model::digest::{Digest, Hasher, Kind};
use hutch_model::instant::Instant;
use hutch_model::manifest::{MANIFEST_FILE, Manifest};
use hutch_model::names::PackagePath;
use hutch_model::payload::Payload;
use hutch_sandbox::ArtifactCache;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

/// After so long a package is read again, whatever it looks like.
const KEPT_NS: u64 = 24 * 3600 * 1_000_000_000;

/// Where things are remembered, and when it is now.
#[derive(Clone)]
pub struct Memory {
    cache: Arc<ArtifactCache>,
    at: Instant,
}

impl Memory {
    /// What `cache` holds. `at` is the host's clock, read before any file of a package is.
    pub fn new(cache: Arc<ArtifactCache>, at: Instant) -> Memory {
        Memory { cache, at }
    }
}

/// How much of a package is looked at before it is taken to be as it was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What a run depends on.
    Run,
    /// Every file and folder.
    All,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Remembered {
    /// How everything looked that was looked at; nothing stood where there is no stamp.
    looks: Vec<(String, Option<Stamp>)>,
    read_at_ns: u64,
    /// The name of the whole package, if all of it was looked at.
    digest: Option<Digest>,
    #[serde(with = "hutch_model::kept::bytes")]
    manifest: Vec<u8>,
    contract: Option<KeptContract>,
    component: (Digest, u64),
    payload: Payload,
    texts: Digest,
    resources: KeptResources,
}

impl Memory {
    /// The package in `source`, if it is remembered and all of it looks as it did, with the name of the whole if that was asked for.
    pub(crate) fn recall(
        &self,
        source: &Source,
        bounds: PackageBounds,
        scope: Scope,
    ) -> Option<(Package, Option<Digest>)> {
        let note = self.cache.note(&note_name(source, scope)?)?;
        let known: Remembered = postcard::from_bytes(&note).ok()?;
        let age_ns = self.at.unix_ns().checked_sub(known.read_at_ns)?;
        let manifest = Manifest::recall(&known.manifest)?;
        let bounds = bounds.asked_by(&manifest);
        let bytes: u64 = known.looks.iter().filter_map(|(_, stamp)| Some(stamp.as_ref()?.size)).sum();
        let (component_digest, component_bytes) = known.component;
        let fits = component_bytes <= bounds.component_bytes_max && bytes <= bounds.total_bytes_max;
        let same = known.looks.iter().all(|(path, stamp)| source.stamp(path).is_some_and(|now| now == *stamp));
        if age_ns >= KEPT_NS || !fits || !same {
            return None;
        }
        let resources = Resources::known(source, known.resources);
        let package = Package {
            source: source.clone(),
            bounds,
            manifest,
            description: Description::kept(known.contract),
            component: OnceLock::new(),
            component_bytes,
            component_digest,
            texts: known.texts,
            payload: known.payload,
            origin: None,
            is_carried: false,
            resources: OnceLock::from(resources),
            read_us: AtomicU64::default(),
        };
        Some((package, known.digest))
    }

    /// Remembers a package that was read after this memory's instant, unless one of its files is so young that it could be changed
    /// again and look the same, or stands behind a link. `digest` is the name of the whole, if that is to be remembered.
    pub(crate) fn keep(&self, package: &Package, digest: Option<Digest>) {
        if let Some((name, note)) = self.remembered(package, digest) {
            self.cache.keep_note(&name, note);
        }
    }

    fn remembered(&self, package: &Package, digest: Option<Digest>) -> Option<(Digest, Vec<u8>)> {
        let scope = if digest.is_some() { Scope::All } else { Scope::Run };
        let name = note_name(&package.source, scope)?;
        let looks = looks(package, scope)?;
        let settled =
            |stamp: &Stamp| stamp.is_settled(self.at.unix_ns()) && matches!(stamp.form, Form::File | Form::Folder);
        if !looks.iter().filter_map(|(_, stamp)| stamp.as_ref()).all(settled) {
            return None;
        }
        let contract = match package.description.file().ok()? {
            Some(file) => Some(KeptContract::of(file.contract())?),
            None => None,
        };
        let note = postcard::to_allocvec(&Remembered {
            looks,
            read_at_ns: self.at.unix_ns(),
            digest,
            manifest: package.manifest.keep()?,
            contract,
            component: (package.component_digest, package.component_bytes),
            payload: package.payload,
            texts: package.texts,
            resources: package.resources().ok()?.keep()?,
        });
        Some((name, note.ok()?))
    }
}

/// What is remembered of a package is found by where the package is, so that it is known before anything of it is read.
fn note_name(source: &Source, scope: Scope) -> Option<Digest> {
    let place = source.place()?;
    let mut hasher = Hasher::new(Kind::Note);
    hasher.update_part(b"package");
    hasher.update_part(env!("HUTCH_PACKAGE_RULES").as_bytes());
    hasher.update_part(&[u8::from(scope == Scope::All)]);
    hasher.update_part(&place.device.to_le_bytes());
    hasher.update_part(&place.inode.to_le_bytes());
    Some(hasher.finish())
}

/// How everything looks that is in `scope`: every file that is read, and every folder in which a new one would count. Of a packed file
/// that is the file itself.
fn looks(package: &Package, scope: Scope) -> Option<Vec<(String, Option<Stamp>)>> {
    let source = &package.source;
    if source.is_packed() {
        return Some(vec![(String::new(), source.stamp("")?)]);
    }
    let mut paths = Vec::new();
    let walked = |root: Option<&PackagePath>| {
        let walk = source.walk(root, &package.bounds);
        let paths = walk.entries.into_iter().map(|entry| entry.path.to_string());
        walk.problems.is_empty().then(|| paths.collect::<Vec<_>>())
    };
    match scope {
        Scope::All => {
            paths.push(String::new());
            paths.extend(walked(None)?);
        }
        Scope::Run => {
            let component = package.manifest.entry().component().as_str();
            paths.extend([MANIFEST_FILE, CONTRACT_FILE, component].map(str::to_owned));
            for folder in package.manifest.resources() {
                paths.push(folder.to_string());
                paths.extend(walked(Some(folder))?);
            }
        }
    }
    if !paths.iter().all(|path| folders_above(path).all(|folder| is_folder(source, folder))) {
        return None;
    }
    paths.into_iter().map(|path| source.stamp(&path).map(|stamp| (path, stamp))).collect()
}

fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Whether it is a folder itself; where nothing is, nothing can be reached through a link.
fn is_folder(source: &Source, path: &str) -> bool {
    source.stamp(path).is_some_and(|stamp| stamp.is_none_or(|stamp| stamp.form == Form::Folder))
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
