//! Plan, apply, undo, replay, verify, ledger and state, through the program.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

mod common;

use common::Home;
use serde_json::{Value, json};

fn home_with(titles: &[&str]) -> Home {
    let home = Home::new();
    for title in titles {
        home.json(&["run", "packages/todo", "add", title]);
    }
    home
}

/// The digest of the volume as it is now.
fn digest(home: &Home) -> Value {
    home.json(&["state", "diff", "todo"])["volumes"]["state"]["digest"].clone()
}

#[test]
fn a_plan_is_looked_at_applied_and_taken_back() {
    let home = home_with(&["one", "two", "three"]);
    let before = digest(&home);
    let plan = home.json(&["plan", "packages/todo", "remove", "td_0003", "--confirm"]);
    assert_eq!(plan["kept"], false);
    assert_eq!(plan["diff"][0]["path"], "state/todos.json");
    assert_eq!(plan["diff"][0]["json"][0]["before"]["title"], "three");
    assert_eq!(digest(&home), before, "a plan changed the state");
    assert_eq!(home.titles(), ["one", "two", "three"]);

    let id = plan["plan_id"].as_str().expect("no plan_id");
    let applied = home.json(&["apply", "--yes", "packages/todo", id]);
    assert_eq!(applied["kept"], true);
    assert_eq!(home.titles(), ["one", "two"]);
    assert_eq!(digest(&home), plan["volumes"]["state"]["after"]);

    home.json(&["undo", "todo"]);
    assert_eq!(digest(&home), before);
    assert_eq!(home.titles(), ["one", "two", "three"]);
    home.json(&["redo", "todo"]);
    assert_eq!(home.titles(), ["one", "two"], "an undo can be taken back");

    let verified = home.json(&["verify", "packages/todo", "--all"]);
    assert_eq!((&verified["differ"], &verified["not_reproducible"]), (&json!(0), &json!(0)));
    home.json(&["verify", "--chain", "todo"]);
    let kinds: Vec<Value> = home.json(&["ledger", "list", "todo"])["items"]
        .as_array()
        .expect("no items")
        .iter()
        .rev()
        .map(|item| item["kind"].clone())
        .filter(|kind| kind != "run")
        .collect();
    assert_eq!(kinds, ["create", "plan", "apply", "undo", "restore"]);
}

/// A plan that was refused has nothing to apply, and hides none that has.
#[test]
fn the_last_plan_is_the_last_that_ran() {
    let home = home_with(&["one"]);
    home.json(&["plan", "packages/todo", "add", "two"]);
    let (status, _) = home.error(&["plan", "packages/todo", "no-such-command"]);
    assert_ne!(status, 0);
    home.json(&["apply", "packages/todo", "last"]);
    assert_eq!(home.titles().len(), 2);
}

#[test]
fn a_plan_is_stale_once_the_state_has_changed() {
    let home = home_with(&["one"]);
    let plan = home.json(&["plan", "packages/todo", "complete", "td_0001"]);
    home.json(&["run", "packages/todo", "add", "two"]);
    let before = digest(&home);
    let (status, error) = home.error(&["apply", "packages/todo", plan["plan_id"].as_str().expect("no plan_id")]);
    assert_eq!((status, &error["code"]), (30, &json!("CONFLICT")));
    assert_eq!(digest(&home), before);
    // What only reads does not make it stale.
    let plan = home.json(&["plan", "packages/todo", "complete", "td_0001"]);
    home.titles();
    assert_eq!(
        home.json(&["apply", "packages/todo", plan["plan_id"].as_str().expect("no plan_id")])["kept"],
        true,
        "a reading made it stale"
    );
}

#[test]
fn a_preview_answers_as_the_command_would_and_leaves_every_byte() {
    let home = home_with(&["one", "two"]);
    let plan = home.json(&["plan", "packages/todo", "complete", "td_0001"]);
    let id = plan["plan_id"].as_str().expect("no plan_id");
    let edited = home.path().join("folder");
    std::fs::create_dir(&edited).expect("a folder");
    std::fs::write(edited.join("other"), "other").expect("a file");
    let edited = edited.to_str().expect("a path");
    let missing = home.path().join("missing");
    let output = missing.to_str().expect("a path");
    let export = ["instance", "export", "--dry-run", "--volume", "state", "--output", output, "todo"];
    let before = (digest(&home), home.titles());
    let head = home.json(&["ledger", "show", "todo"]);
    for (line, expect) in [
        (&["run", "--dry-run", "packages/todo", "add", "three"][..], "/kept"),
        (&["plan", "--dry-run", "packages/todo", "add", "three"], "/plan_id"),
        (&["apply", "--dry-run", "packages/todo", id], "/entry"),
        (&["replay", "--dry-run", "packages/todo", "@2"], "/entry"),
        (&["undo", "--dry-run", "todo"], "/entry"),
        (&["undo", "--dry-run", "todo", "--to", "@1"], "/entry"),
        (&["instance", "import", "--dry-run", "--volume", "state", "--input", edited, "todo"], "/entry"),
        (&export, "/nothing"),
        (&["gc", "--dry-run", "--keep", "1", "todo"], "/nothing"),
    ] {
        let answer = home.json(line);
        let told = answer.pointer(expect).unwrap_or(&Value::Null);
        assert!(told.is_null() || *told == json!(false), "{line:?}: {answer}");
        assert_eq!(home.json(&["ledger", "show", "todo"]), head, "{line:?}");
    }
    assert!(
        home.json(&["gc", "--dry-run", "--keep", "1", "todo"])["objects"].as_u64() > Some(0),
        "it says what it would drop"
    );
    assert_eq!(home.json(&export)["files"], 1);
    assert!(!missing.exists());
    assert_eq!(home.json(&["state", "cat", "--at", "@2", "todo", "state/todos.json"])["encoding"], "utf-8");
    assert_eq!((digest(&home), home.titles()), before);
    // Nor does a preview make an instance.
    home.json(&["run", "--dry-run", "--instance", "new", "packages/todo", "add", "one"]);
    assert_eq!(home.error(&["ledger", "show", "--instance", "new", "todo"]).0, 20);
}

#[test]
fn a_preview_sees_what_was_edited_outside_and_leaves_it() {
    let home = home_with(&["one", "two"]);
    let plan = home.json(&["plan", "packages/todo", "complete", "td_0001"]);
    let file = home.path().join(".local/share/hutch/instances/todo/default/state/todos.json");
    let text = std::fs::read_to_string(&file).expect("no plain file");
    std::fs::write(&file, text.replace("\"one\"", "\"edited\"")).expect("not written");
    let head = home.json(&["ledger", "show", "todo"]);
    let shown = home.json(&["run", "--dry-run", "packages/todo", "get", "td_0001"]);
    assert_eq!(shown["output"]["items"][0]["title"], "edited");
    let id = plan["plan_id"].as_str().expect("no plan_id");
    assert_eq!(home.error(&["apply", "--dry-run", "packages/todo", id]).1["code"], "CONFLICT");
    let undone = home.json(&["undo", "--dry-run", "todo"]);
    assert_eq!(undone["changes"]["state"][0]["change"], "modified", "it takes back the edit");
    assert_eq!(home.json(&["ledger", "show", "todo"]), head);
    // As it comes to for real.
    assert_eq!(home.error(&["apply", "packages/todo", "last"]).1["code"], "CONFLICT");
    assert_eq!(home.json(&["undo", "todo"])["changes"], undone["changes"]);
    assert_eq!(home.titles(), ["one", "two"]);
}

#[test]
fn verifying_is_of_runs_and_makes_nothing() {
    let home = Home::new();
    assert_eq!(home.error(&["verify", "packages/todo"]).0, 20, "there is no instance");
    assert!(!home.path().join(".local/share/hutch/instances").exists());
    let home = home_with(&["one"]);
    home.json(&["undo", "todo"]);
    assert_eq!(home.json(&["verify", "packages/todo"])["equal"], 1, "an undo has no run, the one before it has");
}

#[test]
fn only_plans_are_applied() {
    let home = home_with(&["one"]);
    for (entry, code) in [("@2", "USAGE"), ("@99", "NOT_FOUND"), ("0123456789", "NOT_FOUND"), ("x", "USAGE")] {
        let (_, error) = home.error(&["apply", "packages/todo", entry]);
        assert_eq!(error["code"], code, "{entry}");
    }
}

#[test]
fn a_dry_run_leaves_no_trace_but_its_entry() {
    let home = home_with(&["one"]);
    let before = digest(&home);
    let answer = home.json(&["run", "--dry-run", "packages/todo", "add", "two"]);
    assert_eq!(answer["kept"], false);
    assert_eq!(digest(&home), before);
}

#[test]
fn validate_runs_nothing_and_records_nothing() {
    let home = home_with(&["one"]);
    let last = home.json(&["ledger", "show", "todo"]);
    let valid = home.json(&["validate", "packages/todo", "add", "two"]);
    assert_eq!((&valid["calls"], &valid["argv"]), (&json!("add"), &json!(["todo", "add", "two"])));
    let (status, error) = home.error(&["validate", "packages/todo", "remove", "td_0001"]);
    assert_eq!((status, &error["code"]), (30, &json!("CONFIRMATION_REQUIRED")));
    assert_eq!(home.json(&["ledger", "show", "todo"]), last);
}

#[test]
fn what_was_refused_or_failed_is_in_the_ledger_and_changed_nothing() {
    let home = home_with(&["one"]);
    let before = digest(&home);
    assert_eq!(home.run(&["run", "packages/todo", "remove", "td_0001"]).status, 30);
    assert_eq!(home.run(&["run", "packages/todo", "get", "td_9999"]).status, 20);
    assert_eq!(home.run(&["run", "--limit", "fuel=1000", "packages/todo", "list"]).status, 41);
    assert_eq!(home.run(&["run", "packages/todo", "add", "ghp_0123456789abcdefghij0123456789abcdefgh"]).status, 2);
    assert_eq!(digest(&home), before);
    let items = home.json(&["ledger", "list", "todo"])["items"].clone();
    let told: Vec<(&Value, &Value)> = (0..4).map(|at| (&items[at]["error"], &items[at]["ending"]["ending"])).collect();
    assert_eq!(
        told,
        [
            (&json!("ARGUMENT_REFUSED"), &Value::Null),
            (&json!("FUEL_LIMIT"), &json!("limited")),
            (&Value::Null, &json!("exited")),
            (&json!("CONFIRMATION_REQUIRED"), &Value::Null),
        ]
    );
    let export = home.run(&["ledger", "list", "--bytes", "--ndjson", "todo"]);
    assert!(!export.stdout.contains("ghp_"), "a secret is in the ledger");
    assert_eq!(export.stdout.lines().count(), 6);
}

#[test]
fn replay_issues_the_invocation_again_and_names_the_first() {
    let home = home_with(&["one"]);
    let first = home.json(&["ledger", "show", "todo"]);
    home.json(&["replay", "packages/todo", "last"]);
    assert_eq!(home.titles(), ["one", "one"]);
    let second = home.json(&["ledger", "show", "todo", "@3"]);
    assert_eq!(second["record"]["kind"], "replay");
    assert_eq!(second["record"]["follows"], first["hash"]);
    assert_eq!(second["record"]["invocation"]["seed"], first["record"]["invocation"]["seed"]);
    assert_eq!(second["output"]["items"][0]["id"], "td_0002");
    // A command that asks for confirmation asks again.
    assert_eq!(home.run(&["run", "--yes", "packages/todo", "remove", "td_0002", "--confirm"]).status, 0);
    assert_eq!(home.run(&["replay", "packages/todo", "last"]).status, 30);
}

#[test]
fn recorded_answers_can_be_queried() {
    let home = home_with(&["one"]);
    let query = |path: &str| home.run(&["ledger", "show", "todo", "--query", path]);
    assert_eq!(query("output.items[0].id").stdout, "\"td_0001\"\n");
    assert_eq!(query("record.outcome.ending").stdout, "\"exited\"\n");
    assert_eq!(query("output.items[7]").status, 20);
    assert_eq!(query("output..id").status, 2);
}

#[test]
fn states_are_listed_read_compared_carried_and_restored() {
    let home = home_with(&["one", "two"]);
    assert_eq!(home.json(&["state", "cat", "todo", "state"])["items"][0]["path"], "state/todos.json");
    let log = home.json(&["ledger", "list", "--changes", "todo"]);
    let kinds: Vec<&Value> = (0..3).map(|at| &log["items"][at]["kind"]).collect();
    assert_eq!((&log["total"], kinds), (&json!(3), vec![&json!("run"), &json!("run"), &json!("create")]));
    let now = home.run(&["state", "cat", "--raw", "todo", "state/todos.json"]).stdout;
    let then = home.run(&["state", "cat", "--raw", "--at", "@2", "todo", "state/todos.json"]).stdout;
    assert!(now.contains("two") && !then.contains("two") && then.contains("one"));
    // A file is the one line of itself; bytes are those of a file.
    assert_eq!(home.json(&["state", "cat", "todo"])["items"], json!([{"path": "state", "type": "volume"}]));
    let line = home.run(&["state", "cat", "--ndjson", "todo", "state/todos.json"]).stdout;
    let file = serde_json::from_str::<Value>(&line).expect("no JSON");
    assert_eq!((&file, &file["content"]), (&home.json(&["state", "cat", "todo", "state/todos.json"]), &json!(now)));
    assert_eq!(home.run(&["state", "cat", "--raw", "todo", "state"]).status, 20);
    for words in [&["state", "cat", "--raw", "todo"][..], &["state", "cat", "--raw", "--ndjson", "todo", "state"]] {
        assert_eq!(home.run(words).status, 2, "{words:?}");
    }
    assert_eq!(home.json(&["state", "diff", "todo", "@2", "@3"])["changes"]["state"][0]["change"], "modified");
    assert_eq!(home.json(&["state", "diff", "todo", "@3", "last"])["changes"]["state"], json!([]));

    let folder = home.path().join("out");
    std::fs::create_dir(&folder).expect("no folder");
    let folder = folder.to_str().expect("no UTF-8");
    let export = ["instance", "export", "--volume", "state", "--output", folder, "todo"];
    home.json(&export);
    assert_eq!(std::fs::read_to_string(format!("{folder}/todos.json")).expect("not exported"), now);
    // A folder that is not empty is left as it is.
    let (_, error) = home.error(&export);
    assert_eq!(error["code"], "ALREADY_EXISTS");
    let before = digest(&home);
    std::fs::write(format!("{folder}/todos.json"), &then).expect("not written");
    home.json(&["instance", "import", "--volume", "state", "--input", folder, "todo"]);
    assert_eq!(home.titles(), ["one"]);
    home.json(&["undo", "todo", "--to", "@3"]);
    assert_eq!(digest(&home), before);
    for path in ["state/nothing", "other", "state/todos.json/x"] {
        assert_eq!(home.run(&["state", "cat", "todo", path]).status, 20, "{path}");
    }
}

#[test]
fn an_edit_outside_is_noticed_recorded_and_can_be_undone() {
    let home = home_with(&["one", "two"]);
    let file = home.plain().join("todos.json");
    let text = std::fs::read_to_string(&file).expect("the plain directory does not show the state");
    std::fs::write(&file, text.replace("\"one\"", "\"edited\"")).expect("not written");
    let status = home.json(&["state", "diff", "todo"]);
    assert_eq!(status["changes"]["state"][0]["path"], "todos.json");
    assert_eq!(home.error(&["state", "diff", "todo", "@1"]).1["code"], "USAGE", "one entry has nothing to differ from");
    assert_eq!(home.titles(), ["edited", "two"], "the run did not see what was edited");
    assert_eq!(home.json(&["ledger", "list", "todo"])["items"][1]["kind"], "edit");
    home.json(&["undo", "todo"]);
    assert_eq!(home.titles(), ["one", "two"]);
    assert_eq!(std::fs::read_to_string(&file).expect("gone"), text);
}

#[test]
fn a_changed_ledger_is_found_and_named() {
    let home = home_with(&["one", "two", "three"]);
    let head = home.json(&["ledger", "show", "todo"])["head"].as_str().expect("no head").to_owned();
    assert_eq!(home.run(&["verify", "--chain", "todo", "--head", &head]).status, 0);
    home.json(&["run", "packages/todo", "add", "four"]);
    // A head that was written down is still in the chain when more has happened.
    assert_eq!(home.run(&["verify", "--chain", "todo", "--head", &head]).status, 0);
    let (sequence, hash) = head.split_once(':').expect("no head");
    let other = format!("{sequence}:{}", hash.replace(|_| true, "0"));
    let (status, error) = home.error(&["verify", "--chain", "todo", "--head", &other]);
    assert_eq!((status, &error["code"], &error["details"]["sequence"]), (50, &json!("STORE_DAMAGED"), &json!(4)));
    let (_, error) = home.error(&["verify", "--chain", "todo", "--head", &format!("99:{hash}")]);
    assert_eq!(error["details"]["sequence"], 6, "a cut tail is not named");
}

#[test]
fn gc_keeps_what_it_promises_and_says_what_it_dropped() {
    let home = home_with(&["one", "two", "three", "four"]);
    assert_eq!(home.run(&["gc", "todo", "--keep", "2"]).status, 30, "gc needs a confirmation");
    home.json(&["gc", "--yes", "todo", "--keep", "2"]);
    assert_eq!(home.titles(), ["one", "two", "three", "four"]);
    home.json(&["verify", "--chain", "todo"]);
    assert_eq!(home.json(&["verify", "packages/todo", "@5"])["equal"], 1);
    let (_, error) = home.error(&["verify", "packages/todo", "@2"]);
    assert_eq!(error["code"], "NOT_REPRODUCIBLE");
}

/// The probe with two volumes.
fn two_volumes(home: &Home) -> String {
    let folder = home.path().join("package");
    common::copy(&common::repository().join("tests/packages/probe"), &folder);
    let manifest = std::fs::read_to_string(folder.join("APP.md")).unwrap();
    let both = manifest.replacen("      - state\n", "      - state\n      - other\n", 1);
    std::fs::write(folder.join("APP.md"), both).unwrap();
    folder.to_str().unwrap().to_owned()
}

/// What the state was at an entry is one question with one answer: undo, restore and every look say the same, of all volumes.
#[test]
fn undo_and_restore_move_the_whole_state() {
    let home = Home::new();
    let package = two_volumes(&home);
    let state = home.path().join(".local/share/hutch/instances/probe/default/state");
    let now = |home: &Home| {
        let volumes = home.json(&["state", "diff", "probe"])["volumes"].clone();
        (volumes["state"]["digest"].clone(), volumes["other"]["digest"].clone())
    };
    let mut states = vec![None];
    home.json(&["run", &package, "write-text", "state/a", "1"]);
    states.extend([None, Some(now(&home))]);
    std::fs::write(state.join("a"), "by hand").unwrap();
    // What is copied is written down first.
    home.json(&["instance", "copy", "probe", "other"]);
    states.push(Some(now(&home)));
    home.json(&["run", &package, "write-text", "other/b", "2"]);
    states.push(Some(now(&home)));
    let at = |sequence: usize| states[sequence].clone().unwrap();
    // Before the edit: neither volume is what it became later.
    home.json(&["undo", "probe", "@3"]);
    assert_eq!(now(&home), at(2));
    home.json(&["undo", "probe", "--to", "@4"]);
    assert_eq!(now(&home), at(4));
    home.json(&["undo", "probe", "--to", "@3"]);
    assert_eq!(now(&home), at(3));
    for sequence in 2..=4 {
        let name = format!("@{sequence}");
        let tree = home.json(&["state", "diff", "probe", &name, "last"]);
        let same = tree["changes"].as_object().unwrap().values().all(|changes| changes == &json!([]));
        assert_eq!(same, sequence == 3, "{sequence}: {tree}");
    }
    // Going where the state is already is nothing, and said so.
    let head = home.json(&["ledger", "show", "probe"])["sequence"].as_u64().unwrap();
    for line in [&["undo", "probe", "--to", "@3"][..], &["undo", "probe", "@4"], &["undo", "probe", "@1"]] {
        let (status, error) = home.error(line);
        assert_eq!((status, &error["code"]), (2, &json!("USAGE")), "{line:?}: {error}");
        assert_eq!(now(&home), at(3), "{line:?}");
    }
    assert_eq!(home.json(&["ledger", "show", "probe"])["sequence"], head + 3, "each refusal is an entry");
    home.json(&["undo", "probe"]);
    assert_eq!(now(&home), at(2), "before the edit, wherever moves led meanwhile");
}

/// Each undo goes further back than the one before it, redo comes the same way again, and what is done between ends what can be made again.
#[test]
fn undo_goes_further_back_each_time_and_redo_comes_back() {
    let home = home_with(&["a", "b", "c", "d"]);
    let reach = |line: &[&str]| {
        let further = home.json(line)["further"].clone();
        (home.titles().concat(), further["undo"].as_u64().unwrap(), further["redo"].as_u64().unwrap())
    };
    for (line, titles, back, forward) in [
        (&["undo", "todo"][..], "abc", 3, 1),
        (&["undo", "todo"], "ab", 2, 2),
        (&["undo", "todo"], "a", 1, 3),
        (&["redo", "todo"], "ab", 2, 2),
        (&["redo", "todo", "2"], "abcd", 4, 0),
        (&["undo", "todo", "3"], "a", 1, 3),
        (&["undo", "--redo", "todo"], "ab", 2, 2),
        // By its entry: what lies between is passed as well.
        (&["undo", "todo", "--to", "@4"], "abc", 3, 1),
        (&["undo", "todo", "@2"], "", 0, 4),
        (&["redo", "todo"], "a", 1, 3),
    ] {
        assert_eq!(reach(line), (titles.to_owned(), back, forward), "{line:?}");
    }
    let kept = |line: &[&str], count: u64| {
        let (status, error) = home.error(line);
        assert_eq!(
            (status, &error["code"], home.titles().concat()),
            (20, &json!("NOT_FOUND"), "a".to_owned()),
            "{line:?}"
        );
        assert!(error["message"].as_str().unwrap().ends_with(&format!("there are {count}")), "{error}");
    };
    kept(&["undo", "todo", "2"], 1);
    kept(&["redo", "todo", "4"], 3);
    assert_eq!(home.error(&["redo", "todo", "@3"]).0, 2, "redo counts");
    // A preview writes nothing, and so nothing is further or less far.
    assert_eq!(home.json(&["redo", "--dry-run", "todo"]).get("further"), None);
    assert_eq!(home.titles(), ["a"]);
    home.json(&["run", "packages/todo", "add", "e"]);
    let (status, error) = home.error(&["redo", "todo"]);
    assert_eq!((status, &error["code"]), (20, &json!("NOT_FOUND")));
    assert_eq!(reach(&["undo", "todo"]), ("a".to_owned(), 1, 1));
}

/// An editor's lock link, a pipe, a name that is not UTF-8: none of them blocks anything, and each is named.
#[test]
fn what_no_state_can_hold_blocks_nothing_and_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let home = home_with(&["one", "two"]);
    let folder = home.plain();
    std::os::unix::fs::symlink("me@host.1:2", folder.join(".#todos.json")).unwrap();
    std::fs::write(folder.join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    home.json(&["run", "packages/todo", "add", "three"]);
    let plan = home.json(&["plan", "packages/todo", "complete", "td_0001"]);
    let skipped = plan["skipped"]["state"]["paths"].as_array().unwrap();
    let names: Vec<&str> = skipped.iter().map(|skipped| skipped["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["\u{fffd}", ".#todos.json", "pipe"]);
    home.json(&["apply", "packages/todo", plan["plan_id"].as_str().unwrap()]);
    home.json(&["undo", "todo"]);
    home.json(&["run", "--dry-run", "packages/todo", "list"]);
    let status = home.json(&["state", "diff", "todo"]);
    assert_eq!(status["volumes"]["state"]["skipped"]["paths"].as_array().unwrap().len(), 3, "{status}");
    assert!(folder.join("pipe").exists() && folder.join(".#todos.json").is_symlink());
    assert_eq!(home.titles(), ["one", "two", "three"]);
    let edits = home.json(&["ledger", "list", "todo"])["items"].clone();
    assert!(edits.as_array().unwrap().iter().all(|entry| entry["kind"] != "edit"), "{edits}");
}

/// What the user may not read is neither taken for removed nor overwritten, stands in no other file's way, and is named.
#[test]
fn what_the_user_may_not_read_stays_as_it_is_and_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let hutch = common::unprivileged(&home);
    let guest = |words: &[&str]| hutch(&[&["run", "--guard", "off", "probe"], words].concat());
    let good = |words: &[&str]| {
        let (status, said) = guest(words);
        assert_eq!(status, Some(0), "{words:?}: {said}");
        said
    };
    good(&["make-dir", "state/d"]);
    for (path, text) in [("state/a", "one"), ("state/b", "two"), ("state/d/c", "three")] {
        good(&["write-text", path, text]);
    }
    let folder = home.path().join(".local/share/hutch/instances/probe/default/state");
    let set = |name: &str, mode| {
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::write(folder.join("mine"), "mine").unwrap();
    std::fs::create_dir(folder.join("own")).unwrap();
    ["a", "d", "mine", "own"].iter().for_each(|name| set(name, 0));
    // A person's edit is seen whatever lies beside it.
    std::fs::write(folder.join("b"), "edited").unwrap();
    assert!(good(&["read-file", "state/b"]).contains("edited"));
    let (status, said) = hutch(&["state", "diff", "--query", ".", "probe"]);
    let told: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((status, &told["changes"]["state"]), (Some(0), &json!([])), "{said}");
    let skipped = told["volumes"]["state"]["skipped"]["paths"].as_array().unwrap();
    let named: Vec<&str> = skipped.iter().map(|skipped| skipped["path"].as_str().unwrap()).collect();
    assert_eq!(named, ["a", "d", "mine", "own"], "{said}");
    // Who wants what can't be told is refused, and told which file it is.
    let (status, said) = guest(&["read-file", "state/a"]);
    assert!(status == Some(11) && said.contains("state/a: may not read"), "{said}");
    // What stands in the way of the state's own stays there.
    good(&["write-text", "state/mine", "the guest's"]);
    good(&["read-file", "state/mine"]);
    ["a", "mine"].iter().for_each(|name| set(name, 0o644));
    ["d", "own"].iter().for_each(|name| set(name, 0o755));
    assert_eq!(std::fs::read_to_string(folder.join("mine")).unwrap(), "mine");
    for (path, text) in [("state/a", "one"), ("state/d/c", "three"), ("state/b", "edited"), ("state/mine", "mine")] {
        assert!(good(&["read-file", path]).contains(&format!("\"content\":{text:?}")), "{path}");
    }
}

/// What a shell or an editor would act on for an application is in its state, is named, and stands in no folder.
#[test]
fn what_tools_act_on_is_in_no_plain_folder() {
    let home = home_with(&["one"]);
    let write = |path: &str| {
        let line = ["run", "--guard", "off", "--envelope", "tests/packages/probe", "write-text", path, "evil"];
        home.json(&line)["withheld"].clone()
    };
    assert_eq!(write("state/plain"), Value::Null);
    assert_eq!(write("state/.envrc"), json!(["state/.envrc"]));
    home.json(&["run", "--guard", "off", "tests/packages/probe", "make-dir", "state/.git"]);
    assert_eq!(write("state/.git/config"), json!(["state/.git/config"]));
    let names = || {
        let listed = std::fs::read_dir(home.path().join(".local/share/hutch/instances/probe/default/state")).unwrap();
        listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    assert!(names().contains(&"plain".to_owned()));
    assert!(names().iter().all(|name| !name.starts_with('.')), "{:?}", names());
    let status = home.json(&["state", "diff", "probe"]);
    let withheld = &status["volumes"]["state"]["withheld"];
    assert_eq!((withheld, &status["changes"]["state"]), (&json!([".envrc", ".git"]), &json!([])));
    assert_eq!(home.json(&["state", "cat", "probe", "state/.envrc"])["content"], "evil");
    assert_eq!(home.json(&["run", "tests/packages/probe", "read-file", "state/.git/config"])["content"], "evil");
    home.json(&["verify", "--all", "tests/packages/probe"]);
}

/// A file that is written to all the time is one edit for each call, not one for each write.
#[test]
fn a_busy_file_is_one_edit_for_each_call() {
    let home = home_with(&["one"]);
    let log = home.plain().join("busy.log");
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut at = 0_u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                at += 1;
                std::fs::write(&log, at.to_string()).unwrap();
            }
        });
        for _ in 0..5 {
            let before = home.json(&["ledger", "show", "todo"])["sequence"].as_u64().unwrap();
            home.run(&["plan", "packages/todo", "list"]);
            let after = home.json(&["ledger", "show", "todo"])["sequence"].as_u64().unwrap();
            assert!(after - before <= 2, "{} entries for one call", after - before);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(home.titles(), ["one"]);
}
