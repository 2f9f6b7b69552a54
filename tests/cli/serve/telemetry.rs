//! What a server tells of its work: lines on standard error, and spans and metrics to a collector, which stands here in its simplest form.

use super::Server;
use crate::support::{Machine, PATIENCE, todo};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CAUSE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// Stands in a call's arguments, and is nobody's business but the package's.
const SECRET: &str = "what only the package may know";

/// A collector that keeps what it is sent.
struct Collector {
    url: String,
    sent: Receiver<(String, Value)>,
}

impl Collector {
    fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, sent) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, sender) = (stream.unwrap(), sender.clone());
                std::thread::spawn(move || {
                    let mut read = BufReader::new(stream.try_clone().unwrap());
                    loop {
                        let (mut line, mut length, mut path) = (String::new(), 0, String::new());
                        while read.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                            let lower = line.to_ascii_lowercase();
                            if path.is_empty() {
                                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
                            }
                            if let Some(value) = lower.strip_prefix("content-length: ") {
                                length = value.trim().parse().unwrap();
                            }
                            line.clear();
                        }
                        if path.is_empty() {
                            return;
                        }
                        let mut body = vec![0; length];
                        read.read_exact(&mut body).unwrap();
                        // Who wanted to know may have read enough.
                        let _ = sender.send((path, serde_json::from_slice(&body).unwrap()));
                        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
                    }
                });
            }
        });
        Collector { url, sent }
    }

    fn variables(&self) -> [(&str, &str); 3] {
        [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test"),
        ]
    }

    /// All that was sent by a server that has ended, of one kind.
    fn all(&self) -> Vec<(String, Value)> {
        self.sent.try_iter().collect()
    }
}

/// What stands anywhere in a document under this name, as a list.
fn listed(documents: &[(String, Value)], path: &str, name: &str) -> Vec<Value> {
    fn find(value: &Value, name: &str, found: &mut Vec<Value>) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    if key == name {
                        found.extend(value.as_array().cloned().unwrap_or_default());
                    } else {
                        find(value, name, found);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| find(item, name, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    documents.iter().filter(|(to, _)| to == path).for_each(|(_, document)| find(document, name, &mut found));
    found
}

fn attribute(of: &Value, key: &str) -> Value {
    let all = of["attributes"].as_array().cloned().unwrap_or_default();
    let value = all.iter().find(|one| one["key"] == key).map(|one| one["value"].clone()).unwrap_or_default();
    value.as_object().and_then(|value| value.values().next()).cloned().unwrap_or_default()
}

fn lines(said: &str) -> Vec<Value> {
    said.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[track_caller]
fn ended(server: Server) -> String {
    server.end();
    let (status, said) = server.ended();
    assert_eq!(status, Some(0), "{said}");
    said
}

#[test]
fn a_line_tells_of_each_request_and_each_call_and_not_what_was_said_in_it() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--log", "json", &todo()]);
    let (operator, agent) = (server.operator.clone(), server.agent.clone());
    let run = "/api/packages/todo/run";
    server.post(run, &json!({"arguments": ["add", SECRET]}));
    server.ask("POST", run, Some(&json!({"arguments": ["get", "td_9999"]}))).fault(422, "GUEST_FAILED");
    server.ask_as("nobody", "GET", "/api/packages", None).fault(401, "AUTHENTICATION_REQUIRED");
    server.ask_as(&agent, "GET", "/api/server", None).fault(403, "PERMISSION_DENIED");
    server.ask("GET", "/api/%1b[2J/x", None).fault(404, "NOT_FOUND");
    let said = ended(server);
    for secret in [SECRET, &operator, &agent, "\u{1b}"] {
        assert!(!said.contains(secret), "{said}");
    }
    let lines = lines(&said);
    let is =
        |line: &Value, fields: &Value| fields.as_object().unwrap().iter().all(|(name, value)| line[name] == *value);
    let known = |fields: Value| {
        let found: Vec<&Value> = lines.iter().filter(|line| is(line, &fields)).collect();
        assert_eq!(found.len(), 1, "{fields}: {said}");
        let line = found[0];
        assert!(line["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        assert!(line["duration_ms"].as_f64().is_some_and(|took| took >= 0.0), "{line}");
        line.clone()
    };
    let request =
        known(json!({"event": "request", "caller": "operator", "method": "POST", "path": run, "status": 200}));
    assert!(request["code"].is_null(), "{request}");
    let call = known(
        json!({"event": "call", "caller": "operator", "through": "http", "package": "todo", "call": "run", "entry": 2, "kept": true}),
    );
    assert!(call["fuel"].as_u64().is_some_and(|fuel| fuel > 0) && call["waited_ms"].is_number(), "{call}");
    // The one caused the other.
    assert_eq!(call["trace_id"], request["trace_id"]);
    assert_eq!(call["trace_id"].as_str().map(str::len), Some(32));
    known(json!({"event": "call", "call": "run", "kept": false, "code": "GUEST_FAILED"}));
    known(json!({"event": "request", "status": 422, "code": "GUEST_FAILED"}));
    let unknown = known(json!({"event": "request", "status": 401, "code": "AUTHENTICATION_REQUIRED"}));
    assert!(unknown["caller"].is_null(), "{unknown}");
    known(json!({"event": "request", "status": 403, "caller": "agent"}));
    known(json!({"event": "request", "status": 404, "path": "/api/%1b[2J/x"}));
    assert_eq!(lines.len(), 7, "{said}");
}

#[test]
fn a_caller_that_goes_before_its_answer_is_told_of_as_that() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--log", "json", "--body-max", "1KiB", &todo()]);
    let mut stream = server.connect();
    let head = format!(
        "POST /api/packages/todo/run HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{",
        server.address, server.agent
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The server has begun to read once it answers others.
    server.get("/api/packages");
    drop(stream);
    let since = std::time::Instant::now();
    while server.ask("GET", "/healthz", None).status != 200 {
        assert!(since.elapsed() < PATIENCE);
    }
    let said = ended(server);
    let gone = |line: &&Value| line["path"] == "/api/packages/todo/run";
    let lines = lines(&said);
    let gone: Vec<&Value> = lines.iter().filter(gone).collect();
    assert_eq!(gone.len(), 1, "{said}");
    assert!(gone[0]["caller"] == "agent" && gone[0]["code"].is_string() && gone[0]["status"] != 200, "{said}");
}

#[test]
fn nothing_is_told_where_nobody_asked_for_it() {
    let machine = Machine::new();
    let collector = Collector::start();
    let disabled = [&collector.variables()[..], &[("OTEL_SDK_DISABLED", "true")]].concat();
    let none =
        [&collector.variables()[..], &[("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")]].concat();
    for variables in [&[][..], &disabled, &none] {
        let server = Server::start_in(&machine, variables, &[&todo()]);
        server.post("/api/packages/todo/run", &json!({"arguments": ["list"]}));
        assert_eq!(ended(server), "");
    }
    assert_eq!(collector.all(), []);
}

#[test]
fn spans_and_metrics_reach_a_collector_by_the_names_of_the_conventions() {
    let machine = Machine::new();
    let collector = Collector::start();
    // Another process sends, where there are rings around this one.
    let rings = ("HUTCH_RING", if crate::ring::are_whole() { "required" } else { "auto" });
    let server = Server::start_in(&machine, &[&collector.variables()[..], &[rings]].concat(), &[&todo()]);
    let bearer = format!("Bearer {}", server.agent);
    let body = json!({"arguments": ["add", SECRET]}).to_string();
    let headers = [("authorization", bearer.as_str()), ("traceparent", CAUSE)];
    server.request("POST", "/api/packages/todo/run", &headers, Some(&body)).result();
    server.ask("GET", "/api/packages/todo/entries/99", None).fault(404, "NOT_FOUND");
    assert_eq!(ended(server), "");

    let sent = collector.all();
    let text = sent.iter().map(|(_, document)| document.to_string()).collect::<String>();
    assert!(!text.contains(SECRET) && !text.contains(bearer.trim_start_matches("Bearer ")), "{text}");
    let spans = listed(&sent, "/v1/traces", "spans");
    let span =
        |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:?}"));
    let request = span("POST /api/packages/{slug}/run");
    assert_eq!((&request["traceId"], &request["parentSpanId"]), (&json!(TRACE), &json!("b7ad6b7169203331")));
    assert_eq!(request["kind"], 2, "a server's");
    assert_eq!(attribute(request, "http.request.method"), "POST");
    assert_eq!(attribute(request, "http.route"), "/api/packages/{slug}/run");
    assert_eq!(attribute(request, "http.response.status_code").to_string().trim_matches('"'), "200");
    let call = span("run todo");
    assert_eq!((&call["traceId"], &call["parentSpanId"]), (&json!(TRACE), &request["spanId"]));
    assert_eq!(attribute(call, "hutch.entry.sequence").to_string().trim_matches('"'), "2");
    // What a caller got wrong is no failure of the server's, but one of the call's.
    let wrong = span("GET /api/packages/{slug}/entries/{entry}");
    assert_ne!(wrong["traceId"], TRACE);
    assert_ne!(wrong["status"]["code"], 2, "{wrong}");
    let wrong = span("entry todo");
    assert_eq!((&wrong["status"]["code"], attribute(wrong, "error.type")), (&json!(2), json!("NOT_FOUND")));
    let resource = |key: &str| {
        let found = sent.iter().map(|(_, document)| {
            let of = document["resourceSpans"][0]["resource"].clone();
            attribute(&of, key)
        });
        found.filter(|value| !value.is_null()).collect::<Vec<_>>()
    };
    assert_eq!(resource("service.name").first(), Some(&json!("hutch")));
    assert_eq!(resource("deployment.environment.name").first(), Some(&json!("test")));

    let metrics = listed(&sent, "/v1/metrics", "metrics");
    let metric =
        |name: &str| metrics.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {metrics:?}"));
    let points = |name: &str| metric(name)["histogram"]["dataPoints"].as_array().unwrap().clone();
    assert_eq!(metric("http.server.request.duration")["unit"], "s");
    assert_eq!(points("http.server.request.duration").len(), 2);
    assert_eq!(points("hutch.call.duration").len(), 2);
    assert_eq!(points("hutch.call.wait").len(), 2);
    let fuel = points("hutch.run.fuel");
    assert!(fuel.len() == 1 && fuel[0]["sum"].as_f64().is_some_and(|sum| sum > 0.0), "{fuel:?}");
    assert_eq!(attribute(&fuel[0], "hutch.package"), "todo");
}

#[test]
fn what_a_stranger_says_caused_its_request_is_not_believed() {
    let machine = Machine::new();
    let collector = Collector::start();
    let server = Server::start_in(&machine, &collector.variables(), &["--log", "json", &todo()]);
    // Neither in another's trace nor out of every one.
    let unsampled = format!("{}00", &CAUSE[..CAUSE.len() - 2]);
    for (bearer, cause) in [("Bearer nobody", CAUSE), ("Bearer nobody", &unsampled), ("", &unsampled)] {
        let path = if bearer.is_empty() { "/healthz" } else { "/api/packages" };
        server.request("GET", path, &[("authorization", bearer), ("traceparent", cause)], None);
    }
    let said = ended(server);
    assert!(!said.contains(TRACE) && said.matches("\"trace_id\"").count() == 3, "{said}");
    let sent = collector.all();
    let spans = listed(&sent, "/v1/traces", "spans");
    assert_eq!(spans.len(), 3, "{spans:?}");
    assert!(spans.iter().all(|span| span["traceId"] != TRACE), "{spans:?}");
}

#[test]
fn a_tools_call_belongs_below_what_the_client_says_caused_it() {
    let machine = Machine::new();
    let collector = Collector::start();
    let server = Server::start_in(&machine, &collector.variables(), &["--log", "json", &todo()]);
    let bearer = format!("Bearer {}", server.agent);
    for (tool, cause) in [("todo_list", Some(CAUSE)), ("todo_list", None), ("no_such_tool", None)] {
        let mut message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        }});
        if let Some(cause) = cause {
            message["params"]["_meta"]["traceparent"] = cause.into();
        }
        let headers = [
            ("authorization", bearer.as_str()),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", tool),
        ];
        server.request("POST", "/mcp", &headers, Some(&message.to_string()));
    }
    let said = ended(server);
    let through: Vec<Value> = lines(&said).into_iter().filter(|line| line["event"] == "call").collect();
    assert_eq!(through.len(), 2, "{said}");
    assert!(through.iter().all(|line| line["through"] == "mcp test 1" && line["caller"] == "agent"), "{said}");

    let sent = collector.all();
    let spans = listed(&sent, "/v1/traces", "spans");
    let named = |name: &str| spans.iter().filter(|span| span["name"] == name).collect::<Vec<_>>();
    let (tools, requests, calls) = (named("tools/call todo_list"), named("POST /mcp"), named("run todo"));
    assert_eq!((tools.len(), requests.len(), calls.len()), (2, 3, 2), "{spans:?}");
    let (caused, own): (Vec<&Value>, Vec<&Value>) = tools.iter().partition(|span| span["traceId"] == TRACE);
    assert_eq!((caused.len(), own.len()), (1, 1), "{tools:?}");
    assert_eq!(caused[0]["parentSpanId"], "b7ad6b7169203331");
    let links = caused[0]["links"].as_array().unwrap();
    assert!(requests.iter().any(|request| request["spanId"] == links[0]["spanId"]), "{links:?}");
    assert!(requests.iter().any(|request| request["spanId"] == own[0]["parentSpanId"]), "{own:?}");
    assert_eq!(attribute(own[0], "gen_ai.tool.name"), "todo_list");
    assert_eq!(attribute(own[0], "mcp.method.name"), "tools/call");
    for tool in &tools {
        assert!(calls.iter().any(|call| call["parentSpanId"] == tool["spanId"]), "{calls:?}");
    }
    // A line tells of each, and has no name that a client made up.
    let told: Vec<Value> = lines(&said).into_iter().filter(|line| line["event"] == "tool").collect();
    assert_eq!(told.iter().filter(|line| line["tool"] == "todo_list").count(), 2, "{said}");
    assert!(told.len() == 3 && !said.contains("no_such_tool"), "{said}");
    // A name that a client made up is no name of a span.
    assert!(spans.iter().all(|span| !span.to_string().contains("no_such_tool")), "{spans:?}");
    assert_eq!(named("tools/call").len(), 1);
    let metrics = listed(&sent, "/v1/metrics", "metrics");
    assert!(metrics.iter().any(|one| one["name"] == "mcp.server.operation.duration"), "{metrics:?}");
}

#[test]
fn a_collector_that_does_not_answer_holds_nobody_up() {
    let machine = Machine::new();
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    // A port at which nobody listens.
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [url, format!("http://{away}")] {
        let server = Server::start_in(&machine, &[("OTEL_EXPORTER_OTLP_ENDPOINT", &url)], &["--log", "json", &todo()]);
        server.post("/api/packages/todo/run", &json!({"arguments": ["list"]}));
        // Who waits for a collector for ever never ends.
        let (told, heard) = channel();
        std::thread::spawn(move || told.send(ended(server)));
        heard.recv_timeout(PATIENCE).expect("it ends");
    }
}

#[test]
fn a_setting_that_cannot_be_followed_is_said_before_serving_begins() {
    let machine = Machine::new();
    // Nobody can serve there: a setting that is passed over shows as another failure.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    for (name, value, said) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "-*/*-/*-//-/-/no-address", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a b", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL"),
        ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL"),
    ] {
        let mut command = machine.hutch(["serve", "--listen", &taken, &todo()]);
        let command = command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1").env(name, value);
        let fault = crate::support::Ran::of(command).fault("USAGE", 2);
        assert!(fault.message.contains(said), "{fault:?}");
    }
}
