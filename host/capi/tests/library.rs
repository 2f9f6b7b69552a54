//! Requests and answers: what is refused, what is stopped, and that threads share a library. That answers are the command line's, is held
//! by `tests/cli/library.rs`; the C interface by `tests/capi/run`.
#![allow(clippy::disallowed_methods, reason = "tests reach for what they prepare")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on fails")]

use hutch_capi::Library;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

const AT: &str = "2026-03-01T09:00:00Z";

fn package(path: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().unwrap().display().to_string()
}

fn todo() -> String {
    package("packages/todo")
}

fn probe() -> String {
    package("tests/packages/probe")
}

fn in_memory() -> Library {
    Library::open(b"").unwrap_or_else(|answer| panic!("{}", String::from_utf8_lossy(&answer.json)))
}

fn ask(library: &Library, request: &Value) -> (u8, Value) {
    let answer = library.call(request.to_string().as_bytes(), b"");
    (answer.status, serde_json::from_slice(&answer.json).expect("one document"))
}

fn result(library: &Library, request: &Value) -> Value {
    let (status, mut answer) = ask(library, request);
    assert_eq!((status, &answer["ok"]), (0, &json!(true)), "{request}: {answer}");
    answer["result"].take()
}

fn refused(library: &Library, request: &Value, code: &str) -> Value {
    let (status, answer) = ask(library, request);
    assert_eq!((&answer["error"], answer["code"].as_str()), (&json!(true), Some(code)), "{request}: {answer}");
    assert!(status != 0 && answer.get("ok").is_none(), "{request}");
    answer
}

fn run(package: &str, arguments: &[&str]) -> Value {
    json!({ "command": "run", "package": package, "arguments": arguments, "at": AT, "seed": "7", "wall_time_us": 0 })
}

fn with(mut request: Value, more: Value) -> Value {
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

fn about(command: &str, more: Value) -> Value {
    with(json!({ "command": command, "package": todo() }), more)
}

fn head(library: &Library) -> Value {
    result(library, &about("ledger show", json!({})))["head"].clone()
}

#[test]
fn what_is_asked_for_in_no_known_form_is_refused_and_nothing_is_made() {
    let library = in_memory();
    for request in [
        &b""[..],
        b"{",
        b"[]",
        b"\xff",
        b"null",
        b"{}",
        br#"{"command":"run"}"#,
        br#"{"command":"nothing","package":"todo"}"#,
        br#"{"command":"run","package":"todo","argument":["list"]}"#,
        br#"{"command":"run","package":7}"#,
        br#"{"command":"undo","package":"todo","entry":7}"#,
    ] {
        let answer = library.call(request, b"");
        let said: Value = serde_json::from_slice(&answer.json).expect("one document");
        assert_eq!((answer.status, &said["code"]), (2, &json!("USAGE")), "{}", String::from_utf8_lossy(request));
        assert!(answer.stdout.is_empty() && answer.stderr.is_empty());
    }
    for (more, code) in [
        (json!({"instance": "../x"}), "USAGE"),
        (json!({"limits": {"nothing": 1}}), "USAGE"),
        (json!({"mounts": {"x": {"folder": "/", "access": "all"}}}), "USAGE"),
        (json!({"mounts": {"x": {"folder": "/there/is/none"}}}), "NOT_FOUND"),
        (json!({"environment": {"A": "1"}, "secrets": {"A": "2"}}), "USAGE"),
        (json!({"package": "/there/is/none"}), "PACKAGE_NOT_FOUND"),
        (json!({"package": "absent"}), "PACKAGE_NOT_FOUND"),
        (json!({"package": package("tests/capi")}), "PACKAGE_NOT_FOUND"),
    ] {
        refused(&library, &with(run(&todo(), &["list"]), more), code);
    }
    refused(&library, &about("ledger list", json!({"limit": 0})), "USAGE");
    refused(&library, &about("undo", json!({"count": 0})), "USAGE");
    refused(&library, &with(run(&todo(), &["list"]), json!({"command": "plan", "retry": 1})), "USAGE");
    // None of that made an instance.
    for command in ["ledger list", "ledger show", "state cat", "state diff", "undo", "verify"] {
        refused(&library, &about(command, json!({})), "NOT_FOUND");
    }
    for options in [
        &b"{"[..],
        br#"{"homes":"x"}"#,
        br#"{"cache":"x"}"#,
        br#"{"home":"x","cache":"/dev/null/x"}"#,
        br#"{"wait_ms":18446744073709551615}"#,
    ] {
        let Err(refused) = Library::open(options) else { panic!("{}", String::from_utf8_lossy(options)) };
        assert_eq!(refused.status, 2, "{}", String::from_utf8_lossy(&refused.json));
    }
}

#[test]
fn a_run_a_plan_and_the_way_back() {
    let library = in_memory();
    let added = library.call(run(&todo(), &["add", "milk"]).to_string().as_bytes(), b"");
    let document: Value = serde_json::from_slice(&added.json).unwrap();
    assert_eq!((added.status, &document["result"]["kept"]), (0, &json!(true)), "{document}");
    // The guest's bytes are there as they were written.
    let said: Value = serde_json::from_slice(&added.stdout).unwrap();
    assert_eq!(said, document["result"]["output"]);
    let before = head(&library);
    let planned = with(run(&todo(), &["add", "bread"]), json!({"command": "plan"}));
    let plan = result(&library, &planned)["plan_id"].clone();
    let listed =
        |library: &Library| result(library, &run(&todo(), &["list"]))["output"]["items"].as_array().unwrap().len();
    assert_ne!(head(&library), before);
    assert_eq!(listed(&library), 1);
    assert_eq!(result(&library, &about("apply", json!({"plan": plan})))["kept"], true);
    assert_eq!(listed(&library), 2);
    result(&library, &about("undo", json!({"count": 2})));
    assert_eq!(listed(&library), 0);
    refused(&library, &about("undo", json!({"count": 1, "entry": "@1"})), "USAGE");
    refused(&library, &about("undo", json!({"to": "@2", "entry": "@1"})), "USAGE");
    let verified = result(&library, &about("verify", json!({"all": true})));
    assert_eq!((&verified["differ"], verified["equal"].as_u64() > Some(3)), (&json!(0), true), "{verified}");
    let page = result(&library, &about("ledger list", json!({"limit": 2})));
    assert_eq!((page["items"].as_array().unwrap().len(), &page["has_more"]), (2, &json!(true)));
    let tools = result(&library, &about("meta", json!({})));
    assert!(tools["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "todo_add"));
}

#[test]
fn a_guest_that_fails_is_told_of_and_keeps_nothing() {
    let library = in_memory();
    result(&library, &run(&probe(), &["write-text", "state/keep", "x"]));
    let state =
        |library: &Library| result(library, &json!({"command": "state diff", "package": probe()}))["volumes"].clone();
    let before = state(&library);
    for (arguments, status, error) in [
        (&["write-then-exit", "state/a", "9"][..], 9, Value::Null),
        (&["write-then-trap", "state/a"], 45, json!("GUEST_TRAPPED")),
        (&["not-json"], 46, json!("CONTRACT_VIOLATION")),
    ] {
        let (said, answer) = ask(&library, &run(&probe(), arguments));
        assert_eq!((said, &answer["ok"]), (status, &json!(false)), "{answer}");
        assert_eq!(
            (&answer["result"]["kept"], &answer["result"]["error"]["code"]),
            (&json!(false), &error),
            "{answer}"
        );
        // A plan that fails is an error, with the run among its details.
        let (said, answer) = ask(&library, &with(run(&probe(), arguments), json!({"command": "plan"})));
        assert_eq!((said, &answer["details"]["run"]["kept"]), (status, &json!(false)), "{answer}");
    }
    assert_eq!(state(&library), before);
}

#[test]
fn a_deadline_ends_a_guest_and_leaves_its_entry_alone() {
    let library = in_memory();
    result(&library, &run(&probe(), &["write-text", "state/keep", "x"]));
    // Its own limit would end it too, and be told as that.
    let listed = |deadline_ms: u64| {
        let spin = json!({"limits": {"fuel": u64::MAX, "wall_time_ms": 600_000}, "deadline_ms": deadline_ms});
        refused(&library, &with(run(&probe(), &["write-then-spin", "state/a"]), spin), "CANCELLED");
        result(&library, &json!({"command": "ledger list", "package": probe()}))
    };
    // On a busy machine a deadline may have passed before the guest was started: then there is a later one.
    let listed = [100, 1_000, 10_000, 100_000].into_iter().map(listed);
    let listed = listed.into_iter().find(|listed| listed["items"][0]["error"] == "CANCELLED").expect("an entry");
    assert_eq!((&listed["items"][0]["error"], &listed["items"][0]["kept"]), (&json!("CANCELLED"), &json!(false)));
    let files = result(&library, &json!({"command": "state cat", "package": probe(), "path": "state"}));
    assert_eq!(files["total"], 1, "{files}");
    // One that has passed before anything began leaves no entry.
    let total = listed["total"].clone();
    refused(&library, &with(run(&probe(), &["exit", "0"]), json!({"deadline_ms": 0})), "CANCELLED");
    assert_eq!(result(&library, &json!({"command": "ledger list", "package": probe()}))["total"], total);
}

/// What runs no guest looks at its deadline before it begins, each command of it, and after that it is done to its end.
#[test]
fn a_deadline_that_has_passed_stops_every_command_before_it_begins() {
    let library = in_memory();
    result(&library, &run(&todo(), &["add", "milk"]));
    let plan = result(&library, &with(run(&todo(), &["add", "bread"]), json!({"command": "plan"})))["plan_id"].clone();
    let before = head(&library);
    let commands = [
        ("apply", json!({"plan": plan})),
        ("run", json!({"arguments": ["add", "x"]})),
        ("plan", json!({"arguments": ["add", "x"]})),
        ("verify", json!({"all": true})),
        ("prove", json!({})),
        ("ledger list", json!({})),
        ("ledger show", json!({"entry": "@1"})),
        ("state cat", json!({"path": "state/todos.json"})),
        ("state diff", json!({})),
        ("meta", json!({})),
        ("undo", json!({})),
    ];
    // All that there are, as the refusal of one that is none names them.
    let unknown = refused(&library, &about("nothing", json!({})), "USAGE")["message"].as_str().unwrap().to_owned();
    let known: Vec<&str> = unknown.split('`').skip(1).step_by(2).filter(|name| *name != "nothing").collect();
    assert_eq!(known.len(), commands.len(), "{unknown}");
    for (command, more) in &commands {
        assert!(known.contains(command), "{command}: {known:?}");
        let answer = refused(&library, &with(about(command, more.clone()), json!({"deadline_ms": 0})), "CANCELLED");
        assert_eq!(answer["details"]["kept"], false, "{command}");
    }
    assert_eq!(head(&library), before);
    // One that has not come changes nothing of what they answer.
    for (command, more) in commands {
        let late = with(about(command, more), json!({"deadline_ms": 600_000, "at": AT}));
        result(&library, &late);
    }
}

#[test]
fn a_call_is_cancelled_by_its_id_from_another_thread() {
    let library = in_memory();
    result(&library, &run(&probe(), &["exit", "0"]));
    assert_eq!(library.cancel("mine"), 0);
    std::thread::scope(|scope| {
        let (sender, ended) = mpsc::channel();
        let library = &library;
        let call = scope.spawn(move || {
            let spin = json!({"limits": {"fuel": u64::MAX, "wall_time_ms": 600_000}, "id": "mine"});
            refused(library, &with(run(&probe(), &["spin"]), spin), "CANCELLED");
            sender.send(()).unwrap();
        });
        // It is under way sooner or later, and a stop is for good.
        while library.cancel("mine") == 0 && !call.is_finished() {
            std::thread::yield_now();
        }
        assert_eq!(ended.recv_timeout(Duration::from_secs(300)), Ok(()));
    });
}

#[test]
fn threads_share_a_library_and_each_call_has_its_entry() {
    let folder = tempfile::tempdir().unwrap();
    let options = json!({ "home": folder.path().join("home"), "cache": folder.path().join("cache") });
    for library in [in_memory(), Library::open(options.to_string().as_bytes()).expect("a library")] {
        result(&library, &run(&todo(), &["list"]));
        let before = result(&library, &about("ledger list", json!({})))["total"].as_u64().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let library = &library;
                scope.spawn(move || {
                    for at in 0..4 {
                        let title = format!("{thread} {at}");
                        result(library, &with(run(&todo(), &["add", &title]), json!({"retry": 1000})));
                    }
                });
            }
        });
        let listed = result(&library, &run(&todo(), &["list"]));
        assert_eq!(listed["output"]["items"].as_array().unwrap().len(), 32);
        let after = result(&library, &about("ledger list", json!({})))["total"].as_u64().unwrap();
        assert_eq!(after, before + 33, "an entry for each call that was answered");
    }
}

#[test]
fn what_is_interpreted_comes_to_the_same_ledger() {
    let heads: Vec<Value> = [&b""[..], br#"{"interpreter":true}"#]
        .into_iter()
        .map(|options| {
            let library = Library::open(options).expect("a library");
            for arguments in [&["add", "milk"][..], &["list"], &["complete", "td_0001"], &["nonsense"]] {
                ask(&library, &run(&todo(), arguments));
            }
            head(&library)
        })
        .collect();
    assert_eq!(heads[0], heads[1]);
}

#[test]
fn a_page_has_so_many_items() {
    let library = in_memory();
    result(&library, &run(&todo(), &["add", "one"]));
    let list = |limit: u64| about("ledger list", json!({ "limit": limit }));
    assert_eq!(result(&library, &list(10_000))["total"], 2);
    for limit in [0, 10_001] {
        refused(&library, &list(limit), "USAGE");
    }
}

#[test]
fn a_number_keeps_its_digits() {
    const DIGITS: &str =
        r#"{"n":[12345678901234567890123,-9223372036854775809,0.1000000000000000055511151231257827,1e-400]}"#;
    let library = in_memory();
    let echo = with(run(&probe(), &["stdin-echo"]), json!({"stdin": DIGITS}));
    for command in ["run", "plan"] {
        let request = with(echo.clone(), json!({"command": command})).to_string();
        let answer = String::from_utf8(library.call(request.as_bytes(), b"").json).unwrap();
        assert!(answer.contains(&format!("\"output\":{DIGITS}")), "{answer}");
        assert!(serde_json::from_str::<Value>(&answer.replace("1e-400", "0")).is_ok(), "{answer}");
    }
    // Of what a caller asks for there is one reading.
    let twice = run(&probe(), &["return-ok"]).to_string().replacen('{', r#"{"arguments":["stdin-echo"],"#, 1);
    assert_eq!(library.call(twice.as_bytes(), b"").status, 2);
}

#[test]
fn standard_input_is_text_of_the_request_or_bytes_beside_it() {
    let library = in_memory();
    let echo = with(run(&probe(), &["stdin-echo"]), json!({"contract": "any"}));
    let bytes = b"a\xff\0b";
    assert_eq!(library.call(echo.to_string().as_bytes(), bytes).stdout, bytes);
    let said = with(echo, json!({"stdin": "text"})).to_string();
    assert_eq!(library.call(said.as_bytes(), b"").stdout, b"text");
    // Twice, or where nothing reads it, it means nothing.
    assert_eq!(library.call(said.as_bytes(), bytes).status, 2);
    assert_eq!(library.call(about("ledger show", json!({})).to_string().as_bytes(), bytes).status, 2);
}
