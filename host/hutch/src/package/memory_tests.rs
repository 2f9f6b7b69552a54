//! What is remembered of a package holds exactly as long as nothing could have changed.

use super::super::*;
use super::*;
use hutch_model::snapshot::{Entry, Node, Objects, find};
use hutch_sandbox::SealKey;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0one";

/// A package with everything that a run depends on, and a cache beside it.
struct Case(TempDir);

impl Case {
    fn new() -> Case {
        let case = Case(tempfile::tempdir().unwrap());
        case.file("APP.md", include_bytes!("../../../../packages/todo/APP.md"));
        case.file("schemas/commands.json", include_bytes!("../../../../packages/todo/schemas/commands.json"));
        case.file("app/app.wasm", COMPONENT);
        let manifest = fs::read_to_string(case.at("APP.md")).unwrap();
        let with_resources = manifest.replacen("    state:", "    resources: [docs]\n    state:", 1);
        assert_ne!(manifest, with_resources);
        case.file("APP.md", with_resources.as_bytes());
        case.file("docs/a.txt", b"a");
        case.file("docs/sub/b.txt", b"b");
        case
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join("package").join(path)
    }

    fn file(&self, path: &str, content: &[u8]) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), content).unwrap();
    }

    fn source(&self) -> Source {
        Source::open(&self.at(""), &bounds()).unwrap()
    }

    fn memory_of(&self, key: u8, at: SystemTime) -> Memory {
        let path = self.0.path().join("cache");
        let cache = ArtifactCache::open(&path, move || Some(SealKey::new([key; 32]))).unwrap();
        let ns = at.duration_since(UNIX_EPOCH).unwrap().as_nanos();
        Memory::new(Arc::new(cache), Instant::from_unix_ns(ns as u64))
    }

    /// The memory of a moment when everything that is written now is old.
    fn memory(&self) -> Memory {
        self.memory_of(1, later(0))
    }

    fn recalled(&self) -> Option<Package> {
        self.memory().recall(&self.source(), bounds(), Scope::Run).map(|(package, _)| package)
    }

    /// Opens it, and makes sure that it is remembered.
    fn remember(&self) -> Package {
        let package = Package::open_remembered(&self.source(), bounds(), &self.memory()).unwrap();
        assert!(self.recalled().is_some(), "it is not remembered");
        package
    }
}

fn bounds() -> PackageBounds {
    PackageBounds::with_component(1 << 20)
}

fn later(seconds: u64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(10 + seconds)
}

/// Another letter, the same length, with the time that the file had before.
fn change_unseen(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut bytes = fs::read(path).unwrap();
    let letter = bytes.iter().rposition(u8::is_ascii_lowercase).unwrap();
    bytes[letter] ^= 1;
    fs::write(path, bytes).unwrap();
    fs::File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
}

#[test]
fn what_is_remembered_is_what_was_read() {
    let case = Case::new();
    let read = case.remember();
    let recalled = case.recalled().unwrap();
    assert_eq!(recalled.manifest(), read.manifest());
    assert_eq!(recalled.run_digest().unwrap(), read.run_digest().unwrap());
    assert_eq!((recalled.component_digest(), recalled.component_bytes()), (read.component_digest(), 11));
    assert_eq!(recalled.payload(), read.payload());
    assert_eq!(recalled.whole_contract().unwrap(), read.whole_contract().unwrap());
    assert_eq!(recalled.component().unwrap(), COMPONENT);
    let position = |package: &Package| package.contract().unwrap().unwrap().position("/commands/1");
    assert_eq!(position(&recalled), position(&read));
    let (tree, resources) = (read.resources().unwrap().trees["docs"], recalled.resources().unwrap());
    assert_eq!(resources.trees["docs"], tree);
    let listed = |package: &Package| package.resources().unwrap().objects.get(Kind::Tree, &tree).unwrap();
    assert_eq!(listed(&recalled), listed(&read));
}

#[test]
fn a_file_that_was_changed_without_trace_but_the_systems_is_read_again() {
    for path in ["APP.md", "schemas/commands.json", "app/app.wasm", "docs/a.txt", "docs/sub/b.txt"] {
        let case = Case::new();
        let before = case.remember().run_digest().unwrap();
        change_unseen(&case.at(path));
        assert!(case.recalled().is_none(), "{path}");
        let opened = Package::open_remembered(&case.source(), bounds(), &case.memory());
        assert!(opened.is_err() || opened.unwrap().run_digest().unwrap() != before, "{path}");
    }
}

#[test]
fn a_file_that_another_took_the_place_of_is_read_again() {
    let case = Case::new();
    case.remember();
    let (path, aside) = (case.at("app/app.wasm"), case.at("app/other"));
    fs::write(&aside, b"\0asm\x0d\0\x01\0two").unwrap();
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    fs::File::options().append(true).open(&aside).unwrap().set_modified(modified).unwrap();
    fs::rename(&aside, &path).unwrap();
    assert!(case.recalled().is_none());
}

#[test]
fn files_that_come_and_go_count() {
    for (what, change) in [
        ("a new resource", (|case: &Case| case.file("docs/sub/c.txt", b"c")) as fn(&Case)),
        ("a resource less", |case| fs::remove_file(case.at("docs/a.txt")).unwrap()),
        ("no description", |case| fs::remove_file(case.at("schemas/commands.json")).unwrap()),
        ("another folder", |case| {
            fs::rename(case.at("docs"), case.at("old")).unwrap();
            case.file("docs/a.txt", b"a");
        }),
    ] {
        let case = Case::new();
        case.remember();
        change(&case);
        assert!(case.recalled().is_none(), "{what}");
    }
    let case = Case::new();
    fs::remove_file(case.at("schemas/commands.json")).unwrap();
    case.remember();
    case.file("schemas/commands.json", b"{}");
    assert!(case.recalled().is_none(), "a description that was not there");
    // One of another kind is none, and is remembered as none as long as it is as it was.
    let package = case.remember();
    assert!(package.whole_contract().unwrap().is_none());
    assert!(case.recalled().unwrap().contract().unwrap().is_none());
    case.file("schemas/commands.json", b"{ }");
    assert!(case.recalled().is_none(), "a description of another kind that was changed");
}

/// What was written a moment ago could be written again within the same step of the clock, and look the same.
#[test]
fn young_files_are_not_remembered() {
    for seconds in [0, 1, 2] {
        let case = Case::new();
        let written = fs::metadata(case.at("docs/sub/b.txt")).unwrap().modified().unwrap();
        let memory = case.memory_of(1, written + Duration::from_secs(seconds));
        Package::open_remembered(&case.source(), bounds(), &memory).unwrap();
        assert!(case.recalled().is_none(), "after {seconds} s");
    }
    // Times of the future are those of another clock.
    let case = Case::new();
    let memory = case.memory_of(1, SystemTime::now() - Duration::from_secs(100));
    Package::open_remembered(&case.source(), bounds(), &memory).unwrap();
    assert!(case.recalled().is_none());
}

#[test]
fn now_and_then_it_is_read_again() {
    let case = Case::new();
    case.remember();
    let recalled = |at| case.memory_of(1, at).recall(&case.source(), bounds(), Scope::Run).is_some();
    assert!(recalled(later(23 * 3600)));
    assert!(!recalled(later(25 * 3600)), "a day later");
    assert!(!recalled(SystemTime::now() - Duration::from_secs(3600)), "a clock that was set back");
}

#[test]
fn only_what_this_home_sealed_is_believed() {
    let case = Case::new();
    case.remember();
    assert!(case.memory_of(2, later(0)).recall(&case.source(), bounds(), Scope::Run).is_none(), "another key");
    let notes: Vec<PathBuf> =
        fs::read_dir(case.0.path().join("cache")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [note] = &notes[..] else { panic!("{notes:?}") };
    let whole = fs::read(note).unwrap();
    for at in (0..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(note, bytes).unwrap();
        assert!(case.recalled().is_none(), "a flipped bit in byte {at}");
    }
    fs::write(note, &whole).unwrap();
    assert!(case.recalled().is_some());
    // The note of one package under the name of another's, as a copied cache and a copied package would have it.
    let other = Case::new();
    other.remember();
    let theirs = fs::read_dir(other.0.path().join("cache")).unwrap().next().unwrap().unwrap().path();
    fs::write(&theirs, &whole).unwrap();
    assert!(other.recalled().is_none());
    fs::write(other.0.path().join("cache").join(note.file_name().unwrap()), &whole).unwrap();
    assert!(other.recalled().is_none());
}

#[test]
fn a_part_that_is_read_later_is_the_one_that_was_remembered() {
    for path in ["app/app.wasm", "schemas/commands.json", "docs/a.txt"] {
        let case = Case::new();
        case.remember();
        let package = case.recalled().unwrap();
        change_unseen(&case.at(path));
        let seen = [
            package.component().is_ok(),
            package.contract().is_ok(),
            package.resources().unwrap().objects.get(Kind::Chunk, &Digest::of(Kind::Chunk, b"a")).is_ok(),
        ];
        let expected = ["app/app.wasm", "schemas/commands.json", "docs/a.txt"].map(|other| other != path);
        assert_eq!(seen, expected, "{path}");
    }
}

/// A guest's first look costs what it looks at, however much there is beside.
#[test]
fn of_resources_nothing_is_read_but_what_is_asked_for() {
    let case = Case::new();
    case.remember();
    let recalled = case.recalled().unwrap();
    let (source, resources) = (case.at("docs"), recalled.resources().unwrap());
    assert!(!resources.objects.is_named(), "what names them was read before anybody looked");
    fs::remove_file(case.at("docs/sub/b.txt")).unwrap();
    let a = find(&*resources.objects, &resources.trees["docs"], ["a.txt"]).unwrap().unwrap();
    let b = find(&*resources.objects, &resources.trees["docs"], ["sub", "b.txt"]).unwrap().unwrap();
    let read = |entry: Entry| match entry.node {
        Node::File { content, .. } => resources.objects.get(Kind::Chunk, &content),
        _ => panic!("no file"),
    };
    assert_eq!(&*read(a).unwrap(), b"a");
    assert!(read(b).is_err());
    fs::remove_dir_all(source).unwrap();
    assert!(find(&*resources.objects, &resources.trees["docs"], ["a.txt"]).unwrap().is_some());
}

#[test]
fn bounds_hold_for_what_is_remembered() {
    let case = Case::new();
    case.remember();
    let small = PackageBounds::with_component(COMPONENT.len() as u64 - 1);
    assert!(case.memory().recall(&case.source(), small, Scope::Run).is_none());
    assert!(Package::open_remembered(&case.source(), small, &case.memory()).is_err());
}

#[cfg(unix)]
#[test]
fn what_stands_behind_a_link_is_not_remembered() {
    for (link, target) in [("app/app.wasm", "real.wasm"), ("schemas", "elsewhere"), ("docs/a.txt", "sub/b.txt")] {
        let case = Case::new();
        let real = case.at(link).with_file_name(target);
        match fs::rename(case.at(link), &real) {
            Ok(()) => std::os::unix::fs::symlink(target, case.at(link)).unwrap(),
            Err(error) => panic!("{link}: {error}"),
        }
        let _ = Package::open_remembered(&case.source(), bounds(), &case.memory());
        assert!(case.recalled().is_none(), "{link}");
    }
}

#[test]
fn a_packed_package_is_remembered_by_its_file() {
    let case = Case::new();
    let packed = case.0.path().join("todo.pack");
    let mut file = fs::File::create(&packed).unwrap();
    Package::open(&case.source(), bounds()).unwrap().pack(&mut file).unwrap();
    let source = || Source::open(&packed, &bounds()).unwrap();
    let recalled = || case.memory().recall(&source(), bounds(), Scope::Run).is_some();
    Package::open_remembered(&source(), bounds(), &case.memory()).unwrap();
    assert!(recalled());
    change_unseen(&packed);
    assert!(!recalled());
}

#[test]
fn of_the_whole_everything_is_looked_at() {
    for path in ["skills/usage/SKILL.md", "new.txt"] {
        let case = Case::new();
        case.file("skills/usage/SKILL.md", b"x");
        let package = Package::open(&case.source(), bounds()).unwrap();
        let digest = package.digest().unwrap();
        case.memory().keep(&package, Some(digest));
        let recalled = || case.memory().recall(&case.source(), bounds(), Scope::All).map(|(_, digest)| digest);
        assert_eq!(recalled(), Some(Some(digest)));
        assert!(case.recalled().is_none(), "what is known of the whole is asked for alone");
        case.file(path, b"y");
        assert_eq!(recalled(), None, "{path}");
    }
}
