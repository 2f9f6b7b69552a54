//! One counter of fuel: what instantiation takes, what instructions take and what the host does for the guest, to the naming of what
//! it leaves, come out of one sum, which is exact.

use crate::support::case::{exited, limited, trapped};
use crate::support::wasi_text::wasi;
use crate::support::wat_guest::WatGuest;
use crate::support::{limits, parts, probe, run_parts, sandbox};
use hutch_model::limits::Limit;
use hutch_model::outcome::{Ending, Outcome};

fn outcome(guest: &WatGuest, fuel: u64) -> Outcome {
    let limits = limits(&[(Limit::Fuel, fuel)]);
    let program = sandbox().load(&guest.bytes(), &limits).expect("a program");
    run_parts(&program, parts(&[], limits)).expect("an outcome").outcome
}

const PLENTY: u64 = 1_000_000_000;

#[test]
fn what_instantiation_does_is_counted() {
    let fuel = |core: &str| {
        let outcome =
            outcome(&WatGuest::core(&format!("{core} (func (export \"run\") (result i32) (i32.const 0))")), PLENTY);
        assert!(outcome.ending == exited(0) && outcome.fuel_exact, "{outcome:?}");
        outcome.fuel
    };
    // As many units as bytes, wherever it is run: no system's way to share pages shows.
    let segment = |bytes: usize| fuel(&format!("(data (i32.const 0) \"{}\")", "x".repeat(bytes)));
    for bytes in [2, 100, 4_096, 65_536, 100_000] {
        assert_eq!(segment(bytes) - segment(1), bytes as u64 - 1, "{bytes} bytes of data");
    }
    let turns = |count: u32| {
        fuel(&format!(
            "(func $s (local i32) (loop $l (br_if $l (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const {count})))))
             (start $s)"
        ))
    };
    let one = turns(2) - turns(1);
    assert!(one > 3, "{one} units for a turn");
    assert_eq!(turns(1_000_000) - turns(1), 999_999 * one);
    let elements = |count: u32| {
        fuel(&format!("(table {count} funcref) (func $f) (elem (i32.const 0) {})", "$f ".repeat(count as usize)))
    };
    assert!(elements(10) <= elements(1_000));
}

#[test]
fn a_start_function_that_spins_ends_by_fuel_and_says_how_much() {
    let spins = "(func $s (loop $l (br $l))) (start $s) (func (export \"run\") (result i32) (i32.const 0))";
    for fuel in [1_000, 10_000_000] {
        let outcome = outcome(&WatGuest::core(spins), fuel);
        assert_eq!((outcome.ending, outcome.fuel, outcome.fuel_exact), (limited(Limit::Fuel), fuel, true));
    }
}

/// Guests that spend in each way there is, and the probe with these words.
fn spenders() -> Vec<(&'static str, Option<WatGuest>)> {
    let started = "(func $s (local i32) (loop $l (br_if $l (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 1000)))))
                   (start $s) (data (i32.const 0) \"some data\") (func (export \"run\") (result i32) (i32.const 0))";
    let calls = "(br_if $again (i32.lt_u (local.get $i) (i32.const 100)))
                 (call $random (i64.const 1000) (i32.const 8)) (br_if $again (i32.lt_u (local.get $i) (i32.const 200)))";
    let mut calling = wasi(
        "",
        &format!(
            "(drop (call $now)) (local.set $i (i32.add (local.get $i) (i32.const 1))) {calls} (return (i32.const 0))"
        ),
    );
    calling.memory = "200".to_owned();
    vec![
        ("nothing", Some(WatGuest::body("i32.const 0"))),
        (
            "straight on",
            Some(WatGuest::body(&format!(
                "{} i32.const 0",
                "(drop (i32.add (i32.const 1) (i32.const 2)))".repeat(200)
            ))),
        ),
        ("a start function", Some(WatGuest::core(started))),
        ("host calls", Some(calling)),
        ("hostcall-spin --count 100", None),
        ("write-files 50", None),
        ("write-chunked state/f 300000 1000", None),
        ("big-host-calls random --count 2 --bytes 100000", None),
        ("stdout 100000", None),
    ]
}

#[test]
fn a_run_needs_more_than_it_uses_and_no_more_than_one_more() {
    for (name, guest) in spenders() {
        let run = |fuel: u64| match &guest {
            Some(guest) => outcome(guest, fuel),
            None => {
                let words: Vec<&str> = name.split(' ').collect();
                run_parts(probe(), parts(&words, limits(&[(Limit::Fuel, fuel)]))).expect("an outcome").outcome
            }
        };
        let plenty = run(PLENTY);
        assert!(plenty.ending == exited(0) && plenty.fuel_exact, "{name}: {plenty:?}");
        assert_eq!(run(plenty.fuel + 1), plenty, "{name} with one more than it uses");
        for less in [0, 1, plenty.fuel / 2] {
            let fuel = plenty.fuel - less;
            let ended = run(fuel);
            let all = (&ended.ending, ended.fuel, ended.fuel_exact);
            assert_eq!(all, (&limited(Limit::Fuel), fuel, true), "{name} with {fuel} of {}", plenty.fuel);
        }
    }
}

#[test]
fn host_calls_and_instructions_share_one_limit() {
    // Each turn is a clock reading and a loop: with either for nothing, twice as many turns would fit.
    let turn = "(drop (call $now)) (local.set $n (i64.const 40))
                (loop $work (br_if $work (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0))))
                (call $stream-write (local.get $h) (i32.const 0) (i32.const 1) (i32.const 8))";
    let guest = wasi("(local.set $h (call $stdout))", turn);
    let turns = |fuel: u64| {
        let outcome = outcome(&guest, fuel);
        assert_eq!((&outcome.ending, outcome.fuel), (&limited(Limit::Fuel), fuel));
        outcome.stdout.len() as u64
    };
    let (few, many) = (turns(1_000_000), turns(2_000_000));
    // 200 for each of two calls, one for the byte, and at least as many units as the loop has instructions.
    let each = 1_000_000 / (many - few);
    assert!((401 + 40 * 4..401 + 40 * 10).contains(&each), "{each} units for a turn");
}

#[test]
fn what_cuts_instructions_short_is_a_lower_bound() {
    let outcome = outcome(&WatGuest::body("(i32.load (i32.const -1))"), PLENTY);
    assert_eq!((outcome.ending, outcome.fuel_exact), (trapped("memory_out_of_bounds"), false));
    let spinning = parts(&["spin"], limits(&[(Limit::Fuel, PLENTY * 1_000), (Limit::WallTime, 20)]));
    let outcome = run_parts(probe(), spinning).expect("an outcome").outcome;
    assert_eq!((outcome.ending, outcome.fuel_exact), (Ending::Limited { limit: Limit::WallTime }, false));
}
