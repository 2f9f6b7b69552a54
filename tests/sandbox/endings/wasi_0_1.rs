//! Core modules of WASI 0.1, as other toolchains make them.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::wat_guest::wat;
use crate::support::{sandbox, saw};
use hutch_model::error_code::ErrorCode;
use hutch_model::limits::{Limit, Limits};

fn module(imports: &str, body: &str) -> String {
    format!(
        "(module {imports} (memory (export \"memory\") 1) (data (i32.const 64) \"hello\\n\") (func (export \"_start\") (local i32) {body}))"
    )
}

fn import(name: &str, ty: &str) -> String {
    format!("(import \"wasi_snapshot_preview1\" \"{name}\" (func ${name} {ty}))")
}

#[test]
fn modules_run_to_their_ends() {
    let exit = import("proc_exit", "(param i32)");
    let write = import("fd_write", "(param i32 i32 i32 i32) (result i32)");
    let sleep = import("poll_oneoff", "(param i32 i32 i32 i32) (result i32)");
    let hello = |fd: u32| {
        format!(
            "(i32.store (i32.const 0) (i32.const 64)) (i32.store (i32.const 4) (i32.const 6))
             (if (call $fd_write (i32.const {fd}) (i32.const 0) (i32.const 1) (i32.const 16)) (then unreachable))"
        )
    };
    let endless = format!("(loop $l {} (br $l))", hello(1));
    // One clock subscription of an hour: clock 1, nanoseconds at 24.
    let hour = "(i32.store (i32.const 16) (i32.const 1)) (i64.store (i32.const 24) (i64.const 3600000000000))
                (if (call $poll_oneoff (i32.const 0) (i32.const 128) (i32.const 1) (i32.const 512)) (then unreachable))";
    check(&[
        Case::text("returns", &module("", ""), exited(0)),
        Case::text("traps", &module("", "unreachable"), trapped("unreachable_code_reached")),
        Case::text("exits with 0", &module(&exit, "(call $proc_exit (i32.const 0))"), exited(0)),
        Case::text("exits with 1", &module(&exit, "(call $proc_exit (i32.const 1))"), exited(1)),
        Case::text("exits with 7", &module(&exit, "(call $proc_exit (i32.const 7))"), exited(7)),
        Case::text("exits with 255", &module(&exit, "(call $proc_exit (i32.const 255))"), exited(255)),
        Case::text("writes", &module(&write, &hello(1)), exited(0)).says("hello\n"),
        Case::text("writes to stderr", &module(&write, &hello(2)), exited(0)).says(""),
        Case::text("writes without end", &module(&write, &endless), limited(Limit::Stdout))
            .under(Limit::Stdout, 10_000),
        Case::text("writes without end, by fuel", &module(&write, &endless), limited(Limit::Fuel))
            .under(Limit::Fuel, 1_000_000),
        Case::text("sleeps for an hour", &module(&sleep, hour), exited(0)).under(Limit::WallTime, 600_000),
        Case::text("spins", &module("", "(loop $l (br $l))"), limited(Limit::Fuel)).under(Limit::Fuel, 10_000_000),
    ]);
}

#[test]
fn modules_that_are_no_commands_are_refused() {
    let cases = [
        "(module)".to_owned(),
        "(module (func (export \"_start\") (param i32)))".to_owned(),
        module("(import \"env\" \"f\" (func))", ""),
        module("(import \"wasi_snapshot_preview1\" \"fd_fly\" (func))", ""),
        module("(import \"wasi_snapshot_preview1\" \"fd_close\" (func (param i64)))", ""),
        module("(import \"wasi_unstable\" \"proc_exit\" (func (param i32)))", ""),
        "(module (import \"env\" \"memory\" (memory 1)) (func (export \"_start\")))".to_owned(),
    ];
    for text in cases {
        let error = sandbox().load(&wat(&text), &Limits::default()).err();
        assert_eq!(error.map(|error| error.code()), Some(ErrorCode::ComponentInvalid), "{text}");
        saw("refused");
    }
}

/// Allocators that begin with all the memory there is find it as they left it.
#[test]
fn memory_is_the_guests_alone() {
    let imports =
        ["args_sizes_get", "environ_sizes_get", "args_get"].map(|name| import(name, "(param i32 i32) (result i32)"));
    let read = import("fd_prestat_get", "(param i32 i32) (result i32)");
    let body = "
        (memory.fill (i32.const 0) (i32.const 0x5a) (i32.const 65536))
        (if (call $args_sizes_get (i32.const 0) (i32.const 4)) (then unreachable))
        (if (call $environ_sizes_get (i32.const 0) (i32.const 4)) (then unreachable))
        (if (call $args_get (i32.const 0) (i32.const 64)) (then unreachable))
        (if (call $fd_prestat_get (i32.const 4) (i32.const 0)) (then unreachable))
        (memory.fill (i32.const 0) (i32.const 0x5a) (i32.const 128))
        (if (i32.ne (memory.size) (i32.const 1)) (then unreachable))
        (loop $each
          (if (i32.ne (i32.load8_u (local.get 0)) (i32.const 0x5a)) (then unreachable))
          (local.set 0 (i32.add (local.get 0) (i32.const 1)))
          (br_if $each (i32.lt_u (local.get 0) (i32.const 65536))))";
    check(&[Case::text("takes it all", &module(&(imports.concat() + &read), body), exited(0))]);
}

#[test]
fn pointers_that_lead_nowhere_trap() {
    let two = |name: &str, at: &str| {
        let imports = import(name, "(param i32 i32) (result i32)");
        module(&imports, &format!("(drop (call ${name} (i32.const {at}) (i32.const 8)))"))
    };
    let write = import("fd_write", "(param i32 i32 i32 i32) (result i32)");
    let vector = |at: &str, length: &str| {
        let body = format!(
            "(i32.store (i32.const 0) (i32.const {at})) (i32.store (i32.const 4) (i32.const {length}))
             (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))"
        );
        module(&write, &body)
    };
    let count = |at: &str, count: &str| {
        module(
            &write,
            &format!("(drop (call $fd_write (i32.const 1) (i32.const {at}) (i32.const {count}) (i32.const 16)))"),
        )
    };
    let random = |at: &str, length: &str| {
        let body = format!("(drop (call $random_get (i32.const {at}) (i32.const {length})))");
        module(&import("random_get", "(param i32 i32) (result i32)"), &body)
    };
    let out = || trapped("pointer_out_of_bounds");
    let start = format!(
        "(module {} (memory (export \"memory\") 1) (func $s (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))
           (if (i32.eqz (i32.load (i32.const 0))) (then unreachable))) (start $s) (func (export \"_start\")))",
        import("args_sizes_get", "(param i32 i32) (result i32)")
    );
    let without = format!(
        "(module {} (func (export \"_start\") (drop (call $args_sizes_get (i32.const 0) (i32.const 4)))))",
        import("args_sizes_get", "(param i32 i32) (result i32)")
    );
    check(&[
        Case::text("a number at the end", &two("args_sizes_get", "65532"), exited(0)),
        Case::text("a number beyond it", &two("args_sizes_get", "65536"), out()),
        Case::text("a number at the top", &two("args_sizes_get", "-4"), out()),
        Case::text("a number between", &two("args_sizes_get", "1"), trapped("unaligned_pointer")),
        Case::text("a buffer to the end", &vector("65530", "6"), exited(0)).says("\0\0\0\0\0\0"),
        Case::text("a buffer beyond it", &vector("65530", "7"), out()),
        Case::text("a buffer around", &vector("65530", "-1"), out()),
        Case::text("a list beyond it", &count("65528", "2"), out()),
        Case::text("a list around", &count("8", "-1"), out()),
        Case::text("a list between", &count("2", "1"), trapped("unaligned_pointer")),
        Case::text("random bytes beyond it", &random("65000", "1000"), out()),
        Case::text("random bytes to the end", &random("65000", "536"), exited(0)),
        Case::text("calls before it starts", &start, exited(0)),
        Case::text("without a memory", &without, out()),
    ]);
}

/// In the largest memory there is, a place behind its last bytes is no number any more.
#[test]
fn pointers_to_the_last_bytes_of_the_largest_memory_trap() {
    let largest = |name: &str, words: &str| {
        format!(
            "(module {} (memory (export \"memory\") 65536) (func (export \"_start\") (drop (call ${name} {words}))))",
            import(name, "(param i32 i32 i32 i32) (result i32)")
        )
    };
    let subscription = "(i32.const -8) (i32.const 4096) (i32.const 1) (i32.const 64)";
    let vector = "(i32.const 1) (i32.const -4) (i32.const 1) (i32.const 64)";
    let out = || trapped("pointer_out_of_bounds");
    check(&[
        Case::text("a subscription", &largest("poll_oneoff", subscription), out()).under(Limit::Memory, 6 << 30),
        Case::text("a buffer to write", &largest("fd_write", vector), out()).under(Limit::Memory, 6 << 30),
        Case::text("a buffer to read into", &largest("fd_read", &vector.replacen('1', "0", 1)), out())
            .under(Limit::Memory, 6 << 30),
    ]);
}

#[test]
fn what_is_open_is_bounded() {
    let open = import("path_open", "(param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)");
    let exit = import("proc_exit", "(param i32)");
    let endless = |at_last: &str| {
        let body = format!(
            "(loop $again (local.set 0 (call $path_open (i32.const 4) (i32.const 0) (i32.const 64) (i32.const 5) (i32.const 1)
               (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 0))) (br_if $again (i32.eqz (local.get 0)))) {at_last}"
        );
        module(&(open.clone() + &exit), &body)
    };
    let exits = "(call $proc_exit (local.get 0))";
    let copes = "(if (i32.ne (local.get 0) (i32.const 33)) (then unreachable))";
    check(&[
        Case::text("opens without end and copes", &endless(copes), exited(0))
            .under(Limit::Handles, 100)
            .refused(&[Limit::Handles]),
        Case::text("opens without end", &endless(exits), limited(Limit::Handles))
            .under(Limit::Handles, 100)
            .refused(&[Limit::Handles]),
        Case::text("may open nothing", &endless(copes), limited(Limit::Handles))
            .under(Limit::Handles, 4)
            .refused(&[Limit::Handles]),
        Case::text("opens until its memory is full", &endless(exits), limited(Limit::Memory))
            .under(Limit::Memory, 200_000)
            .refused(&[Limit::Memory]),
    ]);
}

/// One call can be asked for any amount of work; all of it has its price before it is done.
#[test]
fn long_lists_are_paid_for() {
    let write = import("fd_write", "(param i32 i32 i32 i32) (result i32)");
    let poll = import("poll_oneoff", "(param i32 i32 i32 i32) (result i32)");
    let read = import("fd_readdir", "(param i32 i32 i32 i64 i32) (result i32)");
    let empty = "(drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 8000) (i32.const 65532)))";
    let clocks = "(drop (call $poll_oneoff (i32.const 0) (i32.const 0) (i32.const 1300) (i32.const 65532)))";
    let list =
        "(drop (call $fd_readdir (i32.const 4) (i32.const 0) (i32.const 60000) (i64.const 0) (i32.const 65532)))";
    // A thousand folders to be listed, whose names are letters.
    let make = import("path_create_directory", "(param i32 i32 i32) (result i32)");
    let folders = "(loop $m (i32.store (i32.const 0) (i32.add (i32.const 0x61616161) (local.get 0)))
        (drop (call $path_create_directory (i32.const 4) (i32.const 0) (i32.const 4)))
        (local.set 0 (i32.add (local.get 0) (select (i32.const 0xe7) (i32.const 1)
          (i32.eq (i32.and (local.get 0) (i32.const 0xff)) (i32.const 25)))))
        (br_if $m (i32.lt_u (local.get 0) (i32.const 10000))))";
    let dear = |imports: &str, before: &str, body: &str| {
        let text = format!(
            "(module {imports} (memory (export \"memory\") 1)
               (func (export \"_start\") (local i32) {before} (loop $l {body} (br $l))))"
        );
        Case::text(body, &text, limited(Limit::Fuel)).under(Limit::Fuel, 100_000_000)
    };
    check(&[dear(&write, "", empty), dear(&poll, "", clocks), dear(&(read + &make), folders, list)]);
}

/// All functions that return, and what they are given: addresses by `p`, numbers of 32 bits by `i`, numbers of 64 by `l`.
const FUNCTIONS: [(&str, &str); 45] = [
    ("args_get", "pp"),
    ("args_sizes_get", "pp"),
    ("environ_get", "pp"),
    ("environ_sizes_get", "pp"),
    ("clock_res_get", "ip"),
    ("clock_time_get", "ilp"),
    ("fd_advise", "illi"),
    ("fd_allocate", "ill"),
    ("fd_close", "i"),
    ("fd_datasync", "i"),
    ("fd_fdstat_get", "ip"),
    ("fd_fdstat_set_flags", "ii"),
    ("fd_fdstat_set_rights", "ill"),
    ("fd_filestat_get", "ip"),
    ("fd_filestat_set_size", "il"),
    ("fd_filestat_set_times", "illi"),
    ("fd_pread", "ipilp"),
    ("fd_prestat_get", "ip"),
    ("fd_prestat_dir_name", "ipi"),
    ("fd_pwrite", "ipilp"),
    ("fd_read", "ipip"),
    ("fd_readdir", "ipilp"),
    ("fd_renumber", "ii"),
    ("fd_seek", "ilip"),
    ("fd_sync", "i"),
    ("fd_tell", "ip"),
    ("fd_write", "ipip"),
    ("path_create_directory", "ipi"),
    ("path_filestat_get", "iipip"),
    ("path_filestat_set_times", "iipilli"),
    ("path_link", "iipiipi"),
    ("path_open", "iipiillip"),
    ("path_readlink", "ipipip"),
    ("path_remove_directory", "ipi"),
    ("path_rename", "ipiipi"),
    ("path_symlink", "piipi"),
    ("path_unlink_file", "ipi"),
    ("poll_oneoff", "ppip"),
    ("proc_raise", "i"),
    ("sched_yield", ""),
    ("random_get", "pi"),
    ("sock_accept", "iip"),
    ("sock_recv", "ipiipp"),
    ("sock_send", "ipiip"),
    ("sock_shutdown", "ii"),
];

/// Numbers without pattern.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    /// An argument, which often means something.
    fn argument(&mut self, kind: char) -> String {
        let wild = self.next(40) == 0;
        let far = [0xffff_ffff, 0x7fff_ffff, 65_536, 65_528, 3][self.next(5) as usize];
        match kind {
            'l' if wild => {
                format!("(i64.const {})", [u64::MAX, 1 << 63, i64::MAX as u64, far][self.next(4) as usize] as i64)
            }
            'l' => format!("(i64.const {})", self.next(300)),
            _ if wild => format!("(i32.const {far})"),
            'p' => format!("(i32.const {})", self.next(60) * 8),
            _ => format!("(i32.const {})", self.next(12)),
        }
    }
}

/// Whatever they are called with, all functions answer, trap or end the run, and never fault; and they do it again in the same way.
#[test]
fn any_call_is_answered_or_ends_the_run() {
    let imports: String = FUNCTIONS
        .iter()
        .map(|(name, parameters)| {
            let types: String = parameters.chars().map(|kind| if kind == 'l' { " i64" } else { " i32" }).collect();
            import(name, &format!("(param{types}) (result i32)"))
        })
        .collect();
    // Paths, buffers in memory, and descriptors that are there: calls go somewhere.
    let data = "(data (i32.const 0) \"a\") (data (i32.const 8) \"state/a/..\") (data (i32.const 32) \"b/c\")
                (data (i32.const 64) \"\\40\\00\\00\\00\\10\\00\\00\\00\\00\\10\\00\\00\\00\\20\\00\\00\")
                (data (i32.const 96) \"\\ff\\ff\") (data (i32.const 128) \"state/a\") (data (i32.const 136) \".\")";
    let (mut numbers, mut ended_well) = (Numbers(1), 0);
    for program in 0..300 {
        let mut body = String::new();
        for _ in 0..20 {
            let (name, parameters) = FUNCTIONS[numbers.next(FUNCTIONS.len() as u64) as usize];
            let given: String = parameters.chars().map(|kind| numbers.argument(kind)).collect();
            body += &format!("(drop (call ${name} {given}))\n");
        }
        let text = module(&imports, &body).replacen("(func (export", &format!("{data} (func (export"), 1);
        let limits = crate::support::limits(&[(Limit::Fuel, 100_000_000)]);
        let program_of = sandbox().load(&wat(&text), &limits).expect("a program");
        let run = || crate::support::run_parts(&program_of, crate::support::parts(&["one"], limits.clone()));
        let first = run().unwrap_or_else(|error| panic!("{program}: {error}"));
        let again = run().unwrap_or_else(|error| panic!("{program}: {error}"));
        assert_eq!((&first.outcome, &first.after.volumes), (&again.outcome, &again.after.volumes), "{program}");
        assert_eq!(crate::support::case::laws(&first, &[(Limit::Fuel, 100_000_000)]), [""; 0], "{program}");
        ended_well += u32::from(first.outcome.ending == exited(0));
    }
    assert!(ended_well > 50, "only {ended_well} of 300 went all the way");
}
