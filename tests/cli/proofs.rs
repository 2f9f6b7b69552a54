//! `hutch prove`: a file that proves an entry on a machine that knows nothing of it, and what none is made of.

use crate::support::{FIXED, Machine, Ran, package, probe, todo};
use serde_json::Value;

fn machine() -> Machine {
    let machine = Machine::new();
    for title in ["one", "two", "three"] {
        machine.guest(&[&FIXED[..], &[&todo(), "add", title]].concat()).answer();
    }
    machine
}

fn proof(machine: &Machine, more: &[&str]) -> Value {
    machine.run([&["prove", "--output", "proof.json"], more].concat()).result("prove")
}

/// Takes the file to a machine where nothing is.
fn taken(from: &Machine) -> Machine {
    let other = Machine::new();
    other.write("proof.json", std::fs::read(from.path("proof.json")).unwrap());
    other
}

#[test]
fn a_stranger_checks_an_entry_with_nothing_but_the_file() {
    let machine = machine();
    let made = proof(&machine, &[&todo(), "@3"]);
    assert_eq!(
        (&made["entry"]["sequence"], &made["carries"], &made["changed"]),
        (&3.into(), &true.into(), &true.into())
    );
    assert!(made["bytes"].as_u64().unwrap() < 2 << 20, "{made}");
    let other = taken(&machine);
    let checked = other.run(["prove", "--check", "proof.json"]).result("prove");
    assert_eq!(checked["status"], "equal");
    for known in ["entry", "argv", "at", "component", "ending", "instance", "package", "tree", "version"] {
        assert_eq!(checked[known], made[known], "{known}");
    }
    assert_eq!((&checked["argv"][2], &checked["output"]["items"][0]["title"]), (&"two".into(), &"two".into()));
    let known = machine.run(["ledger", "show", "todo", "@3"]).result("ledger show");
    assert_eq!(checked["entry"]["hash"], known["hash"]);
    assert!(other.is_untouched(), "nothing is kept of it");
    // By hand, as by the words of people.
    let told = other.run(["prove", "--human", "--check", "proof.json"]);
    assert!(told.stdout.starts_with("equal: entry 3 of todo/default"), "{}", told.stdout);
}

#[test]
fn the_ledger_that_it_is_of_is_the_one_that_was_written_down() {
    let machine = machine();
    let made = proof(&machine, &["--bare", &todo()]);
    let chain = machine.run(["verify", "--chain", "todo"]).result("verify");
    assert_eq!(made["tree"], chain["tree"]);
    assert_eq!(made["entry"]["sequence"], 4, "the last run, where none is named");
    let (other, tree) = (taken(&machine), chain["tree"].as_str().unwrap());
    let check = |more: &[&str]| other.run([&["prove", "--check", "proof.json"], more].concat());
    check(&["--tree", tree, &todo()]).result("prove");
    let wrong = format!("4:{}", "0".repeat(64));
    let fault = check(&["--tree", &wrong, &todo()]).fault("VERIFY_FAILED", 1);
    assert!(fault.message.contains(tree) && fault.message.contains(&wrong), "{fault:?}");
    check(&["--tree", "4", &todo()]).fault("USAGE", 2);
    // Without the package, and with another one.
    let fault = check(&[]).fault("USAGE", 2);
    assert!(fault.message.contains("no package in it"), "{fault:?}");
    check(&[&probe()]).fault("NOT_REPRODUCIBLE", 1);
    // More entries make it another ledger, in which the entry still is.
    machine.guest(&[&FIXED[..], &[&todo(), "list"]].concat()).answer();
    let fault = machine.run(["prove", "--bare", "--output", "proof.json", &todo(), "@4"]).fault("ALREADY_EXISTS", 30);
    assert!(fault.message.contains("proof.json"), "{fault:?}");
    std::fs::remove_file(machine.path("proof.json")).unwrap();
    assert!(proof(&machine, &["--bare", &todo(), "@4"])["tree"].as_str().unwrap().starts_with("5:"));
}

#[test]
fn who_signed_it_is_asked_for_by_a_key() {
    let machine = machine();
    for key in ["mine", "other"] {
        machine.run(["sign", "--new-key", key]).result("sign");
    }
    let signed = proof(&machine, &["--bare", "--key", "mine", &todo()]);
    let check = |key: &str| machine.run(["prove", "--check", "proof.json", "--key", key, &todo()]);
    assert_eq!(check("mine.pub").result("prove")["key"], signed["key"]);
    check("other.pub").fault("SIGNATURE_REQUIRED", 30);
    // It counts for the key that it names.
    let file = std::fs::read_to_string(machine.path("proof.json")).unwrap();
    for name in ["", "somebody"] {
        let mut renamed: Value = serde_json::from_str(&file).unwrap();
        renamed["signatures"][0]["keyid"] = name.into();
        machine.write("proof.json", renamed.to_string() + "\n");
        check("mine.pub").fault("SIGNATURE_REQUIRED", 30);
        machine.run(["prove", "--check", "proof.json", &todo()]).result("prove");
    }
    // Not of the same statement.
    std::fs::remove_file(machine.path("proof.json")).unwrap();
    proof(&machine, &["--bare", "--key", "other", &todo(), "@3"]);
    let mut moved: Value = serde_json::from_str(&std::fs::read_to_string(machine.path("proof.json")).unwrap()).unwrap();
    moved["signatures"] = serde_json::from_str::<Value>(&file).unwrap()["signatures"].clone();
    machine.write("proof.json", moved.to_string() + "\n");
    check("mine.pub").fault("SIGNATURE_REQUIRED", 30);
    check("other.pub").fault("SIGNATURE_REQUIRED", 30);
}

#[test]
fn of_what_can_not_be_made_again_there_is_no_proof_and_no_file() {
    let machine = machine();
    machine.run(["prove", "--output", "proof.json", &todo(), "@1"]).fault("NOT_REPRODUCIBLE", 1);
    machine.write("folder/letter", "dear reader");
    machine.probe(&["--mount", "folder:mnt:ro"], &["read-file", "mnt/letter"]).answer();
    let fault = machine.run(["prove", "--output", "proof.json", &probe()]).fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("mount"), "{fault:?}");
    let asking = package::with_manifest(&machine, "asking", "    state:\n", "    env:\n      - TOKEN\n    state:\n");
    let asking = asking.display().to_string();
    let told = ["run", "--instance", "asking", "--secret", "TOKEN", &asking, "return-ok"];
    Ran::of(machine.hutch(told).env("TOKEN", "correct-horse")).answer();
    let prove = ["prove", "--instance", "asking", "--output", "proof.json", &asking];
    let fault = machine.run(prove).fault("NOT_REPRODUCIBLE", 1);
    assert!(fault.message.contains("TOKEN"), "{fault:?}");
    machine.run(["prove", "--output", "proof.json", &todo(), "@9"]).fault("NOT_FOUND", 20);
    machine.run(["prove", "--output", "proof.json", "--instance", "other", &todo()]).fault("NOT_FOUND", 20);
    let previewed = machine.run(["prove", "--dry-run", "--output", "proof.json", &todo()]).document();
    assert_eq!((&previewed["dry_run"], &previewed["result"]["changed"]), (&true.into(), &true.into()));
    assert!(!machine.path("proof.json").exists());
    machine.write("proof.json", "somebody's");
    machine.run(["prove", "--output", "proof.json", &todo()]).fault("ALREADY_EXISTS", 30);
    assert_eq!(std::fs::read_to_string(machine.path("proof.json")).unwrap(), "somebody's");
    machine.run(["prove", "--check", "proof.json"]).fault("VERIFY_FAILED", 1);
    machine.run(["prove", "--check", "nothing"]).fault("NOT_FOUND", 20);
    machine.run(["prove", &todo()]).fault("USAGE", 2);
}

#[test]
fn what_a_file_brings_runs_as_far_as_the_rules_let_it() {
    let machine = machine();
    proof(&machine, &[&todo()]);
    // The same again is the same file.
    assert_eq!(proof(&machine, &[&todo()])["changed"], false);
    let other = taken(&machine);
    other.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
    other.run(["prove", "--check", "proof.json"]).fault("TRUST_REQUIRED", 30);
}
