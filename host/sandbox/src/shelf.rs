//! A private folder of sealed files, in which none is used unless its seal holds under a key that does not lie there: who can write to
//! it can make it miss and nothing else. It is bounded: what was used longest ago goes first. A shelf that can't be used costs time and
//! nothing else: no failure here reaches a caller. Knows nothing of what its files say.

use crate::verdict::SealKey;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, File, Metadata, OpenOptions};
use hutch_engine::settings;
use hutch_model::digest::Digest;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The folder.
pub(crate) struct Shelf {
    dir: Dir,
    path: PathBuf,
    key: LazyLock<Option<SealKey>, Box<dyn FnOnce() -> Option<SealKey> + Send>>,
    bytes_max: u64,
    /// Whether anything is written.
    keeps: bool,
}

/// What the folder may hold; what was used longest ago goes first.
const BYTES_MAX: u64 = 1 << 30;

/// After so long without use, what another version made is removed.
const OTHERS_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// After so long, a file that is not finished is that of a writer which was killed.
const UNFINISHED_KEPT: Duration = Duration::from_secs(3600);

/// A use is written down when the last one that was is so long ago.
pub(crate) const USE_NOTED_AFTER: Duration = Duration::from_secs(24 * 3600);

/// How the name of a finished file ends: of a verdict, and of a note.
const FINISHED: [&str; 2] = [VERDICT, NOTE];
pub(crate) const VERDICT: &str = ".artifact";
const NOTE: &str = ".note";

/// No note is longer.
const NOTE_BYTES_MAX: u64 = 16 << 20;

impl Shelf {
    /// The shelf in this folder, which is made if need be and private to its owner. `None` if it can't be, or if others may
    /// write there. What it holds is sealed under a key, which is asked for when it is first needed; without one nothing is kept.
    pub(crate) fn open(path: &Path, key: impl FnOnce() -> Option<SealKey> + Send + 'static) -> Option<Shelf> {
        #[expect(clippy::disallowed_methods, reason = "the shelf is a path, and this makes the way to it")]
        hutch_folder::private_folders().recursive(true).create(path).ok()?;
        Shelf::at(path, key, true)
    }

    /// The shelf in this folder, if it is there, for one who writes nothing: neither files nor when they were used.
    pub(crate) fn open_to_read(path: &Path, key: impl FnOnce() -> Option<SealKey> + Send + 'static) -> Option<Shelf> {
        Shelf::at(path, key, false)
    }

    fn at(path: &Path, key: impl FnOnce() -> Option<SealKey> + Send + 'static, keeps: bool) -> Option<Shelf> {
        #[expect(clippy::disallowed_methods, reason = "the one place where the shelf's path becomes authority")]
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
        Some(Shelf { dir, path: path.to_owned(), key: LazyLock::new(key), bytes_max: BYTES_MAX, keeps })
    }

    /// The same, holding at most so much.
    #[cfg(test)]
    pub(crate) fn bounded(self, bytes_max: u64) -> Shelf {
        Shelf { bytes_max, ..self }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What its files are sealed with.
    pub(crate) fn key(&self) -> Option<SealKey> {
        *self.key
    }

    /// Opens a file to be read, and says how it looks.
    pub(crate) fn open_file(&self, file_name: &str) -> Option<(File, Metadata)> {
        let file = File::from_std(hutch_folder::open_file(&self.dir, file_name).ok()?);
        let metadata = file.metadata().ok()?;
        Some((file, metadata))
    }

    /// What was noted under this name, if its seal holds: somebody with the key noted it, perhaps long ago.
    pub(crate) fn note(&self, name: &Digest) -> Option<Vec<u8>> {
        let key = self.key()?;
        let (file, metadata) = self.open_file(&note_name(&key, name))?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len().min(NOTE_BYTES_MAX)).ok()?);
        (&file).take(NOTE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        if last_used(&metadata).is_some_and(|used| is_older(used, USE_NOTED_AFTER)) {
            #[expect(
                clippy::disallowed_methods,
                reason = "the file says when it was last used, by the system's clock"
            )]
            self.note_use(&file.into_std(), SystemTime::now());
        }
        key.unsealed(name, bytes)
    }

    /// Writes down when a file was used. If it can't be, the file goes a little early one day.
    pub(crate) fn note_use(&self, file: &std::fs::File, at: SystemTime) {
        if self.keeps {
            let _ = file.set_modified(at);
        }
    }

    /// Notes something: it may be gone at any time.
    pub(crate) fn keep_note(&self, name: &Digest, note: Vec<u8>) {
        let Some(key) = self.key() else { return };
        let sealed = key.sealed(name, note);
        if sealed.len() as u64 <= NOTE_BYTES_MAX {
            self.write(&note_name(&key, name), &sealed);
        }
    }

    /// Writes a file aside, and then gives it its name, so that no reader sees half of it. Makes room first.
    pub(crate) fn write(&self, file_name: &str, sealed: &[u8]) {
        if let Some(mut aside) = self.aside(file_name)
            && aside.file.write_all(sealed).is_ok()
        {
            aside.finish();
        }
    }

    /// A file that gets this name once it is finished. `None` if none is to be made, or none can be: a full disk, most likely.
    pub(crate) fn aside(&self, file_name: &str) -> Option<Aside<'_>> {
        if !self.keeps {
            return None;
        }
        // One for each writer: of several processes, and of several threads of one.
        static WRITERS: AtomicU64 = AtomicU64::new(0);
        let aside = format!("{file_name}.{}.{}", std::process::id(), WRITERS.fetch_add(1, Ordering::Relaxed));
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = self.dir.open_with(&aside, &options).ok()?.into_std();
        Some(Aside { shelf: self, file, aside, file_name: file_name.to_owned() })
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

/// A file that is being written: it goes unless it is finished.
pub(crate) struct Aside<'s> {
    shelf: &'s Shelf,
    pub(crate) file: std::fs::File,
    aside: String,
    file_name: String,
}

impl Aside<'_> {
    /// Gives it its name, if there is room for it.
    pub(crate) fn finish(self) {
        let bytes = self.file.metadata().map_or(u64::MAX, |metadata| metadata.len());
        self.shelf.make_room(bytes);
        if bytes <= self.shelf.bytes_max {
            // Where it fails the next run does it again.
            let _ = self.shelf.dir.rename(&self.aside, &self.shelf.dir, &self.file_name);
        }
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        // What was finished has another name.
        let _ = self.shelf.dir.remove_file(&self.aside);
    }
}

/// When a file was last used.
pub(crate) fn last_used(metadata: &Metadata) -> Option<SystemTime> {
    metadata.modified().ok().map(|used| used.into_std())
}

/// When a file was last used, how large it is, and its name.
fn described(entry: &DirEntry) -> Option<(SystemTime, u64, String)> {
    let metadata = entry.metadata().ok().filter(Metadata::is_file)?;
    Some((last_used(&metadata)?, metadata.len(), entry.file_name().into_string().ok()?))
}

fn is_older(time: SystemTime, than: Duration) -> bool {
    #[expect(clippy::disallowed_methods, reason = "ages of files are by the system's clock")]
    let now = SystemTime::now();
    is_older_at(now, time, than)
}

pub(crate) fn is_older_at(now: SystemTime, time: SystemTime, than: Duration) -> bool {
    now.duration_since(time).is_ok_and(|age| age > than)
}

/// How the names of this version's files begin.
pub(crate) fn version() -> &'static str {
    settings::profile()
}

pub(crate) fn note_name(key: &SealKey, name: &Digest) -> String {
    format!("{}{NOTE}", key.name(name))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hutch_model::digest::Kind;

    const KEY: SealKey = SealKey::new([3; 32]);

    fn name(text: &str) -> Digest {
        Digest::of(Kind::Note, text.as_bytes())
    }

    pub(crate) fn names(path: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(path).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn date(path: &Path, age: Duration) {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn the_folder_is_bounded_and_what_was_used_longest_ago_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path(), || Some(KEY)).unwrap().bounded(10_000);
        for (at, hours) in [("1", 30), ("2", 50), ("3", 40)] {
            shelf.keep_note(&name(at), vec![b'x'; 3_000]);
            date(&folder.path().join(note_name(&KEY, &name(at))), Duration::from_secs(hours * 3600));
        }
        // Used again: not the oldest any more.
        assert!(shelf.note(&name("2")).is_some());
        shelf.keep_note(&name("4"), vec![b'x'; 3_000]);
        let held = ["1", "2", "3", "4"].map(|at| shelf.note(&name(at)).is_some());
        assert_eq!(held, [true, true, false, true]);
        shelf.keep_note(&name("5"), vec![b'y'; 20_000]);
        assert!(shelf.note(&name("5")).is_none(), "what is larger than the shelf was kept");
    }

    #[test]
    fn what_nobody_will_use_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path(), || Some(KEY)).unwrap();
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
        shelf.keep_note(&name("1"), b"code".to_vec());
        let left = ["a person's file", "wasmtime-0.0.1-new.artifact", "wasmtime-1-y.artifact.123.0"].map(str::to_owned);
        let mut left = left.to_vec();
        left.push(note_name(&KEY, &name("1")));
        left.sort();
        assert_eq!(names(folder.path()), left);
    }

    #[test]
    fn a_note_is_read_as_it_was_made_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path(), || Some(KEY)).unwrap();
        assert_eq!(shelf.note(&name("1")), None);
        shelf.keep_note(&name("1"), b"one".to_vec());
        assert_eq!(shelf.note(&name("1")).as_deref(), Some(&b"one"[..]));
        assert_eq!(shelf.note(&name("2")), None);
        let path = folder.path().join(note_name(&KEY, &name("1")));
        std::fs::copy(&path, folder.path().join(note_name(&KEY, &name("2")))).unwrap();
        assert_eq!(shelf.note(&name("2")), None, "under another name");
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(shelf.note(&name("1")), None, "a flipped bit in byte {at}");
        }
        let other = Shelf::open(folder.path(), || Some(SealKey::new([4; 32]))).unwrap();
        assert_eq!(other.note(&name("1")), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shelf");
        assert!(Shelf::open(&path, || Some(KEY)).is_some());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(Shelf::open(&path, || Some(KEY)).is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_place_of_a_note_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path(), || Some(KEY)).unwrap();
        let pipe = folder.path().join(note_name(&KEY, &name("1")));
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
        assert_eq!(shelf.note(&name("1")), None);
        shelf.keep_note(&name("1"), b"one".to_vec());
        assert_eq!(shelf.note(&name("1")).as_deref(), Some(&b"one"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_no_entry() {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Shelf::open(folder.path(), || Some(KEY)).unwrap();
        shelf.keep_note(&name("1"), b"one".to_vec());
        let entry = folder.path().join(note_name(&KEY, &name("1")));
        std::fs::rename(&entry, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink("moved", &entry).unwrap();
        assert_eq!(shelf.note(&name("1")), None);
    }
}
