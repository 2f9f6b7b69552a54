//! The C interface: `include/hutch.h` says what each function promises. Handles are numbers that this library looks up, so one that was
//! closed, or never was one, is refused instead of followed. No panic leaves a function, and what is written is given up by
//! [`hutch_answer_free`] alone.
#![allow(unsafe_code, reason = "C hands over places in memory, and looks for functions by name")]

use crate::library::{Answer, Library};
use crate::request::usage;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The version of this interface; it changes when a program that was built with another header would misread something.
const ABI: u32 = 1;

/// As in the header.
const VERSION: &[u8] = concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes();

/// A block of bytes that this library made.
#[repr(C)]
struct HutchBytes {
    data: *mut u8,
    length: usize,
}

/// What comes of a call.
#[repr(C)]
struct HutchAnswer {
    status: c_int,
    json: HutchBytes,
    out: HutchBytes,
    err: HutchBytes,
}

/// The libraries that are open, each with the process that opened it. A process that was made of it has neither its threads nor a right to
/// its databases: its handles are refused there.
struct Open {
    libraries: BTreeMap<u64, (u32, Arc<Library>)>,
    next: u64,
}

static OPEN: Mutex<Open> = Mutex::new(Open { libraries: BTreeMap::new(), next: 0 });

fn open() -> MutexGuard<'static, Open> {
    // A map of handles is whole at any time.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn known(host: u64) -> Option<Arc<Library>> {
    let open = open();
    let (process, library) = open.libraries.get(&host)?;
    (*process == std::process::id()).then(|| Arc::clone(library))
}

fn handed_over(bytes: Vec<u8>) -> HutchBytes {
    if bytes.is_empty() {
        return HutchBytes { data: std::ptr::null_mut(), length: 0 };
    }
    let length = bytes.len();
    HutchBytes { data: Box::into_raw(bytes.into_boxed_slice()).cast(), length }
}

/// The bytes at a place, which may be none.
///
/// # Safety
/// So many bytes are there, and nobody changes them meanwhile.
unsafe fn given<'b>(data: *const u8, length: usize) -> &'b [u8] {
    // No object is larger; what claims to be is no place to read at.
    if data.is_null() || length == 0 || isize::try_from(length).is_err() {
        return &[];
    }
    // SAFETY: the caller promises it.
    unsafe { std::slice::from_raw_parts(data, length) }
}

/// Writes an answer where the caller wants it, and gives its status.
///
/// # Safety
/// The place is null or one for an answer.
unsafe fn told(answer: Answer, to: *mut HutchAnswer) -> c_int {
    let status = c_int::from(answer.status);
    if !to.is_null() {
        let (json, out, err) = (handed_over(answer.json), handed_over(answer.stdout), handed_over(answer.stderr));
        // SAFETY: the caller promises it; what stood there is not looked at.
        unsafe { to.write(HutchAnswer { status, json, out, err }) };
    }
    status
}

/// What a call comes to that broke down outside of what [`Library::call`] holds together.
fn broken() -> Answer {
    let json = br#"{"error":true,"code":"ANSWER_LOST","message":"the host broke down","suggestion":"look in the ledger whether the call was kept before it is made again"}"#;
    Answer {
        status: hutch_model::error_code::ErrorCode::AnswerLost.exit_status(),
        json: json.to_vec(),
        ..Answer::default()
    }
}

fn no_panic(what: impl FnOnce() -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(what)).unwrap_or_else(|_| broken())
}

/// The version of the interface.
#[unsafe(no_mangle)]
extern "C" fn hutch_abi() -> u32 {
    ABI
}

/// The version of hutch.
#[unsafe(no_mangle)]
extern "C" fn hutch_version() -> *const c_char {
    VERSION.as_ptr().cast()
}

/// Opens a library.
///
/// # Safety
/// `options` is null or has so many bytes; `answer` is null or a place for one.
#[unsafe(no_mangle)]
unsafe extern "C" fn hutch_open(options: *const u8, options_length: usize, answer: *mut HutchAnswer) -> u64 {
    // SAFETY: the caller promises it.
    let options = unsafe { given(options, options_length) };
    let mut handle = 0;
    let told_of = no_panic(|| match Library::open(options) {
        Ok(library) => {
            let mut open = open();
            open.next += 1;
            handle = open.next;
            open.libraries.insert(handle, (std::process::id(), Arc::new(library)));
            Answer::default()
        }
        Err(answer) => answer,
    });
    // SAFETY: the caller promises it.
    unsafe { told(told_of, answer) };
    handle
}

/// Answers a request.
///
/// # Safety
/// `request` and `input` are null or have so many bytes; `answer` is null or a place for one.
#[unsafe(no_mangle)]
unsafe extern "C" fn hutch_call(
    host: u64,
    request: *const u8,
    request_length: usize,
    input: *const u8,
    input_length: usize,
    answer: *mut HutchAnswer,
) -> c_int {
    // SAFETY: the caller promises it.
    let (request, input) = unsafe { (given(request, request_length), given(input, input_length)) };
    let told_of = no_panic(|| match known(host) {
        Some(library) => library.call(request, input),
        None => usage("the handle is not open in this process").into(),
    });
    // SAFETY: the caller promises it.
    unsafe { told(told_of, answer) }
}

/// Cancels the calls that have an id.
///
/// # Safety
/// `id` is null or has so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn hutch_cancel(host: u64, id: *const u8, id_length: usize) -> usize {
    // SAFETY: the caller promises it.
    let id = unsafe { given(id, id_length) };
    let cancel = || Some(known(host)?.cancel(std::str::from_utf8(id).ok()?));
    catch_unwind(AssertUnwindSafe(cancel)).ok().flatten().unwrap_or(0)
}

/// Gives up what an answer holds.
///
/// # Safety
/// `answer` is null, or was written by a call and not changed since, or is all zeros.
#[unsafe(no_mangle)]
unsafe extern "C" fn hutch_answer_free(answer: *mut HutchAnswer) {
    // SAFETY: the caller promises it.
    let Some(answer) = (unsafe { answer.as_mut() }) else { return };
    for bytes in [&mut answer.json, &mut answer.out, &mut answer.err] {
        let (data, length) =
            (std::mem::replace(&mut bytes.data, std::ptr::null_mut()), std::mem::take(&mut bytes.length));
        if !data.is_null() {
            // SAFETY: `handed_over` made it of a box of this length.
            drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(data, length)) });
        }
    }
}

/// Closes a library. Calls that are under way end as they would.
#[unsafe(no_mangle)]
extern "C" fn hutch_close(host: u64) {
    let closed = catch_unwind(|| open().libraries.remove(&host)).ok().flatten();
    // What it held is dropped outside of the lock; in another process than its own it is not this one's to end.
    match closed {
        Some((process, library)) if process != std::process::id() => std::mem::forget(library),
        closed => drop(catch_unwind(AssertUnwindSafe(|| drop(closed)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaking;
    use serde_json::{Value, json};

    const PLACES: [&str; 3] = ["carrying out", "running", "answering"];

    /// What a call comes to: its status, the document, and that the answer can be given up.
    fn call(host: u64, request: &Value) -> (c_int, Value) {
        let (text, nothing) = (request.to_string(), || HutchBytes { data: std::ptr::null_mut(), length: 0 });
        let mut answer = HutchAnswer { status: -1, json: nothing(), out: nothing(), err: nothing() };
        // SAFETY: all of it is here.
        unsafe {
            let status = hutch_call(host, text.as_ptr(), text.len(), std::ptr::null(), 0, &raw mut answer);
            assert_eq!(status, answer.status);
            let document = serde_json::from_slice(given(answer.json.data, answer.json.length)).unwrap_or_default();
            hutch_answer_free(&raw mut answer);
            assert!(answer.json.data.is_null() && answer.out.data.is_null());
            (status, document)
        }
    }

    fn opened() -> u64 {
        // SAFETY: nothing is handed over.
        unsafe { hutch_open(std::ptr::null(), 0, std::ptr::null_mut()) }
    }

    fn run(title: &str) -> Value {
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packages/todo");
        json!({ "command": "run", "package": package, "arguments": ["add", title], "id": "mine" })
    }

    /// The functions are `extern "C"`: a panic that came through one of them would end this program.
    #[test]
    fn no_panic_crosses_the_border_and_the_host_goes_on() {
        let host = opened();
        assert_eq!(call(host, &run("before")).0, 0);
        for place in PLACES {
            breaking::next(place);
            let (status, document) = call(host, &run("lost"));
            assert_eq!((status, document["code"].as_str()), (50, Some("ANSWER_LOST")), "{place}: {document}");
            assert_eq!(document["error"], true, "{place}");
            // No lock is lost with it, and nothing is left of what was under way.
            assert_eq!(hutch_cancelled(host), 0, "{place}");
            let (status, document) = call(host, &run("after"));
            assert_eq!((status, &document["ok"]), (0, &json!(true)), "{place}: {document}");
        }
        let verify = json!({ "command": "verify", "package": run("")["package"], "all": true });
        let (status, document) = call(host, &verify);
        assert_eq!((status, &document["result"]["differ"]), (0, &json!(0)), "{document}");

        breaking::next("cancelling");
        assert_eq!(hutch_cancelled(host), 0);
        breaking::next("opening");
        assert_eq!(opened(), 0);
        breaking::next("closing");
        hutch_close(host);
        assert_eq!(call(host, &run("closed")).0, 2);
        let other = opened();
        assert!(other > host);
        assert_eq!(call(other, &run("other")).0, 0);
        hutch_close(other);
    }

    fn hutch_cancelled(host: u64) -> usize {
        // SAFETY: the name is here.
        unsafe { hutch_cancel(host, b"mine".as_ptr(), 4) }
    }
}
