//! What people get who call the program themselves: whole tables on a screen of 80 columns, texts that fit, a pager for long ones,
//! and words that say what went wrong.

use crate::support::terminal::Terminal;
use crate::support::{Machine, probe, todo};
use serde_json::json;
use std::os::unix::fs::FileTypeExt;
use std::process::Command;

/// A terminal that does not say how large it is counts as 80 columns wide, and as high as can be. It is not told that something takes
/// long, however busy the machine is.
fn on_terminal(machine: &Machine, words: &[&str]) -> (i32, String) {
    Terminal::open().run(&mut machine.hutch([&["--no-progress"], words].concat()))
}

/// The probe prints what it is given.
fn drawn(machine: &Machine, document: &serde_json::Value) -> crate::support::Ran {
    let file = machine.write("document.json", document.to_string());
    machine.run(["run", "--human", "--stdin-file", file.to_str().unwrap(), &probe(), "stdin-echo"])
}

#[test]
fn a_table_of_anything_is_bounded() {
    let machine = Machine::new();
    let mut items = vec![json!({"z": 1}); 3000];
    items.push(json!({"K".repeat(100_000): 1, "z": 1}));
    let ran = drawn(&machine, &json!({"items": items}));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert!(ran.stdout.len() < 300_000 && ran.stdout.contains('…'), "{}", ran.stdout.len());

    // As many columns as rows: the widest table is 24 columns wide, and the largest has 100,000 cells.
    for (rows, shown) in [(2000, true), (30_000, false)] {
        let items: Vec<_> = (0..rows).map(|row| json!({format!("k{row}"): row})).collect();
        let document = json!({"items": items});
        let (ran, printed) = (drawn(&machine, &document), document.to_string());
        assert_eq!(ran.status, 0, "{rows}");
        assert_eq!(ran.stdout.ends_with("and 1964 more; --agent shows all\n"), shown, "{rows}");
        assert_eq!(ran.stdout == printed, !shown, "{rows}");
        assert!(ran.stdout.len() < 1 << 20, "{rows}: {}", ran.stdout.len());
    }
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!({"a": deep});
    }
    let deep = json!(vec![deep; 5000]);
    assert_eq!(drawn(&machine, &json!({"deep": {"items": deep}})).status, 0);
}

#[test]
fn a_list_says_what_else_its_application_said() {
    let machine = Machine::new();
    let items = json!([{"id": 1, "more": {"a": 1}}, {"id": 2}]);
    let ran = drawn(&machine, &json!({"ok": true, "items": items, "total": 105, "hasMore": true}));
    assert_eq!(ran.stdout, "ID\n1\n2\nnot shown: MORE; --agent shows all\n\nhasMore: yes  total: 105\n");
}

#[test]
fn tables_fit_the_screen() {
    let machine = Machine::new();
    let todo = todo();
    let title = "Ring the plumber about the dripping tap in the kitchen, and about the boiler too 買い物";
    let add = ["add", title, "--description", "He comes on Thursdays"];
    machine.run([&["run", &todo][..], &add].concat()).answer();
    for words in [
        &["run", "--human", &todo, "list"][..],
        &["ledger", "list", "--human", &todo],
        &["meta", "--human", &todo],
        &["find", "--human", "--in", &todo, "remind me"],
        &["doctor", "--human"],
        &["skills", "--human"],
    ] {
        let (status, seen) = on_terminal(&machine, words);
        assert_eq!(status, 0, "{words:?}: {seen}");
        let heading = seen.lines().next().unwrap();
        assert!(heading.split("  ").filter(|column| !column.is_empty()).count() >= 2, "{words:?}: {heading}");
        for line in seen.lines().take_while(|line| !line.is_empty()) {
            assert!(console::measure_text_width(line) <= 80, "{words:?}: {line}");
        }
        // In a pipe nothing of ours is broken.
        let whole = machine.run(words).stdout;
        assert!((2..=seen.lines().count()).contains(&whole.lines().count()), "{words:?}: {whole}");
    }
}

/// Whoever looks at a screen sees how long ago something was, and prose whole; what is read by a program has its instants as they are.
#[test]
fn a_table_is_made_for_the_screen() {
    let machine = Machine::new();
    let todo = todo();
    machine.run(["run", "--now", "2026-04-01T09:00:00Z", &todo, "add", "x"]).answer();
    let list = ["ledger", "list", "--human", &todo];
    let at = machine.run(["ledger", "list", "--query", "items[0].at", &todo]).stdout;
    let second = at.trim().trim_matches('"').split('.').next().unwrap().to_owned();
    assert!(machine.run(list).stdout.contains(&second), "{second}");
    let (_, seen) = on_terminal(&machine, &list);
    assert!((seen.contains("just now") || seen.contains(" min ago")) && !seen.contains(&second), "{seen}");
    let (_, seen) = on_terminal(&machine, &["run", "--human", &todo, "list"]);
    assert!(seen.contains("2026-04-01 09:00Z") && !seen.contains("T09:00"), "{seen}");
    let described = machine.run(["meta", "--query", "commands[0].description", &todo]).document();
    let described = described.as_str().unwrap().split(' ').collect::<Vec<_>>();
    assert!(described.len() > 10, "{described:?}");
    for columns in [40, 80, 120] {
        let mut command = machine.hutch(["--no-progress", "meta", "--human", &todo]);
        let (_, seen) = Terminal::of(500, columns).run(&mut command);
        assert!(seen.lines().all(|line| console::measure_text_width(line) <= usize::from(columns)), "{seen}");
        let shown: Vec<&str> = seen.split_whitespace().collect();
        assert!(described.iter().all(|word| shown.contains(word)), "{columns}: {seen}");
    }
}

#[test]
fn what_is_longer_than_the_screen_goes_through_the_pager() {
    let machine = Machine::new();
    let show = |pager: &str, rows: &str| {
        Terminal::of(rows.parse().unwrap(), 70)
            .run(machine.hutch(["--no-progress", "skills", "--human"]).env("PAGER", pager))
    };
    let (_, plain) = show("cat", "4");
    assert!(plain.lines().count() > 4 && plain.starts_with("NAME"), "{plain}");
    assert!(plain.lines().all(|line| line.chars().count() <= 70), "{plain}");
    let paged: String = plain.lines().map(|line| format!("> {line}\n")).collect();
    assert_eq!(show("sed 's/^/> /'", "4"), (0, paged.clone()));
    assert_eq!(show("sed 's/^/> /'", "500").1, plain, "what fits is shown at once");
    assert!(show("no-such-pager", "4").1.ends_with(&plain), "the text is shown where the pager is not found");
    let mut command = machine.hutch(["--no-progress", "skills", "--human"]);
    assert_eq!(Terminal::open().run(command.env("PAGER", "sed 's/^/> /'")).1.lines().count(), plain.lines().count());
    assert_eq!(machine.run(["skills", "--human"]).stdout.matches('>').count(), 0, "a pipe has no pager");
}

#[test]
fn raw_bytes_go_to_no_terminal() {
    let machine = Machine::new();
    let probe = probe();
    machine.run(["run", "--guard", "off", &probe, "write-text", "state/x", "x\u{1b}]0;PWN\u{7}y"]).answer();
    let (status, seen) = on_terminal(&machine, &["state", "cat", "--raw", &probe, "state/x"]);
    assert!(status == 2 && seen.contains("USAGE") && !seen.contains("PWN"), "{seen:?}");
    assert_eq!(machine.run(["state", "cat", "--raw", &probe, "state/x"]).stdout, "x\u{1b}]0;PWN\u{7}y");
}

#[test]
fn a_printed_command_means_what_it_says_to_a_shell() {
    let machine = Machine::new();
    let name = "pk/a b$(touch pwned)";
    std::fs::create_dir_all(machine.path("pk")).unwrap();
    assert!(Command::new("cp").args(["-r", &todo()]).arg(machine.path(name)).status().unwrap().success());
    let printed = machine.run(["find", "--in", "pk", "--query", "items[0].meta", "remind me"]).stdout;
    let printed: String = serde_json::from_str(&printed).unwrap();
    let script = format!("hutch() {{ printf '%s\\n' \"$@\"; }}; {printed}");
    let read = Command::new("sh").args(["-c", &script]).current_dir(machine.path(".")).output().unwrap();
    assert_eq!(String::from_utf8(read.stdout).unwrap(), format!("meta\n{name}\nreminder\nset\n"));
    assert!(!machine.path("pwned").exists());
}

#[test]
fn a_flag_that_went_to_the_application_is_named() {
    let machine = Machine::new();
    let hint = |arguments: &[&str]| machine.todo(arguments).fault("ARGUMENT_INVALID", 2).suggestion;
    assert_eq!(hint(&["list", "--sanitize"]), "--sanitize is a flag of hutch's too: there it stands before PACKAGE");
    for arguments in [&["list", "--frobnicate"][..], &["list", "x"], &["frobnicate"], &["list", "--limit=x"]] {
        assert!(!hint(arguments).contains("before PACKAGE"), "{arguments:?}");
    }
}

#[test]
fn people_see_which_call_of_a_list_failed_and_why() {
    let machine = Machine::new();
    let calls = br#"["add","x"] ["get","td_9999"] ["list"]"#;
    let ran = crate::support::Ran::with_input(&mut machine.hutch(["run", "--json-input", "--human", &todo()]), calls);
    assert_eq!(ran.status, 1, "{ran:?}");
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[..3], ["N  STATUS  ARGUMENTS", "0  0       add, x", "1  20      get, td_9999"]);
    assert!(lines[3].starts_with("the application says: no item has the id td_9999 [NOT_FOUND]"), "{ran:?}");
    assert!(lines.iter().any(|line| line.starts_with("error: invocation 1 of 3:")), "{ran:?}");
    assert!(!ran.stderr.contains("details."), "{ran:?}");
}

#[test]
fn help_is_about_the_command_and_not_about_a_word_that_looks_like_one() {
    let machine = Machine::new();
    let name = |words: &[&str]| machine.run(words).document()["name"].as_str().unwrap().to_owned();
    assert_eq!(name(&["--home", "run", "catalog", "--help"]), "catalog");
    assert_eq!(name(&["--home=run", "state", "--wait", "5s", "cat", "--help"]), "state cat");
    assert_eq!(name(&["help", "state", "cat"]), "state cat");
    assert_eq!(name(&["--home", "help", "help", "run"]), "run");
    assert_eq!(name(&["--home", "help", "catalog", "--help"]), "catalog");
    assert_eq!(machine.run(["help"]).stdout, machine.run(["--help"]).stdout);
    assert_eq!(machine.run(["help", "--human", "run"]).stdout, machine.run(["run", "--help", "--human"]).stdout);
    machine.run(["help", "frobnicate"]).fault("USAGE", 2);
}

#[test]
fn the_bare_program_greets_people_and_tells_programs_what_is_missing() {
    let machine = Machine::new();
    let (status, seen) = on_terminal(&machine, &[]);
    assert!(status == 0 && seen.lines().count() < 24 && seen.contains("hutch help"), "{seen}");
    assert_eq!(machine.run(["--human"]).stdout, seen);
    machine.run::<&str>([]).fault("USAGE", 2);
}

/// What the greeting names answers in text to whoever sees it, and in JSON to a pipe, where that or a part is asked for, and everywhere else.
#[test]
fn what_the_greeting_names_is_read_where_it_is_seen() {
    let machine = Machine::new();
    machine.run(["install", &todo()]).result("install");
    let is_json = |text: &str| text.trim_start().starts_with('{');
    for words in [
        &["catalog"][..],
        &["find", "buy milk"],
        &["meta", "todo"],
        &["meta", "todo", "add"],
        &["plan", "todo", "add", "milk"],
        &["run", "todo", "add", "milk"],
        &["run", "todo", "list"],
        &["undo", "todo"],
        &["undo", "todo", "--redo"],
    ] {
        let (status, seen) = on_terminal(&machine, words);
        assert!(status == 0 && !seen.trim().is_empty() && !is_json(&seen), "{words:?}: {seen}");
    }
    assert_eq!(machine.todo(&["list"]).answer()["items"][0]["title"], "milk");
    for words in [
        &["catalog", "--agent"][..],
        &["catalog", "--fields", "slug"],
        &["run", "--envelope", "todo", "list"],
        &["--agent", "run", "todo", "list"],
        &["meta", "--export", "mcp", "todo"],
        &["ledger", "list", "todo"],
    ] {
        let (status, seen) = on_terminal(&machine, words);
        assert!(status == 0 && is_json(&seen), "{words:?}: {seen}");
    }
    assert!(is_json(&machine.run(["catalog"]).stdout));
    let (_, seen) = Terminal::open().run(machine.hutch(["catalog"]).env("HUTCH_FORMAT", "json"));
    assert!(is_json(&seen), "{seen}");
    // A failure is told to whom the answer would have been.
    let (status, seen) = on_terminal(&machine, &["run", "todo", "get", "td_9999"]);
    assert!(status == 20 && seen.contains("error: ") && !seen.contains('{'), "{seen}");
}

/// One sentence where one will do, and nothing about what is not there.
#[test]
fn what_was_done_is_said_in_a_sentence() {
    let machine = Machine::new();
    let todo = crate::support::todo();
    machine.run(["install", &todo]).result("install");
    for (words, said) in [
        (&["pack", &todo, "--output", "t.tar", "--dry-run"][..], "would write t.tar, "),
        (&["pack", &todo, "--output", "t.tar"], "wrote t.tar, "),
        (&["install", "--lock", "todo"], "wrote hutch.lock\nit holds todo"),
        (&["install", "--lock", "todo"], "nothing changes in hutch.lock\nit holds todo"),
        (&["issue", "create", "--type", "bug", "--message", "hello"], "is_0001 is open\nmessage: hello"),
        (&["issue", "close", "is_0001"], "is_0001 is closed\nmessage: hello"),
        (&["sign", "--new-key", "k"], "made the key k, which stays here\nothers trust k.pub"),
        (&["trust", "add", "me", "k.pub"], "the rules are changed; "),
        (&["push", "todo", "oci-layout:shop"], "pushed todo "),
        (&["push", "todo", "oci-layout:shop"], "there already: todo "),
        (&["remove", "--yes", "todo"], "removed todo "),
        (&["init", "mine"], "made ./mine/package, a package in rust"),
    ] {
        let ran = machine.run([&["--human"], words].concat());
        assert!(ran.status == 0 && ran.stdout.starts_with(said), "{words:?}: {ran:?}");
        assert!(ran.stdout.lines().count() <= 3 && !ran.stdout.contains('{'), "{words:?}: {ran:?}");
    }
    let shown = machine.run(["--human", "issue", "show", "is_0001"]).stdout;
    assert!(shown.contains("\nmessage: hello\n") && !shown.contains(": -"), "{shown}");
}

#[test]
fn who_starts_a_server_on_a_terminal_reads_how_to_reach_it() {
    let machine = Machine::new();
    let terminal = Terminal::open();
    let mut command = machine.hutch(["serve", "--listen", "127.0.0.1:0", &crate::support::todo()]);
    let mut server = command.stdout(terminal.end()).stderr(std::process::Stdio::null()).spawn().unwrap();
    let seen = terminal.seen_until("ctrl-c");
    server.kill().unwrap();
    server.wait().unwrap();
    assert!(seen.starts_with("serving todo at http://127.0.0.1:") && seen.lines().count() == 3, "{seen}");
    assert!(seen.contains("serve.tokens") && !seen.contains('{'), "{seen}");
}

#[test]
fn an_issue_that_cannot_be_read_stands_in_nobodys_way() {
    let machine = Machine::new();
    let create = || machine.run(["issue", "create", "--type", "bug", "--message", "x"]);
    create().result("issue create");
    let folder = machine.path("person/.local/share/hutch/issues");
    let whole = std::fs::read_to_string(folder.join("is_0001.json")).unwrap();
    std::fs::write(folder.join("is_0002.json"), "{").unwrap();
    std::fs::write(folder.join("is_0003.json"), whole.replace("is_0001", "../../evil")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.join("is_0004.json")).status().unwrap().success());
    assert!(std::fs::metadata(folder.join("is_0004.json")).unwrap().file_type().is_fifo());
    // Longer than any: not read to its end, which there is no memory for.
    std::fs::File::create(folder.join("is_0005.json")).unwrap().set_len(1 << 40).unwrap();
    let ran = machine.run(["issue", "list"]);
    let listed: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(listed["result"]["total"], 1);
    assert_eq!(ran.stderr.lines().filter(|line| line.starts_with("left out: ")).count(), 4, "{ran:?}");
    assert_eq!(create().result("issue create")["id"], "is_0006");
    for id in ["is_0002", "is_0003", "is_0004", "is_0005"] {
        let fault = machine.run(["issue", "close", id]).fault("STORE_DAMAGED", 50);
        assert!(fault.details["file"].as_str().unwrap().ends_with(&format!("{id}.json")));
    }
    assert!(!machine.path("person/.local/share/evil.json").exists());
}

#[test]
fn an_update_goes_back_to_where_the_package_came_from_and_says_if_it_is_older() {
    let machine = Machine::new();
    let folder = crate::support::package::copy(&machine, "mine");
    let path = folder.to_str().unwrap();
    assert_eq!(machine.run(["install", "--yes", path]).result("install")["downgrade"], false);
    let files = ["APP.md", "schemas/commands.json"].map(|name| folder.join(name));
    let texts = files.clone().map(|file| std::fs::read_to_string(file).unwrap());
    for (version, older) in [("9.0.0", false), ("0.0.1", true)] {
        for (file, text) in files.iter().zip(&texts) {
            std::fs::write(file, text.replacen("0.1.0", version, 1)).unwrap();
        }
        if older {
            // Nobody goes back unsaid.
            machine.run(["install", "probe"]).fault("VERSION_OLDER", 30);
            assert_eq!(machine.run(["catalog"]).result("catalog")["items"][0]["version"], "9.0.0");
        }
        let said = if older { &["--allow-downgrade"][..] } else { &[] };
        let updated = machine.run([&["install", "probe"], said].concat()).result("install");
        assert_eq!((updated["version"].as_str(), updated["downgrade"].as_bool()), (Some(version), Some(older)));
        assert_eq!(updated["source"], path);
    }
    std::fs::rename(&folder, machine.path("elsewhere")).unwrap();
    let fault = machine.run(["install", "probe"]).fault("PACKAGE_NOT_FOUND", 20);
    assert!(fault.message.contains(path), "{fault:?}");
}
