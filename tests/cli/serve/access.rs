//! Who is let in, and for what.

use super::Server;
use crate::support::{Machine, todo};
use serde_json::json;

const RUN: &str = "/api/packages/todo/run";

#[test]
fn without_a_known_token_there_is_nothing_but_whether_it_lives() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.request("GET", path, &[], None).status, 200, "{path}");
    }
    let operator = format!("Bearer {}", server.operator);
    let cut = operator[..operator.len() - 1].to_owned();
    let longer = format!("{operator}x");
    for headers in [
        &[][..],
        &[("authorization", "")],
        &[("authorization", "Bearer")],
        &[("authorization", cut.as_str())],
        &[("authorization", longer.as_str())],
        &[("authorization", server.operator.as_str())],
        &[("authorization", operator.as_str()), ("authorization", operator.as_str())],
        &[("x-api-key", server.operator.as_str())],
        &[("cookie", server.operator.as_str())],
    ] {
        for (method, path) in
            [("GET", "/api/packages"), ("GET", "/openapi.json"), ("GET", "/nothing"), ("POST", RUN), ("PUT", RUN)]
        {
            let refused = server.request(method, path, headers, None);
            refused.fault(401, "AUTHENTICATION_REQUIRED");
            assert!(refused.header("www-authenticate").is_some(), "{refused:?}");
        }
    }
    // Nor in the address, where it would be written into logs.
    server
        .request("GET", &format!("/api/packages?token={}", server.operator), &[], None)
        .fault(401, "AUTHENTICATION_REQUIRED");
    // No guest ran, and nothing was written down.
    assert_eq!(machine.run(["instance", "list"]).result("instance list")["total"], 0);
}

#[test]
fn a_token_is_good_for_its_scopes_alone() {
    let machine = Machine::new();
    let secret = |letter: &str| letter.repeat(40);
    let file = machine.write(
        "tokens",
        format!("looker read {}\nrunner run {}\nkeeper admin {}\n", secret("l"), secret("r"), secret("k")),
    );
    set_mode(&file, 0o600);
    let server = Server::start(&machine, &["--token-file", file.to_str().unwrap(), &todo()]);
    let add = json!({"arguments": ["add", "milk"]});
    let status = |letter: &str, method: &str, path: &str| {
        let body = (method == "POST").then(|| if path == RUN { add.clone() } else { json!({}) });
        server.ask_as(&secret(letter), method, path, body.as_ref()).status
    };
    assert_eq!(status("r", "POST", RUN), 200);
    for (method, path, good) in [
        ("GET", "/api/packages", "l"),
        ("GET", "/api/packages/todo/ledger", "l"),
        ("POST", "/api/packages/todo/verify", "l"),
        ("POST", "/api/packages/todo/undo", "r"),
        ("GET", "/api/server", "k"),
    ] {
        for letter in ["l", "r", "k"] {
            let expected = if letter == good { 200 } else { 403 };
            assert_eq!(status(letter, method, path), expected, "{letter} {method} {path}");
        }
    }
    let refused = server.ask_as(&secret("l"), "POST", RUN, Some(&add)).fault(403, "PERMISSION_DENIED");
    assert_eq!(refused["details"]["scope"], "run");
    let told = server.ask_as(&secret("k"), "GET", "/api/server", None).body;
    assert!(told.contains("looker") && !told.contains(&secret("l")), "{told}");
}

#[cfg(unix)]
fn set_mode(file: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(unix)]
#[test]
fn tokens_are_kept_where_nobody_else_reads_them() {
    use std::os::unix::fs::PermissionsExt;
    let machine = Machine::new();
    let (operator, agent) = {
        let server = Server::start(&machine, &[&todo()]);
        (server.operator.clone(), server.agent.clone())
    };
    assert!(operator.len() >= 43 && agent.len() >= 43 && operator != agent);
    let file = machine.path("person/.local/share/hutch/serve.tokens");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // They stay: who was told one need not be told again.
    assert_eq!(Server::start(&machine, &[&todo()]).operator, operator);
    set_mode(&file, 0o640);
    machine.run(["serve", &todo()]).fault("PERMISSION_DENIED", 11);
    let broken = machine.write("broken", "operator read short\n");
    set_mode(&broken, 0o600);
    let said = machine.run(["serve", "--token-file", broken.to_str().unwrap(), &todo()]).fault("USAGE", 2);
    assert!(said.message.contains("line 1"), "{}", said.message);
}

#[test]
fn a_page_that_leads_its_name_here_or_posts_from_elsewhere_is_refused() {
    let machine = Machine::new();
    let server = Server::start(&machine, &["--origin", "https://hutch.example", &todo()]);
    let bearer = format!("Bearer {}", server.operator);
    let known = ("authorization", bearer.as_str());
    let port = server.address.split(':').nth(1).unwrap();
    let (local, own) = (format!("localhost:{port}"), format!("http://localhost:{port}"));
    for (headers, status) in [
        (&[("host", local.as_str())][..], 200),
        (&[("host", "hutch.example")], 200),
        (&[("origin", own.as_str())], 200),
        (&[("origin", "https://hutch.example")], 200),
        (&[("host", "evil.example")], 403),
        (&[("host", &format!("evil.example:{port}"))], 403),
        (&[("host", "localhost")], 403),
        (&[("host", "")], 403),
        (&[("origin", "https://evil.example")], 403),
        (&[("origin", "null")], 403),
        (&[("origin", own.as_str()), ("origin", "https://evil.example")], 403),
        (&[("host", local.as_str()), ("host", local.as_str())], 400),
    ] {
        let answer = server.request("GET", "/api/packages", &[headers, &[known]].concat(), None);
        assert_eq!(answer.status, status, "{headers:?} {answer:?}");
        // Also where nobody need be known.
        assert_eq!(server.request("GET", "/healthz", headers, None).status, status, "{headers:?}");
    }
    let absolute =
        format!("GET http://evil.example/healthz HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", server.address);
    assert_eq!(server.raw(absolute.as_bytes()).status, 403);
    let body = json!({"arguments": ["add", "milk"]}).to_string();
    for (name, value, status) in [
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("content-type", "text/plain", 415),
        ("content-type", "application/x-www-form-urlencoded", 415),
        ("content-type", "multipart/form-data; boundary=x", 415),
        ("content-type", "application/json; charset=utf-16", 415),
    ] {
        let answer = server.request("POST", RUN, &[known, (name, value)], Some(&body));
        assert_eq!(answer.status, status, "{name}: {value} {answer:?}");
        answer.document();
    }
    assert_eq!(server.get("/api/packages/todo/ledger")["total"], 1, "nothing was added but the instance itself");
}

#[test]
fn who_would_be_heard_by_other_machines_says_under_which_name() {
    let machine = Machine::new();
    machine.run(["serve", "--listen", "0.0.0.0:0", &todo()]).fault("USAGE", 2);
    for origin in ["hutch.example", "ftp://hutch.example", "https://hutch.example/path", "https://"] {
        machine.run(["serve", "--origin", origin, &todo()]).fault("USAGE", 2);
    }
}

#[test]
fn answers_are_of_no_use_to_other_pages() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    for answer in [
        server.ask("GET", "/api/packages", None),
        server.ask("GET", "/nothing", None),
        server.raw(b"GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n"),
    ] {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
            ("cross-origin-resource-policy", "same-origin"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{answer:?}");
        }
        assert!(!answer.head.contains("access-control-allow") && !answer.head.contains("set-cookie"), "{answer:?}");
    }
}
