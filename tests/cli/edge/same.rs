//! Equal calls come to equal bytes, states and entries, natively and at the edge, whoever made the code; and natively all of it is run
//! again before it is believed.

use super::bare;
use crate::edge::hutch_edge;
use crate::support::{FIXED, Machine, Ran, probe, todo};
use hutch::Host;
use hutch::package::{Package, PackageBounds, Source};
use hutch_model::instant::Instant;
use hutch_model::ledger::{Origin, SecretKey};
use hutch_sandbox::Sandbox;
use hutch_store::{MemoryStore, Store, bundle};
use serde_json::Value;
use std::path::Path;

/// The tour of `host/docs/using.md`, and calls that fail.
const CALLS: &[&[&str]] = &[
    &["add", "Write docs"],
    &["list"],
    &["get", "td_9999"],
    &["remove", "td_0001", "--confirm"],
    &["add", "Buy milk", "--due-at", "2026-04-05T09:00:00Z"],
    &["reminder", "set", "td_0002", "--at", "2026-04-05T09:00:00Z"],
    &["reminder", "list"],
    &["reminder", "set", "td_0002", "--at", "2026-13-01"],
    &["add", "no such flag", "--nothing"],
    &["complete", "td_0001"],
    &["list", "--human"],
];

/// The entries of a state file, each with its hash, as they are stored.
fn entries(state: &Path) -> Vec<(String, String)> {
    let store = MemoryStore::new(SecretKey::new([0; 32]));
    bundle::take_in(&store, &std::fs::read(state).unwrap()).unwrap();
    let entries = store.entries(1, u64::MAX).unwrap();
    entries.iter().map(|sealed| (sealed.hash.to_string(), String::from_utf8(sealed.bytes.to_vec()).unwrap())).collect()
}

/// The same of an instance in a home.
fn exported(machine: &Machine, instance: &str) -> Vec<(String, String)> {
    let told = machine.run(["ledger", "list", "--bytes", "--instance", instance, "todo"]).result("ledger list");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    told["items"].as_array().unwrap().iter().map(|item| (text(&item["hash"]), text(&item["bytes"]))).collect()
}

/// What the other program is told, so that its next entry is this one.
fn told(instance: &str, entry: &str) -> Vec<String> {
    let entry: Value = serde_json::from_str(entry).unwrap();
    let mut flags = vec!["--at".to_owned(), entry["at"].as_str().unwrap().to_owned()];
    flags.extend(["--instance".to_owned(), instance.to_owned()]);
    if let Some(took) = entry["outcome"]["wall_time_us"].as_u64() {
        flags.extend(["--wall-time-us".to_owned(), took.to_string()]);
    }
    flags
}

#[test]
fn a_session_comes_to_the_same_bytes_states_and_entries() {
    let machine = Machine::new();
    machine.run(["install", &todo()]).result("install");
    machine.run(["pack", &todo(), "--output", "packed.tar"]).result("pack");
    let source = Source::open(&machine.path("packed.tar"), &PackageBounds::default()).unwrap();
    let package = Package::open(&source, PackageBounds::default()).unwrap().from_origin(Origin::installed());
    for (instance, options) in [("native", &[][..]), ("interpreted", &["--target", "pulley64"])] {
        let bundle = machine.export("todo", options, instance).display().to_string();
        let state = format!("{instance}.state");
        for call in CALLS {
            let host = ["run", "--instance", instance];
            let native = machine.run([&host[..], &FIXED, &["todo"], call].concat());
            let (_, last) = exported(&machine, instance).pop().unwrap();
            let said = told(instance, &last);
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let edge = machine.edge(&[&["run", "--state", &state], &said[..], &FIXED, &[&bundle], call].concat());
            assert_eq!((native.status, &native.stdout), (edge.status, &edge.stdout), "{call:?}");
            let code = |ran: &Ran| serde_json::from_str::<Value>(&ran.stderr).map(|report| report["code"].clone()).ok();
            assert_eq!(code(&native), code(&edge), "{call:?}: {edge:?}");
        }
        machine.run(["undo", "--instance", instance, "todo"]).result("undo");
        let (hash, last) = exported(&machine, instance).pop().unwrap();
        let said = told(instance, &last);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let undone = machine.edge(&[&["undo", "--state", &state], &said[..], &[&bundle]].concat()).answer();
        assert_eq!(undone["entry"]["hash"], hash);
        let written = entries(&machine.path(&state));
        assert_eq!(written.len(), CALLS.len() + 2, "the instance's first entry, one of each call, and going back");
        // Every byte of every entry, and so its hash.
        assert_eq!(exported(&machine, instance), written);
        // The host without a compiler proves it, and so does one that compiles by itself.
        let proved = machine.edge(&["verify", "--state", &state, &bundle]).answer();
        assert_eq!(proved["entries"], CALLS.len() as u64 + 2);
        let host = Host::new(machine.path("person/.local/share/hutch"), Sandbox::default());
        let at: Instant = "2027-01-01T00:00:00Z".parse().unwrap();
        let bytes = std::fs::read(machine.path(&state)).unwrap();
        host.take_in(&package, &"default".parse().unwrap(), at, bytes).unwrap();
        let head = machine.run(["ledger", "show", "todo"]).result("ledger show");
        assert_eq!(head["hash"], proved["head"]["hash"]);
        let verified = machine.run(["verify", "--all", "todo"]).result("verify");
        assert_eq!((&verified["differ"], &verified["equal"]), (&0.into(), &proved["equal"]), "{verified}");
        machine.run(["instance", "purge", "--yes", "todo"]).result("instance purge");
        // What says nothing of an entry is taken for no flag of it.
        for wrong in [
            &["verify", "--at", "2026-04-01T09:00:00Z"][..],
            &["undo", "--wall-time-us", "5"],
            &["run", "--wall-time-us", "5ms"],
            &["run", "--at", "noon"],
            &["run", "--instance", "../other"],
        ] {
            machine.edge(&[wrong, &["--state", &state, &bundle]].concat()).fault("USAGE", 2);
        }
        assert_eq!(entries(&machine.path(&state)).len(), written.len());
    }
}

#[test]
fn the_last_change_is_taken_back_as_hutch_does() {
    let machine = Machine::new();
    machine.run(["install", &todo()]).result("install");
    let bundle = machine.bundle(&todo(), "bundle").display().to_string();
    let undo = |machine: &Machine| machine.edge(&["undo", "--state", "s", &bundle]);
    for call in [&["add", "one"][..], &["add", "two"], &["list"]] {
        machine.run([&["run"], &FIXED[..], &["todo"], call].concat());
        machine.edge(&[&["run", "--state", "s"], &FIXED[..], &[&bundle], call].concat()).answer();
    }
    // Twice, and each goes further back.
    for left in [1, 0] {
        let native = machine.run(["undo", "todo"]).result("undo");
        let edge = undo(&machine).answer();
        assert_eq!(edge["entry"]["sequence"], native["entry"]["sequence"], "{edge} {native}");
        let listed = machine.edge(&["run", "--state", "s", &bundle, "list"]).answer();
        assert_eq!(listed["count"], left);
        assert_eq!(machine.run(["run", "todo", "list"]).answer()["count"], left);
        let verified = machine.edge(&["verify", "--state", "s", &bundle]).answer();
        assert_eq!(verified["volumes"], edge["volumes"]);
    }
    // Each of them is an entry that a home takes in.
    let import = |instance: &str, state: &str| {
        let words = ["instance", "import", "--instance", instance, "--input", state, "todo"];
        machine.run(words).result("instance import")["last"]["sequence"].clone()
    };
    assert_eq!(import("edge", "s"), 8);
    assert_eq!(machine.run(["run", "--instance", "edge", "todo", "list"]).answer()["count"], 0);
    // Where nothing was changed there is nothing to take back, and that is written down too.
    machine.edge(&["run", "--state", "n", &bundle, "list"]).answer();
    machine.edge(&["undo", "--state", "n", &bundle]).fault("NOT_FOUND", 20);
    assert_eq!(import("nothing", "n"), 3);
}

/// What hostile guests do: the same end as natively, and what they did is dropped.
#[test]
fn a_guest_that_misbehaves_ends_as_it_does_natively() {
    let machine = Machine::new();
    let bundle = machine.bundle(&probe(), "probe.bundle").display().to_string();
    machine.edge(&["run", "--state", "s", &bundle, "write-text", "state/kept", "x"]).answer();
    let state = |machine: &Machine| machine.edge(&["verify", "--state", "s", &bundle]).answer()["volumes"].clone();
    let before = state(&machine);
    for (options, arguments) in [
        (&["--limit", "fuel=1000000"][..], &["spin"][..]),
        (&["--limit", "fuel=1000000"], &["write-then-spin", "state/kept"]),
        (&["--limit", "wall_time_ms=100", "--limit", "fuel=1000000000000000"], &["spin"]),
        (&[], &["write-then-trap", "state/kept"]),
        (&[], &["write-then-exit", "state/kept", "7"]),
        (&["--limit", "memory_bytes=16MiB"], &["grow-and-touch", "64000000"]),
        (&["--limit", "stdout_bytes=1000"], &["stdout", "2000"]),
        (&["--limit", "state_files=3"], &["write-files", "10", "state"]),
        (&[], &["recurse"]),
        (&[], &["panic"]),
        (&[], &["not-json"]),
        (&[], &["two-json"]),
        (&[], &["read-outside"]),
        (&[], &["follow-links"]),
        (&[], &["exit", "3"]),
        (&[], &["no-such-command"]),
    ] {
        let native = machine.probe(options, arguments);
        let edge = machine.edge(&[&["run", "--state", "s"], options, &[&bundle], arguments].concat());
        assert_eq!((edge.status, &edge.stdout), (native.status, &native.stdout), "{arguments:?}: {edge:?} {native:?}");
        let told = |ran: &Ran| serde_json::from_str::<Value>(&ran.stderr).ok();
        match (told(&native), told(&edge)) {
            (Some(native), Some(edge)) => {
                assert_eq!((&native["code"], &native["message"]), (&edge["code"], &edge["message"]), "{arguments:?}");
            }
            (None, None) => assert_eq!(native.stderr, edge.stderr, "{arguments:?}"),
            both => panic!("{arguments:?}: {both:?}"),
        }
        assert_eq!(state(&machine), before, "{arguments:?}");
    }
    assert_eq!(machine.names(), ["probe.bundle", "s"]);
}

#[test]
fn input_comes_from_where_it_is_said_and_is_not_waited_for_without_end() {
    let machine = Machine::new();
    let bundle = machine.bundle(&todo(), "todo.bundle").display().to_string();
    let record = r#"{"title":"from a file"}"#;
    machine.write("record", record);
    let add = ["add", "x"];
    let run = |input: &[&str]| machine.edge(&[&["run"], &FIXED[..], input, &[&bundle], &add[..]].concat());
    let (none, text) = (run(&[]), run(&["--stdin-text", record]));
    assert_eq!(text.stdout, run(&["--stdin-file", "record"]).stdout);
    assert_eq!((none.status, text.status), (0, 0));
    run(&["--stdin-text", "a", "--stdin"]).fault("USAGE", 2);
    run(&["--stdin-file", "nothing"]).fault("NOT_FOUND", 20);
    run(&["--stdin-text", "long", "--limit", "stdin_bytes=3"]).fault("STDIN_LIMIT", 2);
    let mut silent = bare(hutch_edge(), &["run", "--stdin", "--wait", "50ms", &bundle, "list"], &machine.path(""));
    let mut child = silent
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let pipe = child.stdin.take();
    let ended = child.wait_with_output().unwrap();
    drop(pipe);
    Ran::from_output(ended).fault("STDIN_TIME_LIMIT", 40);
}
