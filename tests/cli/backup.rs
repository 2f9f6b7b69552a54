//! A home in one file, and a home again of it: while others are at work, whole or not at all, and nothing of it believed unread.

use crate::support::{FIXED, Machine, Ran, again_until, package, todo};
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, Record};
use hutch_model::names::Slug;
use hutch_model::snapshot::MemoryObjects;
use hutch_store::{IfMissing, InstanceDir, Opening, SqliteStore, Store};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A machine with two instances of the to-do application, an installed package in two versions, a rule and an issue.
fn machine() -> Machine {
    let machine = Machine::new();
    for words in [&["add", "Write docs"][..], &["add", "Buy milk"], &["complete", "td_0001"]] {
        machine.guest(&[&FIXED[..], &[&todo()], words].concat()).answer();
    }
    machine.run(["run", "--instance", "other", &todo(), "add", "Elsewhere"]).answer();
    let folder = package::copy(&machine, "package");
    machine.run(["install", "--yes", "./package"]).result("install");
    machine.run(["run", "probe", "write-text", "state/a.txt", "by the first"]).answer();
    for file in ["APP.md", "schemas/commands.json"].map(|name| folder.join(name)) {
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replacen("0.1.0", "0.1.1", 1)).unwrap();
    }
    machine.run(["install", "./package"]).result("install");
    machine.run(["run", "probe", "write-text", "state/b.txt", "by the second"]).answer();
    machine.run(["trust", "add", "--require", "unsigned", "oci://registry.example/*"]).result("trust add");
    machine.run(["issue", "create", "--type", "bug", "--message", "it is slow"]).result("issue create");
    machine
}

fn back_up(machine: &Machine, file: &str) -> Value {
    machine.run(["backup", file]).result("backup")
}

/// Another machine that was handed the file.
fn handed(bytes: &[u8]) -> Machine {
    let other = Machine::new();
    other.write("home.backup", bytes);
    // A home with a key in it is what another command would have made.
    drop(other.hutch(["catalog"]));
    other
}

fn restore(machine: &Machine) -> Ran {
    machine.run(["restore", "home.backup"])
}

/// What lies beside the home and in it.
fn around(machine: &Machine) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(machine.home().parent().unwrap())
        .unwrap()
        .chain(fs::read_dir(machine.home()).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    found.sort();
    found
}

fn heads(machine: &Machine) -> Vec<Value> {
    let head =
        |words: &[&str]| machine.run([&["ledger", "show"], words].concat()).result("ledger show")["head"].clone();
    vec![head(&["probe"]), head(&["todo"]), head(&["--instance", "other", "todo"])]
}

/// A launcher stands outside of the home, where it starts the package of that home; another home's it never becomes.
#[test]
fn a_restored_home_changes_no_file_that_a_pin_names() {
    let machine = Machine::new();
    machine.run(["install", "--launcher-dir", "bin", &todo()]).result("install");
    let file = machine.path("bin/todo");
    let text = fs::read(&file).unwrap();
    let pin = fs::read(machine.home().join("packages/todo/pin.json")).unwrap();
    assert!(serde_json::from_slice::<Value>(&pin).unwrap()["launcher"].is_object());
    back_up(&machine, "home.backup");
    let bytes = fs::read(machine.path("home.backup")).unwrap();
    machine.run(["pack", "todo", "--output", "todo.tar"]).result("pack");
    let digest = machine.run(["catalog"]).result("catalog")["items"][0]["digest"].as_str().unwrap().to_owned();
    let version = format!("packages/todo/{digest}.tar");
    // As the program writes one, and as somebody does who knows what stands in a file here.
    let packed = fs::read(machine.path("todo.tar")).unwrap();
    let forged = |place: &str| forged(&bytes, json!([]), &[(&version, &packed), (place, &pin)]);
    for (number, bytes) in
        [bytes.clone(), forged("packages/todo/pin.json"), forged("packages/todo/removed.json")].iter().enumerate()
    {
        machine.write("home.backup", bytes);
        let home = machine.path(&format!("home-{number}")).display().to_string();
        machine.run(["--home", &home, "restore", "home.backup"]).result("restore");
        for (command, line) in [("install", &["install", &todo()][..]), ("remove", &["--yes", "remove", "todo"])] {
            machine.run([&["--home", &home][..], line].concat()).result(command);
            assert_eq!(fs::read(&file).unwrap(), text, "{number} {command}");
        }
    }
}

#[test]
fn a_restored_home_is_the_one_that_was_backed_up() {
    let one = machine();
    let told = back_up(&one, "home.backup");
    let pinned: Vec<Value> = told["instances"].as_array().unwrap().iter().map(|it| it["head"].clone()).collect();
    assert_eq!((&pinned, &told["versions"]), (&heads(&one), &json!(2)));
    let bytes = fs::read(one.path("home.backup")).unwrap();
    assert_eq!(told["bytes"], json!(bytes.len()));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(one.path("home.backup")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds keys");
    }
    // A home that has not changed is the same bytes, and so the same file.
    back_up(&one, "home.backup");
    let other = handed(&bytes);
    let before = around(&other);
    let looked = other.run(["restore", "--dry-run", "home.backup"]).document();
    assert_eq!((&looked["dry_run"], &looked["result"]["instances"]), (&json!(true), &told["instances"]));
    assert_eq!(around(&other), before, "a preview left something");
    let key = fs::read(other.home().join("artifacts.key")).unwrap();
    let restored = restore(&other).result("restore");
    assert_eq!((&restored["instances"], &restored["versions"]), (&told["instances"], &told["versions"]));
    // All of it is the file's word until somebody makes the runs again, and the answer says so.
    let sequence = |head: &Value| head.as_str().unwrap().split(':').next().unwrap().parse::<u64>().unwrap();
    let entries: u64 = pinned.iter().map(sequence).sum();
    assert_eq!((&restored["as_told"], &looked["result"]["as_told"]), (&json!(entries), &json!(entries)));
    assert_eq!(restored["verify"], "hutch verify --all PACKAGE");
    assert_eq!(heads(&other), pinned);
    // The machine's own key is its own, and none came along.
    assert_eq!(fs::read(other.home().join("artifacts.key")).unwrap(), key);
    // The plain folders are there at once.
    let plain = |machine: &Machine| fs::read(machine.home().join("instances/todo/default/state/todos.json")).unwrap();
    assert_eq!(plain(&other), plain(&one));
    for file in ["trust.json", "issues/is_0001.json", "packages/probe/pin.json"] {
        let read = |machine: &Machine| fs::read(machine.home().join(file)).ok();
        assert_eq!(read(&other), read(&one), "{file}");
    }
    // A home that was restored is the same file again.
    back_up(&other, "again.backup");
    assert!(fs::read(other.path("again.backup")).unwrap() == bytes, "the backup of a restored home is another file");
    // Entries of both versions of the installed package are proved with the versions that came along.
    other.run(["verify", "--all", "probe"]).result("verify");
    other.run(["verify", "--all", &todo()]).result("verify");
    let undone = other.run(["undo", "todo"]).result("undo");
    assert_eq!(undone["changes"]["state"][0]["path"], "todos.json");
    other.run(["doctor"]).result("doctor");
}

#[test]
fn its_help_says_how_one_instance_is_backed_up() {
    let help = Machine::new().run(["backup", "--help"]).answer();
    assert!(help["help"].as_str().unwrap().contains("instance export"), "{help}");
}

#[test]
fn what_a_person_wrote_is_in_it() {
    let one = Machine::new();
    one.todo(&["add", "Buy milk"]).answer();
    let file = one.home().join("instances/todo/default/state/todos.json");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("milk", "oat milk")).unwrap();
    back_up(&one, "home.backup");
    let other = handed(&fs::read(one.path("home.backup")).unwrap());
    restore(&other).result("restore");
    assert_eq!(other.todo(&["list"]).answer()["items"][0]["title"], "Buy oat milk");
}

#[test]
fn nothing_is_restored_over_a_home_that_is_in_use() {
    let one = machine();
    let before = heads(&one);
    back_up(&one, "home.backup");
    let seen = around(&one);
    restore(&one).fault("ALREADY_EXISTS", 30);
    // Whether the file is whole can be asked beside it.
    assert_eq!(one.run(["restore", "--dry-run", "home.backup"]).document()["result"]["versions"], 2);
    let other = handed(&fs::read(one.path("home.backup")).unwrap());
    other.write("person/.local/share/hutch/notes.txt", "a person's");
    restore(&other).fault("ALREADY_EXISTS", 30);
    assert_eq!((heads(&one), around(&one)), (before, seen));
    assert_eq!(fs::read(other.home().join("notes.txt")).unwrap(), b"a person's");
    // Where instances are elsewhere, neither is about them.
    for words in [["backup", "another.backup"], ["restore", "home.backup"]] {
        let mut command = one.hutch(words);
        Ran::of(command.env("HUTCH_STORE", "postgres://nobody@127.0.0.1/none?sslmode=disable")).fault("USAGE", 2);
    }
    assert!(!one.path("another.backup").exists());
}

/// Where each part of an archive begins, headers and contents.
fn parts(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while let Some(header) = bytes.get(at..at + 512).filter(|header| header[0] != 0) {
        let size = std::str::from_utf8(&header[124..135]).unwrap();
        let size = usize::from_str_radix(size, 8).unwrap();
        found.extend([at, at + 100, at + 136, at + 148, at + 300, at + 512, at + 512 + size / 2, at + 512 + size]);
        at += 512 + size.next_multiple_of(512);
    }
    found.push(at);
    found.push(bytes.len() - 1);
    found
}

#[test]
fn no_changed_byte_is_restored_and_nothing_is_left_of_the_attempt() {
    let one = machine();
    back_up(&one, "home.backup");
    let bytes = fs::read(one.path("home.backup")).unwrap();
    let places = parts(&bytes);
    assert!(places.len() > 60, "{places:?}");
    let other = handed(b"");
    let before = around(&other);
    let refused = |bytes: &[u8], what: &dyn std::fmt::Debug| {
        other.write("home.backup", bytes);
        for words in [&["restore", "home.backup"][..], &["restore", "--dry-run", "home.backup"]] {
            let ran = other.run(words);
            assert_eq!(ran.status, 50, "{what:?}: {ran:?}");
            ran.fault("STORE_DAMAGED", 50);
            assert_eq!(around(&other), before, "{what:?} left something");
        }
    };
    for at in places {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        refused(&changed, &at);
    }
    for length in [0, 1, 511, 512, 1024, bytes.len() / 2, bytes.len() - 512, bytes.len() - 1] {
        refused(&bytes[..length], &("cut", length));
    }
    refused(&[&bytes[..], &[0]].concat(), &"longer");
    refused(&[&bytes[..], &bytes].concat(), &"twice");
    other.write("home.backup", &bytes);
    restore(&other).result("restore");
}

/// A member of an archive, as backups have them, and what is behind it. `like` is the header of another one.
fn member(like: &[u8], path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = like[..512].to_vec();
    header[..100].fill(0);
    header[..path.len()].copy_from_slice(path.as_bytes());
    header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:07o}").as_bytes());
    header[155] = 0;
    header.extend_from_slice(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// An archive whose digests are right, of these members.
fn forged(like: &[u8], instances: Value, members: &[(&str, &[u8])]) -> Vec<u8> {
    use hutch_model::digest::{Digest, Kind};
    let listed: Vec<Value> = members
        .iter()
        .map(|(path, content)| {
            json!({"path": path, "bytes": content.len(), "digest": Digest::of(Kind::Artifact, content)})
        })
        .collect();
    let manifest = json!({"version": "0.1.0", "instances": instances, "members": listed}).to_string();
    let name = format!("hutch-backup-1/{}", Digest::of(Kind::Artifact, manifest.as_bytes()));
    let mut bytes = member(like, &name, manifest.as_bytes());
    members.iter().for_each(|(path, content)| bytes.extend(member(like, path, content)));
    bytes.extend([0; 1024]);
    bytes
}

#[test]
fn a_backup_that_somebody_forged_reaches_nothing_else() {
    let machine = Machine::new();
    machine.todo(&["list"]).answer();
    back_up(&machine, "home.backup");
    let bytes = fs::read(machine.path("home.backup")).unwrap();
    let size = |at: usize| usize::from_str_radix(std::str::from_utf8(&bytes[at + 124..at + 135]).unwrap(), 8).unwrap();
    let other = handed(b"");
    let before = around(&other);
    let refused = |instances: Value, members: &[(&str, &[u8])]| {
        other.write("home.backup", forged(&bytes, instances, members));
        let fault = restore(&other).fault("STORE_DAMAGED", 50);
        assert_eq!(around(&other), before, "{fault:?}");
        fault.message
    };
    let (absolute, one) = (other.path("out").display().to_string(), json!([]));
    for path in [
        "../out",
        "instances/../../out",
        "issues/../../out",
        "issues/../trust.json",
        &absolute,
        "artifacts.key",
        "notes.txt",
        "instances/todo/default/hutch.mark",
        "instances/todo/default/state/todos.json",
        "instances/todo/./hutch.db",
        "packages/todo/../../out.tar",
        "packages/todo/0000.tar",
        "issues/is_1.json",
        "trust.json/",
        "",
    ] {
        let message = refused(one.clone(), &[(path, b"x")]);
        assert!(message.contains("is no place in a home"), "{path}: {message}");
    }
    assert!(!other.path("out").exists() && !other.path("out.tar").exists());
    assert!(refused(one.clone(), &[("trust.json", b"{}"), ("trust.json", b"{}")]).contains("order"));
    assert!(refused(one.clone(), &[("trusted_root.json", b"{}"), ("trust.json", b"{}")]).contains("order"));
    // An instance has a head, a head an instance, and a pin its version.
    let database = "instances/todo/default/hutch.db";
    let nothing = json!([{"package": "todo", "instance": "default", "head": format!("1:{}", "0".repeat(64))}]);
    assert!(refused(one.clone(), &[(database, b"x")]).contains("are not the ones"));
    assert!(refused(nothing.clone(), &[]).contains("are not the ones"));
    assert!(refused(nothing.clone(), &[(database, b"x")]).contains("todo/default"));
    assert!(refused(one.clone(), &[("packages/todo/pin.json", b"{}")]).contains("pin.json"));
    let version = format!("packages/todo/{}.tar", "0".repeat(64));
    assert!(refused(one.clone(), &[(&version, b"no archive")]).contains("version 0000"));
    // The forger's hand is as good as the program's own.
    let manifest = std::str::from_utf8(&bytes[..100]).unwrap().trim_end_matches('\0');
    assert!(bytes.starts_with(&member(&bytes, manifest, &bytes[512..512 + size(0)])));
    // One that tells of another head than its database has.
    let at = 512 + size(0).next_multiple_of(512);
    let whole = &bytes[at + 512..at + 512 + size(at)];
    assert!(refused(nothing, &[(database, whole)]).contains("and not with 1:0000"));
    // A later form is a later version's.
    other.write("home.backup", member(&bytes, "hutch-backup-2/more", b"{}"));
    restore(&other).fault("STORE_TOO_NEW", 50);
    other.write("home.backup", "some text");
    assert!(restore(&other).fault("STORE_DAMAGED", 50).message.contains("is no backup"));
    other.run(["restore", "nowhere"]).fault("NOT_FOUND", 20);
}

/// Whose the state of a removed package is, the home that was restored knows too.
#[test]
fn what_a_removed_package_kept_is_nobody_elses_in_a_home_that_was_restored() {
    let machine = Machine::new();
    machine.run(["install", &todo()]).result("install");
    machine.guest(&["installed:todo", "add", "mine"]).answer();
    machine.run(["--yes", "remove", "todo"]).result("remove");
    back_up(&machine, "home.backup");
    let other = handed(&fs::read(machine.path("home.backup")).unwrap());
    restore(&other).result("restore");
    let folder = package::copy_todo(&other, "other").display().to_string();
    other.run(["install", &folder]).fault("SOURCE_CHANGED", 30);
    other.run(["install", &todo()]).result("install");
    assert!(other.guest(&["installed:todo", "list"]).answer().to_string().contains("mine"));
}

/// What a run had begun in a granted folder is ended by the home that it ran in, and no file brings the like into another one.
#[test]
fn a_backup_that_would_end_a_change_of_a_folder_is_none() {
    let machine = Machine::new();
    machine.todo(&["list"]).answer();
    back_up(&machine, "home.backup");
    let like = fs::read(machine.path("home.backup")).unwrap();
    // By the home's own hand, with its key.
    let dir = InstanceDir::new(&machine.home(), &Slug::parse("todo").unwrap(), &"default".parse().unwrap());
    let store = SqliteStore::open(&dir, &Opening { if_missing: IfMissing::Fail, wait: Duration::ZERO }).unwrap();
    let at: Instant = "2026-04-01T09:00:00Z".parse().unwrap();
    let intent = Record::new(EntryKind::Intent, at, "default", Default::default());
    let head = store.commit(&intent, &MemoryObjects::default(), &[]).unwrap().pin();
    drop(store);
    let database = "instances/todo/default/hutch.db";
    let whole = machine.path("whole.db");
    let connection = rusqlite::Connection::open(machine.home().join(database)).unwrap();
    connection.execute("VACUUM INTO ?1", [whole.to_str().unwrap()]).unwrap();
    let instances = json!([{"package": "todo", "instance": "default", "head": head.to_string()}]);
    let other = handed(b"");
    let before = around(&other);
    other.write("home.backup", forged(&like, instances, &[(database, &fs::read(whole).unwrap())]));
    let fault = restore(&other).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("a granted folder that has not ended, entry "), "{fault:?}");
    assert_eq!(around(&other), before);
}

#[test]
fn an_installed_package_that_was_changed_is_not_backed_up_as_what_it_was() {
    let one = machine();
    let folder = one.home().join("packages/probe");
    let versions = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let version = versions.into_iter().find(|path| path.is_dir()).unwrap();
    fs::write(version.join("APP.md"), "something else").unwrap();
    one.run(["backup", "home.backup"]).fault("PACKAGE_CHANGED", 30);
    assert!(!one.path("home.backup").exists());
    assert_eq!(left(&one.path("")), Vec::<String>::new());
    // Nor is one of which nothing is left: its pin alone would have the whole home refused.
    let two = machine();
    let folder = two.home().join("packages/probe");
    let pin: Value = serde_json::from_slice(&fs::read(folder.join("pin.json")).unwrap()).unwrap();
    fs::remove_dir_all(folder.join(pin["digest"].as_str().unwrap())).unwrap();
    two.run(["backup", "home.backup"]).fault("PACKAGE_CHANGED", 30);
    assert!(!two.path("home.backup").exists());
}

/// What a backup that came to nothing has left.
fn left(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with('.')).collect()
}

/// What a killed one leaves holds the home's keys.
#[test]
fn what_a_killed_one_left_goes_with_the_next_and_what_others_have_stays() {
    let one = Machine::new();
    one.todo(&["list"]).answer();
    let folder = |at: &Path, name: &str, file: &str| {
        let folder = at.join(name);
        fs::create_dir_all(&folder).unwrap();
        [file, "0"].iter().for_each(|file| fs::write(folder.join(file), "").unwrap());
        folder
    };
    let (at, held) = (one.path(""), "hutch.aside");
    let killed = [".hutch-backup-killed", ".hutch-restore-killed"].map(|name| folder(&at, name, held));
    let (living, mine) = (folder(&at, ".hutch-backup-living", held), folder(&at, ".hutch-backup-mine", "mine"));
    let lock = fs::File::options().write(true).open(living.join(held)).unwrap();
    lock.lock().unwrap();
    one.run(["backup", "--dry-run", "home.backup"]).document();
    assert!(killed.iter().all(|folder| folder.exists()), "a preview removed something");
    back_up(&one, "home.backup");
    assert!(!killed.iter().any(|folder| folder.exists()));
    assert!([living, mine].iter().all(|folder| folder.join("0").exists()));
    let other = handed(&fs::read(one.path("home.backup")).unwrap());
    let before = around(&other);
    let killed = folder(other.home().parent().unwrap(), ".hutch-restore-killed", held);
    restore(&other).result("restore");
    assert!(!killed.exists());
    assert!(around(&other).len() > before.len() && left(other.home().parent().unwrap()) == Vec::<String>::new());
}

/// Killed while it waits for an instance whose edits it takes in.
#[test]
fn a_killed_one_leaves_nothing_but_its_folder_which_doctor_names() {
    let one = Machine::new();
    one.todo(&["add", "Buy milk"]).answer();
    let instance = one.home().join("instances/todo/default");
    let file = instance.join("state/todos.json");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace("milk", "oat milk")).unwrap();
    let database = rusqlite::Connection::open(instance.join("hutch.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let at = one.path("");
    let remnants = || {
        let checks = one.run(["doctor"]).result("doctor")["items"].clone();
        checks.as_array().unwrap().iter().find(|check| check["name"] == "remnants").cloned()
    };
    let mut command = one.hutch(["backup", "--wait", "600s", "home.backup"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_held = |names: &Vec<String>| names.iter().any(|name| at.join(name).join("hutch.aside").exists());
    assert!(is_held(&again_until(|| left(&at), is_held)));
    child.kill().unwrap();
    child.wait().unwrap();
    database.execute_batch("ROLLBACK").unwrap();
    let names = left(&at);
    assert!(names.len() == 1 && names[0].starts_with(".hutch-backup-"), "{names:?}");
    let check = remnants().unwrap();
    assert!(check["status"] == "warn" && check["found"].as_str().unwrap().ends_with(&names[0]), "{check}");
    back_up(&one, "home.backup");
    assert_eq!((left(&at), remnants()), (Vec::new(), None));
}

/// Backups beside writers: each is a home that is sound and has come as far as one of the writers' entries.
#[test]
fn a_backup_beside_writers_is_a_prefix_of_every_ledger() {
    const WRITERS: usize = 3;
    const CALLS: usize = 6;
    let one = Machine::new();
    let instances: Vec<String> = (0..2).map(|number| format!("it-{number}")).collect();
    for instance in &instances {
        one.run(["run", "--instance", instance, &todo(), "list"]).answer();
    }
    // They go on until some backups were made beside them.
    let made = AtomicUsize::new(0);
    let write = |writer: usize| {
        for call in (0..500).take_while(|call| *call < CALLS || made.load(Ordering::Relaxed) < 3) {
            let instance = &instances[(writer + call) % instances.len()];
            let title = format!("{writer}.{call}");
            let waits = ["--wait", "10min", "run", "--retry", "1000", "--instance", instance];
            one.run([&waits[..], &[todo().as_str(), "add", &title]].concat()).answer();
        }
    };
    let backups: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
        let mut backups = Vec::new();
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let file = format!("{}.backup", backups.len());
            back_up(&one, &file);
            backups.push(fs::read(one.path(&file)).unwrap());
            made.store(backups.len(), Ordering::Relaxed);
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        backups
    });
    assert!(backups.len() > 2);
    for bytes in [backups.first().unwrap(), &backups[backups.len() / 2], backups.last().unwrap()] {
        let other = handed(bytes);
        let restored = restore(&other).result("restore");
        assert_eq!(restored["instances"].as_array().unwrap().len(), instances.len());
        for pinned in restored["instances"].as_array().unwrap() {
            let (instance, head) = (pinned["instance"].as_str().unwrap(), pinned["head"].as_str().unwrap());
            // What the one says was its end, the other, which went on, has in its chain.
            one.run(["verify", "--chain", "--head", head, "--instance", instance, "todo"]).result("verify");
            let sequence = head.split_once(':').unwrap().0;
            let export = |machine: &Machine| {
                let limit = ["--limit", sequence, "--ndjson", "--instance", instance, "todo"];
                machine
                    .run([&["ledger", "list", "--bytes"][..], &limit].concat())
                    .stdout
                    .lines()
                    .take(1000)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            let (ours, theirs) = (export(&other), export(&one));
            assert!(theirs.starts_with(&ours), "{instance}");
        }
        let verified = other.run(["verify", "--all", "--instance", "it-0", &todo()]).result("verify");
        assert_eq!(verified["differ"], 0);
    }
}

#[test]
fn a_copied_instance_has_the_log_that_every_store_has() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    machine.run(["instance", "copy", "todo", "tried"]).result("instance copy");
    let database = machine.home().join("instances/todo/tried/hutch.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let mode: String = connection.query_row("PRAGMA journal_mode", (), |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal", "readers would wait for writers");
}

/// The heads of all instances, as a person would keep them elsewhere.
fn pin(machine: &Machine, file: &str) {
    let listed = machine.run(["instance", "list", "--ndjson"]);
    assert_eq!(listed.status, 0);
    machine.write(file, listed.stdout);
}

fn against(machine: &Machine, file: &str) -> Ran {
    machine.run(["verify", "--chain", "--heads", file])
}

#[test]
fn heads_that_were_written_down_show_what_was_cut_exchanged_or_lost() {
    let one = Machine::new();
    one.todo(&["add", "Write docs"]).answer();
    one.run(["run", "--instance", "other", &todo(), "list"]).answer();
    let database = one.home().join("instances/todo/default");
    let copy = |from: &Path, to: &Path| {
        let _ = fs::remove_dir_all(to);
        package::copy_folder(from, to);
    };
    copy(&database, &one.path("earlier"));
    one.todo(&["add", "Buy milk"]).answer();
    pin(&one, "heads");
    assert_eq!(against(&one, "heads").result("verify"), json!({"instances": 2, "entries": 5}));
    // What came later, and instances that are new, are no contradiction.
    one.todo(&["list"]).answer();
    one.run(["run", "--instance", "new", &todo(), "list"]).answer();
    assert_eq!(against(&one, "heads").result("verify"), json!({"instances": 2, "entries": 6}));
    copy(&database, &one.path("whole"));
    // The folder as it was before the last item: nothing in the home knows that there was more.
    copy(&one.path("earlier"), &database);
    one.run(["verify", "--chain", "todo"]).result("verify");
    let fault = against(&one, "heads").fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("todo/default") && fault.message.contains("cut off"), "{fault:?}");
    // The same, gone on another way since.
    one.todo(&["add", "Buy bread"]).answer();
    one.todo(&["add", "Buy butter"]).answer();
    let fault = against(&one, "heads").fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("todo/default") && fault.message.contains("was replaced"), "{fault:?}");
    copy(&one.path("whole"), &database);
    against(&one, "heads").result("verify");
    one.run(["instance", "purge", "--yes", "--instance", "other", "todo"]).result("instance purge");
    let fault = against(&one, "heads").fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("todo/other is not there"), "{fault:?}");
}

#[test]
fn a_file_that_names_no_heads_vouches_for_nothing() {
    let one = Machine::new();
    one.todo(&["list"]).answer();
    let nothing = "{\"package\":\"todo\",\"instance\":\"default\",\"head\":null}";
    for text in
        ["", "\n", "{}", "[]", "todo", "{\"package\":\"todo\",\"instance\":\"default\",\"head\":\"2\"}", nothing]
    {
        one.write("heads", text);
        against(&one, "heads").fault("USAGE", 2);
    }
    against(&one, "nowhere").fault("NOT_FOUND", 20);
    one.run(["verify", "--chain"]).fault("USAGE", 2);
    pin(&one, "heads");
    one.run(["verify", "--chain", "--heads", "heads", "todo"]).fault("USAGE", 2);
    // One that had none beside others that had: they are held against theirs, and it is said what that one is worth.
    one.run(["run", "--instance", "other", &todo(), "list"]).answer();
    let head = ["ledger", "show", "--instance", "other", "todo"];
    let other = one.run(head).result("ledger show")["head"].clone();
    one.write("heads", format!("{nothing}\n{{\"package\":\"todo\",\"instance\":\"other\",\"head\":{other}}}\n"));
    let ran = against(&one, "heads");
    assert!(ran.stderr.contains("todo/default had no head that could be read then"), "{ran:?}");
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["result"]["instances"], 2, "{ran:?}");
    // An instance that can't be read is listed, without a head.
    fs::write(one.home().join("instances/todo/default/hutch.db"), "no database, but as long as that").unwrap();
    let listed = one.run(["instance", "list"]).result("instance list");
    assert_eq!(listed["items"][0]["head"], Value::Null);
}
