//! What is asked for over HTTP is answered as on the command line, and by the same ledger.

use super::Server;
use crate::support::{DIGITS, Machine, package, probe, todo};
use serde_json::{Value, json};

const RUN: &str = "/api/packages/todo/run";
const PLAN: &str = "/api/packages/todo/plan";

/// A call that comes to the same wherever it is made.
fn fixed(arguments: &[&str]) -> Value {
    json!({"arguments": arguments, "now": "2026-04-01T09:00:00Z", "seed": "7"})
}

/// Without what no two calls have in common.
fn timeless(mut run: Value) -> Value {
    for field in ["wall_time_us", "load_time_us", "compiled", "entry", "plan_id"] {
        run.as_object_mut().unwrap().remove(field);
    }
    run
}

#[test]
fn a_call_comes_to_what_the_command_line_comes_to() {
    let (here, there) = (Machine::new(), Machine::new());
    let server = Server::start(&there, &[&todo()]);
    let line = |command: &str, words: &[&str]| {
        let words = [&[command, "--now", "2026-04-01T09:00:00Z", "--seed", "7"], words].concat();
        here.run(words).result(command)
    };
    let package = todo();
    for words in [&["add", "Write docs"][..], &["list"], &["complete", "td_0001"]] {
        let typed = line("run", &[&["--envelope", &package], words].concat());
        assert_eq!(timeless(server.post(RUN, &fixed(words))), timeless(typed));
    }
    let planned = server.post(PLAN, &fixed(&["add", "milk"]));
    assert_eq!(timeless(planned.clone()), timeless(line("plan", &[&package, "add", "milk"])));
    let plan = planned["plan_id"].as_str().unwrap();
    let applied = server.post(&format!("/api/packages/todo/apply/{plan}"), &json!({}));
    assert_eq!(timeless(applied), timeless(here.run(["apply", &package, "last"]).result("apply")));
    // The same documents about what was done.
    let kinds = |list: &Value| -> Vec<Value> {
        list["items"].as_array().unwrap().iter().map(|one| json!([one["kind"], one["argv"], one["changes"]])).collect()
    };
    let listed = server.get("/api/packages/todo/ledger");
    let typed = here.run(["ledger", "list", &package]).result("ledger list");
    assert_eq!(kinds(&listed), kinds(&typed));
    // Who asked is named by the list too, and who types has no name.
    assert_eq!((&listed["items"][0]["caller"], &typed["items"][0]["caller"]), (&json!("operator"), &Value::Null));
    let verified = server.post("/api/packages/todo/verify", &json!({}));
    assert_eq!((&verified["equal"], &verified["differ"]), (&json!(1), &json!(0)));
    let fields = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let undone = server.post("/api/packages/todo/undo", &json!({"count": 2}));
    assert_eq!(fields(&undone), fields(&here.run(["undo", &package, "2"]).result("undo")));
    let states = [server.get("/api/packages/todo/state"), here.run(["state", "diff", &package]).result("state diff")];
    assert_eq!(states[0], states[1]);
    assert_eq!(server.get("/api/packages/todo/entries/2")["record"]["caller"]["name"], "operator");
    assert_eq!(server.get("/api/packages/todo"), here.run(["meta", &package]).result("meta"));
    let tools = here.run(["meta", "--export", "mcp", &package]).result("meta");
    assert_eq!(server.get("/api/packages/todo/commands"), tools);
    assert_eq!(server.get("/api/packages")["items"][0]["slug"], "todo");
}

#[test]
fn a_command_can_be_called_by_its_fields() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let added = server.post(RUN, &json!({"command": "add", "fields": {"title": "milk"}}));
    assert_eq!(added["output"]["items"][0]["title"], "milk", "{added}");
    let wrong = json!({"command": "add", "fields": {"titel": "milk"}});
    assert!(server.ask("POST", RUN, Some(&wrong)).fault(400, "ARGUMENT_INVALID")["details"]["violations"].is_array());
    let missing = json!({"command": "frobnicate", "fields": {}});
    server.ask("POST", RUN, Some(&missing)).fault(404, "NOT_FOUND");
}

#[test]
fn failures_have_the_codes_of_the_command_line_and_keep_nothing() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    let before = server.get("/api/packages/todo/state");
    let failed = server.ask("POST", RUN, Some(&json!({"arguments": ["get", "td_9999"]}))).fault(422, "GUEST_FAILED");
    assert_eq!((&failed["details"]["kept"], &failed["details"]["run"]["exit_status"]), (&json!(false), &json!(20)));
    let unknown = json!({"arguments": ["frobnicate"]});
    server.ask("POST", RUN, Some(&unknown)).fault(400, "ARGUMENT_INVALID");
    let refused = json!({"arguments": ["add", "a\u{7}b"]});
    server.ask("POST", RUN, Some(&refused)).fault(400, "ARGUMENT_REFUSED");
    server.ask("GET", "/api/packages/todo/entries/999", None).fault(404, "NOT_FOUND");
    server.ask("GET", "/api/packages/none", None).fault(404, "NOT_FOUND");
    let plan = server.post(PLAN, &json!({"arguments": ["add", "bread"]}))["plan_id"].as_str().unwrap().to_owned();
    assert_eq!(server.get("/api/packages/todo/state"), before);
    server.post(RUN, &json!({"arguments": ["add", "eggs"]}));
    let path = format!("/api/packages/todo/apply/{plan}");
    server.ask("POST", &path, Some(&json!({}))).fault(409, "CONFLICT");
}

#[test]
fn only_a_token_that_may_confirm_carries_out_what_needs_a_persons_consent() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    let before = server.get("/api/packages/todo/state");
    let remove = json!({"arguments": ["remove", "td_0001", "--confirm"]});
    // A run asks, whoever makes it: nobody has looked at the plan yet.
    let asked = server.ask("POST", RUN, Some(&remove)).fault(409, "CONFIRMATION_REQUIRED");
    let plan = asked["details"]["plan"].as_str().unwrap();
    assert!(asked["details"]["question"].as_str().is_some_and(|text| text.contains("td_0001")), "{asked}");
    assert_eq!(asked["details"]["approve_at"], format!("http://{}/approvals", server.address));
    let path = format!("/api/packages/todo/apply/{plan}");
    let last = "/api/packages/todo/apply/last";
    for path in [path.as_str(), last] {
        let agent = server.ask_as(&server.agent, "POST", path, Some(&json!({}))).fault(409, "CONFIRMATION_REQUIRED");
        assert_eq!(agent["details"]["plan"], plan);
        assert!(agent["message"].as_str().unwrap().ends_with("; a token that may confirm applies the plan"), "{agent}");
    }
    for body in [json!({"confirmed": true}), json!({"yes": true})] {
        server.ask_as(&server.agent, "POST", &path, Some(&body)).fault(400, "REQUEST_INVALID");
    }
    // Which plan is the last one anybody may change who plans.
    let unnamed = server.ask("POST", last, Some(&json!({}))).fault(409, "CONFIRMATION_REQUIRED");
    assert_eq!(unnamed["details"]["plan"], plan);
    let said = format!("; its name is missing: last may be another plan by now, apply {plan}");
    assert!(unnamed["message"].as_str().unwrap().ends_with(&said), "{unnamed}");
    assert_eq!(server.get("/api/packages/todo/state"), before);
    assert_eq!(server.post(&path, &json!({}))["kept"], true);
    assert_ne!(server.get("/api/packages/todo/state"), before);
}

#[test]
fn files_are_there_as_every_entry_left_them() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    server.post(RUN, &json!({"arguments": ["add", "eggs"]}));
    let files = "/api/packages/todo/files";
    let volumes = server.get(files);
    assert_eq!((&volumes["items"][0]["type"], &volumes["total"]), (&json!("volume"), &json!(1)), "{volumes}");
    let volume = volumes["items"][0]["path"].as_str().unwrap();
    let listed = server.get(&format!("{files}?path={volume}&limit=1"));
    assert_eq!(listed, machine.run(["state", "cat", "--limit", "1", &todo(), volume]).result("state cat"));
    let path = listed["items"][0]["path"].as_str().unwrap().replace('/', "%2F");
    let file = |at: &str| server.get(&format!("/api/packages/todo/file?path={path}{at}"))["content"].to_string();
    assert!(file("").contains("eggs") && file("&at=3").contains("eggs"));
    assert!(file("&at=2").contains("milk") && !file("&at=2").contains("eggs"));
    for (query, status, code) in [
        ("file", 400, "REQUEST_INVALID"),
        ("file?path=nowhere", 404, "NOT_FOUND"),
        (&format!("file?path={volume}"), 404, "NOT_FOUND"),
        (&format!("file?path={path}&at=99"), 404, "NOT_FOUND"),
        (&format!("file?path={volume}%2F..%2F..%2Fetc%2Fpasswd"), 404, "NOT_FOUND"),
        (&format!("files?path={volume}&path={volume}"), 400, "REQUEST_INVALID"),
        ("files?limit=0", 400, "REQUEST_INVALID"),
    ] {
        server.ask("GET", &format!("/api/packages/todo/{query}"), None).fault(status, code);
    }
}

#[test]
fn a_state_that_is_known_is_not_sent_again() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    let bearer = format!("Bearer {}", server.operator);
    let state = |known: &str| {
        let headers = [("authorization", bearer.as_str()), ("if-none-match", known)];
        server.request("GET", "/api/packages/todo/state", &headers, None)
    };
    let first = state("\"other\"");
    let tag = first.header("etag").unwrap().to_owned();
    let again = state(&tag);
    assert_eq!((again.status, again.body.as_str(), again.header("etag")), (304, "", Some(tag.as_str())));
    // Reading changes nothing, and a change does.
    server.post(RUN, &json!({"arguments": ["list"]}));
    assert_eq!(state(&tag).status, 304);
    server.post(RUN, &json!({"arguments": ["add", "bread"]}));
    let changed = state(&tag);
    assert_eq!(changed.status, 200);
    // Back at the same state, it is the same again.
    server.post("/api/packages/todo/undo", &json!({}));
    assert_eq!(state(&tag).status, 304);
}

#[test]
fn pages_of_the_ledger_cover_it_without_gap_or_overlap() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    for title in 0..7 {
        server.post(RUN, &json!({"arguments": ["add", format!("item {title}")]}));
    }
    let (mut seen, mut offset) = (Vec::new(), 0);
    loop {
        let page = server.get(&format!("/api/packages/todo/ledger?limit=3&offset={offset}"));
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["sequence"].as_u64().unwrap()));
        offset += items.len();
        if page["has_more"] == false {
            break;
        }
    }
    let expected: Vec<u64> = (1..=seen.len() as u64).rev().collect();
    assert_eq!(seen, expected);
    assert!(seen.len() >= 8);
}

#[test]
fn every_route_that_is_described_is_there_and_does_what_it_says() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    let document = server.ask("GET", "/openapi.json", None).document();
    assert_eq!(document, machine.run(["serve", "--print"]).result("serve")["openapi"]);
    let mut tried = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let path = path.replace("{slug}", "todo").replace("{entry}", "2");
            // These have tests of their own.
            if path.contains("{plan}") || path.ends_with("/undo") || path == "/mcp" || path == "/api/events" {
                continue;
            }
            let parameters = operation["parameters"].as_array().unwrap();
            let needed = parameters.iter().find(|one| one["in"] == "query" && one["required"] == true);
            let path = match needed {
                Some(one) => format!("{path}?{}=state%2Ftodos.json", one["name"].as_str().unwrap()),
                None => path,
            };
            let body = match operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str() {
                Some(call) if call.ends_with("/Call") => Some(json!({"arguments": ["list"]})),
                Some(_) => Some(json!({})),
                None => None,
            };
            let answer = server.ask(&method.to_uppercase(), &path, body.as_ref());
            assert_eq!(answer.status, 200, "{method} {path}: {answer:?}");
            let open = operation["security"].as_array().is_some_and(Vec::is_empty);
            let unknown =
                server.request(&method.to_uppercase(), &path, &[], body.map(|body| body.to_string()).as_deref());
            assert_eq!(unknown.status, if open { 200 } else { 401 }, "{method} {path}");
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried}");
}

#[test]
fn a_number_keeps_its_digits_in_every_answer() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&probe()]);
    let call = json!({"arguments": ["stdin-echo"], "stdin": DIGITS});
    let output = format!("\"output\":{DIGITS}");
    let api = "/api/packages/probe";
    for (method, path, body) in [
        ("POST", format!("{api}/run"), Some(&call)),
        ("POST", format!("{api}/plan"), Some(&call)),
        ("GET", format!("{api}/entries/2"), None),
    ] {
        let answer = server.ask(method, &path, body);
        assert!(answer.status == 200 && answer.body.contains(&output), "{path}: {answer:?}");
    }
    let key = [("authorization", format!("Bearer {}", server.operator)), ("idempotency-key", "once".to_owned())];
    let key = key.each_ref().map(|(name, value)| (*name, value.as_str()));
    for _ in ["first", "again"] {
        let answer = server.request("POST", &format!("{api}/run"), &key, Some(&call.to_string()));
        assert!(answer.status == 200 && answer.body.contains(&output), "{answer:?}");
    }
    // A page for people.
    let page = server.ask("GET", "/packages/probe/entries/2", None).body;
    assert!(page.contains("12345678901234567890123") && !page.contains("$serde_json"), "{page}");
}

/// Behind the rings nothing is compiled: who serves keeps all that is served, however much that is and whatever becomes of the cache.
#[test]
fn however_many_packages_are_served_each_has_its_program_without_a_cache() {
    let machine = Machine::new();
    let packages = package::crowd(&machine);
    let words: Vec<&str> = packages.iter().map(String::as_str).collect();
    let server = Server::start_in(&machine, &[("XDG_CACHE_HOME", "/proc/nowhere")], &words);
    let call = json!({"arguments": ["args", "an answer"]});
    let run = |number: usize| format!("/api/packages/probe{number}/run");
    let last = packages.len() - 1;
    for number in (0..last).chain(0..last) {
        assert_eq!(server.post(&run(number), &call)["output"]["args"], json!(["an answer"]), "{number}");
    }
    let failed = server.ask("POST", &run(last), Some(&call));
    assert!(failed.body.contains("COMPONENT_INVALID"), "{failed:?}");
}
