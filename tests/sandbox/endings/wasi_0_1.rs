//! Core modules of WASI 0.1, as other toolchains make them: turned into components when they are loaded.

use crate::support::case::{Case, check, exited, limited, trapped};
use crate::support::sandbox;
use crate::support::wat_guest::wat;
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
        Case::text("sleeps for an hour", &module(&sleep, hour), exited(0)).under(Limit::WallTime, 2_000),
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
    }
}
