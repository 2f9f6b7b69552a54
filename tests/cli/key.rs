//! Files of any kind, signed and checked.

use crate::support::Machine;
use serde_json::json;

const SIGN: [&str; 7] = ["sign", "one.txt", "two.bin", "--key", "mine", "--output", "both.json"];
const VERIFY: [&str; 6] = ["check", "one.txt", "--bundle", "both.json", "--key", "mine.pub"];

fn signed() -> Machine {
    let machine = Machine::new();
    for name in ["mine", "others"] {
        machine.run(["sign", "--new-key", name]).result("sign");
    }
    std::fs::write(machine.path("one.txt"), "one\n").unwrap();
    std::fs::write(machine.path("two.bin"), vec![0; 200_000]).unwrap();
    let told = machine.run(SIGN).result("sign");
    // As sha256sum has it.
    let one = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806";
    assert_eq!(told["files"][0], json!({"name": "one.txt", "sha256": one}));
    assert_eq!((&told["place"], &told["changed"]), (&json!("both.json"), &json!(true)));
    machine
}

#[test]
fn each_file_is_checked_by_its_bytes_whatever_it_is_called() {
    let machine = signed();
    machine.run(VERIFY).result("check");
    std::fs::rename(machine.path("one.txt"), machine.path("renamed")).unwrap();
    let call = ["check", "renamed", "two.bin", "--bundle", "both.json", "--key", "others.pub", "--key", "mine.pub"];
    assert_eq!(machine.run(call).result("check")["files"].as_array().unwrap().len(), 2);
    std::fs::write(machine.path("one.txt"), "One\n").unwrap();
    machine.run(VERIFY).fault("SIGNATURE_INVALID", 30);
    let mut half = call;
    half[1] = "one.txt";
    machine.run(half).fault("SIGNATURE_INVALID", 30);
}

#[test]
fn another_key_and_a_changed_bundle_are_told_apart() {
    let machine = signed();
    let mut by_another = VERIFY;
    by_another[5] = "others.pub";
    machine.run(by_another).fault("SIGNATURE_REQUIRED", 30);
    let bundle = std::fs::read_to_string(machine.path("both.json")).unwrap();
    std::fs::write(machine.path("both.json"), bundle.replace("\"sig\":\"ME", "\"sig\":\"MF")).unwrap();
    machine.run(VERIFY).fault("SIGNATURE_INVALID", 30);
}

#[test]
fn what_is_signed_already_stays_and_nothing_else_is_overwritten() {
    let machine = signed();
    let bundle = || std::fs::read(machine.path("both.json")).unwrap();
    let before = bundle();
    assert_eq!(machine.run(SIGN).result("sign")["changed"], false);
    for (at, word) in [(4, "others"), (1, "two.bin"), (1, "others.pub")] {
        let mut call = SIGN;
        call[at] = word;
        match word {
            // The bundle is about it, too.
            "two.bin" => assert_eq!(machine.run(call).result("sign")["changed"], false),
            _ => drop(machine.run(call).fault("ALREADY_EXISTS", 30)),
        }
    }
    let mut on_a_file = SIGN;
    on_a_file[6] = "one.txt";
    machine.run(on_a_file).fault("ALREADY_EXISTS", 30);
    assert_eq!((bundle(), std::fs::read(machine.path("one.txt")).unwrap()), (before, b"one\n".to_vec()));
    let mut elsewhere = ["--dry-run"].to_vec();
    elsewhere.extend(SIGN);
    elsewhere[7] = "new.json";
    assert_eq!(machine.run(elsewhere).document()["result"]["changed"], true);
    assert!(!machine.path("new.json").exists());
    // What would be waited for, and what is not there.
    for (file, code, status) in [(".", "USAGE", 2), ("nothing", "NOT_FOUND", 20)] {
        let mut call = VERIFY;
        call[1] = file;
        machine.run(call).fault(code, status);
    }
}
