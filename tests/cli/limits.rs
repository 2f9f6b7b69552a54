//! Each limit bites, with its own code and exit status, and a guest that it ends leaves the state as it was.

use crate::support::{Envelope, Machine, again_until, package, probe};
use hutch_model::limits::Limit;
use std::collections::BTreeSet;

/// A guest that uses more than a limit.
struct Case {
    limit: Limit,
    /// `--limit` options under which the call is ended by `limit`.
    low: &'static [&'static str],
    arguments: &'static [&'static str],
    code: &'static str,
    status: i32,
    /// `--limit` options under which the same call ends well; empty if it never ends.
    enough: &'static [&'static str],
}

const NO_FUEL_LIMIT: &str = "fuel=1000000000000000";

/// So far away that another limit ends the guest first on any machine.
const NO_CLOCK: [&str; 2] = ["--limit", "wall_time_ms=600000"];

/// Guests that are ended while they run.
const CASES: &[Case] = &[
    Case {
        limit: Limit::Fuel,
        low: &["fuel=1000000"],
        arguments: &["spin"],
        code: "FUEL_LIMIT",
        status: 41,
        enough: &[],
    },
    Case {
        limit: Limit::Fuel,
        low: &["fuel=5000000"],
        arguments: &["hostcall-spin"],
        code: "FUEL_LIMIT",
        status: 41,
        enough: &[],
    },
    Case {
        limit: Limit::Fuel,
        low: &["fuel=5000000"],
        arguments: &["write-then-spin", "state/new"],
        code: "FUEL_LIMIT",
        status: 41,
        enough: &[],
    },
    Case {
        limit: Limit::Fuel,
        low: &["fuel=500000"],
        arguments: &["big-host-calls", "random", "--bytes", "1000000", "--count", "1"],
        code: "FUEL_LIMIT",
        status: 41,
        enough: &["fuel=10000000"],
    },
    Case {
        limit: Limit::WallTime,
        low: &["wall_time_ms=100", NO_FUEL_LIMIT],
        arguments: &["spin"],
        code: "WALL_TIME_LIMIT",
        status: 40,
        enough: &[],
    },
    Case {
        limit: Limit::WallTime,
        low: &["wall_time_ms=100", NO_FUEL_LIMIT],
        arguments: &["hostcall-spin"],
        code: "WALL_TIME_LIMIT",
        status: 40,
        enough: &[],
    },
    Case {
        limit: Limit::WallTime,
        low: &["wall_time_ms=100", NO_FUEL_LIMIT],
        arguments: &["big-host-calls", "random", "--bytes", "4000000"],
        code: "WALL_TIME_LIMIT",
        status: 40,
        enough: &[],
    },
    Case {
        limit: Limit::WallTime,
        low: &["wall_time_ms=100", NO_FUEL_LIMIT],
        arguments: &["big-host-calls", "write"],
        code: "WALL_TIME_LIMIT",
        status: 40,
        enough: &[],
    },
    Case {
        limit: Limit::WallTime,
        low: &["wall_time_ms=100", NO_FUEL_LIMIT],
        arguments: &["write-then-spin", "state/new"],
        code: "WALL_TIME_LIMIT",
        status: 40,
        enough: &[],
    },
    Case {
        limit: Limit::Memory,
        low: &["memory_bytes=3MiB"],
        arguments: &["write-file", "state/new", "4000000"],
        code: "MEMORY_LIMIT",
        status: 42,
        enough: &["memory_bytes=16MiB"],
    },
    Case {
        limit: Limit::Memory,
        low: &["memory_bytes=64KiB"],
        arguments: &["return-ok"],
        code: "MEMORY_LIMIT",
        status: 42,
        enough: &["memory_bytes=2MiB"],
    },
    Case {
        limit: Limit::Tables,
        low: &["table_elements=10"],
        arguments: &["return-ok"],
        code: "TABLE_LIMIT",
        status: 42,
        enough: &["table_elements=1000"],
    },
    Case {
        limit: Limit::Instances,
        low: &["instances=1"],
        arguments: &["return-ok"],
        code: "INSTANCE_LIMIT",
        status: 42,
        enough: &["instances=20"],
    },
    Case {
        limit: Limit::Stack,
        low: &["stack_bytes=64KiB"],
        arguments: &["recurse"],
        code: "STACK_LIMIT",
        status: 42,
        enough: &[],
    },
    Case { limit: Limit::Stack, low: &[], arguments: &["recurse"], code: "STACK_LIMIT", status: 42, enough: &[] },
    Case {
        limit: Limit::Handles,
        low: &["handles=20"],
        arguments: &["open-handles", "100"],
        code: "HANDLE_LIMIT",
        status: 42,
        enough: &["handles=200"],
    },
    Case {
        limit: Limit::HostCall,
        low: &["host_call_bytes=100000"],
        arguments: &["big-host-calls", "random", "--bytes", "100001", "--count", "1"],
        code: "HOST_CALL_LIMIT",
        status: 42,
        enough: &["host_call_bytes=200000"],
    },
    Case {
        limit: Limit::Stdout,
        low: &["stdout_bytes=100"],
        arguments: &["stdout", "101"],
        code: "STDOUT_LIMIT",
        status: 43,
        enough: &["stdout_bytes=101"],
    },
    Case {
        limit: Limit::Stderr,
        low: &["stderr_bytes=100"],
        arguments: &["stderr", "101"],
        code: "STDERR_LIMIT",
        status: 43,
        enough: &["stderr_bytes=101"],
    },
    Case {
        limit: Limit::StateBytes,
        low: &["state_bytes=103"],
        arguments: &["write-file", "state/new", "100"],
        code: "STATE_BYTES_LIMIT",
        status: 44,
        enough: &["state_bytes=104"],
    },
    Case {
        limit: Limit::StateFiles,
        low: &["state_files=2"],
        arguments: &["write-text", "state/new", "x"],
        code: "STATE_FILES_LIMIT",
        status: 44,
        enough: &["state_files=3"],
    },
    Case {
        limit: Limit::StateFiles,
        low: &["state_files=2"],
        arguments: &["make-dir", "state/new"],
        code: "STATE_FILES_LIMIT",
        status: 44,
        enough: &["state_files=3"],
    },
    Case {
        limit: Limit::FileBytes,
        low: &["file_bytes=99"],
        arguments: &["write-file", "state/new", "100"],
        code: "FILE_BYTES_LIMIT",
        status: 44,
        enough: &["file_bytes=100"],
    },
    Case {
        limit: Limit::FileBytes,
        low: &["file_bytes=999"],
        arguments: &["truncate", "state/keep", "1000"],
        code: "FILE_BYTES_LIMIT",
        status: 44,
        enough: &["file_bytes=1000"],
    },
    Case {
        limit: Limit::FolderDepth,
        low: &["folder_depth=1"],
        arguments: &["make-dir", "state/folder/new"],
        code: "FOLDER_DEPTH_LIMIT",
        status: 44,
        enough: &["folder_depth=2"],
    },
];

fn limits<'a>(options: &[&'a str]) -> Vec<&'a str> {
    options.iter().flat_map(|option| ["--limit", option]).collect()
}

/// A machine whose probe has a file of 4 bytes and a folder.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.probe(&[], &["write-text", "state/keep", "kept"]).answer();
    machine.probe(&[], &["make-dir", "state/folder"]).answer();
    machine
}

#[test]
fn each_limit_ends_the_guest_with_its_own_code_and_the_state_stays_as_it_was() {
    let machine = machine();
    let before = machine.probe_state();
    for case in CASES {
        let what = format!("{} {:?} {:?}", case.limit.name(), case.low, case.arguments);
        let ran = machine.probe(&[&["--envelope"], &limits(case.low)[..]].concat(), case.arguments);
        assert_eq!(ran.status, case.status, "{what}: {ran:?}");
        let envelope: Envelope = ran.envelope();
        assert_eq!(
            (envelope.ending.as_str(), envelope.ending_detail.as_deref()),
            ("limited", Some(case.limit.name())),
            "{what}"
        );
        assert_eq!((envelope.code(), envelope.exit_status), (Some(case.code), None), "{what}");
        envelope.assert_dropped();
        assert_eq!(envelope.volumes["state"].after, before, "{what}");
        let fault = machine.probe(&limits(case.low), case.arguments).fault(case.code, case.status);
        assert_eq!(fault.details["limit"], case.limit.name(), "{what}");
        assert!(fault.message.contains(case.limit.name()), "{what}: {fault:?}");
    }
    assert_eq!(machine.probe_state(), before);
}

#[test]
fn the_same_guests_end_well_with_a_little_more() {
    for case in CASES.iter().filter(|case| !case.enough.is_empty()) {
        let ran = machine().probe(&[&["--envelope"], &limits(case.enough)[..]].concat(), case.arguments);
        assert!(ran.envelope().ok, "{} {:?}: {ran:?}", case.limit.name(), case.arguments);
    }
}

#[test]
fn what_is_given_to_a_guest_is_limited_before_it_starts() {
    let machine = machine();
    let before = machine.probe_state();
    for (limit, options, arguments, code, status) in [
        (Limit::Stdin, &["--stdin-text", "abcd", "--limit", "stdin_bytes=3"][..], &["stdin"][..], "STDIN_LIMIT", 2),
        (Limit::Arguments, &["--limit", "argument_bytes=10"], &["args", "0123456789"], "ARGUMENT_LIMIT", 2),
        (Limit::Component, &["--limit", "component_bytes=1000"], &["return-ok"], "COMPONENT_LIMIT", 2),
    ] {
        let fault = machine.probe(options, arguments).fault(code, status);
        assert!(fault.suggestion.contains(limit.name()) || limit == Limit::Arguments, "{fault:?}");
    }
    assert_eq!(machine.probe_state(), before);
}

/// What a package asks for its component, up to the ceiling, holds wherever the package is read.
#[test]
fn a_package_can_ask_for_a_larger_component() {
    let machine = Machine::new();
    // Bytes that mean nothing, more than a component has by default: a custom section, its length in five bytes, named "x".
    let length: u32 = 70 << 20;
    let mut section = vec![0];
    section.extend((0..5).map(|at| (length >> (7 * at)) as u8 & 0x7f | if at < 4 { 0x80 } else { 0 }));
    section.extend([1, b'x']);
    section.resize(6 + length as usize, 0);
    let folder = crate::support::package::copy(&machine, "large");
    let component = folder.join("app/app.wasm");
    let mut bytes = std::fs::read(&component).unwrap();
    bytes.extend(&section);
    std::fs::write(&component, &bytes).unwrap();
    let package = folder.display().to_string();
    machine.guest(&[&package, "return-ok"]).fault("COMPONENT_LIMIT", 2);
    machine.run(["check", &package]).fault("PACKAGE_INVALID", 2);
    let manifest = folder.join("APP.md");
    let text = std::fs::read_to_string(&manifest).unwrap();
    let asks = |bytes: &str| {
        let asking =
            text.replacen("  hutch:\n", &format!("  hutch:\n    limits:\n      component_bytes: {bytes}\n"), 1);
        assert_ne!(asking, text);
        std::fs::write(&manifest, asking).unwrap();
    };
    asks("71303169");
    machine.guest(&[&package, "return-ok"]).fault("COMPONENT_LIMIT", 2);
    asks("100MiB");
    machine.run(["check", &package]).result("check");
    machine.guest(&[&package, "return-ok"]).answer();
    let packed = machine.path("large.tar").display().to_string();
    machine.run(["pack", &package, "--output", &packed]).result("pack");
    machine.guest(&[&packed, "return-ok"]).answer();
    machine.run(["install", &packed, "--yes"]).result("install");
    machine.guest(&["installed:probe", "return-ok"]).answer();
    machine.run(["doctor"]).result("doctor");
    // The operator's word holds.
    for word in [&package, &packed, "installed:probe"] {
        let less = ["--limit", "component_bytes=1MiB"];
        machine.guest(&[&less[..], &[word, "return-ok"]].concat()).fault("COMPONENT_LIMIT", 2);
    }
}

#[test]
fn compiling_is_limited() {
    let machine = Machine::new();
    let cache = machine.path("cache");
    let run = |limit: &str| {
        let mut command = machine.hutch(["run", "--limit", limit, &probe(), "return-ok"]);
        crate::support::Ran::of(command.env("XDG_CACHE_HOME", &cache))
    };
    run("compile_time_ms=1").fault("COMPILE_TIME_LIMIT", 40);
    let kept = || {
        let entries = std::fs::read_dir(cache.join("hutch")).unwrap().map(Result::unwrap);
        let verdicts = entries.filter(|entry| entry.path().extension().is_none_or(|extension| extension != "note"));
        verdicts.map(|entry| entry.metadata().unwrap().len()).collect::<Vec<_>>()
    };
    let verdict = kept();
    assert!(matches!(verdict[..], [length] if length < 100), "{verdict:?}: more than the verdict is left behind");
    run("compile_time_ms=1").fault("COMPILE_TIME_LIMIT", 40);
    assert_eq!(kept(), verdict);
    run("compile_time_ms=120000").answer();
    run("compile_time_ms=1").answer();
}

#[test]
fn every_limit_is_tested_here() {
    let mut tested: BTreeSet<Limit> = CASES.iter().map(|case| case.limit).collect();
    tested.extend([Limit::Stdin, Limit::Arguments, Limit::Component, Limit::CompileTime]);
    assert_eq!(tested, Limit::ALL.iter().copied().collect());
}

#[test]
fn a_sleeping_guest_wakes_at_once() {
    let envelope = Machine::new().probe_envelope(&["--limit", "wall_time_ms=600000"], &["sleep", "86400000"]);
    assert!(envelope.ok, "{envelope:?}");
    assert!(envelope.output["elapsedNs"].as_u64().unwrap() >= 86_400_000_000_000, "{envelope:?}");
    // A day for the guest, of which no more than its limit was waited for here.
    assert!(envelope.wall_time_us < 600_000_000, "{envelope:?}");
}

#[test]
fn the_clock_stops_a_guest_soon() {
    let machine = Machine::new();
    let stopped = || {
        let options = [&["--envelope"], &limits(&["wall_time_ms=1", NO_FUEL_LIMIT])[..]].concat();
        let envelope = machine.probe(&options, &["spin"]).envelope();
        assert_eq!(envelope.code(), Some("WALL_TIME_LIMIT"), "{envelope:?}");
        envelope.wall_time_us
    };
    // Once, at least: a machine that is busy elsewhere may come to it late.
    let soon = |wall_time_us: &u64| *wall_time_us < 1_000_000;
    let last = again_until(stopped, soon);
    assert!(soon(&last), "the last one was stopped after {last} us, as all before it were");
}

#[test]
fn a_package_can_ask_and_the_operator_has_the_last_word() {
    let machine = Machine::new();
    let asks =
        package::with_manifest(&machine, "asks", "    state:\n", "    limits:\n      stdout_bytes: 100\n    state:\n");
    let run = |options: &[&str]| machine.guest(&[options, &[asks.to_str().unwrap(), "stdout", "200"]].concat());
    run(&[]).fault("STDOUT_LIMIT", 43);
    assert_eq!(run(&["--limit", "stdout_bytes=200"]).status, 0);
    run(&["--limit", "stdout_bytes=10"]).fault("STDOUT_LIMIT", 43);
}

#[test]
fn amounts_have_units() {
    let machine = Machine::new();
    assert_eq!(machine.probe(&["--limit", "stdout_bytes=1KiB"], &["stdout", "1024"]).status, 0);
    machine.probe(&["--limit", "stdout_bytes=1KiB"], &["stdout", "1025"]).fault("STDOUT_LIMIT", 43);
    machine.probe(&["--limit", "stdout_bytes=1kB"], &["stdout", "1001"]).fault("STDOUT_LIMIT", 43);
    machine.probe(&["--limit", "wall_time_ms=2min"], &["return-ok"]).answer();
}

/// One call for each command of the probe, and the statuses that it may end with.
const BEHAVIOURS: &[(&[&str], i32)] = &[
    (&["exit", "77"], 77),
    (&["exit-result", "ok"], 0),
    (&["return-ok"], 0),
    (&["return-err"], 1),
    (&["trap"], 45),
    (&["panic"], 45),
    (&["stderr-then-panic", "100"], 45),
    (&["json-and-exit", "30"], 30),
    (&["not-json"], 46),
    (&["two-json"], 46),
    (&["empty"], 46),
    (&["spin"], 41),
    (&["recurse", "--stack", "memory"], 45),
    (&["grow-memory"], 0),
    (&["grow-and-touch"], 0),
    (&["grow-table"], 0),
    (&["stdout", "100000000"], 43),
    (&["stderr", "100000000"], 43),
    (&["hostcall-spin"], 41),
    (&["big-host-calls", "write"], 41),
    (&["open-handles", "1000000"], 42),
    (&["write-file", "state/a", "1000"], 0),
    (&["write-text", "state/a", "x"], 0),
    (&["append-text", "state/a", "x"], 0),
    (&["write-at", "state/keep", "2", "x"], 0),
    (&["truncate", "state/keep", "1000000"], 0),
    (&["write-files", "100"], 0),
    (&["write-chunked", "state/a", "1000", "10"], 0),
    (&["read-file", "state/none"], 1),
    (&["list-dir", "state"], 0),
    (&["tree", "state"], 0),
    (&["stat", "state/keep"], 0),
    (&["make-dir", "state/d"], 0),
    (&["remove", "state/keep"], 0),
    (&["rename", "state/keep", "state/b"], 0),
    (&["link", "state/keep", "state/b"], 0),
    (&["symlink", "keep", "state/b"], 0),
    (&["read-link", "state/keep"], 1),
    (&["deep-dirs", "1000"], 0),
    (&["long-name", "300"], 0),
    (&["write-then-trap", "state/a"], 45),
    (&["write-then-exit", "state/a", "255"], 255),
    (&["write-then-spin", "state/a"], 41),
    (&["read-outside"], 0),
    (&["follow-links"], 0),
    (&["socket"], 0),
    (&["sleep", "100000"], 0),
    (&["poll", "10", "5", "20"], 0),
    (&["clock"], 0),
    (&["random", "1000"], 0),
    (&["env"], 0),
    (&["args"], 0),
    (&["argv0"], 0),
    (&["stdin"], 0),
    (&["stdin-echo"], 46),
    (&["float-nan"], 0),
];

#[test]
fn every_behaviour_of_the_probe_ends_with_a_documented_status() {
    let machine = machine();
    let before = machine.probe_state();
    let documented: BTreeSet<i32> =
        hutch_model::error_code::ErrorCode::ALL.iter().map(|code| i32::from(code.exit_status())).collect();
    for (arguments, status) in BEHAVIOURS {
        // Each in an instance of its own, with a file; and with less fuel than by default, or the endless ones take seconds.
        let instance = ["--instance", arguments[0]];
        machine.probe(&instance, &["write-text", "state/keep", "kept"]).answer();
        let envelope = machine
            .probe(&[&instance[..], &["--envelope", "--limit", "fuel=300000000"], &NO_CLOCK].concat(), arguments);
        assert_eq!(envelope.status, *status, "{arguments:?}: {envelope:?}");
        let envelope = envelope.envelope();
        match envelope.exit_status {
            Some(0) if envelope.error.is_none() => assert!(envelope.kept),
            Some(own) if own != 0 => assert_eq!((i32::from(own), envelope.error.is_none()), (*status, true)),
            _ => assert!(documented.contains(status) && envelope.error.is_some(), "{envelope:?}"),
        }
        if !envelope.ok {
            envelope.assert_dropped();
        }
    }
    assert_eq!(machine.probe_state(), before);
    let described =
        std::fs::read(crate::support::repository().join("tests/packages/probe/schemas/commands.json")).unwrap();
    let described: serde_json::Value = serde_json::from_slice(&described).unwrap();
    let commands = described["commands"].as_array().unwrap().iter().map(|command| command["name"].as_str().unwrap());
    let tried: BTreeSet<&str> = BEHAVIOURS.iter().map(|(arguments, _)| arguments[0]).collect();
    assert_eq!(tried, commands.collect());
}

#[test]
fn nothing_outside_is_reached() {
    let machine = machine();
    machine.write("secret", "outside");
    for arguments in [&["read-outside"][..], &["follow-links"]] {
        assert_eq!(machine.probe(&[], arguments).answer()["reached"], 0, "{arguments:?}");
    }
    let sockets = machine.probe(&[], &["socket"]).answer();
    for (name, answer) in sockets.as_object().unwrap() {
        assert!(["ok", "command"].contains(&name.as_str()) || *answer == "access-denied", "{name}: {answer}");
    }
    for path in ["../secret", "state/../../secret", "/etc/passwd", machine.path("secret").to_str().unwrap()] {
        let options = ["--guard", "off"];
        machine.probe(&options, &["read-file", path]).guest_failure(1);
    }
}
