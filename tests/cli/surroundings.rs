//! A machine that has little, or was set up by somebody who means harm: a call ends as it does elsewhere, or says what is missing and keeps
//! nothing. It never waits, and no signal ends it.

#![cfg(target_os = "linux")]

use crate::support::{Machine, Ran, probe};
use std::process::{Command, Stdio};

/// A call in a shell that was told this first.
fn call(machine: &Machine, before: &str, words: &[&str]) -> Ran {
    let call = machine.hutch(words);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before}; exec \"$@\""), "sh"]).arg(call.get_program()).args(call.get_args());
    command.env_clear().envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Ran::of(command.current_dir(machine.path("")).stdin(Stdio::null()))
}

#[test]
fn whatever_surrounds_it_a_call_ends_as_elsewhere_or_keeps_nothing() {
    let package = probe();
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/file", "0"]).answer();
    let (mut good, mut kept) = (0, "0".to_owned());
    for (number, before) in [
        "ulimit -s 64",
        "ulimit -s 256",
        "ulimit -s unlimited",
        "ulimit -n 3",
        "ulimit -n 10",
        "ulimit -n 16",
        "ulimit -n 32",
        "ulimit -c 0",
        "ulimit -l 0",
        "trap '' XFSZ; ulimit -f 0",
        "ulimit -d 8192",
        "ulimit -v 100000",
        "ulimit -t 1",
        "exec <&-",
        "exec >&-",
        "exec 2>&-",
        "exec <&- >&- 2>&-",
        "exec </dev/full",
        "exec 2>/dev/full",
        "trap '' PIPE",
        "trap '' CHLD",
        "trap '' PIPE CHLD TERM HUP INT XFSZ XCPU",
        "umask 077",
        "cd /proc/self",
    ]
    .into_iter()
    .enumerate()
    {
        let text = (number + 1).to_string();
        let ran = call(&machine, before, &["run", &package, "write-text", "state/file", &text]);
        let now = machine.probe(&[], &["read-file", "state/file"]).answer()["content"].as_str().unwrap().to_owned();
        println!("{before}: {}", ran.status);
        match ran.status {
            0 => assert_eq!(now, text, "{before}: {ran:?}"),
            _ => assert!(now == kept || ran.stderr.contains("\"kept\":true"), "{before}: {now} of {text}: {ran:?}"),
        }
        good += usize::from(ran.status == 0);
        kept = now;
    }
    assert!(good >= 12, "{good} calls ended well");
    // No signal ends a call that may not write: it says so.
    call(&machine, "ulimit -f 0", &["run", &package, "write-text", "state/file", "no"]).fault("HOST_FAULT", 50);
    assert_eq!(machine.probe(&[], &["read-file", "state/file"]).answer()["content"], kept);
    machine.run(["verify", "--chain", "probe"]).result("verify");
    assert_eq!(machine.run(["verify", "--all", &package]).result("verify")["differ"], 0);
}

/// A container in which nobody mounted /proc and /dev: what can do without them does, and rings that are required are missed by their name.
#[test]
fn without_proc_and_dev_a_call_ends_well_unless_rings_are_required() {
    let unshared = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command
    };
    if !unshared().arg("true").status().is_ok_and(|status| status.success()) {
        println!("this machine makes no name spaces");
        return;
    }
    let (package, machine) = (probe(), Machine::new());
    machine.probe(&[], &["write-text", "state/file", "before"]).answer();
    let call = |rings: &str, words: &[&str]| {
        let call = machine.hutch([&["--ring", rings, "run", &package], words].concat());
        let mut command = unshared();
        let before = "mount -t tmpfs none /proc && mount -t tmpfs none /dev || exit 99; exec \"$@\"";
        command.args(["sh", "-c", before, "sh"]).arg(call.get_program()).args(call.get_args());
        command.env_clear().envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Ran::of(command.env("PATH", "/usr/bin:/bin").current_dir(machine.path("")).stdin(Stdio::null()))
    };
    let read = || machine.probe(&[], &["read-file", "state/file"]).answer()["content"].clone();
    for rings in ["auto", "off"] {
        assert_eq!(call(rings, &["write-text", "state/file", rings]).status, 0, "{rings}");
        assert_eq!(read(), rings);
    }
    call("required", &["write-text", "state/file", "required"]).fault("RING_REQUIRED", 30);
    assert_eq!(read(), "off");
    machine.run(["verify", "--chain", "probe"]).result("verify");
}
