//! The probe: real Rust code behind the standard library, one behaviour a row.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::{limits, parts, probe, probe_bytes, run_parts, sandbox};
use hutch_model::invocation::Invocation;
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::Unreproducible;
use hutch_model::snapshot::MemoryObjects;
use hutch_sandbox::RunError;
use std::collections::BTreeMap;
use std::sync::Arc;

const MIB: u64 = 1 << 20;
const UNREACHABLE: &str = "unreachable_code_reached";

#[test]
fn every_exit_status_comes_through() {
    for status in 0..=u8::MAX {
        for command in ["exit", "json-and-exit"] {
            let run =
                run_parts(probe(), parts(&[command, &status.to_string()], Limits::default())).expect("an outcome");
            assert_eq!(run.outcome.ending, exited(status), "{command} {status}");
            assert_eq!(run.after.volumes.is_empty(), status != 0, "{command} {status}");
        }
    }
}

#[test]
fn good_and_bad_ends() {
    check(&[
        Case::probe("exit-result ok", exited(0)),
        Case::probe("exit-result err", exited(1)),
        Case::probe("return-ok", exited(0)),
        Case::probe("return-err", exited(1)),
        Case::probe("no-such-command", exited(2)),
        Case::probe("not-json", exited(0)),
        Case::probe("two-json", exited(0)),
        Case::probe("empty", exited(0)).says(""),
        Case::probe("trap", trapped(UNREACHABLE)),
        Case::probe("panic", trapped(UNREACHABLE)),
        Case::probe("write-then-trap state/f", trapped(UNREACHABLE)),
        Case::probe("write-then-exit state/f 0", exited(0)),
        Case::probe("write-then-exit state/f 1", exited(1)),
        Case::probe("write-then-exit state/f 255", exited(255)),
        Case::probe("clock", exited(0)),
        Case::probe("random 4096", exited(0)),
        Case::probe("env", exited(0)),
        Case::probe("args a b c", exited(0)),
        Case::probe("argv0", exited(0)),
        Case::probe("stdin", exited(0)),
        Case::probe("stdin-echo", exited(0)).says(""),
        Case::probe("float-nan", exited(0)),
        Case::probe("read-outside", exited(0)),
        Case::probe("follow-links", exited(0)),
        Case::probe("socket", exited(0)),
    ]);
}

#[test]
fn time_and_fuel() {
    let hour = 3_600_000;
    check(&[
        Case::probe("spin", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("write-then-spin state/f", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("hostcall-spin", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("big-host-calls random", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("big-host-calls read", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("big-host-calls write", limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000),
        Case::probe("spin", limited(Limit::WallTime)).under(Limit::Fuel, u64::MAX).under(Limit::WallTime, 50),
        Case::probe("hostcall-spin", limited(Limit::WallTime)).under(Limit::Fuel, u64::MAX).under(Limit::WallTime, 50),
        Case::probe("big-host-calls random", limited(Limit::WallTime))
            .under(Limit::Fuel, u64::MAX)
            .under(Limit::WallTime, 200),
        Case::probe("big-host-calls write", limited(Limit::WallTime))
            .under(Limit::Fuel, u64::MAX)
            .under(Limit::WallTime, 200),
        // Time passes for the guest alone: it wakes long before an hour is over here.
        Case::probe(&format!("sleep {hour}"), exited(0)).under(Limit::WallTime, 600_000),
        Case::probe(&format!("sleep {}", u64::MAX / 1_000_000), exited(0)).under(Limit::WallTime, 600_000),
        Case::probe(&format!("poll {hour}"), exited(0)).under(Limit::WallTime, 600_000),
        // The deadline may be over before the guest has begun.
        Case::probe("spin", limited(Limit::WallTime)).under(Limit::Fuel, u64::MAX).under(Limit::WallTime, 0),
    ]);
}

#[test]
fn memory_tables_and_stack() {
    check(&[
        Case::probe("recurse --stack calls", limited(Limit::Stack)),
        Case::probe("recurse --stack memory", trapped("memory_out_of_bounds")),
        Case::probe(&format!("grow-memory {}", 16 * MIB), exited(0)),
        Case::probe("grow-memory", exited(0)).refused(&[Limit::Memory]),
        Case::probe(&format!("grow-memory {}", 64 * MIB), exited(0))
            .under(Limit::Memory, 32 * MIB)
            .refused(&[Limit::Memory]),
        Case::probe("grow-and-touch", exited(0)).under(Limit::Memory, 64 * MIB).refused(&[Limit::Memory]),
        Case::probe("grow-table 1000", exited(0)),
        Case::probe("grow-table", exited(0)).refused(&[Limit::Tables]),
        // Refused, and not handled: the standard library aborts.
        Case::probe(&format!("write-file state/f {}", 64 * MIB), limited(Limit::Memory))
            .under(Limit::Memory, 16 * MIB)
            .refused(&[Limit::Memory])
            .inexact(),
        // Not even what the component starts with.
        Case::probe("empty", limited(Limit::Memory)).under(Limit::Memory, MIB / 2).refused(&[Limit::Memory]),
        Case::probe("empty", limited(Limit::Tables)).under(Limit::Tables, 1).refused(&[Limit::Tables]),
        Case::probe("empty", limited(Limit::Instances)).under(Limit::Instances, 1),
    ]);
}

#[test]
fn output_to_the_byte() {
    for (command, limit) in [("stdout", Limit::Stdout), ("stderr", Limit::Stderr)] {
        for max in [2, 4_095, 4_096, 4_097, 100_000] {
            let cases = [
                Case::probe(&format!("{command} {max}"), exited(0)),
                Case::probe(&format!("{command} {}", max + 1), limited(limit)),
            ];
            check(&cases.map(|case| case.under(limit, max)));
        }
    }
    for (limit, command) in [(Limit::Stdout, "stdout 9000000000"), (Limit::Stderr, "stderr 9000000000")] {
        let run = run_parts(probe(), parts(&command.split(' ').collect::<Vec<_>>(), Limits::default()));
        let outcome = run.expect("an outcome").outcome;
        assert_eq!(outcome.ending, limited(limit));
        // What came before the limit is kept, to the last byte.
        assert_eq!(outcome.stdout.len().max(outcome.stderr.len()) as u64, limit.info().default);
    }
}

#[test]
fn state() {
    let write = |bytes: u64| format!("write-file state/f {bytes}");
    check(&[
        Case::probe(&write(1000), exited(0)).under(Limit::StateBytes, 1000),
        Case::probe(&write(1001), limited(Limit::StateBytes))
            .under(Limit::StateBytes, 1000)
            .refused(&[Limit::StateBytes]),
        Case::probe(&write(1000), exited(0)).under(Limit::FileBytes, 1000),
        Case::probe(&write(1001), limited(Limit::FileBytes)).under(Limit::FileBytes, 1000).refused(&[Limit::FileBytes]),
        Case::probe("write-files 10", exited(0)).under(Limit::StateFiles, 10),
        Case::probe("write-files 11", exited(0)).under(Limit::StateFiles, 10).refused(&[Limit::StateFiles]),
        Case::probe("deep-dirs 10", exited(0)).under(Limit::FolderDepth, 10),
        Case::probe("deep-dirs 11", exited(0)).under(Limit::FolderDepth, 10).refused(&[Limit::FolderDepth]),
        Case::probe("open-handles 100", exited(0)),
        Case::probe("open-handles 100", limited(Limit::Handles)).under(Limit::Handles, 50),
        Case::probe("long-name 255", exited(0)),
        Case::probe("long-name 256", exited(0)),
        Case::probe("make-dir state/d", exited(0)),
        Case::probe("symlink a state/l", exited(0)),
        Case::probe("read-file state/missing", exited(1)),
        Case::probe("list-dir state", exited(0)),
        Case::probe("tree state", exited(0)),
        Case::probe("stat state", exited(0)),
        Case::probe("write-chunked state/f 100000 7", exited(0)),
        Case::probe("big-host-calls random --bytes 67108864 --count 1", limited(Limit::HostCall)),
        Case::probe("big-host-calls random --bytes 1000 --count 1", exited(0)).under(Limit::HostCall, 1000),
    ]);
}

/// Whatever an operator says: the run has an end, or the call is refused with a reason.
#[test]
fn every_limit_can_have_every_value() {
    let guests =
        ["return-ok", "random 64", "write-chunked state/f 200000 70000", "recurse --stack calls", "open-handles 10"];
    for limit in Limit::ALL {
        let most = limit.info().most;
        for value in [0, 1, most / 2, most, u64::MAX] {
            // A guest that nothing stops is not what this is about.
            let mut limits = limits(&[(Limit::Fuel, 200_000_000)]);
            limits.set(*limit, value);
            assert_eq!(limits.get(*limit), value.min(most));
            let program = match sandbox().load(&probe_bytes(), &limits) {
                Ok(program) => program,
                Err(error) => {
                    assert!(*limit == Limit::Component && value <= 1, "{} = {value}: {error}", limit.name());
                    continue;
                }
            };
            for words in guests {
                let parts = parts(&words.split(' ').collect::<Vec<_>>(), limits.clone());
                let Ok(invocation) = Invocation::new(parts) else {
                    assert!(*limit == Limit::Arguments && value <= 1, "{} = {value} refuses {words}", limit.name());
                    continue;
                };
                let run =
                    hutch_sandbox::run(&program, &invocation, &BTreeMap::new(), Arc::new(MemoryObjects::default()));
                let run = run.unwrap_or_else(|error| panic!("{} = {value}: {words}: {error}", limit.name()));
                let changed: Vec<_> = Limit::ALL.iter().map(|limit| (*limit, limits.get(*limit))).collect();
                assert_eq!(crate::support::case::laws(&run, &changed), Vec::<String>::new(), "{words}");
            }
        }
    }
}

/// Sizes of stacks are few, and a run has the stack that its limit says wherever it is loaded.
#[test]
fn equal_stack_limits_are_equal_stacks() {
    let depth = |stack_bytes: u64| {
        let limits = limits(&[(Limit::Stack, stack_bytes)]);
        let program = sandbox().load(&probe_bytes(), &limits).expect("a program");
        let outcome = run_parts(&program, parts(&["recurse", "--stack", "calls"], limits)).expect("an outcome").outcome;
        assert_eq!(
            (&outcome.ending, &outcome.unreproducible[..]),
            (&limited(Limit::Stack), &[Unreproducible::Stack][..])
        );
        outcome.fuel
    };
    let kib = |kib: u64| depth(kib * 1024);
    assert_eq!(kib(512), kib(300));
    assert_eq!(kib(64), depth(1));
    assert!(kib(64) < kib(128) && kib(512) < kib(513));
    // A program of one size of stacks takes every limit of that size, and no other.
    let program = sandbox().load(&probe_bytes(), &limits(&[(Limit::Stack, 300 * 1024)])).expect("a program");
    let with = |kib: u64| run_parts(&program, parts(&["return-ok"], limits(&[(Limit::Stack, kib * 1024)])));
    assert!(with(512).is_ok() && with(257).is_ok());
    assert!(matches!(with(513), Err(RunError::StackDiffers { loaded: 0x8_0000, asked: 0x10_0000 })));
}
