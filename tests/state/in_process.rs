//! Many calls in one process, from many threads at once, on a store in memory and on one that is kept: each has its own guest, its own
//! entry and its own place, and what is answered is there.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

#[path = "halved.rs"]
mod halved;
#[path = "proofs.rs"]
mod proofs;

use cap_std::fs::MetadataExt;
use hutch::package::{Package, PackageBounds, Source};
use hutch::{Answer, Call, EntryName, Failure, Grants, Host, Instance, Mount, Verified};
use hutch_model::error_code::ErrorCode;
use hutch_model::instant::Instant;
use hutch_model::invocation::{Access, Seed};
use hutch_model::ledger::{Request, SecretKey};
use hutch_model::outcome::Verdict;
use hutch_sandbox::ring::paths::May;
use hutch_sandbox::{ArtifactCache, Compile, Sandbox, SealKey, Stop};
use hutch_store::{IfMissing, InstanceDir, MemoryStore, Opening, SqliteStore, Store};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const THREADS: usize = 6;
const EACH: usize = 5;

const AT: Instant = Instant::from_unix_ns(1_775_000_000_000_000_000);

fn call(arguments: &[&str]) -> Call {
    Call::new(arguments.iter().copied(), AT, Seed([7; 32]))
}

fn package(path: &str) -> Package {
    let bounds = PackageBounds::with_component(64 << 20);
    let source = Source::open(&in_repository(path), &bounds).unwrap();
    Package::open(&source, bounds).unwrap()
}

fn in_repository(path: &str) -> PathBuf {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("tests are run by cargo");
    Path::new(&folder).join("../..").join(path)
}

fn todo() -> Package {
    package("packages/todo")
}

/// A sandbox with the artifacts that tests of the program share, as these do.
fn sandbox() -> Sandbox {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hutch");
    Sandbox::new(Compile::Here, ArtifactCache::open(&cache, || Some(SealKey::new([7; SealKey::BYTES]))))
}

/// The titles that `list` answers with.
fn titles(instance: &Instance<'_>) -> BTreeSet<String> {
    let answer = instance.run(&call(&["list"])).unwrap();
    let said: Value = serde_json::from_slice(&answer.outcome.stdout).unwrap();
    let items = said["items"].as_array().expect("items");
    items.iter().map(|item| item["title"].as_str().expect("a title").to_owned()).collect()
}

/// Adds from many threads while others list; no call is ever repeated by its caller. Answers with the places of the entries.
fn many_at_once(instance: &Instance<'_>) -> BTreeSet<u64> {
    let expected: BTreeSet<String> =
        (0..THREADS).flat_map(|thread| (0..EACH).map(move |at| format!("{thread}.{at}"))).collect();
    let places: Vec<u64> = std::thread::scope(|scope| {
        let adding = (0..THREADS).map(|thread| {
            scope.spawn(move || {
                let add = |at: usize| {
                    let title = format!("{thread}.{at}");
                    let answer = instance.run(&call(&["add", &title])).unwrap();
                    assert_eq!((&answer.verdict, answer.kept), (&Verdict::Good, true));
                    assert!(titles(instance).contains(&title), "{title} was answered and is not there");
                    answer.entry.sequence
                };
                (0..EACH).map(add).collect::<Vec<u64>>()
            })
        });
        let adding: Vec<_> = adding.collect();
        adding.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(titles(instance), expected);
    let distinct: BTreeSet<u64> = places.iter().copied().collect();
    assert_eq!(distinct.len(), THREADS * EACH, "two calls have one entry");
    distinct
}

/// One entry for each call, in one chain, and nothing that is not as it was written. The first says that the instance was made.
fn inspect(store: &dyn Store, places: &BTreeSet<u64>) {
    let calls = 2 * THREADS * EACH + 1;
    assert_eq!(store.head().unwrap().last.sequence, 1 + calls as u64);
    assert_eq!(store.check().unwrap(), []);
    let kept =
        store.entries(2, u64::MAX).unwrap().into_iter().filter(|sealed| sealed.open().unwrap().record.changes_state());
    assert_eq!(kept.map(|sealed| sealed.sequence).collect::<BTreeSet<_>>(), *places);
}

#[test]
fn many_threads_share_an_instance_in_memory() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let store = Arc::new(MemoryStore::new(SecretKey::new([3; 32])));
    let instance = host.instance_in(&package, &"default".parse().unwrap(), store.clone(), AT).unwrap();
    let places = many_at_once(&instance);
    inspect(&*store, &places);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "it is in memory alone");
}

#[test]
fn many_threads_share_an_instance_that_is_kept() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let name = "default".parse().unwrap();
    let instance = host.instance(&package, &name, AT).unwrap();
    let places = many_at_once(&instance);
    let dir = InstanceDir::new(home.path(), package.manifest().slug(), &name);
    let opening = Opening { if_missing: IfMissing::Fail, wait: Duration::from_secs(600) };
    inspect(&SqliteStore::open(&dir, &opening).unwrap(), &places);
    // The plain directory shows what was answered.
    let shown = std::fs::read_to_string(dir.path().join("state/todos.json")).unwrap();
    assert_eq!(shown.matches("\"title\"").count(), THREADS * EACH);
}

/// A look answers as a run does, with what people changed in the plain directory, and nothing tells of it.
#[test]
fn a_look_leaves_nothing() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let name = "default".parse().unwrap();
    let instance = host.instance(&package, &name, AT).unwrap();
    let look = |arguments: &[&str]| {
        let answer = instance.look(&call(arguments)).unwrap();
        assert_eq!((&answer.verdict, answer.kept), (&Verdict::Good, false));
        String::from_utf8(answer.outcome.stdout).unwrap()
    };
    look(&["add", "milk"]);
    look(&["list"]);
    instance.run(&call(&["add", "bread"])).unwrap();
    let dir = InstanceDir::new(home.path(), package.manifest().slug(), &name);
    let opening = Opening { if_missing: IfMissing::Fail, wait: Duration::from_secs(600) };
    let store = SqliteStore::open(&dir, &opening).unwrap();
    let last = || store.head().unwrap().last.sequence;
    assert_eq!(last(), 2, "the first state and the run");
    let list = look(&["list"]);
    assert!(list.contains("bread") && !list.contains("milk"), "{list}");
    let shown = dir.path().join("state/todos.json");
    let edited = std::fs::read_to_string(&shown).unwrap().replace("bread", "butter");
    std::fs::write(&shown, &edited).unwrap();
    assert!(look(&["list"]).contains("butter"));
    look(&["add", "eggs"]);
    assert_eq!((last(), std::fs::read_to_string(&shown).unwrap()), (2, edited));
    assert_eq!(titles(&instance), ["butter".to_owned()].into());
}

#[test]
fn what_another_process_carried_out_under_a_name_is_not_carried_out_again() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let name = "default".parse().unwrap();
    let (one, two) = (host.instance(&package, &name, AT).unwrap(), host.instance(&package, &name, AT).unwrap());
    let request = Request::new("ada", "k", b"add");
    one.run(&call(&["list"])).unwrap();
    // Both have looked, and neither has found it.
    let looked = one.session(AT).unwrap().head().unwrap().last.sequence;
    let mine = one.on_behalf(None, Stop::new()).requested(Some(request)).looked_up_to(looked);
    let done = mine.run(&call(&["add", "milk"])).unwrap();
    let again = two.on_behalf(None, Stop::new()).requested(Some(request)).looked_up_to(looked);
    for failure in [
        again.run(&call(&["add", "milk"])).map(|_| ()),
        again.session(AT).unwrap().undo_last(1, &Default::default()).map(|_| ()),
    ] {
        match failure {
            Err(Failure::CarriedOut { sequence }) => assert_eq!(sequence, done.entry.sequence),
            other => panic!("{other:?}"),
        }
    }
    // Another name, and none at all, are other requests.
    let other = two.on_behalf(None, Stop::new()).requested(Some(Request::new("ada", "l", b"add"))).looked_up_to(looked);
    other.run(&call(&["add", "bread"])).unwrap();
    two.run(&call(&["add", "eggs"])).unwrap();
    assert_eq!(titles(&one), ["bread", "eggs", "milk"].map(str::to_owned).into());
}

/// The probe, where it says of each command that it only reads.
fn liar(folder: &Path) -> Package {
    for file in ["APP.md", "app/app.wasm", "schemas/commands.json"] {
        let to = folder.join(file);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(in_repository("tests/packages/probe").join(file), to).unwrap();
    }
    let contract = folder.join("schemas/commands.json");
    let text = std::fs::read_to_string(&contract).unwrap();
    std::fs::write(&contract, text.replace("\"effect\": \"write\"", "\"effect\": \"read\"")).unwrap();
    package(folder.to_str().unwrap())
}

/// A run that is held to changing nothing and changes something leaves its entry alone, which is what it comes to again. One that was let change
/// something is what it was, and neither makes the other.
#[test]
fn what_only_reads_changes_nothing() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (package, host) = (liar(folder.path()), Host::new(home.path().to_owned(), sandbox()));
    let store = Arc::new(MemoryStore::new(SecretKey::new([3; 32])));
    let instance = host.instance_in(&package, &"default".parse().unwrap(), store, AT).unwrap();
    let free = |arguments: &[&str]| {
        let mut call = call(arguments);
        call.unchecked = true;
        call
    };
    let session = || instance.session(AT).unwrap();
    let named = |answer: &Answer| EntryName::Sequence(answer.entry.sequence);
    let is_broken = |answer: &Answer| {
        let entry = session().entry(&named(answer)).unwrap().open().unwrap();
        let is_error = entry.record.error == Some(ErrorCode::ContractViolation) && !entry.record.changes_state();
        is_error && !answer.kept && matches!(answer.verdict, Verdict::Bad { code: ErrorCode::ContractViolation, .. })
    };
    let verified = |answer: &Answer| {
        let (session, none) = (session(), BTreeMap::new());
        host.verify(&package, &session, &session.entry(&named(answer)).unwrap(), &none).unwrap()
    };
    let write = ["write-text", "state/a", "x"];
    let (held, planned) = (instance.run(&call(&write)).unwrap(), instance.plan(&call(&write)).unwrap());
    assert!(is_broken(&held) && is_broken(&planned));
    assert!(is_broken(&host.apply(&package, &session(), &named(&planned), &Grants::default()).unwrap()));
    assert!(session().standing().unwrap().is_empty());
    let read = instance.run(&call(&["list-dir", "state"])).unwrap();
    assert_eq!((&read.verdict, read.kept), (&Verdict::Good, true));
    // As before anybody was held to it, too.
    let planned = instance.plan(&free(&write)).unwrap();
    let applied = host.apply(&package, &session(), &named(&planned), &Grants::default()).unwrap();
    let let_be = instance.run(&free(&["append-text", "state/a", "y"])).unwrap();
    assert!(applied.kept && let_be.kept);
    assert_eq!(session().standing().unwrap(), [let_be.entry.sequence, applied.entry.sequence]);
    // Made again, it is let as it was, and what changed nothing is held to that.
    let again = |answer: &Answer| host.replay(&package, &session(), &named(answer), &Grants::default(), 0).unwrap();
    assert!(again(&let_be).kept && again(&read).kept && is_broken(&again(&held)));
    for answer in [&held, &read, &planned, &applied, &let_be] {
        assert_eq!(verified(answer), Verified::Equal, "{}", answer.entry.sequence);
    }
}

/// Going back before an entry that was taken back takes nothing back.
#[test]
fn what_was_taken_back_stands_no_more() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let store = Arc::new(MemoryStore::new(SecretKey::new([3; 32])));
    let instance = host.instance_in(&package, &"default".parse().unwrap(), store, AT).unwrap();
    let add = |title: &str| instance.run(&call(&["add", title])).unwrap().entry.sequence;
    let session = || instance.session(AT).unwrap();
    let undo = |entry: u64| session().undo(&EntryName::Sequence(entry)).unwrap().entry.sequence;
    let (milk, bread) = (add("milk"), add("bread"));
    assert_eq!(session().standing().unwrap(), [bread, milk]);
    let undone = undo(bread);
    assert_eq!(session().standing().unwrap(), [undone, milk]);
    let redone = undo(undone);
    assert_eq!(session().standing().unwrap(), [redone, bread, milk]);
    let begun = undo(milk);
    assert_eq!(session().standing().unwrap(), [begun]);
}

/// Whoever owns the process can have it enclosed. In every way to start a guest that comes first, and without it none starts.
#[test]
fn no_guest_starts_before_the_process_is_enclosed() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = || Host::new(home.path().to_owned(), sandbox());
    let (free, name) = (host(), "default".parse().unwrap());
    free.run(&package, &call(&["add", "milk"])).unwrap();
    free.plan(&package, &call(&["add", "bread"])).unwrap();
    let refused = || Failure::Unenclosed { reason: "there is none".to_owned(), missing: true };
    let closed = host().enclosed_by(Arc::new(move |_, _| Err(refused())));
    let session = closed.open(&package, &name, AT).unwrap();
    let (before, none) = (session.head().unwrap(), BTreeMap::new());
    let add = session.entry(&"@2".parse().unwrap()).unwrap();
    let failed = [
        closed.run(&package, &call(&["add", "eggs"])).map(drop),
        closed.plan(&package, &call(&["add", "eggs"])).map(drop),
        closed.apply(&package, &session, &EntryName::Last, &Grants::default()).map(drop),
        closed.replay(&package, &session, &"@2".parse().unwrap(), &Grants::default(), 0).map(drop),
        closed.verify(&package, &session, &add, &none).map(drop),
    ];
    for (at, failed) in failed.into_iter().enumerate() {
        assert_eq!(failed.expect_err("a guest ran").code(), ErrorCode::RingRequired, "{at}");
    }
    let after = session.head().unwrap();
    assert_eq!((after.state, after.last.sequence), (before.state, before.last.sequence + 4));
    for entry in session.entries(before.last.sequence + 1) {
        let record = entry.unwrap().open().unwrap().record;
        assert_eq!((record.error, record.kept, record.outcome.is_none()), (Some(ErrorCode::RingRequired), false, true));
    }
}

/// What is left to the process is the folder of the instance, to write, the package, to read, and what was granted, as it was.
#[test]
fn what_stays_within_reach_follows_from_the_call() {
    let (package, all) = (package("tests/packages/probe"), tempfile::tempdir().unwrap());
    let [home, read, written] = ["home", "read", "written"].map(|name| all.path().join(name));
    let left = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&left);
    let host = Host::new(home.clone(), sandbox()).enclosed_by(Arc::new(move |left, _| {
        let seen = left.iter().map(|(folder, may)| (folder.dir_metadata().unwrap().ino(), *may));
        told.lock().unwrap().extend(seen);
        Ok(())
    }));
    for (path, access) in [(&read, Access::ReadOnly), (&written, Access::ReadWrite)] {
        std::fs::create_dir(path).unwrap();
        let mounts = [("mnt".to_owned(), Mount::open(path, access).unwrap())].into();
        let mut granted = call(&["return-ok"]);
        granted.mounts = mounts;
        host.run(&package, &granted).unwrap();
    }
    let instance = home.join("instances/probe/default");
    let both = [(&instance, May::Write), (&in_repository("tests/packages/probe"), May::Read)];
    let expected = [&both[..], &[(&read, May::Read)], &both, &[(&written, May::Write)]].concat();
    let ino = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    let expected: Vec<_> = expected.into_iter().map(|(path, may)| (ino(path), may)).collect();
    assert_eq!(*left.lock().unwrap(), expected);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(std::fs::copy(&from, &to).unwrap()),
        }
    }
}

/// A copy of the probe with a resource that takes a while to read, though it takes no place.
fn probe_with_resource(folder: &Path) -> Package {
    copy(&in_repository("tests/packages/probe"), folder);
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    let manifest = manifest.replacen("    state:", "    resources: [docs]\n    state:", 1);
    std::fs::write(folder.join("APP.md"), manifest).unwrap();
    std::fs::create_dir(folder.join("docs")).unwrap();
    let large = std::fs::File::create(folder.join("docs/large")).unwrap();
    large.set_len(128 << 20).unwrap();
    let bounds = PackageBounds::with_component(64 << 20);
    Package::open(&Source::open(folder, &bounds).unwrap(), bounds).unwrap()
}

#[test]
fn what_is_read_before_a_run_is_of_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let package = probe_with_resource(folder.path());
    let host = Host::in_memory(SecretKey::new([7; 32]), sandbox());
    let limits = |ms: u64| BTreeMap::from([(hutch_model::limits::Limit::WallTime, ms)]);
    let mut first = call(&["return-ok"]);
    first.limits = limits(20);
    let ended = host.run(&package, &first).unwrap();
    assert_eq!(ended.bad_end().unwrap().code, ErrorCode::WallTimeLimit);
    assert!(ended.measured.wall_time_us > 20_000 && !ended.kept, "{:?}", ended.measured);
    // It is read once.
    assert_eq!(host.run(&package, &call(&["return-ok"])).unwrap().verdict, Verdict::Good);
}

#[test]
fn tests_take_so_much_fuel_together() {
    let (package, home) = (todo(), tempfile::tempdir().unwrap());
    let host = Host::new(home.path().to_owned(), sandbox());
    let store = Arc::new(MemoryStore::new(SecretKey::new([3; 32])));
    let instance = host.instance_in(&package, &"default".parse().unwrap(), store, AT).unwrap();
    let added = instance.run(&call(&["add", "milk"])).unwrap();
    let session = instance.session(AT).unwrap();
    let sealed = session.entry(&EntryName::Sequence(added.entry.sequence)).unwrap();
    let case = host.case(&package, &session, &sealed).unwrap();
    let mut fuel = added.outcome.fuel + 1;
    for left in [1, 0] {
        assert_eq!(host.try_case(&package, &case, AT, &mut fuel).unwrap(), Vec::<String>::new());
        assert_eq!(fuel, left);
    }
    let refused = host.try_case(&package, &case, AT, &mut fuel).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::PackageInvalid, "{refused}");
}
