//! Whose a home is, and what is made of it elsewhere: its owner's alone, whichever command makes it and whatever the umask lets.

use crate::support::{HUTCH, Machine, Ran, todo};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Runs the program where the umask takes nothing away.
fn unmasked(machine: &Machine, words: &[&str]) -> Ran {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "umask 000; exec \"$@\"", "sh", HUTCH]).args(words);
    shell.env_clear().env("HOME", machine.path("person")).current_dir(machine.path(""));
    Ran::of(&mut shell)
}

#[test]
fn whichever_command_makes_a_home_nobody_else_may_enter_it() {
    let machine = Machine::new();
    let package = todo();
    for (at, words, made) in [
        ("a", &["install", &package][..], &["packages", "packages/todo", "packages/todo/pin.json"][..]),
        ("b", &["issue", "create", "--type", "bug", "--message", "x"], &["issues"]),
        ("c", &["trust", "add", "--require", "signed", "oci://ghcr.io/*"], &["trust.json"]),
    ] {
        unmasked(&machine, &[&["--home", at], words].concat()).answer();
        let home = machine.path(at);
        for path in [""].iter().chain(made).map(|name| home.join(name)) {
            assert_eq!(mode(&path) & 0o077, 0, "{}", path.display());
        }
    }
}

#[test]
fn nobody_else_may_enter_a_folder_that_is_made_for_a_clients_file_or_a_volume() {
    let machine = Machine::new();
    machine.todo(&["add", "Buy milk"]).answer();
    fs::create_dir_all(machine.path("mine")).unwrap();
    fs::set_permissions(machine.path("mine"), Permissions::from_mode(0o755)).unwrap();
    let export = |to| unmasked(&machine, &["instance", "export", "--volume", "state", "--output", to, &todo()]);
    unmasked(&machine, &["mcp", "--client", "cursor", "--write", &todo()]).result("mcp");
    for made in ["exported", "mine"] {
        export(made).result("instance export");
    }
    export("nothing/exported").fault("NOT_FOUND", 20);
    let modes = ["person/.cursor", "person/.cursor/mcp.json", "exported", "mine"].map(|it| mode(&machine.path(it)));
    assert_eq!(modes, [0o700, 0o600, 0o700, 0o755], "what is there already stays as it is");
}

/// An address is none: who means a database is told where that is named, and nothing is made of the name.
#[test]
fn an_address_is_no_home_however_it_is_named() {
    let machine = Machine::new();
    let package = todo();
    for home in ["postgres://hush.example/team", "s3://team/accounts", "file:///home"] {
        for words in [&["run", &package, "list"][..], &["catalog"], &["doctor"], &["backup", "home.backup"]] {
            let flag = machine.run([&["--home", home][..], words].concat());
            let variable = Ran::of(machine.hutch(words).env("HUTCH_HOME", home));
            for ran in [flag, variable] {
                let fault = ran.fault("USAGE", 2);
                assert!(!fault.message.contains("hush") && fault.suggestion.contains("HUTCH_STORE"), "{fault:?}");
            }
        }
        assert!(!machine.path(home.split("//").next().unwrap()).exists(), "{home}");
    }
    // What only looks like one is a folder.
    machine.run(["--home", "a/b://c", "trust", "add", "--require", "signed", "oci://ghcr.io/*"]).result("trust add");
    assert!(machine.path("a/b:/c/trust.json").exists());
}

#[test]
fn doctor_says_where_others_may_write() {
    let machine = Machine::new();
    machine.run(["install", &todo()]).result("install");
    let rights = |of: u32| {
        fs::set_permissions(machine.home(), Permissions::from_mode(of)).unwrap();
        let checks = machine.run(["doctor"]).result("doctor")["items"].take();
        checks.as_array().unwrap().iter().find(|check| check["name"] == "rights").cloned()
    };
    assert_eq!(rights(0o700), None);
    let packages = machine.home().join("packages");
    fs::set_permissions(&packages, Permissions::from_mode(0o777)).unwrap();
    assert_eq!(rights(0o700), None, "nobody gets there");
    let found = rights(0o755).unwrap();
    assert_eq!(found["status"], "warn");
    assert_eq!(found["found"], format!("others may write {}", packages.display()));
    assert!(found["fix"].as_str().unwrap().starts_with("chmod -R go-w "), "{found}");
}
