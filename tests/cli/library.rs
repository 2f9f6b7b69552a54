//! The library for other programs beside the program: on one home, the same documents.

use crate::support::{FIXED, HUTCH, Machine, artifacts, probe, todo};
use hutch_capi::Library;
use serde_json::{Value, json};

fn library(machine: &Machine) -> Library {
    artifacts::keep_key(&machine.home());
    let options = json!({ "home": machine.home(), "cache": format!("{}/hutch", artifacts::CACHE), "compiler": HUTCH });
    Library::open(options.to_string().as_bytes()).expect("a library")
}

fn ask(library: &Library, package: &str, mut request: Value) -> (i32, Value) {
    request["package"] = package.into();
    let answer = library.call(request.to_string().as_bytes(), b"");
    (answer.status.into(), serde_json::from_slice(&answer.json).expect("one document"))
}

/// Without what no two calls have alike: the clock, and so the entry's hash.
fn lasting(mut document: Value) -> Value {
    fn forget(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                let volatile = ["wall_time_us", "load_time_us", "compiled", "entry", "follows", "plan_id", "modified"];
                fields.retain(|name, _| !volatile.contains(&name.as_str()));
                fields.values_mut().for_each(forget);
            }
            Value::Array(items) => items.iter_mut().for_each(forget),
            _ => {}
        }
    }
    forget(&mut document);
    document
}

#[test]
fn what_changes_state_is_answered_as_the_program_answers_it() {
    let (machine, other) = (Machine::new(), Machine::new());
    let library = library(&other);
    let said = |verb: &[&str], arguments: &[&str]| machine.run([verb, &FIXED, &[&todo()], arguments].concat());
    let asked = |command: &str, arguments: &[&str]| {
        let request = json!({ "command": command, "arguments": arguments, "now": FIXED[1], "seed": FIXED[3] });
        ask(&library, &todo(), request)
    };
    let both = |verb: &[&str], arguments: &[&str]| {
        let (said, (status, answer)) = (said(verb, arguments), asked(verb[0], arguments));
        assert_eq!((status, lasting(answer)), (said.status, lasting(said.document())), "{verb:?} {arguments:?}");
    };
    for arguments in [&["add", "milk"][..], &["add", "a\u{fffd}ü"], &["list"], &["complete", "td_9999"], &["nonsense"]]
    {
        // What is refused before a guest starts is told on standard error.
        match said(&["run", "--envelope"], arguments) {
            refused if refused.stdout.is_empty() => {
                let (status, answer) = asked("run", arguments);
                let report: Value = serde_json::from_str(&refused.stderr).unwrap();
                assert_eq!(
                    (status, &answer["code"], &answer["message"]),
                    (refused.status, &report["code"], &report["message"])
                );
            }
            said => {
                let (status, answer) = asked("run", arguments);
                assert_eq!((status, lasting(answer)), (said.status, lasting(said.document())), "{arguments:?}");
            }
        }
    }
    both(&["plan"], &["add", "bread"]);
    let applied = machine.run(["apply", &todo(), "last"]);
    let (status, answer) = ask(&library, &todo(), json!({ "command": "apply", "plan": "last" }));
    assert_eq!((status, lasting(answer)), (0, lasting(applied.document())));
    let undone = machine.run(["undo", &todo()]);
    let (status, answer) = ask(&library, &todo(), json!({ "command": "undo" }));
    assert_eq!((status, lasting(answer)), (0, lasting(undone.document())));
    let restored = machine.run(["undo", &todo(), "--to", "@2"]);
    let (status, answer) = ask(&library, &todo(), json!({ "command": "undo", "to": "@2" }));
    assert_eq!((status, lasting(answer)), (0, lasting(restored.document())));
}

/// Its end is where a runtime says what went wrong.
#[test]
fn what_a_guest_wrote_before_it_broke_down_is_told_to_its_end() {
    let (machine, other) = (Machine::new(), Machine::new());
    let library = library(&other);
    for bytes in ["20000", "200000"] {
        let arguments = ["stderr-then-panic", bytes];
        let said = machine.run([&["run"], &FIXED[..], &[&probe()], &arguments].concat()).fault("GUEST_TRAPPED", 45);
        let request = json!({ "command": "run", "arguments": arguments, "now": FIXED[1], "seed": FIXED[3] });
        let (status, answer) = ask(&library, &probe(), request);
        let error = &answer["result"]["error"];
        assert_eq!((status, &error["code"]), (45, &json!("GUEST_TRAPPED")), "{answer}");
        assert!(said.details["stderr"].as_str().unwrap().contains("the probe was asked to panic at the end\n"));
        for name in ["stdout", "stderr", "stderr_bytes", "stderr_omitted_bytes"] {
            assert_eq!(error["details"].get(name), said.details.get(name), "{name} of {bytes}");
        }
    }
}

#[test]
fn what_is_there_is_told_as_the_program_tells_it() {
    let machine = Machine::new();
    for words in [&["add", "milk"][..], &["add", "bread"], &["complete", "td_0001"]] {
        machine.guest(&[&FIXED[..], &[&todo()], words].concat()).answer();
    }
    machine.probe(&["--contract", "any"], &["write-file", "state/bytes", "300"]);
    let library = library(&machine);
    let same = |package: &str, request: Value, words: &[&str]| {
        let said = machine.run(words);
        assert_eq!(ask(&library, package, request), (said.status, said.document()), "{words:?}");
    };
    let (todo, probe) = (todo(), probe());
    same(&todo, json!({"command": "ledger list"}), &["ledger", "list", &todo]);
    same(
        &todo,
        json!({"command": "ledger list", "limit": 1, "offset": 1}),
        &["ledger", "list", "--limit", "1", "--offset", "1", &todo],
    );
    same(
        &todo,
        json!({"command": "ledger list", "bytes": true, "offset": 2}),
        &["ledger", "list", "--bytes", "--offset", "2", &todo],
    );
    same(&todo, json!({"command": "ledger show"}), &["ledger", "show", &todo]);
    same(&todo, json!({"command": "ledger show", "entry": "last"}), &["ledger", "show", &todo, "last"]);
    same(&todo, json!({"command": "state cat"}), &["state", "cat", &todo]);
    same(
        &probe,
        json!({"command": "state cat", "path": "state", "limit": 1}),
        &["state", "cat", "--limit", "1", &probe, "state"],
    );
    same(&probe, json!({"command": "state cat", "path": "state/bytes"}), &["state", "cat", &probe, "state/bytes"]);
    same(&todo, json!({"command": "state diff"}), &["state", "diff", &todo]);
    same(&todo, json!({"command": "verify", "all": true}), &["verify", "--all", &todo]);
    same(&todo, json!({"command": "verify", "entry": "@2"}), &["verify", &todo, "@2"]);
    let (_, tools) = ask(&library, &todo, json!({"command": "meta"}));
    let said = machine.run(["meta", "--export", "mcp", &todo]).document();
    assert_eq!(tools["result"]["tools"], said["result"]["tools"], "{said}");
    // By its slug, of which the package itself is not needed.
    let by_slug = ask(&library, "todo", json!({"command": "ledger show"}));
    assert_eq!(by_slug, ask(&library, &todo, json!({"command": "ledger show"})));
    let (status, answer) = ask(&library, "todo", json!({"command": "run", "arguments": ["list"]}));
    assert_eq!((status, &answer["code"]), (machine.run(["run", "todo", "list"]).status, &json!("PACKAGE_NOT_FOUND")));
}
