//! Whole instances: each of these is done as a whole or not at all, and nothing is lost on the way.

use crate::support::{Machine, Ran, todo};
use hutch_model::instant::Instant;
use hutch_model::ledger::{EntryKind, PackageRecord, Record};
use hutch_model::snapshot::MemoryObjects;
use hutch_store::{InstanceDir, Opening, SqliteStore, Store};
use serde_json::{Value, json};
use std::path::PathBuf;

fn folder(machine: &Machine) -> PathBuf {
    machine.path("person/.local/share/hutch/instances/todo")
}

fn listed(machine: &Machine) -> Vec<String> {
    let items = machine.run(["instance", "list"]).result("instance list")["items"].clone();
    items.as_array().unwrap().iter().map(|item| item["instance"].as_str().unwrap().to_owned()).collect()
}

/// What lies beside the instances, theirs included.
fn there(machine: &Machine) -> Vec<String> {
    let names = std::fs::read_dir(folder(machine)).unwrap();
    let mut names: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn titles(machine: &Machine, instance: &str) -> Value {
    let ran = machine.run(["run", "--instance", instance, "--query", "output.items[*].title", &todo(), "list"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn proved(machine: &Machine, instance: &str) -> Ran {
    machine.run(["verify", "--all", "--query", "differ", "--instance", instance, &todo()])
}

#[test]
fn a_copy_goes_on_by_itself() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    let file = folder(&machine).join("default/state/todos.json");
    let edited = std::fs::read_to_string(&file).unwrap().replace("milk", "oat milk");
    std::fs::write(&file, edited).unwrap();
    let copied = machine.run(["instance", "copy", "todo", "tried"]).result("instance copy");
    assert_eq!(copied, json!({"package": "todo", "from": "default", "to": "tried"}));
    // What a person had written was recorded first, and is there at once as a plain folder.
    let plain = std::fs::read_to_string(folder(&machine).join("tried/state/todos.json")).unwrap();
    assert!(plain.contains("oat milk"), "{plain}");
    machine.run(["run", "--instance", "tried", &todo(), "add", "Only here"]).answer();
    assert_eq!(titles(&machine, "tried"), json!(["Buy oat milk", "Only here"]));
    assert_eq!(titles(&machine, "default"), json!(["Buy oat milk"]));
    assert_eq!(
        (proved(&machine, "tried").stdout.as_str(), proved(&machine, "default").stdout.as_str()),
        ("0\n", "0\n")
    );
    assert_eq!(machine.run(["doctor", "--instance", "tried", "todo"]).status, 0);
    for taken in ["tried", "default"] {
        machine.run(["instance", "copy", "todo", taken]).fault("ALREADY_EXISTS", 30);
    }
    machine.run(["instance", "copy", "--instance", "nosuch", "todo", "new"]).fault("NOT_FOUND", 20);
    assert_eq!(machine.run(["instance", "copy", "--dry-run", "todo", "new"]).document()["dry_run"], true);
    assert_eq!((listed(&machine), there(&machine)), (vec!["default".to_owned(), "tried".to_owned()], listed(&machine)));
}

/// Paths that SQLite takes for too long stand for a full disk: the way of the copy ends in one, and what it is made in does not.
#[test]
fn a_copy_that_is_there_and_can_not_be_shown_is_no_call_to_repeat() {
    let machine = Machine::new();
    let mut home = machine.path("").canonicalize().unwrap();
    while home.as_os_str().len() < 440 {
        home.push("x".repeat(9));
    }
    let dir = InstanceDir::new(&home, &"todo".parse().unwrap(), &"default".parse().unwrap());
    drop(SqliteStore::open(&dir, &Opening::default()).unwrap());
    let (home, to) = (home.display().to_string(), "t".repeat(60));
    let copied = machine.run(["--home", &home, "instance", "copy", "todo", &to]);
    assert_eq!((copied.status, &copied.document()["result"]["to"]), (0, &json!(to)), "{copied:?}");
    assert!(copied.stderr.contains("the state is kept, but a plain directory does not show it yet"), "{copied:?}");
    let listed = machine.run(["--home", &home, "instance", "list"]).result("instance list");
    assert_eq!((&listed["total"], &listed["items"][1]["instance"]), (&json!(2), &json!(to)));
    machine.run(["--home", &home, "instance", "copy", "todo", &to]).fault("ALREADY_EXISTS", 30);
}

#[test]
fn a_renamed_instance_is_the_same_one() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    machine.run(["run", "--instance", "other", &todo(), "list"]).answer();
    machine.run(["instance", "copy", "--move", "todo", "other"]).fault("ALREADY_EXISTS", 30);
    assert_eq!(machine.run(["instance", "copy", "--move", "--dry-run", "todo", "home"]).document()["dry_run"], true);
    assert_eq!(titles(&machine, "default"), json!(["Buy milk"]));
    machine.run(["instance", "copy", "--move", "todo", "home"]).result("instance copy");
    assert_eq!(there(&machine), ["home", "other"]);
    machine.run(["ledger", "list", "todo"]).fault("NOT_FOUND", 20);
    machine.run(["run", "--instance", "home", &todo(), "add", "Call mum"]).answer();
    assert_eq!(titles(&machine, "home"), json!(["Buy milk", "Call mum"]));
    assert_eq!(proved(&machine, "home").stdout, "0\n");
}

#[test]
fn an_instance_is_taken_away_as_a_whole_and_only_if_a_person_says_so() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    machine.run(["instance", "purge", "todo"]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(machine.run(["instance", "purge", "--dry-run", "todo"]).document()["dry_run"], true);
    // Somebody is writing there.
    let writing = rusqlite::Connection::open(folder(&machine).join("default/hutch.db")).unwrap();
    writing.execute_batch("BEGIN IMMEDIATE").unwrap();
    for verb in [&["purge", "--yes", "todo"][..], &["copy", "--move", "todo", "home"]] {
        machine.run([&["instance", "--wait", "50ms"], verb].concat()).fault("INSTANCE_BUSY", 30);
    }
    drop(writing);
    assert_eq!(titles(&machine, "default"), json!(["Buy milk"]));
    machine.run(["instance", "purge", "--yes", "todo"]).result("instance purge");
    assert!(there(&machine).is_empty() && listed(&machine).is_empty());
    machine.run(["instance", "purge", "--yes", "todo"]).fault("NOT_FOUND", 20);
    assert_eq!(titles(&machine, "default"), json!([]), "and can be begun again");
}

/// As a process leaves it that was killed, or had no room, before there was a table.
#[test]
fn one_that_was_only_begun_is_in_nobodys_way_and_goes_if_a_person_says_so() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    let half = folder(&machine).join("half");
    std::fs::create_dir(&half).unwrap();
    ["hutch.open", "hutch.new"].iter().for_each(|name| std::fs::write(half.join(name), "").unwrap());
    let database = rusqlite::Connection::open(half.join("hutch.db")).unwrap();
    database.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL").unwrap();
    drop(database);
    assert!(half.join("hutch.db").metadata().unwrap().len() > 0);
    assert_eq!(listed(&machine), ["default"]);
    let kept = machine.run(["backup", "home.backup"]).result("backup")["instances"].clone();
    assert_eq!((kept.as_array().unwrap().len(), &kept[0]["instance"]), (1, &json!("default")));
    let found = machine.run(["doctor"]).result("doctor");
    let named = found["items"].as_array().unwrap().iter().find(|check| check["name"] == "instance todo/half").unwrap();
    let purge = json!("hutch instance purge --instance half todo");
    assert_eq!((&named["status"], &named["fix"]), (&json!("warn"), &purge), "{named}");
    let purge = |flags: &[&str]| machine.run([&["instance", "purge", "--instance", "half", "todo"], flags].concat());
    purge(&[]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(purge(&["--dry-run"]).document()["dry_run"], true);
    assert!(half.exists());
    purge(&["--yes"]).result("instance purge");
    assert_eq!(there(&machine), ["default"]);
    assert!(!machine.run(["doctor"]).stdout.contains("half"));
    purge(&["--yes"]).fault("NOT_FOUND", 20);
}

/// A killed run whose folder is gone for good: nobody forgets it in silence, and it keeps nobody from anything for ever.
#[test]
fn what_a_killed_run_left_is_named_until_somebody_lets_go_of_it() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    let killed = |staging: &str| {
        let gone = json!({
            "path": machine.path("gone"), "identity": [1, 1], "changes": [], "changes_omitted": 0, "withheld": 0, "staging": staging,
        });
        let package = PackageRecord { slug: "todo".to_owned(), ..PackageRecord::default() };
        let intent = Record::new(EntryKind::Intent, Instant::from_unix_ns(1), "default", package);
        let intent = Record { folders: [("mnt".to_owned(), serde_json::from_value(gone).unwrap())].into(), ..intent };
        let dir = InstanceDir::new(&machine.home(), &"todo".parse().unwrap(), &"default".parse().unwrap());
        let store = SqliteStore::open(&dir, &Opening::default()).unwrap();
        store.commit(&intent, &MemoryObjects::default(), &[]).unwrap();
        json!(machine.path("gone").join(staging))
    };
    let left = killed(".hutch-0123456789abcdef0123456789abcdef");
    let unsettled = || machine.run(["state", "diff", "todo"]).result("state diff")["unsettled"].clone();
    let entries = || machine.run(["ledger", "show", "todo"]).result("ledger show")["sequence"].clone();
    assert_eq!(unsettled(), json!([left]));
    for refused in [&["instance", "copy", "todo", "tried"][..], &["backup", "b.backup"]] {
        let fault = machine.run(refused).fault("CONFLICT", 30);
        assert!(fault.suggestion.contains("hutch gc --unsettled FOLDER"), "{fault:?}");
    }
    assert_eq!(there(&machine), ["default"]);
    // Whose run it was that holds up others in that folder is found from here.
    let doctored = machine.run(["doctor"]).result("doctor");
    let is_it = |check: &&Value| check["name"] == "instance todo/default";
    let named = doctored["items"].as_array().unwrap().iter().find(is_it).unwrap();
    let diff = json!("hutch state diff --instance default todo");
    assert_eq!((&named["status"], &named["fix"]), (&json!("warn"), &diff), "{named}");
    let stands = entries();
    let folder = left.as_str().unwrap();
    let fault = machine.run(["gc", "--unsettled", folder, "todo"]).fault("CONFIRMATION_REQUIRED", 30);
    assert!(fault.message.contains(folder), "{fault:?}");
    machine.run(["gc", "--yes", "--unsettled", "elsewhere", "todo"]).fault("NOT_FOUND", 20);
    assert_eq!((unsettled(), entries()), (json!([left]), stands.clone()));
    assert_eq!(machine.run(["gc", "--dry-run", "--unsettled", folder, "todo"]).document()["dry_run"], true);
    assert_eq!((unsettled(), entries()), (json!([left]), stands));
    let done = machine.run(["gc", "--yes", "--unsettled", folder, "todo"]).result("gc");
    assert_eq!((&done["unsettled"], unsettled()), (&json!([left]), json!([])));
    machine.run(["instance", "copy", "todo", "tried"]).result("instance copy");
    // Who takes all of it away is told first what nobody will know of then.
    let left = killed(".hutch-fedcba9876543210fedcba9876543210");
    let fault = machine.run(["instance", "purge", "todo"]).fault("CONFIRMATION_REQUIRED", 30);
    assert!(fault.message.contains(left.as_str().unwrap()), "{fault:?}");
    assert_eq!(unsettled(), json!([left]));
    let purged = machine.run(["instance", "purge", "--yes", "todo"]).result("instance purge");
    assert_eq!((&purged["unsettled"], there(&machine)), (&json!([left]), vec!["tried".to_owned()]));
}

#[test]
fn an_instance_can_begin_with_what_is_imported() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    machine.run(["instance", "export", "--volume", "state", "--output", "saved", "todo"]).result("instance export");
    let into = |package: &str| {
        let volume = ["instance", "import", "--volume", "state", "--input", "saved"];
        machine.run([&volume[..], &["--instance", "new", package]].concat())
    };
    into("todo").fault("NOT_FOUND", 20);
    assert_eq!(listed(&machine), ["default"]);
    assert_eq!(into(&todo()).result("instance import")["changes"], json!([{"path": "todos.json", "change": "added"}]));
    assert_eq!(titles(&machine, "new"), json!(["Buy milk"]));
}
