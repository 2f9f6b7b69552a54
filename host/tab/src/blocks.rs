//! Memory that changes hands at a module's border: a request's is asked for, filled and handed over; an answer's is handed back and given up. An
//! answer is a block that begins with two lengths of four bytes, the lowest first: that of the JSON and that of the attachment, which
//! follow. Both modules of the npm package have it, each its own.
#![allow(unsafe_code, reason = "memory changes hands here, and the module's user looks for functions by name")]

use std::alloc::{Layout, alloc, dealloc};

fn layout(length: usize) -> Option<Layout> {
    Layout::from_size_align(length.max(1), 1).ok()
}

/// Gives memory for `length` bytes; null if there is none.
#[unsafe(no_mangle)]
extern "C" fn hutch_alloc(length: usize) -> *mut u8 {
    // SAFETY: the layout has a size that is not zero.
    layout(length).map_or(std::ptr::null_mut(), |layout| unsafe { alloc(layout) })
}

/// Takes back what [`hutch_alloc`] or an answer gave.
#[unsafe(no_mangle)]
extern "C" fn hutch_free(block: *mut u8, length: usize) {
    if let Some(layout) = layout(length).filter(|_| !block.is_null()) {
        // SAFETY: the caller gives back a block of this length that it was given.
        unsafe { dealloc(block, layout) }
    }
}

/// The bytes of a block that is handed over.
pub(crate) fn taken(block: *mut u8, length: usize) -> Vec<u8> {
    if block.is_null() || length == 0 {
        hutch_free(block, length);
        return Vec::new();
    }
    // SAFETY: the caller hands over a block of this length, of `hutch_alloc`, whose layout is that of a vector of bytes.
    unsafe { Vec::from_raw_parts(block, length, length) }
}

/// The block of an answer.
pub(crate) fn handed_over(json: &[u8], attachment: &[u8]) -> *mut u8 {
    let mut block = Vec::with_capacity(8 + json.len() + attachment.len());
    for length in [json.len(), attachment.len()] {
        block.extend_from_slice(&(length as u32).to_le_bytes());
    }
    block.extend_from_slice(json);
    block.extend_from_slice(attachment);
    Box::into_raw(block.into_boxed_slice()).cast()
}
