//! The C-like interface: memory for a request is asked for, filled and handed over; an answer is handed back and given up. One function
//! for all requests, so that a new one changes no signature and whoever binds it writes it once.
//!
//! `hutch_call(json, json_length, attachment, attachment_length)` takes both blocks over and answers with a block that begins with two
//! lengths of four bytes, the lowest first: that of the JSON and that of the attachment, which follow. A panic ends the module: it
//! answers nothing, and nothing after it.
#![allow(unsafe_code, reason = "memory changes hands here, and the engine looks for symbols by name")]

use crate::tab::{Answer, Tab};
use std::alloc::{Layout, alloc, dealloc};
use std::cell::{Cell, RefCell};

thread_local! {
    static TAB: RefCell<Option<Tab>> = const { RefCell::new(None) };
    static ENGINE: [Cell<*mut u8>; 2] = const { [Cell::new(std::ptr::null_mut()), Cell::new(std::ptr::null_mut())] };
}

fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), 1).ok()
}

/// Gives memory for `length` bytes; null if there is none.
#[unsafe(no_mangle)]
extern "C" fn hutch_alloc(length: usize) -> *mut u8 {
    // SAFETY: the layout has a size that is not zero.
    layout(length).map_or(std::ptr::null_mut(), |layout| unsafe { alloc(layout) })
}

/// Takes back what [`hutch_alloc`] or [`hutch_call`] gave.
#[unsafe(no_mangle)]
extern "C" fn hutch_free(block: *mut u8, length: usize) {
    if let Some(layout) = layout(length).filter(|_| !block.is_null()) {
        // SAFETY: the caller gives back a block of this length that it was given.
        unsafe { dealloc(block, layout) }
    }
}

/// The bytes of a block that is handed over.
fn taken(block: *mut u8, length: usize) -> Vec<u8> {
    if block.is_null() || length == 0 {
        hutch_free(block, length);
        return Vec::new();
    }
    // SAFETY: the caller hands over a block of this length, of `hutch_alloc`, whose layout is that of a vector of bytes.
    unsafe { Vec::from_raw_parts(block, length, length) }
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
    let mut block = Vec::with_capacity(8 + json.len() + attachment.len());
    for length in [json.len(), attachment.len()] {
        block.extend_from_slice(&(length as u32).to_le_bytes());
    }
    block.extend_from_slice(&json);
    block.extend_from_slice(&attachment);
    Box::into_raw(block.into_boxed_slice()).cast()
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
