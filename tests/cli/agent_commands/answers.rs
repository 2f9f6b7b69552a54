//! One form of answers and errors, whatever is asked.

#![allow(clippy::disallowed_methods, reason = "a test may")]

use super::program::Hutch;
use serde_json::{Value, json};
use std::process::Stdio;

#[test]
fn what_stands_in_every_answer_is_nothing_that_a_shell_would_carry_out() {
    let hutch = Hutch::new();
    let answer = hutch.line("catalog").json();
    let about = [&answer["rules"], &answer["skills"], &answer["issue"]].map(Value::to_string).concat();
    for text in [about, hutch.line("--brief").stdout, hutch.line("--help").stdout, hutch.line("--help --human").stdout]
    {
        assert!(!text.contains('`') && !text.contains("$("), "{text}");
    }
}

#[test]
fn every_answer_carries_rules_skills_and_the_way_to_send_feedback() {
    let hutch = Hutch::new();
    for line in [
        "catalog",
        "catalog packages",
        "check packages/todo",
        "skills",
        "issue list",
        "doctor",
        "run --envelope packages/todo list",
    ] {
        let answer = hutch.line(line).json();
        let keys: Vec<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["command", "issue", "ok", "result", "rules", "skills"], "{line}");
        assert_eq!(answer["rules"].as_array().unwrap().len(), 3);
        assert!(answer["rules"].as_array().unwrap().iter().all(|rule| rule["content"].as_str().unwrap().len() > 40));
        assert!(
            answer["skills"]
                .as_array()
                .unwrap()
                .iter()
                .all(|skill| skill["command"].as_str().unwrap().starts_with("hutch skills "))
        );
    }
}

#[test]
fn a_plain_run_gives_the_guests_bytes_and_nothing_else() {
    let hutch = Hutch::new();
    let answer = hutch.line("run packages/todo list").json();
    assert_eq!(answer["command"], "list");
    assert_eq!(answer.get("rules"), None);
}

#[test]
fn every_mistake_is_one_object_with_a_way_out() {
    let hutch = Hutch::new();
    for (line, code, status) in [
        ("", "USAGE", 2),
        ("nosuch", "USAGE", 2),
        ("catlog", "USAGE", 2),
        ("catalog --nosuch", "USAGE", 2),
        ("doctor extra more", "USAGE", 2),
        ("catalog --limit ten", "USAGE", 2),
        ("catalog --limit 0", "USAGE", 2),
        ("catalog --human --agent", "USAGE", 2),
        ("catalog --quiet --no-quiet", "USAGE", 2),
        ("--yes remove x --no-yes", "USAGE", 2),
        ("check", "USAGE", 2),
        ("issue", "USAGE", 2),
        ("issue create --type rant --message x", "USAGE", 2),
        ("catalog --query a..b", "USAGE", 2),
        ("catalog --query nothing", "USAGE", 2),
        ("catalog --query items[0]", "NOT_FOUND", 20),
        ("check nothing", "PACKAGE_NOT_FOUND", 20),
        ("issue list --ndjson --query items", "USAGE", 2),
        ("run --json-input --ndjson --fields index packages/todo", "USAGE", 2),
        ("init some --in nothing", "NOT_FOUND", 20),
        ("init some --in nothing --dry-run", "NOT_FOUND", 20),
        ("certify --program /bin/true --dry-run", "USAGE", 2),
        ("run nothing list", "PACKAGE_NOT_FOUND", 20),
        ("check a/../../b", "PACKAGE_NOT_FOUND", 20),
        ("check ../x", "PACKAGE_NOT_FOUND", 20),
        ("check %2e%2e/x", "ARGUMENT_REFUSED", 2),
        ("check ../.ssh/id", "ARGUMENT_REFUSED", 2),
        ("show --skill ../x packages/todo", "ARGUMENT_REFUSED", 2),
        ("state cat todo ../x", "ARGUMENT_REFUSED", 2),
        ("check x;y", "ARGUMENT_REFUSED", 2),
        ("check $(x)", "ARGUMENT_REFUSED", 2),
        ("check /home/me/.ssh/id_rsa", "ARGUMENT_REFUSED", 2),
        ("check server.pem", "ARGUMENT_REFUSED", 2),
        ("issue create --type bug --message ghp_0123456789abcdefghijABCDEFGHIJ012345", "ARGUMENT_REFUSED", 2),
        ("find sk-0123456789abcdefghij", "ARGUMENT_REFUSED", 2),
    ] {
        let ended = hutch.line(line);
        assert_eq!((ended.code().as_str(), ended.status), (code, status), "{line}: {ended:?}");
        assert!(!ended.stderr.contains("Usage:") && !ended.stderr.contains("--help'"), "clap's own text: {ended:?}");
        assert!(!ended.stderr.contains("ghp_"), "a secret is repeated");
    }
    for (line, fix) in [
        ("rnu packages/todo list", "hutch run packages/todo list"),
        ("catlog --limit 2", "hutch catalog --limit 2"),
        ("ledger lsit packages/todo", "hutch ledger list packages/todo"),
        ("run --enveloppe packages/todo add x", "hutch run --envelope packages/todo add x"),
        ("issue create --type bugg --message x", "hutch issue create --type bug --message x"),
        ("issue list --sanitise", "hutch issue list --sanitize"),
        ("zzzzzz list", "hutch --help"),
        ("list", "hutch catalog"),
        ("run --zzzzzz packages/todo list", "hutch run --help"),
    ] {
        assert_eq!(hutch.line(line).error()["fixes"][0]["cmd"], fix, "{line}");
    }
    let control = hutch.call(&["check", "a\u{7}b"]);
    assert_eq!(control.code(), "ARGUMENT_REFUSED");
    // Prose may hold shell syntax.
    assert_eq!(hutch.call(&["find", "milk & eggs; now | $(x)"]).status, 0);
}

#[test]
fn fields_and_query_take_parts_out() {
    let hutch = Hutch::new();
    let items = hutch.line("catalog packages --fields slug,version").result();
    let item = |slug: &str, version: &str| json!({"slug": slug, "version": version});
    let all = [
        item("archives", "0.1.0"),
        item("books", "0.1.0"),
        item("calendar", "0.1.0"),
        item("convert", "0.1.0"),
        item("files", "0.1.0"),
        item("images", "0.1.0"),
        item("json", "0.1.0"),
        item("notes", "0.1.0"),
        item("pdf", "0.1.0"),
        item("tables", "0.1.0"),
        item("todo", "0.2.0"),
    ];
    assert_eq!(items["items"], json!(all));
    assert_eq!(hutch.line("catalog packages --query items[10].slug").stdout, "\"todo\"\n");
    assert_eq!(hutch.line("catalog packages --query items[10].slug --human").stdout, "todo\n");
    assert_eq!(hutch.line("catalog packages --fields nothing").code(), "USAGE");
    let id = hutch.call(&["run", "--query", "output.items[0].id", "packages/todo", "add", "x"]);
    assert_eq!((id.status, id.stdout.as_str()), (0, "\"td_0001\"\n"));
}

#[test]
fn long_lists_come_in_pages_and_lines() {
    let hutch = Hutch::new();
    for number in 0..5 {
        let message = format!("number {number}");
        assert_eq!(hutch.call(&["issue", "create", "--type", "bug", "--message", &message]).status, 0);
    }
    let page = hutch.line("issue list --limit 2 --offset 3").result();
    assert_eq!(
        (&page["total"], &page["has_more"], page["items"].as_array().unwrap().len()),
        (&json!(5), &json!(false), 2)
    );
    assert_eq!(hutch.line("issue list --limit 2").result()["has_more"], true);
    let lines = hutch.line("issue list --ndjson --fields id").stdout;
    let ids: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(ids.len(), 5);
    assert_eq!(ids[0], json!({"id": "is_0001"}));
    assert_eq!(hutch.line("catalog --ndjson").stdout, "");
}

#[test]
fn issues_live_and_end() {
    let hutch = Hutch::new();
    let create =
        ["issue", "create", "--type", "bad-output", "--message", "write to ada@example.org & co", "--exit-code", "3"];
    let made = hutch.call(&create).result();
    assert_eq!((&made["id"], &made["status"], &made["exit_code"]), (&json!("is_0001"), &json!("open"), &json!(3)));
    assert_eq!(made["message"], "write to [redacted] & co");
    let moved = hutch.line("issue transition is_0001 --to in-progress").result();
    assert_eq!(moved["status"], "in-progress");
    assert_eq!(hutch.line("issue close is_0001 --dry-run").result()["status"], "closed");
    assert_eq!(hutch.line("issue show is_0001").result(), moved);
    assert_eq!(hutch.line("issue close is_0001").result()["status"], "closed");
    assert_eq!(hutch.line("issue list --status open").result()["items"], json!([]));
    for id in ["is_0002", "nonsense", "is_00x1"] {
        assert_eq!(hutch.line(&format!("issue show {id}")).code(), "NOT_FOUND");
    }
}

#[cfg(unix)]
#[test]
fn an_issue_is_written_whole_or_not_at_all() {
    let hutch = Hutch::new();
    // A disk with room for so many blocks of 512 bytes in one file.
    let with_room = |blocks: u32, words: &str| {
        let program = env!("CARGO_BIN_EXE_hutch");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {words}");
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script]).env_clear().env("XDG_DATA_HOME", hutch.home().parent().unwrap());
        shell.env("HOME", hutch.scratch()).stdin(Stdio::null()).output().unwrap()
    };
    let files = || {
        let mut names: Vec<String> = std::fs::read_dir(hutch.home().join("issues"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let message = "x".repeat(3000);
    let create = format!("issue create --type bug --message {message}");
    assert_eq!(hutch.line("issue create --type bug --message first").result()["id"], "is_0001");
    let before = hutch.line("issue list").result();
    for blocks in [0, 1, 2] {
        let output = with_room(blocks, &create);
        assert_eq!(output.status.code(), Some(50), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("HOST_FAULT"), "{output:?}");
        assert_eq!((files(), hutch.line("issue list").result()), (vec!["is_0001.json".to_owned()], before.clone()));
    }
    let output = with_room(0, "issue close is_0001");
    assert_eq!((output.status.code(), hutch.line("issue list").result()), (Some(50), before));
    assert_eq!(files(), ["is_0001.json"]);
    // With room again, all goes on.
    assert_eq!(hutch.line(&create).result()["id"], "is_0002");
    assert_eq!(hutch.line("issue close is_0001").result()["status"], "closed");
    assert_eq!(hutch.line("doctor").status, 0);
}

#[test]
fn hidden_characters_and_personal_data_go_on_request() {
    let hutch = Hutch::new();
    let add = ["run", "--guard", "off", "packages/todo", "add", "mail ada@example.org \u{202e}x"];
    assert_eq!(hutch.call(&add).status, 0);
    let plain = hutch.line("run packages/todo list").stdout;
    assert!(plain.contains("ada@example.org"), "{plain}");
    let clean = hutch.line("run --sanitize --redact packages/todo list").stdout;
    assert!(
        !clean.contains("ada@example.org") && !clean.contains('\u{202e}') && clean.contains("[redacted]"),
        "{clean}"
    );
    let value: Value = serde_json::from_str(&clean).unwrap();
    assert_eq!(value["ok"], true);
}

#[test]
fn a_batch_is_many_runs_in_one_call() {
    let hutch = Hutch::new();
    let run = |flags: &[&str], stdin: &str| {
        let words: Vec<&str> = ["run", "--json-input"].iter().chain(flags).chain(&["packages/todo"]).copied().collect();
        hutch.call_with(&words, stdin, &[])
    };
    let ended = run(&[], "[\"add\",\"one\"]\n{\"arguments\":[\"list\"]}\n").result();
    assert_eq!((&ended["total"], &ended["done"]), (&json!(2), &json!(2)));
    assert_eq!(ended["items"][1]["run"]["output"]["count"], 1);
    let stopped = run(&["--quiet"], "[\"get\",\"td_9999\"] [\"add\",\"two\"]");
    assert_eq!((stopped.status, stopped.stdout.as_str(), stopped.code().as_str()), (1, "", "GUEST_FAILED"));
    let stopped = stopped.error();
    assert_eq!(stopped["details"]["items"].as_array().map(Vec::len), Some(1));
    assert_eq!((&stopped["details"]["index"], &stopped["details"]["items"][0]["status"]), (&json!(0), &json!(20)));
    let lines = run(&["--ndjson"], "[\"add\",\"two\"] [\"get\",\"td_9999\"] [\"add\",\"three\"]");
    assert_eq!((lines.status, lines.stdout.lines().count()), (1, 2));
    assert_eq!(run(&[], &"[\"list\"]\n".repeat(1001)).code(), "STDIN_LIMIT");
    assert_eq!(run(&[], "not json").code(), "USAGE");
    // What one command answers is what another reads.
    let examples = hutch.line("examples packages/todo reminder list");
    assert_eq!(run(&[], &examples.stdout).result()["done"], 2);
}

#[test]
fn people_get_text_and_colour_only_where_it_can_be_seen() {
    let hutch = Hutch::new();
    for line in [
        "catalog packages --human",
        "find reminder --in packages --human",
        "check packages/todo --human",
        "catalog --human",
    ] {
        for environment in [&[][..], &[("NO_COLOR", "1"), ("TERM", "xterm")], &[("TERM", "xterm")]] {
            let ended = hutch.call_with(&line.split(' ').collect::<Vec<_>>(), "", environment);
            assert_eq!(ended.status, 0, "{ended:?}");
            assert!(!ended.stdout.starts_with('{') && !ended.stdout.contains('\u{1b}'), "{ended:?}");
        }
    }
    let chosen = hutch.call_with(&["catalog"], "", &[("HUTCH_FORMAT", "human")]);
    assert!(chosen.stdout.starts_with("no package is here"), "{chosen:?}");
    let back = hutch.call_with(&["catalog", "--agent"], "", &[("HUTCH_FORMAT", "human")]);
    assert!(back.stdout.starts_with('{'));
    let failed = hutch.line("check nothing --human");
    assert!(failed.stderr.starts_with("error: ") && failed.stdout.is_empty());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let hutch = Hutch::new();
    let mut child = hutch.command().arg("--help").stdin(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn completions_and_manual_pages_are_made_for_every_shell_and_command() {
    let hutch = Hutch::new();
    // The same text whatever form answers are to have.
    let same = |words: &str| {
        let plain = hutch.line(words).stdout;
        for flags in ["--human", "--agent", "--quiet", "--sanitize --redact"] {
            assert_eq!(hutch.line(&format!("{words} {flags}")).stdout, plain, "{words} {flags}");
        }
        for format in ["human", "json"] {
            let words: Vec<&str> = words.split(' ').collect();
            assert_eq!(hutch.call_with(&words, "", &[("HUTCH_FORMAT", format)]).stdout, plain, "{words:?} {format}");
        }
        assert!(!plain.contains("\"rules\""), "{plain}");
        plain
    };
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = same(&format!("completions {shell}"));
        assert!(script.contains("HUTCH_COMPLETE") && script.len() < 4096, "{shell}");
        assert_eq!(hutch.line(&format!("completions {shell} --query script")).code(), "USAGE");
    }
    assert!(same("completions man").starts_with(".ie"));
    assert!(same("completions man issue create").contains("\\-\\-message"));
    assert_eq!(hutch.line("completions man nosuch").code(), "USAGE");
}
