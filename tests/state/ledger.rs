//! The ledger holds all that happened: an entry for every call that reached the host, however it ended; the state, the package and
//! its resources by their digests; and whatever of it was changed is found.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may")]
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]

mod common;

use common::{Home, copy, repository};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn instance(home: &Home, slug: &str) -> PathBuf {
    home.path().join(".local/share/hutch/instances").join(slug).join("default")
}

fn database(home: &Home, slug: &str) -> rusqlite::Connection {
    rusqlite::Connection::open(instance(home, slug).join("hutch.db")).unwrap()
}

fn entries(home: &Home, slug: &str) -> Vec<Value> {
    let mut items = home.json(&["ledger", "list", "--limit", "1000", slug])["items"].as_array().unwrap().clone();
    items.reverse();
    items
}

/// A copy of the probe's package, with more in its manifest.
fn probe_with(home: &Home, more: &str) -> PathBuf {
    let package = home.path().join("package");
    copy(&repository().join("tests/packages/probe"), &package);
    let manifest = std::fs::read_to_string(package.join("APP.md")).unwrap();
    assert!(manifest.contains("    state:\n"));
    std::fs::write(package.join("APP.md"), manifest.replacen("    state:\n", &format!("{more}    state:\n"), 1))
        .unwrap();
    package
}

/// Every way that a call can end, and what the ledger says of it: one entry more, with that code.
#[test]
fn every_call_that_reaches_the_host_leaves_one_entry_whatever_its_end() {
    let home = Home::new();
    let probe = "tests/packages/probe";
    home.json(&["run", probe, "write-text", "state/a", "1"]);
    home.json(&["plan", probe, "write-text", "state/a", "2"]);
    home.json(&["run", probe, "write-text", "state/a", "3"]);
    let mount = format!("{}:mnt", home.path().display());
    let own = format!("{}:mnt:rw", home.path().join(".local/share/hutch/instances").display());
    let folder = home.path().join("granted");
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let granted = format!("{}:mnt:rw", folder.display());
    let volume = ["instance", "import", "--volume", "state"];
    for (line, kinds, code) in [
        (&["run", probe, "return-ok"][..], &["run"][..], None),
        (&["run", probe, "exit", "7"], &["run"], None),
        (&["run", probe, "trap"], &["run"], Some("GUEST_TRAPPED")),
        (&["run", probe, "not-json"], &["run"], Some("CONTRACT_VIOLATION")),
        (&["run", "--limit", "fuel=1000", probe, "spin"], &["run"], Some("FUEL_LIMIT")),
        (&["run", "--env", "A=b", probe, "return-ok"], &["run"], Some("PERMISSION_DENIED")),
        // A folder of the host's own is refused before any instance is opened, so that nothing is written there.
        (&["run", "--mount", &mount, probe, "return-ok"], &[], None),
        (&["run", "--mount", &own, probe, "return-ok"], &[], None),
        (&["run", probe, "\u{7}"], &["run"], Some("ARGUMENT_REFUSED")),
        (&["run", "--limit", "instances=1", probe, "return-ok"], &["run"], Some("INSTANCE_LIMIT")),
        (&["plan", probe, "write-text", "state/a", "9"], &["plan"], None),
        (&["apply", probe, "@3"], &["apply"], Some("CONFLICT")),
        (&["apply", probe, "@2"], &["apply"], Some("USAGE")),
        (&["apply", probe, "@999"], &["apply"], Some("NOT_FOUND")),
        (&["replay", probe, "@999"], &["replay"], Some("NOT_FOUND")),
        (&["replay", probe, "@2"], &["replay"], None),
        (&["undo", "probe"], &["undo"], None),
        (&["undo", "probe", "@999"], &["undo"], Some("NOT_FOUND")),
        (&["undo", "probe", "500"], &["undo"], Some("NOT_FOUND")),
        (&["undo", "probe", "--to", "@999"], &["restore"], Some("NOT_FOUND")),
        (&[&volume[..], &["--input", "tests/packages/probe/skills", "probe"]].concat(), &["import"], None),
        (&["run", "--mount", &granted, probe, "write-text", "mnt/x", "1"], &["intent", "run"], None),
        (&["run", "--mount", &granted, probe, "read-file", "mnt/x"], &["run"], None),
        (&["gc", "--yes", "--keep", "5", "probe"], &["collect"], None),
    ] {
        let before = entries(&home, "probe").len();
        home.run(line);
        let new: Vec<Value> = entries(&home, "probe").split_off(before);
        let found: Vec<&str> = new.iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
        assert_eq!(found, kinds, "{line:?}: {new:?}");
        assert_eq!(new.last().and_then(|entry| entry["error"].as_str()), code, "{line:?}");
    }
    home.json(&["verify", "--chain", "probe"]);
    let (_, error) = home.error(&["verify", probe, "--all"]);
    assert!(error["message"].as_str().unwrap().contains(" 0 differ"), "{error}");
}

/// Six at once, of which one is kept: each of the others is an entry that says so.
#[test]
fn those_who_were_overtaken_are_in_the_ledger_too() {
    let home = Home::new();
    let probe = "tests/packages/probe";
    home.json(&["run", probe, "write-text", "state/a", "0"]);
    let before = entries(&home, "probe").len();
    // Each starts from the same state, because nobody may commit before all have begun.
    let held = database(&home, "probe");
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = |at: usize| {
        let text = at.to_string();
        let mut command = home.command(&["run", "--wait", "10min", probe, "write-text", "state/a", &text]);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<_> = (1..=6).map(start).collect();
    // A guest that ended looks at the plain directory next, which needs the lock that it brings it up to date with.
    let waits = |child: &std::process::Child| {
        let syscall = std::fs::read_to_string(format!("/proc/{}/wchan", child.id())).unwrap_or_default();
        syscall.contains("nanosleep") || syscall.contains("hrtimer")
    };
    while !children.iter().all(waits) {
        std::hint::spin_loop();
    }
    held.execute_batch("ROLLBACK").unwrap();
    let statuses: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
    let new = entries(&home, "probe").split_off(before);
    assert_eq!(new.len(), 6, "{statuses:?} {new:?}");
    let refused = new.iter().filter(|entry| entry["error"] == "CONFLICT").count();
    assert_eq!(refused, statuses.iter().filter(|status| **status == 30).count(), "{statuses:?} {new:?}");
    assert_eq!(new.iter().filter(|entry| entry["kept"] == true).count() + refused, 6);
    assert!(refused > 0, "{statuses:?}");
}

/// A row that was changed would roll the state back unseen, if the last entry did not say what the state is.
#[test]
fn a_changed_head_is_found_before_anything_runs() {
    for sql in [
        "UPDATE heads SET tree = (SELECT tree FROM moves WHERE sequence = 2)",
        "DELETE FROM heads",
        "DELETE FROM owners",
        "INSERT INTO owners VALUES ('path:/evil', zeroblob(32))",
    ] {
        let home = Home::new();
        for title in ["one", "two", "three"] {
            home.json(&["run", "packages/todo", "add", title]);
        }
        database(&home, "todo").execute_batch(sql).unwrap();
        for line in [&["run", "packages/todo", "list"][..], &["verify", "--chain", "todo"], &["undo", "todo"]] {
            let (status, error) = home.error(line);
            assert_eq!((status, &error["code"]), (50, &json!("STORE_DAMAGED")), "{sql}: {line:?}");
        }
    }
}

#[test]
fn a_lost_database_is_noticed_and_the_folders_stay() {
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "precious"]);
    let folder = instance(&home, "todo");
    for name in ["hutch.db", "hutch.db-wal", "hutch.db-shm"] {
        let _ = std::fs::remove_file(folder.join(name));
    }
    for line in [
        &["run", "packages/todo", "list"][..],
        &["state", "diff", "todo"],
        &["run", "--dry-run", "packages/todo", "list"],
    ] {
        let (status, error) = home.error(line);
        assert_eq!((status, &error["code"]), (50, &json!("STORE_DAMAGED")), "{line:?}");
        assert!(error["message"].as_str().unwrap().contains("hutch.mark"), "{error}");
    }
    assert!(std::fs::read_to_string(folder.join("state/todos.json")).unwrap().contains("precious"));
    // What the message says: without the mark it begins again, with what the folders hold.
    std::fs::remove_file(folder.join("hutch.mark")).unwrap();
    assert_eq!(home.titles(), ["precious"]);
    let kinds: Vec<_> = entries(&home, "todo").iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds[..2], [json!("create"), json!("edit")]);
}

/// What was kept of a run's output is held against its digest by whoever verifies.
#[test]
fn a_flipped_bit_in_a_kept_stream_is_found() {
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "one"]);
    home.json(&["run", "packages/todo", "list"]);
    database(&home, "todo")
        .execute_batch("UPDATE objects SET bytes = CAST('x' || substr(bytes, 2) AS BLOB) WHERE kind = 4")
        .unwrap();
    let (status, error) = home.error(&["verify", "packages/todo", "--all"]);
    assert_eq!((status, &error["code"]), (1, &json!("VERIFY_FAILED")));
    assert!(error.to_string().contains("kept stdout"), "{error}");
}

#[test]
fn resources_are_an_input_with_a_name() {
    let home = Home::new();
    let package = probe_with(&home, "    resources:\n      - skills\n");
    let package = package.to_str().unwrap();
    home.json(&["run", package, "read-file", "skills/probe-usage/SKILL.md"]);
    let record = home.json(&["ledger", "show", "probe"])["record"].clone();
    assert_eq!(record["package"]["resources"]["skills"].as_str().map(str::len), Some(64), "{record}");
    assert_eq!(record["package"]["digest"].as_str().map(str::len), Some(64), "{record}");
    assert_eq!(home.json(&["verify", package, "--all"])["equal"], 1);
    let skill = Path::new(package).join("skills/probe-usage/SKILL.md");
    std::fs::write(&skill, std::fs::read_to_string(&skill).unwrap() + "More.\n").unwrap();
    let (_, error) = home.error(&["verify", package, "last"]);
    assert_eq!(error["code"], "NOT_REPRODUCIBLE", "{error}");
    assert!(error.to_string().contains("resources"), "{error}");
}

/// An entry has a bound whatever is given to a run, and a run with long arguments can be made again all the same.
#[test]
fn long_inputs_are_kept_beside_the_entry() {
    let home = Home::new();
    let long = "x".repeat(100_000);
    let probe = "tests/packages/probe";
    let said = home.json(&["run", "--unchecked", "--contract", "any", probe, "args", &long]);
    assert!(said.to_string().contains(&long));
    let longest: i64 =
        database(&home, "probe").query_row("SELECT max(length(bytes)) FROM entries", (), |row| row.get(0)).unwrap();
    assert!(longest < 10_000, "{longest}");
    assert_eq!(home.json(&["verify", probe, "last"])["equal"], 1);
}

#[test]
fn streams_need_not_be_kept() {
    let home = Home::new();
    home.json(&["run", "--digests-only", "packages/todo", "add", "confidential words"]);
    let streams = "SELECT count(*) FROM objects WHERE kind = 4";
    let kept: i64 = database(&home, "todo").query_row(streams, (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 0);
    assert_eq!(home.json(&["verify", "packages/todo", "last"])["equal"], 1, "digests are enough to compare");
    // Nor when it is made again.
    home.json(&["plan", "--digests-only", "packages/todo", "add", "more confidential words"]);
    home.json(&["apply", "packages/todo", "last"]);
    home.json(&["replay", "packages/todo", "last"]);
    assert_eq!(home.titles().len(), 3);
    let database = database(&home, "todo");
    let named = "SELECT count(*) FROM objects WHERE kind = 4 AND bytes LIKE '%\"title\":\"more%' AND bytes NOT LIKE '%\"items\"%'";
    let kept: i64 = database.query_row(named, (), |row| row.get(0)).unwrap();
    assert_eq!(kept, 0, "what was only to be named was kept");
}

/// A state that was collected is not there; one that is there and can't be read is damaged.
#[test]
fn an_object_that_cannot_be_read_is_damage_and_not_missing() {
    let home = Home::new();
    for title in ["one", "two", "three"] {
        home.json(&["run", "packages/todo", "add", title]);
    }
    database(&home, "todo")
        .execute_batch("UPDATE objects SET bytes = CAST('x' || substr(bytes, 2) AS BLOB) WHERE kind = 3")
        .unwrap();
    for line in [&["undo", "todo"][..], &["undo", "todo", "2"], &["undo", "todo", "--to", "@2"]] {
        let (status, error) = home.error(line);
        assert_eq!((status, &error["code"]), (50, &json!("STORE_DAMAGED")), "{line:?}: {error}");
    }
}

/// Where nothing can be kept, the one who looks whether all is well is told so.
#[cfg(unix)]
#[test]
fn a_home_in_which_nothing_can_be_written_is_not_well() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "one"]);
    let hutch = common::unprivileged(&home);
    let folder = home.path().join(".local/share/hutch");
    assert_eq!(hutch(&["doctor"]).0, Some(0), "{:?}", hutch(&["doctor"]));
    let before = std::fs::read_dir(&folder).unwrap().count();
    set_permissions(&folder, Permissions::from_mode(0o500)).unwrap();
    let (status, said) = hutch(&["doctor"]);
    set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    assert!(status == Some(50) && said.contains("no call is kept"), "{status:?}: {said}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), before);
}

/// 300 calls leave a log below a bound, and the last one reads and writes as much as the first ones.
#[test]
fn the_log_is_bounded_and_the_last_call_costs_what_the_first_did() {
    let home = Home::new();
    home.json(&["run", "packages/todo", "add", "one"]);
    for _ in 0..300 {
        assert_eq!(home.run(&["run", "packages/todo", "list"]).status, 0);
    }
    let log = std::fs::metadata(instance(&home, "todo").join("hutch.db-wal")).map_or(0, |log| log.len());
    assert!(log < 1_300_000, "the log has {log} bytes");
}
