//! The start-up object of a WASI command, for toolchains whose own is too old (`build.sh` says when).
//!
//! The `crt1-command.o` of Debian's wasi-libc (2022) never calls the constructors itself, so the linker wraps every
//! export to call them; the component adapter then traps, because a constructor lists the preopened directories while
//! the component may not call out. This `_start` calls them once, where calling out is allowed, as later wasi-libc does.
//!
//! `no_core`, because no built standard library for the target exists where this is needed: `build.sh` compiles it with
//! `rustc --emit=obj` before anything else.
#![feature(no_core, lang_items)]
#![allow(internal_features)]
#![no_core]
#![crate_type = "lib"]

#[lang = "pointee_sized"]
trait PointeeSized {}
#[lang = "meta_sized"]
trait MetaSized: PointeeSized {}
#[lang = "sized"]
trait Sized: MetaSized {}
#[lang = "copy"]
trait Copy {}
impl Copy for i32 {}

unsafe extern "C" {
    /// Made by the linker: runs every constructor of the program.
    fn __wasm_call_ctors();
    /// wasi-libc's: fetches the arguments and calls `main`.
    fn __main_void() -> i32;
    /// wasi-libc's: runs `atexit` functions and flushes stdio.
    fn __wasm_call_dtors();
    /// wasi-libc's: ends the program with a status, and does not come back.
    fn __wasi_proc_exit(status: i32);
}

/// What the host calls to run the program; coming back means status 0.
#[unsafe(no_mangle)]
unsafe extern "C" fn _start() {
    unsafe {
        __wasm_call_ctors();
        let status = __main_void();
        __wasm_call_dtors();
        match status {
            0 => {}
            failed => __wasi_proc_exit(failed),
        }
    }
}
