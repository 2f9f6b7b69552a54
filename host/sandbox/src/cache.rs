//! Verdicts of the compiler on disk: machine code, and refusals, so that those are paid for once too. None is used unless its seal
//! holds under a key that does not lie in the folder, so who can write here can make it miss and nothing else. A cache that can't be used
//! costs time and nothing else: no failure here reaches a caller.
//!
//! A seal covers a whole file, and checking it reads all of that. So once a seal was found to hold, it is noted how the file looks, and
//! as long as it looks the same the machine code is mapped from it unread. Notes are sealed too, and others may keep some here.

use crate::load_error::LoadError;
use crate::verdict::{MachineCode, SealKey, Verdict};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions};
use hutch_engine::settings;
use hutch_folder::Stamp;
use hutch_model::digest::{Digest, Hasher, Kind};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A private folder of verdicts.
pub struct ArtifactCache {
    dir: Dir,
    path: PathBuf,
    key: LazyLock<Option<SealKey>, Box<dyn FnOnce() -> Option<SealKey> + Send>>,
    bytes_max: u64,
}

/// What the folder may hold; what was used longest ago goes first.
const BYTES_MAX: u64 = 1 << 30;

/// After so long without use, what another version made is removed.
const OTHERS_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// After so long, a file that is not finished is that of a writer which was killed.
const UNFINISHED_KEPT: Duration = Duration::from_secs(3600);

/// For so long a component that took too much time is taken to do so again: it may have been this machine that was slow.
const SLOW_KEPT: Duration = Duration::from_secs(3600);

/// A use is written down when the last one that was is so long ago.
const USE_NOTED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// How the name of a finished file ends: of a verdict, and of a note.
const FINISHED: [&str; 2] = [VERDICT, NOTE];
const VERDICT: &str = ".artifact";
const NOTE: &str = ".note";

/// No note is longer.
const NOTE_BYTES_MAX: u64 = 16 << 20;

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
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        #[expect(clippy::disallowed_methods, reason = "the cache is a path, and this makes the way to it")]
        builder.create(path).ok()?;
        #[expect(clippy::disallowed_methods, reason = "the one place where the cache's path becomes authority")]
        let dir = Dir::open_ambient_dir(path, ambient_authority()).ok()?;
        #[cfg(unix)]
        {
            use cap_std::fs::MetadataExt;
            let metadata = dir.dir_metadata().ok()?;
            if metadata.mode() & 0o022 != 0 || metadata.uid() != rustix::process::geteuid().as_raw() {
                return None;
            }
        }
        let key: Box<dyn FnOnce() -> Option<SealKey> + Send> = Box::new(key);
        Some(ArtifactCache { dir, path: path.to_owned(), key: LazyLock::new(key), bytes_max: BYTES_MAX })
    }

    /// The same, holding at most so much.
    pub fn bounded(self, bytes_max: u64) -> ArtifactCache {
        ArtifactCache { bytes_max, ..self }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The verdict on `name`, if a whole one is here.
    pub(crate) fn get(&self, name: &Digest) -> Option<Verdict> {
        #[expect(clippy::disallowed_methods, reason = "how long a look is trusted depends on the time that has passed")]
        let now = SystemTime::now();
        self.get_at(name, now)
    }

    fn get_at(&self, name: &Digest, now: SystemTime) -> Option<Verdict> {
        let key = (*self.key)?;
        let file_name = file_name(&key, name);
        if !self.dir.symlink_metadata(&file_name).ok()?.is_file() {
            return None;
        }
        let file = self.dir.open(&file_name).ok()?;
        let metadata = file.metadata().ok()?;
        let used = metadata.modified().ok().map(|used| used.into_std());
        let stamp = Stamp::of(&metadata);
        let mut file = file.into_std();
        let use_is_noted = used.is_some_and(|used| !is_older_at(now, used, USE_NOTED_AFTER));
        if use_is_noted && let Some(seen) = self.seen(name).filter(|seen| seen.stamp == stamp) {
            let Seen { component_instances, resources, .. } = seen;
            return Some(Verdict::Code { code: MachineCode::File(file), component_instances, resources });
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).ok()?;
        let verdict = Verdict::open(&key, name, bytes)?;
        match &verdict {
            Verdict::Refused(LoadError::TooSlow { .. })
                if used.is_none_or(|noted| is_older_at(now, noted, SLOW_KEPT)) =>
            {
                None
            }
            _ if !use_is_noted => {
                // If it can't be noted, it goes a little early one day. The file looks changed by it, so once a day it is read.
                let _ = file.set_modified(now);
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

    /// Keeps a verdict. Makes room first.
    pub(crate) fn put(&self, name: &Digest, verdict: &Verdict) {
        let Some(key) = *self.key else { return };
        if let Some(sealed) = verdict.seal(&key, name) {
            self.write(&file_name(&key, name), &sealed);
        }
    }

    /// What was noted under this name, if its seal holds: somebody with the key noted it, perhaps long ago.
    pub fn note(&self, name: &Digest) -> Option<Vec<u8>> {
        let key = (*self.key)?;
        let file = hutch_folder::open_file(&self.dir, &note_name(&key, name)).ok()?;
        let metadata = file.metadata().ok()?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(NOTE_BYTES_MAX)).ok()?);
        (&file).take(NOTE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        if metadata.modified().is_ok_and(|used| is_older(used, USE_NOTED_AFTER)) {
            #[expect(clippy::disallowed_methods, reason = "the file says when it was last used, by the system's clock")]
            let _ = file.set_modified(SystemTime::now());
        }
        key.unsealed(name, bytes)
    }

    /// Notes something: it may be gone at any time.
    pub fn keep_note(&self, name: &Digest, note: Vec<u8>) {
        let Some(key) = *self.key else { return };
        let sealed = key.sealed(name, note);
        if sealed.len() as u64 <= NOTE_BYTES_MAX {
            self.write(&note_name(&key, name), &sealed);
        }
    }

    /// Writes a file aside, and then gives it its name, so that no reader sees half of it. Makes room first.
    fn write(&self, file_name: &str, sealed: &[u8]) {
        self.make_room(sealed.len() as u64);
        if sealed.len() as u64 > self.bytes_max {
            return;
        }
        // One for each writer: of several processes, and of several threads of one.
        static WRITERS: AtomicU64 = AtomicU64::new(0);
        let aside = format!("{file_name}.{}.{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = self.dir.open_with(&aside, &options).and_then(|mut file| file.write_all(sealed));
        if written.and_then(|()| self.dir.rename(&aside, &self.dir, file_name)).is_err() {
            // A full disk, most likely: the next run does it again.
            let _ = self.dir.remove_file(&aside);
        }
    }

    /// Removes what nobody will use, and then what was used longest ago, until `bytes` more have room.
    fn make_room(&self, bytes: u64) {
        let Ok(entries) = self.dir.entries() else { return };
        let mut kept: Vec<(SystemTime, u64, String)> = Vec::new();
        for (used, size, name) in entries.filter_map(|entry| described(&entry.ok()?)) {
            let ours = name.starts_with(version());
            let finished = FINISHED.iter().any(|end| name.ends_with(end));
            let unused = if finished { !ours && is_older(used, OTHERS_KEPT) } else { is_older(used, UNFINISHED_KEPT) };
            if FINISHED.iter().any(|end| name.contains(end)) && unused {
                let _ = self.dir.remove_file(&name);
            } else if finished {
                kept.push((used, size, name));
            }
        }
        kept.sort();
        let mut held: u64 = kept.iter().map(|(_, size, _)| size).sum();
        for (_, size, name) in kept {
            if held.saturating_add(bytes) <= self.bytes_max {
                return;
            }
            if self.dir.remove_file(&name).is_ok() {
                held -= size;
            }
        }
    }
}

/// When a file was last used, how large it is, and its name.
fn described(entry: &DirEntry) -> Option<(SystemTime, u64, String)> {
    let metadata = entry.metadata().ok().filter(cap_std::fs::Metadata::is_file)?;
    Some((metadata.modified().ok()?.into_std(), metadata.len(), entry.file_name().into_string().ok()?))
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    #[expect(clippy::disallowed_methods, reason = "ages of files are by the system's clock")]
    let now = SystemTime::now();
    is_older_at(now, time, than)
}

fn is_older_at(now: SystemTime, time: SystemTime, than: Duration) -> bool {
    now.duration_since(time).is_ok_and(|age| age > than)
}

/// How the names of this version's files begin.
fn version() -> &'static str {
    settings::profile()
}

/// Of each key another: homes that share a folder don't overwrite each other's.
fn file_name(key: &SealKey, name: &Digest) -> String {
    format!("{}-{}{VERDICT}", version(), key.name(name))
}

fn note_name(key: &SealKey, name: &Digest) -> String {
    format!("{}{NOTE}", key.name(name))
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

    fn names(path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn date(path: &Path, age: Duration) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn only_what_was_put_under_this_key_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let cache = ArtifactCache::open(&path, || Some(KEY)).unwrap();
        assert_eq!(says(cache.get(&name("1"))), None);
        cache.put(&name("1"), &refusal("code"));
        assert_eq!(says(cache.get(&name("1"))).as_deref(), Some("code"));
        assert_eq!(says(cache.get(&name("2"))), None);
        // A folder that was brought from elsewhere is as good as empty, and so is one whose key is gone.
        let other = ArtifactCache::open(&path, || Some(SealKey::new([4; 32]))).unwrap();
        assert_eq!(says(other.get(&name("1"))), None);
        other.put(&name("1"), &refusal("its own"));
        assert_eq!(says(other.get(&name("1"))).as_deref(), Some("its own"));
        assert_eq!(says(cache.get(&name("1"))).as_deref(), Some("code"), "one home's file took the place of another's");
        let none = ArtifactCache::open(&path, || None).unwrap();
        none.put(&name("3"), &refusal("unsealed"));
        assert_eq!((says(none.get(&name("3"))), names(&path).len()), (None, 2));
        // Another's file under this name is whole, and still not this name's.
        cache.put(&name("2"), &refusal("other code"));
        std::fs::rename(path.join(file_name(&KEY, &name("2"))), path.join(file_name(&KEY, &name("1")))).unwrap();
        assert_eq!(says(cache.get(&name("1"))), None);
    }

    #[test]
    fn the_folder_is_bounded_and_what_was_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap().bounded(10_000);
        let text = "x".repeat(3_000);
        for (at, hours) in [("1", 30), ("2", 50), ("3", 40)] {
            cache.put(&name(at), &refusal(&text));
            date(&folder.path().join(file_name(&KEY, &name(at))), Duration::from_secs(hours * 3600));
        }
        // Used again: not the oldest any more.
        assert!(cache.get(&name("2")).is_some());
        cache.put(&name("4"), &refusal(&text));
        let held = ["1", "2", "3", "4"].map(|at| cache.get(&name(at)).is_some());
        assert_eq!(held, [true, true, false, true]);
        cache.put(&name("5"), &refusal(&"y".repeat(20_000)));
        assert!(cache.get(&name("5")).is_none(), "what is larger than the cache was kept");
    }

    #[test]
    fn slowness_is_not_held_against_a_component_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        for (verdict, kept) in
            [(LoadError::TooSlow { time_ms: 1 }, false), (LoadError::TooMuch("big".to_owned()), true)]
        {
            cache.put(&name("1"), &Verdict::Refused(verdict));
            assert!(cache.get(&name("1")).is_some());
            date(&folder.path().join(file_name(&KEY, &name("1"))), 2 * SLOW_KEPT);
            assert_eq!(cache.get(&name("1")).is_some(), kept);
        }
    }

    #[test]
    fn what_nobody_will_use_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        for (file, age) in [
            ("wasmtime-0.0.1-old.artifact", hours(24 * 8)),
            ("wasmtime-0.0.1-new.artifact", hours(24 * 6)),
            ("wasmtime-1-x.artifact.123.0", hours(2)),
            ("wasmtime-1-y.artifact.123.0", hours(0)),
            ("a person's file", hours(24 * 1000)),
        ] {
            std::fs::write(folder.path().join(file), "x").unwrap();
            date(&folder.path().join(file), age);
        }
        cache.put(&name("1"), &refusal("code"));
        let left = ["a person's file", "wasmtime-0.0.1-new.artifact", "wasmtime-1-y.artifact.123.0"].map(str::to_owned);
        let mut left = left.to_vec();
        left.push(file_name(&KEY, &name("1")));
        left.sort();
        assert_eq!(names(folder.path()), left);
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
                MachineCode::File(mut file) => {
                    let mut bytes = Vec::new();
                    file.read_to_end(&mut bytes).unwrap();
                    assert!(bytes.starts_with(at.as_bytes()));
                    "known"
                }
            }),
            _ => panic!("another verdict came back"),
        }
    }

    #[cfg(unix)]
    #[test]
    fn code_whose_seal_held_is_not_read_again_as_long_as_its_file_looks_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        let path = |at: &str| folder.path().join(file_name(&KEY, &name(at)));
        let modified = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
        let put = |at: &str| {
            cache.put(&name(at), &code(at));
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

    #[test]
    fn once_a_day_the_whole_seal_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        cache.put(&name("1"), &code("1"));
        let comes_after = |hours: u64| {
            let at = SystemTime::now() + Duration::from_secs(hours * 3600);
            match cache.get_at(&name("1"), at) {
                Some(Verdict::Code { code: MachineCode::Bytes(_), .. }) => "read",
                Some(Verdict::Code { code: MachineCode::File(_), .. }) => "known",
                _ => panic!("something else came back"),
            }
        };
        assert_eq!([1, 2, 23, 25, 26].map(comes_after), ["read", "known", "known", "read", "read"]);
    }

    #[test]
    fn a_note_is_read_as_it_was_made_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        assert_eq!(cache.note(&name("1")), None);
        cache.keep_note(&name("1"), b"one".to_vec());
        assert_eq!(cache.note(&name("1")).as_deref(), Some(&b"one"[..]));
        assert_eq!(cache.note(&name("2")), None);
        let path = folder.path().join(note_name(&KEY, &name("1")));
        std::fs::copy(&path, folder.path().join(note_name(&KEY, &name("2")))).unwrap();
        assert_eq!(cache.note(&name("2")), None, "under another name");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(cache.note(&name("1")), None, "a flipped bit in byte {at}");
        }
        let other = ArtifactCache::open(folder.path(), || Some(SealKey::new([4; 32]))).unwrap();
        assert_eq!(other.note(&name("1")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache");
        assert!(ArtifactCache::open(&path, || Some(KEY)).is_some());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(ArtifactCache::open(&path, || Some(KEY)).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = ArtifactCache::open(folder.path(), || Some(KEY)).unwrap();
        cache.put(&name("1"), &refusal("code"));
        let entry = folder.path().join(file_name(&KEY, &name("1")));
        std::fs::rename(&entry, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &entry).unwrap();
        assert_eq!(says(cache.get(&name("1"))), None);
    }
}
