//! The link for whoever starts a server on a terminal: it signs in once, and is no token.

use super::Server;
use crate::support::terminal::Terminal;
use crate::support::{Machine, todo};

#[test]
fn a_link_signs_a_person_in_once_and_is_no_token() {
    let machine = Machine::new();
    let terminal = Terminal::open();
    let mut command = Server::command(&machine, &["--log=json", &todo()]);
    let mut server = Server::begin(command.stderr(terminal.end()));
    // Its end of the terminal would stay open with it.
    drop(command);
    let said = terminal.seen_until("\n");
    // A terminal holds less than there is to log.
    let log = std::thread::spawn(|| terminal.printed());
    let path = said.trim_end().rsplit(&format!("http://{}", server.address)).next().unwrap();
    let code = path.strip_prefix("/enter?code=").unwrap_or_else(|| panic!("{said:?}"));
    let enter = |method: &str, path: &str| server.request(method, path, &[], None);
    // Who guesses, or only looks where it leads, uses nothing up.
    let (cut, twice) = (&path[..path.len() - 1], format!("{path}&code={code}"));
    for (method, path) in [
        ("HEAD", path),
        ("GET", "/enter"),
        ("GET", "/enter?code="),
        ("GET", cut),
        ("GET", &twice),
        ("GET", &format!("/enter?code={}", server.operator)),
    ] {
        let refused = enter(method, path);
        assert_eq!((refused.status, refused.header("set-cookie")), (403, None), "{method} {path}: {refused:?}");
    }
    let entered = enter("GET", path);
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")), "{entered:?}");
    for (name, value) in [("referrer-policy", "no-referrer"), ("cache-control", "no-store")] {
        assert_eq!(entered.header(name), Some(value), "{entered:?}");
    }
    let (cookie, attributes) = entered.header("set-cookie").unwrap().split_once("; ").unwrap();
    assert_eq!(attributes, "path=/; httponly; samesite=strict");
    for secret in [code, &server.operator, &server.agent] {
        assert!(!cookie.contains(&secret.to_ascii_lowercase()) && !entered.body.contains(secret), "{entered:?}");
    }
    let again = enter("GET", path);
    assert_eq!((again.status, again.header("set-cookie")), (403, None), "{again:?}");

    let with = |cookie: &str, path: &str| server.request("GET", path, &[("cookie", cookie)], None);
    assert_eq!(with(cookie, "/").status, 200);
    assert_eq!(with(cookie, "/packages/todo").status, 200);
    let again = with(cookie, path);
    assert_eq!((again.status, again.header("set-cookie")), (303, None), "who is signed in is led on: {again:?}");
    let code_as_cookie = format!("{}={code}", cookie.split('=').next().unwrap());
    for other in [&cookie[..cookie.len() - 1], &format!("{cookie}0"), &code_as_cookie] {
        assert_eq!(with(other, "/packages/todo").status, 401, "{other}");
    }
    // As a browser's password it opens nothing that a program uses, and changes nothing from other pages.
    for path in ["/api/packages", "/mcp", "/openapi.json", "/api/events"] {
        with(cookie, path).fault(401, "AUTHENTICATION_REQUIRED");
    }
    let form = ("content-type", "application/x-www-form-urlencoded");
    let origin = format!("http://{}", server.address);
    for (origin, status) in [(None, 403), (Some("https://evil.example"), 403), (Some(origin.as_str()), 200)] {
        let headers = [Some(("cookie", cookie)), Some(form), origin.map(|origin| ("origin", origin))];
        let headers: Vec<(&str, &str)> = headers.into_iter().flatten().collect();
        let answer = server.request("POST", "/packages/todo/commands/0", &headers, Some("title=milk"));
        assert_eq!(answer.status, status, "{answer:?}");
    }
    // Who signs out does so from a page of this server; the session is over for good, and the code too.
    let leave =
        |cookie: &str, origin: &str| server.request("POST", "/leave", &[("cookie", cookie), ("origin", origin)], None);
    let button = "action=\"/leave\"";
    assert!(with(cookie, "/").body.contains(button));
    assert_eq!(leave(cookie, "https://evil.example").status, 403);
    assert_eq!(leave(&code_as_cookie, &origin).status, 401);
    assert_eq!(with(cookie, "/").status, 200);
    let left = leave(cookie, &origin);
    let (name, session) = cookie.split_once('=').unwrap();
    let forgotten = format!("{name}=; max-age=0; path=/; httponly; samesite=strict");
    assert_eq!((left.status, left.header("set-cookie")), (200, Some(forgotten.as_str())), "{left:?}");
    assert_eq!((with(cookie, "/").status, leave(cookie, &origin).status), (401, 401));
    assert_eq!(enter("GET", path).status, 403);
    server.end();
    server.child.wait().unwrap();
    let log = log.join().unwrap();
    assert!(log.contains("\"path\":\"/enter\"") && !log.contains(code) && !log.contains(session), "{log}");
}

#[test]
fn there_is_no_link_where_nobody_looks() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    assert_eq!(server.request("GET", "/enter?code=", &[], None).status, 403);
    server.end();
    let (_, said) = server.ended();
    assert!(!said.contains("enter"), "{said}");
}
