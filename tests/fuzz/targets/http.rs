//! What comes over a connection of the server: requests as bytes, as many as there are. Nothing is asked for but under the server's own
//! name, from no other page, and by a token whose scope it needs; paths are what they look like; what is refused has a status of its own;
//! and a request that has a name is the same one however its body is written.
//!
//! What begins with `t` is a file of tokens instead, of which no message tells a secret.
#![no_main]

use http::HeaderMap;
use hutch_fuzz::within;
use hutch_model::contract;
use hutch_serve::http::judge::{Judge, Judged, Meant};
use hutch_serve::http::{Bounds, Scope, Token};
use serde_json::Value;
use std::sync::LazyLock;
use std::time::Duration;

const READER: &str = "0123456789abcdef0123456789abcdef";
const RUNNER: &str = "fedcba9876543210fedcba9876543210";
const OWNER: &str = "00112233445566778899aabbccddeeff";
/// Secrets, who bears them and what they are good for.
const TOKENS: [(&str, &str, &[Scope]); 3] = [
    (READER, "reader", &[Scope::Read]),
    (RUNNER, "runner", &[Scope::Read, Scope::Run]),
    (OWNER, "owner", &[Scope::Read, Scope::Run, Scope::Confirm, Scope::Admin]),
];
const HOSTS: [&str; 4] = ["127.0.0.1:4000", "localhost:4000", "[::1]:4000", "hutch.example"];
const BODY_BYTES_MAX: usize = 2000;
const SECRET_CHARS_MIN: usize = 32;
/// What a request can be refused with.
const REFUSALS: [u16; 9] = [400, 401, 403, 404, 405, 408, 413, 415, 431];
/// A refusal by the package's contract.
const BY_CONTRACT: u16 = 0;

static JUDGE: LazyLock<Judge> = LazyLock::new(|| {
    let (file, problems) = contract::parse(include_str!("../../../packages/todo/schemas/commands.json"), "c.json");
    let contract = file.unwrap_or_else(|| panic!("{problems:?}")).contract().clone();
    let line = |(secret, name, scopes): &(&str, &str, &[Scope])| {
        let scopes: Vec<&str> = scopes.iter().map(|scope| scope.text()).collect();
        format!("{name} {} {secret}\n", scopes.join(","))
    };
    let tokens: String = TOKENS.iter().map(line).collect();
    let bounds = Bounds {
        body_bytes_max: BODY_BYTES_MAX,
        sent_within: Duration::from_secs(5),
        connections_max: 1,
        ended_within: Duration::ZERO,
    };
    let here = "127.0.0.1:4000".parse().unwrap_or_else(|error| panic!("{error}"));
    let judge = Judge::new(&tokens, here, &["https://hutch.example".to_owned()], ("todo", contract), bounds);
    judge.unwrap_or_else(|error| panic!("{error}"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    LazyLock::force(&JUDGE);
    if let Some(text) = bytes.strip_prefix(b"t") {
        within((1 << 20) + 400 * bytes.len(), || tokens(text));
        return;
    }
    let (judged, answered) = within((1 << 20) + 600 * bytes.len(), || JUDGE.judge(bytes));
    let begins = |part: &&[u8]| part.starts_with(b"HTTP/1.1 ") || part.starts_with(b"HTTP/1.0 ");
    // Who asks whether to go on is told so, and answered later.
    let answers = answered.windows(12).filter(begins).filter(|part| !part.ends_with(b" 100")).count();
    // A head that is none is answered before anybody judges it, and then the connection ends.
    assert!((judged.len()..=judged.len() + 1).contains(&answers), "{} requests, {answers} answers", judged.len());
    for one in &judged {
        check(one);
    }
});

fn all<'h>(headers: &'h HeaderMap, name: &str) -> Vec<&'h [u8]> {
    headers.get_all(name).iter().map(http::HeaderValue::as_bytes).collect()
}

fn is_one_of(found: &[u8], known: &[&str]) -> bool {
    known.iter().any(|known| found.eq_ignore_ascii_case(known.as_bytes()))
}

fn check(judged: &Judged) {
    let Judged { method, path, headers, meant, .. } = judged;
    let Meant { scope, token, asks, named } = match meant {
        Ok(meant) => meant,
        Err(status) => {
            assert!(REFUSALS.contains(status) || *status == BY_CONTRACT, "{method} {path}: {status}");
            return;
        }
    };
    let hosts = all(headers, "host");
    assert!(hosts.len() == 1 && is_one_of(hosts[0], &HOSTS), "{method} {path}: for another host");
    let origins = all(headers, "origin");
    let ours: Vec<String> = HOSTS.iter().map(|host| format!("http://{host}")).collect();
    let mut ours: Vec<&str> = ours.iter().map(String::as_str).filter(|one| *one != "http://hutch.example").collect();
    ours.push("https://hutch.example");
    assert!(origins.len() <= 1 && origins.iter().all(|origin| is_one_of(origin, &ours)), "by another page");
    let is_reading = matches!(method.as_str(), "GET" | "HEAD");
    let site = headers.get("sec-fetch-site").map(http::HeaderValue::as_bytes);
    assert!(is_reading || site.is_none_or(|site| is_one_of(site, &["same-origin", "none"])), "by another site");

    match scope {
        None => assert!(["/healthz", "/readyz"].contains(&path.as_str()), "{path} is for everybody"),
        Some(scope) => {
            let known = TOKENS.iter().find(|(_, name, _)| Some(*name) == token.as_deref());
            let (secret, _, scopes) = known.unwrap_or_else(|| panic!("{token:?} is nobody"));
            assert!(scopes.contains(scope), "{token:?} may not {scope:?}");
            let said = all(headers, "authorization");
            let said: Vec<&str> = said.iter().filter_map(|one| std::str::from_utf8(one).ok()).collect();
            let secrets: Vec<Option<(&str, &str)>> = said.iter().map(|one| one.split_once(' ')).collect();
            let [Some((scheme, found))] = secrets[..] else { panic!("{said:?} is one who may") };
            assert!(scheme.eq_ignore_ascii_case("bearer") && found.trim() == *secret, "{said:?} is {token:?}");
        }
    }
    assert!(!path.contains("//") && !path.ends_with('/') && !path.contains("/../"), "{path}");
    let asks = asks.as_deref().unwrap_or_default();
    let changes = ["Run(", "Plan(", "Apply", "Undo("].iter().any(|word| asks.starts_with(word));
    assert!(!changes || (method == "POST" && *scope == Some(Scope::Run)), "{method} {path}: {asks}");
    assert!(!asks.contains("confirmed: true") || token.as_deref() == Some("owner"), "{token:?}: {asks}");
    let keys = all(headers, "idempotency-key");
    assert_eq!(named.is_some(), keys.len() == 1 && method == "POST" && path != "/mcp", "{method} {path}: {keys:?}");
    if let (Some(named), [key]) = (named, &keys[..]) {
        same_request(judged, named, key);
    }
}

/// The same request, with a body that says the same in another form; and with another name.
fn same_request(judged: &Judged, named: &hutch_model::ledger::Request, key: &[u8]) {
    let Some((secret, ..)) = TOKENS
        .iter()
        .find(|(_, name, _)| judged.meant.as_ref().is_ok_and(|meant| meant.token.as_deref() == Some(*name)))
    else {
        return;
    };
    let Some(body) = &judged.body else { panic!("a request without a body has a name") };
    let value: Value = serde_json::from_slice(body).unwrap_or_else(|error| panic!("taken, and {error}"));
    let written = serde_json::to_string_pretty(&value).unwrap_or_else(|error| panic!("{error}"));
    if written.len() > BODY_BYTES_MAX {
        return;
    }
    let again = |key: &[u8]| {
        let head = format!(
            "POST {} HTTP/1.1\r\nhost: localhost:4000\r\nauthorization: bearer {secret}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nidempotency-key: ",
            judged.path,
            written.len()
        );
        let (judged, _) = JUDGE.judge(&[head.as_bytes(), key, b"\r\n\r\n", written.as_bytes()].concat());
        judged.into_iter().next().and_then(|judged| judged.meant.ok()?.named)
    };
    assert_eq!(again(key).as_ref(), Some(named), "written otherwise it is another request");
    let other = again(b"another-name-of-this-request").unwrap_or_else(|| panic!("with another name it is refused"));
    assert!(other.body == named.body && (other.key != named.key || key == b"another-name-of-this-request"));
}

fn tokens(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    match Token::read_all(text) {
        Ok(tokens) => {
            assert!(!tokens.is_empty());
            for (at, token) in tokens.iter().enumerate() {
                assert!(!token.scopes().is_empty() && !token.name().is_empty(), "a token of nobody");
                assert!(!tokens.iter().skip(at + 1).any(|other| other.name() == token.name()), "two of one name");
            }
        }
        Err(message) => {
            let mut words = text.split_whitespace().filter(|word| word.len() >= SECRET_CHARS_MIN);
            assert!(!words.any(|word| message.contains(word)), "{message:?} tells a secret");
        }
    }
}
