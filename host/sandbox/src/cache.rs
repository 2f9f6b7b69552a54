//! Compiled artifacts on disk. An artifact is native code, so none is used unless its bytes hash to what was written beside them,
//! together with the key they were made for; anything else is as good as absent. A cache that can't be used costs time and
//! nothing else: no failure here reaches a caller.

#![allow(clippy::disallowed_methods, reason = "the surroundings are what this is about")]

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use hutch_model::digest::{Digest, Hasher, Kind};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A private folder of artifacts.
#[derive(Debug)]
pub struct ArtifactCache {
    dir: Dir,
    path: PathBuf,
}

/// Bytes of the digest that ends an entry.
const SEAL_BYTES: usize = 32;

impl ArtifactCache {
    /// The cache in this folder, which is made if need be and private to its owner. `None` if it can't be, or if others may
    /// write there.
    pub fn open(path: &Path) -> Option<ArtifactCache> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        #[allow(clippy::disallowed_methods, reason = "the one place where the cache folder is reached by its path")]
        builder.create(path).ok()?;
        let dir = Dir::open_ambient_dir(path, ambient_authority()).ok()?;
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt;
            let metadata = dir.dir_metadata().ok()?;
            if metadata.mode() & 0o022 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
                return None;
            }
        }
        Some(ArtifactCache { dir, path: path.to_owned() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The artifact made for `key`, if a whole one is here.
    pub(crate) fn get(&self, key: &Digest) -> Option<Vec<u8>> {
        let name = entry_name(key);
        if !self.dir.symlink_metadata(&name).ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        self.dir.open(&name).ok()?.read_to_end(&mut bytes).ok()?;
        let at = bytes.len().checked_sub(SEAL_BYTES)?;
        let (artifact, stored) = bytes.split_at(at);
        if seal(key, artifact).as_bytes() != stored {
            return None;
        }
        bytes.truncate(at);
        Some(bytes)
    }

    /// Keeps an artifact: written aside, then given its name, so that no reader sees half of it.
    pub(crate) fn put(&self, key: &Digest, artifact: &[u8]) {
        let name = entry_name(key);
        // One for each writer: of several processes, and of several threads of one.
        static WRITERS: AtomicU64 = AtomicU64::new(0);
        let aside = format!("{name}.{}.{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = self.dir.open_with(&aside, &options).and_then(|mut file| {
            file.write_all(artifact)?;
            file.write_all(seal(key, artifact).as_bytes())
        });
        if written.and_then(|()| self.dir.rename(&aside, &self.dir, &name)).is_err() {
            // A full disk, most likely: the next run compiles again.
            let _ = self.dir.remove_file(&aside);
        }
    }
}

fn entry_name(key: &Digest) -> String {
    format!("{key}.artifact")
}

fn seal(key: &Digest, artifact: &[u8]) -> Digest {
    let mut hasher = Hasher::new(Kind::Artifact);
    hasher.update_part(key.as_bytes());
    hasher.update_part(artifact);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_put_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(&folder.path().join("a/b")).unwrap();
        let (key, other) = (Digest::of(Kind::Artifact, b"1"), Digest::of(Kind::Artifact, b"2"));
        assert_eq!(cache.get(&key), None);
        cache.put(&key, b"native code");
        assert_eq!(cache.get(&key).as_deref(), Some(&b"native code"[..]));
        assert_eq!(cache.get(&other), None);
        let file = folder.path().join("a/b").join(entry_name(&key));
        let good = std::fs::read(&file).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(&file, &bad).unwrap();
            assert_eq!(cache.get(&key), None, "a flipped bit in byte {at} was not seen");
            std::fs::write(&file, &good[..at]).unwrap();
            assert_eq!(cache.get(&key), None, "a cut after byte {at} was not seen");
        }
        // Another key's artifact under this key's name is whole, and still not this key's.
        cache.put(&other, b"other code");
        std::fs::rename(folder.path().join("a/b").join(entry_name(&other)), &file).unwrap();
        assert_eq!(cache.get(&key), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        assert!(ArtifactCache::open(&path).is_some());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(ArtifactCache::open(&path).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path()).unwrap();
        let key = Digest::of(Kind::Artifact, b"1");
        cache.put(&key, b"native code");
        let entry = folder.path().join(entry_name(&key));
        std::fs::rename(&entry, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &entry).unwrap();
        assert_eq!(cache.get(&key), None);
    }
}
