//! The probe: real Rust code behind the standard library, one behaviour a row.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::{parts, probe, run_parts};
use hutch_model::limits::{Limit, Limits};

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
        // Time passes for the guest alone.
        Case::probe(&format!("sleep {hour}"), exited(0)).under(Limit::WallTime, 2_000),
        Case::probe(&format!("sleep {}", u64::MAX / 1_000_000), exited(0)).under(Limit::WallTime, 2_000),
        Case::probe(&format!("poll {hour}"), exited(0)).under(Limit::WallTime, 2_000),
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
