//! A request that has a name is carried out once, however often it is made and whatever became of the server meanwhile.

use super::{Answer, Server};
use crate::brought::forged_behind;
use crate::support::{Machine, probe, todo};
use hutch_model::digest::Digest;
use hutch_model::ledger::{Origin, Record, Standing};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const RUN: &str = "/api/packages/todo/run";

#[track_caller]
fn named(server: &Server, token: &str, key: &str, path: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
    server.request("POST", path, &headers, Some(&body.to_string()))
}

/// Without what the host's clock said of loading: the ledger does not have it.
fn lasting(answer: &Answer) -> Value {
    let mut result = answer.result();
    for field in ["load_time_us", "compiled"] {
        if let Some(fields) = result.as_object_mut() {
            fields.remove(field);
        }
    }
    result
}

#[test]
fn a_repeated_request_is_answered_and_not_repeated() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let add = json!({"arguments": ["add", "milk"]});
    let first = named(&server, &server.operator, "k1", RUN, &add);
    assert_eq!(first.header("idempotency-replayed"), None);
    // Written otherwise, it is the same request.
    let again = server.request(
        "POST",
        RUN,
        &[("authorization", &format!("Bearer {}", server.operator)), ("idempotency-key", "k1")],
        Some("{ \"arguments\" : [\"add\", \"milk\"] }"),
    );
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")), "{again:?}");
    assert_eq!(lasting(&again), lasting(&first));
    named(&server, &server.operator, "k1", RUN, &json!({"arguments": ["add", "bread"]})).fault(409, "REQUEST_CONFLICT");
    named(&server, &server.operator, "k1", "/api/packages/todo/undo", &json!({})).fault(409, "REQUEST_CONFLICT");
    // Somebody else's name of the same letters is another name.
    assert_eq!(lasting(&named(&server, &server.agent, "k1", RUN, &add))["kept"], true);
    let list = server.post(RUN, &json!({"arguments": ["list"]}));
    assert_eq!(list["output"]["items"].as_array().map(Vec::len), Some(2), "{list}");

    // After any end of the server.
    drop(server);
    let server = Server::start(&machine, &[&todo()]);
    let later = named(&server, &server.operator, "k1", RUN, &add);
    assert_eq!(later.header("idempotency-replayed"), Some("true"));
    assert_eq!(lasting(&later), lasting(&first));
    named(&server, &server.operator, "k1", RUN, &json!({"arguments": ["add", "eggs"]})).fault(409, "REQUEST_CONFLICT");
}

#[test]
fn plans_are_applied_once_and_changes_taken_back_once() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    for title in ["milk", "bread"] {
        server.post(RUN, &json!({"arguments": ["add", title]}));
    }
    let plan = server.post("/api/packages/todo/plan", &json!({"arguments": ["complete", "td_0001"]}));
    let path = format!("/api/packages/todo/apply/{}", plan["plan_id"].as_str().unwrap());
    let first = named(&server, &server.agent, "a", &path, &json!({}));
    let again = named(&server, &server.agent, "a", &path, &json!({}));
    assert_eq!((lasting(&again), again.header("idempotency-replayed")), (lasting(&first), Some("true")));
    assert_eq!(again.document()["command"], "apply");
    // Without the name it would be carried out again, and the state is another one by now.
    server.ask("POST", &path, Some(&json!({}))).fault(409, "CONFLICT");

    let undo = "/api/packages/todo/undo";
    for (key, back) in [("u", json!({"count": 1})), ("r", json!({"redo": true})), ("v", json!({"entry": "@4"}))] {
        let first = named(&server, &server.agent, key, undo, &back);
        let again = named(&server, &server.agent, key, undo, &back);
        assert_eq!((lasting(&again), again.header("idempotency-replayed")), (lasting(&first), Some("true")), "{back}");
    }
    let list = server.post(RUN, &json!({"arguments": ["list"]}));
    assert_eq!(list["output"]["items"].as_array().map(Vec::len), Some(2), "one step back, not two: {list}");
}

/// A plan over the folder that the server was started with is carried out, and taken back there; said twice under a name, once.
#[test]
fn a_granted_folder_is_changed_by_a_plan_and_put_back() {
    let machine = Machine::new();
    machine.write("mine/letter.txt", "dear reader");
    let server = Server::start(&machine, &["--mount", "mine:mnt:rw", &probe()]);
    let letter = || std::fs::read_to_string(machine.path("mine/letter.txt")).ok();
    let plan = server.post("/api/packages/probe/plan", &json!({"arguments": ["remove", "mnt/letter.txt"]}));
    assert_eq!(letter().as_deref(), Some("dear reader"));
    server.post(&format!("/api/packages/probe/apply/{}", plan["plan_id"].as_str().unwrap()), &json!({}));
    assert_eq!(letter(), None);
    for (key, back, there) in [("u", json!({}), true), ("r", json!({"redo": true}), false), ("v", json!({}), true)] {
        let first = named(&server, &server.operator, key, "/api/packages/probe/undo", &back);
        assert_eq!(first.document()["result"]["changes"]["mnt"][0]["path"], "letter.txt", "{first:?}");
        let again = named(&server, &server.operator, key, "/api/packages/probe/undo", &back);
        assert_eq!((lasting(&again), again.header("idempotency-replayed")), (lasting(&first), Some("true")), "{back}");
        assert_eq!(letter().is_some(), there, "{back}");
    }
    assert_eq!(letter().as_deref(), Some("dear reader"));
}

#[test]
fn a_request_that_came_to_nothing_may_be_made_again() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let complete = json!({"arguments": ["complete", "td_0001"]});
    named(&server, &server.operator, "k", RUN, &complete).fault(422, "GUEST_FAILED");
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    let done = named(&server, &server.operator, "k", RUN, &complete);
    assert_eq!((done.status, done.header("idempotency-replayed")), (200, None));
    for key in ["", "\u{7f}", &"k".repeat(201)] {
        let bearer = format!("Bearer {}", server.operator);
        let headers = [("authorization", bearer.as_str()), ("idempotency-key", key)];
        let refused = server.request("POST", RUN, &headers, Some(&complete.to_string()));
        assert_eq!(refused.status, 400, "{refused:?}");
    }
}

/// As a request's name is in each file of its instance, somebody can put it on whatever else was kept.
#[test]
fn what_a_file_says_was_carried_out_answers_nobody() {
    let machine = Machine::new();
    let complete = json!({"arguments": ["complete", "td_0001"]});
    let server = Server::start(&machine, &[&todo()]);
    named(&server, &server.operator, "k", RUN, &complete).fault(422, "GUEST_FAILED");
    server.post(RUN, &json!({"arguments": ["add", "milk"]}));
    server.post(RUN, &json!({"arguments": ["list"]}));
    drop(server);
    forged_behind(&machine, "todo", |entries| {
        let request = entries.iter().find_map(|(_, record)| record.request);
        assert!(request.is_some());
        vec![Record { request, kept: true, ..entries.last().unwrap().1.clone() }]
    });
    let taken = machine.run(["instance", "import", "--input", "file", &todo()]).result("instance import");
    assert_eq!((&taken["entries"], &taken["equal"]), (&json!(1), &json!(1)), "{taken}");
    let server = Server::start(&machine, &[&todo()]);
    let done = named(&server, &server.operator, "k", RUN, &complete);
    assert_eq!((done.status, done.header("idempotency-replayed")), (200, None), "{done:?}");
    // What was done here since answers as ever.
    let again = named(&server, &server.operator, "k", RUN, &complete);
    assert_eq!((lasting(&again), again.header("idempotency-replayed")), (lasting(&done), Some("true")));
}

/// Earlier versions wrote the last place of the entries that were taken, and nothing of those before it.
#[test]
fn what_was_carried_out_before_an_earlier_version_took_a_file_is_not_repeated() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let add = json!({"arguments": ["add", "milk"]});
    let first = named(&server, &server.operator, "k", RUN, &add);
    drop(server);
    machine.run(["plan", &todo(), "add", "bread"]).result("plan");
    machine.todo(&["list"]).answer();
    forged_behind(&machine, "todo", |entries| vec![entries.last().unwrap().1.clone()]);
    machine.run(["instance", "import", "--input", "file", &todo()]).result("instance import");
    let database = rusqlite::Connection::open(machine.home().join("instances/todo/default/hutch.db")).unwrap();
    let row = "SELECT value FROM meta WHERE name = 'admitted'";
    let written: Vec<u8> = database.query_row(row, (), |row| row.get(0)).unwrap();
    let written: Value = serde_json::from_slice(&written).unwrap();
    let taken: BTreeMap<u64, u64> = serde_json::from_value(written["taken"].clone()).unwrap();
    let through = *taken.values().next().unwrap();
    assert_eq!(taken, [(through, through)].into());
    let owners: BTreeMap<Origin, Digest> = serde_json::from_value(written["packages"].clone()).unwrap();
    let digest = Standing { owners, open: [through].into(), ..Standing::default() }.standing();
    let old = json!({"packages": written["packages"], "through": through, "digest": digest}).to_string();
    let change = "UPDATE meta SET value = ?1 WHERE name = 'admitted'";
    assert_eq!(database.execute(change, [old.as_bytes()]).unwrap(), 1);
    drop(database);

    let server = Server::start(&machine, &[&todo()]);
    let again = named(&server, &server.operator, "k", RUN, &add);
    assert_eq!((lasting(&again), again.header("idempotency-replayed")), (lasting(&first), Some("true")));
    named(&server, &server.operator, "k", RUN, &json!({"arguments": ["list"]})).fault(409, "REQUEST_CONFLICT");
    drop(server);
    assert_eq!(machine.todo(&["list"]).answer()["count"], 1);
    // Nobody's consent is in it.
    machine.run(["apply", &todo()]).fault("NOT_FOUND", 20);
}

#[test]
fn the_same_request_at_once_is_carried_out_once() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&probe()]);
    let call = json!({"arguments": ["append-text", "state/log", "x"]});
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| named(&server, &server.operator, "k", "/api/packages/probe/run", &call)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for answer in &answers {
        if answer.status != 200 {
            answer.fault(409, "REQUEST_CONFLICT");
        }
    }
    let first = answers.iter().filter(|answer| answer.status == 200 && answer.header("idempotency-replayed").is_none());
    assert_eq!(first.count(), 1, "{answers:?}");
    let entries = server.get("/api/packages/probe/ledger");
    let runs = entries["items"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "run").count();
    assert_eq!(runs, 1, "{entries}");
}

#[test]
fn two_servers_on_one_home_carry_a_request_out_once() {
    let machine = Machine::new();
    let (one, two) = (Server::start(&machine, &[&todo()]), Server::start(&machine, &[&todo()]));
    const ROUNDS: usize = 12;
    for round in 0..ROUNDS {
        let (key, add) = (format!("k{round}"), json!({"arguments": ["add", format!("item {round}")]}));
        let ask = |server: &Server| named(server, &one.operator, &key, RUN, &add);
        let both = std::thread::scope(|scope| {
            let other = scope.spawn(|| ask(&two));
            [ask(&one), other.join().unwrap()]
        });
        let replayed = both.iter().filter(|answer| answer.header("idempotency-replayed") == Some("true")).count();
        assert_eq!(replayed, 1, "{both:?}");
        assert_eq!(lasting(&both[0]), lasting(&both[1]));
    }
    let list = one.post(RUN, &json!({"arguments": ["list", "--limit", "100"]}));
    assert_eq!(list["output"]["items"].as_array().map(Vec::len), Some(ROUNDS), "{list}");
}

#[test]
fn what_was_carried_out_for_a_caller_that_left_is_told_under_its_name() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let add = json!({"arguments": ["add", "milk"]});
    let body = add.to_string();
    let mut stream = server.connect();
    let request = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nidempotency-key: left\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        server.agent,
        body.len()
    );
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    drop(stream);
    let since = std::time::Instant::now();
    while server.get("/api/packages/todo/ledger")["total"] != 2 {
        assert!(since.elapsed() < crate::support::PATIENCE, "it was not carried out");
    }
    // The entry is there before its answer is: until then the call is under way.
    let told = std::iter::repeat_with(|| named(&server, &server.agent, "left", RUN, &add))
        .find(|told| told.status != 409 || since.elapsed() > crate::support::PATIENCE)
        .unwrap();
    assert_eq!((told.status, told.header("idempotency-replayed")), (200, Some("true")), "{told:?}");
    assert_eq!(lasting(&told)["kept"], true);
    assert_eq!(server.get("/api/packages/todo/ledger")["total"], 2);
}

/// What an instance file says was carried out under a name was carried out elsewhere: nobody is answered with it here.
#[test]
fn no_entry_that_was_made_elsewhere_has_carried_out_a_request() {
    let (here, there) = (Machine::new(), Machine::new());
    let add = |server: &Server| {
        let answer = named(server, &server.operator, "once", RUN, &json!({"arguments": ["add", "milk"]}));
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.header("idempotency-replayed").is_some()
    };
    let server = Server::start(&there, &[&todo()]);
    assert_eq!([add(&server), add(&server)], [false, true]);
    drop(server);
    let file = here.path("file").display().to_string();
    there.run(["instance", "export", "--output", &file, &todo()]).result("instance export");
    here.run(["instance", "import", "--input", &file, &todo()]).result("instance import");
    let server = Server::start(&here, &[&todo()]);
    assert_eq!([add(&server), add(&server)], [false, true]);
    drop(server);
    assert_eq!(here.todo(&["list"]).answer()["items"].as_array().unwrap().len(), 2);
}
