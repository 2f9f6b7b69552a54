//! The end of a server, and of callers: what was begun is finished or not there, and nothing is half done.

use super::{Server, read};
use crate::support::{Machine, PATIENCE, probe};
use serde_json::{Value, json};
use std::io::Write;
use std::net::{Shutdown, TcpStream};

const RUN: &str = "/api/packages/probe/run";

/// A server whose guests may run for minutes.
fn long(machine: &Machine) -> Server {
    long_with(machine, &[])
}

fn long_with(machine: &Machine, words: &[&str]) -> Server {
    // What it runs is compiled before: a call that is compiled is not under way yet.
    machine.probe(&[], &["return-ok"]).answer();
    let limits = ["--limit", "wall_time_ms=600000", "--limit", "fuel=1000000000000000"];
    Server::start(machine, &[&limits[..], words, &[&probe()]].concat())
}

/// Sends a call and does not wait for its answer.
fn begin(server: &Server, token: &str, arguments: &[&str]) -> TcpStream {
    let mut stream = server.connect();
    let body = json!({"arguments": arguments}).to_string();
    let request = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Sends a call on a connection that breaks when it is dropped: what came on it before is unread then.
fn begin_breaking(server: &Server, token: &str, arguments: &[&str]) -> TcpStream {
    let mut stream = server.connect();
    let body = json!({"arguments": arguments}).to_string();
    let request = format!(
        "GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\nPOST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        server.address,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    // Its answer has come, and nobody reads it.
    stream.peek(&mut [0]).unwrap();
    stream
}

/// Waits until the server says that so much is under way and so much waits.
#[track_caller]
fn until(server: &Server, under_way: u64, waiting: u64) {
    let since = std::time::Instant::now();
    loop {
        let told = server.ask("GET", "/api/server", None).document();
        if told["under_way"] == under_way && told["waiting"] == waiting {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{told}");
    }
}

fn entries(machine: &Machine) -> Vec<Value> {
    let listed = machine.run(["ledger", "list", "--limit", "1000", &probe()]).result("ledger list");
    listed["items"].as_array().unwrap().clone()
}

#[test]
fn a_server_that_can_not_listen_says_where_and_what_else_to_do() {
    let machine = Machine::new();
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    // The second address is of a block that is kept for documents: no machine has it.
    for (address, status, code) in [(taken.as_str(), 30, "ALREADY_EXISTS"), ("192.0.2.1:0", 2, "USAGE")] {
        let ran = machine.run(["serve", "--listen", address, "--origin", "http://here.example", &probe()]);
        let fault: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!((ran.status, &fault["code"]), (status, &json!(code)), "{ran:?}");
        assert!(fault["message"].as_str().unwrap().contains(address), "{fault}");
        assert!(fault["suggestion"].as_str().unwrap().contains("--listen"), "{fault}");
    }
}

#[test]
fn a_caller_whose_connection_breaks_has_its_call_stopped() {
    let machine = Machine::new();
    let server = long(&machine);
    let before = machine.probe_state();
    let stream = begin_breaking(&server, &server.agent, &["write-then-spin", "state/half-done"]);
    until(&server, 1, 0);
    drop(stream);
    until(&server, 0, 0);
    assert_eq!(machine.probe_state(), before);
    assert!(entries(&machine).iter().any(|entry| entry["error"] == "CANCELLED"), "{:?}", entries(&machine));
}

#[test]
fn one_that_asks_for_too_much_keeps_nobody_else_out() {
    let machine = Machine::new();
    let server = long(&machine);
    // It has all hands that one may have, and its queue is full too.
    let mut flood: Vec<TcpStream> =
        (0..3).map(|_| begin_breaking(&server, &server.agent, &["write-then-spin", "state/half-done"])).collect();
    until(&server, 3, 0);
    flood.extend((0..64).map(|_| begin_breaking(&server, &server.agent, &["append-text", "state/log", "flood"])));
    until(&server, 3, 64);
    server.ask_as(&server.agent, "POST", RUN, Some(&json!({"arguments": ["return-ok"]}))).fault(503, "SERVER_BUSY");
    // One hand is left to others, however long the flood's calls take, and goes to none of those that wait.
    for _ in 0..3 {
        server.post(RUN, &json!({"arguments": ["return-ok"]}));
    }
    until(&server, 3, 64);
    let appended = |entry: &&Value| entry["kind"] == "run" && entry["argv"][1] == "append-text";
    assert_eq!(entries(&machine).iter().filter(appended).count(), 0);
    // Those that wait leave with their callers.
    drop(flood);
    until(&server, 0, 0);
}

#[test]
fn who_has_sent_all_is_answered() {
    let machine = Machine::new();
    let server = long(&machine);
    let body = json!({"arguments": ["append-text", "state/log", "x"]}).to_string();
    let request = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.address,
        server.agent,
        body.len()
    );
    for _ in 0..5 {
        let mut stream = server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(read(&mut stream).result()["kept"], true);
    }
}

#[test]
fn told_to_end_twice_it_ends_at_once() {
    let machine = Machine::new();
    let server = long_with(&machine, &["--end-within", "5min"]);
    let before = machine.probe_state();
    let mut call = begin(&server, &server.agent, &["write-then-spin", "state/half-done"]);
    until(&server, 1, 0);
    server.end();
    // It has taken that when it takes nobody in any more.
    while TcpStream::connect(&server.address).is_ok() {}
    server.end();
    read(&mut call).fault(422, "CANCELLED");
    let (status, said) = server.ended();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert_eq!(machine.probe_state(), before);
}

#[test]
fn what_was_begun_is_finished_before_the_server_ends() {
    let machine = Machine::new();
    let server = long(&machine);
    let mut calls: Vec<TcpStream> =
        (0..20).map(|_| begin(&server, &server.agent, &["append-text", "state/log", "x"])).collect();
    // What the first has come to is there; the others are on their way.
    let first = read(&mut calls.remove(0));
    assert_eq!(first.status, 200, "{first:?}");
    server.end();
    let mut answered = 1;
    for mut call in calls {
        let mut bytes = Vec::new();
        // A connection that was not taken in any more is reset.
        let _ = std::io::Read::read_to_end(&mut call, &mut bytes);
        answered += usize::from(bytes.starts_with(b"HTTP/1.1 200"));
    }
    let (status, said) = server.ended();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    let kept =
        entries(&machine).iter().filter(|entry| entry["kind"] == "run" && entry["argv"][1] == "append-text").count();
    assert_eq!(kept, answered, "what was carried out was answered");
    machine.run(["verify", "--chain", &probe()]).result("verify");
}

#[test]
fn a_call_that_does_not_end_is_stopped_and_says_so() {
    let machine = Machine::new();
    let server = long_with(&machine, &["--end-within", "200ms"]);
    let before = machine.probe_state();
    let mut call = begin(&server, &server.agent, &["write-then-spin", "state/half-done"]);
    until(&server, 1, 0);
    server.end();
    read(&mut call).fault(422, "CANCELLED");
    let (status, said) = server.ended();
    assert_eq!((status, said.as_str()), (Some(0), ""));
    assert_eq!(machine.probe_state(), before);
}

#[test]
fn what_was_answered_is_there_after_the_server_was_killed() {
    let machine = Machine::new();
    let mut server = long(&machine);
    let answered = std::thread::scope(|scope| {
        let address = server.address.clone();
        let (token, pid) = (server.agent.clone(), server.child.id().to_string());
        let (told, heard) = std::sync::mpsc::channel();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (address, token, told) = (address.clone(), token.clone(), told.clone());
                scope.spawn(move || {
                    let mut answered = 0;
                    loop {
                        let Ok(mut stream) = TcpStream::connect(&address) else { return answered };
                        let body = json!({"arguments": ["append-text", "state/log", "x"]}).to_string();
                        let request = format!(
                            "POST {RUN} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                            body.len()
                        );
                        let _ = stream.write_all(request.as_bytes());
                        let mut bytes = Vec::new();
                        let read = std::io::Read::read_to_end(&mut stream, &mut bytes);
                        if read.is_err() || !bytes.starts_with(b"HTTP/1.1 200") {
                            return answered;
                        }
                        answered += 1;
                        let _ = told.send(());
                    }
                })
            })
            .collect();
        // Amid the load.
        for _ in 0..40 {
            heard.recv_timeout(PATIENCE).unwrap();
        }
        let killed = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.is_ok_and(|killed| killed.success()));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    let _ = server.child.wait();
    assert!(answered >= 40);
    let kept = entries(&machine);
    let kept = kept
        .iter()
        .filter(|entry| entry["kind"] == "run" && entry["argv"][1] == "append-text" && entry["kept"] == true);
    let kept = kept.count();
    // At most those that were under way are kept besides.
    assert!((answered..=answered + 4).contains(&kept), "{answered} answered, {kept} kept");
    machine.run(["verify", "--chain", &probe()]).result("verify");
}
