//! The Model Context Protocol over HTTP: the same tools, behind the same checks.

use super::{Answer, Server};
use crate::support::{Machine, again_until, todo};
use serde_json::{Value, json};
use std::io::{Read, Write};

/// A request of the lifecycle in which every request says what it needs.
fn message(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.2"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

fn post(server: &Server, token: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    let usual = [("authorization", bearer.as_str()), ("accept", "application/json, text/event-stream")];
    server.request("POST", "/mcp", &[&usual, headers].concat(), Some(&body.to_string()))
}

#[track_caller]
fn modern(server: &Server, token: &str, method: &str, name: Option<&str>, params: Value) -> Value {
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(name.map(|name| ("mcp-name", name)));
    result(&post(server, token, &headers, &message(method, params)))
}

/// The result in an answer, which is a document or a stream of events.
#[track_caller]
fn result(answer: &Answer) -> Value {
    assert_eq!(answer.status, 200, "{answer:?}");
    let mut found = Value::Null;
    for line in answer.body.lines() {
        let text = line.trim_start_matches("data:").trim();
        if let Ok(value) = serde_json::from_str::<Value>(text)
            && value.get("result").is_some()
        {
            found = value["result"].clone();
        }
    }
    assert!(found.is_object(), "{answer:?}");
    found
}

fn call(server: &Server, token: &str, tool: &str, arguments: &Value) -> Value {
    modern(server, token, "tools/call", Some(tool), json!({"name": tool, "arguments": arguments}))
}

#[test]
fn the_tools_are_those_of_the_pipes_and_the_ledger_knows_whose_token_it_was() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let listed = modern(&server, &server.agent, "tools/list", None, json!({}));
    let names = |tools: &Value| -> Vec<String> {
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let printed = machine.run(["mcp", "--print", "--tools-max=40", &todo()]).result("mcp");
    assert_eq!(names(&listed["tools"]), names(&printed["tools"]));
    let added = call(&server, &server.agent, "todo_add", &json!({"title": "milk"}));
    assert_eq!(added["structuredContent"]["items"][0]["title"], "milk", "{added}");
    let entry = added["_meta"]["hutch/entry"]["sequence"].as_u64().unwrap();
    let caller = server.get(&format!("/api/packages/todo/entries/{entry}"))["record"]["caller"].clone();
    assert_eq!(caller, json!({"name": "agent", "version": "mcp test 1.2"}));
    // What needs consent waits for a person, who has another token.
    let asked = call(&server, &server.agent, "todo_remove", &json!({"id": "td_0001", "confirm": true}));
    assert_eq!(asked["_meta"]["hutch/error"]["code"], "CONFIRMATION_REQUIRED", "{asked}");
    let details = &asked["_meta"]["hutch/error"]["details"];
    assert_eq!(details["approve_at"], format!("http://{}/approvals", server.address), "{asked}");
    let plan = details["plan"].as_str().unwrap();
    server.post(&format!("/api/packages/todo/apply/{plan}"), &json!({}));
}

#[test]
fn the_same_tokens_scopes_and_names_hold() {
    let machine = Machine::new();
    let looker = "l".repeat(40);
    let file = machine.write("tokens", format!("looker read {looker}\nagent read,run {}\n", "a".repeat(40)));
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = Server::start(&machine, &["--token-file", file.to_str().unwrap(), &todo()]);
    let list = message("tools/list", json!({}));
    post(&server, "nobody", &[], &list).fault(401, "AUTHENTICATION_REQUIRED");
    post(&server, &looker, &[("origin", "https://evil.example")], &list).fault(403, "PERMISSION_DENIED");
    post(&server, &looker, &[("host", "evil.example")], &list).fault(403, "PERMISSION_DENIED");
    let refused = call(&server, &looker, "todo_add", &json!({"title": "milk"}));
    assert_eq!(refused["_meta"]["hutch/error"]["code"], "PERMISSION_DENIED", "{refused}");
    assert_eq!(call(&server, &looker, "hutch_history", &json!({}))["isError"], false);
    let large = json!({"jsonrpc": "2.0", "id": 1, "method": "x".repeat(5 << 20)});
    post(&server, &looker, &[], &large).fault(413, "REQUEST_INVALID");
    assert_eq!(server.ask_as(&looker, "GET", "/api/packages/todo/ledger", None).result()["total"], 1);
}

/// The description says of each way to the protocol which headers it needs, and of what form a refusal is.
#[test]
fn a_refusal_is_of_a_form_that_the_description_has() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let document = server.ask("GET", "/openapi.json", None).document();
    let bearer = format!("Bearer {}", server.operator);
    for (method, body, needs) in
        [("GET", None, "Mcp-Session-Id"), ("POST", Some("{}"), "Accept"), ("DELETE", None, "Mcp-Session-Id")]
    {
        let operation = &document["paths"]["/mcp"][method.to_lowercase()];
        let parameters = operation["parameters"].as_array().unwrap();
        let required: Vec<&Value> = parameters.iter().filter(|one| one["required"] == true).collect();
        assert_eq!((required.len(), &required[0]["name"]), (1, &json!(needs)), "{method}");
        let forms = &operation["responses"]["4XX"]["content"]["application/json"]["schema"]["anyOf"];
        for (authorization, session) in [(bearer.as_str(), None), (&bearer, Some("none")), ("Bearer x", None)] {
            let session = session.map(|session| ("mcp-session-id", session));
            let headers: Vec<_> = [("authorization", authorization)].into_iter().chain(session).collect();
            let answer = server.request(method, "/mcp", &headers, body);
            assert!((400..500).contains(&answer.status), "{answer:?}");
            let told = answer.document();
            let is_told = forms.as_array().unwrap().iter().any(|form| {
                let name = form["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
                let form = &document["components"]["schemas"][name];
                let required = form["required"].as_array().unwrap();
                required.iter().map(|name| name.as_str().unwrap()).all(|name| {
                    let constant = &form["properties"][name]["const"];
                    !told[name].is_null() && (constant.is_null() || told[name] == *constant)
                })
            });
            assert!(is_told, "{method} {answer:?}");
        }
    }
}

#[test]
fn a_client_that_begins_with_initialize_has_a_session() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"},
    });
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    // The stream ends with the answer, and the session does not.
    let begun = post(&server, &server.agent, &[], &begin);
    assert_eq!(result(&begun)["protocolVersion"], "2025-11-25");
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(post(&server, &server.agent, &headers, &told).status, 202);
    let add = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "todo_add", "arguments": {"title": "milk"}}});
    assert_eq!(result(&post(&server, &server.agent, &headers, &add))["isError"], false);
    // A session is no token.
    post(&server, "nobody", &headers, &add).fault(401, "AUTHENTICATION_REQUIRED");
    let bearer = format!("Bearer {}", server.agent);
    let ended = server.request("DELETE", "/mcp", &[("authorization", &bearer), headers[0], headers[1]], None);
    assert!((200..300).contains(&ended.status), "{ended:?}");
    assert_eq!(post(&server, &server.agent, &headers, &add).status, 404);
}

#[test]
fn a_session_that_nobody_ended_keeps_no_server_from_its_end() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"},
    });
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    assert!(post(&server, &server.agent, &[], &begin).header("mcp-session-id").is_some());
    server.end();
    let (status, said) = server.ended();
    assert_eq!((status, said.as_str()), (Some(0), ""));
}

/// A call of a client that can ask its user, with what it brings back.
fn asking(server: &Server, token: &str, arguments: &Value, back: &Value) -> Value {
    let mut params = json!({"name": "todo_remove", "arguments": arguments});
    for (name, value) in back.as_object().unwrap() {
        params[name] = value.clone();
    }
    let mut body = message("tools/call", params);
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "todo_remove")];
    result(&post(server, token, &headers, &body))
}

#[test]
fn what_a_client_says_its_user_answered_counts_for_a_token_that_may_confirm() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    call(&server, &server.agent, "todo_add", &json!({"title": "milk"}));
    let before = server.get("/api/packages/todo/state");
    let remove = json!({"id": "td_0001", "confirm": true});
    let refused = asking(&server, &server.agent, &remove, &json!({}));
    assert_eq!(refused["isError"], true, "{refused}");
    let error = &refused["_meta"]["hutch/error"];
    assert_eq!(error["code"], "CONFIRMATION_REQUIRED", "{refused}");
    assert_eq!(error["details"]["approve_at"], format!("http://{}/approvals", server.address));
    // Another's question can't be answered for it either.
    let asked = asking(&server, &server.operator, &remove, &json!({}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let back = json!({
        "requestState": asked["requestState"],
        "inputResponses": {"confirm": {"action": "accept", "content": {}}},
    });
    assert_eq!(asking(&server, &server.agent, &remove, &back)["isError"], true);
    assert_eq!(server.get("/api/packages/todo/state"), before);
    let done = asking(&server, &server.operator, &remove, &back);
    assert_eq!(done["_meta"]["hutch/kept"], true, "{done}");
    // Nor is an answer good for what it was about once that was taken back.
    call(&server, &server.operator, "hutch_undo", &json!({}));
    let before = server.get("/api/packages/todo/state");
    let again = asking(&server, &server.operator, &remove, &back);
    assert_eq!(again["_meta"]["hutch/error"]["code"], "CONFIRMATION_REQUIRED", "{again}");
    assert_eq!(server.get("/api/packages/todo/state"), before);
}

#[test]
fn one_token_does_not_take_all_sessions() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let begin = |token: &str| {
        let client =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client});
        post(&server, token, &[], &body)
    };
    for _ in 0..64 {
        assert_eq!(begin(&server.agent).status, 200);
    }
    begin(&server.agent).fault(503, "SERVER_BUSY");
    let session = begin(&server.operator);
    assert_eq!(session.status, 200);
    // Requests without a session are not counted.
    modern(&server, &server.agent, "tools/list", None, json!({}));
}

#[test]
fn what_nobody_sees_is_escaped_on_the_way_out_and_the_same_when_it_is_read() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&crate::support::probe()]);
    let said = json!({"a\u{200b}": "x\u{e0041}\u{202e}", "seen": "👩\u{200d}🚀"});
    let arguments = json!({"command": "stdin-echo", "stdin": said.to_string()});
    let params = message("tools/call", json!({"name": "hutch_call", "arguments": arguments}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "hutch_call")];
    let called = post(&server, &server.agent, &headers, &params);
    let run = json!({"arguments": ["stdin-echo"], "stdin": said.to_string()});
    let ran = server.ask("POST", "/api/packages/probe/run", Some(&run));
    for answer in [&called, &ran] {
        assert!(!answer.body.contains(['\u{200b}', '\u{202e}', '\u{e0041}']), "{:?}", answer.body);
        assert!(answer.body.contains("\\u200b") && answer.body.contains("👩\u{200d}🚀"), "{:?}", answer.body);
    }
    assert_eq!(result(&called)["structuredContent"], said);
    assert_eq!(ran.result()["output"], said);
}

#[test]
fn a_number_keeps_its_digits() {
    let digits = crate::support::DIGITS;
    let machine = Machine::new();
    let server = Server::start(&machine, &[&crate::support::probe()]);
    let arguments = json!({"command": "stdin-echo", "stdin": digits});
    let params = message("tools/call", json!({"name": "hutch_call", "arguments": arguments}));
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "hutch_call")];
    let called = post(&server, &server.agent, &headers, &params);
    // What has the tool's schema, and the text that a model reads.
    for part in [format!("\"structuredContent\":{digits}"), format!("\"text\":{}", json!(digits))] {
        assert!(called.body.contains(&part), "{part}: {called:?}");
    }
}

/// Begins a session; the answer has its id.
fn begin(server: &Server, token: &str, capabilities: &Value) -> Answer {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    post(server, token, &[], &begin)
}

#[test]
fn a_session_is_of_the_token_that_began_it() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post("/api/packages/todo/run", &json!({"arguments": ["add", "milk"]}));
    let begun = begin(&server, &server.operator, &json!({"elicitation": {"form": {}}}));
    let session = begun.header("mcp-session-id").unwrap().to_owned();
    let of =
        |session: &str| [("mcp-session-id", session.to_owned()), ("mcp-protocol-version", "2025-11-25".to_owned())];
    let ask = |token: &str, method: &str, session: &str, message: Option<&Value>| {
        let (own, bearer) = (of(session), format!("Bearer {token}"));
        let mut headers: Vec<(&str, &str)> = own.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let accept = if method == "GET" { "text/event-stream" } else { "application/json, text/event-stream" };
        headers.extend([("authorization", bearer.as_str()), ("accept", accept)]);
        server.request(method, "/mcp", &headers, message.map(Value::to_string).as_deref())
    };
    let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(ask(&server.operator, "POST", &session, Some(&told)).status, 202);
    let add = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "todo_add", "arguments": {"title": "x"}}});
    let agreed = json!({"jsonrpc": "2.0", "id": 0, "result": {"action": "accept", "content": {}}});
    // It is for another token what no session is for anybody.
    for (token, session) in [(&server.agent, session.as_str()), (&server.operator, "none"), (&server.agent, "\u{e9}")] {
        for message in [&add, &agreed, &told] {
            ask(token, "POST", session, Some(message)).fault(404, "NOT_FOUND");
        }
        ask(token, "GET", session, None).fault(404, "NOT_FOUND");
        ask(token, "DELETE", session, None).fault(404, "NOT_FOUND");
    }
    assert_eq!(server.get("/api/packages/todo/ledger")["total"], 2, "nothing was done in it");
    // It is still there for its own, and then for nobody.
    assert_eq!(result(&ask(&server.operator, "POST", &session, Some(&add)))["isError"], false);
    assert_eq!(ask(&server.operator, "DELETE", &session, None).status, 204);
    ask(&server.operator, "DELETE", &session, None).fault(404, "NOT_FOUND");
}

#[test]
fn sessions_that_are_begun_at_once_are_counted_too() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let barrier = std::sync::Barrier::new(100);
    let begun: Vec<Answer> = std::thread::scope(|scope| {
        let one = || {
            barrier.wait();
            begin(&server, &server.agent, &json!({}))
        };
        let all: Vec<_> = (0..100).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(begun.iter().filter(|answer| answer.status == 200).count(), 64);
    for refused in begun.iter().filter(|answer| answer.status != 200) {
        refused.fault(503, "SERVER_BUSY");
    }
    // One that is ended makes room for another.
    let session = begun.iter().find_map(|answer| answer.header("mcp-session-id")).unwrap();
    let bearer = format!("Bearer {}", server.agent);
    let headers =
        [("authorization", bearer.as_str()), ("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")];
    assert_eq!(server.request("DELETE", "/mcp", &headers, None).status, 204);
    assert_eq!(begin(&server, &server.agent, &json!({})).status, 200);
}

#[test]
fn who_listens_in_a_session_is_one_of_those_who_watch() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let session = |token: &str| {
        let session = begin(&server, token, &json!({})).header("mcp-session-id").unwrap().to_owned();
        let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-11-25")];
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(post(&server, token, &headers, &told).status, 202);
        session
    };
    let (agents, operators) = (session(&server.agent), session(&server.operator));
    let listening = |token: &str, path: &str, session: &str| {
        let mut stream = server.connect();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\naccept: text/event-stream\r\n\
             mcp-session-id: {session}\r\nmcp-protocol-version: 2025-11-25\r\n\r\n",
            server.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        (String::from_utf8(first.to_vec()).unwrap(), stream)
    };
    let own = listening(&server.agent, "/mcp", &agents);
    let others: Vec<_> = (0..15).map(|_| listening(&server.agent, "/api/events", &agents)).collect();
    assert!(others.iter().chain([&own]).all(|(answer, _)| answer == "HTTP/1.1 200"), "{own:?} {others:?}");
    for path in ["/mcp", "/api/events"] {
        assert_eq!(listening(&server.agent, path, &agents).0, "HTTP/1.1 503", "{path}");
    }
    assert_eq!(listening(&server.operator, "/mcp", &operators).0, "HTTP/1.1 200");
    // One that leaves makes room.
    drop(own);
    let again = || listening(&server.agent, "/api/events", &agents).0;
    assert_eq!(again_until(again, |answer| answer == "HTTP/1.1 200"), "HTTP/1.1 200");
}

#[test]
fn what_is_no_message_is_a_wrong_request() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let bearer = format!("Bearer {}", server.agent);
    let headers = [("authorization", bearer.as_str()), ("accept", "application/json, text/event-stream")];
    let refused = |method: &str, headers: &[(&str, &str)], body: Option<&str>, status: u16, code: i32| {
        let answer = server.request(method, "/mcp", headers, body);
        // What is of the library's making comes in pieces.
        assert!(answer.head.contains("\r\ncontent-type: application/json"), "{answer:?}");
        let line = answer.body.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{answer:?}"));
        let document: Value = serde_json::from_str(line).unwrap();
        let error = &document["error"];
        assert_eq!((answer.status, &error["code"], document.get("result")), (status, &json!(code), None), "{answer:?}");
        let (message, data) = (&error["message"], &error["data"]);
        assert!(message.as_str().is_some_and(|text| !text.is_empty()), "{answer:?}");
        assert_eq!((&data["code"], &data["message"]), (&json!("REQUEST_INVALID"), message), "{answer:?}");
        document
    };
    let ping = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
    let add = |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    for (body, code) in [
        ("", -32700),
        ("{not json", -32700),
        ("\u{feff}{}", -32700),
        (r#"{"a":{"$serde_json::private::RawValue":"{}"}}"#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
        (&add(r#"{"name":"todo_add","arguments":{"title":"a"},"arguments":{"title":"b"}}"#), -32700),
        (&add(r#"{"name":"todo_add","arguments":{"title":"a","\u0074itle":"b"}}"#), -32700),
        (&ping(&"9".repeat(400)), -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"1.0","method":"notifications/nope"}"#, -32600),
        (&ping("null"), -32600),
        (&ping("{}"), -32600),
        (&ping("1.5"), -32600),
        (&ping("9223372036854775808"), -32600),
        (&ping("99999999999999999999999"), -32600),
    ] {
        let document = refused("POST", &headers, Some(body), 400, code);
        let has_place = document["error"]["data"]["details"]["at"].is_string();
        assert_eq!(has_place, code == -32600, "{body}: {document}");
    }
    let shown = refused("POST", &headers, Some(&ping("1.5")), 400, -32600);
    assert_eq!((&shown["error"]["data"]["details"]["at"], shown.get("id")), (&json!("/id"), None), "{shown}");
    assert!(shown["error"]["message"].as_str().unwrap().contains("1.5"), "{shown}");
    // What is refused by its headers is told in the same form, under its number.
    let kind = |kind: &'static str| [headers[0], headers[1], ("content-type", kind)];
    for (headers, status) in [
        (&headers[..1], 406),
        (&[headers[0], ("accept", "application/json")], 406),
        (&kind("text/plain"), 415),
        (&[headers[0], headers[1], ("mcp-protocol-version", "1999-01-01")], 400),
    ] {
        let document = refused("POST", headers, Some(&ping("7")), status, -32600);
        assert_eq!(document["id"], 7, "{document}");
    }
    for (method, status) in [("GET", 406), ("DELETE", 400)] {
        refused(method, &headers[..1], None, status, -32600);
    }
    assert_eq!(server.get("/api/packages/todo/ledger")["total"], 1, "nothing but the first state is there");
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "x")];
    let answer = post(&server, &server.agent, &headers, &message("tools/call", json!({"name": "x", "arguments": []})));
    assert!(answer.body.contains("-32602"), "{answer:?}");
}
