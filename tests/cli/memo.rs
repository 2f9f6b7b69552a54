//! Outcomes that are used again: they are what a run comes to, byte by byte, for calls that are equal and for no others; what must be kept
//! nowhere is not kept here; and what somebody else put there is noticed.

use crate::support::package::with_manifest;
use crate::support::{FIXED, Machine, Ran, todo};
use hutch_model::digest::Digest;
use hutch_model::memo::Kept;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// No outcome is run and compared, but one in four thousand millions.
const NEVER: [&str; 3] = ["--memo", "--recheck", "4294967295"];
/// Each is.
const ALWAYS: [&str; 3] = ["--memo", "--recheck", "1"];

const EARLY: [&str; 4] = ["--now", "2026-04-01T09:00:00Z", "--seed", "7"];
const LATE: [&str; 4] = ["--now", "2031-12-31T23:59:59Z", "--seed", "7"];
const OTHER: [&str; 4] = ["--now", "2026-04-01T09:00:00Z", "--seed", "8"];

/// What a run of the probe comes to with these options, without what a host measures and where it is written down; and what a memo had to
/// do with it.
fn told(machine: &Machine, options: &[&str], call: &[&str]) -> (Value, Value) {
    let ran = machine.probe(&[&["--envelope", "--contract", "any"], options].concat(), call);
    let mut run =
        serde_json::from_str::<Value>(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))["result"].take();
    let memo = run["memo"].take();
    for measured in ["wall_time_us", "load_time_us", "compiled", "entry", "memo"] {
        run.as_object_mut().unwrap().remove(measured);
    }
    (json!([ran.status, run]), memo)
}

/// The file of the probe's instance, and of the to-do application's.
fn file(machine: &Machine, package: &str) -> PathBuf {
    machine.home().join("instances").join(package).join("default/hutch.memo")
}

/// How many outcomes are kept.
fn kept(machine: &Machine, package: &str) -> u64 {
    machine.run(["gc", "--dry-run", package]).answer()["result"]["memo"]["outcomes"].as_u64().unwrap()
}

/// Changes what is kept, all of it, as somebody who can write the file.
fn rewrite(machine: &Machine, package: &str, change: impl Fn(&Digest, Vec<u8>) -> Vec<u8>) {
    let connection = rusqlite::Connection::open(file(machine, package)).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = connection
        .prepare("SELECT key, value FROM outcomes")
        .unwrap()
        .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert!(!rows.is_empty());
    for (key, value) in rows {
        let named = Digest::from_bytes(key.clone().try_into().unwrap());
        let value = change(&named, value);
        connection.execute("UPDATE outcomes SET value = ?2 WHERE key = ?1", (key, value)).unwrap();
    }
}

#[test]
fn an_outcome_that_is_used_again_is_the_run_byte_by_byte() {
    let machine = Machine::new();
    let calls: [&[&str]; 8] = [
        &["args", "a", "b"],
        &["exit", "7"],
        &["return-err"],
        &["two-json"],
        &["stdout", "100000"],
        &["stderr", "1000"],
        &["read-file", "state/missing"],
        &["env"],
    ];
    for call in calls {
        let (plain, nothing) = told(&machine, &EARLY, call);
        assert_eq!(nothing, Value::Null, "{call:?}: a memo that nobody asked for");
        let (first, memo) = told(&machine, &[&NEVER[..], &EARLY].concat(), call);
        assert_eq!((&first, &memo["used"]), (&plain, &json!("kept")), "{call:?}");
        for when in [EARLY, LATE, OTHER] {
            let (again, found) = told(&machine, &[&NEVER[..], &when].concat(), call);
            assert_eq!((&again, &found["used"]), (&plain, &json!("reused")), "{call:?} {when:?}");
            assert_eq!(found["key"], memo["key"]);
        }
        // And the sample is equal.
        let (compared, found) = told(&machine, &[&ALWAYS[..], &LATE].concat(), call);
        assert_eq!((&compared, &found["used"]), (&plain, &json!("equal")), "{call:?}");
    }
    // What it is held to is this call's affair, and not that of the one that was made.
    machine.probe(&NEVER, &["two-json"]).fault("CONTRACT_VIOLATION", 46);
    let record = machine.run(["ledger", "show", "probe"]).result("ledger show")["record"].clone();
    assert_eq!((&record["memo"]["used"], &record["kept"]), (&json!("reused"), &json!(false)));
    // What a program prints without an envelope is the same too, and nothing is said of it.
    let bytes = |options: &[&str]| {
        let ran = machine.probe(options, &["exit", "7"]);
        (ran.status, ran.stdout, ran.stderr)
    };
    assert_eq!(bytes(&NEVER), bytes(&[]));
}

#[test]
fn clock_and_seed_matter_to_whom_looks_at_them() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/a", "text"]).answer();
    let cases: [(&[&str], &[&str], &[&str]); 6] = [
        // Whether another clock, and another seed, is another call.
        (&["args"], &["reused"], &["reused"]),
        (&["clock"], &["kept"], &["reused"]),
        (&["random", "16"], &["reused"], &["kept"]),
        (&["read-file", "state/a"], &["reused"], &["reused"]),
        (&["stat", "state"], &["kept"], &["reused"]),
        (&["stat", "state/a"], &["reused"], &["reused"]),
    ];
    for (call, late, other) in cases {
        let used = |when: &[&str]| {
            let (run, memo) = told(&machine, &[&NEVER[..], when].concat(), call);
            assert_eq!(run, told(&machine, when, call).0, "{call:?} {when:?}");
            memo["used"].clone()
        };
        assert_eq!(used(&EARLY), json!("kept"), "{call:?}");
        assert_eq!((json!([used(&LATE)]), json!([used(&OTHER)])), (json!(late), json!(other)), "{call:?}");
    }
    // Arguments, input, limits and state matter in any case.
    for (options, call) in [
        (&[][..], &["args", "x"][..]),
        (&["--stdin-text", "x"], &["args"]),
        (&["--limit", "fuel=1000000000"], &["args"]),
    ] {
        assert_eq!(
            told(&machine, &[&NEVER[..], options].concat(), call).1["used"],
            json!("kept"),
            "{options:?} {call:?}"
        );
    }
    machine.probe(&[], &["write-text", "state/b", "text"]).answer();
    assert_eq!(told(&machine, &NEVER, &["args"]).1["used"], json!("kept"));
}

#[test]
fn the_ledger_says_what_was_used_again_and_can_be_verified_as_ever() {
    let machine = Machine::new();
    let record = || machine.run(["ledger", "show", &todo()]).result("ledger show")["record"].clone();
    let list = |options: &[&str]| machine.guest(&[options, &EARLY[..3], &["9", &todo(), "list"]].concat()).answer();
    machine.todo(&["add", "milk"]).answer();
    let plain = list(&[]);
    assert_eq!((list(&NEVER), record()["memo"].clone()), (plain.clone(), Value::Null));
    let made = record()["at"].clone();
    assert_eq!(list(&NEVER), plain);
    let memo = record()["memo"].clone();
    assert_eq!((&memo["used"], &memo["made"]["at"], &memo["made"]["kind"]), (&json!("reused"), &made, &json!("run")));
    assert_eq!(record()["outcome"]["wall_time_us"], json!(0));
    list(&ALWAYS);
    assert_eq!(record()["memo"]["used"], json!("equal"));
    let verified = machine.run(["verify", "--all", &todo()]).result("verify");
    assert_eq!((&verified["differ"], &verified["not_reproducible"]), (&json!(0), &json!(0)), "{verified}");
    machine.run(["verify", "--chain", &todo()]).result("verify");
    // What is done again is run.
    machine.run(["replay", &todo(), "last"]).answer();
    assert_eq!((&record()["kind"], &record()["memo"]), (&json!("replay"), &Value::Null));
}

#[test]
fn what_a_call_writes_is_there_after_its_outcome_was_used_again() {
    let machine = Machine::new();
    let add = |options: &[&str]| {
        machine.guest(&[&["--envelope"], &FIXED[..], options, &[&todo(), "add", "milk"]].concat()).envelope()
    };
    machine.todo(&["list"]).answer();
    let first = add(&NEVER);
    assert_eq!(first.memo["used"], json!("kept"));
    let listed = machine.todo(&["list"]).answer();
    machine.run(["undo", "--yes", &todo()]).result("undo");
    let again = add(&NEVER);
    assert_eq!((&again.memo["used"], again.kept), (&json!("reused"), true));
    assert_eq!(again.volumes["state"].after, first.volumes["state"].after);
    assert_eq!(machine.todo(&["list"]).answer(), listed);
    machine.run(["verify", "--all", &todo()]).result("verify");
    // It is the plain directory's too.
    assert_eq!(machine.run(["state", "diff", &todo()]).status, 0);
    // Where what it left is not kept any more, the guest runs.
    machine.run(["undo", "--yes", &todo()]).result("undo");
    machine.todo(&["list"]).answer();
    machine.run(["gc", "--yes", "--keep", "1", &todo()]).result("gc");
    let third = add(&NEVER);
    assert_eq!((&third.memo["used"], third.kept), (&json!("kept"), true));
    assert_eq!(machine.todo(&["list"]).answer(), listed);
}

#[test]
fn what_people_change_outside_is_seen_before_anything_is_used_again() {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/a", "text"]).answer();
    let read = || told(&machine, &NEVER, &["read-file", "state/a"]);
    let before = read().0;
    assert_eq!(read(), (before.clone(), read().1));
    let plain = machine.home().join("instances/probe/default/state/a");
    fs::write(&plain, "edited").unwrap();
    let (after, memo) = read();
    assert_ne!(after, before);
    assert_eq!(memo["used"], json!("kept"));
}

#[test]
fn what_must_be_kept_nowhere_is_not_kept_here() {
    let machine = Machine::new();
    let asking = with_manifest(&machine, "asking", "    mounts:\n", "    env: [SECRET]\n    mounts:\n");
    let package = asking.display().to_string();
    fs::create_dir(machine.path("granted")).unwrap();
    let mount = format!("{}:mnt", machine.path("granted").display());
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--secret", "SECRET"], &["env"]),
        (&["--mount", &mount], &["args"]),
        (&["--digests-only"], &["args"]),
        (&["--limit", "wall_time_ms=200"], &["spin"]),
    ];
    for (options, call) in cases {
        for _ in 0..2 {
            let line = [&["run", "--envelope", "--contract", "any"], &NEVER[..], options, &[&package], call].concat();
            let ran = Ran::of(machine.hutch(line).env("SECRET", "geheimnis"));
            let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
            let memo = &told["result"]["memo"];
            assert_eq!(memo["used"], json!("left_out"), "{options:?}");
            assert!(memo["reason"].is_string() && memo.get("key").is_none(), "{memo}");
        }
    }
    assert_eq!(kept(&machine, "probe"), 0);
    let there = fs::read(file(&machine, "probe")).unwrap();
    assert!(!there.windows(9).any(|bytes| bytes == b"geheimnis"));
    // A call that is refused is refused whatever is kept of it.
    machine.guest(&[&NEVER[..], &[&todo(), "add", "milk"]].concat()).answer();
    let remove = |options: &[&str]| machine.guest(&[options, &[&todo(), "remove", "td_0001"]].concat());
    remove(&NEVER).fault("CONFIRMATION_REQUIRED", 30);
}

#[test]
fn what_somebody_else_put_there_is_noticed_and_what_is_broken_is_missed() {
    let machine = Machine::new();
    let call = ["args", "a"];
    let run = |options: &[&str]| told(&machine, options, &call);
    let truth = run(&NEVER).0;
    let forged = |key: &Digest, value: Vec<u8>| {
        let mut kept = Kept::read(key, &value).unwrap();
        kept.outcome.stdout = b"{\"ok\":\"forged\"}\n".to_vec();
        kept.outcome.fuel += 1;
        kept.write(key).unwrap()
    };
    rewrite(&machine, "probe", forged);
    // Who is not of the sample believes it: that is the bargain.
    let (believed, memo) = run(&NEVER);
    assert_eq!((&believed[1]["output"], &memo["used"]), (&json!({"ok": "forged"}), &json!("reused")));
    let compared = machine.probe(&[&["--envelope"], &ALWAYS[..]].concat(), &call);
    assert_eq!(compared.status, 0);
    assert!(compared.stderr.contains("is not what its call comes to"), "{compared:?}");
    let result = serde_json::from_str::<Value>(&compared.stdout).unwrap()["result"].clone();
    assert_eq!(result["output"], truth[1]["output"]);
    assert_eq!((&result["memo"]["used"], &result["memo"]["differs"]), (&json!("differs"), &json!(["stdout", "fuel"])));
    let record = machine.run(["ledger", "show", "probe"]).result("ledger show")["record"].clone();
    assert_eq!(record["memo"], result["memo"]);
    assert_eq!(run(&NEVER), (truth.clone(), run(&NEVER).1));
    // A byte that is another, and an outcome under another key.
    for at in [0, 40, 200] {
        rewrite(&machine, "probe", |_, mut value| {
            value[at] ^= 1;
            value
        });
        let (missed, memo) = run(&NEVER);
        assert_eq!((&missed, &memo["used"]), (&truth, &json!("kept")), "{at}");
    }
    told(&machine, &NEVER, &["args", "b"]);
    let connection = rusqlite::Connection::open(file(&machine, "probe")).unwrap();
    let last: Vec<u8> =
        connection.query_row("SELECT value FROM outcomes ORDER BY place DESC LIMIT 1", (), |row| row.get(0)).unwrap();
    connection.execute("UPDATE outcomes SET value = ?1", [last]).unwrap();
    assert_eq!(run(&NEVER).0, truth);
    drop(connection);
    // A file that is no database costs what it would have saved.
    for rest in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(file(&machine, "probe").with_file_name(format!("hutch.memo{rest}")));
    }
    fs::write(file(&machine, "probe"), "no database ".repeat(1000)).unwrap();
    let (ran, memo) = run(&NEVER);
    assert_eq!((&ran, &memo["used"]), (&truth, &json!("left_out")));
    assert!(memo["reason"].as_str().unwrap().contains("hutch.memo"), "{memo}");
    machine.run(["gc", "--yes", "probe"]).result("gc");
    machine.run(["gc", "--yes", "--memo", "probe"]).fault("STORE_DAMAGED", 50);
}

/// Lines whose calls end in every way, many of them more than once.
fn lines() -> String {
    let line = |id: usize, arguments: &[&str]| json!({"id": id, "arguments": arguments}).to_string() + "\n";
    (0..300)
        .map(|id| match id % 5 {
            0 => line(id, &["list"]),
            1 => line(id, &["get", "td_0001"]),
            2 => line(id, &["get", "td_9999"]),
            3 => line(id, &["add", &format!("Item {}", id % 50)]),
            _ => line(id, &["frobnicate"]),
        })
        .collect()
}

#[test]
fn a_job_comes_to_the_same_bytes_with_a_memo_and_without() {
    let machine = Machine::new();
    machine.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat()).answer();
    machine.write("lines", lines());
    let package = todo();
    let map = |name: &str, words: &[&str]| {
        let line = [&["map", "--input", "lines", "--output", name], words, &[&package]].concat();
        let result = machine.run(line).result("map");
        (fs::read(machine.path(name)).unwrap(), result)
    };
    let (plain, result) = map("plain", &EARLY);
    assert!(result.get("memo").is_none());
    let preview =
        machine.run([&["map", "--input", "lines", "--dry-run"], &NEVER[..], &EARLY, &[&package]].concat()).answer();
    let counts = |result: &Value| {
        let memo = &result["memo"];
        assert_eq!((&memo["findings"], &memo["differ"]), (&json!([]), &json!(0)));
        ["reused", "equal", "kept", "left_out"].map(|name| memo[name].as_u64().unwrap())
    };
    assert_eq!(counts(&preview["result"]), [0, 0, 0, 240]);
    let (cold, result) = map("cold", &[&NEVER[..], &EARLY].concat());
    let [reused, equal, kept, left_out] = counts(&result);
    // Four of five lines are calls; equal ones that are made at once are made twice.
    assert_eq!((reused + kept, equal, left_out), (240, 0, 0));
    let (warm, result) = map("warm", &[&NEVER[..], &EARLY].concat());
    assert_eq!(counts(&result), [240, 0, 0, 0]);
    assert!(plain == cold && plain == warm);
    let name = format!("@{}", result["entry"]["sequence"]);
    let record = machine.run(["ledger", "show", &todo(), &name]).result("ledger show")["record"].clone();
    assert_eq!(record["mapped"]["memo"], json!({"reused": 240, "equal": 0, "differ": 0}));
    // The application reads the clock and asks for no randomness.
    for (name, when, is_new) in [("other", OTHER, false), ("later", LATE, true)] {
        let (other, result) = map(name, &[&NEVER[..], &when].concat());
        assert!(other == map(&format!("plain {name}"), &when).0, "{name}");
        let [reused, _, kept, _] = counts(&result);
        assert_eq!((kept > 0, reused + kept), (is_new, 240), "{name}");
    }
    // The sample that is taken unless somebody says otherwise, and all.
    let (sample, result) = map("sample", &[&["--memo"], &EARLY[..]].concat());
    assert_eq!(counts(&result)[0] + counts(&result)[1], 240);
    let (all, result) = map("all", &[&ALWAYS[..], &EARLY].concat());
    assert_eq!(counts(&result), [0, 240, 0, 0]);
    assert!(plain == sample && plain == all);
    // A run uses what a job kept, and says so.
    let ran = machine.guest(&[&["--envelope"], &NEVER[..], &EARLY, &[&todo(), "list"]].concat()).envelope();
    assert_eq!((&ran.memo["used"], &ran.memo["made"]["kind"]), (&json!("reused"), &json!("map")));
    // What was forged is found by who looks at all, and named.
    rewrite(&machine, "todo", |key, value| {
        let mut kept = Kept::read(key, &value).unwrap();
        kept.outcome.stderr = b"forged".to_vec();
        kept.write(key).unwrap()
    });
    let line = [&["map", "--input", "lines", "--output", "found"], &ALWAYS[..], &EARLY, &[&package]].concat();
    let ran = machine.run(line);
    let result = serde_json::from_str::<Value>(&ran.stdout).unwrap()["result"].clone();
    assert!(fs::read(machine.path("found")).unwrap() == plain);
    assert!(result["memo"]["differ"].as_u64().unwrap() > 0 && ran.stderr.contains("is dropped"), "{ran:?}");
    assert_eq!(result["memo"]["findings"][0]["differs"], json!(["stderr"]));
    // And all of it can be dropped.
    let dropped = machine.run(["gc", "--yes", "--memo", &todo()]).result("gc");
    assert!(dropped["memo"]["outcomes"].as_u64().unwrap() > 0 && dropped["memo"]["dropped"] == json!(true));
    assert_eq!(self::kept(&machine, "todo"), 0);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    let machine = Machine::new();
    machine.guest(&["--recheck", "2", &todo(), "list"]).fault("USAGE", 2);
    machine.guest(&["--memo", "--recheck", "0", &todo(), "list"]).fault("USAGE", 2);
}
