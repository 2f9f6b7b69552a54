//! The application as its callers see it: arguments in; stdout, stderr, exit status and the state file out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::fs;
use std::time::{Duration, Instant as Stopwatch};

use guest_todo::TODO;
use hutch_guest::storage::StateFile;
use serde_json::{Value, json};
use support::{Todo, Unread, ids, item, one_line, state};

#[test]
fn an_item_has_the_shape_of_the_seed() {
    let todo = Todo::new();
    let document = todo.ok(&["add", "Write docs", "--due-at", "2026-04-05"]);
    let expected = json!({
        "ok": true,
        "command": "add",
        "changed": true,
        "count": 1,
        "items": [{
            "id": "td_0001",
            "title": "Write docs",
            "description": "",
            "status": "open",
            "dueAt": "2026-04-05",
            "createdAt": "2026-04-01T00:00:00.000Z",
            "updatedAt": "2026-04-01T00:00:00.000Z",
            "completedAt": null,
            "reminders": []
        }]
    });
    assert_eq!(document, expected);
    let listed = todo.ok(&["list"]);
    assert_eq!(listed["items"], expected["items"]);
    assert_eq!(listed["count"], 1);
    assert_eq!(listed["hasMore"], false);
    assert_eq!(
        todo.state().unwrap(),
        state("td_0002", &[item("td_0001", "Write docs").replace("\"dueAt\":null", "\"dueAt\":\"2026-04-05\"")])
    );
}

#[test]
fn an_empty_list_is_no_failure_and_is_not_written() {
    let todo = Todo::new();
    assert_eq!(todo.ok(&["list"])["items"], json!([]));
    assert_eq!(todo.ok(&["due"])["items"], json!([]));
    assert_eq!(todo.ok(&["reminder", "list"])["items"], json!([]));
    assert_eq!(todo.state(), None);
}

#[test]
fn an_item_lives_and_dies() {
    let mut todo = Todo::new();
    todo.ok(&["add", "Buy milk"]);
    todo.at("2026-04-02T08:00:00Z");
    let completed = todo.ok(&["complete", "td_0001"]);
    assert_eq!(completed["changed"], true);
    assert_eq!(completed["items"][0]["status"], "completed");
    assert_eq!(completed["items"][0]["completedAt"], "2026-04-02T08:00:00.000Z");
    assert_eq!(completed["items"][0]["updatedAt"], "2026-04-02T08:00:00.000Z");
    assert_eq!(completed["items"][0]["createdAt"], "2026-04-01T00:00:00.000Z");
    todo.at("2026-04-03T08:00:00Z");
    let reopened = todo.ok(&["reopen", "td_0001"]);
    assert_eq!(reopened["items"][0]["completedAt"], Value::Null);
    assert_eq!(reopened["items"][0]["updatedAt"], "2026-04-03T08:00:00.000Z");
    let removed = todo.ok(&["remove", "td_0001", "--confirm"]);
    assert_eq!(ids(&removed), ["td_0001"]);
    assert_eq!(todo.refused(&["get", "td_0001"], 20).0, "NOT_FOUND");
    assert_eq!(todo.ids(&["add", "Buy bread"]), ["td_0002"], "the id of the removed item is not given again");
}

#[test]
fn ids_grow_past_four_digits() {
    let todo = Todo::with_state(state("td_9999", &[]));
    assert_eq!(todo.ids(&["add", "a"]), ["td_9999"]);
    assert_eq!(todo.ids(&["add", "b"]), ["td_10000"]);
    assert_eq!(todo.ids(&["list"]), ["td_9999", "td_10000"]);
    assert_eq!(todo.ids(&["get", "td_10000"]), ["td_10000"]);
}

#[test]
fn update_changes_what_is_given_and_nothing_else() {
    let mut todo = Todo::new();
    todo.ok(&["add", "a", "--description", "first", "--due-at", "2026-04-05"]);
    todo.at("2026-04-02T00:00:00Z");
    for (flags, changed, title, description, due_at) in [
        (&["--title", "b"][..], true, "b", "first", json!("2026-04-05")),
        (&["--title", "b"], false, "b", "first", json!("2026-04-05")),
        (&["--description", ""], true, "b", "", json!("2026-04-05")),
        (&["--clear-description"], false, "b", "", json!("2026-04-05")),
        (&["--due-at", "2026-04-05T10:00:00+02:00"], true, "b", "", json!("2026-04-05T08:00:00.000Z")),
        (&["--due-at", "2026-04-05T08:00:00.0009Z"], false, "b", "", json!("2026-04-05T08:00:00.000Z")),
        (&["--clear-due-at", "--description", "x"], true, "b", "x", Value::Null),
        (&["--clear-due-at"], false, "b", "x", Value::Null),
    ] {
        let before = todo.state();
        let document = todo.ok(&[&["update", "td_0001"], flags].concat());
        assert_eq!(document["changed"], changed, "{flags:?}");
        assert_eq!(todo.state() != before, changed, "{flags:?}: the file is written if and only if something changed");
        let item = &document["items"][0];
        assert_eq!(
            (&item["title"], &item["description"], &item["dueAt"]),
            (&json!(title), &json!(description), &due_at)
        );
    }
}

#[test]
fn calls_that_change_nothing_write_nothing_and_say_so() {
    let mut todo = Todo::new();
    todo.ok(&["add", "a"]);
    todo.ok(&["reminder", "set", "td_0001", "--at", "2026-05-01T00:00:00Z"]);
    todo.ok(&["add", "b"]);
    todo.ok(&["complete", "td_0002"]);
    todo.at("2026-04-09T00:00:00Z");
    let before = todo.state();
    for (args, note) in [
        (&["complete", "td_0002"][..], "td_0002 is completed already"),
        (&["reopen", "td_0001"], "td_0001 is open already"),
        (&["reminder", "set", "td_0001", "--at", "2026-05-01T02:00:00+02:00"], "td_0001 has these reminders already"),
        (&["reminder", "clear", "td_0001", "--at", "2026-05-02T00:00:00Z"], "td_0001 has no such reminders"),
        (&["reminder", "clear", "td_0002"], "td_0002 has no such reminders"),
        (&["update", "td_0001", "--title", "a"], "td_0001 has these values already"),
    ] {
        let reply = todo.call(args);
        assert_eq!(reply.exit_status, 0, "{args:?}");
        assert_eq!(one_line(&reply.stdout)["changed"], false, "{args:?}");
        assert_eq!(reply.stderr, format!("note: {note}: nothing changed\n"));
        let quiet = todo.call(&[args, &["--quiet"]].concat());
        assert_eq!((quiet.stdout, quiet.stderr.as_str()), (reply.stdout, ""));
        assert_eq!(todo.state(), before, "{args:?}");
    }
}

#[test]
fn list_selects_and_pages() {
    let todo = Todo::new();
    for (title, due_at) in [
        ("a", None),
        ("b", Some("2026-04-05")),
        ("c", Some("2026-04-05T12:00:00Z")),
        ("d", Some("2026-04-06")),
        ("e", Some("2026-04-05T23:30:00-02:00")),
    ] {
        match due_at {
            Some(due_at) => todo.ok(&["add", title, "--due-at", due_at]),
            None => todo.ok(&["add", title]),
        };
    }
    todo.ok(&["complete", "td_0002"]);
    for (flags, titles, total, has_more) in [
        (&[][..], "abcde", 5, false),
        (&["--status", "all"], "abcde", 5, false),
        (&["--status", "open"], "acde", 4, false),
        (&["--status", "completed"], "b", 1, false),
        (&["--due-before", "2026-04-05"], "", 0, false),
        (&["--due-before", "2026-04-05T00:00:00.001Z"], "b", 1, false),
        (&["--due-before", "2026-04-05T12:00:00Z"], "b", 1, false),
        (&["--due-before", "2026-04-06"], "bc", 2, false),
        (&["--due-before", "2026-04-07"], "bcde", 4, false),
        (&["--due-before", "2026-04-07", "--status", "open"], "cde", 3, false),
        (&["--limit", "2"], "ab", 5, true),
        (&["--limit", "2", "--offset", "2"], "cd", 5, true),
        (&["--limit", "2", "--offset", "3"], "de", 5, false),
        (&["--limit", "2", "--offset", "4"], "e", 5, false),
        (&["--limit", "2", "--offset", "99"], "", 5, false),
        (&["--status", "open", "--limit", "1", "--offset", "1"], "c", 4, true),
    ] {
        let document = todo.ok(&[&["list"], flags].concat());
        let shown: String =
            document["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
        assert_eq!(shown, titles, "{flags:?}");
        assert_eq!(document["count"], titles.len(), "{flags:?}");
        assert_eq!(document["total"], total, "{flags:?}");
        assert_eq!(document["hasMore"], has_more, "{flags:?}");
    }
    let page = todo.ok(&["list"]);
    assert_eq!((&page["limit"], &page["offset"]), (&json!(100), &json!(0)));
}

#[test]
fn due_shows_what_to_act_on_in_order() {
    let mut todo = Todo::new();
    todo.ok(&["add", "a", "--due-at", "2026-04-05"]);
    todo.ok(&["add", "b", "--due-at", "2026-04-05T12:00:00Z"]);
    todo.ok(&["add", "c"]);
    todo.ok(&["add", "done", "--due-at", "2026-04-01"]);
    todo.ok(&["reminder", "set", "td_0001", "--at", "2026-04-04T18:00:00Z", "--at", "2026-04-05T00:00:00Z"]);
    todo.ok(&["reminder", "set", "td_0003", "--at", "2026-04-05T09:00:00+02:00"]);
    todo.ok(&["reminder", "set", "td_0004", "--at", "2026-04-02T00:00:00Z"]);
    todo.ok(&["complete", "td_0004"]);
    let seen = |document: &Value| -> Vec<String> {
        let cell = |entry: &Value, name: &str| entry[name].as_str().unwrap().to_owned();
        document["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| format!("{} {}", cell(entry, "kind"), cell(entry, "id")))
            .collect()
    };
    let all = todo.ok(&["due", "--before", "2026-05-01T00:00:00Z"]);
    assert_eq!(
        seen(&all),
        ["reminder td_0001", "due td_0001", "reminder td_0001", "reminder td_0003", "due td_0002"],
        "at one moment what is due comes before the reminder of it"
    );
    assert_eq!(all["next"], Value::Null);
    for (before, count, next) in [
        ("2026-04-01T00:00:00Z", 0, "2026-04-04T18:00:00.000Z"),
        ("2026-04-04T18:00:00Z", 0, "2026-04-04T18:00:00.000Z"),
        ("2026-04-04T18:00:00.001Z", 1, "2026-04-05T00:00:00.000Z"),
        ("2026-04-05T07:00:00.001Z", 4, "2026-04-05T12:00:00.000Z"),
    ] {
        let document = todo.ok(&["due", "--before", before]);
        assert_eq!(document["count"], count, "{before}");
        assert_eq!(document["next"], next, "{before}");
    }
    todo.at("2026-04-05T00:00:00.500Z");
    let now = todo.ok(&["due"]);
    assert_eq!(now["before"], "2026-04-05T00:00:00.500Z");
    assert_eq!(now["count"], 3);
    let first = &todo.ok(&["due", "--limit", "1"]);
    assert_eq!((first["total"].as_u64(), first["hasMore"].as_bool()), (Some(3), Some(true)));
    assert_eq!(
        first["items"][0],
        json!({"kind": "reminder", "at": "2026-04-04T18:00:00.000Z", "id": "td_0001", "title": "a", "status": "open", "dueAt": "2026-04-05"})
    );
    // The scheduler delivered it.
    todo.ok(&["reminder", "clear", "td_0001", "--at", "2026-04-04T18:00:00Z"]);
    assert_eq!(todo.ok(&["due"])["count"], 2);
}

#[test]
fn reminders_are_set_cleared_and_listed() {
    let todo = Todo::new();
    todo.ok(&["add", "a"]);
    todo.ok(&["add", "b"]);
    let set = todo.ok(&["reminder", "set", "td_0002", "--at", "2026-04-06T00:00:00Z", "--at", "2026-04-05T00:00:00Z"]);
    assert_eq!(set["command"], "reminder set");
    assert_eq!(set["items"][0]["reminders"], json!(["2026-04-05T00:00:00.000Z", "2026-04-06T00:00:00.000Z"]));
    todo.ok(&["reminder", "set", "td_0001", "--at", "2026-04-05T12:00:00Z"]);
    assert_eq!(todo.ids(&["reminder", "list"]), ["td_0002", "td_0001", "td_0002"]);
    assert_eq!(todo.ids(&["reminder", "list", "td_0001"]), ["td_0001"]);
    assert_eq!(todo.refused(&["reminder", "list", "td_0003"], 20).0, "NOT_FOUND");
    let cleared = todo.ok(&["reminder", "clear", "td_0002"]);
    assert_eq!(cleared["items"][0]["reminders"], json!([]));
    assert_eq!(todo.ids(&["reminder", "list"]), ["td_0001"]);
    todo.ok(&["complete", "td_0001"]);
    assert_eq!(todo.ok(&["reminder", "list"])["items"][0]["status"], "completed");
    assert_eq!(todo.ok(&["due", "--before", "2026-05-01T00:00:00Z"])["count"], 0, "completed items are let alone");
}

#[test]
fn an_item_holds_a_bounded_number_of_reminders() {
    let todo = Todo::new();
    todo.ok(&["add", "a"]);
    let mut args = vec!["reminder".to_owned(), "set".to_owned(), "td_0001".to_owned()];
    for minute in 0..32 {
        args.push(format!("--at=2026-04-05T00:{minute:02}:00Z"));
    }
    assert_eq!(todo.call(&args).exit_status, 0);
    let (code, message) = todo.refused(&["reminder", "set", "td_0001", "--at", "2026-04-06T00:00:00Z"], 30);
    assert_eq!((code.as_str(), message.as_str()), ("LIMIT_REACHED", "td_0001 would have 33 reminders, at most 32 fit"));
    assert_eq!(todo.ok(&["reminder", "set", "td_0001", "--at", "2026-04-05T00:31:00Z"])["changed"], false);
}

#[test]
fn calls_that_are_refused() {
    let todo = Todo::new();
    todo.ok(&["add", "a"]);
    let long_title = "x".repeat(201);
    let long_details = "x".repeat(4001);
    for (args, exit_status, code, message) in [
        (&[][..], 2, "UNKNOWN_COMMAND", "no command is given"),
        (&["lst"], 2, "UNKNOWN_COMMAND", "no command is called \"lst\""),
        (&["reminder"], 2, "UNKNOWN_COMMAND", "no command is called \"reminder\""),
        (&["add"], 2, "MISSING_ARGUMENT", "add needs TITLE: what is to be done"),
        (&["add", "a", "b"], 2, "UNEXPECTED_ARGUMENT", "unexpected argument \"b\""),
        (&["add", ""], 2, "INVALID_VALUE", "title is \"\", expected a title with at least one visible character"),
        (&["add", "a\nb"], 2, "INVALID_VALUE", "title is \"a\\nb\", expected a text without control characters"),
        (&["add", &long_title], 2, "INVALID_VALUE", "title is \"xxxx"),
        (&["add", "a", "--description", &long_details], 2, "INVALID_VALUE", "description is \"xxxx"),
        (
            &["add", "a", "--due-at", "2026-02-30"],
            2,
            "INVALID_VALUE",
            "--due-at is \"2026-02-30\", expected a day that exists",
        ),
        (&["add", "a", "--due-at", "tomorrow"], 2, "INVALID_VALUE", "--due-at is \"tomorrow\", expected a date"),
        (&["add", "a", "--due-on", "2026-04-05"], 2, "UNKNOWN_FLAG", "add takes no flag \"--due-on\""),
        (
            &["list", "--status", "done"],
            2,
            "INVALID_VALUE",
            "--status is \"done\", expected one of: open, completed, all",
        ),
        (&["list", "--limit", "0"], 2, "INVALID_VALUE", "--limit is \"0\", expected a number from 1 to 10000"),
        (&["list", "--limit", "10001"], 2, "INVALID_VALUE", "--limit is \"10001\", expected a number from 1 to 10000"),
        (&["list", "--limit", "ten"], 2, "INVALID_VALUE", "--limit is \"ten\", expected a decimal integer"),
        (&["list", "--offset", "-1"], 2, "INVALID_VALUE", "--offset is \"-1\", expected a number from 0"),
        (
            &["list", "--fields", "id,name"],
            2,
            "INVALID_VALUE",
            "--fields is \"id,name\", expected names among id,title",
        ),
        (&["list", "--fields", ""], 2, "INVALID_VALUE", "--fields is \"\", expected names among"),
        (
            &["due", "--fields", "reminders"],
            2,
            "INVALID_VALUE",
            "--fields is \"reminders\", expected names among kind,at",
        ),
        (&["list", "--human", "--agent"], 2, "UNEXPECTED_ARGUMENT", "--human and --agent contradict"),
        (&["get", "1"], 2, "INVALID_VALUE", "id is \"1\", expected an id such as td_0001"),
        (&["get", "td_1"], 2, "INVALID_VALUE", "id is \"td_1\""),
        (&["get", "td_9999"], 20, "NOT_FOUND", "no item has the id td_9999"),
        (&["update", "td_9999", "--title", "b"], 20, "NOT_FOUND", "no item has the id td_9999"),
        (&["update", "td_0001"], 2, "MISSING_ARGUMENT", "update needs a field to change"),
        (&["update", "td_0001", "--title", " "], 2, "INVALID_VALUE", "title is \" \""),
        (
            &["update", "td_0001", "--due-at", "2026-04-05", "--clear-due-at"],
            2,
            "UNEXPECTED_ARGUMENT",
            "--due-at and --clear-due-at",
        ),
        (
            &["update", "td_0001", "--description", "", "--clear-description"],
            2,
            "UNEXPECTED_ARGUMENT",
            "--description and",
        ),
        (&["complete", "td_9999"], 20, "NOT_FOUND", ""),
        (&["reopen", "td_9999"], 20, "NOT_FOUND", ""),
        (&["remove", "td_0001"], 30, "CONFIRMATION_REQUIRED", "remove requires --confirm"),
        (&["remove", "td_9999"], 30, "CONFIRMATION_REQUIRED", "remove requires --confirm"),
        (&["remove", "td_9999", "--confirm"], 20, "NOT_FOUND", ""),
        (&["remove", "nine", "--confirm"], 2, "INVALID_VALUE", ""),
        (&["reminder", "set", "td_0001"], 2, "MISSING_ARGUMENT", "reminder set needs --at"),
        (
            &["reminder", "set", "td_0001", "--at", "2026-04-05"],
            2,
            "INVALID_VALUE",
            "--at is \"2026-04-05\", expected an instant",
        ),
        (&["reminder", "set", "td_9999", "--at", "2026-04-05T00:00:00Z"], 20, "NOT_FOUND", ""),
        (&["reminder", "clear", "td_9999"], 20, "NOT_FOUND", ""),
        (&["due", "--before", "2026-04-05"], 2, "INVALID_VALUE", "--before is \"2026-04-05\", expected an instant"),
    ] {
        let (seen, told) = todo.refused(args, exit_status);
        assert_eq!(seen, code, "{args:?}: {told}");
        assert!(told.starts_with(message), "{args:?}: {told}");
        assert!(told.chars().count() < 300, "{args:?}: {told}");
    }
}

#[test]
fn a_state_that_cannot_be_read_is_left_as_it_is() {
    let good = item("td_0001", "a");
    let other = |from: &str, to: &str| state("td_0002", &[good.replace(from, to)]);
    for (bytes, message) in [
        (String::new(), "EOF while parsing"),
        ("{".to_owned(), "EOF while parsing"),
        ("[]".to_owned(), "invalid"),
        ("null".to_owned(), "invalid type: null"),
        (state("td_0002", std::slice::from_ref(&good)) + "x", "trailing characters"),
        (
            state("td_0002", std::slice::from_ref(&good)).replace("\"version\":1", "\"version\":2"),
            "it is of version 2, expected 1",
        ),
        (r#"{"version":7,"tasks":{}}"#.to_owned(), "it is of version 7, expected 1"),
        (r#"{"nextId":"td_0001","items":[]}"#.to_owned(), "missing field `version`"),
        (r#"{"version":1,"items":[]}"#.to_owned(), "missing field `nextId`"),
        (r#"{"version":1,"nextId":"td_0001"}"#.to_owned(), "missing field `items`"),
        (r#"{"version":1,"nextId":"td_0001","items":[],"more":1}"#.to_owned(), "unknown field `more`"),
        (r#"{"version":1,"version":1,"nextId":"td_0001","items":[]}"#.to_owned(), "duplicate field `version`"),
        (r#"{"version":1,"nextId":1,"items":[]}"#.to_owned(), "invalid type: integer"),
        (other("td_0001", "td_0002"), "td_0002 is not below nextId, td_0002"),
        (other("td_0001", "td_1"), "expected an id such as td_0001"),
        (other("\"a\"", "\"\""), "expected a title with at least one visible character"),
        (other("\"a\"", "\"a\\u0000\""), "expected a text without control characters"),
        (other("\"a\"", "7"), "invalid type: integer"),
        (other("\"dueAt\":null", "\"dueAt\":\"2026-02-29\""), "expected a day that exists"),
        (other("\"completedAt\":null", "\"completedAt\":\"yesterday\""), "expected an instant"),
        (other("\"reminders\":[]", "\"reminders\":[\"2026-04-05\"]"), "expected an instant"),
        (other("\"reminders\":[]", "\"reminders\":[],\"priority\":1"), "unknown field `priority`"),
        (other("\"description\":\"\",", ""), "missing field `description`"),
        (state("td_0003", &[item("td_0002", "b"), item("td_0001", "a")]), "td_0001 is out of order"),
        (state("td_0003", &[item("td_0001", "b"), item("td_0001", "a")]), "td_0001 is out of order"),
        ("[".repeat(100_000), "invalid"),
    ] {
        let todo = Todo::with_state(&bytes);
        for args in [&["list"][..], &["add", "b"], &["due"], &["remove", "td_0001", "--confirm"]] {
            let (code, told) = todo.refused(args, 1);
            assert_eq!(code, "STATE_CORRUPT", "{bytes:.80}");
            assert!(told.contains(message), "{bytes:.80}: {told}");
        }
        todo.ok(&["--help"]);
        todo.ok(&["--version"]);
    }
    let todo = Todo::with_state(b"\xff\xfe");
    assert_eq!(todo.call(&["list"]).exit_status, 1);
    assert_eq!(fs::read(todo.directory.path().join("todos.json")).unwrap(), b"\xff\xfe");
}

#[test]
fn every_spelling_of_a_list_is_read_and_one_is_written() {
    let todo = Todo::with_state(" { \"items\" : [ ] , \"nextId\":\"td_0007\",\n\"version\": 1 }");
    todo.ok(&["list"]);
    assert!(todo.state().unwrap().starts_with(" {"), "reading does not tidy up");
    todo.ok(&["add", "a"]);
    assert_eq!(todo.state().unwrap(), state("td_0008", &[item("td_0007", "a")]));
    todo.ok(&["remove", "td_0007", "--confirm"]);
    assert_eq!(todo.state().unwrap(), "{\"version\":1,\"nextId\":\"td_0008\",\"items\":[\n]}\n");
}

#[test]
fn a_state_directory_that_is_not_there_is_no_empty_list() {
    let todo = Todo::new();
    let nowhere = StateFile::new(todo.directory.path().join("nowhere"), "todos.json");
    for args in [&["list"][..], &["add", "a"]] {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        let reply = TODO.run(&args, todo.now, &nowhere, Unread);
        assert_eq!(reply.exit_status, 1);
        assert_eq!(one_line(&reply.stdout)["error"]["code"], "STATE_UNAVAILABLE");
    }
    assert!(!todo.directory.path().join("nowhere").exists());
}

#[test]
fn a_file_that_cannot_be_replaced_stays_and_nothing_is_left_beside_it() {
    let todo = Todo::with_state(state("td_0002", &[item("td_0001", "a")]));
    // A directory where the new file would be written.
    let unfinished = todo.directory.path().join("todos.json.new");
    fs::create_dir(&unfinished).unwrap();
    let (code, message) = todo.refused(&["add", "b"], 1);
    assert_eq!(code, "STATE_UNAVAILABLE");
    assert!(message.contains("cannot be written"), "{message}");
    fs::remove_dir(&unfinished).unwrap();
    // What a call that was cut off left there is written over.
    fs::write(&unfinished, "half a li").unwrap();
    todo.ok(&["add", "b"]);
    assert!(!unfinished.exists());
    assert_eq!(todo.ids(&["list"]), ["td_0001", "td_0002"]);
}

#[test]
fn titles_of_any_script_come_back_as_they_were() {
    let todo = Todo::new();
    let titles = [
        "Größe prüfen; $(rm -rf /) `x` && y | z",
        "買い物 🛒👩‍👩‍👧",
        "e\u{301}",
        "\"quoted\" \\ back",
        "- milk",
        "  padded  ",
    ];
    for title in titles {
        assert_eq!(todo.ok(&["add", title])["items"][0]["title"], title);
    }
    let listed = todo.ok(&["list"]);
    let shown: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|item| item["title"].as_str().unwrap()).collect();
    assert_eq!(shown, titles);
    todo.ok(&["add", "--", "--human"]);
    assert_eq!(todo.ok(&["get", "td_0007"])["items"][0]["title"], "--human");
}

#[test]
fn fields_are_kept_in_the_order_of_the_item() {
    let todo = Todo::new();
    todo.ok(&["add", "a"]);
    for (args, items) in [
        (&["list", "--fields", "title,id"][..], r#""items":[{"id":"td_0001","title":"a"}]"#),
        (&["--fields", "status", "get", "td_0001"], r#""items":[{"status":"open"}]"#),
        (&["complete", "td_0001", "--fields=id, status"], r#""items":[{"id":"td_0001","status":"completed"}]"#),
    ] {
        let reply = todo.call(args);
        assert!(reply.stdout.contains(items), "{args:?}: {}", reply.stdout);
    }
}

#[test]
fn people_get_text_and_their_failures_on_stderr() {
    let todo = Todo::new();
    assert_eq!(todo.call(&["list", "--human"]).stdout, "nothing to show\n");
    todo.ok(&["add", "Buy milk", "--due-at", "2026-04-05"]);
    todo.ok(&["add", "Rest"]);
    assert_eq!(
        todo.call(&["--human", "list"]).stdout,
        "ID       STATUS  DUEAT       TITLE\ntd_0001  open    2026-04-05  Buy milk\ntd_0002  open    -           Rest\n"
    );
    assert_eq!(
        todo.call(&["list", "--human", "--limit", "1"]).stdout,
        "ID       STATUS  DUEAT       TITLE\ntd_0001  open    2026-04-05  Buy milk\n1 of 2, after the first 0\n"
    );
    assert_eq!(todo.call(&["get", "td_0002", "--human", "--fields", "id,title"]).stdout, "id: td_0002\ntitle: Rest\n");
    assert_eq!(
        todo.call(&["list", "--human", "--fields", "createdAt", "--limit", "1"]).stdout,
        "CREATEDAT\n2026-04-01T00:00:00.000Z\n1 of 2, after the first 0\n"
    );
    assert_eq!(todo.call(&["--version", "--human"]).stdout, "todo 0.2.0\n");
    let reply = todo.call(&["get", "td_0009", "--human"]);
    assert_eq!((reply.stdout.as_str(), reply.exit_status), ("", 20));
    assert_eq!(reply.stderr, "error: no item has the id td_0009\n  call list for the ids there are\n");
    let unreadable = todo.call(&["lst", "--human"]);
    assert_eq!(unreadable.stderr, "error: no command is called \"lst\"\n  did you mean list?\n");
}

#[test]
fn help_tells_all_or_one() {
    let todo = Todo::new();
    let names = |document: &Value| -> Vec<String> {
        document["commands"]
            .as_array()
            .unwrap()
            .iter()
            .map(|command| command["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = todo.ok(&["--help"]);
    assert_eq!(all["schema"], "hutch/commands@0.1");
    assert_eq!(names(&all).len(), 11);
    assert!(all["help"].as_str().unwrap().starts_with("usage: todo COMMAND"));
    let one = todo.ok(&["remove", "--help"]);
    assert_eq!(names(&one), ["remove"]);
    assert_eq!(
        one["help"],
        "usage: todo remove ID [--confirm] [--no-confirm] [--json-input] [--no-json-input] [--dry-run] [--no-dry-run]"
    );
    assert_eq!(names(&todo.ok(&["reminder", "--help"])), ["reminder set", "reminder clear", "reminder list"]);
    assert_eq!(todo.ok(&["get", "--help"])["help"], "usage: todo get ID");
    assert!(
        todo.ok(&["reminder", "set", "--help"])["help"]
            .as_str()
            .unwrap()
            .starts_with("usage: todo reminder set ID --at INSTANT... [--json-input] ")
    );
    let text = todo.call(&["list", "--help", "--human"]).stdout;
    for part in [
        "usage: todo list [--status open|completed|all] [--due-before DATE-OR-INSTANT] [--limit INTEGER] [--offset INTEGER]\n",
        "--limit INTEGER: how many to show at most, 1 to 10000 (default: 100)\n",
        "--human: print text for people",
        " 1  STATE_CORRUPT: ",
    ] {
        assert!(text.contains(part), "{part:?} in:\n{text}");
    }
    assert!(!text.contains("CONFIRMATION_REQUIRED"), "list cannot fail like that:\n{text}");
    assert_eq!(todo.ok(&["--version"]), json!({"ok": true, "name": "todo", "version": "0.2.0"}));
    assert_eq!(todo.state(), None);
}

/// Works on so many items, and says how long that took.
fn timed(count: usize) -> Duration {
    let id = |number: usize| format!("td_{number:04}");
    let items: Vec<String> = (1..=count).map(|number| item(&id(number), &format!("item {number}"))).collect();
    let todo = Todo::with_state(state(&id(count + 1), &items));
    let start = Stopwatch::now();
    assert_eq!(todo.ok(&["list", "--limit", "10000"])["count"], count);
    assert_eq!(todo.ids(&["get", &id(count - 1)]), [id(count - 1)]);
    assert_eq!(todo.ids(&["add", "one more"]), [id(count + 1)]);
    assert_eq!(todo.ids(&["remove", "td_0001", "--confirm"]), ["td_0001"]);
    let took = start.elapsed();
    let written = todo.state().unwrap();
    let expected: Vec<String> = items.into_iter().skip(1).chain([item(&id(count + 1), "one more")]).collect();
    assert!(written == state(&id(count + 2), &expected), "the other lines are untouched");
    took
}

#[test]
fn ten_thousand_items_are_quick() {
    // Ten times as many take about ten times as long, and with anything quadratic a hundred times. Of each the fastest counts, of as many as
    // a busy machine needs.
    let begun = Stopwatch::now();
    let (mut few, mut many) = (timed(1_000), timed(10_000));
    while many > few * 30 && begun.elapsed() < Duration::from_secs(120) {
        (few, many) = (few.min(timed(1_000)), many.min(timed(10_000)));
    }
    assert!(many <= few * 30, "{few:?} for a thousand items, {many:?} for ten thousand");
}
