//! Requests that no client should send: whatever comes, it is answered with a typed refusal or the connection ends, and the server serves
//! on.

use super::{Server, read};
use crate::support::{Machine, PATIENCE, again_until, probe, todo};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};

const RUN: &str = "/api/packages/todo/run";

/// A server that has little room, and waits this long for what is sent.
fn strict(machine: &Machine, sent_within: &str) -> Server {
    Server::start(machine, &["--sent-within", sent_within, "--body-max", "1KiB", "--connections-max", "4", &todo()])
}

/// What once had much to answer holds no more of it than one that had not.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_answers_took_is_given_back() {
    const MOST_KIB: u64 = 96 << 10;
    let machine = Machine::new();
    let server = Server::start(&machine, &[&probe()]);
    let run =
        |words: &[&str]| server.ask("POST", "/api/packages/probe/run", Some(&json!({ "arguments": words }))).status;
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..12).map(|_| scope.spawn(|| run(&["stdout", "4000000"]))).collect();
        assert!(asking.into_iter().all(|one| one.join().unwrap() == 200));
    });
    let resident = || {
        let told = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
        let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    // An answer is there before the last of what it took is.
    let held: Vec<u64> = (0..100).map(|_| (run(&["return-ok"]) == 200).then(resident).unwrap()).collect();
    assert!(held.iter().any(|kib| *kib < MOST_KIB), "{held:?}");
}

/// An instance that another program keeps locked is waited for by its own callers, and by nobody else.
#[test]
fn who_waits_for_a_locked_instance_keeps_no_other_package_waiting() {
    const CALLERS: usize = 12;
    let machine = Machine::new();
    let server = Server::start(&machine, &["--wait", "600s", &todo(), &probe()]);
    let add = || server.ask_as(&server.agent, "POST", RUN, Some(&json!({"arguments": ["add", "tea"]}))).status;
    assert_eq!(add(), 200);
    let database = rusqlite::Connection::open(machine.home().join("instances/todo/default/hutch.db")).unwrap();
    database.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let adding = |_| {
            scope.spawn(|| {
                let status = add();
                answered.fetch_add(1, Ordering::Relaxed);
                status
            })
        };
        let adding: Vec<_> = (0..CALLERS).map(adding).collect();
        for _ in 0..50 {
            server.post("/api/packages/probe/run", &json!({"arguments": ["return-ok"]}));
        }
        assert_eq!(answered.load(Ordering::Relaxed), 0, "nothing is committed behind a lock");
        database.execute_batch("ROLLBACK").unwrap();
        assert!(adding.into_iter().all(|one| one.join().unwrap() == 200));
    });
}

/// So long that a client which does send is never too slow, however busy the machine is.
const PATIENT: &str = "5min";

/// It still does what it should, and nothing of what was tried is in the ledger.
#[track_caller]
fn serves_on(server: &Server, entries: u64) {
    assert_eq!(server.get("/api/packages/todo/ledger")["total"], entries);
}

#[test]
fn bodies_are_bounded_however_they_are_sent() {
    let machine = Machine::new();
    let server = strict(&machine, PATIENT);
    let bearer = format!("Bearer {}", server.operator);
    let known = [("authorization", bearer.as_str())];
    let long = json!({"arguments": ["add", "x".repeat(2000)]}).to_string();
    server.request("POST", RUN, &known, Some(&long)).fault(413, "REQUEST_INVALID");
    let head = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: {bearer}\r\ncontent-type: application/json\r\nconnection: close\r\n",
        server.address
    );
    // In pieces, without a length that could be looked at before.
    let pieces =
        format!("{head}transfer-encoding: chunked\r\n\r\n") + &format!("400\r\n{}\r\n", "x".repeat(1024)).repeat(4);
    server.raw(pieces.as_bytes()).fault(413, "REQUEST_INVALID");
    // More than there is room for anywhere.
    server.raw(format!("{head}content-length: 18446744073709551615\r\n\r\nx").as_bytes());
    serves_on(&server, 1);
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{\"arguments\":[1]}",
        "{\"arguments\":[],\"confirmed\":true}",
        "{\"arguments\":[\"list\"],\"command\":\"list\"}",
        "{}",
        "{\"arguments\":[\"list\"],\"seed\":\"-\"}",
        "{\"arguments\":[\"list\"],\"now\":\"yesterday\"}",
        "\u{feff}{}",
        "{\"arguments\":[\"list\"],\"arguments\":[\"add\",\"x\"]}",
        "{\"arguments\":[\"list\"],\"argumen\\u0074s\":[\"add\",\"x\"]}",
    ] {
        server.request("POST", RUN, &known, Some(body)).fault(400, "REQUEST_INVALID");
    }
    let deep = "[".repeat(1000);
    server.request("POST", RUN, &known, Some(&deep)).fault(400, "REQUEST_INVALID");
    serves_on(&server, 1);
}

#[test]
fn what_is_said_of_a_wrong_call_is_bounded() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let call = |count: usize| {
        let fields: serde_json::Map<String, serde_json::Value> =
            (0..count).map(|at| (format!("f{at}"), json!(1))).collect();
        let bearer = format!("Bearer {}", server.agent);
        let body = json!({"command": "add", "fields": fields}).to_string();
        server.request("POST", RUN, &[("authorization", &bearer)], Some(&body))
    };
    // The last would take more memory than a body may.
    for (count, status, code) in
        [(30, 400, "ARGUMENT_INVALID"), (20_000, 400, "ARGUMENT_INVALID"), (200_000, 413, "REQUEST_INVALID")]
    {
        let answer = call(count);
        answer.fault(status, code);
        assert!(answer.body.len() < 16 << 10, "{count}: {}", answer.body.len());
    }
    assert!(call(900).fault(400, "ARGUMENT_INVALID")["message"].as_str().unwrap().contains("more"));
}

#[test]
fn who_sends_slowly_is_not_waited_for() {
    let machine = Machine::new();
    // Long enough for a head to come whole from a client on a busy machine, and for three to be waited for at once.
    let server = strict(&machine, "5s");
    let head = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n",
        server.address, server.operator
    );
    // A body that never comes; then a head that never ends, and a connection on which nothing comes at all: both are closed.
    let begun = |begun: &str| {
        let mut stream = server.connect();
        stream.write_all(begun.as_bytes()).unwrap();
        stream
    };
    let mut bodiless = begun(&format!("{head}content-length: 100\r\n\r\n{{"));
    let closed = [begun(&head), begun("")];
    read(&mut bodiless).fault(408, "REQUEST_INVALID");
    for mut stream in closed {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    serves_on(&server, 1);
}

#[test]
fn there_is_a_last_connection_and_room_again_when_others_end() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--connections-max", "2", &todo()]);
    // On each something is under way.
    let mut busy = [&server.agent, &server.operator].map(|token| super::events::asked(&server, token, ""));
    for stream in &mut busy {
        stream.read_exact(&mut [0]).unwrap();
    }
    let mut refused = server.connect();
    read(&mut refused).fault(503, "SERVER_BUSY");
    drop(busy);
    // The server may need a moment to see that they have ended.
    let since = std::time::Instant::now();
    while server.request("GET", "/healthz", &[], None).status != 200 {
        assert!(since.elapsed() < PATIENCE, "there is no room");
    }
}

/// A body that does not come takes a connection for as long as one may take to come, however short it is said to be.
#[test]
fn one_caller_leaves_half_of_the_connections_to_others() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--connections-max", "4", "--sent-within", PATIENT, &todo()]);
    let held: Vec<_> = (0..2).map(|_| begun(&server, &server.agent, "content-length: 5")).collect();
    assert!(held.iter().all(|(answer, _)| answer == "HTTP/1.1 100"), "{held:?}");
    for _ in 0..3 {
        // Nor does the connection stay on which that is said.
        let (answer, mut refused) = begun(&server, &server.agent, "content-length: 5");
        let rest = read(&mut refused);
        assert_eq!((answer.as_str(), rest.header("connection")), ("HTTP/1.1 503", Some("close")), "{rest:?}");
        assert!(rest.body.contains("SERVER_BUSY"), "{rest:?}");
        server.ask_as(&server.agent, "GET", "/api/packages", None).fault(503, "SERVER_BUSY");
        assert_eq!(server.get("/api/packages")["total"], 1);
        assert_eq!(server.request("GET", "/healthz", &[], None).status, 200);
    }
    // Who comes then has half of what is left, and a third would have the rest.
    let others = [(); 2].map(|()| begun(&server, &server.operator, "content-length: 5"));
    let [one, refused] = others.each_ref().map(|(answer, _)| answer.as_str());
    assert_eq!([one, refused], ["HTTP/1.1 100", "HTTP/1.1 503"]);
    drop((held, others));
    // The server has noticed that they are gone.
    let ask = || server.ask_as(&server.agent, "GET", "/api/packages", None);
    again_until(ask, |answer| answer.status == 200).result();
    serves_on(&server, 1);
}

#[test]
fn who_is_silent_keeps_nobody_out() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--connections-max", "4", "--sent-within", PATIENT, &todo()]);
    let ask = |token: &str| {
        format!("GET /api/packages HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\r\n", server.address)
    };
    // One with a token that is known, on which nothing is under way any more.
    let mut known = server.connect();
    let again = |known: &mut TcpStream| {
        known.write_all(ask(&server.agent).as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            known.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        known.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
    };
    again(&mut known);
    for _ in 0..3 {
        // Those that say nothing, those that never end what they say, and those whom nobody knows.
        let mut silent: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
        silent[1].write_all(b"GET / HTTP/1.1\r\n").unwrap();
        silent[2].write_all(ask("nobody").as_bytes()).unwrap();
        assert_eq!(server.get("/api/packages")["total"], 1);
    }
    // Nor did they end the connection of who is known.
    again(&mut known);
}

/// An answer of some eight million bytes, of which a socket holds a part, begun to be read.
fn long_answer(server: &Server, token: &str) -> TcpStream {
    let (mut stream, body) = (server.connect(), json!({"arguments": ["stdout", "4000000"]}).to_string());
    let head = format!(
        "POST /api/packages/probe/run HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

#[test]
fn an_answer_that_is_read_ends_for_no_other_caller() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--connections-max", "4", "--sent-within", PATIENT, &probe()]);
    let mut reading = long_answer(&server, &server.agent);
    let mut begun = [0; 12];
    reading.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let bearer = format!("authorization: Bearer {}", server.operator);
    let ask = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n{bearer}\r\n\r\n", server.address);
    // Each has its answer, and stays.
    let other = |_| {
        let mut stream = server.connect();
        stream.write_all(ask.as_bytes()).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        stream
    };
    let others: Vec<TcpStream> = (0..8).map(other).collect();
    let mut rest = Vec::new();
    reading.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 8_000_000 && rest.ends_with(b"}\n"), "{}", rest.len());
    drop(others);
}

#[test]
fn answers_that_nobody_reads_take_no_more_than_their_share() {
    const CALLS: usize = 16;
    let machine = Machine::new();
    let server = Server::start(&machine, &["--sent-within", PATIENT, &probe()]);
    let unread: Vec<TcpStream> = (0..CALLS).map(|_| long_answer(&server, &server.agent)).collect();
    let entries = || server.get("/api/packages/probe/ledger")["total"].as_u64().unwrap();
    let load = || server.ask("GET", "/api/server", None).document();
    // Nine have its share of 64 MiB, and two were under way when it was full.
    let full = |told: &serde_json::Value| told["under_way"] == 0 && told["waiting"].as_u64().is_some_and(|few| few > 0);
    let told = again_until(|| (entries() > 8).then(load).unwrap_or_default(), full);
    assert!(full(&told) && entries() <= 12, "{told}");
    // Others are served meanwhile, and what waits is carried out when somebody reads.
    std::thread::scope(|scope| {
        let reading = unread.into_iter().map(|mut stream| scope.spawn(move || read(&mut stream).status));
        let reading: Vec<_> = reading.collect();
        assert!(reading.into_iter().all(|one| one.join().unwrap() == 200));
    });
    assert_eq!(entries(), 1 + CALLS as u64);
}

#[test]
fn a_thousand_connections_at_once_leave_a_server_that_serves() {
    let machine = Machine::new();
    let server = strict(&machine, PATIENT);
    let ask = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    let mut all: Vec<TcpStream> = Vec::new();
    for _ in 0..500 {
        all.push(server.connect());
    }
    for stream in &mut all {
        // Those that were turned away may be closed.
        let _ = stream.write_all(ask.as_bytes());
    }
    let mut answered = 0;
    for stream in &mut all {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        answered += usize::from(bytes.starts_with(b"HTTP/1.1 200") || bytes.starts_with(b"HTTP/1.1 503"));
    }
    assert!(answered >= 4, "{answered}");
    drop(all);
    let since = std::time::Instant::now();
    while server.request("GET", "/healthz", &[], None).status != 200 {
        assert!(since.elapsed() < PATIENCE, "there is no room");
    }
    serves_on(&server, 1);
}

#[test]
fn heads_are_bounded_and_smuggle_nothing() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let (host, bearer) = (&server.address, format!("authorization: Bearer {}", server.operator));
    let body = json!({"arguments": ["add", "milk"]}).to_string();
    let (length, common) =
        (body.len(), format!("host: {host}\r\n{bearer}\r\ncontent-type: application/json\r\nconnection: close\r\n"));
    let many = (0..200).map(|at| format!("x-{at}: y\r\n")).collect::<String>();
    let long = format!("x: {}\r\n", "y".repeat(100_000));
    for (request, statuses) in [
        (format!("POST {RUN} HTTP/1.1\r\n{common}{many}content-length: {length}\r\n\r\n{body}"), &[431][..]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}{long}content-length: {length}\r\n\r\n{body}"), &[431]),
        (format!("POST /{} HTTP/1.1\r\n{common}\r\n", "a".repeat(100_000)), &[414, 431, 400]),
        // Two lengths, a length and pieces: which of them a proxy believed is not known.
        (format!("POST {RUN} HTTP/1.1\r\n{common}content-length: {length}\r\ncontent-length: 1\r\n\r\n{body}"), &[400]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}content-length: +{length}\r\n\r\n{body}"), &[400]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}transfer-encoding: gzip\r\n\r\n{body}"), &[400]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}transfer-encoding : chunked\r\n\r\n0\r\n\r\n"), &[400]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}x: a\r\n b\r\n\r\n"), &[400]),
        (format!("POST {RUN} HTTP/1.1\r\n{common}x\0y: a\r\n\r\n"), &[400]),
        (format!("GET /healthz HTTP/1.1\r\nhost: {host}\r\nhost: {host}\r\nconnection: close\r\n\r\n"), &[400]),
        ("GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(), &[400]),
        (format!("GET /healthz HTTP/3.0\r\nhost: {host}\r\n\r\n"), &[400, 505]),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}".to_owned() + &"\u{0}".repeat(50), &[400]),
        ("nonsense\r\n\r\n".to_owned(), &[400]),
    ] {
        let answer = server.raw(request.as_bytes());
        let shown: String = request.chars().take(60).collect();
        assert!(statuses.contains(&answer.status), "{shown}: {answer:?}");
    }
    // A request behind another one's body is a request of its own, which needs its own token.
    let two = format!(
        "GET /healthz HTTP/1.1\r\nhost: {host}\r\n\r\nPOST {RUN} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let both = server.raw(two.as_bytes());
    assert!(both.status == 200 && both.body.contains("HTTP/1.1 401"), "{both:?}");
    serves_on(&server, 1);
}

#[test]
fn paths_are_what_they_look_like_and_methods_those_that_are_told() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    for path in [
        "//api/packages",
        "/api//packages",
        "/api/packages/",
        "/api/packages/../packages",
        "/api/packages/..",
        "/api/packages/%2e%2e/todo",
        "/api/packages/todo%2frun",
        "/api/packages/todo%00",
        "/api/packages/todo/entries/../ledger",
        "/API/PACKAGES",
        "/api/packages/..%5c..%5cetc%5cpasswd",
        "/etc/passwd",
        "/api/packages/\u{2025}",
        "/.git/config",
        "*",
    ] {
        let answer = server.ask("GET", path, None);
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
        if answer.status == 404 {
            answer.fault(404, "NOT_FOUND");
        }
    }
    for path in [
        "/api/packages?x=1",
        "/api/packages/todo/ledger?limit=0",
        "/api/packages/todo/ledger?limit=1&limit=2",
        "/api/packages/todo/entries/x",
    ] {
        server.ask("GET", path, None).fault(400, "REQUEST_INVALID");
    }
    for (method, path, allowed) in [
        ("GET", RUN, "post"),
        ("DELETE", RUN, "post"),
        ("PUT", "/api/packages", "get, head"),
        ("TRACE", "/api/packages", "get, head"),
        ("OPTIONS", RUN, "post"),
        ("FROBNICATE", "/healthz", "get, head"),
    ] {
        let answer = server.ask(method, path, None);
        answer.fault(405, "REQUEST_INVALID");
        assert_eq!(answer.header("allow"), Some(allowed), "{answer:?}");
    }
    let head = server.ask("HEAD", "/api/packages", None);
    assert_eq!((head.status, head.body.as_str()), (200, ""), "{head:?}");
    serves_on(&server, 1);
}

/// A request whose body does not come: how it is answered first, and its connection.
fn begun(server: &Server, token: &str, length: &str) -> (String, TcpStream) {
    let mut stream = server.connect();
    let head = format!(
        "POST {RUN} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         expect: 100-continue\r\n{length}\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    (String::from_utf8(first.to_vec()).unwrap(), stream)
}

/// What has been let in and has not come, or waits, has room of its own; who takes all that one may keeps nobody else out, and leaves it.
#[test]
fn bodies_that_do_not_come_take_no_more_than_their_share() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--body-max", "1048576", &todo()]);
    let begun = |token: &str, length: &str| begun(&server, token, length);
    // Of one that does not say how long it is, the longest is expected.
    let lengths = ["content-length: 1048576", "transfer-encoding: chunked"];
    let mut held = Vec::new();
    for length in lengths.iter().cycle().take(8) {
        let (answer, stream) = begun(&server.operator, length);
        assert_eq!(answer, "HTTP/1.1 100", "{}", held.len());
        held.push(stream);
    }
    for length in lengths {
        assert_eq!(begun(&server.operator, length).0, "HTTP/1.1 503");
    }
    // Others have room left, for four of the longest.
    let others: Vec<_> = (0..4).map(|_| begun(&server.agent, lengths[0])).collect();
    assert!(others.iter().all(|(answer, _)| answer == "HTTP/1.1 100"), "{others:?}");
    assert_eq!(begun(&server.agent, lengths[0]).0, "HTTP/1.1 503");
    drop((held, others));
    // The server has noticed that they are gone.
    let (answer, _stream) = again_until(|| begun(&server.operator, lengths[0]), |(answer, _)| answer == "HTTP/1.1 100");
    assert_eq!(answer, "HTTP/1.1 100");
}

/// It does not wait behind others, where it would take memory.
#[test]
fn a_call_that_is_larger_than_one_may_be_is_refused_when_it_comes() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--limit", "stdin_bytes=3", &todo()]);
    for (body, code) in [
        (json!({"arguments": ["add", "x".repeat(300_000)]}), "ARGUMENT_LIMIT"),
        (json!({"arguments": ["list"], "stdin": "four"}), "STDIN_LIMIT"),
    ] {
        let fault = server.ask("POST", RUN, Some(&body)).document();
        assert_eq!((&fault["code"], &fault["details"]["kept"]), (&json!(code), &json!(false)), "{fault}");
    }
    server.post(RUN, &json!({"arguments": ["list"], "stdin": "thr"}));
}
