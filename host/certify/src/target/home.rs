//! The home of a program that is judged: told by a digest around each call, and put back, whatever the program left in the place of what was
//! there. Knows no process and no rule.
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
pub(super) const CACHE: &str = ".cache";
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
    fn of(bytes: &[u8], stamp: Option<Stamp>) -> Content {
        let mut hasher = Hasher::new(Kind::Package);
        hasher.update_part(bytes);
        Content { bytes: Arc::new(bytes.to_vec()), digest: hasher.finish(), stamp }
    }

    /// The same, as it was found again.
    fn again(&self, stamp: Option<Stamp>) -> Content {
        Content { stamp, ..self.clone() }
    }
}

impl State {
    /// What a home holds, of which nothing is read again that is as it was `before`.
    pub(super) fn found(home: &Path, before: Option<&State>) -> State {
        let none = Tree::new();
        let (files, unseen) = match tree(home, before.map_or(&none, |before| &before.files)) {
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

/// Every file below a folder, every folder, and what is neither. Caches are no state: what they hold is made again; nor is what SQLite keeps
/// beside a database to share its log between processes. What is as it was before is not held twice.
fn tree(home: &Path, before: &Tree) -> Result<Tree, String> {
    // One place that every file is read into: memory that is taken anew for each costs more than reading.
    let mut bytes = Vec::new();
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
            let Ok(found) = entry.metadata() else { continue };
            let mut name = folder.clone();
            if !name.is_empty() {
                name.push("/");
            }
            name.push(entry.file_name());
            let kind = found.file_type();
            if kind.is_dir() {
                if entry.file_name() != CACHE {
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
                let is = match known.filter(|known| stamp.is_some() && known.stamp == stamp) {
                    Some(known) => Entry::File(known.again(stamp)),
                    None => {
                        open_up(&entry.path(), &found, READ);
                        bytes.clear();
                        let read = fs::File::open(entry.path()).and_then(|mut file| file.read_to_end(&mut bytes));
                        match (read, known.filter(|known| *known.bytes == bytes)) {
                            (Err(_), _) => Entry::Other,
                            (Ok(_), Some(known)) => Entry::File(known.again(stamp)),
                            (Ok(_), None) => Entry::File(Content::of(&bytes, stamp)),
                        }
                    }
                };
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
mod tests {
    use super::*;

    /// A program may leave links in its home where there were files and folders: putting the home back follows none.
    #[cfg(unix)]
    #[test]
    fn what_a_home_is_put_back_to_reaches_nothing_elsewhere() {
        use std::os::unix::fs::symlink;
        let root = std::env::temp_dir().join(format!("hutch-certify-links-{}", std::process::id()));
        let (home, elsewhere) = (root.join("home"), root.join("elsewhere"));
        fs::create_dir_all(home.join("folder")).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        for (path, content) in [("home/file", "one"), ("home/folder/file", "two"), ("elsewhere/own", "precious")] {
            fs::write(root.join(path), content).unwrap();
        }
        let at = |name: &str| fs::read_to_string(home.join(name)).unwrap();
        let first = State::found(&home, None);
        fs::remove_file(home.join("file")).unwrap();
        fs::remove_dir_all(home.join("folder")).unwrap();
        symlink(elsewhere.join("own"), home.join("file")).unwrap();
        symlink(&elsewhere, home.join("folder")).unwrap();
        let linked = State::found(&home, Some(&first));
        assert!(linked.digest != first.digest && !first.is_still_in(&home));
        put_back(&home, &linked, &first).unwrap();
        assert_eq!((at("file"), at("folder/file")), ("one".to_owned(), "two".to_owned()));
        // And back: links are part of what it held.
        put_back(&home, &first, &linked).unwrap();
        assert_eq!(fs::read_link(home.join("folder")).unwrap(), elsewhere);
        // Also where one came since somebody looked.
        put_back(&home, &linked, &first).unwrap();
        fs::remove_file(home.join("file")).unwrap();
        symlink(elsewhere.join("own"), home.join("file")).unwrap();
        let holding = |bytes: &[u8]| Tree::from([("file".into(), Entry::File(Content::of(bytes, None)))]);
        change(&home, &holding(b"another"), &holding(b"one")).unwrap();
        assert_eq!(at("file"), "one");
        let names: Vec<_> = fs::read_dir(&elsewhere).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(
            (names, fs::read_to_string(elsewhere.join("own")).unwrap()),
            (vec!["own".into()], "precious".to_owned())
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_known_again_once_its_clock_has_gone_on() {
        use std::os::unix::fs::MetadataExt;
        let file = fs::metadata(std::env::current_exe().unwrap()).unwrap();
        let (seconds, parts): (u64, u32) = (file.ctime().try_into().unwrap(), file.ctime_nsec().try_into().unwrap());
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, parts);
        let known = |after_ms| Stamp::of(&file, changed + Duration::from_millis(after_ms)).is_some();
        let is_fine = !parts.is_multiple_of(1_000_000);
        assert_eq!([known(10), known(100), known(2_100)], [false, is_fine, true]);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_written_made_or_removed_is_seen_without_reading() {
        let root = std::env::temp_dir().join(format!("hutch-certify-{}", std::process::id()));
        fs::create_dir_all(root.join("folder")).unwrap();
        fs::write(root.join("folder/file"), "one").unwrap();
        let changes: [fn(&Path); 4] = [
            |root| fs::write(root.join("folder/file"), "two").unwrap(),
            |root| fs::write(root.join("folder/new"), "").unwrap(),
            |root| fs::remove_file(root.join("folder/new")).unwrap(),
            |root| fs::create_dir(root.join("other")).unwrap(),
        ];
        let mut was = State::found(&root, None);
        for change in changes {
            // It is known once the file system's clock has gone on.
            while !was.is_still_in(&root) {
                was = State::found(&root, Some(&was));
            }
            change(&root);
            assert!(!was.is_still_in(&root) && State::found(&root, Some(&was)).digest != was.digest);
        }
        fs::remove_dir_all(&root).unwrap();
    }

    /// Whatever a program leaves in the place of what was there is seen, and goes.
    #[cfg(unix)]
    #[test]
    fn whatever_stands_in_the_place_of_what_was_there_is_seen_and_goes() {
        let root = std::env::temp_dir().join(format!("hutch-certify-instead-{}", std::process::id()));
        let (home, elsewhere) = (root.join("home"), root.join("elsewhere"));
        fs::create_dir_all(home.join("folder/inner")).unwrap();
        fs::create_dir_all(elsewhere.join("own")).unwrap();
        for name in ["folder/file", ".cache"] {
            fs::write(home.join(name), name).unwrap();
        }
        let first = State::found(&home, None);
        let is_back = |after: &State, what: &str| {
            put_back(&home, after, &first).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(fs::read_to_string(home.join("folder/file")).unwrap(), "folder/file", "{what}");
            assert_eq!(State::found(&home, None).digest, first.digest, "{what}");
        };
        drop(std::os::unix::net::UnixListener::bind(home.join("folder/socket")).unwrap());
        let after = State::found(&home, Some(&first));
        assert_ne!(after.digest, first.digest);
        is_back(&after, "a socket");
        for (script, changes, is_seen) in [
            ("rm -r folder; mkfifo folder", true, true),
            ("rm folder/file; mkfifo folder/file", true, true),
            ("mkdir closed; mkfifo closed/pipe; chmod 0 closed", true, true),
            // What is in a cache is not looked at, and may be in the way.
            ("rm .cache; mkdir -p .cache/closed/x; chmod 0 .cache/closed", true, true),
            // Without a ring the home itself may be another: what a link leads to stays.
            ("cd ..; rm -r home; ln -s elsewhere home", true, false),
            ("chmod 0 folder/file folder .", false, true),
        ] {
            let mut shell = std::process::Command::new("/bin/sh");
            assert!(shell.args(["-ec", script]).current_dir(&home).status().unwrap().success(), "{script}");
            assert!(!first.is_still_in(&home), "{script}");
            let after = State::found(&home, Some(&first));
            assert_eq!((after.digest != first.digest, after.unseen.is_none()), (changes, is_seen), "{script}");
            is_back(&after, script);
            assert!(elsewhere.join("own").exists(), "{script}");
        }
        remove(&root).unwrap();
    }
}
