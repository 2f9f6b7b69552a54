//! The ledgers as they grow, told to who watches.

use super::Server;
use crate::support::{Machine, probe, todo};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// The connection of somebody who asks to watch.
pub(super) fn asked(server: &Server, token: &str, told: &str) -> TcpStream {
    let mut stream = server.connect();
    let request = format!(
        "GET /api/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\nlast-event-id: {told}\r\n\r\n",
        server.address
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Somebody who watches: the lines that come.
struct Watcher(BufReader<TcpStream>);

impl Watcher {
    #[track_caller]
    fn of(server: &Server, told: &str) -> Watcher {
        let mut watcher = Watcher(BufReader::new(asked(server, &server.agent, told)));
        let head = watcher.until(|line| line.is_empty());
        assert!(head.contains("200 OK") && head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
        watcher
    }

    #[track_caller]
    fn until(&mut self, is_last: impl Fn(&str) -> bool) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "it ended: {all}");
            all.push_str(&line);
            if is_last(line.trim_end()) {
                return all;
            }
        }
    }

    /// The next entry that is told, and the id of its event.
    #[track_caller]
    fn next(&mut self) -> (String, Value) {
        let text = self.until(|line| line.starts_with("data: "));
        let field = |name: &str| text.lines().rev().find_map(|line| line.strip_prefix(name)).unwrap().to_owned();
        (field("id: "), serde_json::from_str(&field("data: ")).unwrap())
    }
}

#[test]
fn entries_are_told_as_they_come_whoever_makes_them() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo(), &probe()]);
    server.post("/api/packages/todo/run", &json!({"arguments": ["add", "milk"]}));
    server.post("/api/packages/probe/run", &json!({"arguments": ["return-ok"]}));
    let listed = server.get("/api/packages/todo/ledger");
    // From the beginning, where an id is of no ledger that is known: nothing is missed.
    let mut watcher = Watcher::of(&server, "todo:1 probe:1");
    assert_eq!(watcher.next().1["kind"], "create");
    let (id, second) = watcher.next();
    assert_eq!((&second["package"], &second["sequence"]), (&json!("todo"), &json!(2)));
    assert_eq!(second["hash"], listed["items"][0]["hash"]);
    assert_eq!(id, format!("todo:2:{} probe:0:", &second["hash"].as_str().unwrap()[..16]));
    for place in 1..=2 {
        let item = watcher.next().1;
        assert_eq!((&item["package"], &item["sequence"]), (&json!("probe"), &json!(place)));
    }
    // Those that come, over HTTP and by the command line.
    server.post("/api/packages/todo/run", &json!({"arguments": ["add", "bread"]}));
    assert_eq!(watcher.next().1["argv"], json!(["todo", "add", "bread"]));
    machine.todo(&["add", "eggs"]).answer();
    let (id, typed) = watcher.next();
    assert_eq!(typed["argv"], json!(["todo", "add", "eggs"]));
    drop(watcher);
    machine.todo(&["add", "salt"]).answer();
    assert_eq!(Watcher::of(&server, &id).next().1["argv"], json!(["todo", "add", "salt"]));
}

#[test]
fn a_ledger_that_is_another_one_is_told_from_its_beginning() {
    let machine = Machine::new();
    machine.todo(&["add", "milk"]).answer();
    machine.todo(&["add", "bread"]).answer();
    let server = Server::start(&machine, &[&todo()]);
    let mut watcher = Watcher::of(&server, "todo:0");
    let ids: Vec<String> = (0..3).map(|_| watcher.next().0).collect();
    drop(watcher);
    server.end();
    server.ended();
    machine.run(["instance", "purge", "--yes", "todo"]).result("instance purge");
    for title in ["eggs", "salt", "rice"] {
        machine.todo(&["add", title]).answer();
    }
    let server = Server::start(&machine, &[&todo()]);
    // Whether the new one has that place or not.
    for id in ids.iter().map(String::as_str).chain(["todo:9:0123456789abcdef"]) {
        let mut watcher = Watcher::of(&server, id);
        let told: Vec<(String, Value)> = (0..4).map(|_| watcher.next()).collect();
        let places: Vec<&Value> = told.iter().map(|(_, item)| &item["sequence"]).collect();
        assert_eq!(places, [1, 2, 3, 4], "{id}");
        assert_eq!(told[1].1["argv"], json!(["todo", "add", "eggs"]));
        // With an id of its own nothing is told again.
        assert_eq!(Watcher::of(&server, &told[2].0).next().1["argv"], json!(["todo", "add", "rice"]));
    }
}

#[test]
fn who_has_said_all_is_told_all_that_there_is_and_no_more() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post("/api/packages/todo/run", &json!({"arguments": ["add", "milk"]}));
    for (told, entries) in [("", 0), ("todo:0", 2)] {
        let mut stream = asked(&server, &server.agent, told);
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let answer = super::read(&mut stream);
        let body = &answer.body;
        assert_eq!((answer.status, body.matches("event: entry").count()), (200, entries), "{body}");
        // Nothing is cut off, and it can be told where to go on.
        assert!(body.contains("id: todo:2:") && body.ends_with("\r\n0\r\n\r\n"), "{body}");
    }
}

#[test]
fn who_watches_keeps_no_server_from_its_end() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let mut watcher = Watcher::of(&server, "todo:0");
    assert_eq!(watcher.next().1["kind"], "create");
    server.end();
    let (status, said) = server.ended();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

#[test]
fn who_watches_with_one_token_keeps_no_other_out() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let begun = |token: &str| {
        let mut lines = BufReader::new(asked(&server, token, ""));
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        (line.contains(" 200 "), lines)
    };
    let mut watching: Vec<_> = (0..17).map(|_| begun(&server.agent)).collect();
    let refused = watching.pop().unwrap();
    assert!(!refused.0 && watching.iter().all(|(is_good, _)| *is_good));
    assert!(begun(&server.operator).0);
    // One that leaves makes room, without anything that would have to be told first.
    drop(watching.pop());
    let since = std::time::Instant::now();
    while !begun(&server.agent).0 {
        assert!(since.elapsed() < crate::support::PATIENCE, "there is no room");
    }
}
