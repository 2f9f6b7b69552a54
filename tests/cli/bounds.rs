//! Files that an operator names, or that lie in a home or a project: each is read up to its bound, and one byte more is refused as a whole.

use crate::support::{Machine, Ran, todo};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

/// A file, how it begins, how long it may be, the code of one that is longer, and the call that reads it.
type Case<'c> = (&'c str, &'c str, usize, &'c str, &'c dyn Fn() -> Command);

/// A file of so many bytes, which begins so and goes on with lines of nothing; nobody else may read it.
fn padded(machine: &Machine, name: &str, begins: &str, bytes: usize) {
    let path = machine.write(name, format!("{begins}{}", "\n".repeat(bytes - begins.len())));
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

#[test]
fn a_file_that_is_longer_than_it_may_be_is_refused_as_a_whole() {
    let todo = todo();
    let machine = Machine::new();
    machine.run(["install", &todo]).result("install");
    machine.run(["install", "--lock"]).result("install");
    let lock = std::fs::read_to_string(machine.path("hutch.lock")).unwrap();
    machine.run(["sign", "--new-key", "mine"]).result("sign");
    let key = std::fs::read_to_string(machine.path("mine")).unwrap();
    let token = format!("operator read {}\n", "t".repeat(64));
    // Somebody listens there: what serves ends at once.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let line = |words: &[&str]| machine.hutch(words);
    let with_passwords = || {
        let mut command = line(&["run", &todo, "list"]);
        command.env("HUTCH_STORE", "postgres://me@127.0.0.1:1/x").env("PGPASSFILE", machine.path("passwords"));
        command
    };
    let policy = "person/.local/share/hutch/trust.json";
    let cases: [Case<'_>; 6] = [
        ("hutch.lock", &lock, 1 << 20, "USAGE", &|| line(&["install", "--dry-run"])),
        (policy, "{\"version\":1,\"keys\":{},\"rules\":[]}", 1 << 20, "STORE_DAMAGED", &|| {
            line(&["run", "todo", "list"])
        }),
        ("tokens", &token, 64 << 10, "USAGE", &|| {
            line(&["serve", "--listen", &taken, "--token-file", "tokens", &todo])
        }),
        ("mine", &key, 1 << 20, "USAGE", &|| line(&["sign", "note", "--key", "mine", "--output", "bundle"])),
        ("heads", "", 64 << 20, "USAGE", &|| line(&["verify", "--chain", "--heads", "heads"])),
        ("passwords", "*:*:*:*:secret\n", 1 << 20, "USAGE", &with_passwords),
    ];
    machine.write("note", "signed");
    for (name, begins, max, code, command) in cases {
        let said = match name {
            "hutch.lock" => "it is no lock",
            _ if name == policy => "longer than",
            _ => "has more than",
        };
        padded(&machine, name, begins, max);
        let whole = Ran::of(&mut command());
        assert!(!whole.stderr.contains(said), "{name}: {whole:?}");
        padded(&machine, name, begins, max + 1);
        let fault = Ran::of(&mut command()).fault(code, if code == "USAGE" { 2 } else { 50 });
        assert!(fault.message.contains(said), "{name}: {fault:?}");
        std::fs::remove_file(machine.path(name)).unwrap();
    }
}

/// With too few open files whatever fails looks like somebody else's fault: it is said before anything is begun.
#[test]
fn too_few_open_files_are_the_machines_fault_and_nothing_is_begun() {
    let machine = Machine::new();
    let hutch = machine.hutch(["run", &todo(), "list"]);
    let limited = |most: &str| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "ulimit -n \"$1\"; shift; exec \"$@\"", "sh", most]);
        command.arg(hutch.get_program()).args(hutch.get_args());
        command.env_clear().envs(hutch.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::of(&mut command)
    };
    for few in ["6", "10", "30", "63"] {
        let fault = limited(few).fault("HOST_FAULT", 50);
        assert!(fault.message.contains(&format!("{few} files")), "{fault:?}");
        assert!(machine.is_untouched());
    }
    limited("64").answer();
}
