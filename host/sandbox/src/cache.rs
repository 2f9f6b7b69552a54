//! Verdicts of the compiler on disk: machine code, and refusals, so that those are paid for once too. They lie on a [`Shelf`], sealed, and
//! others may keep notes there.
//!
//! A seal covers a whole file, and checking it reads all of that. So once a seal was found to hold, it is noted how the file looks, and
//! as long as it looks the same the machine code is mapped from it unread.

use crate::shelf::{Aside, Shelf, USE_NOTED_AFTER, VERDICT, is_older_at, last_used, version};
use crate::verdict::{MachineCode, SealKey, Verdict};
use hutch_engine::LoadError;
use hutch_folder::Stamp;
use hutch_model::digest::{Digest, Hasher, Kind};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A private folder of verdicts.
pub struct ArtifactCache(Shelf);

/// For so long a component that took too much time is taken to do so again: it may have been this machine that was slow.
const SLOW_KEPT: Duration = Duration::from_secs(3600);

/// What is noted of machine code whose seal holds.
#[derive(serde::Serialize, serde::Deserialize)]
struct Seen {
    stamp: Stamp,
    component_instances: u64,
    resources: u64,
}

impl ArtifactCache {
    /// The cache in this folder, which is made if need be and private to its owner. `None` if it can't be, or if others may
    /// write there. What it holds is sealed under a key, which is asked for when it is first needed; without one nothing is kept.
    pub fn open(path: &Path, key: impl FnOnce() -> Option<SealKey> + Send + 'static) -> Option<ArtifactCache> {
        Shelf::open(path, key).map(ArtifactCache)
    }

    /// The cache in this folder, if it is there, for one who keeps nothing: what it holds is used, and nothing of it changes.
    pub fn open_to_read(path: &Path, key: impl FnOnce() -> Option<SealKey> + Send + 'static) -> Option<ArtifactCache> {
        Shelf::open_to_read(path, key).map(ArtifactCache)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// What was noted under this name, if its seal holds: somebody with the key noted it, perhaps long ago.
    pub fn note(&self, name: &Digest) -> Option<Vec<u8>> {
        self.0.note(name)
    }

    /// Notes something: it may be gone at any time.
    pub fn keep_note(&self, name: &Digest, note: Vec<u8>) {
        self.0.keep_note(name, note);
    }

    /// The verdict on `name`, if a whole one is here.
    pub(crate) fn get(&self, name: &Digest) -> Option<Verdict> {
        #[expect(clippy::disallowed_methods, reason = "how long a look is trusted depends on the time that has passed")]
        let now = SystemTime::now();
        self.get_at(name, now)
    }

    fn get_at(&self, name: &Digest, now: SystemTime) -> Option<Verdict> {
        let key = self.0.key()?;
        let (file, metadata) = self.0.open_file(&file_name(&key, name))?;
        let (used, stamp) = (last_used(&metadata), Stamp::of(&metadata));
        let mut file = file.into_std();
        let use_is_noted = used.is_some_and(|used| !is_older_at(now, used, USE_NOTED_AFTER));
        // Elsewhere files are not mapped, and reading one is checking it.
        if cfg!(target_os = "linux")
            && use_is_noted
            && let Some(seen) = self.seen(name).filter(|seen| seen.stamp == stamp)
        {
            let Seen { component_instances, resources, .. } = seen;
            let code = MachineCode::File { file, key, name: *name };
            return Some(Verdict::Code { code, component_instances, resources });
        }
        let verdict = if stays_in_its_file(metadata.len()) {
            Verdict::of_file(&key, name, file.try_clone().ok()?)?
        } else {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).ok()?;
            Verdict::open(&key, name, bytes)?
        };
        match &verdict {
            Verdict::Refused(LoadError::TooSlow { .. })
                if used.is_none_or(|noted| is_older_at(now, noted, SLOW_KEPT)) =>
            {
                None
            }
            _ if !use_is_noted => {
                // The file looks changed by it, so once a day it is read.
                self.0.note_use(&file, now);
                Some(verdict)
            }
            Verdict::Code { component_instances, resources, .. } if stamp.is_settled(unix_ns(now)) => {
                let (component_instances, resources) = (*component_instances, *resources);
                if let Ok(seen) = postcard::to_allocvec(&Seen { stamp, component_instances, resources }) {
                    self.keep_note(&seen_name(name), seen);
                }
                Some(verdict)
            }
            _ => Some(verdict),
        }
    }

    /// How the file of the machine code looked when its seal was last found to hold.
    fn seen(&self, name: &Digest) -> Option<Seen> {
        postcard::from_bytes(&self.note(&seen_name(name))?).ok()
    }

    /// A file for a long answer of a compiler.
    pub(crate) fn aside(&self, name: &Digest) -> Option<Aside<'_>> {
        self.0.aside(&file_name(&self.0.key()?, name))
    }

    /// Keeps a verdict. Code that a compiler answered into a file beside the others stays in it.
    pub(crate) fn put(&self, name: &Digest, verdict: &Verdict, aside: Option<Aside<'_>>) {
        let Some(key) = self.0.key() else { return };
        if let (Verdict::Code { code: MachineCode::File { .. }, .. }, Some(aside)) = (verdict, aside)
            && key.seal_again(name, &aside.file).is_ok()
        {
            aside.finish();
        }
        if let Some(sealed) = verdict.seal(&key, name) {
            self.0.write(&file_name(&key, name), &sealed);
        }
    }
}

/// Whether code of so many bytes is not read into memory, but mapped where it lies.
pub(crate) fn stays_in_its_file(bytes: u64) -> bool {
    cfg!(target_os = "linux") && bytes >= LONG_BYTES
}

/// From so many bytes on memory is better left alone.
const LONG_BYTES: u64 = 1 << 20;

/// Of each key another: homes that share a folder don't overwrite each other's.
fn file_name(key: &SealKey, name: &Digest) -> String {
    format!("{}-{}{VERDICT}", version(), key.name(name))
}

/// What is noted of the file of a verdict is noted under this name.
fn seen_name(verdict: &Digest) -> Digest {
    let mut hasher = Hasher::new(Kind::Note);
    hasher.update_part(b"seen");
    hasher.update_part(verdict.as_bytes());
    hasher.finish()
}

fn unix_ns(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shelf::note_name;
    use crate::shelf::tests::{date, names};
    use hutch_model::digest::Kind;

    const KEY: SealKey = SealKey::new([3; 32]);

    fn name(text: &str) -> Digest {
        Digest::of(Kind::Artifact, text.as_bytes())
    }

    fn refusal(text: &str) -> Verdict {
        Verdict::Refused(LoadError::Invalid(text.to_owned()))
    }

    fn says(verdict: Option<Verdict>) -> Option<String> {
        match verdict? {
            Verdict::Refused(LoadError::Invalid(text)) => Some(text),
            _ => panic!("another verdict came back"),
        }
    }

    #[test]
    fn only_what_was_put_under_this_key_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let cache = ArtifactCache::open(&path, || Some(KEY)).unwrap();
        assert_eq!(says(cache.get(&name("1"))), None);
        cache.put(&name("1"), &refusal("code"), None);
        assert_eq!(says(cache.get(&name("1"))).as_deref(), Some("code"));
        assert_eq!(says(cache.get(&name("2"))), None);
        // A folder that was brought from elsewhere is as good as empty, and so is one whose key is gone.
        let other = ArtifactCache::open(&path, || Some(SealKey::new([4; 32]))).unwrap();
        assert_eq!(says(other.get(&name("1"))), None);
        other.put(&name("1"), &refusal("its own"), None);
        assert_eq!(says(other.get(&name("1"))).as_deref(), Some("its own"));
        assert_eq!(says(cache.get(&name("1"))).as_deref(), Some("code"), "one home's file took the place of another's");
        let none = ArtifactCache::open(&path, || None).unwrap();
        none.put(&name("3"), &refusal("unsealed"), None);
        assert_eq!((says(none.get(&name("3"))), names(&path).len()), (None, 2));
        // Another's file under this name is whole, and still not this name's.
        cache.put(&name("2"), &refusal("other code"), None);
        std::fs::rename(path.join(file_name(&KEY, &name("2"))), path.join(file_name(&KEY, &name("1")))).unwrap();
        assert_eq!(says(cache.get(&name("1"))), None);
    }

    #[test]
    fn one_who_only_reads_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        assert!(ArtifactCache::open_to_read(&path, || Some(KEY)).is_none() && !path.exists());
        let cache = ArtifactCache::open(&path, || Some(KEY)).unwrap();
        cache.put(&name("1"), &refusal("code"), None);
        cache.keep_note(&name("1"), b"note".to_vec());
        let modified = |name: &String| std::fs::metadata(path.join(name)).unwrap().modified().unwrap();
        let seen = || names(&path).iter().map(|name| (name.clone(), modified(name))).collect::<Vec<_>>();
        names(&path).iter().for_each(|name| date(&path.join(name), 2 * USE_NOTED_AFTER));
        let before = seen();
        let reading = ArtifactCache::open_to_read(&path, || Some(KEY)).unwrap();
        assert_eq!(says(reading.get(&name("1"))).as_deref(), Some("code"));
        assert_eq!(reading.note(&name("1")).as_deref(), Some(&b"note"[..]));
        reading.put(&name("2"), &refusal("other code"), reading.aside(&name("2")));
        reading.keep_note(&name("2"), b"other note".to_vec());
        assert_eq!(seen(), before);
    }

    #[test]
    fn slowness_is_not_held_against_a_component_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        for (verdict, kept) in
            [(LoadError::TooSlow { time_ms: 1 }, false), (LoadError::TooMuch("big".to_owned()), true)]
        {
            cache.put(&name("1"), &Verdict::Refused(verdict), None);
            assert!(cache.get(&name("1")).is_some());
            date(&folder.path().join(file_name(&KEY, &name("1"))), 2 * SLOW_KEPT);
            assert_eq!(cache.get(&name("1")).is_some(), kept);
        }
    }

    fn code(text: &str) -> Verdict {
        Verdict::Code { code: MachineCode::Bytes(text.as_bytes().to_vec()), component_instances: 7, resources: 9 }
    }

    /// How the code comes back: read and checked, or as a file that is known. At a moment when everything is old.
    fn comes(cache: &ArtifactCache, at: &str) -> Option<&'static str> {
        match cache.get_at(&name(at), SystemTime::now() + Duration::from_secs(10))? {
            Verdict::Code { code, component_instances: 7, resources: 9 } => Some(match code {
                MachineCode::Bytes(bytes) => {
                    assert_eq!(bytes, at.as_bytes());
                    "read"
                }
                MachineCode::File { mut file, .. } => {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes).unwrap();
                    assert!(bytes.starts_with(at.as_bytes()));
                    "known"
                }
            }),
            _ => panic!("another verdict came back"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn code_whose_seal_held_is_not_read_again_as_long_as_its_file_looks_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        let path = |at: &str| folder.path().join(file_name(&KEY, &name(at)));
        let modified = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
        let put = |at: &str| {
            cache.put(&name(at), &code(at), None);
            assert!(matches!(cache.get(&name(at)), Some(Verdict::Code { code: MachineCode::Bytes(_), .. })));
            // So young a file could be changed and look the same: that its seal held is not noted.
            assert_eq!([comes(&cache, at), comes(&cache, at)], [Some("read"), Some("known")]);
        };
        // The same length and the same time.
        put("changed in place");
        let at = path("changed in place");
        let (mut bytes, before) = (std::fs::read(&at).unwrap(), modified(&at));
        bytes[0] ^= 1;
        std::fs::write(&at, &bytes).unwrap();
        std::fs::File::options().append(true).open(&at).unwrap().set_modified(before).unwrap();
        assert_eq!(comes(&cache, "changed in place"), None);
        // Another file under its name, also of the same length and time.
        put("replaced 1");
        put("replaced 2");
        let before = modified(&path("replaced 1"));
        std::fs::rename(path("replaced 2"), path("replaced 1")).unwrap();
        std::fs::File::options().append(true).open(path("replaced 1")).unwrap().set_modified(before).unwrap();
        assert_eq!(comes(&cache, "replaced 1"), None);
        // Unchanged, but it looks different: read, and known from then on.
        put("touched");
        std::fs::File::options().append(true).open(path("touched")).unwrap().set_modified(before).unwrap();
        assert_eq!([comes(&cache, "touched"), comes(&cache, "touched")], [Some("read"), Some("known")]);
        // Brought elsewhere, notes and all.
        let elsewhere = tempfile::tempdir().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), elsewhere.path().join(entry.file_name())).unwrap();
        }
        let copy = ArtifactCache::open(elsewhere.path(), || Some(KEY)).unwrap();
        assert_eq!(comes(&copy, "touched"), Some("read"));
        // The note of one is not that of another.
        let note = |at: &str| folder.path().join(note_name(&KEY, &seen_name(&name(at))));
        put("other");
        std::fs::copy(note("touched"), note("other")).unwrap();
        assert_eq!(comes(&cache, "other"), Some("read"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn once_a_day_the_whole_seal_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        cache.put(&name("1"), &code("1"), None);
        let comes_after = |hours: u64| {
            let at = SystemTime::now() + Duration::from_secs(hours * 3600);
            match cache.get_at(&name("1"), at) {
                Some(Verdict::Code { code: MachineCode::Bytes(_), .. }) => "read",
                Some(Verdict::Code { code: MachineCode::File { .. }, .. }) => "known",
                _ => panic!("something else came back"),
            }
        };
        assert_eq!([1, 2, 23, 25, 26].map(comes_after), ["read", "known", "known", "read", "read"]);
    }
}
