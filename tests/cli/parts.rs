//! A ledger verified in parts, as several machines would: parts whose ends meet are the ledger verified whole, and what is wrong in one
//! shows there, or where it should meet the next.

use crate::support::{FIXED, Machine, todo};
use hutch_model::digest::{Digest, Kind};
use serde_json::{Value, json};

fn machine() -> Machine {
    let machine = Machine::new();
    for title in ["one", "two", "three", "four", "five"] {
        machine.guest(&[&FIXED[..], &[&todo(), "add", title]].concat()).answer();
    }
    machine
}

fn part(machine: &Machine, from: u64, to: u64) -> crate::support::Ran {
    machine.run(["verify", "--from", &format!("@{from}"), "--to", &format!("@{to}"), &todo()])
}

fn database(machine: &Machine) -> rusqlite::Connection {
    rusqlite::Connection::open(machine.home().join("instances/todo/default/hutch.db")).unwrap()
}

fn bytes(machine: &Machine, sequence: i64) -> Vec<u8> {
    let sql = "SELECT bytes FROM entries WHERE sequence = ?1";
    database(machine).query_row(sql, [sequence], |row| row.get(0)).unwrap()
}

/// Another entry in a place, with a hash that is right.
fn put(machine: &Machine, sequence: i64, bytes: &[u8]) {
    let hash = Digest::of(Kind::Entry, bytes);
    let sql = "UPDATE entries SET bytes = ?2, hash = ?3 WHERE sequence = ?1";
    assert_eq!(database(machine).execute(sql, (sequence, bytes, hash.as_bytes())).unwrap(), 1);
}

#[test]
fn parts_whose_ends_meet_are_the_whole() {
    let machine = machine();
    let whole = machine.run(["verify", "--all", &todo()]).result("verify");
    let head = machine.run(["ledger", "show", "todo"]).result("ledger show");
    assert_eq!(head["sequence"], json!(6));
    for middle in 1..6 {
        let (one, other) = (part(&machine, 1, middle).result("verify"), part(&machine, middle + 1, 6).result("verify"));
        assert_eq!(one["after"]["sequence"], json!(0));
        assert_eq!(one["last"], other["after"], "at {middle}");
        assert_eq!(other["last"], json!({"sequence": head["sequence"], "hash": head["hash"]}));
        let equal = |part: &Value| part["equal"].as_u64().unwrap();
        assert_eq!(equal(&one) + equal(&other), equal(&whole));
    }
    // Without an end it goes from the first to the last.
    let open = machine.run(["verify", "--from", "@1", &todo()]).result("verify");
    assert_eq!(open["last"]["hash"], head["hash"]);
    part(&machine, 5, 4).fault("USAGE", 2);
    part(&machine, 1, 7).fault("NOT_FOUND", 20);
}

#[test]
fn damage_shows_in_its_part_and_in_no_other() {
    let machine = machine();
    let good = bytes(&machine, 4);
    let sql = "UPDATE entries SET bytes = ?1 WHERE sequence = 4";
    let text = String::from_utf8(good.clone()).unwrap().replace("three", "THREE");
    database(&machine).execute(sql, [text.as_bytes()]).unwrap();
    part(&machine, 1, 3).result("verify");
    part(&machine, 5, 6).result("verify");
    let fault = part(&machine, 4, 5).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("entry 4"), "{fault:?}");
    database(&machine).execute(sql, [&good]).unwrap();
    part(&machine, 4, 5).result("verify");
}

/// Who may write the ledger can make an entry that is right by itself: then the next one does not rest on it.
#[test]
fn an_entry_that_was_exchanged_shows_where_parts_do_not_meet() {
    let machine = machine();
    let text = String::from_utf8(bytes(&machine, 3)).unwrap();
    // Something that no run depends on.
    let at = text.find("\"at\":\"20").unwrap() + 9;
    let another = format!("{}{}{}", &text[..at], if &text[at..=at] == "9" { "8" } else { "9" }, &text[at + 1..]);
    assert_ne!(another, text, "{text}");
    put(&machine, 3, another.as_bytes());
    let fault = part(&machine, 1, 4).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("entry 3"), "{fault:?}");
    let (one, other) = (part(&machine, 1, 3).result("verify"), part(&machine, 4, 6).result("verify"));
    assert_eq!(one["last"]["sequence"], other["after"]["sequence"]);
    assert_ne!(one["last"]["hash"], other["after"]["hash"], "the ends meet");
}
