//! The C-like interface: `hutch_call(json, json_length, attachment, attachment_length)`, in blocks as the host's module has them.
#![allow(unsafe_code, reason = "the module's user looks for functions by name")]

use crate::blocks::{handed_over, taken};
use crate::untimed::measure_nothing;
use crate::{Answer, answer};

/// Answers a request.
#[unsafe(no_mangle)]
extern "C" fn hutch_call(
    request: *mut u8,
    request_length: usize,
    attachment: *mut u8,
    attachment_length: usize,
) -> *mut u8 {
    let (request, attachment) = (taken(request, request_length), taken(attachment, attachment_length));
    measure_nothing();
    let Answer { json, attachment } = answer(&request, &attachment);
    handed_over(&json, &attachment)
}
