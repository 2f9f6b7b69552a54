//! The home of a program that is judged: told by a digest around each call, and put back, whatever the program left in the place of what was
//! there. How much of it is looked at is bounded. Knows no process and no rule.
#![expect(
    clippy::disallowed_methods,
    reason = "the home is a throw-away folder that the program under test reaches by its path"
)]

use hutch_model::digest::{Digest, Hasher, Kind};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Folders whose content is no state: it is made again.
const CACHE: &str = ".cache";
/// The folder of a home for files of a moment, which are no state either, by the name that people give it.
pub(super) const MOMENT: &str = "tmp";
/// The most that is looked at of a home: names, and bytes of files.
const HOME_NAMES_MAX: usize = 1 << 14;
const HOME_BYTES_MAX: u64 = 256 << 20;
/// How much of a file is read at once.
const PART_BYTES: usize = 16 << 10;
/// What the owner of a file or a folder has to be allowed.
const READ: u32 = 0o400;
const LISTED: u32 = 0o500;
const CHANGED: u32 = 0o700;

/// What a home holds.
#[derive(Clone)]
pub(super) struct State {
    files: Tree,
    pub(super) digest: Digest,
    /// Why it could not be looked at.
    pub(super) unseen: Option<String>,
}

/// Every file and every folder, that of all too, by its path from there: as bytes, which are compared sooner than names one by one.
type Tree = BTreeMap<OsString, Entry>;

#[derive(Clone)]
enum Entry {
    File(Content),
    Folder(Option<Stamp>),
    /// A link, and where it leads. It is never followed.
    Link(OsString),
    /// A pipe, a socket, a device, or a file that can't be read: it is never opened.
    Other,
}

/// What a file holds, and what tells that it still does.
#[derive(Clone)]
struct Content {
    /// Nothing where it was not held.
    bytes: Arc<Vec<u8>>,
    digest: Digest,
    stamp: Option<Stamp>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        match (self, other) {
            (Entry::File(one), Entry::File(other)) => one.digest == other.digest,
            (Entry::Folder(_), Entry::Folder(_)) | (Entry::Other, Entry::Other) => true,
            (Entry::Link(one), Entry::Link(other)) => one == other,
            _ => false,
        }
    }
}

/// What no write to a file leaves as it is, and no new or lost name to a folder.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

/// What a file system's clock can't tell apart: a file that was changed within it is read again. Some count two seconds at a time; one
/// that counts parts of milliseconds goes on with each tick of the system, which takes 10 ms at most.
const COARSE_TICK: Duration = Duration::from_secs(2);
const FINE_TICK: Duration = Duration::from_millis(20);

impl Stamp {
    /// Of a file that was last changed long enough before `now`, which is when it was looked at.
    #[cfg(unix)]
    fn of(file: &std::fs::Metadata, now: SystemTime) -> Option<Stamp> {
        use std::os::unix::fs::MetadataExt;
        let changed = Duration::new(file.ctime().try_into().ok()?, file.ctime_nsec().try_into().ok()?);
        let tick = if changed.subsec_nanos().is_multiple_of(1_000_000) { COARSE_TICK } else { FINE_TICK };
        let past = now.duration_since(SystemTime::UNIX_EPOCH + changed).is_ok_and(|age| age > tick);
        past.then(|| Stamp { inode: file.ino(), bytes: file.len(), changed: (file.ctime(), file.ctime_nsec()) })
    }

    #[cfg(not(unix))]
    fn of(_: &std::fs::Metadata, _: SystemTime) -> Option<Stamp> {
        None
    }
}

impl Content {
    /// What is read part by part: to its end or one byte further than the bound, with the number of bytes. They are kept if they are to be `held`.
    fn read(file: impl Read, bound: u64, held: bool) -> io::Result<(Content, u64)> {
        let mut file = file.take(bound.saturating_add(1));
        let (mut hasher, mut bytes, mut part) = (Hasher::new(Kind::Package), Vec::new(), vec![0; PART_BYTES]);
        let mut count = 0;
        loop {
            let read = match file.read(&mut part) {
                Ok(0) => break,
                Ok(read) => part.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(read);
            count += read.len() as u64;
            if held {
                bytes.extend_from_slice(read);
            }
        }
        Ok((Content { bytes: Arc::new(bytes), digest: hasher.finish(), stamp: None }, count))
    }

    /// The same, as it was found again.
    fn again(&self, stamp: Option<Stamp>) -> Content {
        Content { stamp, ..self.clone() }
    }
}

impl State {
    /// What a home holds, of which nothing is read again that is as it was `before`. What files hold now is kept if it is to be put back
    /// (`held`).
    pub(super) fn found(home: &Path, before: Option<&State>, held: bool) -> State {
        let none = Tree::new();
        let (files, unseen) = match tree(home, before.map_or(&none, |before| &before.files), held) {
            Ok(files) => (files, None),
            Err(reason) => (Tree::new(), Some(reason)),
        };
        let digest = match before.filter(|before| before.files == files) {
            Some(before) => before.digest,
            None => digest(&files),
        };
        State { files, digest, unseen }
    }

    /// Whether a home holds this, as far as that can be told without reading: most calls leave all of it as it is.
    pub(super) fn is_still_in(&self, home: &Path) -> bool {
        let now = SystemTime::now();
        self.files.iter().all(|(path, entry)| {
            let at = below(home, path);
            match entry {
                Entry::File(Content { stamp, .. }) | Entry::Folder(stamp) => {
                    let is = || fs::symlink_metadata(&at).ok().and_then(|found| Stamp::of(&found, now));
                    stamp.is_some() && is() == *stamp
                }
                Entry::Link(target) => fs::read_link(&at).is_ok_and(|is| is.as_os_str() == target),
                Entry::Other => false,
            }
        })
    }
}

fn digest(files: &Tree) -> Digest {
    let mut hasher = Hasher::new(Kind::Package);
    for (path, entry) in files {
        let (kind, content): (u8, &[u8]) = match entry {
            Entry::File(content) => (0, content.digest.as_bytes()),
            Entry::Folder(_) => (1, &[]),
            Entry::Link(target) => (2, target.as_encoded_bytes()),
            Entry::Other => (3, &[]),
        };
        hasher.update(&[kind]);
        hasher.update_part(path.as_encoded_bytes());
        hasher.update_part(content);
    }
    hasher.finish()
}

/// Has a home that holds `now` hold `wanted`.
///
/// # Errors
/// It can't be.
pub(super) fn put_back(home: &Path, now: &State, wanted: &State) -> io::Result<()> {
    if now.digest == wanted.digest {
        return Ok(());
    }
    // What nobody looked at may be in the way.
    match now.unseen.is_none() && change(home, &now.files, &wanted.files).is_ok() {
        true => Ok(()),
        false => anew(home, &wanted.files),
    }
}

/// A place in a home. The home's own is not one below a link that stands there by now.
fn below(home: &Path, path: &OsStr) -> PathBuf {
    if path.is_empty() { home.to_owned() } else { home.join(path) }
}

/// Gives whoever judges these rights, where they are missing: who may use something is no state. A program that puts a link there meanwhile
/// gains nothing: it may do the same itself to what that leads to.
#[cfg(unix)]
fn open_up(at: &Path, found: &Metadata, rights: u32) {
    use std::os::unix::fs::PermissionsExt;
    let mode = found.permissions().mode() & 0o7777;
    if mode & rights != rights {
        // If it can't be, that shows where it is used.
        let _ = fs::set_permissions(at, fs::Permissions::from_mode(mode | rights));
    }
}

#[cfg(not(unix))]
fn open_up(_: &Path, _: &Metadata, _: u32) {}

/// Every file below a folder, every folder, and what is neither. Caches and files of a moment are no state: what they hold is made again; nor
/// is what SQLite keeps beside a database to share its log between processes. What is as it was before is not held twice.
fn tree(home: &Path, before: &Tree, held: bool) -> Result<Tree, String> {
    let (mut names, mut left) = (0, HOME_BYTES_MAX);
    let now = SystemTime::now();
    let mut files = Tree::new();
    let mut folders = vec![OsString::new()];
    while let Some(folder) = folders.pop() {
        let at = below(home, &folder);
        // Each is looked at before what is in it.
        let found = match fs::symlink_metadata(&at) {
            Ok(found) if found.is_dir() => found,
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.is_empty() => continue,
            _ => return Err("something else is in the place of a folder".to_owned()),
        };
        open_up(&at, &found, LISTED);
        let entries = fs::read_dir(&at).map_err(|error| format!("a folder can't be listed: {error}"))?;
        for entry in entries.flatten() {
            names += 1;
            if names > HOME_NAMES_MAX {
                return Err(format!("more than {HOME_NAMES_MAX} names"));
            }
            let Ok(found) = entry.metadata() else { continue };
            let mut name = folder.clone();
            if !name.is_empty() {
                name.push("/");
            }
            name.push(entry.file_name());
            let kind = found.file_type();
            if kind.is_dir() {
                if entry.file_name() != CACHE && name != MOMENT {
                    folders.push(name);
                }
            } else if kind.is_file() {
                if name.as_encoded_bytes().ends_with(b"-shm") {
                    continue;
                }
                let known = match before.get(&name) {
                    Some(Entry::File(known)) => Some(known),
                    _ => None,
                };
                let stamp = Stamp::of(&found, now);
                let (is, bytes) = match known.filter(|known| stamp.is_some() && known.stamp == stamp) {
                    Some(known) => (Entry::File(known.again(stamp)), found.len()),
                    // What says that it is longer is not begun with.
                    None if found.len() > left => (Entry::Other, found.len()),
                    None => {
                        open_up(&entry.path(), &found, READ);
                        match fs::File::open(entry.path()).and_then(|file| Content::read(file, left, held)) {
                            Ok((content, bytes)) => {
                                let same = known.filter(|known| known.digest == content.digest);
                                (Entry::File(same.unwrap_or(&content).again(stamp)), bytes)
                            }
                            Err(_) => (Entry::Other, 0),
                        }
                    }
                };
                left = left.checked_sub(bytes).ok_or_else(|| format!("more than {HOME_BYTES_MAX} bytes"))?;
                files.insert(name, is);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap_or_default();
                files.insert(name, Entry::Link(target.into_os_string()));
            } else {
                files.insert(name, Entry::Other);
            }
        }
        files.insert(folder, Entry::Folder(Stamp::of(&found, now)));
    }
    Ok(files)
}

/// Makes a folder that holds `now` hold `wanted`.
fn change(home: &Path, now: &Tree, wanted: &Tree) -> io::Result<()> {
    let stays = |path: &OsString, entry: &Entry| match (entry, wanted.get(path)) {
        (Entry::File(_), Some(Entry::File(_))) => true,
        (entry, wanted) => wanted == Some(entry),
    };
    // What is in a folder comes after it.
    for (path, entry) in now.iter().rev().filter(|(path, entry)| !stays(path, entry)) {
        match entry {
            Entry::File(_) | Entry::Link(_) | Entry::Other => fs::remove_file(below(home, path))?,
            Entry::Folder(_) => fs::remove_dir_all(below(home, path))?,
        }
    }
    let mut missing = wanted.iter().filter(|(path, entry)| now.get(*path) != Some(*entry));
    missing.try_for_each(|(path, entry)| make(&below(home, path), entry))
}

/// Empties a folder of whatever is in it, and makes it hold `wanted`.
fn anew(home: &Path, wanted: &Tree) -> io::Result<()> {
    match fs::symlink_metadata(home) {
        Ok(found) if found.is_dir() => {
            open_up(home, &found, CHANGED);
            fs::read_dir(home)?.try_for_each(|entry| remove(&entry?.path()))?;
        }
        found => {
            if found.is_ok() {
                fs::remove_file(home)?;
            }
            fs::create_dir(home)?;
        }
    }
    let mut below_it = wanted.iter().filter(|(path, _)| !path.is_empty());
    below_it.try_for_each(|(path, entry)| make(&below(home, path), entry))
}

/// Empties the folder for files of a moment, or makes it.
pub(super) fn clear_moment(home: &Path) {
    let at = home.join(MOMENT);
    let is_clear = fs::read_dir(&at).is_ok_and(|mut inside| inside.next().is_none());
    if !is_clear {
        // One that can't be made is missing to the program alone.
        let _ = remove(&at);
        let _ = fs::create_dir(&at);
    }
}

/// Removes something with all that is in it, whoever may use it.
fn remove(at: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(at)?;
    if !found.is_dir() {
        return fs::remove_file(at);
    }
    if fs::remove_dir_all(at).is_ok() {
        return Ok(());
    }
    open_up(at, &found, CHANGED);
    fs::read_dir(at)?.try_for_each(|entry| remove(&entry?.path()))?;
    fs::remove_dir(at)
}

fn make(at: &Path, entry: &Entry) -> io::Result<()> {
    match entry {
        Entry::File(content) => place(at, &content.bytes),
        Entry::Folder(_) => fs::create_dir(at),
        #[cfg(unix)]
        Entry::Link(target) => std::os::unix::fs::symlink(target, at),
        #[cfg(not(unix))]
        Entry::Link(_) => Ok(()),
        // Whoever made it is gone.
        Entry::Other => Ok(()),
    }
}

/// Puts a file into its place, whatever is there by now: written beside it and renamed, which follows no link. Who may use it stays as it was.
fn place(at: &Path, bytes: &[u8]) -> io::Result<()> {
    const BESIDE: &str = ".being-put-back";
    let beside = at.with_file_name(BESIDE);
    if let Err(error) = fs::remove_file(&beside)
        && error.kind() != ErrorKind::NotFound
    {
        return Err(error);
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&beside)?;
    file.write_all(bytes)?;
    if let Ok(was) = fs::symlink_metadata(at)
        && was.is_file()
    {
        file.set_permissions(was.permissions())?;
    }
    fs::rename(&beside, at)
}

#[cfg(test)]
#[path = "home_tests.rs"]
mod tests;
