//! Names and long lists that modules of WASI 0.1 hand to the host: what is refused, in which order, and what it costs.

use crate::support::case::{Case, check, exited, limited};
use crate::support::wat_guest::wat;
use crate::support::{again_until, limits, parts, run_parts, sandbox};
use hutch_model::limits::{Limit, Limits};
use hutch_model::outcome::Outcome;
use hutch_world::price;

const SUCCESS: u32 = 0;
const EXIST: u32 = 20;
const IS_DIRECTORY: u32 = 31;
const TOO_MANY_OPEN: u32 = 33;
const NAME_TOO_LONG: u32 = 37;
const NO_ENTRY: u32 = 44;
const READ_ONLY: u32 = 69;

const CREATE: u32 = 1;
const EXCLUSIVE: u32 = 4;
const TRUNCATE: u32 = 8;

/// `/`, and the volume, which comes after `given/data`.
const TOP: u32 = 3;
const VOLUME: u32 = 5;

/// Texts in memory: where they begin, and how long they are.
const FILE: (u32, u32) = (64, 4);
const OTHER: (u32, u32) = (72, 5);
const ABOVE: (u32, u32) = (80, 5);
const HERE: (u32, u32) = (88, 1);
const NOWHERE: (u32, u32) = (96, 7);

/// A module with so many pages of memory.
fn module(pages: u32, body: &str) -> Vec<u8> {
    let functions = [
        ("path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32"),
        ("path_filestat_get", "i32 i32 i32 i32 i32"),
        ("path_symlink", "i32 i32 i32 i32 i32"),
        ("path_link", "i32 i32 i32 i32 i32 i32 i32"),
        ("fd_filestat_get", "i32 i32"),
        ("fd_sync", "i32"),
        ("fd_datasync", "i32"),
        ("fd_write", "i32 i32 i32 i32"),
        ("poll_oneoff", "i32 i32 i32 i32"),
        ("args_sizes_get", "i32 i32"),
        ("environ_sizes_get", "i32 i32"),
    ];
    let imports: String = functions
        .iter()
        .map(|(name, types)| {
            format!("(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} (param {types}) (result i32)))")
        })
        .collect();
    wat(&format!(
        "(module {imports} (memory (export \"memory\") {pages})
           (data (i32.const 64) \"file\") (data (i32.const 72) \"other\") (data (i32.const 80) \"given\")
           (data (i32.const 88) \".\") (data (i32.const 96) \"nowhere\")
           (func $is (param i32 i32) (if (i32.ne (local.get 0) (local.get 1)) (then unreachable)))
           (func (export \"_start\") (local i32) {body}))"
    ))
}

/// Calls a function, whose answer must be this.
fn is(answer: u32, name: &str, given: &[u32]) -> String {
    let given: String = given.iter().map(|number| format!("(i32.const {number})")).collect();
    format!("(call $is (call ${name} {given}) (i32.const {answer}))\n")
}

/// Opens a path of `fd`, to be read, or to be written too.
fn open(answer: u32, fd: u32, (path, length): (u32, u32), how: u32, write: bool) -> String {
    let rights = if write { 66 } else { 2 };
    format!(
        "(call $is (call $path_open (i32.const {fd}) (i32.const 0) (i32.const {path}) (i32.const {length})
           (i32.const {how}) (i64.const {rights}) (i64.const 0) (i32.const 0) (i32.const 0)) (i32.const {answer}))\n"
    )
}

/// What a module comes to that finds `/` above the folder `given/data` and the volume.
fn outcome(module: &[u8], argv: &[&str], environment: u32, changed: &[(Limit, u64)]) -> Outcome {
    let program = sandbox().load(module, &Limits::default()).expect("a program");
    let mut parts = parts(argv, limits(changed));
    parts.preopens.insert("given/data".to_owned(), hutch_model::invocation::Access::ReadOnly);
    parts.environment = (0..environment).map(|number| (format!("NAME_{number}"), String::new())).collect();
    run_parts(&program, parts).expect("an outcome").outcome
}

/// A path that is too long is refused for its length, whatever is in it.
#[test]
fn long_paths_are_refused_unread() {
    let stat = |answer: u32, fd: u32, length: u32| is(answer, "path_filestat_get", &[fd, 0, 128, length, 0]);
    // Parts that lead nowhere else.
    let fill = "(local.set 0 (i32.const 128)) (loop $l (i32.store16 (local.get 0) (i32.const 0x2f2e))
                (local.set 0 (i32.add (local.get 0) (i32.const 2))) (br_if $l (i32.lt_u (local.get 0) (i32.const 65536))))";
    let body = [TOP, VOLUME]
        .map(|fd| stat(SUCCESS, fd, 4095) + &stat(NAME_TOO_LONG, fd, 4096) + &stat(NAME_TOO_LONG, fd, 60_000));
    let long = "(loop $l (call $is (call $path_filestat_get (i32.const 3) (i32.const 0) (i32.const 128)
                (i32.const 268000000) (i32.const 0)) (i32.const 37)) (br $l))";
    let border = module(1, &format!("{fill} {}", body.concat()));
    assert_eq!(outcome(&border, &[], 0, &[]).ending, exited(0));
    check(&[Case::bytes("without end", module(4096, long), limited(Limit::Fuel))
        .under(Limit::Memory, 512 << 20)
        .under(Limit::Fuel, 10_000_000)]);
    let linked = module(1, &is(NAME_TOO_LONG, "path_symlink", &[128, 4096, VOLUME, FILE.0, FILE.1]));
    assert_eq!(outcome(&linked, &[], 0, &[]).ending, exited(0));
}

/// What has nothing to do has a price, or a run could call it for as long as it likes.
#[test]
fn calls_that_do_nothing_end_by_fuel_and_by_the_clock() {
    for call in ["(call $fd_sync (i32.const 5))", "(call $fd_datasync (i32.const 5))", "(call $fd_sync (i32.const 99))"]
    {
        let again = module(1, &format!("(loop $l (drop {call}) (br $l))"));
        check(&[
            Case::bytes(call, again.clone(), limited(Limit::Fuel)).under(Limit::Fuel, 10_000_000),
            Case::bytes(call, again, limited(Limit::WallTime)).under(Limit::Fuel, u64::MAX).under(Limit::WallTime, 50),
        ]);
        let fuel = |times: usize| outcome(&module(1, &format!("(drop {call})").repeat(times)), &[], 0, &[]).fuel;
        assert!(fuel(1_000) - fuel(0) >= 1_000 * price::CALL, "{call}");
    }
}

/// All subscriptions have one price, and what of them is not looked at, because the time is up, is not paid for.
#[test]
fn a_long_poll_ends_with_the_time() {
    let count: u64 = 22_000_000;
    let body = format!("(drop (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const {count}) (i32.const 8)))");
    let poll = module(16_384, &body);
    let changed = [(Limit::Memory, 2 << 30), (Limit::Fuel, 1 << 50), (Limit::WallTime, 50)];
    let each = 128 * price::BYTE + 2 * price::STEP;
    // Who keeps the time may itself come late.
    let is_early = |ended: &Outcome| ended.ending == limited(Limit::WallTime) && ended.fuel < count * each;
    let ended = again_until(|| outcome(&poll, &[], 0, &changed), is_early);
    assert_eq!(ended.ending, limited(Limit::WallTime));
    assert!(ended.fuel < count * each, "{} fuel: it went on to the end", ended.fuel);
}

/// As on Linux: who can't have a descriptor has made and cut nothing.
#[test]
fn what_can_not_be_opened_is_left_as_it_is() {
    let body = [
        open(SUCCESS, VOLUME, FILE, CREATE, true),
        // "file" is written to it.
        "(local.set 0 (i32.load (i32.const 0))) (i32.store (i32.const 16) (i32.const 64)) (i32.store (i32.const 20) (i32.const 4))
         (call $is (call $fd_write (local.get 0) (i32.const 16) (i32.const 1) (i32.const 24)) (i32.const 0))"
            .to_owned(),
        // `/`, the streams, two volumes and that: as many as there may be.
        open(TOO_MANY_OPEN, VOLUME, FILE, TRUNCATE, true),
        open(TOO_MANY_OPEN, VOLUME, OTHER, CREATE, true),
        open(TOO_MANY_OPEN, VOLUME, NOWHERE, 0, false),
        "(call $is (call $fd_filestat_get (local.get 0) (i32.const 512)) (i32.const 0))
         (call $is (i32.load (i32.const 544)) (i32.const 4))"
            .to_owned(),
        is(NO_ENTRY, "path_filestat_get", &[VOLUME, 0, OTHER.0, OTHER.1, 512]),
    ];
    let handles = [(Limit::Handles, 7)];
    let ended = outcome(&module(1, &body.concat()), &[], 0, &handles);
    assert_eq!((ended.ending, ended.refused), (exited(0), vec![Limit::Handles]));
    // What could not be opened has taken nothing.
    let body = open(NO_ENTRY, VOLUME, NOWHERE, 0, false).repeat(100) + &open(SUCCESS, VOLUME, FILE, CREATE, true);
    let ended = outcome(&module(1, &(body + "(call $is (i32.load (i32.const 0)) (i32.const 6))")), &[], 0, &handles);
    assert_eq!((ended.ending, ended.refused), (exited(0), vec![]));
}

/// What is counted costs as what is handed out.
#[test]
fn counting_arguments_and_variables_is_paid_for() {
    let fuel = |name: &str, arguments: usize, variables: u32| {
        let ended = outcome(&module(1, &is(SUCCESS, name, &[0, 8])), &vec!["x"; arguments], variables, &[]);
        assert_eq!(ended.ending, exited(0));
        ended.fuel
    };
    let arguments = fuel("args_sizes_get", 1000, 0) - fuel("args_sizes_get", 0, 0);
    assert_eq!(arguments, 1000 * price::ITEM);
    let variables = fuel("environ_sizes_get", 0, 1000) - fuel("environ_sizes_get", 0, 0);
    assert_eq!(variables, 2 * 1000 * price::ITEM);
}

/// Folders above the preopened ones answer as a file system does that can't be written to.
#[test]
fn folders_above_answer_as_posix_says() {
    let body = [
        is(SUCCESS, "fd_sync", &[TOP]),
        is(SUCCESS, "fd_datasync", &[TOP]),
        open(NO_ENTRY, TOP, NOWHERE, TRUNCATE, true),
        open(READ_ONLY, TOP, NOWHERE, CREATE, true),
        open(READ_ONLY, TOP, NOWHERE, CREATE | TRUNCATE, true),
        open(IS_DIRECTORY, TOP, ABOVE, CREATE, true),
        open(IS_DIRECTORY, TOP, ABOVE, TRUNCATE, true),
        open(IS_DIRECTORY, TOP, HERE, TRUNCATE, false),
        open(EXIST, TOP, ABOVE, CREATE | EXCLUSIVE, true),
        open(EXIST, TOP, HERE, CREATE | EXCLUSIVE, false),
        is(EXIST, "path_symlink", &[FILE.0, FILE.1, TOP, ABOVE.0, ABOVE.1]),
        is(READ_ONLY, "path_symlink", &[FILE.0, FILE.1, TOP, NOWHERE.0, NOWHERE.1]),
        open(SUCCESS, VOLUME, FILE, CREATE, true),
        is(EXIST, "path_link", &[VOLUME, 0, FILE.0, FILE.1, TOP, ABOVE.0, ABOVE.1]),
        is(READ_ONLY, "path_link", &[VOLUME, 0, FILE.0, FILE.1, TOP, NOWHERE.0, NOWHERE.1]),
    ];
    for (number, call) in body.iter().enumerate() {
        let before = if number == 13 || number == 14 { &body[12] } else { "" };
        assert_eq!(outcome(&module(1, &format!("{before}{call}")), &[], 0, &[]).ending, exited(0), "{call}");
    }
}
