//! An instance as one file: written from one home and taken in by another, which believes nothing of it.

use crate::support::{FIXED, Machine, probe, todo};
use hutch_model::digest::{Digest, Kind};
use serde_json::{Value, json};
use std::fs;

/// A machine with three items, one of them completed.
fn machine() -> Machine {
    let machine = Machine::new();
    for words in [&["add", "Write docs"][..], &["add", "Buy milk"], &["complete", "td_0001"], &["list"]] {
        machine.guest(&[&FIXED[..], &[&todo()], words].concat()).answer();
    }
    machine
}

fn head(machine: &Machine, package: &str) -> Value {
    machine.run(["ledger", "head", package]).result("ledger head")
}

fn export(machine: &Machine, words: &[&str]) -> Value {
    machine.run([&["instance", "export"], words, &["todo"]].concat()).result("instance export")
}

#[test]
fn an_instance_goes_to_another_home_and_on_from_there() {
    let (one, other) = (machine(), Machine::new());
    let exported = export(&one, &["--output", "bundle"]);
    assert_eq!((&exported["entries"], &exported["last"]["hash"]), (&json!(5), &head(&one, "todo")["hash"]));
    // The same ledger is the same bytes.
    export(&one, &["--output", "bundle"]);
    let bytes = fs::read(one.path("bundle")).unwrap();
    assert_eq!(exported["bytes"], json!(bytes.len()));
    other.write("bundle", &bytes);
    let import = |words: &[&str]| other.run([&["instance", "import", "--input", "bundle"], words, &[&todo()]].concat());
    // A preview verifies it, and makes nothing.
    let preview = import(&["--dry-run"]).answer();
    assert_eq!((&preview["result"]["entries"], &preview["result"]["equal"]), (&json!(5), &json!(4)));
    other.run(["ledger", "head", "todo"]).fault("NOT_FOUND", 20);
    let taken = import(&["--ring", "auto"]).result("instance import");
    assert_eq!((&taken["entries"], &taken["last"]["hash"]), (&json!(5), &head(&one, "todo")["hash"]));
    assert_eq!(head(&other, "todo"), head(&one, "todo"));
    assert_eq!(other.todo(&["list"]).answer()["items"], one.todo(&["list"]).answer()["items"]);
    other.run(["verify", "--all", &todo()]).result("verify");
    // What came later follows, without what was there.
    other.todo(&["add", "From the other home"]).answer();
    other.run(["instance", "export", "--after", "@5", "--output", "more", "todo"]).result("instance export");
    let more = fs::read(other.path("more")).unwrap();
    assert!(more.len() < bytes.len());
    one.write("more", more);
    let forked = one.run(["instance", "import", "--input", "more", &todo()]);
    assert!(forked.fault("CONFLICT", 30).message.contains("entry 6"), "it listed something of its own meanwhile");
    let third = Machine::new();
    third.write("bundle", &bytes);
    third.write("more", fs::read(other.path("more")).unwrap());
    third.run(["instance", "import", "--input", "more", &todo()]).fault("STORE_DAMAGED", 50);
    third.run(["instance", "import", "--input", "bundle", &todo()]).result("instance import");
    let rest = third.run(["instance", "import", "--input", "more", &todo()]).result("instance import");
    assert_eq!((&rest["entries"], head(&third, "todo")), (&json!(2), head(&other, "todo")));
    let again = third.run(["instance", "import", "--input", "more", &todo()]).result("instance import");
    assert_eq!((&again["entries"], &again["last"]), (&json!(0), &Value::Null));
}

#[test]
fn no_changed_byte_is_taken_in() {
    let one = machine();
    export(&one, &["--output", "bundle"]);
    let bytes = fs::read(one.path("bundle")).unwrap();
    let other = Machine::new();
    let refused = |bytes: &[u8]| {
        other.write("bundle", bytes);
        other.run(["instance", "import", "--input", "bundle", &todo()]).fault("STORE_DAMAGED", 50);
        other.run(["ledger", "head", "todo"]).fault("NOT_FOUND", 20);
    };
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        refused(&changed);
    }
    for length in [1, 15, bytes.len() / 2, bytes.len() - 1] {
        refused(&bytes[..length]);
    }
}

/// A whole bundle, by its digest, of one entry that would take memory a hundredfold if it were read.
#[test]
fn an_entry_that_is_longer_than_any_is_refused_unread() {
    let machine = Machine::new();
    let entry = format!("{{\"sequence\":1,\"more\":[{}0]}}", "0,".repeat(200_000));
    let item = [b"E", &(entry.len() as u64).to_le_bytes()[..], entry.as_bytes()].concat();
    let digest = Digest::of(Kind::Artifact, &item);
    let parts = [b"hutch-bundle-1\n", &(item.len() as u64).to_le_bytes()[..], &item, digest.as_bytes()];
    machine.write("bundle", parts.concat());
    let fault = machine.run(["instance", "import", "--input", "bundle", &todo()]).fault("STORE_DAMAGED", 50);
    assert!(fault.message.contains("is longer than any entry"), "{fault:?}");
}

#[test]
fn what_another_package_made_is_not_taken_in() {
    let one = machine();
    export(&one, &["--output", "bundle"]);
    one.run(["instance", "import", "--input", "bundle", "--instance", "new", &probe()]).fault("NOT_REPRODUCIBLE", 1);
    one.run(["instance", "import", "--input", "nowhere", &todo()]).fault("NOT_FOUND", 20);
    one.write("taken", "something");
    one.run(["instance", "export", "--output", "taken", "todo"]).fault("ALREADY_EXISTS", 30);
    assert_eq!(fs::read(one.path("taken")).unwrap(), b"something");
}
