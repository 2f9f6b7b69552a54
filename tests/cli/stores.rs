//! The database that HUTCH_STORE names, as far as none is there: what is no address, holds a password or can't be had is said, and nothing of the
//! home is used in its place. With a server: tests/postgres/run.

use crate::support::{Machine, Ran, todo};

fn stored(machine: &Machine, store: &str, words: &[&str]) -> Ran {
    Ran::of(machine.hutch(words).env("HUTCH_STORE", store).env("PGUSER", "me").env("PGPASSWORD", "geheim"))
}

#[test]
fn what_is_no_address_is_refused_and_no_password_is_repeated() {
    let machine = Machine::new();
    for (store, expected) in [
        ("mysql://localhost/x", "expected postgres://"),
        ("mysql://localhost/x", "s3://BUCKET"),
        ("postgres://me:geheim@localhost/x", "a password stands in the address"),
        ("postgres://localhost/x?password=geheim", "a password stands in the address"),
        ("postgres://db.example/x", "not encrypted"),
        ("postgres://localhost/x?sslmode=require", "not encrypted"),
        ("postgres://localhost/x?options=y", "options="),
    ] {
        let fault = stored(&machine, store, &["run", &todo(), "list"]).fault("USAGE", 2);
        let text = format!("{} {}", fault.message, fault.suggestion);
        assert!(text.contains(expected) && text.contains("HUTCH_STORE"), "{store}: {text}");
        assert!(!text.contains("geheim"), "{text}");
    }
    assert!(!machine.path("person/.local/share/hutch/instances").exists());
}

#[test]
fn a_server_that_is_away_is_said_and_the_home_does_not_take_its_place() {
    let machine = Machine::new();
    // Nothing listens there.
    let store = "postgres://127.0.0.1:1/x";
    for words in
        [&["run", &todo(), "list"][..], &["ledger", "list", &todo()], &["instance", "list"], &["gc", "--yes", "todo"]]
    {
        let fault = stored(&machine, store, words).fault("HOST_FAULT", 50);
        assert!(fault.message.starts_with("postgres://127.0.0.1:1/x: can't reach the database: "), "{}", fault.message);
        assert!(!fault.message.contains("geheim") && !fault.message.contains("me@"), "{}", fault.message);
    }
    let fault = stored(&machine, store, &["doctor"]).fault("HOST_FAULT", 50);
    let checks = fault.details["checks"].as_array().unwrap().clone();
    let said = checks.iter().find(|check| check["name"] == "HUTCH_STORE").unwrap();
    assert!(said["status"] == "bad" && said["found"].as_str().unwrap().contains("can't reach"), "{said}");
    // Commands that are about no instance ask nobody.
    stored(&machine, store, &["show", &todo()]).result("show");
    // An empty one is none.
    stored(&machine, "", &["instance", "list"]).result("instance list");
}

#[test]
fn whole_instances_of_a_database_are_not_copied_renamed_or_purged() {
    let machine = Machine::new();
    for words in [
        &["instance", "copy", &todo(), "b"][..],
        &["instance", "copy", "--move", &todo(), "b"],
        &["instance", "purge", &todo()],
    ] {
        stored(&machine, "postgres://127.0.0.1:1/x", words).fault("USAGE", 2);
    }
}

#[test]
fn a_bucket_that_is_none_or_whose_key_is_missing_is_said_and_no_secret_is_repeated() {
    let machine = Machine::new();
    let asked = |store: &str, endpoint: &str, id: &str, words: &[&str]| {
        let mut command = machine.hutch(words);
        command.env("HUTCH_STORE", store).env("AWS_ENDPOINT_URL", endpoint).env("AWS_REGION", "");
        Ran::of(command.env("AWS_ACCESS_KEY_ID", id).env("AWS_SECRET_ACCESS_KEY", "geheim"))
    };
    let here = "http://127.0.0.1:1";
    for (store, endpoint, id, expected) in [
        ("s3://", here, "me", "expected s3://BUCKET"),
        ("s3:team", here, "me", "expected s3://BUCKET"),
        ("s3://me:geheim@team", here, "me", "credentials stand in the address"),
        ("s3://team?key=geheim", here, "me", "?key is not known"),
        ("s3://team", "http://me:geheim@127.0.0.1", "me", "credentials stand in the address"),
        ("s3://team", "http://s3.example", "me", "transport=plain"),
        ("s3://team", here, "", "AWS_ACCESS_KEY_ID is not set"),
    ] {
        let fault = asked(store, endpoint, id, &["run", &todo(), "list"]).fault("USAGE", 2);
        let text = format!("{} {}", fault.message, fault.suggestion);
        assert!(text.contains(expected) && text.contains("HUTCH_STORE"), "{store}: {text}");
        assert!(!text.contains("geheim"), "{text}");
    }
    // Nothing listens there.
    for words in [&["--wait", "20ms", "run", &todo(), "list"][..], &["--wait", "20ms", "instance", "list"]] {
        let fault = asked("s3://team/accounts", here, "me", words).fault("HOST_FAULT", 50);
        assert!(fault.message.starts_with("s3://team/accounts/ at http://127.0.0.1:1"), "{}", fault.message);
        assert!(
            fault.message.contains("can't reach the bucket") && !fault.message.contains("geheim"),
            "{}",
            fault.message
        );
    }
    let fault = asked("s3://team/accounts", here, "me", &["--wait", "20ms", "doctor"]).fault("HOST_FAULT", 50);
    let checks = fault.details["checks"].as_array().unwrap().clone();
    let said = checks.iter().find(|check| check["name"] == "HUTCH_STORE").unwrap();
    assert!(said["status"] == "bad" && said["found"].as_str().unwrap().contains("can't reach"), "{said}");
    asked("s3://team", here, "me", &["instance", "copy", &todo(), "b"]).fault("USAGE", 2);
    asked("s3://team", here, "me", &["show", &todo()]).result("show");
    assert!(!machine.path("person/.local/share/hutch/instances").exists());
}

#[cfg(unix)]
#[test]
fn a_file_of_passwords_that_others_can_read_is_refused() {
    let machine = Machine::new();
    machine.write("passwords", "*:*:*:*:geheim\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(machine.path("passwords"), mode).unwrap();
    let mut command = machine.hutch(["run", &todo(), "list"]);
    command.env("HUTCH_STORE", "postgres://me@127.0.0.1:1/x").env("PGPASSFILE", machine.path("passwords"));
    let fault = Ran::of(&mut command).fault("PERMISSION_DENIED", 11);
    assert!(fault.message.ends_with("others can read it") && !fault.message.contains("geheim"), "{}", fault.message);
}
