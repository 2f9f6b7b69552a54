//! Whose an instance is, and who asked for what is planned there, no file says.

use super::{becomes, forged, import, machine, one_file};
use crate::support::package::{copy_todo, with_manifest};
use crate::support::{FIXED, Machine, todo};
use hutch_model::ledger::{EntryKind, Origin, Owner, Record};
use serde_json::json;

/// A plan in a file is a call that somebody else wrote, with a guard that somebody else switched off.
#[test]
fn a_plan_that_came_with_a_file_is_nobodys_here() {
    let elsewhere = Machine::new();
    elsewhere.guest(&[&FIXED[..], &[&todo(), "add", "Write docs"]].concat()).answer();
    for (guard, title) in [("off", "key AKIAIOSFODNN7EXAMPLF"), ("text", "harmless")] {
        elsewhere.run(["plan", "--guard", guard, &todo(), "add", title]).result("plan");
    }
    let machine = Machine::new();
    machine.guest(&[&FIXED[..], &["--instance", "taken", &todo(), "add", "Write docs"]].concat()).answer();
    machine.run(["plan", "--instance", "taken", &todo(), "add", "mine"]).result("plan");
    machine.run(["instance", "purge", "--yes", "--instance", "taken", "todo"]).result("instance purge");
    elsewhere.run(["instance", "export", "--output", "file", "todo"]).result("instance export");
    std::fs::copy(elsewhere.path("file"), machine.path("file")).unwrap();
    let taken = import(&machine, &["--input", "file"]).result("instance import");
    assert_eq!((&taken["equal"], &taken["plans"]), (&json!(3), &json!(2)), "{taken}");
    let on = |words: &[&str]| machine.run([words, &["--instance", "taken", &todo()]].concat());
    let named = |command: &str, yes: &[&str], entry: &str| {
        machine.run([&[command], yes, &["--instance", "taken", &todo(), entry][..]].concat())
    };
    on(&["apply", "--yes"]).fault("NOT_FOUND", 20);
    for command in ["apply", "replay"] {
        named(command, &[], "@4").fault("CONFIRMATION_REQUIRED", 30);
        named(command, &["--yes"], "@3").fault("ARGUMENT_REFUSED", 2);
    }
    // A run that somebody made there is nobody's here either.
    named("replay", &[], "@2").fault("CONFIRMATION_REQUIRED", 30);
    let listed = || machine.guest(&["--instance", "taken", &todo(), "list"]).answer()["count"].clone();
    assert_eq!(listed(), 1);
    // What a person here agrees to by its name, and what is planned here, is carried out.
    assert_eq!(named("apply", &["--yes"], "@4").result("apply")["kept"], json!(true));
    on(&["undo"]).result("undo");
    machine.run(["plan", "--instance", "taken", &todo(), "add", "mine"]).result("plan");
    assert_eq!(on(&["apply"]).result("apply")["kept"], json!(true));
    assert_eq!(listed(), 2);
}

#[test]
fn an_instance_is_whose_takes_it_whomever_the_file_names() {
    let machine = machine();
    let evil = with_manifest(&machine, "evil", "slug: probe", "slug: todo");
    let evil = evil.to_str().unwrap().to_owned();
    // As the one that it belongs to says it, and as one that is known by nothing but its bytes.
    let read = |machine: &Machine| {
        machine.run(["run", "--instance", "taken", &evil, "read-file", "state/todos.json"]);
        let ran = machine.run(["run", "--instance", "taken", &evil, "read-file", "state/todos.json"]);
        ran.fault("INSTANCE_FOREIGN", 30)
    };
    machine.run(["run", "--instance", "own", &evil, "list-dir", "state"]);
    let shown = machine.run(["ledger", "show", "--instance", "own", &evil, "@1"]).result("ledger show");
    let named: Owner = serde_json::from_value(shown["record"]["owner"].clone()).unwrap();
    assert_eq!(named.origin, Origin::path(&evil));
    let own = |sequence: u64, record: &mut Record| {
        if sequence == 1 {
            record.owner = Some(named.clone());
        }
    };
    forged(&machine, "file", own, &[]);
    import(&machine, &["--input", "file"]).result("instance import");
    assert!(read(&machine).details["owners"].as_str().is_some_and(|owners| !owners.contains("evil")));
    // Whose it is uses it, and a copy of it is no other's.
    let todo = |words: &[&str]| machine.run([&["run", "--instance", "taken", &todo()], words].concat());
    todo(&["add", "mine"]).answer();
    read(&machine);
    machine.run(["instance", "copy", "--instance", "taken", "todo", "copied"]).result("instance copy");
    machine.run(["run", "--instance", "copied", &evil, "list-dir", "state"]).fault("INSTANCE_FOREIGN", 30);
    // Where the maker of an honest file had his package counts for nothing, whatever is there now.
    let theirs = copy_todo(&machine, "theirs");
    let at = theirs.to_str().unwrap().to_owned();
    machine.run(["run", "--instance", "default", &at, "list"]).answer();
    machine.run(["instance", "export", "--output", "theirs.file", "todo"]).result("instance export");
    let words = ["instance", "import", "--instance", "third", "--input", "theirs.file"];
    machine.run([&words[..], &[&crate::support::todo()]].concat()).result("instance import");
    let manifest = std::fs::read_to_string(theirs.join("APP.md")).unwrap();
    std::fs::write(theirs.join("APP.md"), manifest + "\nchanged\n").unwrap();
    machine.run(["run", "--instance", "third", &at, "list"]).fault("INSTANCE_FOREIGN", 30);
    machine.run(["run", "--instance", "default", &at, "list"]).answer();
}

#[test]
fn nothing_comes_into_another_package_s_instance() {
    let machine = machine();
    let evil = with_manifest(&machine, "evil", "slug: probe", "slug: todo");
    let (state, objects) = one_file("x");
    forged(&machine, "file", |_, _| (), &[(becomes(EntryKind::Edit, state), &objects)]);
    let before = machine.run(["ledger", "show", "todo"]).result("ledger show");
    let into = |package: &str, words: &[&str]| {
        machine.run([&["instance", "import", "--input", "file"], words, &[package]].concat())
    };
    into(evil.to_str().unwrap(), &[]).fault("INSTANCE_FOREIGN", 30);
    into(evil.to_str().unwrap(), &["--dry-run"]).fault("INSTANCE_FOREIGN", 30);
    assert_eq!(machine.run(["ledger", "show", "todo"]).result("ledger show"), before);
    let taken = into(&todo(), &[]).result("instance import");
    assert_eq!((&taken["entries"], &taken["as_told"]), (&json!(1), &json!(1)), "{taken}");
}
