//! Whom to believe about packages: what the rules ask for holds before a guest starts, and nobody loosens them unasked.

use crate::support::{Machine, package, todo};
use serde_json::json;

const POLICY: &str = "person/.local/share/hutch/trust.json";

/// A machine with the to-do package in a repository, signed, and two keys.
fn stocked() -> Machine {
    let machine = Machine::new();
    for name in ["mine", "others"] {
        machine.run(["sign", "--new-key", name]).result("sign");
    }
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    machine.run(["sign", "oci-layout:shop:0.2.0", "--key", "mine"]).result("sign");
    machine
}

fn policy(machine: &Machine) -> Option<String> {
    std::fs::read_to_string(machine.path(POLICY)).ok()
}

#[test]
fn what_lacks_the_level_that_a_rule_asks_for_is_neither_run_nor_installed() {
    let machine = stocked();
    machine.run(["trust", "add", "--require", "trusted", "oci-layout:shop"]).result("trust add");
    let fault = machine.run(["install", "oci-layout:shop:0.2.0"]).fault("TRUST_REQUIRED", 30);
    assert_eq!((&fault.details["level"], &fault.details["required"]), (&json!("unsigned"), &json!("trusted")));
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
    // Named by the caller, known to nobody.
    let fault = machine.run(["install", "oci-layout:shop:0.2.0", "--key", "mine.pub"]).fault("TRUST_REQUIRED", 30);
    assert_eq!(fault.details["level"], "signed");

    // Who is trusted is recognised without being named.
    machine.run(["--yes", "trust", "add", "acme", "mine.pub"]).result("trust add");
    let installed = machine.run(["install", "oci-layout:shop:0.2.0"]).result("install");
    assert_eq!(installed["trust"], "trusted");
    assert_eq!(machine.run(["catalog"]).result("catalog")["items"][0]["trust"], "trusted");
    assert_eq!(machine.run(["catalog"]).result("catalog")["items"][0]["trust"], "trusted");
    let checked = machine.run(["trust", "show", "installed:todo"]).result("trust show");
    let rule = format!("oci-layout:{}", machine.path("shop").canonicalize().unwrap().display());
    assert_eq!(
        checked,
        json!({"level": "trusted", "required": "trusted", "rule": rule, "signer": "acme", "attester": null})
    );
    machine.guest(&["installed:todo", "add", "Buy milk"]).answer();

    // What was enough is not any more, at once and for everything that starts a guest.
    machine.run(["trust", "remove", "acme"]).fault("CONFIRMATION_REQUIRED", 30);
    machine.run(["--yes", "trust", "remove", "acme"]).result("trust remove");
    let entries = || machine.run(["ledger", "list", "todo"]).result("ledger list")["total"].clone();
    let before = entries();
    for line in [
        &["run", "todo", "list"][..],
        &["plan", "todo", "list"],
        &["validate", "todo", "list"],
        &["verify", "todo", "last"],
        &["replay", "todo", "last"],
        &["mcp", "todo"],
        &["certify", "todo"],
        &["trust", "show", "todo"],
    ] {
        machine.run(line).fault("TRUST_REQUIRED", 30);
    }
    assert_eq!(entries(), before, "something ran all the same");
    // What was done can still be read.
    machine.run(["ledger", "show", "todo", "last"]).result("ledger show");
    machine.run(["state", "cat", "todo"]).result("state cat");
}

#[test]
fn a_folder_is_as_it_is_now_and_nothing_vouches_for_that() {
    let machine = Machine::new();
    let folder = package::copy(&machine, "package");
    let real = folder.canonicalize().unwrap();
    let run = || machine.guest(&["./package", "return-ok"]);
    run().answer();
    machine.run(["trust", "add", "--require", "unsigned", "*"]).result("trust add");
    run().fault("TRUST_REQUIRED", 30);
    machine.run(["install", "--yes", "./package"]).result("install");
    machine.guest(&["installed:probe", "return-ok"]).answer();
    // An exception for the folder where packages are made; a link to it is it.
    let made = format!("{}/*", real.parent().unwrap().display());
    machine.run(["trust", "add", "--require", "local", &made]).fault("CONFIRMATION_REQUIRED", 30);
    run().fault("TRUST_REQUIRED", 30);
    machine.run(["--yes", "trust", "add", "--require", "local", &made]).result("trust add");
    run().answer();
}

#[test]
fn rules_are_loosened_by_consent_alone_and_tightened_without() {
    let machine = stocked();
    machine.run(["trust", "add", "acme", "mine.pub"]).result("trust add");
    machine.run(["trust", "add", "bolt", "others.pub"]).result("trust add");
    machine
        .run(["trust", "add", "--require", "trusted", "oci://ghcr.io/acme/*", "--signer", "acme"])
        .result("trust add");
    machine.run(["trust", "add", "--require", "signed", "*"]).result("trust add");
    let kept = policy(&machine);
    assert!(kept.is_some());
    for line in [
        &["trust", "add", "--require", "unsigned", "*"][..],
        &["trust", "remove", "*"],
        &["trust", "remove", "oci://ghcr.io/acme/*"],
        &["trust", "add", "--require", "trusted", "oci://ghcr.io/acme/*"],
        &["trust", "add", "--require", "trusted", "oci://ghcr.io/acme/*", "--signer", "bolt"],
        &["trust", "add", "--require", "signed", "oci://ghcr.io/acme/todo"],
    ] {
        let fault = machine.run(line).fault("CONFIRMATION_REQUIRED", 30);
        assert!(fault.fixes.iter().any(|fix| fix.risk == "high"), "{fault:?}");
        assert_eq!(policy(&machine), kept, "{line:?}");
    }
    machine.run(["--yes", "trust", "remove", "acme"]).fault("CONFLICT", 30);
    machine.run(["trust", "add", "acme", "others.pub"]).fault("ALREADY_EXISTS", 30);
    machine.run(["trust", "add", "--require", "trusted", "*", "--signer", "nobody"]).fault("NOT_FOUND", 20);
    machine.run(["trust", "add", "--require", "signed", "oci://ghcr.io/acme*"]).fault("USAGE", 2);
    machine.run(["trust", "add", "--require", "signed", "*", "--signer", "acme"]).fault("USAGE", 2);
    machine.run(["trust", "add", "third", "mine"]).fault("USAGE", 2);
    let preview = machine.run(["--dry-run", "trust", "add", "--require", "trusted", "*"]).document()["result"].take();
    assert_eq!((&preview["changed"], &preview["dry_run"]), (&json!(true), &json!(true)));
    assert_eq!(policy(&machine), kept);

    // The same again changes nothing; more strictly needs nobody.
    for changed in [true, false] {
        assert_eq!(machine.run(["trust", "add", "--require", "trusted", "*"]).result("trust add")["changed"], changed);
    }
    let listed = machine.run(["trust", "show"]).result("trust show");
    assert_eq!(listed["rules"]["*"], json!({"require": "trusted", "signers": []}));
    assert_eq!(listed["rules"]["oci://ghcr.io/acme/*"]["signers"], json!(["acme"]));
    assert_eq!(listed["keys"].as_object().unwrap().keys().collect::<Vec<_>>(), ["acme", "bolt"]);
}

#[test]
fn rules_that_nobody_understands_stop_everything() {
    let machine = Machine::new();
    for (text, said) in [
        ("{\"version\":1,\"rules\":[{\"match\":\"*\",\"require\":\"sigend\"}]}", "unknown variant"),
        ("{\"version\":1,\"keys\":{\"acme\":\"no key\"}}", "acme"),
        ("", "EOF"),
    ] {
        machine.write(POLICY, text);
        for line in [&["run", &todo(), "list"][..], &["trust", "show"], &["install", &todo()], &["catalog"]] {
            let fault = machine.run(line).fault("STORE_DAMAGED", 50);
            assert!(fault.message.contains("trust.json") && fault.message.contains(said), "{fault:?}");
        }
        machine.run(["--yes", "trust", "add", "--require", "local", "*"]).fault("STORE_DAMAGED", 50);
        assert_eq!(policy(&machine).as_deref(), Some(text), "what a person wrote is mended by a person");
    }
}

#[test]
fn nothing_in_the_place_of_the_rules_holds_a_call_up() {
    let machine = Machine::new();
    let home = machine.path("person/.local/share/hutch");
    // Whoever changes the rules waits for others, and not for ever.
    machine.run(["trust", "add", "--require", "signed", "oci://ghcr.io/*"]).result("trust add");
    let lock = std::fs::File::options().write(true).open(home.join("trust.lock")).unwrap();
    lock.lock().unwrap();
    let require = ["trust", "add", "--require", "signed", "*"];
    machine.run([&["--wait", "50ms"], &require[..]].concat()).fault("INSTANCE_BUSY", 30);
    assert!(!policy(&machine).unwrap().contains("\"*\""));
    lock.unlock().unwrap();
    machine.run([&["--wait", "10min"], &require[..]].concat()).result("trust add");
    // No rule can be read from these, so everything stops, and at once.
    let path = machine.path(POLICY);
    for command in [&["mkfifo"][..], &["mkdir"]] {
        let _ = std::fs::remove_file(&path);
        let made = std::process::Command::new(command[0]).arg(&path).status();
        assert!(made.is_ok_and(|made| made.success()));
        for line in [&["run", &todo(), "list"][..], &["trust", "show"]] {
            let fault = machine.run(line).fault("STORE_DAMAGED", 50);
            assert!(fault.message.contains("no regular file"), "{fault:?}");
        }
    }
    let fault = machine.run(["doctor"]).fault("HOST_FAULT", 50);
    let checks = fault.details["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["name"] == "trust.json" && check["status"] == "bad"), "{checks:?}");
}

#[test]
#[cfg(unix)]
fn a_rule_about_a_folder_holds_whatever_leads_there() {
    let machine = Machine::new();
    let package = package::with_manifest(&machine, "here", "slug: probe", "slug: probe");
    let path = package.to_str().unwrap();
    std::os::unix::fs::symlink(&package, machine.path("link")).unwrap();
    std::fs::create_dir(machine.path("sub")).unwrap();
    // As the person says it, from where it is.
    machine.run(["trust", "add", "--require", "trusted", "link"]).result("trust add");
    for word in [path, "here", "here/", "link", "sub/../here"] {
        machine.run(["run", word, "return-ok"]).fault("TRUST_REQUIRED", 30);
        machine.run(["--yes", "install", word]).fault("TRUST_REQUIRED", 30);
    }
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
    for pattern in ["OCI://GHCR.IO/acme/*", "oci://GHCR.io/acme/"] {
        machine.run(["trust", "add", "--require", "trusted", pattern]).fault("USAGE", 2);
    }
}

#[test]
#[cfg(unix)]
fn a_link_that_leads_nowhere_is_not_taken_for_nothing() {
    let machine = Machine::new();
    machine.run(["catalog"]).result("catalog");
    machine.write(POLICY, "");
    std::fs::remove_file(machine.path(POLICY)).unwrap();
    std::os::unix::fs::symlink("/nowhere/trust.json", machine.path(POLICY)).unwrap();
    machine.run(["run", &todo(), "list"]).fault("STORE_DAMAGED", 50);
    std::fs::remove_file(machine.path(POLICY)).unwrap();
    // The same in the place of a signature.
    machine.run(["pack", &todo(), "--output", "todo-0.2.0.tar"]).result("pack");
    std::os::unix::fs::symlink("nowhere", machine.path("todo-0.2.0.tar.sigstore.json")).unwrap();
    machine.run(["check", "todo-0.2.0.tar"]).fault("SIGNATURE_INVALID", 30);
}

#[test]
fn a_component_that_may_not_be_run_is_not_asked_what_it_describes() {
    let machine = stocked();
    let folder = package::copy(&machine, "package");
    let check = || machine.run(["check", "package"]).result("check")["component_asked"].clone();
    assert_eq!(check(), true);
    machine.run(["trust", "add", "--require", "unsigned", "*"]).result("trust add");
    assert_eq!(check(), false);
    // A component that can't even be loaded is not noticed, for nothing loads it.
    std::fs::write(folder.join("app/app.wasm"), b"\0asm\x0d\0\x01\0no more").unwrap();
    assert_eq!(check(), false);
    for line in [
        &["pack", "package"][..],
        &["push", "package", "oci-layout:shop"],
        &["sign", "package", "--key", "mine"],
        &["sign", "--build", "package", "--key", "mine"],
    ] {
        machine.run(line).fault("TRUST_REQUIRED", 30);
    }
    assert!(!machine.path("probe-0.1.0.tar").exists());
    // What is signed, and by whom, is read from files alone.
    machine.run(["check", "package"]).result("check");
}

#[test]
fn a_rule_is_about_a_repository_and_says_so() {
    let machine = Machine::new();
    for source in ["oci://ghcr.io/acme/todo:1.0", "oci-layout:shop:1.0"] {
        let fault = machine.run(["trust", "add", "--require", "signed", source]).fault("USAGE", 2);
        assert!(fault.message.contains("one tag or digest"), "{}", fault.message);
    }
    assert_eq!(policy(&machine), None);
}

#[test]
fn an_identity_stands_where_a_key_does_if_certificates_are_judged() {
    let machine = stocked();
    let line = "identity https://issuer.example ada@example.com";
    std::fs::write(machine.path("acme.identity"), format!("{line}\n")).unwrap();
    let judges = cfg!(feature = "keyless");
    let checks = machine.run(["doctor"]).result("doctor")["items"].clone();
    let found = checks.as_array().unwrap().iter().find(|check| check["name"] == "certificates").unwrap();
    assert_eq!(found["found"].as_str().unwrap().starts_with("judged"), judges, "{found}");
    for call in
        [["trust", "add", "acme", "acme.identity"], ["check", "oci-layout:shop:0.2.0", "--key", "acme.identity"]]
    {
        let ran = machine.run(call);
        match (judges, call[0]) {
            (true, "trust") => assert_eq!(ran.result("trust add")["keys"]["acme"], line),
            (true, _) => {
                assert_eq!(ran.fault("SIGNATURE_REQUIRED", 30).details["signatures"][0]["verdict"], "unknown_key")
            }
            (false, _) => {
                let fault = ran.fault("USAGE", 2);
                assert!(fault.message.contains("checks no certificates"), "{}", fault.message);
            }
        }
    }
    // A policy may come from a machine that does.
    let policy = |identity: &str| {
        let keys = json!({"acme": identity});
        let rules = json!([{"match": "*", "require": "trusted", "signers": ["acme"]}]);
        std::fs::create_dir_all(machine.path(POLICY).parent().unwrap()).unwrap();
        std::fs::write(machine.path(POLICY), json!({"version": 1, "keys": keys, "rules": rules}).to_string()).unwrap();
    };
    policy(line);
    assert_eq!(machine.run(["trust", "show"]).result("trust show")["keys"]["acme"], line);
    let fault = machine.run(["install", "oci-layout:shop:0.2.0"]).fault("TRUST_REQUIRED", 30);
    assert_eq!(fault.details["level"], "unsigned");
    // What a person would read otherwise than it is meant.
    for wrong in ["identity https://issuer.example *", "identity https://issuer.example https://github.com/acme*"] {
        policy(wrong);
        let fault = machine.run(["install", "oci-layout:shop:0.2.0"]).fault("STORE_DAMAGED", 50);
        assert!(fault.message.contains("behind a host and a /"), "{}", fault.message);
    }
}
