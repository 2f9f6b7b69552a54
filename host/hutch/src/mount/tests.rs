//! What a run does to a granted folder is done whole, or not at all: whatever fails, wherever the process ends, whoever interferes.

use super::carry::{Carry, CarryError, Wishes};
use super::*;
use crate::answer::VolumeChange;
use hutch_folder::{Hands, Step};
use hutch_model::digest::Digest;
use hutch_model::ledger::SecretKey;
use hutch_model::snapshot::{
    Changes, Entry, Lack, Layered, MemoryObjects, Name, Node, ObjectError, Objects, Tree, read_tree,
};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// Paths with their contents; `->target` is a link, a path that ends with `/` an empty folder.
pub(super) type Files<'a> = &'a [(&'a str, &'a str)];

/// The staging folder of the run that a test plays.
pub(super) static STAGED: LazyLock<String> = LazyLock::new(|| staging_name(&KEY, "/granted", &INTENT));

const KEY: SecretKey = SecretKey::new([7; 32]);

const INTENT: Digest = Digest::from_bytes([1; 32]);

fn seal() -> Seal {
    Seal::of(&KEY, INTENT, "/granted", &STAGED).unwrap()
}

pub(super) struct Granted(tempfile::TempDir);

impl Granted {
    pub(super) fn new(files: Files<'_>) -> Granted {
        let home = tempfile::tempdir().unwrap();
        let granted = Granted(home);
        for (path, content) in files {
            let full = granted.at(path);
            std::fs::create_dir_all(full.parent().unwrap()).unwrap();
            match (path.ends_with('/'), content.strip_prefix("->")) {
                (true, _) => std::fs::create_dir_all(&full).unwrap(),
                (_, Some(target)) => std::os::unix::fs::symlink(target, &full).unwrap(),
                (_, None) => std::fs::write(&full, content).unwrap(),
            }
        }
        granted
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    pub(super) fn mount(&self) -> Mount {
        Mount::open(self.0.path(), Access::ReadWrite).unwrap()
    }

    /// Everything in it: content, mode and time of files, targets of links, modes of folders; staging folders too.
    pub(super) fn all(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.0.path().to_owned()];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                let path = entry.path();
                let name = path.strip_prefix(self.0.path()).unwrap().display().to_string();
                let metadata = std::fs::symlink_metadata(&path).unwrap();
                let mode = metadata.permissions().mode();
                if metadata.is_dir() {
                    found.insert(format!("{name}/"), format!("{mode:o}"));
                    pending.push(path);
                } else if metadata.is_symlink() {
                    found.insert(name, format!("->{}", std::fs::read_link(&path).unwrap().display()));
                } else if metadata.is_file() {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.insert(name, format!("{mode:o} {:?} {text}", metadata.modified().unwrap()));
                } else {
                    found.insert(name, "special".to_owned());
                }
            }
        }
        found
    }

    /// Contents alone.
    pub(super) fn files(&self) -> BTreeMap<String, String> {
        let text = |(name, line): (String, String)| match line.split_once(") ").or(line.split_once(" } ")) {
            Some((_, text)) => (name, text.to_owned()),
            None if line.starts_with("->") => (name, line),
            None => (name, line.rsplit(' ').next().unwrap_or_default().to_owned()),
        };
        self.all().into_iter().filter(|(name, _)| !name.ends_with('/')).map(text).collect()
    }
}

/// What a guest was shown and what it left.
pub(super) struct Ran {
    pub(super) objects: Layered,
    pub(super) change: VolumeChange,
    pub(super) seen: Arc<MountObjects>,
}

impl Ran {
    pub(super) fn wishes(&self, mount: &Mount) -> Result<Wishes, CarryError> {
        Wishes::of(mount, &self.objects, &self.change)
    }
}

/// A guest that looked at everything and left `after`. Contents that are as they were are named as they were: by handles.
pub(super) fn ran(mount: &Mount, after: Files<'_>) -> Ran {
    fn look(objects: &dyn Objects, tree: &Digest, path: &str, known: &mut BTreeMap<String, Entry>) {
        for entry in read_tree(objects, tree).unwrap().into_entries() {
            let below = if path.is_empty() { entry.name.to_string() } else { format!("{path}/{}", entry.name) };
            if let Node::Folder { tree, .. } = &entry.node {
                look(objects, tree, &below, known);
            }
            known.insert(below, entry);
        }
    }
    fn folder(
        new: &mut MemoryObjects,
        known: &BTreeMap<String, Entry>,
        text: &dyn Fn(&Node) -> Option<String>,
        path: &str,
        files: &[(&str, &str)],
    ) -> Node {
        let mut inside: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        let mut entries = Vec::new();
        for (name, content) in files {
            let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            match name.split_once('/') {
                Some((name, rest)) => {
                    let files = inside.entry(name).or_default();
                    if !rest.is_empty() {
                        files.push((rest, content));
                    }
                }
                None => {
                    let same = known.get(&below(name)).filter(|entry| text(&entry.node).as_deref() == Some(content));
                    entries.push(same.cloned().unwrap_or_else(|| Entry {
                        name: Name::new(name).unwrap(),
                        modified_ns: 1_000_000_000,
                        node: match content.strip_prefix("->") {
                            Some(target) => Node::Link { target: target.into() },
                            None => new.insert_file(content.as_bytes()),
                        },
                    }));
                }
            }
        }
        for (name, files) in inside {
            let below = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            let node = folder(new, known, text, &below, &files);
            let modified_ns = known.get(&below).map_or(2_000_000_000, |entry| entry.modified_ns);
            entries.push(Entry { name: Name::new(name).unwrap(), modified_ns, node });
        }
        new.insert_tree(&Tree::new(entries).unwrap())
    }
    let shown = mount.objects("mnt", 1 << 20);
    let before = shown.root();
    let mut known = BTreeMap::new();
    look(&*shown, &before, "", &mut known);
    let text = |node: &Node| match node {
        Node::Link { target } => Some(format!("->{target}")),
        Node::File { size, content } => {
            let mut bytes = Vec::new();
            let read = hutch_model::snapshot::read_file::<ObjectError>(&*shown, content, *size, &mut |part| {
                bytes.extend_from_slice(part);
                Ok(())
            });
            read.ok().and_then(|()| String::from_utf8(bytes).ok())
        }
        Node::Folder { .. } => None,
    };
    let mut new = MemoryObjects::default();
    let Node::Folder { tree: after, .. } = folder(&mut new, &known, &text, "", after) else { unreachable!() };
    let objects = Layered(vec![Arc::new(new), shown.clone()]);
    let changes = hutch_model::snapshot::diff(&objects, &before, &after).unwrap();
    Ran { objects, change: VolumeChange { before, after, changes }, seen: shown }
}

pub(super) fn carry<'a>(mount: &'a Mount, ran: &Ran, hands: Hands) -> Result<Carried<'a>, CarryError> {
    Carry::stage(mount, &ran.objects, (&ran.wishes(mount)?, &ran.seen), seal(), hands)?.apply()
}

pub(super) fn recover(mount: &Mount, recorded: bool) -> io::Result<()> {
    recover_by(mount, recorded, &Hands::default())
}

fn recover_by(mount: &Mount, recorded: bool, hands: &Hands) -> io::Result<()> {
    super::journal::recover(mount.dir(), &seal(), recorded, hands)
}

/// Hands on a system that lets things change places, or has no such step; for every other step they ask.
fn hands(exchanges: bool, check: impl Fn(Step) -> io::Result<()> + Send + Sync + 'static) -> Hands {
    Hands::checked(move |step| match step == Step::Exchange && !exchanges {
        true => Err(io::ErrorKind::Unsupported.into()),
        false => check(step),
    })
}

/// Hands that fail from this step on.
pub(super) fn ending_at(exchanges: bool, fatal: u64) -> Hands {
    let count = AtomicU64::new(0);
    hands(exchanges, move |_| match count.fetch_add(1, Ordering::Relaxed) + 1 >= fatal {
        true => Err(io::Error::other("made to fail")),
        false => Ok(()),
    })
}

pub(super) fn expected(files: Files<'_>) -> BTreeMap<String, String> {
    let files = files.iter().filter(|(path, _)| !path.ends_with('/'));
    files.map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect()
}

/// What a folder holds before a run, and what the run makes of it.
type Journey<'a> = (Files<'a>, Files<'a>);

const JOURNEYS: &[Journey<'_>] = &[
    (&[], &[("a", "1"), ("d/b", "2")]),
    (&[("a", "1"), ("d/b", "2"), ("l", "->a")], &[]),
    (&[("a", "1"), ("b", "1")], &[("a", "2"), ("b", "1"), ("c", "3")]),
    // The move that lost a thesis.
    (&[("thesis.txt", "years"), ("sub/x", "1")], &[("sub/thesis.txt", "years"), ("sub/x", "1")]),
    (&[("a", "file")], &[("a/b/c", "deep"), ("a/d/", "")]),
    (&[("a/b/c", "deep"), ("a/d/", "")], &[("a", "file")]),
    (&[("a", "->b"), ("b", "1")], &[("a", "1"), ("b", "->a")]),
    (&[("a/x", "1"), ("b", "->a")], &[("a", "->b/x"), ("b/x", "2")]),
    (&[("d/1", "1"), ("d/2", "2"), ("e/f/1", "1")], &[("d/2", "2"), ("d/3", "3"), ("e/1", "1")]),
];

/// A plan is told from what it is not: by what it replaces and takes away, and by what it puts there, and by nothing else.
#[test]
fn what_is_wanted_is_known_again() {
    for (before, after) in JOURNEYS {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let names = |after: Files<'_>| {
            let ran = ran(&mount, after);
            ran.wishes(&mount).unwrap().names(&ran.objects, &ran.seen, &|handle| ran.seen.source(handle)).unwrap()
        };
        let (was, comes) = names(after);
        assert_eq!(names(after), (was, comes), "{before:?}");
        std::fs::write(granted.at("zz"), "beside").unwrap();
        let with_it = [*after, &[("zz", "beside")]].concat();
        assert_eq!(names(&with_it), (was, comes), "{before:?}");
        for (at, (path, content)) in with_it.iter().enumerate().filter(|(_, (path, _))| !path.ends_with('/')) {
            let other = format!("{content}?");
            let mut others = with_it.clone();
            others[at].1 = &other;
            assert_ne!(names(&others).1, comes, "{before:?}: {path}");
        }
        let is_file = |content: &str| !content.is_empty() && !content.starts_with("->");
        for (path, content) in before.iter().filter(|one| is_file(one.1) && !with_it.contains(one)) {
            std::fs::write(granted.at(path), format!("{content}+")).unwrap();
            assert_ne!(names(&with_it).0, was, "{before:?}: {path}");
            std::fs::write(granted.at(path), content).unwrap();
        }
    }
}

#[test]
fn what_a_run_wants_is_there_afterwards_and_nothing_else() {
    for ((before, after), exchanges) in JOURNEYS.iter().flat_map(|journey| [(journey, true), (journey, false)]) {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        carry(&mount, &ran, hands(exchanges, |_| Ok(()))).unwrap().finish();
        assert_eq!(granted.files(), expected(after), "{before:?} -> {after:?}");
        assert!(granted.all().keys().all(|name| !name.contains(STAGING)), "{:?}", granted.all());
    }
}

/// One failing step, or an end after any step: the folder is as it was, to the byte, mode and time. So too where the system has no
/// exchange and a replacement takes two steps; whoever takes it back may be on another system than the run was.
#[test]
fn a_failure_at_any_step_leaves_the_folder_as_it_was() {
    let ways =
        [(false, true, true), (false, false, true), (true, true, true), (true, false, true), (true, false, false)];
    side_by_side(ways, |(before, after), (ends, exchanges, exchanges_later)| {
        let mut failed = 0;
        for fatal in 1.. {
            let granted = Granted::new(before);
            let mount = granted.mount();
            let ran = ran(&mount, after);
            let was = granted.all();
            let count = AtomicU64::new(0);
            let hands = hands(exchanges, move |_| {
                let step = count.fetch_add(1, Ordering::Relaxed) + 1;
                match step == fatal || (ends && step > fatal) {
                    true => Err(io::Error::other("made to fail")),
                    false => Ok(()),
                }
            });
            match ends {
                false => match carry(&mount, &ran, hands) {
                    Ok(carried) => {
                        carried.finish();
                        break;
                    }
                    Err(error) => assert!(matches!(error, CarryError::Io { .. }), "{error}"),
                },
                true => {
                    // The process ends here: nothing is taken back by itself, and what was staged is still there.
                    if end_in_the_middle(&mount, &ran, hands) {
                        break;
                    }
                    recover_by(&mount, false, &self::hands(exchanges_later, |_| Ok(()))).unwrap();
                }
            }
            failed += 1;
            let way = (ends, exchanges, exchanges_later);
            assert_eq!(granted.all(), was, "{before:?} -> {after:?}, step {fatal}, ends, exchanges: {way:?}");
        }
        assert!(failed > 3, "{before:?} -> {after:?} took {failed} steps");
    });
}

/// Does it for each journey in each way. The ways go beside each other: most of the time of each is the disk's.
fn side_by_side<W: Copy + Send>(ways: impl IntoIterator<Item = W>, job: impl Fn(&Journey<'_>, W) + Sync) {
    let job = &job;
    std::thread::scope(|scope| {
        for way in ways {
            scope.spawn(move || JOURNEYS.iter().for_each(|journey| job(journey, way)));
        }
    });
}

/// Taking back can end at any step too, and the next one takes back the rest; so can the cleaning up of a run that was recorded.
#[test]
fn a_recovery_that_ends_at_any_step_is_ended_by_the_next() {
    let ways = [(false, [true; 3]), (true, [true; 3]), (false, [false; 3]), (true, [false; 3])];
    let mixed = [(false, [true, false, true]), (false, [true, false, false]), (false, [false, true, false])];
    side_by_side(ways.into_iter().chain(mixed), |(before, after), (recorded, exchanges)| {
        for fatal in 1.. {
            let granted = Granted::new(before);
            let mount = granted.mount();
            let ran = ran(&mount, after);
            let was = granted.all();
            assert!(end_in_the_middle(&mount, &ran, hands(exchanges[0], |_| Ok(()))));
            let ended = recover_by(&mount, recorded, &ending_at(exchanges[1], fatal)).is_ok();
            recover_by(&mount, recorded, &hands(exchanges[2], |_| Ok(()))).unwrap();
            let way = format!("{before:?} -> {after:?}, step {fatal}, exchanges: {exchanges:?}");
            match recorded {
                true => assert_eq!(granted.files(), expected(after), "{way}"),
                false => assert_eq!(granted.all(), was, "{way}"),
            }
            if ended {
                break;
            }
        }
    });
}

/// Where there is no exchange, a place is empty for a moment, and another program may make a file in it just then: that file stays, and
/// what was there before is kept until its place is free.
#[test]
fn what_another_program_makes_in_the_moment_in_between_costs_nobody_a_file() {
    for ends in [false, true] {
        let granted = Granted::new(&[("a", "precious"), ("b", "1")]);
        let mount = granted.mount();
        let ran = ran(&mount, &[("a", "2"), ("b", "2")]);
        let to = granted.at("a");
        let hands = hands(false, move |step| {
            if step == Step::Move && !to.exists() {
                std::fs::write(&to, "another program's")?;
                return if ends { Err(io::Error::other("made to fail")) } else { Ok(()) };
            }
            Ok(())
        });
        match ends {
            true => assert!(!end_in_the_middle(&mount, &ran, hands)),
            false => {
                let error = carry(&mount, &ran, hands).err().unwrap();
                assert!(matches!(error, CarryError::Left { .. }), "{error}");
            }
        }
        for _ in 0..2 {
            assert!(recover(&mount, false).is_err());
            let files = granted.files();
            assert_eq!((&files["a"][..], &files["b"][..]), ("another program's", "1"));
            assert!(files.iter().any(|(name, text)| name.starts_with(&*STAGED) && text == "precious"), "{files:?}");
        }
        std::fs::remove_file(granted.at("a")).unwrap();
        recover(&mount, false).unwrap();
        assert_eq!(granted.files(), expected(&[("a", "precious"), ("b", "1")]));
    }
}

/// What is under a name that the run gave nothing is somebody's, or was moved there by nobody knows whom: nothing is removed.
#[test]
fn a_staging_folder_that_holds_something_unknown_is_not_removed() {
    for strange in ["new-0.swap", "old-7", "new-x", "new-", "mine"] {
        for (recorded, steps) in [(false, 3), (false, u64::MAX), (true, u64::MAX)] {
            let granted = Granted::new(&[("a", "1"), ("b", "1")]);
            let mount = granted.mount();
            let ran = ran(&mount, &[("a", "2"), ("c", "1")]);
            end_in_the_middle(&mount, &ran, ending_at(true, steps));
            let strange = granted.at(&format!("{}/{strange}", *STAGED));
            std::fs::write(&strange, "precious").unwrap();
            for _ in 0..2 {
                assert!(recover(&mount, recorded).is_err(), "{strange:?}, {steps} steps");
                assert_eq!(std::fs::read_to_string(&strange).unwrap(), "precious", "{steps} steps");
            }
            std::fs::remove_file(&strange).unwrap();
            recover(&mount, recorded).unwrap();
            let files = if recorded { [("a", "2"), ("c", "1")] } else { [("a", "1"), ("b", "1")] };
            assert_eq!(granted.files(), expected(&files));
        }
    }
}

/// A process that ends while it removes the staging folder has removed any part of it.
#[test]
fn what_is_left_of_a_staging_folder_is_not_taken_for_what_is_still_to_be_done() {
    for recorded in [false, true] {
        let granted = Granted::new(&[("a", "1"), ("b", "1")]);
        let mount = granted.mount();
        let ran = ran(&mount, &[("a", "2"), ("c", "1")]);
        assert!(end_in_the_middle(&mount, &ran, Hands::default()));
        let staging = granted.at(&STAGED);
        std::fs::rename(staging.join("journal"), staging.join("journal.done")).unwrap();
        let files = ["new-0", "new-1", "old-0"].map(|name| staging.join(name)).into_iter();
        assert_eq!(files.filter(|path| std::fs::remove_file(path).is_ok()).count(), 2);
        recover(&mount, recorded).unwrap();
        assert_eq!(granted.files(), expected(&[("a", "2"), ("c", "1")]));
        assert!(!staging.exists());
    }
}

/// The folder in which something was replaced or removed has another name by now: the originals are kept until it is back.
#[test]
fn the_originals_of_a_folder_that_was_moved_are_not_let_go_of() {
    let before = [("d/a", "original a"), ("d/b", "original b"), ("d/c", "original c")];
    for after in [&[("d/a", "2"), ("d/b", "2"), ("d/c", "2")][..], &[("x", "1")], &[("d/a", "2"), ("d/z", "2")]] {
        // While it is carried out.
        let granted = Granted::new(&before);
        let mount = granted.mount();
        let moved = ran(&mount, after);
        let (moves, from, to) = (AtomicU64::new(0), granted.at("d"), granted.at("e"));
        let hands = Hands::checked(move |step| {
            let journal_is_written =
                matches!(step, Step::Move | Step::Exchange) && moves.fetch_add(1, Ordering::Relaxed) == 2;
            if journal_is_written { std::fs::rename(&from, &to) } else { Ok(()) }
        });
        let error = carry(&mount, &moved, hands).err().expect("a folder that was moved was not noticed");
        assert!(matches!(error, CarryError::Left { .. }), "{after:?}: {error}");
        std::fs::rename(granted.at("e"), granted.at("d")).unwrap();
        recover(&mount, false).unwrap();
        assert_eq!(granted.files(), expected(&before), "{after:?}");

        // After the end of the process.
        let granted = Granted::new(&before);
        let mount = granted.mount();
        let killed = ran(&mount, after);
        let was = granted.all();
        assert!(end_in_the_middle(&mount, &killed, Hands::default()));
        std::fs::rename(granted.at("d"), granted.at("e")).unwrap_or_default();
        if granted.at("e").exists() {
            let moved = granted.all();
            assert!(recover(&mount, false).is_err(), "{after:?}");
            let kept = |name: &&String| name.contains("/old-") || name.contains("/new-");
            assert_eq!(moved.keys().filter(kept).count(), granted.all().keys().filter(kept).count(), "{after:?}");
            std::fs::rename(granted.at("e"), granted.at("d")).unwrap();
        }
        recover(&mount, false).unwrap();
        assert_eq!(granted.all(), was, "{after:?}");
    }
}

/// What can't be read is no leave to throw away what it is about.
#[test]
fn a_journal_that_cannot_be_read_leaves_everything_as_it_stands() {
    let flip = |mut bytes: Vec<u8>| {
        bytes[0] ^= 1;
        bytes
    };
    let another = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace("\"replace\"", "\"reverse\"").into_bytes();
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    for damage in [&flip as &dyn Fn(Vec<u8>) -> Vec<u8>, &another, &cut] {
        let granted = Granted::new(&[("a", "1"), ("b", "1")]);
        let mount = granted.mount();
        let ran = ran(&mount, &[("a", "2")]);
        let was = granted.all();
        assert!(end_in_the_middle(&mount, &ran, Hands::default()));
        let journal = granted.at(&STAGED).join("journal");
        let whole = std::fs::read(&journal).unwrap();
        std::fs::write(&journal, damage(whole.clone())).unwrap();
        let stands = granted.files();
        for _ in 0..2 {
            assert_eq!(recover(&mount, false).unwrap_err().kind(), io::ErrorKind::InvalidData);
            assert_eq!(granted.files(), stands);
        }
        std::fs::write(&journal, whole).unwrap();
        recover(&mount, false).unwrap();
        assert_eq!(granted.all(), was);
    }
}

/// The same of one that is longer than any that is written, with all of one in it: nobody reads a gigabyte to find that out.
#[test]
fn a_journal_that_is_longer_than_any_is_not_read() {
    let granted = Granted::new(&[("a", "1"), ("b", "1")]);
    let mount = granted.mount();
    let ran = ran(&mount, &[("a", "2")]);
    let was = granted.all();
    assert!(end_in_the_middle(&mount, &ran, Hands::default()));
    let journal = std::fs::File::options().write(true).open(granted.at(&STAGED).join("journal")).unwrap();
    let bytes = journal.metadata().unwrap().len();
    let stands = granted.files();
    journal.set_len((1 << 30) + 1).unwrap();
    assert_eq!(recover(&mount, false).unwrap_err().kind(), io::ErrorKind::InvalidData);
    // Not here either.
    journal.set_len(bytes).unwrap();
    assert_eq!(granted.files(), stands);
    recover(&mount, false).unwrap();
    assert_eq!(granted.all(), was);
}

/// A journal that another instance wrote, or this one for another entry, is nobody's leave to move anything: not even where folder and
/// files have the numbers that it names.
#[test]
fn a_journal_that_this_instance_did_not_write_moves_nothing() {
    let granted = Granted::new(&[("a", "1"), ("b", "1")]);
    let mount = granted.mount();
    let ran = ran(&mount, &[("a", "2"), ("c", "1")]);
    let was = granted.all();
    assert!(end_in_the_middle(&mount, &ran, Hands::default()));
    let journal = granted.at(&STAGED).join("journal");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let (_, plan) = whole.split_once('\n').unwrap();
    let other_key = SecretKey::new([8; 32]);
    let parts: [&[u8]; 5] = [b"journal", INTENT.as_bytes(), b"/granted", STAGED.as_bytes(), plan.as_bytes()];
    let other_entry = Seal::of(&KEY, Digest::from_bytes([2; 32]), "/granted", &STAGED).unwrap();
    let marks = [other_key.seal(&parts).to_string(), other_entry.journal(plan.as_bytes()).to_string(), String::new()];
    let forged = marks.map(|mark| format!("{mark}\n{plan}")).into_iter().chain([plan.to_owned(), String::new()]);
    for forged in forged {
        for name in ["journal", "journal.done"] {
            std::fs::remove_file(&journal).unwrap();
            std::fs::write(granted.at(&STAGED).join(name), &forged).unwrap();
            let stands = granted.all();
            for recorded in [false, true] {
                assert_eq!(recover(&mount, recorded).unwrap_err().kind(), io::ErrorKind::InvalidData);
            }
            assert_eq!(granted.all(), stands);
            std::fs::rename(granted.at(&STAGED).join(name), &journal).unwrap();
        }
    }
    std::fs::write(&journal, whole).unwrap();
    recover(&mount, false).unwrap();
    assert_eq!(granted.all(), was);
}

/// As of a folder that was copied to another disk: what was only added is not said to be taken back while it stands there.
#[test]
fn what_was_added_and_has_another_number_by_now_is_for_somebody_to_let_go_of() {
    let granted = Granted::new(&[("b", "1")]);
    let mount = granted.mount();
    let ran = ran(&mount, &[("b", "1"), ("c", "1"), ("d", "2")]);
    assert!(end_in_the_middle(&mount, &ran, Hands::default()));
    let (there, copy) = (granted.at("c"), granted.at("copy"));
    std::fs::copy(&there, &copy).unwrap();
    let time = std::fs::metadata(&there).unwrap().modified().unwrap();
    std::fs::File::options().write(true).open(&copy).unwrap().set_modified(time).unwrap();
    std::fs::rename(&copy, &there).unwrap();
    for _ in 0..2 {
        assert_eq!(recover(&mount, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(granted.files()["c"], "1");
    }
    // What a person has put there is a person's.
    std::fs::write(&there, "mine").unwrap();
    recover(&mount, false).unwrap();
    assert_eq!(granted.files(), expected(&[("b", "1"), ("c", "mine")]));
}

/// Carries out until the hands fail, and leaves everything as it stands then. Whether nothing failed.
pub(super) fn end_in_the_middle(mount: &Mount, ran: &Ran, hands: Hands) -> bool {
    leave(mount, ran, seal(), hands)
}

/// The same, for a run of another instance or another entry.
pub(super) fn leave(mount: &Mount, ran: &Ran, seal: Seal, hands: Hands) -> bool {
    let staged = Carry::stage_and_stop(mount, &ran.objects, (&ran.wishes(mount).unwrap(), &ran.seen), seal, hands);
    staged.is_ok_and(|carry| carry.apply_and_stop())
}

#[test]
fn a_record_that_is_refused_takes_all_of_it_back() {
    for (before, after) in JOURNEYS {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let was = granted.all();
        let carried = carry(&mount, &ran, Hands::default()).unwrap();
        let error = carried.give_up(CarryError::Changed("the record was refused".to_owned()));
        assert!(matches!(error, CarryError::Changed(_)), "{error}");
        assert_eq!(granted.all(), was, "{before:?} -> {after:?}");
    }
}

/// A run that was recorded and did not live to clean up: what it did stays, and what it kept aside goes.
#[test]
fn a_recorded_run_is_finished_and_not_taken_back() {
    for (before, after) in JOURNEYS {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        std::mem::forget(carry(&mount, &ran, Hands::default()).unwrap());
        assert!(granted.all().keys().any(|name| name.starts_with(&*STAGED)));
        recover(&mount, true).unwrap();
        assert_eq!(granted.files(), expected(after), "{before:?} -> {after:?}");
        recover(&mount, true).unwrap();
    }
}

/// Whatever another program changes after the guest was shown it is a conflict, and stays.
#[test]
fn a_change_meanwhile_is_a_conflict_and_no_mixture() {
    type Meanwhile = fn(&Granted);
    let cases: [(Files<'_>, Files<'_>, Meanwhile); 7] = [
        (&[("a", "1")], &[("a", "2")], |granted| std::fs::write(granted.at("a"), "mine").unwrap()),
        (&[("a", "1")], &[], |granted| std::fs::write(granted.at("a"), "mine").unwrap()),
        (&[("a", "1")], &[("a", "1"), ("b", "2")], |granted| std::fs::write(granted.at("b"), "mine").unwrap()),
        (&[("a", "1")], &[("a", "2")], |granted| std::fs::remove_file(granted.at("a")).unwrap()),
        (&[("d/a", "1")], &[], |granted| std::fs::write(granted.at("d/b"), "mine").unwrap()),
        (&[("d/a", "1")], &[("d/a", "2")], |granted| {
            std::fs::rename(granted.at("d"), granted.at("e")).unwrap();
        }),
        (&[("d/a", "1"), ("x", "1")], &[("d/a", "2"), ("x", "2")], |granted| {
            std::fs::rename(granted.at("d"), granted.at("e")).unwrap();
            std::os::unix::fs::symlink("e", granted.at("d")).unwrap();
        }),
    ];
    for (before, after, meanwhile) in cases {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        meanwhile(&granted);
        let was = granted.all();
        let error = carry(&mount, &ran, Hands::default()).err().expect("a change meanwhile was not noticed");
        let refused =
            matches!(&error, CarryError::Io { source, .. } if source.kind() == io::ErrorKind::DirectoryNotEmpty);
        assert!(matches!(error, CarryError::Changed(_)) || refused, "{error}");
        assert_eq!(granted.all(), was, "{before:?} -> {after:?}");
    }
}

/// The same, in the last moment: while it is being carried out.
#[test]
fn what_a_person_saves_in_the_last_moment_stays() {
    for after in [&[("a", "2"), ("b", "2")][..], &[("b", "2")]] {
        let granted = Granted::new(&[("a", "1"), ("b", "1")]);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let (saved, to) = (Arc::new(AtomicU64::new(0)), granted.at("a"));
        let hands = Hands::checked(move |step| {
            if step == Step::Move && saved.fetch_add(1, Ordering::Relaxed) == 0 {
                std::fs::write(&to, "mine")?;
            }
            Ok(())
        });
        let error = carry(&mount, &ran, hands).err().unwrap();
        assert!(matches!(error, CarryError::Changed(_)), "{error}");
        assert_eq!(granted.files(), expected(&[("a", "mine"), ("b", "1")]), "{after:?}");
    }
}

/// A chunk of a large file that the guest did not write is read when the change is carried out: only if the file is still the same.
#[test]
fn unchanged_parts_are_those_that_the_guest_saw() {
    let text: String = (0..40_000).map(|line| format!("{line}\n")).collect();
    let granted = Granted::new(&[("big", &text)]);
    let mount = granted.mount();
    let shown = mount.objects("mnt", 1 << 20);
    let before = shown.root();
    let entry = read_tree(&*shown, &before).unwrap().get("big").unwrap().clone();
    let Node::File { size, content } = entry.node else { unreachable!() };
    let mut parts = hutch_model::snapshot::read_list(&*shown, &content).unwrap();
    let mut new = MemoryObjects::default();
    let first = new.insert(hutch_model::digest::Kind::Chunk, vec![b'x'; 65_536]);
    parts[0] = first;
    let list = new.insert(hutch_model::digest::Kind::List, hutch_model::snapshot::encode_list(&parts));
    let changed = Entry { node: Node::File { size, content: list }, ..entry };
    let Node::Folder { tree: after, .. } = new.insert_tree(&Tree::new(vec![changed]).unwrap()) else { unreachable!() };
    let ran = Ran {
        objects: Layered(vec![Arc::new(new), shown.clone()]),
        change: VolumeChange { before, after, changes: Changes::default() },
        seen: shown,
    };
    let mut other = text.clone();
    other.replace_range(100_000..100_001, "?");
    for meanwhile in [other.as_str(), "short"] {
        std::fs::write(granted.at("big"), meanwhile).unwrap();
        let error = carry(&mount, &ran, Hands::default()).err().unwrap();
        assert!(matches!(&error, CarryError::Object(_) | CarryError::Changed(_)), "{error}");
        assert_eq!(std::fs::read_to_string(granted.at("big")).unwrap(), meanwhile);
        assert_eq!(granted.all().len(), 1);
    }
}

/// Two writes within one step of the file system's clock leave one look. What was read before the second is not told from what was read
/// after it by that, unless the first was long ago.
#[test]
fn no_two_versions_of_a_file_that_looks_the_same_are_one() {
    let text: String = (0..40_000).map(|line| format!("{line}\n")).collect();
    let other = text.replace('1', "2");
    let parts = |shown: &MountObjects| {
        let entry = read_tree(shown, &shown.root()).unwrap().get("big").unwrap().clone();
        let Node::File { content, .. } = entry.node else { unreachable!() };
        hutch_model::snapshot::read_list(shown, &content).unwrap()
    };
    let read = |shown: &MountObjects, part: &Digest| shown.get(hutch_model::digest::Kind::Chunk, part);
    let granted = Granted::new(&[("big", &text), ("d/small", "1")]);
    let mount = granted.mount();
    // Nobody writes meanwhile.
    let shown = mount.objects("mnt", 1 << 20);
    parts(&shown).iter().for_each(|part| drop(read(&shown, part).unwrap()));
    shown.check(&|| true).unwrap();
    // Somebody does, and the parts do not belong together.
    let shown = mount.objects("mnt", 1 << 20);
    let listed = parts(&shown);
    read(&shown, &listed[0]).unwrap();
    std::fs::write(granted.at("big"), &other).unwrap();
    shown.look_again();
    read(&shown, &listed[1]).unwrap();
    let lack = read(&shown, &listed[0]).unwrap_err().lack;
    assert!(matches!(lack, Lack::Changed(_)), "{lack:?}");
    let shown = mount.objects("mnt", 1 << 20);
    let listed = parts(&shown);
    read(&shown, &listed[0]).unwrap();
    std::fs::write(granted.at("big"), &text).unwrap();
    shown.look_again();
    read(&shown, &listed[1]).unwrap();
    // Nothing more is read than there is time for.
    assert_eq!(shown.check(&|| false), Ok(()));
    let error = shown.check(&|| true).unwrap_err();
    assert!(matches!(&error.lack, Lack::Changed(path) if path.ends_with("big")), "{error}");
    // What is added behind what was read changes nothing of that.
    let shown = mount.objects("mnt", 1 << 20);
    let listed = parts(&shown);
    read(&shown, &listed[0]).unwrap();
    std::fs::write(granted.at("big"), format!("{text}more")).unwrap();
    shown.check(&|| true).unwrap();
    // What was old when it was read is known by its look, and not read again.
    let mut shown = Arc::into_inner(mount.objects("mnt", 1 << 20)).unwrap();
    shown.now_ns = || u64::MAX;
    let listed = parts(&shown);
    read(&shown, &listed[0]).unwrap();
    std::fs::remove_file(granted.at("big")).unwrap();
    shown.check(&|| true).unwrap();
}

#[test]
fn links_that_leave_and_names_of_the_host_are_withheld() {
    let granted = Granted::new(&[("a", "1")]);
    let mount = granted.mount();
    let outside =
        [("a", "1"), ("d/out", "->../../x"), ("evil", "->../../etc/passwd"), ("root", "->/etc"), ("d/in", "->../a")];
    let ran = ran(&mount, &[&outside[..], &[(".hutch-x/y", "2"), (".hutch-z", "3")]].concat());
    let wishes = ran.wishes(&mount).unwrap();
    assert_eq!(wishes.withheld, [".hutch-x", ".hutch-x/y", ".hutch-z", "d/out", "evil", "root"]);
    let listed = wishes.changes.listed.iter().map(|change| change.path.as_str()).collect::<Vec<_>>();
    assert_eq!((listed, wishes.changes.omitted), (vec!["d", "d/in"], 0));
    carry(&mount, &ran, Hands::default()).unwrap().finish();
    assert_eq!(granted.files(), expected(&[("a", "1"), ("d/in", "->../a")]));
}

/// What was moved to where it can't be would be nowhere.
#[test]
fn nothing_is_moved_to_where_it_is_withheld() {
    let cases: [(Files<'_>, Files<'_>); 3] = [
        (&[("d/a", "1"), ("b", "1")], &[(".hutch-d/a", "1"), ("b", "1")]),
        (&[("d/e/l", "->../../b"), ("b", "1")], &[("l", "->../../b"), ("b", "1")]),
        (&[("a", "1"), ("b", "1")], &[("a", "->../x"), ("b", "2")]),
    ];
    for (before, after) in cases {
        let granted = Granted::new(before);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let was = granted.all();
        let error = carry(&mount, &ran, Hands::default()).err().unwrap();
        assert!(matches!(error, CarryError::Withheld(_)), "{error}");
        assert_eq!(granted.all(), was);
    }
}

/// What tools act on, and what can be started, is neither made, changed nor removed; nor is anything else that the run did.
#[test]
fn what_tools_act_on_is_changed_only_where_that_is_granted() {
    let git: Files<'_> = &[("a", "1"), ("d/.git/config", "1")];
    let plain: Files<'_> = &[("a", "1"), ("d/Makefile", "1"), ("run", "1")];
    let kept = &[("a", "2"), ("d/Makefile", "2"), ("run", "1")];
    let cases: [(Files<'_>, Files<'_>, &str); 8] = [
        (git, &[("a", "2"), ("d/.git/config", "2")], "d/.git/config"),
        (git, &[("a", "2"), ("d/.git/config", "1"), ("d/.git/hooks/post-checkout", "2")], "d/.git/hooks"),
        (git, &[("a", "2"), ("d/b", "1")], "d/.git"),
        (git, &[("a", "2"), ("moved/.git/config", "1")], "d/.git"),
        (plain, &[("a", "2"), ("d/Makefile", "1"), ("run", "2")], "run"),
        (plain, &[&kept[..], &[("new/.ENVRC", "2")]].concat(), "new/.ENVRC"),
        (plain, &[&kept[..], &[(".vscode", "->d")]].concat(), ".vscode"),
        (plain, &[&kept[..], &[("bare/HEAD", "2"), ("bare/config", "2")]].concat(), "bare/HEAD"),
    ];
    let make_startable = |granted: &Granted| {
        let run = granted.at("run");
        if run.exists() {
            std::fs::set_permissions(run, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    };
    for (before, after, refused) in cases {
        let granted = Granted::new(before);
        make_startable(&granted);
        let was = granted.all();
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let error = carry(&mount, &ran, Hands::default()).err().unwrap();
        let is_startable = matches!(&error, CarryError::Startable(path) if path == "run");
        let is_acted_on = matches!(&error, CarryError::ActedOn(path) if path == refused);
        assert!(if refused == "run" { is_startable } else { is_acted_on }, "{refused}: {error}");
        assert_eq!(granted.all(), was, "{refused}");
        let mount = mount.with_acted_on();
        carry(&mount, &ran, Hands::default()).unwrap().finish();
        assert_eq!(granted.files(), expected(after), "{refused}");
    }
    let granted = Granted::new(plain);
    make_startable(&granted);
    let mount = granted.mount();
    carry(&mount, &ran(&mount, kept), Hands::default()).unwrap().finish();
    assert_eq!(granted.files(), expected(kept));
}

/// A file that holds nothing is named by that, as what a guest has looked at is.
#[test]
fn an_empty_file_that_a_run_only_looked_at_is_not_touched() {
    use std::os::unix::fs::MetadataExt;
    let granted = Granted::new(&[("a", "1"), (".gitkeep", ""), ("d/run", ""), ("e", "")]);
    std::fs::set_permissions(granted.at("d/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let numbers = || [".gitkeep", "d/run", "e"].map(|path| std::fs::metadata(granted.at(path)).unwrap().ino());
    let (mount, was) = (granted.mount(), numbers());
    let shown = mount.objects("mnt", 1 << 20);
    let (mut new, before) = (MemoryObjects::default(), shown.root());
    // As a world names what was looked at.
    let named = |tree: &Digest, new: &mut MemoryObjects| {
        let entries = read_tree(&*shown, tree).unwrap().into_entries().into_iter();
        let named = entries.map(|entry| match entry.node {
            Node::File { size: 0, .. } => Entry { node: new.insert_file(b""), ..entry },
            _ => entry,
        });
        named.collect::<Vec<_>>()
    };
    let mut entries = named(&before, &mut new);
    for entry in &mut entries {
        match &entry.node {
            Node::Folder { tree, .. } => {
                let inside = named(tree, &mut new);
                entry.node = new.insert_tree(&Tree::new(inside).unwrap());
            }
            Node::File { size: 1, .. } => entry.node = new.insert_file(b"2"),
            _ => {}
        }
    }
    let Node::Folder { tree: after, .. } = new.insert_tree(&Tree::new(entries).unwrap()) else { unreachable!() };
    let objects = Layered(vec![Arc::new(new), shown.clone()]);
    let changes = hutch_model::snapshot::diff(&objects, &before, &after).unwrap();
    let paths = changes.listed.iter().map(|change| change.path.as_str()).collect::<Vec<_>>();
    assert_eq!((paths, changes.omitted), (vec!["a"], 0));
    let ran = Ran { objects, change: VolumeChange { before, after, changes }, seen: shown };
    carry(&mount, &ran, Hands::default()).unwrap().finish();
    assert_eq!((&granted.files()["a"][..], numbers()), ("2", was));
    // One that is written is another.
    let ran = super::tests::ran(&mount, &[("a", "2"), (".gitkeep", ""), ("d/run", ""), ("e", "3")]);
    carry(&mount, &ran, Hands::default()).unwrap().finish();
    assert_eq!(granted.files()["e"], "3");
}

/// Two names of one file: a run may change both, and what another program does by either meanwhile is a conflict.
#[test]
fn a_file_with_two_names_is_changed_by_both() {
    use std::os::unix::fs::MetadataExt;
    let linked = || {
        let granted = Granted::new(&[("a", "1"), ("d/x", "1")]);
        std::fs::hard_link(granted.at("a"), granted.at("b")).unwrap();
        std::fs::hard_link(granted.at("a"), granted.at("d/c")).unwrap();
        granted
    };
    let cases: [Files<'_>; 5] = [
        &[("a", "2"), ("b", "3"), ("d/c", "4"), ("d/x", "1")],
        &[("a", "2"), ("b", "2"), ("d/c", "1"), ("d/x", "1")],
        &[("a", "2"), ("d/x", "1")],
        &[("b", "2"), ("d/c", "1"), ("d/x", "1")],
        &[],
    ];
    for (after, exchanges) in cases.iter().flat_map(|after| [(after, true), (after, false)]) {
        for fatal in 1.. {
            assert!(fatal < 200, "{after:?} is never carried out");
            let granted = linked();
            let mount = granted.mount();
            let ran = ran(&mount, after);
            let number = |path: &str| std::fs::metadata(granted.at(path)).unwrap().ino();
            let was = (granted.all(), ["a", "b", "d/c"].map(number));
            if end_in_the_middle(&mount, &ran, ending_at(exchanges, fatal)) {
                recover(&mount, true).unwrap();
                assert_eq!(granted.files(), expected(after), "{after:?}");
                break;
            }
            recover(&mount, false).unwrap();
            assert_eq!((granted.all(), ["a", "b", "d/c"].map(number)), was, "{after:?}, step {fatal}");
        }
        let granted = linked();
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let (at, moves) = (granted.at("d/c"), AtomicU64::new(0));
        // After the first of them was moved.
        let hands = hands(exchanges, move |step| {
            let is_move = matches!(step, Step::Move | Step::Exchange);
            if is_move && moves.fetch_add(1, Ordering::Relaxed) == 2 && at.exists() {
                std::fs::write(&at, "mine")?;
            }
            Ok(())
        });
        if let Err(error) = carry(&mount, &ran, hands) {
            assert!(matches!(error, CarryError::Changed(_) | CarryError::Left { .. }), "{error}");
            assert_eq!(granted.files()["d/c"], "mine", "{after:?}");
        }
    }
    let dated = linked();
    let mount = dated.mount();
    let shown = mount.objects("mnt", 1 << 20);
    let (mut new, before) = (MemoryObjects::default(), shown.root());
    let mut entries = read_tree(&*shown, &before).unwrap().into_entries();
    entries
        .iter_mut()
        .filter(|entry| matches!(entry.node, Node::File { .. }))
        .for_each(|entry| entry.modified_ns = 5_000_000_000);
    let Node::Folder { tree: after, .. } = new.insert_tree(&Tree::new(entries).unwrap()) else { unreachable!() };
    let objects = Layered(vec![Arc::new(new), shown.clone()]);
    let change = VolumeChange { before, after, changes: Changes::default() };
    carry(&mount, &Ran { objects, change, seen: shown }, Hands::default()).unwrap().finish();
    assert_eq!(std::fs::metadata(dated.at("b")).unwrap().mtime(), 5);
}

/// What could be started may neither go nor be another's by name: what one run removes, the next would make.
#[test]
fn what_may_be_started_stays_under_its_name() {
    let before: Files<'_> = &[("a", "1"), ("d/run", "1"), ("plain", "2")];
    let cases: [Files<'_>; 7] = [
        &[("a", "1"), ("plain", "2")],
        &[("a", "1"), ("d/", ""), ("plain", "2")],
        &[("a", "1"), ("d", "1"), ("plain", "2")],
        &[("a", "1"), ("d/run", "2")],
        &[("a", "1"), ("d/run/x", "1"), ("plain", "2")],
        &[("a", "1"), ("d/run", "->../plain"), ("plain", "2")],
        &[("a", "1"), ("d/other", "1"), ("plain", "2")],
    ];
    for (after, mode) in cases.iter().flat_map(|after| [0o755, 0o100, 0o001].map(|mode| (after, mode))) {
        let granted = Granted::new(before);
        std::fs::set_permissions(granted.at("d/run"), std::fs::Permissions::from_mode(mode | 0o400)).unwrap();
        let (mount, was) = (granted.mount(), granted.all());
        let ran = ran(&mount, after);
        let error = carry(&mount, &ran, Hands::default()).err().unwrap();
        assert!(matches!(&error, CarryError::Startable(path) if path == "d/run"), "{after:?}: {error}");
        assert_eq!(granted.all(), was);
        let mount = mount.with_acted_on();
        carry(&mount, &ran, Hands::default()).unwrap().finish();
        assert_eq!(granted.files(), expected(after), "{after:?}");
    }
    // Nor may what a link leads to be another by its name.
    for (target, is_started) in [("d/run", true), ("plain", false), ("d", true), ("e", false), ("nowhere", false)] {
        let gone: Files<'_> = &[("d/run", "1"), ("e/x", "3"), ("plain", "2")];
        let another: Files<'_> = &[("d/run", "1"), ("e/x", "3"), ("plain", "2"), ("link", "->elsewhere")];
        for (after, is_started) in [(gone, false), (another, is_started)] {
            let link = format!("->{target}");
            let granted = Granted::new(&[("d/run", "1"), ("e/x", "3"), ("plain", "2"), ("link", &link)]);
            std::fs::set_permissions(granted.at("d/run"), std::fs::Permissions::from_mode(0o755)).unwrap();
            let mount = granted.mount();
            let carried = carry(&mount, &ran(&mount, after), Hands::default());
            let is_refused = matches!(&carried, Err(CarryError::Startable(path)) if path == "link");
            assert_eq!(is_refused, is_started, "{target}: {:?}", carried.err());
        }
    }
    // In a folder that is there or gone, what may not be started is the run's.
    let granted = Granted::new(before);
    let mount = granted.mount();
    carry(&mount, &ran(&mount, &[("a", "1")]), Hands::default()).unwrap().finish();
    assert_eq!(granted.files(), expected(&[("a", "1")]));
}

/// A folder that holds what the guest was not shown can't be removed, and then nothing of the run is done.
#[test]
fn what_the_guest_was_not_shown_is_not_removed() {
    let granted = Granted::new(&[("d/a", "1"), ("x", "1")]);
    let made = std::process::Command::new("mkfifo").arg(granted.at("d/pipe")).status().unwrap();
    assert!(made.success());
    let mount = granted.mount();
    let ran = ran(&mount, &[("x", "2")]);
    let was = granted.all();
    let error = carry(&mount, &ran, Hands::default()).err().unwrap();
    assert!(error.to_string().contains("holds what the run was not shown"), "{error}");
    assert_eq!(granted.all(), was);
}

/// What a killed run left behind under its own name stands in nobody's way.
#[test]
fn another_runs_leftovers_are_not_touched_and_do_not_hinder() {
    let granted = Granted::new(&[("a", "1"), (".hutch-fedcba9876543210/new-0", "left")]);
    let mount = granted.mount();
    let ran = ran(&mount, &[("a", "2")]);
    assert!(
        ran.seen.stamp("a").is_some() && ran.seen.stamp(".hutch-fedcba9876543210").is_none(),
        "a guest is shown staging folders"
    );
    carry(&mount, &ran, Hands::default()).unwrap().finish();
    assert_eq!(granted.files()["a"], "2");
    assert_eq!(granted.files()[".hutch-fedcba9876543210/new-0"], "left");
    for name in
        ["../x", "x", ".hutch-a/b", ".hutch-", ".hutch-fedcba9876543210", ".hutch-fedcba98765432100123456789abcdef"]
    {
        assert!(Seal::of(&KEY, INTENT, "/granted", name).is_none(), "{name}");
    }
    assert!(Seal::of(&KEY, INTENT, "/elsewhere", &STAGED).is_none());
    assert!(Seal::of(&SecretKey::new([8; 32]), INTENT, "/granted", &STAGED).is_none());
}

/// A wait for the disk for each of thousands of files would be minutes.
#[test]
#[cfg(target_os = "linux")]
fn many_files_are_not_waited_for_one_by_one() {
    let granted = Granted::new(&[("a", "1")]);
    let mount = granted.mount();
    let names: Vec<String> = (0..200).map(|number| format!("f{number:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).chain([("a", "1")]).collect();
    let ran = ran(&mount, &files);
    let syncs = Arc::new(AtomicU64::new(0));
    let counted = syncs.clone();
    let hands = Hands::checked(move |step| {
        counted.fetch_add(u64::from(step == Step::Sync), Ordering::Relaxed);
        Ok(())
    });
    carry(&mount, &ran, hands).unwrap().finish();
    assert_eq!(granted.files().len(), 201);
    assert!((33..50).contains(&syncs.load(Ordering::Relaxed)), "{syncs:?}");
}

/// What was put there by a run that did not live is taken away only as long as nobody wrote to it.
#[test]
fn what_somebody_wrote_after_the_end_of_a_process_is_not_taken_back() {
    for (path, was) in [("new", None), ("old", Some("1"))] {
        let granted = Granted::new(&[("old", "1"), ("other", "1")]);
        let mount = granted.mount();
        let files: Vec<_> = [("old", if was.is_some() { "2" } else { "1" }), ("other", "2")].into();
        let files = if was.is_none() { [files, vec![("new", "2")]].concat() } else { files };
        let ran = ran(&mount, &files);
        let staged = Carry::stage_and_stop(
            &mount,
            &ran.objects,
            (&ran.wishes(&mount).unwrap(), &ran.seen),
            seal(),
            Hands::default(),
        );
        assert!(staged.unwrap().apply_and_stop(), "{path}");
        std::fs::write(granted.at(path), "a person's own words").unwrap();
        assert!(recover(&mount, false).is_err(), "{path}");
        assert_eq!(granted.files()[path], "a person's own words");
        assert_eq!(granted.files()["other"], "1", "the rest is put back");
    }
}

/// Times can be set back by anybody; the system's own time of change can't.
#[test]
fn a_change_that_hides_itself_is_a_conflict() {
    for after in [&[("a", "222")][..], &[]] {
        let granted = Granted::new(&[("a", "111")]);
        let mount = granted.mount();
        let ran = ran(&mount, after);
        let was = std::fs::metadata(granted.at("a")).unwrap().modified().unwrap();
        std::fs::write(granted.at("a"), "333").unwrap();
        std::fs::File::options().write(true).open(granted.at("a")).unwrap().set_modified(was).unwrap();
        let error = carry(&mount, &ran, Hands::default()).err().unwrap();
        assert!(matches!(&error, CarryError::Changed(_)), "{error}");
        assert_eq!(granted.files(), expected(&[("a", "333")]));
    }
}

#[test]
fn a_time_is_not_set_on_what_was_changed_meanwhile() {
    let granted = Granted::new(&[("a", "1")]);
    let mount = granted.mount();
    let shown = mount.objects("mnt", 1 << 20);
    let before = shown.root();
    let entry = read_tree(&*shown, &before).unwrap().get("a").unwrap().clone();
    let mut new = MemoryObjects::default();
    let dated = Entry { modified_ns: 5_000_000_000, ..entry };
    let Node::Folder { tree: after, .. } = new.insert_tree(&Tree::new(vec![dated]).unwrap()) else { unreachable!() };
    let ran = Ran {
        objects: Layered(vec![Arc::new(new), shown.clone()]),
        change: VolumeChange { before, after, changes: Changes::default() },
        seen: shown,
    };
    let modified = || std::fs::metadata(granted.at("a")).unwrap().modified().unwrap();
    std::fs::write(granted.at("a"), "2").unwrap();
    let was = modified();
    assert!(matches!(carry(&mount, &ran, Hands::default()), Err(CarryError::Changed(_))));
    assert_eq!((modified(), &granted.files()["a"][..]), (was, "2"));
}
