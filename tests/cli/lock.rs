//! `hutch.lock`: the same packages are the same bytes, a home is made to agree with it by what is the same by every digest alone, and
//! comparing asks nobody.

use crate::support::{Machine, PATIENCE, package, todo};
use serde_json::{Value, json};
use std::net::TcpListener;

/// A machine with the to-do package in a repository and installed from there, signed, and locked.
fn locked() -> Machine {
    let machine = Machine::new();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "mine"]).result("sign");
    machine.run(["install", "oci-layout:shop:0.2.0", "--key", "mine.pub"]).result("install");
    machine.run(["install", "--lock"]).result("install");
    machine
}

fn text(machine: &Machine) -> String {
    std::fs::read_to_string(machine.path("hutch.lock")).unwrap()
}

fn edit(machine: &Machine, change: impl FnOnce(&mut Value)) {
    let mut lock: Value = serde_json::from_str(&text(machine)).unwrap();
    change(&mut lock["packages"][0]);
    machine.write("hutch.lock", lock.to_string());
}

fn list(machine: &Machine) -> Value {
    machine.run(["catalog"]).result("catalog")
}

fn remove(machine: &Machine) {
    machine.run(["--yes", "remove", "todo"]).result("remove");
}

/// What differs, by `install --check`.
fn difference(machine: &Machine) -> Value {
    let fault = machine.run(["install", "--check"]).fault("LOCK_DIFFERS", 30);
    fault.details["packages"][0]["difference"].clone()
}

#[test]
fn the_same_packages_are_the_same_bytes_wherever_the_folder_is() {
    let (one, other) = (locked(), Machine::new());
    let lock = text(&one);
    assert!(!lock.contains(one.path("").to_str().unwrap()), "a path of this machine: {lock}");
    assert!(lock.contains("\"oci-layout:shop:0.2.0@sha256:"), "{lock}");
    let again = one.run(["install", "--lock"]).result("install");
    assert_eq!((&again["changed"], text(&one)), (&json!(false), lock.clone()));
    // Another home, another folder, the same repository.
    let copied = std::process::Command::new("cp").arg("-r").arg(one.path("shop")).arg(other.path("shop")).status();
    assert!(copied.is_ok_and(|status| status.success()));
    other.write("hutch.lock", &lock);
    assert_eq!(other.run(["install"]).result("install")["packages"][0]["difference"], "missing");
    assert_eq!(other.run(["install", "--check"]).result("install")["changed"], false);
    let (mut here, mut there) = (list(&one)["items"][0].take(), list(&other)["items"][0].take());
    for item in [&mut here, &mut there] {
        item.as_object_mut().unwrap().retain(|name, _| name != "installed_at" && name != "provenance");
    }
    // Here somebody named the key; a lock's word is nobody's.
    assert_eq!((here["trust"].take(), there["trust"].take()), (json!("signed"), json!("unsigned")));
    assert_eq!(here, there);
    other.run(["install", "--lock", "--file", "again.lock"]).result("install");
    assert_eq!(std::fs::read_to_string(other.path("again.lock")).unwrap(), lock);
}

#[test]
fn every_difference_is_said_and_mended() {
    let machine = locked();
    machine.run(["install", "--check"]).result("install");
    remove(&machine);
    assert_eq!(difference(&machine), "missing");
    let preview = machine.run(["--dry-run", "install"]).document()["result"].take();
    assert_eq!((&preview["changed"], &list(&machine)["total"]), (&json!(true), &json!(0)));
    machine.run(["install"]).result("install");
    // One bit on the disk.
    let digest = list(&machine)["items"][0]["digest"].as_str().unwrap().to_owned();
    machine.write(&format!("person/.local/share/hutch/packages/todo/{digest}/APP.md"), "changed");
    assert_eq!(difference(&machine), "changed");
    machine.run(["install"]).result("install");
    machine.run(["install", "--check"]).result("install");
    // The same files from elsewhere, and signed by nobody whom the home knows.
    remove(&machine);
    machine.run(["install", "--allow-source-change", "--allow-signer-change", &todo()]).result("install");
    assert_eq!(difference(&machine), "source");
    machine.run(["install", "--allow-source-change"]).fault("SIGNER_CHANGED", 30);
    machine.run(["install", "--allow-source-change", "--allow-signer-change"]).result("install");
    remove(&machine);
    machine.run(["install", "oci-layout:shop:0.2.0"]).result("install");
    edit(&machine, |locked| locked["source"] = json!("oci-layout:shop:0.2.0"));
    assert_eq!(difference(&machine), "source");
    machine.run(["install", "--lock"]).result("install");
    let mine = locked_signer();
    edit(&machine, |locked| locked["signer"] = json!(mine));
    assert_eq!(difference(&machine), "signer");
    machine.run(["install"]).fault("SIGNATURE_REQUIRED", 30);
}

/// A key that signed nothing.
fn locked_signer() -> String {
    let machine = Machine::new();
    machine.run(["sign", "--new-key", "other"]).result("sign");
    std::fs::read_to_string(machine.path("other.pub")).unwrap()
}

#[test]
fn a_source_with_another_package_is_refused_and_nothing_is_installed() {
    let machine = locked();
    remove(&machine);
    let lock = text(&machine);
    for (name, value) in [
        ("version", json!("0.1.9")),
        ("asks", json!(["env:TOKEN"])),
        ("digest", json!("0".repeat(64))),
        ("slug", json!("other")),
    ] {
        machine.write("hutch.lock", &lock);
        edit(&machine, |locked| locked[name] = value);
        let fault = machine.run(["--yes", "install"]).fault("LOCK_MISMATCH", 30);
        assert_eq!(fault.details["found"]["version"], "0.2.0", "{fault:?}");
        assert_eq!(list(&machine)["total"], 0, "{name}");
    }
    // Other bytes under the digest that is locked.
    machine.write("hutch.lock", &lock);
    let digest = lock.split("@sha256:").nth(1).unwrap()[..64].to_owned();
    let blob = format!("shop/blobs/sha256/{digest}");
    let bytes = std::fs::read_to_string(machine.path(&blob)).unwrap();
    machine.write(&blob, bytes.replacen("0.2.0", "0.2.1", 1));
    machine.run(["install"]).fault("ARTIFACT_INVALID", 46);
    assert_eq!(list(&machine)["total"], 0);
    for (broken, said) in [("{}", "version"), ("", "EOF"), ("{\"version\":2,\"packages\":[]}", "expected 1")] {
        machine.write("hutch.lock", broken);
        let fault = machine.run(["install"]).fault("USAGE", 2);
        assert!(fault.message.contains(said), "{fault:?}");
        // Nobody's lock is overwritten that is none.
        machine.run(["install", "--lock"]).fault("ALREADY_EXISTS", 30);
    }
    let fault = machine.run(["install", "--file", "nowhere.lock"]).fault("NOT_FOUND", 20);
    // A lock of nothing installs nothing.
    assert!(!fault.fixes.iter().any(|fix| fix.cmd.contains("--lock")), "{fault:?}");
    let installed = locked();
    let fault = installed.run(["install", "--file", "nowhere.lock"]).fault("NOT_FOUND", 20);
    assert!(fault.fixes[0].cmd.ends_with(" install --lock --file nowhere.lock"), "{fault:?}");
}

#[test]
fn a_line_names_a_package_or_a_lock() {
    let machine = locked();
    let before = (text(&machine), list(&machine));
    for line in [
        &["install", "todo", "--check"][..],
        &["install", "todo", "--prune"],
        &["install", "todo", "--file", "hutch.lock"],
        &["install", "todo", "oci-layout:shop:0.2.0"],
        &["install", "--lock", "--check"],
        &["install", "--lock", "--prune"],
        &["install", "--lock", "todo", "--launcher"],
        &["install", "--lock", "todo", "--key", "mine.pub"],
        &["install", "--key", "mine.pub"],
        &["install", "--allow-downgrade"],
    ] {
        let fault = machine.run(line).fault("USAGE", 2);
        assert!(fault.fixes.iter().any(|fix| fix.cmd.ends_with(" install --help")), "{line:?}: {fault:?}");
        assert_eq!((text(&machine), list(&machine)), before, "{line:?}");
    }
}

#[test]
fn a_lock_grants_nothing_and_takes_nothing_away_unasked() {
    let machine = locked();
    package::copy(&machine, "package");
    machine.run(["install", "--yes", "./package"]).result("install");
    // What is not locked is left.
    let left = machine.run(["install"]);
    assert!(left.stderr.contains("probe is installed and not locked"), "{left:?}");
    let answer: Value = serde_json::from_str(&left.stdout).unwrap();
    assert_eq!((left.status, &answer["result"]["changed"]), (0, &json!(false)));
    assert_eq!(machine.run(["install", "--check"]).status, 0);
    machine.run(["install", "--check", "--prune"]).fault("LOCK_DIFFERS", 30);
    machine.run(["install", "--prune"]).fault("CONFIRMATION_REQUIRED", 30);
    assert_eq!(list(&machine)["total"], 2);
    machine.run(["install", "--lock", "probe", "--file", "probe.lock"]).result("install");
    let pruned = machine.run(["--yes", "install", "--prune"]).result("install");
    assert_eq!((&pruned["removed"], &list(&machine)["total"]), (&json!(["probe"]), &json!(1)));
    // What it asks for was granted to the one that was removed.
    let refused = machine.run(["install", "--file", "probe.lock"]);
    assert_eq!(refused.status, 30);
    let said =
        r#""code":"CONFIRMATION_REQUIRED","message":"packages ask for what was not granted: [\"probe mount:mnt\"]""#;
    assert!(refused.stderr.contains(said), "{refused:?}");
    assert_eq!(list(&machine)["total"], 1);
    assert_eq!(machine.run(["--yes", "install", "--file", "probe.lock"]).status, 0);
    machine.guest(&["installed:probe", "return-ok"]).answer();
}

#[test]
fn a_lock_changes_no_signer_and_breaks_no_rule() {
    let machine = locked();
    machine.run(["push", &todo(), "oci-layout:unsigned"]).result("push");
    edit(&machine, |locked| {
        locked["source"] = json!("oci-layout:unsigned:0.2.0");
        locked["signer"] = Value::Null;
    });
    machine.run(["install", "--allow-signer-change"]).fault("SOURCE_CHANGED", 30);
    machine.run(["install", "--allow-source-change"]).fault("SIGNER_CHANGED", 30);
    machine.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
    let install = ["install", "--allow-source-change", "--allow-signer-change"];
    machine.run(install).fault("TRUST_REQUIRED", 30);
    assert!(list(&machine)["items"][0]["signer"].is_string());
    machine.run(["--yes", "trust", "remove", "*"]).result("trust remove");
    machine.run(install).result("install");
    assert!(list(&machine)["items"][0]["signer"].is_null());
}

/// A stranger's lock names the stranger's own key, under which everything is in order.
#[test]
fn a_lock_makes_nobody_known() {
    let stranger = locked();
    let handed = |rule: bool| {
        let machine = Machine::new();
        package::copy_folder(&stranger.path("shop"), &machine.path("shop"));
        machine.write("hutch.lock", text(&stranger));
        if rule {
            machine.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
        }
        machine
    };
    let machine = handed(true);
    machine.run(["install", "oci-layout:shop:0.2.0"]).fault("TRUST_REQUIRED", 30);
    for line in [&["install"][..], &["--yes", "install"]] {
        machine.run(line).fault("TRUST_REQUIRED", 30);
        assert_eq!(list(&machine)["total"], 0, "{line:?}");
    }
    // Without a rule it is had, and a rule that comes later holds for it.
    let machine = handed(false);
    machine.run(["install"]).result("install");
    assert_eq!(machine.run(["install", "--check"]).result("install")["changed"], false);
    machine.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
    machine.guest(&["installed:todo", "list"]).fault("TRUST_REQUIRED", 30);
    // Who takes it over says so.
    machine.run(["install", "oci-layout:shop:0.2.0", "--allow-signer-change"]).fault("TRUST_REQUIRED", 30);
    std::fs::copy(stranger.path("mine.pub"), machine.path("mine.pub")).unwrap();
    machine.run(["install", "oci-layout:shop:0.2.0", "--key", "mine.pub"]).result("install");
    machine.guest(&["installed:todo", "list"]).answer();
    // What comes later must be signed by it too.
    let machine = handed(false);
    machine.run(["install"]).result("install");
    std::fs::write(package::copy_todo(&machine, "todo").join("app/more.txt"), "more").unwrap();
    machine.run(["push", "todo", "oci-layout:shop", "--overwrite"]).result("push");
    let install = ["install", "oci-layout:shop:0.2.0", "--allow-replaced-version"];
    machine.run(install).fault("SIGNER_CHANGED", 30);
}

#[test]
fn a_lock_sets_nobody_in_the_place_of_who_signs_an_installed_version_or_says_how_it_was_built() {
    let machine = locked();
    let attested = |key: &str| {
        machine.run(["sign", "--build", "oci-layout:shop:0.2.0", "--key", key]).result("sign");
    };
    attested("mine");
    machine.run(["install", "oci-layout:shop:0.2.0", "--key", "mine.pub"]).result("install");
    // Somebody else may write into the repository.
    machine.run(["sign", "--new-key", "other"]).result("sign");
    machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "other"]).result("sign");
    attested("other");
    machine.run(["install", "--lock"]).result("install");
    let (lock, other) = (text(&machine), std::fs::read_to_string(machine.path("other.pub")).unwrap());
    let pin = || {
        let text = std::fs::read_to_string(machine.home().join("packages/todo/pin.json")).unwrap();
        let pin: Value = serde_json::from_str(&text).unwrap();
        ["signer", "attester"].map(|role| pin[role].clone())
    };
    let before = pin();
    for role in ["signer", "attester"] {
        machine.write("hutch.lock", &lock);
        edit(&machine, |locked| locked[role] = json!(other));
        for line in [&["install"][..], &["--yes", "install", "--allow-replaced-version"]] {
            let fault = machine.run(line).fault("SIGNER_CHANGED", 30);
            assert!(fault.details[role].is_string(), "{fault:?}");
        }
        assert_eq!(pin(), before, "{role}");
        machine.run(["install", "--allow-signer-change"]).result("install");
        assert_ne!(pin(), before, "{role}");
        machine.write("hutch.lock", &lock);
        machine.run(["install", "--allow-signer-change"]).result("install");
    }
    // Nor where nobody is known for the installed one.
    let new = Machine::new();
    package::copy_folder(&machine.path("shop"), &new.path("shop"));
    new.run(["install", "oci-layout:shop:0.2.0"]).result("install");
    new.write("hutch.lock", &lock);
    new.run(["install"]).fault("SIGNER_CHANGED", 30);
    assert!(list(&new)["items"][0]["signer"].is_null());
}

#[test]
fn comparing_asks_nobody() {
    let machine = locked();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    edit(&machine, |locked| locked["source"] = json!(format!("oci://{address}/todo:0.2.0")));
    assert_eq!(difference(&machine), "source");
    assert!(listener.accept().is_err(), "somebody was asked");
    // The same call without --check does ask.
    let (sender, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let accepted = listener.set_nonblocking(false).and_then(|()| listener.accept());
        drop(listener);
        sender.send(accepted.is_ok())
    });
    assert_ne!(machine.run(["install"]).status, 0);
    assert_eq!(asked.recv_timeout(PATIENCE), Ok(true));
}
