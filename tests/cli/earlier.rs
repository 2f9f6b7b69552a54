//! What an earlier version of a package did can be done again after an update, for as long as an entry names it.

use crate::support::{Machine, package};
use serde_json::{Value, json};

/// A machine where two versions of the probe ran, the second one installed over the first, with another component.
fn updated() -> Machine {
    let machine = Machine::new();
    let folder = package::copy(&machine, "package");
    machine.run(["install", "--yes", "./package"]).result("install");
    machine.guest(&["probe", "write-text", "state/a", "by the first"]).answer();
    for file in ["APP.md", "schemas/commands.json"].map(|name| folder.join(name)) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains("0.1.0"));
        std::fs::write(&file, text.replacen("0.1.0", "0.1.1", 1)).unwrap();
    }
    // Another component: the same with a section that says nothing.
    let path = folder.join("app/app.wasm");
    let component = std::fs::read(&path).unwrap();
    std::fs::write(&path, [component.as_slice(), b"\0\x05\x04test"].concat()).unwrap();
    machine.run(["install", "./package"]).result("install");
    machine.guest(&["probe", "write-text", "state/b", "by the second"]).answer();
    machine
}

fn verified(machine: &Machine) -> Value {
    machine.run(["verify", "--all", "probe"]).result("verify")
}

/// The versions whose files are there.
fn versions(machine: &Machine) -> usize {
    let folder = machine.path("person/.local/share/hutch/packages/probe");
    std::fs::read_dir(folder).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count()
}

fn gc(machine: &Machine, keep: &str) -> Value {
    machine.run(["--yes", "gc", "--keep", keep, "probe"]).result("gc")
}

#[test]
fn the_whole_ledger_verifies_after_an_update_and_after_gc() {
    let machine = updated();
    let before = verified(&machine);
    assert_eq!((&before["equal"], &before["differ"]), (&json!(2), &json!(0)));
    assert_eq!(gc(&machine, "1000")["versions"], 0);
    assert_eq!((verified(&machine)["equal"].clone(), versions(&machine)), (json!(2), 2));
}

#[test]
fn a_call_of_an_earlier_version_is_made_again_by_that_version() {
    let machine = updated();
    let listed = machine.run(["ledger", "list", "probe"]).result("ledger list");
    let runs = listed["items"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "run");
    let first = runs.map(|entry| entry["sequence"].as_u64().unwrap()).min().unwrap();
    let name = format!("@{first}");
    machine.run(["replay", "probe", &name]).result("replay");
    let last = machine.run(["ledger", "show", "probe", "last"]).result("ledger show");
    let shown = machine.run(["ledger", "show", "probe", &name]).result("ledger show");
    assert_eq!(
        (&last["record"]["package"], &last["record"]["package"]["version"]),
        (&shown["record"]["package"], &json!("0.1.0"))
    );
}

#[test]
fn gc_takes_away_versions_that_no_entry_of_any_instance_names() {
    let machine = updated();
    machine.run(["instance", "copy", "probe", "other"]).result("instance copy");
    let preview = machine.run(["--dry-run", "gc", "--keep", "1", "probe"]).document()["result"].take();
    assert_eq!((&preview["versions"], versions(&machine)), (&json!(0), 2), "the copy names it");
    assert_eq!((gc(&machine, "1")["versions"].clone(), versions(&machine)), (json!(0), 2));
    machine.run(["--yes", "instance", "purge", "--instance", "other", "probe"]).result("instance purge");
    let preview = machine.run(["--dry-run", "gc", "--keep", "1", "probe"]).document()["result"].take();
    assert_eq!((&preview["versions"], versions(&machine)), (&json!(1), 2));
    assert_eq!((gc(&machine, "1")["versions"].clone(), versions(&machine)), (json!(1), 1));
    machine.guest(&["probe", "return-ok"]).answer();
    machine.run(["verify", "probe"]).result("verify");
}

#[test]
fn a_version_whose_files_were_changed_makes_nothing_again() {
    let machine = updated();
    let now = machine.run(["catalog"]).result("catalog")["items"][0]["digest"].as_str().unwrap().to_owned();
    let folder = machine.path("person/.local/share/hutch/packages/probe");
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() && !entry.ends_with(&now) {
            std::fs::write(entry.join("skills/probe-usage/SKILL.md"), "changed").unwrap();
        }
    }
    let fault = machine.run(["verify", "--all", "probe"]).fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("1 equal"), "{fault:?}");
}
