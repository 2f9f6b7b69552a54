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

/// The tour of the README, and calls that fail.
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

/// The entries of a state file, as they are stored.
fn entries(state: &Path) -> Vec<Value> {
    let store = MemoryStore::new(SecretKey::new([0; 32]));
    bundle::take_in(&store, &std::fs::read(state).unwrap()).unwrap();
    let entries = store.entries(1, u64::MAX).unwrap();
    entries.iter().map(|sealed| serde_json::from_slice(&sealed.bytes).unwrap()).collect()
}

/// An entry as `ledger export` gives it.
fn stored(item: &Value) -> Value {
    serde_json::from_str(item["bytes"].as_str().unwrap()).unwrap()
}

/// An entry without what the time of day decides, and what chains it to others that have it.
fn timeless(mut entry: Value) -> Value {
    for name in ["at", "previous", "instance"] {
        entry.as_object_mut().unwrap().remove(name);
    }
    if let Some(outcome) = entry.get_mut("outcome").and_then(Value::as_object_mut) {
        outcome.remove("wall_time_us");
    }
    entry
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
            let edge = machine.edge(&[&["run", "--state", &state], &FIXED[..], &[&bundle], call].concat());
            assert_eq!((native.status, &native.stdout), (edge.status, &edge.stdout), "{call:?}");
            let code = |ran: &Ran| serde_json::from_str::<Value>(&ran.stderr).map(|report| report["code"].clone()).ok();
            assert_eq!(code(&native), code(&edge), "{call:?}: {edge:?}");
        }
        let written = entries(&machine.path(&state));
        assert_eq!(written.len(), CALLS.len() + 1, "the instance's first entry, and one of each call");
        let told = machine.run(["ledger", "export", "--instance", instance, "todo"]).result("ledger export");
        let told: Vec<Value> = told["items"].as_array().unwrap().iter().map(stored).collect();
        for (native, edge) in told.into_iter().zip(written) {
            assert_eq!(timeless(native), timeless(edge));
        }
        // The host without a compiler proves it, and so does one that compiles by itself.
        let proved = machine.edge(&["verify", "--state", &state, &bundle]).answer();
        assert_eq!(proved["entries"], CALLS.len() as u64 + 1);
        let host = Host::new(machine.path("person/.local/share/hutch"), Sandbox::default());
        let at: Instant = "2027-01-01T00:00:00Z".parse().unwrap();
        let bytes = std::fs::read(machine.path(&state)).unwrap();
        host.take_in(&package, &"default".parse().unwrap(), at, &bytes).unwrap();
        let head = machine.run(["ledger", "head", "todo"]).result("ledger head");
        assert_eq!(head["hash"], proved["head"]["hash"]);
        let verified = machine.run(["verify", "--all", "todo"]).result("verify");
        assert_eq!((&verified["differ"], &verified["equal"]), (&0.into(), &proved["equal"]), "{verified}");
        machine.run(["instance", "purge", "--yes", "todo"]).result("instance purge");
    }
}

/// What hostile guests do: the same end as natively, and what they did is dropped.
#[test]
fn a_guest_that_misbehaves_ends_as_it_does_natively() {
    let machine = Machine::new();
    let bundle = machine.export(&probe(), &[], "probe.bundle").display().to_string();
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
    let bundle = machine.export(&todo(), &[], "todo.bundle").display().to_string();
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
