//! The C-like interface: one function for all requests, so that a new one changes no signature and whoever binds it writes it once.
//!
//! `hutch_call(json, json_length, attachment, attachment_length)` takes both [blocks](crate::blocks) over and answers with one. A panic ends the
//! module: it answers nothing, and nothing after it.
#![allow(unsafe_code, reason = "the engine and the module's user look for symbols by name")]

use crate::blocks::{handed_over, taken};
use crate::tab::{Answer, Tab};
use std::cell::{Cell, RefCell};

thread_local! {
    static TAB: RefCell<Option<Tab>> = const { RefCell::new(None) };
    static ENGINE: [Cell<*mut u8>; 2] = const { [Cell::new(std::ptr::null_mut()), Cell::new(std::ptr::null_mut())] };
}

/// Answers a request.
#[unsafe(no_mangle)]
extern "C" fn hutch_call(
    request: *mut u8,
    request_length: usize,
    attachment: *mut u8,
    attachment_length: usize,
) -> *mut u8 {
    let (request, attachment) = (taken(request, request_length), taken(attachment, attachment_length));
    let Answer { json, attachment } =
        TAB.with_borrow_mut(|tab| tab.get_or_insert_with(Tab::new).answer(&request, attachment));
    handed_over(&json, &attachment)
}

/// The engine keeps words for each thread, by their places, and there is one thread.
#[unsafe(no_mangle)]
extern "C" fn wasmtime_tls_get(slot: usize) -> *mut u8 {
    ENGINE.with(|words| words.get(slot).map_or(std::ptr::null_mut(), Cell::get))
}

/// The same.
#[unsafe(no_mangle)]
extern "C" fn wasmtime_tls_set(slot: usize, word: *mut u8) {
    ENGINE.with(|words| {
        if let Some(place) = words.get(slot) {
            place.set(word);
        }
    });
}

/// Hash tables of libraries want a random start, against who chooses what is in them. Here is none to be had; what a package's author
/// can slow down is the author's own tab.
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(into: *mut u8, length: usize) -> Result<(), getrandom::Error> {
    // SAFETY: the caller owns so many bytes there.
    unsafe { std::ptr::write_bytes(into, 0x5a, length) };
    Ok(())
}
