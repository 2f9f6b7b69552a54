//! The pages, as a browser without any script uses them: links, forms, and a password that it sends with every request.

use super::{Answer, Server};
use crate::support::{Machine, package, repository, todo};
use data_encoding::BASE64;

/// A person at a browser.
struct Person<'s> {
    server: &'s Server,
    basic: String,
    origin: String,
}

impl Person<'_> {
    fn of<'s>(server: &'s Server, token: &str) -> Person<'s> {
        let basic = format!("Basic {}", BASE64.encode(format!("ada:{token}").as_bytes()));
        Person { server, basic, origin: format!("http://{}", server.address) }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Answer {
        let answer = self.server.request("GET", path, &[("authorization", &self.basic)], None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        is_page(&answer);
        answer
    }

    fn post(&self, path: &str, fields: &str) -> Answer {
        let headers = [
            ("authorization", self.basic.as_str()),
            ("origin", self.origin.as_str()),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.server.request("POST", path, &headers, Some(fields))
    }

    /// Where a button leads once it was pressed.
    #[track_caller]
    fn press(&self, path: &str) -> String {
        let answer = self.post(path, "");
        assert_eq!(answer.status, 303, "{path}: {answer:?}");
        answer.header("location").unwrap().to_owned()
    }

    /// The path of a command's form.
    #[track_caller]
    fn form_of(&self, command: &str) -> String {
        let page = self.get("/packages/todo").body;
        let end = page.find(&format!("\">{command}</a>")).unwrap_or_else(|| panic!("{command}: {page}"));
        page[..end].rsplit("href=\"").next().unwrap().to_owned()
    }
}

/// What no page is without.
#[track_caller]
fn is_page(answer: &Answer) {
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{answer:?}");
    let policy = answer.header("content-security-policy").unwrap_or_default();
    assert!(policy.starts_with("default-src 'none'; style-src 'self'; form-action 'self'"), "{answer:?}");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("script"), "{answer:?}");
    assert!(!answer.head.contains("set-cookie") && !answer.body.to_lowercase().contains("<script"), "{answer:?}");
}

/// The path of the first form whose path ends so.
#[track_caller]
fn action<'p>(page: &'p Answer, end: &str) -> &'p str {
    let all = page.body.split("action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    all.filter(|path| path.ends_with(end)).last().unwrap_or_else(|| panic!("{end}: {page:?}"))
}

#[test]
fn the_whole_story_without_a_script() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    // A password stays with the browser, so there is nothing to sign out of.
    assert!(!ada.get("/").body.contains("/leave"));
    assert!(ada.post("/leave", "").body.contains("Not signed out"));
    assert!(ada.get("/").body.contains("href=\"/packages/todo\""));
    let form = ada.form_of("add");
    let shown = ada.get(&form).body;
    assert!(shown.contains("name=\"title\"") && shown.contains("<label for="), "{shown}");
    // A plan shows what would change, and nothing is done yet.
    let plan = ada.post(&form, "title=Write+%3Cscript%3Edocs");
    is_page(&plan);
    assert!(plan.status == 200 && plan.body.contains("Write &lt;script&gt;docs"), "{plan:?}");
    assert!(plan.body.contains("class=\"more\""), "{plan:?}");
    assert_eq!(server.get("/api/packages/todo/ledger")["items"][0]["kind"], "plan");
    let entry = ada.press(action(&plan, "/apply"));
    let at = entry.rsplit('/').next().unwrap();
    let page = ada.get(&entry);
    assert!(page.body.contains("operator") && page.body.contains("Write &lt;script&gt;docs"), "{page:?}");
    let verified = ada.post(action(&page, "/verify"), "");
    is_page(&verified);
    assert!(verified.body.contains("Verified"), "{verified:?}");
    assert!(page.body.contains("<strong>Done. </strong>Carried out <code>"), "{page:?}");
    // What changed something stands first, and has its undo; what only looked is folded.
    let history = ada.get("/packages/todo/history");
    let (changes, others) = history.body.split_once("<details>").unwrap();
    assert!(changes.contains("Carried out <code>") && changes.contains(">Undo</button>"), "{changes}");
    assert!(!changes.contains("Previewed") && others.contains("Previewed <code>"), "{history:?}");
    assert!(!others.contains("/undo\""), "{others}");
    let undone = ada.press(action(&history, "/undo"));
    assert!(ada.get(&undone).body.contains("undo"));
    // What was taken back is not offered to be taken back; what did that is.
    let after = ada.get("/packages/todo/history").body;
    assert!(after.contains(&format!("action=\"{undone}/undo\"")), "{after}");
    assert!(!after.contains(&format!("action=\"{entry}/undo\"")), "{after}");
    assert!(!ada.get(&entry).body.contains("/undo\""));
    // Files are there as every entry left them, and the head can be written down.
    let head = machine.run(["ledger", "show", &todo()]).result("ledger show")["head"].as_str().unwrap().to_owned();
    assert!(ada.get("/packages/todo/history").body.contains(&head));
    let link = |page: &Answer, part: &str| {
        let all = page.body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let found = all.map(|path| path.replace("&amp;", "&")).find(|path| path.contains(part));
        found.unwrap_or_else(|| panic!("{part}: {page:?}"))
    };
    let volumes = ada.get(&link(&ada.get(&entry), "/files?at="));
    let folder = ada.get(&link(&volumes, &format!("/files?at={at}&path=")));
    let file = ada.get(&link(&folder, &format!("/file?at={at}&path=")));
    assert!(file.body.contains("Write &lt;script&gt;docs"), "{file:?}");
    assert!(file.body.contains(&format!("As entry {at} left it")), "{file:?}");
    let now = link(&file, "/raw?").replace(&format!("/raw?at={at}&"), "/file?");
    let gone = server.request("GET", &now, &[("authorization", &ada.basic)], None);
    is_page(&gone);
    assert_eq!(gone.status, 404, "the call that made it was taken back: {gone:?}");
    let raw = server.request("GET", &link(&file, "/raw?"), &[("authorization", &ada.basic)], None);
    assert!(raw.body.contains("Write <script>docs"), "{raw:?}");
    assert_eq!(raw.header("content-disposition"), Some("attachment"));
    assert_eq!(raw.header("content-type"), Some("application/octet-stream"));
    assert!(raw.header("content-security-policy").is_some_and(|policy| policy.starts_with("default-src 'none'")));
    let list = ada.post(&ada.form_of("list"), "");
    assert!(list.status == 200 && !list.body.contains("docs"), "{list:?}");
}

/// What reads is read at once and drawn as a table; a mistake keeps what was typed and stands at its field; what was done has its undo.
#[test]
fn forms_are_for_people() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    let form = ada.form_of("add");
    // What is required stands first, and nothing that only a line needs stands there.
    let page = ada.get(&form).body;
    let names: Vec<&str> = page.split(" name=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(names, ["viewport", "title", "description", "due-at", "due-at:time"], "{page}");
    assert!(page.contains("type=\"date\""), "{page}");
    // Where an instant may stand beside a date, a time of day makes one of it, and is nothing by itself.
    let timed = ada.post(&form, "title=Ring&due-at=2026-04-05&due-at%3Atime=17%3A00");
    assert!(timed.status == 200 && timed.body.contains("2026-04-05T17:00:00Z"), "{timed:?}");
    let dayless = ada.post(&form, "title=Ring&due-at=&due-at%3Atime=17%3A00");
    assert!(dayless.status == 400 && dayless.body.contains("value=\"17:00\""), "{dayless:?}");
    assert_eq!(dayless.body.matches("aria-invalid=\"true\"").count(), 2, "{dayless:?}");
    let wrong = ada.post(&form, "title=Buy+%3Cmilk%3E&due-at=tomorrow");
    is_page(&wrong);
    assert_eq!(wrong.status, 400, "{wrong:?}");
    for kept in ["value=\"Buy &lt;milk&gt;\"", "value=\"tomorrow\"", "aria-invalid=\"true\""] {
        assert_eq!(wrong.body.matches(kept).count(), 1, "{kept}: {wrong:?}");
    }
    assert!(!wrong.body.contains("--unchecked") && !wrong.body.contains("hutch meta"), "{wrong:?}");
    assert_eq!(server.get("/api/packages/todo/ledger")["items"][0]["kept"], false, "nothing was done");
    let done = ada.get(&ada.press(action(&ada.post(&form, "title=Buy+%3Cmilk%3E"), "/apply")));
    assert!(done.body.contains("Done.") && done.body.find("Buy &lt;milk&gt;") < done.body.find("Fuel"), "{done:?}");
    let shown = ada.post(action(&ada.get("/packages/todo"), "/commands/1"), "");
    assert!(shown.body.contains("<td>Buy &lt;milk&gt;</td>") && !shown.body.contains("/apply\""), "{shown:?}");
    // The application asks for a confirmation of its own, and nobody is asked for it here.
    let remove = ada.form_of("remove");
    assert!(!ada.get(&remove).body.contains("name=\"confirm\""));
    let plan = ada.post(&remove, "id=td_0001");
    assert!(plan.body.contains("A person must agree") && plan.body.contains("would be taken away"), "{plan:?}");
    let gone = ada.press(action(&plan, "/apply"));
    assert_eq!(machine.todo(&["list"]).answer()["count"], 0);
    ada.press(action(&ada.get(&gone), "/undo"));
    assert_eq!(machine.todo(&["list"]).answer()["count"], 1);
}

#[test]
fn what_needs_consent_waits_for_a_person_who_may_give_it() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let (ada, agent) = (Person::of(&server, &server.operator), Person::of(&server, &server.agent));
    assert!(ada.get("/approvals").body.contains("Nothing waits"));
    server.post("/api/packages/todo/run", &serde_json::json!({"arguments": ["add", "milk"]}));
    let remove = serde_json::json!({"arguments": ["remove", "td_0001", "--confirm"]});
    let ask = || server.ask_as(&server.agent, "POST", "/api/packages/todo/run", Some(&remove));
    ask().fault(409, "CONFIRMATION_REQUIRED");
    let waiting = agent.get("/approvals");
    assert!(waiting.body.contains("td_0001") && !waiting.body.contains("/apply"), "{waiting:?}");
    let path = action(&ada.get("/approvals"), "/apply").to_owned();
    assert_eq!(agent.post(&path, "").status, 409);
    assert_eq!(agent.post(&path.replace("/apply", "/decline"), "").status, 403);
    // Declined, it waits no more; asked for again, it does.
    assert_eq!(ada.press(&path.replace("/apply", "/decline")), "/approvals");
    assert!(ada.get("/approvals").body.contains("Nothing waits"));
    ask().fault(409, "CONFIRMATION_REQUIRED");
    let path = action(&ada.get("/approvals"), "/apply").to_owned();
    assert!(ada.get(&ada.press(&path)).body.contains("apply"));
    assert!(ada.get("/approvals").body.contains("Nothing waits"));
}

#[test]
fn what_waits_is_found_after_a_restart_and_declined_by_any_name_of_its_plan() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    server.post("/api/packages/todo/run", &serde_json::json!({"arguments": ["add", "milk"]}));
    let remove = serde_json::json!({"arguments": ["remove", "td_0001", "--confirm"]});
    let ask = |server: &Server| server.ask_as(&server.agent, "POST", "/api/packages/todo/run", Some(&remove));
    let asked = ask(&server).fault(409, "CONFIRMATION_REQUIRED");
    // The same once more is the same question.
    ask(&server).fault(409, "CONFIRMATION_REQUIRED");
    let ada = Person::of(&server, &server.operator);
    assert_eq!(ada.get("/approvals").body.matches("/apply\"").count(), 1);
    server.end();
    server.ended();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    assert!(ada.get("/approvals").body.contains("Nothing waits"));
    let plan = asked["details"]["plan"].as_str().unwrap();
    let path = format!("/api/packages/todo/apply/{plan}");
    server.ask_as(&server.agent, "POST", &path, Some(&serde_json::json!({}))).fault(409, "CONFIRMATION_REQUIRED");
    let waiting = ada.get("/approvals");
    assert!(waiting.body.contains("td_0001") && waiting.body.contains("modified state/todos.json"), "{waiting:?}");
    let decline = |plan: &str| ada.post(&format!("/packages/todo/plans/{plan}/decline"), "").status;
    assert_eq!((decline("0123456789ab"), decline(&plan[..12])), (404, 303));
    assert!(ada.get("/approvals").body.contains("Nothing waits"));
}

#[test]
fn a_preview_asks_nobody_for_what_cannot_be_carried_out() {
    let machine = Machine::new();
    machine.todo(&["add", "milk"]).answer();
    // What would make tokens makes none, and says so.
    let listed = |folder: std::path::PathBuf| {
        let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listed(machine.home());
    machine.run(["serve", "--dry-run", "--listen", "127.0.0.1:0", &todo()]).fault("USAGE", 2);
    assert_eq!(listed(machine.home()), before);
    let file = machine.write("tokens", format!("operator read,run,confirm {}\n", "o".repeat(40)));
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = Server::start(&machine, &["--dry-run", "--token-file", file.to_str().unwrap(), &todo()]);
    let remove = serde_json::json!({"arguments": ["remove", "td_0001", "--confirm"]});
    let refused = server.ask("POST", "/api/packages/todo/run", Some(&remove)).fault(409, "CONFIRMATION_REQUIRED");
    assert!(refused["fixes"].as_array().is_none_or(Vec::is_empty), "{refused}");
    assert!(Person::of(&server, &server.operator).get("/approvals").body.contains("Nothing waits"));
}

#[test]
fn a_page_is_shown_to_whom_the_browser_knows_and_changed_from_itself_alone() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    for headers in [&[][..], &[("authorization", "Basic YTpi")], &[("authorization", "Basic %")]] {
        for path in ["/", "/packages/todo", "/approvals", "/packages/none"] {
            let refused = server.request("GET", path, headers, None);
            is_page(&refused);
            assert_eq!(refused.status, 401, "{path} {refused:?}");
            assert!(refused.header("www-authenticate").is_some_and(|asked| asked.starts_with("basic ")), "{refused:?}");
        }
    }
    assert_eq!(server.request("GET", "/style.css", &[], None).status, 200);
    // The password of a browser opens nothing that a program uses: another page could have it sent.
    for path in ["/api/packages", "/mcp", "/openapi.json", "/api/events"] {
        let refused = server.request("GET", path, &[("authorization", &ada.basic)], None);
        refused.fault(401, "AUTHENTICATION_REQUIRED");
    }
    for (method, path, allowed) in [
        ("DELETE", "/packages/todo/history", "get, head"),
        ("POST", "/", "get, head"),
        ("GET", "/packages/todo/entries/1/undo", "post"),
        ("PUT", "/packages/todo/commands/0", "get, head, post"),
    ] {
        let headers = [("authorization", format!("Bearer {}", server.operator))];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = server.request(method, path, &headers, None);
        assert_eq!((refused.status, refused.header("allow")), (405, Some(allowed)), "{method} {path}");
    }
    let total = || server.get("/api/packages/todo/ledger")["total"].clone();
    assert_eq!(total(), 1, "nothing was added but the instance itself");
    let form = ada.form_of("add");
    let before = total();
    let own = format!("http://{}", server.address);
    let of_form = ("content-type", "application/x-www-form-urlencoded");
    for (headers, status) in [
        (&[of_form][..], 403),
        (&[of_form, ("origin", "https://evil.example")], 403),
        (&[of_form, ("origin", "null")], 403),
        (&[of_form, ("origin", own.as_str()), ("sec-fetch-site", "cross-site")], 403),
        (&[("content-type", "text/plain"), ("origin", own.as_str())], 415),
        (&[("content-type", "multipart/form-data; boundary=x"), ("origin", own.as_str())], 400),
    ] {
        let known = ("authorization", ada.basic.as_str());
        let refused = server.request("POST", &form, &[headers, &[known]].concat(), Some("title=milk"));
        assert_eq!(refused.status, status, "{headers:?} {refused:?}");
    }
    for (path, status) in
        [("/packages/none", 404), ("/packages/todo/commands/99", 404), ("/packages/todo/entries/99", 404)]
    {
        let refused = server.request("GET", path, &[("authorization", &ada.basic)], None);
        is_page(&refused);
        assert_eq!(refused.status, status, "{refused:?}");
    }
    // Nor does a page of another site have anything carried out by leading here.
    let cross = [("authorization", ada.basic.as_str()), ("sec-fetch-site", "cross-site")];
    let led = server.request("GET", "/packages/todo", &cross, None);
    assert!(led.status == 200 && !led.body.contains("<h2><a "), "{led:?}");
    assert_eq!(total(), before, "nothing was added");
}

/// What only reads and needs be told nothing is carried out as a package's first page is shown, and no entry tells of it.
#[test]
fn the_first_page_shows_how_it_stands() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    let list = || server.post("/api/packages/todo/run", &serde_json::json!({"arguments": ["list"]}));
    let total = || server.get("/api/packages/todo/ledger")["total"].as_u64().unwrap();
    // Compiled by now, as by whoever has used it before.
    list();
    let empty = ada.get("/packages/todo").body;
    assert_eq!(empty.matches("<p>There is nothing.</p>").count(), 3, "{empty}");
    assert!(empty.contains("<h2><a "), "{empty}");
    for at in 0..21 {
        let add = ["add".to_owned(), format!("milk {at}")];
        server.post("/api/packages/todo/run", &serde_json::json!({"arguments": add}));
    }
    let page = ada.get("/packages/todo").body;
    let (stands, commands) = page.split_once("<h2>Commands</h2>").unwrap();
    assert!(stands.contains("<td>milk 0</td>") && stands.contains("<td>milk 19</td>"), "{stands}");
    assert!(!stands.contains("<td>milk 20</td>") && stands.contains("1 more are not shown."), "{stands}");
    assert!(commands.contains(">add</a>"), "{commands}");
    assert_eq!(total(), 23, "the first state, one list and what was added");
    // Whoever presses a button has done something.
    assert_eq!(ada.post(&ada.form_of("list"), "").status, 200);
    assert_eq!(total(), 24);
    // However much is read, what changed something stands first.
    (0..50).for_each(|_| drop(list()));
    let history = ada.get("/packages/todo/history").body;
    let (changes, others) = history.split_once("<details>").unwrap();
    assert!(changes.contains("todo add milk 20"), "{changes}");
    assert!(others.contains("50 more of the last"), "{others}");
    assert!(!ada.get("/packages/todo/entries").body.contains("milk"), "the last of all were reads");
    assert!(ada.get("/packages/todo/entries?offset=50").body.contains("milk 20"));
    // A token that may only read has nothing run.
    let file = machine.write("tokens", format!("reader read {}\n", "r".repeat(40)));
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = Server::start(&machine, &["--token-file", file.to_str().unwrap(), &todo()]);
    let reader = Person::of(&server, &"r".repeat(40));
    assert!(!reader.get("/packages/todo").body.contains("milk"));
}

#[test]
fn what_only_says_that_it_reads_changes_nothing_by_a_page() {
    let machine = Machine::new();
    let shown = |package: &std::path::Path, words: &[&str]| {
        let server = Server::start(&machine, &[words, &[package.to_str().unwrap()]].concat());
        let ada = Person::of(&server, &server.operator);
        let page = ada.get("/packages/probe").body;
        let (stands, _) = page.split_once("<h2>Commands</h2>").unwrap();
        (stands.to_owned(), ada.get("/packages/probe/files?path=state").body, server.get("/api/packages/probe/ledger"))
    };
    // A failure is a line.
    let (stands, ..) = shown(&package::copy(&machine, "honest"), &[]);
    for line in ["said nothing, so nothing of what it did is kept [GUEST_FAILED]</p>", "[GUEST_TRAPPED]</p>"] {
        assert_eq!(stands.matches(line).count(), 1, "{line}: {stands}");
    }
    // Each of its commands writes a file, and that is told as any failure is.
    let (entry, writes) = ("command: wasm:app.wasm\n", "command: wasm:app.wasm write-text state/note\n");
    let liar = package::with_manifest(&machine, "liar", entry, writes);
    let (stands, files, ledger) = shown(&liar, &["--instance", "liar"]);
    assert_eq!(stands.matches("[CONTRACT_VIOLATION]</p>").count(), 3, "{stands}");
    assert!(files.contains("It is empty."), "{files}");
    assert_eq!(ledger["total"], 1, "{ledger}");
    // One that never ends keeps nobody from the page, and what comes after it is not begun.
    let slow = package::copy(&machine, "slow");
    let path = slow.join("schemas/commands.json");
    let mut contract: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let commands = contract["commands"].as_array_mut().unwrap();
    commands.retain(|command| command["name"] == "spin" || command["name"] == "clock");
    std::fs::write(&path, contract.to_string()).unwrap();
    let endless = ["--instance", "slow", "--limit", "fuel=1000000000000000", "--limit", "wall_time_ms=600000"];
    let (stands, ..) = shown(&slow, &endless);
    assert_eq!(stands.matches("Not shown: it would take longer than").count(), 2, "{stands}");
}

#[test]
fn a_form_has_so_many_fields() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    let form = ada.form_of("add");
    for count in [1000, 1001] {
        let refused = ada.post(&form, &vec!["x=1"; count].join("&"));
        assert_eq!((refused.status, refused.body.contains("at most 1000")), (400, count > 1000), "{refused:?}");
    }
}

#[test]
fn a_file_may_stand_on_standard_input_whatever_its_bytes() {
    let machine = Machine::new();
    let convert = repository().join("packages/convert");
    let server = Server::start(&machine, &[convert.to_str().unwrap(), &todo()]);
    let ada = Person::of(&server, &server.operator);
    let form = ada.get("/packages/convert/commands/0").body;
    assert!(form.contains("enctype=\"multipart/form-data\"") && form.contains("type=\"file\""), "{form}");
    assert!(!ada.get(&ada.form_of("add")).body.contains("enctype"), "a command that reads nothing takes no file");
    let content = std::fs::read(convert.join("samples/budget.xlsx")).unwrap();
    assert!(std::str::from_utf8(&content).is_err());
    let part = |about: &str, content: &[u8]| {
        let head = format!("--mark\r\nContent-Disposition: form-data; name={about}\r\n\r\n");
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    let send = |parts: &[Vec<u8>]| {
        let body = [parts.concat(), b"--mark--\r\n".to_vec()].concat();
        let head = format!(
            "POST /packages/convert/commands/0 HTTP/1.1\r\nconnection: close\r\nhost: {}\r\norigin: {}\r\nauthorization: {}\r\n\
             content-type: multipart/form-data; boundary=mark\r\ncontent-length: {}\r\n\r\n",
            server.address,
            ada.origin,
            ada.basic,
            body.len()
        );
        server.raw(&[head.into_bytes(), body].concat())
    };
    let (name, kind) = (part("\"file\"", b"-"), part("\"as\"", b"csv"));
    let file = part("\"stdin-file\"; filename=\"budget.xlsx\"", &content);
    let shown = send(&[name.clone(), kind.clone(), part("\"stdin\"", b"# Text"), file.clone()]);
    is_page(&shown);
    assert!(shown.status == 200 && shown.body.contains("2026-04-01,Rent,1200"), "{shown:?}");
    // Where none was chosen, the text counts.
    let none = part("\"stdin-file\"; filename=\"\"", b"");
    let shown = send(&[name.clone(), part("\"stdin\"", b"# Hi"), none]);
    assert!(shown.status == 200 && shown.body.contains("&lt;h1&gt;Hi&lt;/h1&gt;"), "{shown:?}");
    for refused in [&[name.clone(), file.clone(), file][..], &[part("\"as\"; filename=\"x\"", b"csv")]] {
        assert_eq!(send(refused).status, 400);
    }
}

#[test]
fn nobody_agrees_to_what_was_cut() {
    let machine = Machine::new();
    let server = Server::start(&machine, &[&todo()]);
    let ada = Person::of(&server, &server.operator);
    let fill = |count: usize| {
        let item = |at| serde_json::json!({"title": format!("keep me {at}"), "description": "x".repeat(4000)});
        let items: Vec<_> = (0..count).map(item).collect();
        let batch =
            serde_json::json!({"arguments": ["add", "--json-input"], "stdin": serde_json::json!(items).to_string()});
        assert_eq!(server.post("/api/packages/todo/run", &batch)["kept"], true);
    };
    let remove = |count: usize| {
        let each = |at: usize| serde_json::json!({"id": format!("td_{at:04}")});
        let items: Vec<_> = (1..=count).map(each).collect();
        let stdin = serde_json::json!(items).to_string();
        serde_json::json!({"arguments": ["remove", "--confirm", "--json-input"], "stdin": stdin})
    };
    let ask = |count| server.ask_as(&server.agent, "POST", "/api/packages/todo/run", Some(&remove(count)));
    // More than a question shows: the page has all of it, folded.
    fill(1);
    let asked = ask(1).fault(409, "CONFIRMATION_REQUIRED");
    let question = asked["details"]["question"].as_str().unwrap();
    assert!(question.contains("more characters are not shown") && !question.contains("keep me 0"), "{question}");
    let page = ada.get("/approvals");
    assert!(page.body.contains("<details>") && page.body.contains("keep me 0"), "{page:?}");
    assert_eq!(page.body.matches("/apply\"").count(), 1, "{page:?}");
    // More than a page shows: it asks for no consent, and says where that is given.
    fill(29);
    let refused = ask(30).fault(409, "CONFIRMATION_REQUIRED");
    let suggestion = refused["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("approvals, which says") && !suggestion.contains("agree to it there"), "{refused}");
    let plan = refused["details"]["plan"].as_str().unwrap().to_owned();
    let page = ada.get("/approvals");
    let asked = page.body.split("<section").find(|part| part.contains(&plan[..12])).unwrap();
    assert!(!asked.contains("/apply\"") && asked.contains("nobody can agree to it here"), "{asked}");
    assert!(asked.contains("hutch apply --yes") && asked.contains("/decline\""), "{asked}");
}

#[test]
fn nobody_agrees_to_a_call_so_long_that_its_change_is_cut_off() {
    let machine = Machine::new();
    let skills = "skills:\n  - probe-usage\n";
    let asking = format!("confirmationRequired:\n  - write-text\n{skills}");
    let probe = package::with_manifest(&machine, "asking", skills, &asking);
    let server = Server::start(&machine, &[probe.to_str().unwrap()]);
    let ada = Person::of(&server, &server.operator);
    let section = |path: &str| {
        let write = serde_json::json!({"arguments": ["write-text", path, "x"]});
        let asked = server.ask_as(&server.agent, "POST", "/api/packages/probe/run", Some(&write));
        let plan = asked.fault(409, "CONFIRMATION_REQUIRED")["details"]["plan"].as_str().unwrap().to_owned();
        let page = ada.get("/approvals").body;
        page.split("<section").find(|part| part.contains(&plan[..12])).unwrap().to_owned()
    };
    let asked = section("state/evil");
    assert!(asked.contains("/apply\"") && !asked.contains("nobody can agree to it here"), "{asked}");
    let asked = section(&format!("state/{}evil", "/".repeat(100_000)));
    assert!(asked.contains("more characters are not shown") && !asked.contains("/apply\""), "the change is cut off");
    assert!(asked.contains("nobody can agree to it here") && asked.contains("/decline\""));
    // What it would change stands there by itself.
    assert!(asked.split_once("<details>").is_some_and(|(_, change)| change.contains("added state/evil")));
}
