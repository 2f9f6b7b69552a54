//! How a package was built, said under a signature: shown, counted as that alone, asked for by rules, and not lost by an update.

use crate::support::{Machine, package, todo};
use serde_json::{Value, json};

const SIGNED: &str = "https://sigstore.dev/cosign/sign/v1";
const PROVENANCE: &str = "https://slsa.dev/provenance/v1";
const SHOP: &str = "oci-layout:shop:0.2.0";
const INSTALL_BY_KEY: [&str; 4] = ["install", "todo-0.2.0.tar", "--key", "mine.pub"];
const BESIDE: &str = "todo-0.2.0.tar.provenance.sigstore.json";

/// The to-do package in a repository, attested but not signed.
fn attested() -> Machine {
    let machine = Machine::new();
    for name in ["mine", "others"] {
        machine.run(["sign", "--new-key", name]).result("sign");
    }
    machine.run(["push", &todo(), "oci-layout:shop"]).result("push");
    for changed in [true, false] {
        assert_eq!(machine.run(["sign", "--build", SHOP, "--key", "mine"]).result("sign")["changed"], changed);
    }
    machine
}

fn edit_record(machine: &Machine, edit: impl FnOnce(&mut Value)) -> String {
    let folder = package::copy(machine, "package");
    let record = folder.join("app/app.wasm.provenance.json");
    let mut told: Value = serde_json::from_str(&std::fs::read_to_string(&record).unwrap()).unwrap();
    edit(&mut told);
    std::fs::write(&record, told.to_string()).unwrap();
    folder.to_str().unwrap().to_owned()
}

#[test]
fn what_is_said_of_the_build_is_no_signature() {
    let machine = attested();
    let fault = machine.run(["check", SHOP, "--key", "mine.pub"]).fault("SIGNATURE_REQUIRED", 30);
    assert_eq!(fault.details["signatures"][0]["says"], PROVENANCE);
    machine.run(["install", SHOP, "--key", "mine.pub"]).fault("SIGNATURE_REQUIRED", 30);
    assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
    machine.run(["sign", SHOP, "--key", "mine"]).result("sign");
    let found = machine.run(["check", SHOP, "--key", "mine.pub"]).result("check");
    // A name in an answer is no file's, though it ends like one with a key.
    let call = ["--query", "signatures[0].key", "check", SHOP, "--key", "mine.pub"];
    assert_eq!(machine.run(call).answer(), found["signatures"][0]["key"]);
    let said: Vec<&Value> = found["signatures"].as_array().unwrap().iter().map(|one| &one["says"]).collect();
    assert_eq!(said, [&json!(PROVENANCE), &json!(SIGNED)]);
}

#[test]
fn a_rule_asks_for_it_and_every_command_that_lists_says_who_said_it() {
    let machine = attested();
    machine.run(["sign", SHOP, "--key", "mine"]).result("sign");
    let key = machine.run(["sign", SHOP, "--key", "mine"]).result("sign")["key"].clone();
    machine.run(["push", &todo(), "oci-layout:plain"]).result("push");
    machine.run(["sign", "oci-layout:plain:0.2.0", "--key", "mine"]).result("sign");
    machine.run(["trust", "add", "acme", "mine.pub"]).result("trust add");
    machine.run(["trust", "add", "bolt", "others.pub"]).result("trust add");
    machine.run(["trust", "add", "--require", "attested", "*", "--signer", "acme"]).result("trust add");
    machine.run(["trust", "add", "--require", "trusted", "*", "--signer", "acme"]).fault("CONFIRMATION_REQUIRED", 30);
    // By a key that is trusted and does not count here.
    machine.run(["sign", "--build", "oci-layout:plain:0.2.0", "--key", "others"]).result("sign");
    let fault = machine.run(["install", "oci-layout:plain:0.2.0"]).fault("TRUST_REQUIRED", 30);
    assert_eq!((&fault.details["level"], &fault.details["required"]), (&json!("trusted"), &json!("attested")));

    let installed = machine.run(["install", SHOP]).result("install");
    assert_eq!((&installed["trust"], &installed["attester"]), (&json!("attested"), &key));
    let item = machine.run(["catalog"]).result("catalog")["items"][0].clone();
    assert_eq!((&item["trust"], &item["attester"]), (&json!("attested"), &key));
    let shown = machine.run(["show", "todo"]).result("show");
    assert_eq!((&shown["trust"], &shown["attester"]), (&json!("attested"), &key));
    let checked = machine.run(["check", "todo"]).result("check");
    let pinned = |says: &str| json!({"verdict": "pinned", "key": key, "says": says});
    assert_eq!(checked["signatures"], json!([pinned(SIGNED), pinned(PROVENANCE)]));
    let judged = machine.run(["trust", "show", "todo"]).result("trust show");
    assert_eq!((&judged["signer"], &judged["attester"]), (&json!("acme"), &json!("acme")));
    machine.guest(&["todo", "list"]).answer();
}

#[test]
fn it_comes_along_in_a_file_and_an_update_does_not_lose_it() {
    let machine = attested();
    machine.run(["sign", SHOP, "--key", "mine"]).result("sign");
    machine.run(["trust", "add", "acme", "mine.pub"]).result("trust add");
    machine.run(["pack", SHOP]).result("pack");
    let checked = machine.run(["check", "todo-0.2.0.tar"]).result("check");
    let said: Vec<&Value> = checked["signatures"].as_array().unwrap().iter().map(|one| &one["says"]).collect();
    assert_eq!(said, [&json!(SIGNED), &json!(PROVENANCE)]);
    assert_eq!(machine.run(["install", "todo-0.2.0.tar"]).result("install")["trust"], "attested");
    let locked = machine.run(["install", "--lock"]).result("install");
    assert_eq!(locked["packages"][0]["attester"], locked["packages"][0]["signer"]);

    let kept = std::fs::read(machine.path(BESIDE)).unwrap();
    std::fs::remove_file(machine.path(BESIDE)).unwrap();
    let fault = machine.run(["install", "todo"]).fault("SIGNER_CHANGED", 30);
    assert!(fault.message.contains("how the installed version was built"), "{fault:?}");
    // Another key that is trusted is another key.
    machine.run(["trust", "add", "bolt", "others.pub"]).result("trust add");
    machine.run(["sign", "--build", "todo-0.2.0.tar", "--key", "others"]).result("sign");
    let theirs = std::fs::read(machine.path(BESIDE)).unwrap();
    machine.run(["install", "todo"]).fault("SIGNER_CHANGED", 30);
    let mine = machine.run(["catalog"]).result("catalog")["items"][0]["attester"].clone();
    let moved = machine.run(["install", "todo", "--allow-signer-change"]).result("install");
    assert!(moved["attester"].is_string() && moved["attester"] != mine, "{moved}");
    let fault = machine.run(["install", "--check"]).fault("LOCK_DIFFERS", 30);
    assert_eq!(fault.details["packages"][0]["difference"], "attester");
    machine.run(["install"]).fault("SIGNATURE_REQUIRED", 30);
    std::fs::write(machine.path(BESIDE), &kept).unwrap();
    machine.run(["install"]).fault("SIGNER_CHANGED", 30);
    machine.run(["install", "--allow-signer-change"]).result("install");
    machine.run(["install", "--check"]).result("install");

    // One bit of it, and nothing is updated or installed: neither of that of the signer, nor of that of another one who is trusted.
    for (text, installing) in [(&kept, &["install", "todo-0.2.0.tar"][..]), (&theirs, &INSTALL_BY_KEY)] {
        let mut bundle: Value = serde_json::from_slice(text).unwrap();
        let signature = &mut bundle["dsseEnvelope"]["signatures"][0]["sig"];
        let mut flipped = signature.as_str().unwrap().to_owned().into_bytes();
        flipped[20] = if flipped[20] == b'A' { b'B' } else { b'A' };
        *signature = String::from_utf8(flipped).unwrap().into();
        std::fs::write(machine.path(BESIDE), bundle.to_string()).unwrap();
        if machine.run(["catalog"]).result("catalog")["total"] == 1 {
            for line in [&["install", "todo"][..], &["check", "todo-0.2.0.tar", "--key", "mine.pub"]] {
                machine.run(line).fault("SIGNATURE_INVALID", 30);
            }
            machine.run(["--yes", "remove", "todo"]).result("remove");
        }
        machine.run(installing).fault("SIGNATURE_INVALID", 30);
        assert_eq!(machine.run(["catalog"]).result("catalog")["total"], 0);
    }
}

#[test]
fn a_record_that_is_not_of_this_component_is_not_signed() {
    let machine = Machine::new();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    let folder = edit_record(&machine, |record| record["component"]["sha256"] = "0".repeat(64).into());
    let fault = machine.run(["sign", "--build", &folder, "--key", "mine"]).fault("PACKAGE_INVALID", 2);
    assert!(fault.message.contains("it is of a component with the sha256 000"), "{fault:?}");
    std::fs::write(machine.path("package/app/app.wasm.provenance.json"), "{}").unwrap();
    let fault = machine.run(["sign", "--build", &folder, "--key", "mine"]).fault("PACKAGE_INVALID", 2);
    assert!(fault.message.contains("malformed"), "{fault:?}");
    std::fs::remove_file(machine.path("package/app/app.wasm.provenance.json")).unwrap();
    let fault = machine.run(["sign", "--build", &folder, "--key", "mine"]).fault("NOT_FOUND", 20);
    assert!(fault.message.contains("no record of its build"), "{fault:?}");
    assert!(!machine.path("package.provenance.sigstore.json").exists());
}
