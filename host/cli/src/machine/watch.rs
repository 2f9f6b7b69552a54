//! Folders whose files are watched: what they hold now, and waiting until something happens there. Knows nothing of what is done about it.
//!
//! The system only says that something happened; what differs is found by looking again. So nothing depends on which events a system has.

use crate::refusal::fault::Fault;
use hutch_model::digest::{Digest, Kind};
use hutch_model::error_code::ErrorCode;
use ignore::WalkBuilder;
use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, SystemTime};

/// How long nothing must happen before what happened is looked at: editors write a file in several steps.
const SETTLED: Duration = Duration::from_millis(50);
/// The most files and folders that are watched at once.
const WATCHED_MAX: usize = 100_000;
/// The largest file that is known by its content; larger ones are by size and time.
const READ_MAX: u64 = 4 << 20;

/// Which files of a folder count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// All of them.
    All,
    /// What a person writes: no hidden files, and nothing that a `.gitignore` names.
    Sources,
}

/// What files hold, by path.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Seen(BTreeMap<PathBuf, Stamp>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Stamp {
    Content(Digest),
    Large(u64, Option<SystemTime>),
    /// Neither a file nor a folder, or one that can't be read.
    Other,
}

impl Seen {
    /// The same and these.
    pub(crate) fn and(mut self, more: Seen) -> Seen {
        self.0.extend(more.0);
        self
    }

    /// The files that hold something else in the other one, or are in one of both alone.
    pub(crate) fn differing(&self, other: &Seen) -> BTreeSet<PathBuf> {
        let paths = self.0.keys().chain(other.0.keys());
        paths.filter(|path| self.0.get(*path) != other.0.get(*path)).cloned().collect()
    }
}

/// What is watched.
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    events: Receiver<notify::Result<Event>>,
    /// Each folder by itself: what is ignored costs nothing.
    folders: BTreeSet<PathBuf>,
}

impl Watch {
    /// Nothing yet.
    pub(crate) fn new() -> Result<Watch, Fault> {
        let (sender, events) = channel();
        let tell = move |event: notify::Result<Event>| {
            if !event.as_ref().is_ok_and(is_reading) {
                // Whoever waits is gone only with the watch itself.
                let _ = sender.send(event);
            }
        };
        let watcher = notify::recommended_watcher(tell).map_err(|error| unwatched(Path::new("."), &error))?;
        Ok(Watch { watcher, events, folders: BTreeSet::new() })
    }

    /// What the files below a folder hold, without those below `except`. They are watched from before they are looked at.
    pub(crate) fn look(&mut self, folder: &Path, which: Which, except: Option<&Path>) -> Result<Seen, Fault> {
        loop {
            let (folders, files) = walk(folder, which, except)?;
            if !folders.contains(folder) {
                // Nothing would ever happen there.
                return Err(Fault::new(ErrorCode::NotFound, format!("{} is no folder, or is gone", folder.display())));
            }
            // One that is gone and comes again is another one.
            let is_here =
                |known: &Path| known.starts_with(folder) && !except.is_some_and(|except| known.starts_with(except));
            self.folders.retain(|known| !is_here(known) || folders.contains(known));
            let mut fresh = false;
            for path in folders {
                if !self.folders.contains(&path) {
                    match self.watcher.watch(&path, RecursiveMode::NonRecursive) {
                        Ok(()) => fresh |= self.folders.insert(path),
                        // Gone since.
                        Err(error) if is_gone(&error) => {}
                        Err(error) => return Err(unwatched(&path, &error)),
                    }
                }
            }
            if !fresh {
                return Ok(Seen(files.into_iter().map(stamped).collect()));
            }
        }
    }

    /// Waits until something has happened in what was looked at, and then nothing for a moment.
    pub(crate) fn wait(&mut self) -> Result<(), Fault> {
        let lost = |_| Fault::host("the system no longer says what happens to files");
        let mut event = self.events.recv().map_err(lost)?;
        loop {
            self.forget(&event);
            event = match self.events.recv_timeout(SETTLED) {
                Ok(event) => event,
                Err(_) => return Ok(()),
            };
        }
    }

    /// What is gone or was moved is no longer watched, whatever comes in its place.
    fn forget(&mut self, event: &notify::Result<Event>) {
        let Ok(Event {
            kind: EventKind::Remove(_) | EventKind::Modify(notify::event::ModifyKind::Name(_)), paths, ..
        }) = event
        else {
            return;
        };
        for gone in paths {
            let (watcher, folders) = (&mut self.watcher, &mut self.folders);
            folders.retain(|folder| {
                let stays = !folder.starts_with(gone);
                if !stays {
                    // The system may have done so by itself.
                    let _ = watcher.unwatch(folder);
                }
                stays
            });
        }
    }
}

/// Whether somebody only looked: we do ourselves.
fn is_reading(event: &Event) -> bool {
    matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write))
}

fn is_gone(error: &notify::Error) -> bool {
    match &error.kind {
        ErrorKind::PathNotFound => true,
        ErrorKind::Io(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

fn unwatched(path: &Path, error: &notify::Error) -> Fault {
    match error.kind {
        ErrorKind::MaxFilesWatch => Fault::new(
            ErrorCode::PermissionDenied,
            format!(
                "{}: the system watches no more folders for this user; name a smaller one with --watch",
                path.display()
            ),
        ),
        _ => Fault::host(format!("{} can't be watched: {error}", path.display())),
    }
}

/// The folders and the files below a folder, itself included. One that can't be read is left out.
fn walk(folder: &Path, which: Which, except: Option<&Path>) -> Result<(BTreeSet<PathBuf>, Vec<PathBuf>), Fault> {
    walk_within(WATCHED_MAX, folder, which, except)
}

fn walk_within(
    most: usize,
    folder: &Path,
    which: Which,
    except: Option<&Path>,
) -> Result<(BTreeSet<PathBuf>, Vec<PathBuf>), Fault> {
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(which == Which::Sources).require_git(false);
    let left_out = except.map(Path::to_owned);
    walk.filter_entry(move |entry| left_out.as_deref() != Some(entry.path()));
    let (mut folders, mut files) = (BTreeSet::new(), Vec::new());
    for entry in walk.build().flatten() {
        match entry.file_type().is_some_and(|kind| kind.is_dir()) {
            true => folders.insert(entry.into_path()),
            false => {
                files.push(entry.into_path());
                true
            }
        };
        if folders.len() + files.len() > most {
            let message = format!("{} holds more than {most} files; name a smaller folder", folder.display());
            return Err(Fault::usage(message));
        }
    }
    Ok((folders, files))
}

#[expect(clippy::disallowed_methods, reason = "the caller named the folder; its files are looked at, no more")]
fn stamped(path: PathBuf) -> (PathBuf, Stamp) {
    let stamp = match std::fs::symlink_metadata(&path) {
        Ok(about) if about.is_file() && about.len() <= READ_MAX => {
            std::fs::read(&path).map_or(Stamp::Other, |bytes| Stamp::Content(Digest::of(Kind::Note, &bytes)))
        }
        Ok(about) if about.is_file() => Stamp::Large(about.len(), about.modified().ok()),
        _ => Stamp::Other,
    };
    (path, stamp)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests make the files that they watch")]
mod tests {
    use super::*;
    use std::fs::{create_dir, create_dir_all, remove_dir_all, write};

    fn named(paths: &BTreeSet<PathBuf>, folder: &Path) -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(folder).unwrap().display().to_string()).collect()
    }

    #[test]
    fn what_counts_as_a_source() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["src", "target/deep", ".git", "package/app"] {
            create_dir_all(at(path)).unwrap();
        }
        for path in ["src/main.rs", "target/deep/x.o", ".git/HEAD", ".envrc", "package/app/app.wasm", "notes.txt"] {
            write(at(path), path).unwrap();
        }
        write(at(".gitignore"), "/target\n").unwrap();
        let (folders, files) = walk(folder.path(), Which::Sources, Some(&at("package"))).unwrap();
        assert_eq!(named(&folders, folder.path()), ["", "src"]);
        assert_eq!(named(&files.into_iter().collect(), folder.path()), ["notes.txt", "src/main.rs"]);
        let (_, all) = walk(&at("package"), Which::All, None).unwrap();
        assert_eq!(named(&all.into_iter().collect(), folder.path()), ["package/app/app.wasm"]);
    }

    #[test]
    fn what_is_large_is_known_by_its_size_and_a_folder_holds_so_much() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for (name, bytes, is_large) in [("whole", READ_MAX, false), ("large", READ_MAX + 1, true)] {
            std::fs::File::create(at(name)).unwrap().set_len(bytes).unwrap();
            assert_eq!(matches!(stamped(at(name)).1, Stamp::Large(found, _) if found == bytes), is_large, "{name}");
        }
        // The folder counts too.
        assert!(walk_within(3, folder.path(), Which::All, None).is_ok());
        let fault = walk_within(2, folder.path(), Which::All, None).unwrap_err();
        assert!(fault.report().message.contains("more than 2 files"), "{}", fault.report().message);
        assert_eq!(fault.report().code, ErrorCode::Usage);
    }

    #[test]
    fn a_change_wakes_and_is_named_also_in_a_folder_that_came_later_or_came_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        write(at("a"), "1").unwrap();
        let mut watch = Watch::new().unwrap();
        let mut seen = watch.look(folder.path(), Which::All, None).unwrap();
        let mut differs = |change: &dyn Fn()| {
            change();
            // What is only touched or half seen wakes, and differs in nothing.
            loop {
                watch.wait().unwrap();
                let now = watch.look(folder.path(), Which::All, None).unwrap();
                let differing = seen.differing(&now);
                if !differing.is_empty() {
                    seen = now;
                    return named(&differing, folder.path());
                }
            }
        };
        assert_eq!(differs(&|| write(at("a"), "2").unwrap()), ["a"]);
        assert_eq!(
            differs(&|| {
                create_dir(at("in")).unwrap();
                write(at("in/b"), "1").unwrap();
            }),
            ["in/b"]
        );
        assert_eq!(differs(&|| write(at("in/b"), "2").unwrap()), ["in/b"]);
        let again = || {
            remove_dir_all(at("in")).unwrap();
            create_dir(at("in")).unwrap();
            write(at("in/c"), "1").unwrap();
        };
        assert_eq!(differs(&again), ["in/b", "in/c"]);
        assert_eq!(differs(&|| write(at("in/c"), "2").unwrap()), ["in/c"]);
    }

    #[test]
    fn looking_wakes_nobody() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path().join("a"), "1").unwrap();
        let mut watch = Watch::new().unwrap();
        let seen = watch.look(folder.path(), Which::All, None).unwrap();
        for _ in 0..3 {
            assert_eq!(watch.look(folder.path(), Which::All, None).unwrap(), seen);
        }
        assert!(watch.events.recv_timeout(SETTLED).is_err());
        assert_eq!(Seen::default().and(seen.clone()).differing(&seen), BTreeSet::new());
    }
}
