//! An instance that is not what was written is found by `doctor` and by `doctor`, which name what is damaged and change nothing.

use crate::support::Machine;
use rusqlite::Connection;
use serde_json::Value;
use std::path::PathBuf;

fn database(machine: &Machine, instance: &str) -> PathBuf {
    machine.path(&format!("person/.local/share/hutch/instances/probe/{instance}/hutch.db"))
}

/// Flips a byte of an object that holds `text`; its digest.
fn flip(machine: &Machine, instance: &str, text: &str) -> String {
    let connection = Connection::open(database(machine, instance)).unwrap();
    let find = "SELECT lower(hex(digest)), bytes FROM objects WHERE instr(bytes, CAST(?1 AS BLOB)) > 0 LIMIT 1";
    let (digest, mut bytes): (String, Vec<u8>) =
        connection.query_row(find, [text], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    let changed = connection.execute("UPDATE objects SET bytes = ?1 WHERE lower(hex(digest)) = ?2", (bytes, &digest));
    assert_eq!(changed.unwrap(), 1);
    digest
}

fn written(instances: &[&str]) -> Machine {
    let machine = Machine::new();
    for instance in instances {
        machine.probe(&["--instance", instance], &["write-text", "state/file", "in the state"]).answer();
        let echo = machine.probe(&["--instance", instance, "--stdin-text", "\"in a stream\""], &["stdin-echo"]);
        assert_eq!((echo.status, echo.stdout.as_str()), (0, "\"in a stream\""));
    }
    machine
}

#[test]
fn a_flipped_byte_is_found_by_name() {
    for text in ["in the state", "in a stream"] {
        let machine = written(&["a", "b"]);
        for instance in ["a", "b"] {
            let sound = machine.run(["doctor", "--instance", instance, "probe"]).result("doctor");
            assert_eq!((&sound["package"], &sound["instance"]), (&Value::from("probe"), &Value::from(instance)));
            assert!(sound["entries"].as_u64().unwrap() >= 3 && sound["objects"].as_u64().unwrap() > 3, "{sound}");
        }
        assert_eq!(machine.run(["doctor"]).result("doctor")["left_out"], Value::Array(Vec::new()));
        let digest = flip(&machine, "b", text);
        let before = std::fs::read(database(&machine, "b")).unwrap();
        let fault = machine.run(["doctor", "--instance", "b", "probe"]).fault("STORE_DAMAGED", 50);
        let named = |damages: &Value| {
            let named = |damage: &Value| damage["what"].as_str().unwrap().contains(&digest);
            damages.as_array().unwrap().iter().filter(|damage| named(damage)).count()
        };
        assert!(named(&fault.details["damages"]) >= 1, "{text}: {fault:?}");
        assert_eq!(fault.details["instance"], "probe/b");
        let human = machine.run(["doctor", "--human", "--instance", "b", "probe"]);
        assert!(human.stderr.contains(&digest) && human.status == 50, "{human:?}");
        machine.run(["backup", "home.backup"]).fault("STORE_DAMAGED", 50);
        assert!(!machine.path("home.backup").exists());
        let fault = machine.run(["doctor"]).fault("STORE_DAMAGED", 50);
        let checks = fault.details["checks"].as_array().unwrap();
        let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
        assert_eq!(of("instance probe/a")["status"], "ok");
        let bad = of("instance probe/b");
        assert!(bad["status"] == "bad" && named(&bad["damages"]) >= 1, "{text}: {bad}");
        assert_eq!(std::fs::read(database(&machine, "b")).unwrap(), before, "looking changes nothing");
        // The other instance is as sound as it was.
        machine.run(["doctor", "--instance", "a", "probe"]).result("doctor");
    }
}

#[test]
fn a_store_that_is_none_is_damage_and_one_that_is_not_there_is_not() {
    let machine = written(&["a"]);
    std::fs::write(database(&machine, "a"), "not a database".repeat(1000)).unwrap();
    let fault = machine.run(["doctor", "--instance", "a", "probe"]).fault("STORE_DAMAGED", 50);
    assert_eq!(fault.details["damages"].as_array().unwrap().len(), 1, "{fault:?}");
    machine.run(["doctor"]).fault("STORE_DAMAGED", 50);
    machine.run(["doctor", "--instance", "b", "probe"]).fault("NOT_FOUND", 20);
    assert!(!database(&machine, "b").exists(), "looking makes nothing");
    let fresh = Machine::new();
    assert_eq!(fresh.run(["doctor"]).result("doctor")["healthy"], true);
}

/// Of the engine it says what was known on a day, and which.
#[test]
fn doctor_says_what_is_known_of_the_engine_and_since_when() {
    let told = Machine::new().run(["doctor"]).result("doctor");
    let engine = told["items"].as_array().unwrap().iter().find(|check| check["name"] == "engine").unwrap().clone();
    let version = hutch_sandbox::profile().split('-').nth(1).unwrap();
    let found = engine["found"].as_str().unwrap();
    assert!(found.starts_with(&format!("wasmtime {version}, by what was known on 20")), "{engine}");
    assert!(["ok", "warn"].contains(&engine["status"].as_str().unwrap()), "{engine}");
}

#[test]
fn doctor_says_which_instances_it_left_out() {
    let machine = written(&["a", "b"]);
    // Larger than all that is looked through, and nothing on disk.
    let file = std::fs::File::options().write(true).open(database(&machine, "a")).unwrap();
    file.set_len(5 << 30).unwrap();
    let told = machine.run(["doctor"]).result("doctor");
    let left_out = told["left_out"].as_array().unwrap();
    assert_eq!((left_out.len(), &left_out[0]["instance"]), (1, &Value::from("probe/a")), "{told}");
    assert_eq!(left_out[0]["check"], "hutch doctor --instance a probe");
    assert!(told["items"].as_array().unwrap().iter().any(|check| check["name"] == "instance probe/b"), "{told}");
    let human = machine.run(["doctor", "--human"]);
    assert!(human.stdout.contains("1 instances were left out"), "{human:?}");
}
