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
    // From the beginning: nothing is missed.
    let mut watcher = Watcher::of(&server, "todo:1 probe:1");
    let (id, first) = watcher.next();
    assert_eq!((&first["package"], &first["sequence"]), (&json!("todo"), &json!(2)));
    assert_eq!(first["hash"], listed["items"][0]["hash"]);
    assert_eq!(id, "todo:2 probe:1");
    assert_eq!(watcher.next().1["package"], "probe");
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
